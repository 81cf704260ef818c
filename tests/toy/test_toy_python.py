"""The framework of an extension in Python: test_toy_python.py TOY.SO"""
import os
import sys
import tempfile
import unittest

import graft
import numpy as np

LIBRARY = sys.argv.pop()
NET = """toy 1
input x 2 3
Elu first x -> y slope=0.5
Turn second y -> z by=3
output z
"""


class Toy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "net.toy")
        with open(self.path, "w") as f:
            f.write(NET)
        self.core = graft.Core()
        self.added = self.core.add_extension(LIBRARY)

    def test_from_the_file_to_numbers(self):
        @graft.op("Turn", toy=graft.rule("Turn", attrs={"angle": "by"}), register=False)
        def turn(x, angle: float = 1.0):
            return x * angle

        self.core.add_extension(turn)
        self.assertEqual(self.core.recognize_format(self.path), "toy")
        model = self.core.read_model(self.path)
        self.assertEqual(model.framework, "toy")
        x = np.array([[-1, 0, 1], [2, 3, 4]], np.float32)
        got = self.core.compile_model(model)(x)[0]
        np.testing.assert_allclose(got, 3 * np.where(x > 0, x, 0.5 * np.expm1(x)), rtol=1e-5)

    def test_an_operation_without_rules_is_for_every_framework(self):
        @graft.op("Turn", register=False)
        def turn(x, by: float = 1.0):
            return x * by

        self.core.add_extension(turn)
        frameworks = {r.framework for r in self.core.rules() if r.layer == "Turn"}
        self.assertEqual(frameworks, {f.name for f in self.core.frameworks()})
        self.assertIn("toy", frameworks)
        self.assertEqual(self.core.compile_model(self.path)(np.ones((2, 3), np.float32))[0][0, 0], 3)

    def test_without_the_extension(self):
        self.core.remove_extension(self.added)
        self.assertNotIn("toy", {f.name for f in self.core.frameworks()})
        with self.assertRaisesRegex(graft.Error, "is not in a supported model format"):
            self.core.read_model(self.path)


if __name__ == "__main__":
    unittest.main()
