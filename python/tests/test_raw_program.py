"""Raw passes, import rules and folders as extensions of the program `graft`, and of a Core."""
import json
import os
import subprocess
import sys
import types

import numpy as np
from support import Case

import graft
from graft.raw import RawPassDefinition

PASS = '''
import graft

@graft.raw_pass(frameworks=["caffe"])
def known_layers(model):
    """Replace Twist by Power"""
    for layer in model.layers:
        if layer.type == "Twist":
            gain = float(layer.fields["twist_param.gain"])
            model.add_layer("Power", layer.name + "/power", layer.inputs, layer.outputs, {"power_param.scale": gain})
            model.remove(layer)
'''
RULE = '''
import graft

@graft.import_rule("caffe", "Swirl")
def swirl(layer):
    x = layer.inputs[0]
    layer.set_output(0, layer.add_operation("Swirl", [x], {"turns": 3}, outputs=[(x.dtype, x.shape)])[0])
'''
SWIRL = '''
import graft

@graft.op(opset="acme", onnx="acme::Swirl", shape=lambda x, turns: x.shape)
def Swirl(x, turns: int):
    return x * turns
'''
NET = '''input: "x" input_shape { dim: 2 }
layer { name: "t" type: "Twist" bottom: "x" top: "y" twist_param { gain: 2 } }
layer { name: "s" type: "Swirl" bottom: "y" top: "z" }
'''


GRAFT = os.path.join(os.environ.get("GRAFT_BIN", "build/bin"), "graft")


class RawProgram(Case):
    def graft(self, *arguments, fails=False):
        done = subprocess.run([os.path.abspath(GRAFT), *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode != 0, fails, done.stderr)
        return done.stderr if fails else done.stdout

    def setUp(self):
        super().setUp()
        np.save(self.path("x.npy"), np.array([0, 1], np.float32))
        for name, content in (("known.py", PASS), ("rule.py", RULE), ("swirl.py", SWIRL), ("twist.prototxt", NET)):
            self.write(name, content)

    def test_a_pass_and_a_rule_in_one_list(self):
        self.graft("convert", "twist.prototxt", "--extensions", "known.py,rule.py", "-o", "ir")
        with open(self.path("ir/twist.xml")) as f:
            self.assertIn('name="s" type="Swirl" version="extension"', f.read())
        said = self.graft("run", "twist.prototxt", "--extensions", "known.py,rule.py", fails=True)
        self.assertIn("the model has layers that no loaded operation can run: 's' (Swirl)", said)
        self.graft("run", "twist.prototxt", "--extensions", "known.py,rule.py,swirl.py", "--input", "x=x.npy",
                   "--output-dir", "out")
        with open(self.path("out/outputs.json")) as f:
            np.testing.assert_allclose(np.load(self.path("out/" + json.load(f)[0]["file"])), [0, 6])

    def test_what_a_pass_changed(self):
        listed = "known.py,rule.py,swirl.py"
        told = self.graft("explain", "twist.prototxt", "-l", listed)
        self.assertIn("raw pass known_layers (known.py)\n    removed 't' (Twist)\n    added 't/power' (Power)\n", told)
        self.assertRegex(told, "t/power +Power +by built-in +-> .*\\(added by raw pass 'known_layers' of known.py\\)")
        told = json.loads(self.graft("explain", "twist.prototxt", "-l", listed, "--json"))
        self.assertEqual(told["raw_passes"][0]["removed"], ["'t' (Twist)"])
        self.assertEqual(told["claims"][0].get("added_by", told["claims"][-1].get("added_by")),
                         "raw pass 'known_layers' of known.py")
        told = self.graft("convert", "twist.prototxt", "-l", listed, "-o", "ir", "--explain-passes")
        self.assertIn("known_layers             2 changes, 2 -> 2 nodes\n    removed 't' (Twist)\n    added 't/power' (Power)", told)
        self.assertIn("known_layers             raw    Replace Twist by Power (known.py)",
                      self.graft("convert", "twist.prototxt", "-l", listed, "--list-passes"))
        said = self.graft("convert", "twist.prototxt", "-l", listed, "--disable-pass", "known_layers", "-o", "ir", fails=True)
        self.assertIn("Twist", said)

    def test_a_wrong_pass(self):
        self.write("wrong.py", "import graft\n@graft.raw_pass\ndef wrong(model):\n    model.remove(model.layers[0])\n")
        said = self.graft("convert", "twist.prototxt", "-l", "wrong.py,rule.py", "-o", "ir", fails=True)
        self.assertIn("error: input 'y' of the layer 's' (Swirl) is not produced by any layer", said)
        self.assertRegex(said, "while running the raw pass 'wrong' of '.*/wrong.py'")

    def test_folders_that_are_no_extensions(self):
        os.mkdir(self.path("empty"))
        expected = "expected a folder with ops/, front/, middle/ or back/ as an extension, got one with "
        self.assertIn(expected + "no files", self.graft("convert", "twist.prototxt", "-l", "empty", "-o", "ir", fails=True))
        said = self.graft("convert", "twist.prototxt", "-l", self.folder, "-o", "ir", fails=True)
        self.assertIn(expected + "empty, known.py", said)
        for folder, found in (("empty", "no files"), (".", "empty, known.py")):
            with self.assertRaisesRegex(graft.Error, expected + found):
                self.core.add_extension(self.path(folder))

    def test_a_folder_of_extensions(self):
        os.makedirs(self.path("mine/front/caffe"))
        calls = []

        def load(path):
            calls.append(path)
            return [RawPassDefinition("from_folder", ["caffe"], lambda m: calls.append(m.framework), "mine")]

        stand_in = types.ModuleType("graft.model_optimizer")
        stand_in.load = load
        had = {k: sys.modules.pop(k) for k in list(sys.modules) if k.startswith("graft.model_optimizer")}
        before = graft.__dict__.pop("model_optimizer", None)
        sys.modules["graft.model_optimizer"] = stand_in
        try:
            added = self.core.add_extension(self.path("mine"))
            self.core.read_model(self.path("twist.prototxt"))
            self.core.remove_extension(added)
            self.core.read_model(self.path("twist.prototxt"))
        finally:
            del sys.modules["graft.model_optimizer"]
            sys.modules.update(had)
            graft.__dict__.pop("model_optimizer", None)
            if before is not None:
                graft.model_optimizer = before
        self.assertEqual(calls, [self.path("mine"), "caffe"])


if __name__ == "__main__":
    import unittest
    unittest.main()
