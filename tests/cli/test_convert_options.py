#!/usr/bin/env python3
"""Options of `graft convert`: each of the Model Optimizer's does what it says or is refused by name, and numbers are what plain arithmetic
gives.

  tests/cli/test_convert_options.py --build build [unittest arguments]
"""
import json
import os
import re
import shutil
import struct

from harness import Case, graft, main, onnx, read_npy, write_npy


def blob(dims, values):
    """A BlobProto of Caffe."""
    return onnx.data(7, onnx.data(1, b"".join(onnx.varint(d) for d in dims))) + onnx.data(5, struct.pack("<%df" % len(values), *values))


def caffemodel(layers):
    """`layers`: {name: (type, [(dims, values), ...])}."""
    return b"".join(onnx.data(100, onnx.data(1, name) + onnx.data(2, kind) + b"".join(onnx.data(7, blob(*b)) for b in blobs))
                    for name, (kind, blobs) in layers.items())


# conv1 has two outputs: the sum of channels weighted 1, 2, 3, and the second channel less the first.
WEIGHTS = [1, 2, 3, -1, 1, 0]
NET = """
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 1 dim: 2 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1" convolution_param { num_output: 2 kernel_size: 1 bias_term: false } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "mid" type: "Power" bottom: "conv1" top: "half" power_param { scale: 0.5 } }
layer { name: "sum" type: "Eltwise" bottom: "conv1" bottom: "half" top: "sum" }
"""
UNKNOWN = 'layer { name: "frob" type: "Frobnicate" bottom: "sum" top: "end" }\n'
X = [1, 2, 3, 4, 5, 6]  # channels (1, 2), (3, 4), (5, 6)


def conv1(x):
    """What conv1 makes of x, channel by channel."""
    c = [x[0:2], x[2:4], x[4:6]]
    return [sum(w * v[i] for w, v in zip(WEIGHTS[0:3], c)) for i in (0, 1)] + [sum(w * v[i] for w, v in zip(WEIGHTS[3:6], c)) for i in (0, 1)]


def relu(x):
    return [max(0, v) for v in x]


class ConvertCase(Case):
    def net(self, text=NET, name="net"):
        self.write(name + ".caffemodel", caffemodel({"conv1": ("Convolution", [([2, 3, 1, 1], WEIGHTS)])}))
        return [self.write(name + ".prototxt", text), self.path(name + ".caffemodel")]

    def convert(self, *arguments, out="out"):
        """The report of a conversion that must go well."""
        r = graft("convert", *arguments, "-o", self.path(out), "--json", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        report = json.loads(r.out)
        report["notes"] = r.err
        return report

    def refused(self, said, *arguments, status=1, hint=None):
        r = graft("convert", *arguments, "-o", self.path("out"), cwd=self.folder)
        self.assertIn(said, r.err, arguments)
        self.assertEqual(r.status, status, r.all)
        if hint:
            self.assertIn(hint, r.err)
        return r

    def run_ir(self, report, *values):
        """Values are (dims, numbers) in the order of the inputs; a list of numbers for each output."""
        given = []
        for i, (dims, numbers) in enumerate(values):
            write_npy(self.path("in%d.npy" % i), dims, numbers)
            given += ["--input", "=" + self.path("in%d.npy" % i)]
        r = graft("run", report["xml"], *given, "--output-dir", self.path("results"), "-d", "REFERENCE")
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("results", "outputs.json")) as f:
            return [read_npy(self.path("results", o["file"])) for o in json.load(f)]

    def check(self, got, want, places=5):
        self.assertEqual(len(got), len(want))
        for g, w in zip(got, want):
            self.assertAlmostEqual(g, w, places=places)

    def names(self, report, what="inputs"):
        return [p["layer"] for p in report[what]]

    def xml(self, report):
        with open(report["xml"]) as f:
            return f.read()

    def types(self, report):
        return re.findall(r'<layer [^>]*type="(\w+)"', self.xml(report))


class Outputs(ConvertCase):
    def test_what_no_output_needs_is_never_imported(self):
        files = self.net(NET + UNKNOWN)
        self.refused("Frobnicate", *files, status=2)
        r = self.convert(*files, "--output", "sum")
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], [1.5 * v for v in relu(conv1(X))])

    def test_a_layer_an_output_of_it_an_input_of_it_and_a_tensor(self):
        files = self.net(NET + UNKNOWN)
        x = [1, 2, -3, -4, 5, 6]
        plain, half = conv1(x), [0.5 * v for v in relu(conv1(x))]
        for output, want in (("conv1", plain), ("conv1:0", plain), ("relu1", relu(plain)), ("0:mid", relu(plain)), ("half", half), ("mid", half), ("mid:0", half)):
            got = self.run_ir(self.convert(*files, "--output", output), ([1, 3, 1, 2], x))
            self.assertEqual(len(got), 1, output)
            self.check(got[0], want)

    def test_several_outputs_in_the_order_asked_for(self):
        r = self.convert(*self.net(), "--output=sum,mid")
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[1], [0.5 * v for v in relu(conv1(X))])

    def test_refusals(self):
        files = self.net()
        self.refused("no output, layer or tensor 'summ'", *files, "--output", "summ", hint="did you mean sum?")
        self.refused("layer 'sum' (Eltwise) has no output 3", *files, "--output", "sum:3")
        self.refused("layer 'sum' (Eltwise) has no input 5", *files, "--output", "5:sum", hint="it has 2 inputs")
        self.refused("'sum:0' is asked for twice", *files, "--output", "sum,sum:0")


