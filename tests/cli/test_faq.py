#!/usr/bin/env python3
"""The situations of the Model Optimizer's FAQ: each number that applies here gives a message of our own.

  tests/cli/test_faq.py --build build [unittest arguments]

docs/guide/troubleshooting.md lists the same numbers; the test holds the two against each other.
"""
import json
import os
import re
import struct

from harness import ROOT, Case, graft, main, onnx
from kaldi_writer import Matrix, Vector, nnet1

INPUT = 'name: "n"\ninput: "data" input_shape { dim: 1 dim: 3 dim: 4 dim: 4 }\n'
RELU = INPUT + 'layer { name: "r" type: "ReLU" bottom: "data" top: "r" }\n'
TWO = """name: "two"
layer { name: "a" type: "Input" top: "a" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } } }
layer { name: "b" type: "Input" top: "b" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } } }
layer { name: "s" type: "Eltwise" bottom: "a" bottom: "b" top: "s" }
"""
X = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 1 } dim { size: 4 } } } } }\n'
T = ' attr { key: "T" value { type: DT_FLOAT } } }\n'
CHAIN = X + "".join('node { name: "%s" op: "Relu" input: "%s"' % pair + T for pair in (("a", "x"), ("b", "a"), ("c", "b"), ("d", "x")))
BRANCH = X + 'node { name: "f" op: "Relu" input: "x"' + T + 'node { name: "g" op: "Relu" input: "f"' + T

# A Kaldi model of two classes.
NNET1 = nnet1([("AffineTransform", 2, 2, [(None, Matrix([[1, 2], [3, 4]]), Vector([0, 1]))]), ("Softmax", 2, 2, [])], True)


def blob(dims, values):
    return b"".join(onnx.number(i + 1, d) for i, d in enumerate(dims)) + onnx.data(5, struct.pack("<%df" % len(values), *values))


def replacement(**entry):
    return json.dumps([{"id": "R", **entry}])


def points(start, end, **more):
    return replacement(match_kind="points", op="Relu", instances={"start_points": start, "end_points": end}, **more)


