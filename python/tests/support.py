"""What the tests of the package share: small models in a temporary folder."""
import os
import shutil
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import onnx_writer as onnx  # noqa: E402

import graft  # noqa: E402


def onnx_model(nodes, inputs, outputs, tensors=(), domains=()):
    """`inputs` and `outputs`: pairs of name and dimensions."""
    return onnx.model("test", nodes, tensors, [onnx.value(*i) for i in inputs], [onnx.value(*o) for o in outputs],
                      {"": 17, **{d: 1 for d in domains}})


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="graft-python-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.core = graft.Core()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def text(self, graph):
        """A model from the textual form."""
        return self.core.read_model(self.write("model.graft", graph))

    def compiled(self, graph, device="CPU", **options):
        return self.text(graph).compile(device, **options)

    def assert_unlocks_python(self, function):
        """Calls the function until another thread has run in the meantime, which a lock held all the time would prevent."""
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(600)  # threads run when another one waits or unlocks Python, not after a while
        counted, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1
                time.sleep(0)

        thread = threading.Thread(target=count)
        thread.start()
        before, end = counted[0], time.time() + 60
        while counted[0] <= before and time.time() < end:
            function()
        found = counted[0]
        stop.set()
        thread.join()
        self.assertGreater(found, before)