class Inputs(ConvertCase):
    def test_a_layer_with_a_shape_cuts_before_it(self):
        r = self.convert(*self.net(), "--input", "relu1[1 2 1 2]")
        self.assertEqual(self.names(r), ["relu1/placeholder_port_0"])
        self.check(self.run_ir(r, ([1, 2, 1, 2], [1, -2, 3, 4]))[0], [1.5, 0, 4.5, 6])
        self.assertNotIn("Convolution", self.types(r))

    def test_the_part_that_is_cut_off_need_not_be_known(self):
        text = NET.replace('type: "Convolution"', 'type: "Frobnicate"')
        self.refused("Frobnicate", *self.net(text), status=2)
        self.convert(*self.net(text), "--input", "relu1[1 2 1 2]{f32}")

    def test_an_output_of_a_layer_and_a_tensor_are_read_from_outside(self):
        for where, name in (("mid:0", "mid/placeholder_out_port_0"), ("half", "half")):
            r = self.convert(*self.net(), "--input", "data,%s[1 2 1 2]" % where)
            self.assertEqual(self.names(r), ["data", name])
            self.check(self.run_ir(r, ([1, 3, 1, 2], X), ([1, 2, 1, 2], [10, 20, 30, 40]))[0], [a + b for a, b in zip(relu(conv1(X)), [10, 20, 30, 40])])

    def test_behind_an_unknown_layer_nothing_can_be_learnt(self):
        files = self.net(NET.replace('type: "Convolution"', 'type: "Frobnicate"'))
        self.refused("cannot be worked out", *files, "--input", "relu1", hint='--input "relu1[1 3 224 224]{f32}"')

    def test_without_a_shape_it_is_learnt(self):
        r = self.convert(*self.net(), "--input", "mid", "--output", "mid")
        self.assertEqual([(p["layer"], p["shape"]) for p in r["inputs"]], [("mid/placeholder_port_0", [1, 2, 1, 2])])
        r = self.convert(*self.net(), "--input", "sum")
        self.assertEqual(self.names(r), ["sum/placeholder_port_0", "sum/placeholder_port_1"])
        self.check(self.run_ir(r, ([1, 2, 1, 2], [1, 2, 3, 4]), ([1, 2, 1, 2], [10, 20, 30, 40]))[0], [11, 22, 33, 44])

    def test_a_port_of_a_layer_with_several_inputs(self):
        r = self.convert(*self.net(), "--input", "0:sum[1 2 1 2],1:sum[1 2 1 2]")
        self.assertEqual(self.names(r), ["sum/placeholder_port_0", "sum/placeholder_port_1"])

    def test_shapes_types_and_both_spellings(self):
        self.assertEqual(self.convert(*self.net(), "--input", "data[2 3 4 5]{f32}")["inputs"][0]["shape"], [2, 3, 4, 5])
        self.assertEqual(self.convert(*self.net(), "--input", "data(2,3,4,5)")["inputs"][0]["shape"], [2, 3, 4, 5])
        self.assertEqual(self.convert(*self.net(), "--input", "data[? 3 4 5..6]")["inputs"][0]["shape"], ["?", 3, 4, "5..6"])
        self.assertEqual(self.convert(*self.net(), "--input", "data", "--input_shape", "[2,3,4,5]")["inputs"][0]["shape"], [2, 3, 4, 5])
        self.assertEqual(self.convert(*self.net(), "--input_shape", "(2,3,4,5)")["inputs"][0]["shape"], [2, 3, 4, 5])
        self.assertEqual(self.convert(*self.net(), "--input_shape", "2,3,-1,5")["inputs"][0]["shape"], [2, 3, "?", 5])
        self.assertEqual(self.convert(*self.net(), "--input_shape", "data[2,3,4,5]")["inputs"][0]["shape"], [2, 3, 4, 5])
        r = self.convert(*self.net(), "--input", "0:sum,mid:0", "--input_shape", "[1,2,1,2],[1,2,1,2]")
        self.assertEqual(self.names(r), ["sum/placeholder_port_0", "mid/placeholder_out_port_0"])

    def test_refusals(self):
        files = self.net()
        for said, arguments, hint in [
                ("no input, layer or tensor 'dat'", ["--input", "dat[1 3 2 2]"], "did you mean data?"),
                ("'data' is an input of the model, it has no inputs", ["--input", "0:data"], "without a port"),
                ("'data' is an input of the model, it has no output 1", ["--input", "data:1"], None),
                ("has no input 7", ["--input", "7:sum[1 2]"], "2 inputs"),
                ("has 2 inputs, and what is given fits one", ["--input", "sum[1 2 1 2]"], "0:sum"),
                ("also need the input data", ["--input", "half[1 2 1 2]"], "list them too"),
                ("given twice", ["--input", "half[1 2 1 2],mid:0[1 2 1 2],data"], None),
                ("names 'data' twice", ["--input", "data,data"], None),
                ("'x' in 'data[1 x]' is not a dimension", ["--input", "data[1 x]"], None),
                ("'f99' in 'data{f99}' is not an element type", ["--input", "data{f99}"], None),
                ("'data]' is not an input", ["--input", "data]"], None),
                ("only a layer or tensor", ["--input_shape", "relu1[1,2,3,4]"], "--input"),
                ("no input, layer or tensor 'nobody'", ["--input_shape", "nobody[1,2,3,4]"], None),
                ("is not a dimension", ["--input_shape", "[1,3,a,4]"], "write [1,3,224,224]"),
                ("in --input_shape is not a shape", ["--input_shape", "[1,3,2,2],5"], None),
                ("shapes stand in --input and in --input_shape", ["--input", "data[1 3 2 2]", "--input_shape", "[1,3,2,2]"], None),
                ("--input_shape has 2 shapes, --input names 0 inputs", ["--input_shape", "[1,2],[3,4]"], "as many names")]:
            self.refused(said, *files, *arguments, hint=hint)

    def test_one_shape_needs_one_input(self):
        m = self.write("two.txt", "graph (x: f32[2], k: f32[2]) { return Add(x, k) }")
        self.refused("the model has 2 inputs, one shape [3] is given", m, "--input_shape", "[3]", hint="inputs are x, k")
        self.assertEqual(len(self.convert(m, "--input_shape", "[1,2]", "--input", "k->[1 2]", "--input", "x")["inputs"]), 1)

    def test_an_input_that_nothing_needs_is_said(self):
        m = self.write("two.txt", "graph (x: f32[2], k: f32[2]) { a = Relu(x) b = Add(a, k) return a, b }")
        r = self.convert(m, "--input", "x,k", "--output", "a")
        self.assertIn("no output needs 'k'", r["notes"])
        self.assertEqual(self.names(r), ["x"])