# test_mxnet.py and tests/readers/mxnet.test try these.
OF_MXNET = {16, 48, 53, 54, 81, 84, 85, 86, 93, 102, 104}
# number -> files, options (with {file}), words of the message, exit code. Names of files that begin with "m." are the model.
SITUATIONS = {
    1: ({"m.prototxt": INPUT + 'layer { name: "w" type: "Warp" bottom: "data" top: "w" warp_param { gain: 2 } }'}, [], "warp_param.gain = 2", 2),
    4: ({"m.prototxt": RELU, "mean.binaryproto": blob([1, 3, 2, 2], [0.5] * 12)}, ["--mean_file", "{mean.binaryproto}"], "does not fit into the image of 2x2", 1),
    6: ({"m.prototxt": RELU, "mean.binaryproto": b"\x0a\xff"}, ["--mean_file", "{mean.binaryproto}"], "mean.binaryproto", 2),
    7: ({"m.prototxt": 'name: "none"\n'}, [], "no layer", 2),
    9: ({"m.prototxt": TWO, "mean.binaryproto": blob([1, 2, 3, 3], [0.5] * 18)}, ["--mean_file", "{mean.binaryproto}"], "expected a model with one input, got 2 inputs", 1),
    11: ({"m.prototxt": 'input: "data" input_shape { dim: x }\n' + 'layer { name: "r" type: "ReLU" bottom: "data" top: "r" }'}, [], "m.prototxt:1: expected a dimension, got 'x'", 2),
    14: ({"m.prototxt": INPUT + 'layer { name: "w" type: "Warp" bottom: "data" top: "w" }\nlayer { name: "s" type: "MVN" bottom: "w" top: "a" }',
          "map.xml": '<m><CustomLayer NativeType="Warp" hasParam="false"/></m>'}, ["-k", "{map.xml}", "--log_level", "ERROR"], "its input depends on 'w' (Warp), whose output shape is unknown", 2),
    15: ({"m.bin": b"\x01\x02\x03 nothing that anybody knows"}, [], "is not in a supported model format", 2),
    17: ({"m.prototxt": RELU, "mean.binaryproto": blob([1, 3, 4, 4], [0.5] * 48)}, ["--mean_file", "{mean.binaryproto}", "--mean_values", "[1,2,3]"], "mutually exclusive", 1),
    18: ({"m.prototxt": RELU, "mean.binaryproto": blob([1, 3, 4, 4], [0.5] * 48)}, ["--mean_file", "{mean.binaryproto}", "--mean_file_offsets", "(-1,0)"], "--mean_file_offsets", 1),
    19: ({"m.prototxt": RELU}, ["--scale", "2", "--scale_values", "[1,2,3]"], "--scale and --scale_values are mutually exclusive", 1),
    20: ({"m.caffemodel": b"\x0a\x01n\xff\xff"}, [], "m.caffemodel", 2),
    22: ({"m.prototxt": RELU, "taken": ""}, ["-o", "{taken}/deeper"], "taken", 1),
    24: ({"m.pbtxt": X + 'node { name: "y" op: "Twirl" input: "x"' + T}, [], "1 layer type is unknown", 2),
    25: ({"m.pbtxt": X + 'node { name: "r" op: "Relu" input: "nobody"' + T}, [], "reads 'nobody', which no node of the graph produces", 2),
    26: ({"m.prototxt": RELU}, ["--output", "nobody"], "no output, layer or tensor 'nobody'", 1),
    27: ({"m.prototxt": TWO}, ["--input", "a"], "also depend on the input b", 1),
    28: ({"m.prototxt": TWO}, ["--input", "a:3[1,2,3,3],b"], "'a' is an input of the model", 1),
    29: ({"m.prototxt": TWO}, ["--output", "s:4"], "has no output 4", 1),
    30: ({"m.prototxt": TWO}, ["--input", "s[1,2,3,3]"], "has 2 inputs, but the shape, type or value applies to one of them", 1),
    32: ({"m.prototxt": TWO}, ["--input_shape", "[1,2,3,3]"], "expected a shape for each of the 2 inputs, got only", 1),
    35: ({"m.pbtxt": BRANCH, "r.json": replacement(match_kind="magic")}, ["--transformations_config", "{r.json}"], "magic", 2),
    38: ({"m.prototxt": INPUT + 'layer { name: "p" type: "Pooling" bottom: "data" top: "p" pooling_param { pool: MAX kernel_size: 9 } }'}, [], "'p'", 2),
    39: ({"m.prototxt": 'input: "data" input_shape { dim: 2 dim: 3 }\nlayer { name: "r" type: "ReLU" bottom: "data" top: "r" }'}, ["-b", "4"], "batch", 1),
    41: ({"m.pbtxt": X + 'node { name: "y" op: "Twirl" input: "x"' + T + 'node { name: "z" op: "Relu" input: "y"' + T}, ["--input", "z"], "cannot infer the", 1),
    43: ({}, ["{nobody.pb}"], "file not found", 1),
    44: ({"m.onnx": b"\x08\x07\x3a\xff\xff\xff\xff\x0f"}, [], "m.onnx", 2),
    45: ({"m.prototxt": INPUT + 'layer { name: "p" type: "Python" bottom: "data" top: "p" python_param { module: "rpn" layer: "Fancy" param_str: "\'stride\': 16" } }'}, [], "Fancy", 2),
    46: ({"m.pbtxt": BRANCH}, ["--transformations_config", "{none.json}"], "file not found", 1),
    50: ({"m.prototxt": RELU}, ["--data_type", "INT7"], "--data_type: expected FP16, FP32, half or float, got 'INT7'", 1),
    51: ({"m.prototxt": RELU}, ["--input", "nobody"], "nobody", 1),
    56: ({"m.prototxt": RELU}, ["-b", "2", "--input_shape", "[1,3,4,4]"], "mutually exclusive", 1),
    57: ({"m.prototxt": RELU}, ["--input_shape", "[1,x]"], "expected a dimension, got 'x'", 1),
    58: ({"m.prototxt": TWO}, ["--input_shape", "[1,2,3,3],[1,2,3,3],[1,2]"], "shape", 1),
    59: ({"m.prototxt": RELU}, ["--mean_values", "[1,two,3]"], "two", 1),
    60: ({"m.prototxt": RELU}, ["--mean_values", "[1,2]"], "which has 3", 1),
    61: ({"m.prototxt": TWO}, ["--mean_values", "[1,2]"], "--mean_values: expected 2 lists of values, one per input, got 1", 1),
    63: ({"m.prototxt": TWO}, ["--scale_values", "[1,2]"], "--scale_values: expected 2 lists of values, one per input, got 1", 1),
    65: ({"m.pbtxt": BRANCH, "r.json": replacement(match_kind="magic")}, ["--transformations_config", "{r.json}"], "magic", 2),
    66: ({"m.pbtxt": BRANCH, "r.json": replacement(match_kind="scope", op="Relu")}, ["--transformations_config", "{r.json}"], "instances", 2),
    67: ({"m.pbtxt": BRANCH, "r.json": replacement(match_kind="points", op="Relu", instances=["f"])}, ["--transformations_config", "{r.json}"], "instances", 2),
    68: ({"m.pbtxt": BRANCH, "r.json": replacement(match_kind="scope", op="Relu", instances=[])}, ["--transformations_config", "{r.json}"], "instances", 2),
    70: ({"m.pbtxt": BRANCH, "r.json": "[{]"}, ["--transformations_config", "{r.json}"], "invalid JSON", 2),
    71: ({"m.pbtxt": BRANCH, "r.json": '[{"match_kind": "scope"}]'}, ["--transformations_config", "{r.json}"], "id", 2),
    73: ({"m.pbtxt": BRANCH, "r.json": "[{]"}, ["--tensorflow_custom_operations_config_update", "{r.json}"], "invalid JSON", 2),
    74: ({"m.pbtxt": CHAIN, "r.json": points(["b"], ["d"])}, ["--transformations_config", "{r.json}"], "'d'", 2),
    75: ({"m.pbtxt": X.replace('"x"', '"side"') + CHAIN + 'node { name: "e" op: "Add" input: "b" input: "side"' + T, "r.json": points(["b"], ["e"])},
         ["--transformations_config", "{r.json}"], "side", 2),
    79: ({"m.prototxt": 'layer { name: "d" type: "Data" top: "data" include { phase: TRAIN } }\nlayer { name: "r" type: "ReLU" bottom: "data" top: "r" }'}, [], "which only the training layer 'd' produces", 2),
    83: ({"m.prototxt": RELU}, ["--mean_values", "nobody[1,2,3]"], "the model has no input 'nobody'", 1),
    88: ({"m.nnet": nnet1([("BlstmProjected", 2, 2, [])], True)}, ["--remove_memory"], "node 'BlstmProjected_0' (BlstmProjected) cannot be computed in chunks", 2),
    89: ({"m.nnet": NNET1.replace(b"<Nnet>", b"<Nnat>", 1)}, [], "expected the token <Nnet>, <Nnet3> or <TransitionModel>, got <Nnat>", 2),
    90: ({"m.nnet": NNET1, "counts": "[ 1 2 ]\n[ 3 4 ]\n"}, ["--counts", "{counts}"], "expected one line with the counts in brackets, got more", 2),
    91: ({"m.nnet": NNET1[:40]}, [], "is the file complete?", 2),
    92: ({"m.nnet": NNET1}, ["--counts", "{missing}"], "file not found", 1),
    94: ({"m.nnet": NNET1.replace(b"</Nnet> ", b"")}, [], "expected the", 2),
    97: ({"m.pbtxt": X + 'node { name: "a" op: "Add" input: "x" input: "b"' + T + 'node { name: "b" op: "Relu" input: "a"' + T}, [], "cyclic", 2),
    101: ({"m.prototxt": TWO}, ["--mean_values", "a[1,2],[1,2]"], "--mean_values names only some of the inputs", 1),
    103: ({"m.prototxt": RELU, "w.caffemodel": b"\xff\xff\xff junk"}, ["{w.caffemodel}"], "w.caffemodel", 2),
}


