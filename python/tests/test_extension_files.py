"""Extensions in files and folders: what the option --extensions takes, a Core takes, with the same errors."""
import os
import subprocess
import unittest

import numpy as np
from support import Case, onnx, onnx_model

import graft

LAYERS = """<CustomLayer name="Twist" type="SimpleGPU" version="1"><Kernel entry="twist"><Source filename="twist.cl"/></Kernel>
<Buffers><Tensor arg-index="0" type="input" port-index="0"/><Tensor arg-index="1" type="output" port-index="0"/></Buffers>
<WorkSizes global="X,Y,B*F"/></CustomLayer>
"""


class Files(Case):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx_model([onnx.node("Twist", ["x"], ["y"], "t", domain="acme")], [("x", [2])], [("y", [2])],
                                        domains=("acme",)))

    def program(self, *arguments):
        program = os.path.abspath(os.path.join(os.environ.get("GRAFT_BIN", "build/bin"), "graft"))
        return subprocess.run([program, *arguments], cwd=self.folder, capture_output=True, text=True,
                              env=dict(os.environ, CMAKE_BUILD_TYPE="Debug"))

    def test_a_folder_with_sources(self):
        done = self.program("new", "Twist", "--domain", "acme", "-o", "twist")
        self.assertEqual(done.returncode, 0, done.stderr)
        os.environ["CMAKE_BUILD_TYPE"] = "Debug"  # compiles faster
        self.addCleanup(os.environ.pop, "CMAKE_BUILD_TYPE")
        added = self.core.add_extension(self.path("twist"))
        [extension] = self.core.extensions
        self.assertEqual(extension.path, self.path("twist/build/libtwist.so"))
        self.assertEqual(extension.operations, 1)
        self.assertEqual(self.core.add_extension(self.path("twist")), added)
        with self.assertRaisesRegex(graft.Error, "Twist is not implemented yet"):  # the skeleton runs
            self.core.compile_model(self.path("m.onnx"))(np.float32([1, 2]))
        self.core.remove_extension(added)
        self.assertEqual(len(self.core.extensions), 0)

    def test_custom_layers(self):
        self.write("twist.cl", "__kernel void twist(__global const float* x, __global float* y) {}")
        self.core.add_extension(self.write("layers.xml", LAYERS))
        self.assertEqual(len(self.core.extensions), 1)

    def test_errors_are_those_of_the_program(self):
        os.makedirs(self.path("other/parts"))
        self.write("broken.so", "nothing")
        os.makedirs(self.path("project"))
        self.write("project/CMakeLists.txt", "nonsense(")
        for name in ("other", "broken.so", "project"):
            done = self.program("ops", "Abs", "--extensions", self.path(name))
            with self.assertRaises(graft.Error) as caught:
                self.core.add_extension(self.path(name))
            message = caught.exception.message.split(":\n")[0]  # here the output of the tools is part of the message
            self.assertIn("error: " + message, done.stderr)
            self.assertIn(caught.exception.hint, done.stderr)
        self.assertIn("CMake Error at CMakeLists.txt:1", caught.exception.message)

    def test_definitions_are_added_together(self):
        """One registry for all of them."""
        lines = []
        graft.set_log("info", lambda level, message: lines.append(message))
        self.addCleanup(graft.set_log)
        self.core.add_extension(self.write("ops.py", "import graft\n" + "".join(
            f"@graft.op\ndef Twist{i}(x):\n    return x * {i}\n" for i in range(3))))
        self.assertEqual(sum(m.startswith("loaded the extension") for m in lines), 3, lines)
        with self.assertRaisesRegex(graft.Error, "duplicate pass 'same'"):
            self.core.add_extension(self.write("passes.py", "import graft\n" + "".join(
                "@graft.raw_pass(name='same')\ndef f%d(model):\n    pass\n" % i for i in range(2))))
        self.assertEqual(len(self.core.extensions), 3)  # none of the file


if __name__ == "__main__":
    unittest.main()