class Batch(ConvertCase):
    def test_the_first_dimension_of_all_inputs(self):
        self.assertEqual(self.convert(*self.net(), "-b", "4")["inputs"][0]["shape"], [4, 3, 1, 2])
        m = self.write("open.txt", "graph (x: f32[?,2], s: f32[]) { return Multiply(x, s) }")
        self.assertEqual([p["shape"] for p in self.convert(m, "--batch=5")["inputs"]], [[5, 2], []])

    def test_refusals(self):
        files = self.net(NET.replace("dim: 1 dim: 3", "dim: 2 dim: 3"))
        self.refused("the first dimension of input 'data' is 2", *files, "-b", "4", hint="--input_shape")
        self.refused("--batch and shapes of inputs exclude each other", *files, "-b", "4", "--input_shape", "[1,3,2,2]")
        self.refused("--batch and shapes of inputs exclude each other", *files, "-b", "4", "--input", "data[1 3 2 2]")
        for wrong in ("0", "-1", "many"):
            self.refused("a number above 0 is wanted", *files, "--batch=" + wrong)


class Freezing(ConvertCase):
    def two(self):
        return self.write("two.txt", "graph (x: f32[2], k: f32[2]) { return Add(x, k) }")

    def test_a_value_a_list_and_one_number_for_all(self):
        for option, value, want in (("--input", "k->[10 20]", [11, 22]), ("--input", "k->3", [4, 5]), ("--freeze_placeholder_with_value", "k->[1 2]", [2, 4])):
            r = self.convert(self.two(), option, value)
            self.assertEqual(self.names(r), ["x"])
            self.check(self.run_ir(r, ([2], [1, 2]))[0], want)

    def test_on_framework_models_by_their_names(self):
        m = self.path("two.onnx")
        with open(m, "wb") as f:
            f.write(onnx.model("t", [onnx.node("Where", ["flag", "a", "b"], ["y"])], [], [onnx.value("flag", [], 9), onnx.value("a", [2]), onnx.value("b", [2])], [onnx.value("y", [2])], {"": 17}))
        r = self.convert(m, "--input", "flag->False")
        self.assertEqual(self.names(r), ["a", "b"])
        self.check(self.run_ir(r, ([2], [1, 2]), ([2], [3, 4]))[0], [3, 4])
        self.refused("also need the inputs a, b", m, "--input", "flag")

    def test_a_port_that_is_no_input_with_a_shape(self):
        r = self.convert(*self.net(), "--input", "data,mid:0[1 2 1 2]->[1 2 3 4]")
        self.assertEqual(self.names(r), ["data"])
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], [a + b for a, b in zip(relu(conv1(X)), [1, 2, 3, 4])])

    def test_refusals(self):
        self.refused("its value needs a shape", *self.net(), "--input", "data,mid:0->[1 2 3 4]")
        self.refused("which is 2 values, not 3", self.two(), "--input", "k->[1 2 3]")
        self.refused("'red' is not a value of type f32", self.two(), "--input", "k->red")
        self.refused("no value behind ->", self.two(), "--input", "k->")
        self.refused("an empty list", self.two(), "--input", "k->[]")
        self.refused("its shape must be known", self.two(), "--input", "k[?]->[1 2]")
        self.refused("'k' has two values", self.two(), "--input", "k->1", "--freeze_placeholder_with_value", "k->2")
        self.refused("is not NAME->VALUE", self.two(), "--freeze_placeholder_with_value", "k")
        self.refused("'300' is not a value of type u8", self.two(), "--input", "k{u8}->300")