class Faq(Case):
    def test_every_situation_has_a_message_of_its_own(self):
        for number, (files, options, words, status) in SITUATIONS.items():
            with self.subTest(number=number):
                paths = {}
                for name, content in files.items():
                    paths[name] = self.path("%d-%s" % (number, name))
                    with open(paths[name], "wb") as f:
                        f.write(content.encode() if isinstance(content, str) else content)
                fill = lambda o: re.sub(r"\{(.*?)\}", lambda m: paths.get(m.group(1), self.path(m.group(1))), o)
                model = [p for n, p in paths.items() if n.startswith("m.")]
                out = [] if "-o" in options else ["-o", self.path("ir%d" % number)]
                r = graft("convert", *model, *map(fill, options), *out)
                self.assertEqual(r.status, status, r.all)
                self.assertIn(words, r.err)
                self.assertTrue(r.err.startswith("error: "), r.err)
                self.assertNotIn("internal", r.err)

    def test_the_report_of_unknown_layers_names_its_page(self):
        """The page, its section and the numbers exist; what depends on an unknown layer is not called a problem of its own."""
        m = self.write("m.prototxt", INPUT + 'layer { name: "w" type: "Warp" bottom: "data" top: "w" }\n'
                       'layer { name: "f" type: "Flatten" bottom: "w" top: "f" }\nlayer { name: "i" type: "InnerProduct" bottom: "f" top: "i" inner_product_param { num_output: 2 } }')
        r = graft("convert", m, "-o", self.path("ir"))
        self.assertEqual(r.status, 2, r.all)
        self.assertNotIn("known but cannot be imported", r.err)
        self.assertIn("'i' (InnerProduct)", r.err)
        page, section, numbers = re.search(r"^See (docs/\S+)#(\S+) \(questions (.*) of the Model Optimizer FAQ\)$", r.err, re.M).groups()
        with open(os.path.join(ROOT, page)) as f:
            text = f.read()
        self.assertIn(section, [h.strip().lower().replace(" ", "-") for h in re.findall("^#+ (.*)$", text, re.M)])
        listed = {int(n) for row in re.findall(r"^\| ([\d, ]+) \|", text, re.M) for n in row.split(",")}
        self.assertLessEqual({int(n) for n in re.findall(r"\d+", numbers)}, listed)

    def test_halves_that_are_too_large_are_told(self):
        self.say_losses(76, "1e6", "too large for f16")
        self.say_losses(77, "1e-12", "too small for f16")

    def say_losses(self, number, value, words):
        m = self.path("%d.txt" % number)
        with open(m, "w") as f:
            f.write("graph (x: f32[2]) { return Multiply(x, f32[2] {%s, 1}) }" % value)
        r = graft("convert", m, "--data_type", "FP16", "-o", self.path("ir"))
        self.assertEqual(r.status, 0, r.err)
        self.assertIn(words, r.err)

    def test_the_guide_lists_the_same_numbers(self):
        with open(os.path.join(ROOT, "docs", "guide", "troubleshooting.md")) as f:
            text = f.read()
        listed = {int(n) for row in re.findall(r"^\| ([0-9, ]+) \|", text, re.M) for n in row.split(",")}
        self.assertEqual(listed - set(SITUATIONS) - {76, 77} - OF_MXNET, set(), "in the guide, not tried")
        self.assertEqual(set(SITUATIONS) - listed, set(), "tried, not in the guide")


if __name__ == "__main__":
    main()
