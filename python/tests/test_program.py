"""Python files as extensions of the program `graft`."""
import json
import os
import subprocess
import unittest

import numpy as np
from support import Case

GRAFT = os.path.join(os.environ.get("GRAFT_BIN", "build/bin"), "graft")

OPS = '''
import numpy as np
import graft

@graft.op(opset="acme")
def Warp(x, gain: float = 1.0):
    """Hyperbolic cosine of the scaled input"""
    return np.cosh(gain * x)

class Scale:
    def __init__(self, params, blobs):
        self.by = params["by"]
    def getMemoryShapes(self, inputs):
        return [inputs[0]]
    def forward(self, inputs):
        if self.by == 0:
            raise ValueError("the scale is zero")
        return [inputs[0] * np.float32(self.by)]

graft.register_layer("Rescale", Scale)
'''
NET = '''input: "x" input_shape { dim: 2 }
layer { name: "w" type: "Warp" bottom: "x" top: "y" warp_param { gain: 2 } }
layer { name: "s" type: "Rescale" bottom: "y" top: "z" rescale_param { by: %d } }
'''


class Program(Case):
    def setUp(self):
        super().setUp()
        self.write("my_ops.py", OPS)
        self.write("net.prototxt", NET % 3)
        np.save(self.path("x.npy"), np.array([0, 1], np.float32))

    def graft(self, *arguments, fails=False):
        done = subprocess.run([os.path.abspath(GRAFT), *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode != 0, fails, done.stderr)
        return done.stderr if fails else done.stdout

    def test_convert_run_explain_and_ops(self):
        self.graft("convert", "net.prototxt", "--extensions", "my_ops.py", "-o", "ir")
        for model in ("net.prototxt", "ir/net.xml"):
            self.graft("run", model, "-l", "my_ops.py", "--input", "x=x.npy", "--output-dir", "out")
            with open(self.path("out/outputs.json")) as f:
                out = np.load(self.path("out/" + json.load(f)[0]["file"]))
            np.testing.assert_allclose(out, 3 * np.cosh([0, 2]), rtol=1e-6)
        text = self.graft("explain", "net.prototxt", "-l", "my_ops.py")
        self.assertIn("traced", text)
        self.assertIn("python (REFERENCE)", text)
        self.assertIn("Hyperbolic cosine", self.graft("ops", "Warp", "-l", "my_ops.py"))

    def test_an_exception_has_its_traceback_and_names_the_node(self):
        self.write("net.prototxt", NET % 0)
        text = self.graft("run", "net.prototxt", "-l", "my_ops.py", fails=True)
        self.assertIn("ValueError: the scale is zero", text)
        self.assertIn("my_ops.py\", line 17, in forward", text)
        self.assertIn("while running 's' (Rescale)", text)

    def test_files_that_fail(self):
        self.write("my_ops.py", "import graft\nvalue = {}['absent']\n")
        text = self.graft("ops", "-l", "my_ops.py", fails=True)
        self.assertIn("KeyError: 'absent'", text)
        self.assertIn("line 2", text)
        self.assertNotIn("runpy", text)
        self.write("my_ops.py", "def broken(:\n")
        self.assertIn("SyntaxError", self.graft("ops", "-l", "my_ops.py", fails=True))
        self.write("my_ops.py", "x = 1\n")
        self.assertIn("defines no operation", self.graft("ops", "-l", "my_ops.py", fails=True))


if __name__ == "__main__":
    unittest.main()