class FrameworkNames(ConvertCase):
    def onnx(self, nodes, inputs, outputs, name="m.onnx"):
        return self.write(name, onnx.model("t", nodes, [], inputs, outputs, {"": 17, "acme": 1}))

    def test_onnx_layers_and_tensors(self):
        m = self.onnx([onnx.node("Relu", ["x"], ["t1"], name="first"), onnx.node("Neg", ["t1"], ["t2"], name="second"), onnx.node("Frob", ["t2"], ["y"], name="third", domain="acme")],
                      [onnx.value("x", [2])], [onnx.value("y", [2])])
        for output in ("second", "t2", "second:0", "0:third"):
            self.check(self.run_ir(self.convert(m, "--output", output), ([2], [1, -2]))[0], [-1, 0])
        r = self.convert(m, "--input", "t1[2]", "--output", "t2")
        self.assertEqual(self.names(r), ["t1"])
        self.check(self.run_ir(r, ([2], [1, -2]))[0], [-1, 2])

    def test_a_name_with_two_meanings_is_refused(self):
        m = self.onnx([onnx.node("Relu", ["x"], ["b"], name="a"), onnx.node("Neg", ["b"], ["c"], name="b")], [onnx.value("x", [2])], [onnx.value("c", [2])])
        self.refused("'b' may be the layer 'b', the tensor 'b', made by the layer 'a'", m, "--output", "b")
        self.convert(m, "--output", "a:0")

    def tensorflow(self, extra=""):
        return self.write("g.pbtxt", """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 1 } dim { size: 1 } dim { size: 2 } dim { size: 3 } } } } }
node { name: "w" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT
  tensor_shape { dim { size: 1 } dim { size: 1 } dim { size: 3 } dim { size: 1 } } float_val: 1 float_val: 10 float_val: 100 } } } }
node { name: "conv" op: "Conv2D" input: "x" input: "w" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "strides" value { list { i: 1 i: 1 i: 1 i: 1 } } } attr { key: "padding" value { s: "SAME" } } }
node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 2 } } } }
node { name: "parts" op: "Split" input: "axis" input: "conv" attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_split" value { i: 2 } } }
node { name: "y" op: "Neg" input: "parts:1" attr { key: "T" value { type: DT_FLOAT } } }
%sversions { producer: 100 }
""" % extra)

    X = [1, 2, 3, 4, 5, 6]  # two places of three channels

    def test_tensorflow_nodes_and_their_outputs(self):
        m = self.tensorflow()
        for output, want in (("y", [-654]), ("parts:1", [654]), ("parts:0", [321]), ("parts", [321]), ("conv:0", [321, 654]), ("1:parts", [321, 654])):
            self.check(self.run_ir(self.convert(m, "--output", output), ([1, 1, 2, 3], self.X))[0], want)
        r = self.convert(m, "--input", "parts:1[1 1 1 1]", "--output", "y")
        self.assertEqual(self.names(r), ["parts/placeholder_out_port_1"])
        self.check(self.run_ir(r, ([1, 1, 1, 1], [5]))[0], [-5])
        # Weights are no input that a cut could mean.
        self.assertEqual(self.names(self.convert(m, "--input", "conv[1 4 4 3]", "--output", "conv")), ["conv/placeholder_port_0"])
        self.assertEqual(self.names(self.convert(m, "--input", "x:0")), ["x"])

    def test_an_input_with_a_default_can_be_frozen(self):
        m = self.tensorflow("""
node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "keep" op: "PlaceholderWithDefault" input: "one" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "z" op: "Mul" input: "conv" input: "keep" attr { key: "T" value { type: DT_FLOAT } } }
""")
        for arguments, factor in (([], 1), (["--freeze_placeholder_with_value", "keep->3"], 3), (["--input", "keep->3"], 3)):
            self.check(self.run_ir(self.convert(m, "--output", "z", *arguments), ([1, 1, 2, 3], self.X))[0], [321 * factor, 654 * factor])
        self.assertEqual(self.names(self.convert(m, "--output", "z", "--input", "x,keep[]")), ["x", "keep/placeholder_port_0"])

    def test_channels_come_last(self):
        m = self.tensorflow()
        r = self.convert(m, "--mean_values", "[1,2,3]", "--scale_values", "x[1,2,4]", "--output", "conv")
        self.check(self.run_ir(r, ([1, 1, 2, 3], self.X))[0], [0, 3 + 10 * 1.5 + 100 * 0.75])
        r = self.convert(m, "--reverse_input_channels", "--output", "conv")
        self.check(self.run_ir(r, ([1, 1, 2, 3], self.X))[0], [123, 456])
        self.assertNotIn("Gather", self.types(r))
        self.refused("has 2 channels (dimension 1 of", self.write("n.txt", "graph (x: f32[1,2,2,3]) { return Relu(x) }"), "--mean_values", "[1,2,3]", hint="--layout says so: nhwc")

    def test_disable_nhwc_to_nchw_keeps_transposes_and_takes_channels_second(self):
        m = self.tensorflow()
        r = self.convert(m, "--disable_nhwc_to_nchw", "--output", "conv")
        self.assertEqual(len(r["transposes"]), 2)
        self.refused("has 1 channels (dimension 1", m, "--disable_nhwc_to_nchw", "--mean_values", "[1,2,3]")

    def test_layouts_meet_the_transposes_of_the_model(self):
        m = self.tensorflow()
        self.assertTrue(self.convert(m, "--output", "conv")["transposes"])
        r = self.convert(m, "--output", "conv", "--layout", "nhwc->nchw")
        self.assertEqual(r["transposes"], [])
        self.assertEqual((r["inputs"][0]["shape"], r["outputs"][0]["shape"]), ([1, 3, 1, 2], [1, 1, 1, 2]))
        self.check(self.run_ir(r, ([1, 3, 1, 2], [1, 4, 2, 5, 3, 6]))[0], [321, 654])
        self.assertIn('layout="[N,C,H,W]"', self.xml(r))
        for same in (["--layout", "x(nhwc->nchw)"], ["--layout", "x[n,h,w,c]->[n,c,h,w]"], ["--source_layout", "x(nhwc)", "--target_layout", "x(nchw)"], ["--layout", "x[n,...,c]->[n,c,...]"]):
            r = self.convert(m, "--output", "conv", *same)
            self.assertEqual((r["inputs"][0]["shape"], r["outputs"][0]["shape"]), ([1, 3, 1, 2], [1, 1, 2, 1]))
            self.check(self.run_ir(r, ([1, 3, 1, 2], [1, 4, 2, 5, 3, 6]))[0], [321, 654])
        r = graft("convert", m, "-o", self.path("o"), "--output", "conv", "--layout", "x(nhwc->nchw)", "--explain", "passes", "--disable-pass", "sink_transposes", "--disable-pass", "merge_transposes")
        self.assertIn("Transpose left           x/layout", r.out)

    def test_layout_refusals(self):
        m = self.tensorflow()
        for said, value in [("has 'N' twice", "nnwc"), ("does not fit", "x(nc)"), ("cannot become", "x(nhwc->nchd)"), ("no input 'z'", "z(nhwc)"),
                            ("merges dimensions", "x[n,h,w,c]->[n,h*w,c]"), ("a letter is wanted", "n1wc"), ("no input has as many dimensions", "nc->cn")]:
            self.refused(said, m, "--layout", value)
        self.refused("--layout excludes", m, "--layout", "nhwc", "--source_layout", "nhwc")
        self.refused("has no --source_layout", m, "--target_layout", "nchw")

    def test_mean_values_follow_a_layout(self):
        m = self.write("last.txt", "graph (x: f32[1,1,2,3]) { return Relu(x) }")
        r = self.convert(m, "--mean_values", "[1,2,3]", "--layout", "nhwc")
        self.check(self.run_ir(r, ([1, 1, 2, 3], self.X))[0], [0, 0, 0, 3, 3, 3])

    def test_text_and_tags_and_frameworks(self):
        m = self.tensorflow()
        self.convert(m, "--input_model_is_text", "--framework", "tf")
        self.refused("is a model of tensorflow, --framework says caffe", m, "--framework", "caffe")
        self.refused("--framework is 'torch'", m, "--framework", "torch", hint="tf, caffe and onnx")
        self.refused("tags choose a graph of a SavedModel", m, "--saved_model_tags", "serve")
        self.refused("is not a TensorFlow graph as text", *self.net(), "--input_model_is_text")


