"""Python files as extensions of the program `graft`."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from support import Case

import graft

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


PRINTING = '''
import logging
import sys
import numpy as np
import graft

print("loaded", end="")
print()
logging.getLogger("mine").warning("logged")
sys.stderr.write("to stderr\\n")
sys.stdout.buffer.write(b"bytes\\n")
print("\\udcff and \u20ac")

@graft.op(opset="acme", caffe="Warp", shape=lambda x, gain: x.shape)
def Warp(x, gain: float = 1.0):
    print("computing", x.shape, end="")
    if gain == 0:
        raise ValueError("no gain")
    return np.sort(gain * x)
'''
PRINTED = '''loaded
bytes
\\udcff and \u20ac
'''
WARPED = 'input: "x" input_shape { dim: 2 }\nlayer { name: "w" type: "Warp" bottom: "x" top: "y" warp_param { gain: %d } }\n'


class Printing(Case):
    """What Python code prints under the program, whose streams are its own."""

    def setUp(self):
        super().setUp()
        self.write("my_ops.py", PRINTING)
        self.write("net.prototxt", WARPED % 2)

    def graft(self, *arguments, status=0, environment=None):
        done = subprocess.run([os.path.abspath(GRAFT), *arguments, "--extensions", "my_ops.py"], cwd=self.folder,
                              capture_output=True, text=True, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_print_and_logging(self):
        done = self.graft("run", "net.prototxt", "--seed", "1")
        self.assertTrue(done.stdout.startswith(PRINTED), done.stdout)
        before, after = done.stdout.index("computing (2,)"), done.stdout.index("y  f32[2]")
        self.assertLess(before, after)
        self.assertIn("logged\nto stderr\n", done.stderr)

    def test_before_an_error(self):
        """Both streams in one: what was printed comes before the error."""
        self.write("net.prototxt", WARPED % 0)
        done = subprocess.run([os.path.abspath(GRAFT), "run", "net.prototxt", "--extensions", "my_ops.py"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertLess(done.stdout.index("loaded"), done.stdout.index("logged"))
        self.assertLess(done.stdout.index("computing"), done.stdout.index("no gain"))

    def test_data_on_stdout_stays_data(self):
        for command in (["run", "net.prototxt"], ["explain", "net.prototxt"], ["ops"], ["convert", "net.prototxt", "-o", "ir"]):
            with self.subTest(command[0]):
                done = self.graft(*command, "--json")
                json.loads(done.stdout)
                self.assertIn("loaded\nlogged\nto stderr\nbytes\n", done.stderr)

    def test_messages_of_the_program_stay_its_own(self):
        """The package passes messages on to logging, but not where the program prints them."""
        self.write("net.prototxt", (WARPED % 2).replace("} }", "more: 1 } }"))
        self.assertIn("warning: ", self.graft("run", "net.prototxt").stderr)
        self.assertIn("info: ", self.graft("run", "net.prototxt", "--log_level", "INFO").stderr)


class WithoutNumPy(unittest.TestCase):
    HINT = "graft needs NumPy, which .* does not have\nhint: .* -m pip install numpy"

    def test_import(self):
        place = os.path.dirname(os.path.dirname(os.path.abspath(graft.__file__)))
        code = "import sys; sys.modules['numpy'] = None; sys.path.insert(0, %r); import graft" % place
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertRegex(done.stderr, "ImportError: " + self.HINT)

    def test_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "numpy"))
            with open(os.path.join(folder, "numpy", "__init__.py"), "w") as f:
                f.write("raise ImportError('not here')\n")
            with open(os.path.join(folder, "own.py"), "w") as f:
                f.write("import graft\n")
            done = subprocess.run([os.path.abspath(GRAFT), "ops", "--extensions", "own.py"], cwd=folder, capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": folder})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, "error: " + self.HINT)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