def attr(name, value):
    return onnx.data(5, onnx.data(1, name) + onnx.data(2, value))


def node(name, op, inputs, *attributes):
    """A NodeDef of TensorFlow, as it stands in a GraphDef."""
    return onnx.data(1, onnx.data(1, name) + onnx.data(2, op) + b"".join(onnx.data(3, i) for i in inputs) + b"".join(attributes))


class SavedModels(ConvertCase):
    def graph(self, factor):
        shape = onnx.data(2, onnx.number(1, 2))
        tensor = onnx.number(1, 1) + onnx.data(2, b"") + onnx.data(4, struct.pack("<f", factor))
        return (node("x", "Placeholder", [], attr("dtype", onnx.number(6, 1)), attr("shape", onnx.data(7, shape))) +
                node("c", "Const", [], attr("dtype", onnx.number(6, 1)), attr("value", onnx.data(8, tensor))) +
                node("y", "Mul", ["x", "c"], attr("T", onnx.number(6, 1))) + onnx.data(4, onnx.number(1, 100)))

    def test_the_folder_and_its_tags(self):
        os.mkdir(self.path("saved"))
        metas = [onnx.data(2, onnx.data(1, b"".join(onnx.data(4, t) for t in tags)) + onnx.data(2, self.graph(factor))) for tags, factor in ((["serve"], 2), (["train", "gpu"], 3))]
        self.write("saved/saved_model.pb", onnx.number(1, 1) + b"".join(metas))
        r = self.convert("--saved_model_dir", self.path("saved"))
        self.assertTrue(r["xml"].endswith("saved_model.xml"))
        self.check(self.run_ir(r, ([2], [1, 2]))[0], [2, 4])
        r = self.convert("--saved_model_dir", self.path("saved"), "--saved_model_tags", "gpu,train")
        self.check(self.run_ir(r, ([2], [1, 2]))[0], [3, 6])
        self.refused("no graph tagged [gpu]", "--saved_model_dir", self.path("saved"), "--saved_model_tags", "gpu", hint="[serve], [train, gpu]")
        self.refused("there is no folder", "--saved_model_dir", self.path("none"))
        self.refused("exclude each other", "--saved_model_dir", self.path("saved"), "--input_model", self.path("saved", "saved_model.pb"))

    def test_layers_of_a_function_and_the_graphs_own_names(self):
        real = attr("T", onnx.number(6, 1))
        arguments = onnx.data(1, onnx.data(1, "f") + onnx.data(2, onnx.data(1, "a") + onnx.number(3, 1)) + onnx.data(3, onnx.data(1, "r") + onnx.number(3, 1)))
        inside = b"".join(onnx.data(3, onnx.data(1, name) + onnx.data(2, op) + onnx.data(3, source) + real)
                          for name, op, source in (("n", "Neg", "a"), ("m", "Relu", "n:y:0"), ("o", "Frobnicate", "m:y:0")))
        function = onnx.data(1, arguments + inside + onnx.data(4, onnx.data(1, "r") + onnx.data(2, "o:y:0")))
        shape = onnx.data(2, onnx.number(1, 2))
        graph = (node("serve_x", "Placeholder", [], attr("dtype", onnx.number(6, 1)), attr("shape", onnx.data(7, shape))) +
                 node("call", "PartitionedCall", ["serve_x"], attr("f", onnx.data(10, onnx.data(1, "f")))) + onnx.data(2, function) + onnx.data(4, onnx.number(1, 100)))

        def entry(field, key, tensor):
            return onnx.data(field, onnx.data(1, key) + onnx.data(2, onnx.data(1, tensor) + onnx.number(2, 1) + onnx.data(3, shape)))

        signature = onnx.data(5, onnx.data(1, "serving_default") + onnx.data(2, entry(1, "x", "serve_x:0") + entry(2, "y", "call:0")))
        os.mkdir(self.path("f"))
        self.write("f/saved_model.pb", onnx.number(1, 1) + onnx.data(2, onnx.data(1, onnx.data(4, "serve")) + onnx.data(2, graph) + signature))
        self.refused("Frobnicate", self.path("f"), status=2)
        for arguments in (["--output", "call/m"], ["--output", "call/m:0", "--input", "serve_x[3]"], ["--input", "x[3]", "--output", "0:call/o"]):
            r = self.convert(self.path("f"), *arguments)
            n = r["inputs"][0]["shape"]
            self.check(self.run_ir(r, (n, [1, -2, 3][:n[0]]))[0], [0, 2, 0][:n[0]])
        r = self.convert(self.path("f"), "--input", "call/m[2]", "--output", "call/m")
        self.assertEqual(self.names(r), ["call/m/placeholder_port_0"])
        self.refused("did you mean call/m?", self.path("f"), "--output", "cal/m")

    def test_a_meta_graph_by_the_names_of_its_parts(self):
        self.write("m.meta", onnx.data(1, onnx.data(4, "train")) + onnx.data(2, self.graph(5)))
        for name in ("m.meta", "m.index", "m.data-00000-of-00001"):
            self.check(self.run_ir(self.convert("--input_meta_graph", self.path(name)), ([2], [1, 2]))[0], [5, 10])
        self.refused("there is no checkpoint", self.path("m.meta"), "--input_checkpoint", self.path("none.ckpt"))
        os.mkdir(self.path("empty"))
        self.refused("has 0 checkpoints", self.path("m.meta"), "--input_checkpoint", self.path("empty"))


class MeansAndScales(ConvertCase):
    def test_means_then_scales_in_the_models_channel_order(self):
        for mean in ("data[1,2,3]", "(1,2,3)", "1,2,3"):
            r = self.convert(*self.net(), "--output", "conv1", "--mean_values", mean, "--scale_values", "[1,2,4]")
            y = [(v - m) / s for v, m, s in zip(X, [1, 1, 2, 2, 3, 3], [1, 1, 2, 2, 4, 4])]
            self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], conv1(y))

    def test_one_number_for_all(self):
        r = self.convert(*self.net(), "--output", "conv1", "-ms", "[2]", "-s", "4")
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], conv1([(v - 2) / 4 for v in X]))
        r = self.convert(*self.net(), "--output", "conv1", "--scale", "0.5")
        self.assertIn("1/255 is written --scale 255", r["notes"])
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], conv1([2 * v for v in X]))

    def test_values_that_change_nothing_insert_nothing(self):
        plain = self.types(self.convert(*self.net()))
        self.assertEqual(plain, self.types(self.convert(*self.net(), "--mean_values", "[0,0,0]", "--scale_values", "[1,1,1]")))
        self.assertEqual(plain, self.types(self.convert(*self.net(), "--scale", "1")))

    def test_by_name_and_by_position_for_several_inputs(self):
        m = self.write("two.txt", "graph (x: f32[1,2], k: f32[1,2]) { return Add(x, Multiply(k, f32[] {10})) }")
        for values, order in (("x[1,1],k[2,2]", []), ("[1,1],[2,2]", []), ("[2,2],[1,1]", ["--input", "k,x"])):
            r = self.convert(m, "--mean_values", values, *order)
            names = self.names(r)
            given = {"x": ([1, 2], [1, 2]), "k": ([1, 2], [3, 4])}
            self.check(self.run_ir(r, *[given[n] for n in names])[0], [10, 21])

    def test_who_asks_for_the_shape_reads_the_input_itself(self):
        m = self.write("shape.txt", "graph (x: f32[1,3,?,?]) { return ShapeOf(x), Relu(x) }")
        xml = self.xml(self.convert(m, "--mean_values", "[1,2,3]"))
        ids = {name: number for number, name in re.findall(r'<layer id="(\d+)" name="([^"]*)"', xml)}
        shape = next(number for number, kind in re.findall(r'<layer id="(\d+)" name="[^"]*" type="(\w+)"', xml) if kind == "ShapeOf")
        self.assertIn('from-layer="%s" from-port="0" to-layer="%s"' % (ids["x"], shape), xml)

    def test_a_cut_input_goes_by_the_name_it_was_asked_for(self):
        r = self.convert(*self.net(), "--input", "relu1[1 2 1 2]", "--mean_values", "relu1[1,2]")
        self.check(self.run_ir(r, ([1, 2, 1, 2], [1, 2, 3, 4]))[0], [0, 1.5, 1.5, 3])

    def test_refusals(self):
        files = self.net()
        for said, arguments in [
                ("--scale and --scale_values exclude", ["--scale", "2", "--scale_values", "[1,1,1]"]),
                ("has 2 lists of values, the model has 1 input", ["--mean_values", "[1,2,3],[1,2,3]"]),
                ("has 3 channels (dimension 1 of [1,3,1,2]), 2 values", ["--mean_values", "[1,2]"]),
                ("no input 'datta'", ["--mean_values", "datta[1,2,3]"]),
                ("names some inputs and not others", ["--mean_values", "data[1,2,3],[1,2,3]"]),
                ("two lists of values for input 'data'", ["--scale_values", "data[1,2,3],data[1,2,3]"]),
                ("'a' in --mean_values is not a number", ["--mean_values", "[1,a,3]"]),
                ("has no values", ["--mean_values", "data[]"]),
                ("cannot be divided by a scale of 0", ["--scale_values", "[1,0,1]"]),
                ("a number other than 0 is wanted", ["--scale", "much"])]:
            self.refused(said, *files, *arguments)
        m = self.write("whole.txt", "graph (x: u8[1,3]) { return Convert(x) {destination_type = f32} }")
        self.refused("holds u8, the values need real numbers", m, "--mean_values", "[1,2,3]", hint="x{f32}")
        self.assertIn("--scale leaves input 'x' alone", self.convert(m, "--scale", "2")["notes"])

    def test_a_mean_image(self):
        image = list(range(3 * 3 * 4))  # three channels of 3 rows and 4 columns
        f = self.write("mean.binaryproto", onnx.number(1, 1) + onnx.number(2, 3) + onnx.number(3, 3) + onnx.number(4, 4) + onnx.data(5, struct.pack("<36f", *image)))
        for arguments, (x, y) in (([], (1, 1)), (["-mo", "(2,0)"], (2, 0)), (["--mean_file_offsets=(0,2)"], (0, 2))):
            r = self.convert(*self.net(), "--output", "conv1", "-mf", f, *arguments)
            part = [image[c * 12 + y * 4 + x + i] for c in range(3) for i in range(2)]
            self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], conv1([v - m for v, m in zip(X, part)]))
        files = self.net()
        self.refused("exclude each other", *files, "--mean_file", f, "--mean_values", "[1,2,3]")
        self.refused("begins outside of the image", *files, "--mean_file", f, "--mean_file_offsets", "(-1,0)")
        self.refused("is not a position", *files, "--mean_file", f, "--mean_file_offsets", "(1)")
        self.refused("does not fit the image", *files, "--mean_file", f, "--mean_file_offsets", "(3,0)")
        self.refused("does not fit the image", *files, "--mean_file", f, "--input_shape", "[1,3,8,8]")
        self.refused("there is no mean file", *files, "--mean_file", self.path("none"))
        self.refused("needs a --mean_file", *files, "--mean_file_offsets", "(1,1)")
        self.refused("mean.txt", *files, "--mean_file", self.write("mean.txt", "hello"), status=2)
        two = self.write("two.txt", "graph (x: f32[1,3,1,2], k: f32[1,3,1,2]) { return Add(x, k) }")
        self.refused("is for models with one input, this one has 2", two, "--mean_file", f)


class ReversedChannels(ConvertCase):
    def test_it_ends_in_the_weights_and_turns_means_round(self):
        r = self.convert(*self.net(), "--output", "conv1", "--reverse_input_channels", "--mean_values", "[1,2,3]", "--scale", "2")
        y = [(v - m) / 2 for v, m in zip(X[4:6] + X[2:4] + X[0:2], [1, 1, 2, 2, 3, 3])]
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], conv1(y))
        self.assertNotIn("Gather", self.types(r))

    def test_what_cannot_take_it_keeps_a_gather(self):
        m = self.write("s.txt", "graph (x: f32[1,3,1,2]) { return Softmax(Relu(x)) {axis = 3}, ReduceSum(x, i64[1] {3}) }")
        r = self.convert(m, "--reverse_input_channels")
        self.assertEqual(self.types(r).count("Gather"), 2)
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[1], [11, 7, 3])

    def test_groups_hand_it_on(self):
        m = self.write("g.txt", """graph (x: f32[1,3,1,2]) {
          a = GroupConvolution(x, f32[3,2,1,1,1] {1, 2, 3, 4, 5, 6}) {strides = [1,1], pads_begin = [0,0], pads_end = [0,0], dilations = [1,1]}
          b = PRelu(a, f32[6] {1, 2, 3, 4, 5, 6})
          return Convolution(b, f32[1,6,1,1] {1, 10, 100, 1000, 10000, 100000}) {strides = [1,1], pads_begin = [0,0], pads_end = [0,0], dilations = [1,1]}, a
        }""")
        x = [-v for v in X]
        plain = self.convert(m, out="plain")
        turned = self.convert(m, "--reverse_input_channels")
        want = self.run_ir(plain, ([1, 3, 1, 2], x[4:6] + x[2:4] + x[0:2]))
        for got, w in zip(self.run_ir(turned, ([1, 3, 1, 2], x)), want):
            self.check(got, w, places=1)
        self.assertEqual(self.types(turned).count("Gather"), 1)  # of the second output

    def test_inputs_that_do_not_qualify_are_listed(self):
        m = self.write("two.txt", "graph (x: f32[1,3,1,2], k: f32[1,4]) { return Relu(x), Relu(k) }")
        self.assertIn("leaves inputs alone that have not four dimensions and three channels: k [1,4]", self.convert(m, "--reverse_input_channels")["notes"])


class HalfPrecision(ConvertCase):
    def test_weights_are_half_and_the_border_is_not(self):
        for arguments in (["--data_type", "FP16"], ["--data_type=half"], ["--compress_to_fp16"]):
            r = self.convert(*self.net(), *arguments)
            xml = self.xml(r)
            self.assertIn('element_type="f16" shape="2, 3, 1, 1"', xml)
            self.assertIn('<attribute name="decompression" version="0"', xml)
            self.assertEqual((r["inputs"][0]["type"], r["outputs"][0]["type"]), ("f32", "f32"))
            self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], [1.5 * v for v in relu(conv1(X))], places=2)
        self.assertNotIn("f16", self.xml(self.convert(*self.net(), "--data_type", "float")))

    def test_what_does_not_fit_is_said(self):
        m = self.write("w.txt", "graph (x: f32[6]) { return Add(Multiply(x, f32[6] {1, 2, 3, 4, 1e6, 1e-9}), f32[2,1] {1e9, 1e8}) }")
        r = self.convert(m, "--data_type", "FP16")
        self.assertIn("1 of 6 values of", r["notes"])
        self.assertIn("too large for f16 and were clipped", r["notes"])
        self.assertIn("too small for f16 and became 0", r["notes"])
        self.assertEqual((r["f16"]["compressed"], r["f16"]["kept"]), (1, 1))

    def test_refusals(self):
        self.refused("--data_type is 'INT8'", *self.net(), "--data_type", "INT8", hint="FP16, FP32, half and float")
        self.refused("contradict", *self.net(), "--data_type", "FP32", "--compress_to_fp16")


class OldCommandLines(ConvertCase):
    def test_the_optimizers_own_words(self):
        self.net(name="x")
        os.rename(self.path("x.prototxt"), self.path("d.prototxt"))
        r = graft("convert", "--input_model", "x.caffemodel", "--input_proto", "d.prototxt", "--data_type", "FP16", "--reverse_input_channels", "--mean_values",
                  "data[104,117,123]", "--scale", "255", "-n", "name", "-o", "dir", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertRegex(r.out, r"dir/name.xml\ndir/name.bin\ncaffe model, .*\n.* stored as f16.*\nIR version 11 in [0-9.]+ seconds, with at most [0-9]+ MB of memory\n")
        # The files are named after the model, which is the weights.
        self.assertEqual(graft("convert", "-w", "x.caffemodel", "-d", "d.prototxt", cwd=self.folder).status, 0)
        self.assertTrue(os.path.exists(self.path("x.xml")))
        with open(self.path("x.xml")) as f:
            self.assertIn('name="small"', f.read())

    def test_what_is_refused_says_why(self):
        files = self.net()
        for option, value in [("--move_to_preprocess", None), ("--generate_deprecated_IR_V7", None), ("--generate_deprecated_IR_V2", None), ("--keep_shape_ops", None),
                              ("--tensorflow_object_detection_api_pipeline_config", "f"), ("--tensorboard_logdir", "d"), ("--tensorflow_custom_layer_libraries", "l.so"),
                              ("--tensorflow_subgraph_patterns", "p"), ("--tensorflow_operation_patterns", "p"), ("--offload_unsupported_operations_to_tf", None),
                              ("--input_symbol", "s"), ("--nd_prefix_name", "n"), ("--pretrained_model_name", "p"), ("--save_params_from_nd", None),
                              ("--legacy_mxnet_model", None), ("--enable_ssd_gluoncv", None), ("--counts", "c"), ("--remove_output_softmax", None), ("--remove_memory", None)]:
            r = self.refused(option + " is not supported: ", *files, option, *([value] if value else []))
            self.assertIn("hint: ", r.err, option)
            if value:
                self.refused(option + " is not supported: ", *files, option + "=" + value)
        self.refused("MXNet models come later", *files, "--framework", "mxnet")
        self.refused("Kaldi models come later", *files, "--framework", "kaldi")
        self.refused("--framework paddle is not supported", *files, "--framework", "paddle")
        self.refused("--transform LowLatency2 is not supported", *files, "--transform", "LowLatency2")
        self.convert(*files, "--transform", "")

    def test_what_is_so_anyway_is_granted(self):
        files = self.net()
        for option in (["--caffe_parser_path", "d"], ["--disable_weights_compression"], ["--legacy_ir_generation"], ["--use_new_frontend"], ["--use_legacy_frontend"]):
            self.assertIn(option[0] + " changes nothing: ", self.convert(*files, *option)["notes"])
        self.convert(*files, "--static_shape")

    def test_switches_of_passes(self):
        files = self.net()
        for option in ("--disable_fusing", "--disable_gfusing", "--disable_resnet_optimization", "--enable_concat_optimization"):
            self.convert(*files, option)
        self.assertNotIn("sink_transposes", [p["pass"] for p in self.convert(*files, "--disable_nhwc_to_nchw")["passes"]])
        counts = [self.types(self.convert(*files, "--output", "conv1", "--scale", "2", *o)).count("Multiply")
                  for o in ([], ["--disable_fusing"], ["--finegrain_fusing", "data/scale"], ["--finegrain_fusing", "conv1"], ["--finegrain_fusing", "scale"])]
        self.assertEqual(counts, [0, 1, 1, 1, 0])
        self.assertIn("no node's name matches 'nobody.*'", self.convert(*files, "--finegrain_fusing", "nobody.*,conv1")["notes"])
        self.refused("--finegrain_fusing: ", *files, "--finegrain_fusing", "(")
        one, other = (graft("convert", *files, "--output", "conv1", "--scale", "2", "-o", self.path("o"), *spelling).out for spelling in (["--explain", "passes"], ["--explain-passes"]))
        strip = re.compile("IR version.*")
        self.assertEqual(strip.sub("", one), strip.sub("", other))
        self.assertIn("fuse_linear", one)
        self.refused("--explain 'kernels' is not known", *files, "--explain", "kernels")

    def test_what_is_printed(self):
        files = self.net()
        r = graft("convert", *files, "-o", self.path("o"), "--silent", "--scale", "0.5", "--use_new_frontend")
        self.assertEqual((r.status, r.out), (0, ""))
        self.assertEqual(r.err, "")
        for level in ("CRITICAL", "ERROR", "WARN", "WARNING", "INFO", "DEBUG", "NOTSET"):
            notes = self.convert(*files, "--log_level", level, "--reverse_input_channels", "--input", "relu1[1 2 1 2]")["notes"]
            self.assertEqual("leaves inputs alone" in notes, level not in ("CRITICAL", "ERROR"), level)
        self.refused("--log_level is 'LOUD'", *files, "--log_level", "LOUD")
        self.assertIn("100%", self.convert(*files, "--progress")["notes"])
        self.assertEqual(self.convert(*files, "--stream_output")["notes"].count("%"), 5)
        r = graft("convert", "--version")
        self.assertEqual((r.status, r.out[:6]), (0, "graft "))
        r = graft("convert", *files, "-o", self.path("o"), env={"MO_DISABLED_TRANSFORMS": "x"})
        self.assertIn("MO_DISABLED_TRANSFORMS is set", r.err)

    def test_extensions_in_python_are_refused(self):
        self.refused("is a folder, a shared library is wanted", *self.net(), "--extensions", self.folder, hint="graft new")

    def test_an_output_folder_that_cannot_be_made(self):
        r = graft("convert", *self.net(), "-o", self.path("net.prototxt"))
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("net.prototxt", r.err)

    def test_names_of_files(self):
        shutil.copy(self.write("plain.txt", "graph (x: f32[2]) { return Relu(x) }"), self.path(".hidden"))
        self.assertEqual(os.path.basename(self.convert(self.path(".hidden"))["xml"]), "model.xml")


class Explaining(ConvertCase):
    def test_a_part_can_be_explained(self):
        r = graft("explain", *self.net(NET + UNKNOWN), "--input", "relu1[1 2 1 2]", "--output", "mid")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("relu1/placeholder_port_0", r.out)
        self.assertNotIn("Frobnicate", r.out)

    def test_a_written_ir_can_be_cut(self):
        r = self.convert(*self.net())
        again = self.convert(r["xml"], "--input", "relu1[1 2 1 2]", "--output", "mid", out="again")
        self.check(self.run_ir(again, ([1, 2, 1, 2], [1, -2, 3, 4]))[0], [0.5, 0, 1.5, 2])
        again = self.convert(r["xml"], "--input", "mid:0,data->1", out="again")
        self.assertEqual(self.names(again), ["mid/placeholder_out_port_0"])
        self.check(self.run_ir(again, ([1, 2, 1, 2], [1, 2, 3, 4]))[0], [7, 8, 3, 4])
        self.refused("also need the input data", r["xml"], "--input", "half")

    def test_a_state_is_kept_whole(self):
        m = self.write("state.txt", """graph (x: f32[2]) {
          s = ReadValue(f32[2] {0, 0}) {variable_id = "v", variable_shape = [2], variable_type = f32}
          y = Add(x, s)
          a = Assign(y) {variable_id = "v"}
          return y, Relu(x)
        }""")
        self.assertIn("Assign", self.types(self.convert(m, "--input", "x[2]", "--output", "y")))
        self.assertNotIn("ReadValue", self.types(self.convert(m, "--output", "0:y")))


if __name__ == "__main__":
    main()
