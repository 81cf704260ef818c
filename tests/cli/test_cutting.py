#!/usr/bin/env python3
"""Cutting a part out of a model, other inputs, frozen ones: `graft convert --input --output --batch` and the like.

  tests/cli/test_cutting.py --build build [unittest arguments]
"""
import os
import re
import shutil
import struct

from harness import graft, main, onnx, read_npy, save, write_npy
from small_net import NET, UNKNOWN, X, ConvertCase, conv1, relu


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
        self.refused("'sum:0' is requested twice", *files, "--output", "sum,sum:0")


class RunAndConvert(ConvertCase):
    """A name means the same to `run --output` and to `convert --output`, except that of an output of the model."""

    def both(self, files, output, x=None, dims=(1, 3, 1, 2)):
        x = x or [1, 2, -3, -4, 5, 6]
        converted = self.run_ir(self.convert(*files, "--output", output), (list(dims), x))[0]
        for way in ([], ["--through-ir"], ["-d", "REFERENCE"]):
            r = graft("run", *files, "--input", self.path("in0.npy"), "--output", output, "--output-dir", self.path("ran"), *way)
            self.assertEqual(r.status, 0, r.all)
            self.check(read_npy(self.path("ran", "0.npy")), converted)
        return converted

    def ran(self, files, output, *options):
        r = graft("run", *files, "--input", self.path("in0.npy"), "--output", output, "--output-dir", self.path("ran"), *options)
        self.assertEqual(r.status, 0, r.all)
        return read_npy(self.path("ran", "0.npy"))

    def test_an_output_of_the_model_goes_before_layers(self):
        m = self.path("sums.onnx")
        save(m, [onnx.node("Neg", ["x"], ["a"], name="sum"), onnx.node("Abs", ["a"], ["b"], name="sum"), onnx.node("Add", ["a", "b"], ["sum"], name="last")],
             [onnx.value("x", [2])], [onnx.value("sum", [2])])
        write_npy(self.path("in0.npy"), [2], [1, -2])
        for way in ([], ["-d", "REFERENCE"], ["--through-ir"]):
            self.check(self.ran([m], "sum", *way), [0, 4])
        crossed = self.path("crossed.onnx")
        save(crossed, [onnx.node("Neg", ["x"], ["b"], name="a"), onnx.node("Abs", ["b"], ["a"], name="b")], [onnx.value("x", [2])], [onnx.value("a", [2])])
        self.check(self.ran([crossed], "a"), [1, 2])
        graph = self.write("named.txt", 'graph (x: f32[2]) { y = Negative(x) z = Abs(y) return y = z, n = y }')
        self.check(self.ran([graph], "y"), [1, 2])
        self.check(self.ran([graph], "n"), [-1, 2])

    def test_only_what_the_output_needs_is_run(self):
        x = [1, 2, -3, -4, 5, 6]
        plain = conv1(x)
        files = self.net(NET + UNKNOWN)
        write_npy(self.path("in0.npy"), [1, 3, 1, 2], x)
        for output, want in (("conv1", plain), ("conv1,half", plain), ("half", [0.5 * v for v in relu(plain)])):
            self.check(self.ran(files, output.split(",")[0], *(["--output", output.split(",")[1]] if "," in output else [])), want)
        r = graft("run", *files, "--output", "end")
        self.assertEqual(r.status, 2, r.all)
        # Inputs that the output does not depend on need no value, but may have one.
        m = self.path("inputs.onnx")
        save(m, [onnx.node("Neg", ["p"], ["a"], name="first"), onnx.node("Add", ["a", "q"], ["y"]), onnx.node("Frobnicate", ["y", "r"], ["z"])],
             [onnx.value("q", ["n"]), onnx.value("p", [2]), onnx.value("r", [3])], [onnx.value("z", [2])])
        write_npy(self.path("in0.npy"), [2], [1, -2])
        write_npy(self.path("q.npy"), [2], [10, 10])
        for given in (["--input", "p=" + self.path("in0.npy")], ["--input", self.path("q.npy"), "--input", self.path("in0.npy")]):
            r = graft("run", m, "--output", "a", "--output-dir", self.path("ran"), *given)
            self.assertEqual(r.status, 0, r.all)
            self.check(read_npy(self.path("ran", "0.npy")), [-1, 2])
            self.assertEqual("input 'q' has no effect on the requested outputs" in r.err, len(given) == 4, r.err)
        r = graft("run", m, "--output", "y", "--input", "p=" + self.path("in0.npy"))
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("no value for input 'q'", r.err)

    def test_layers_in_place(self):
        plain = conv1([1, 2, -3, -4, 5, 6])
        for output, want in (("conv1", plain), ("conv1:0", plain), ("relu1", relu(plain)), ("0:mid", relu(plain)), ("half", [0.5 * v for v in relu(plain)])):
            self.check(self.both(self.net(), output), want)

    def test_a_blob_that_no_layer_is_called_after(self):
        files = self.net(NET.replace('"conv1" top: "conv1"', '"conv1" top: "feature"').replace('bottom: "conv1"', 'bottom: "feature"')
                         .replace('bottom: "data" top: "conv1"', 'bottom: "data" top: "feature"').replace('bottom: "feature" top: "conv1"', 'bottom: "feature" top: "feature"'))
        plain = conv1([1, 2, -3, -4, 5, 6])
        self.check(self.both(files, "feature"), relu(plain))
        self.check(self.both(files, "conv1"), plain)

    def test_the_model_s_own_output_is_what_run_returns_anyway(self):
        files = self.net("".join(NET.splitlines(True)[:5]))  # up to relu1, in place
        plain = conv1([1, 2, -3, -4, 5, 6])
        self.check(self.both(files, "conv1:0"), plain)
        self.check(self.both(files, "relu1"), relu(plain))
        # To run, the model's own output of this name is meant; to convert, the layer, as for the Model Optimizer.
        self.check(self.run_ir(self.convert(*files, "--output", "conv1"), ([1, 3, 1, 2], [1, 2, -3, -4, 5, 6]))[0], plain)
        self.check(self.ran(files, "conv1"), relu(plain))

    def test_onnx_tensorflow_and_ir(self):
        m = self.path("two.onnx")
        save(m, [onnx.node("Neg", ["x"], ["a"], name="first"), onnx.node("Split", ["a"], ["p", "q"], name="parts", axis=0, num_outputs=2), onnx.node("Add", ["p", "q"], ["y"])],
             [onnx.value("x", [2])], [onnx.value("y", [1])], opsets={"": 18})
        for output, want in (("first", [-1, -2]), ("a", [-1, -2]), ("parts", [-1]), ("parts:1", [-2]), ("q", [-2]), ("y", [-3])):
            self.check(self.both([m], output, [1, 2], [2]), want)
        ir = self.convert(m, out="ir")["xml"]
        for output in ("a", "parts:1", "y"):
            self.both([ir], output, [1, 2], [2])
        graph = self.write("m.pbtxt", 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 2 } } } } }\n'
                           'node { name: "n" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }\n'
                           'node { name: "y" op: "Relu" input: "n" attr { key: "T" value { type: DT_FLOAT } } }\n')
        for output, want in (("n", [-1, 2]), ("n:0", [-1, 2]), ("0:y", [-1, 2])):
            self.check(self.both([graph], output, [1, -2], [2]), want)

    def test_what_two_things_are_called_is_refused_by_both(self):
        m = self.path("crossed.onnx")
        save(m, [onnx.node("Neg", ["x"], ["b"], name="a"), onnx.node("Abs", ["b"], ["a"], name="b")], [onnx.value("x", [2])], [onnx.value("a", [2])])
        for command in (["convert", "-o", self.path("out")], ["run"]):
            r = graft(command[0], m, "--output", "b", *command[1:])
            self.assertEqual(r.status, 1, r.all)
            self.assertIn("'b' is ambiguous: it may be the layer 'b', the tensor 'b', produced by the layer 'a'", r.err)


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
        self.refused("cannot infer the shape of", *files, "--input", "relu1", hint="--input 'relu1[1 3 224 224]{f32}'")

    def test_without_a_shape_it_is_learnt(self):
        r = self.convert(*self.net(), "--input", "mid", "--output", "mid")
        self.assertEqual([(p["layer"], p["shape"]) for p in r["inputs"]], [("mid/placeholder_port_0", [1, 2, 1, 2])])
        r = self.convert(*self.net(), "--input", "sum")
        self.assertEqual(self.names(r), ["sum/placeholder_port_0", "sum/placeholder_port_1"])
        self.check(self.run_ir(r, ([1, 2, 1, 2], [1, 2, 3, 4]), ([1, 2, 1, 2], [10, 20, 30, 40]))[0], [11, 22, 33, 44])

    def test_a_port_of_a_layer_with_several_inputs(self):
        r = self.convert(*self.net(), "--input", "0:sum[1 2 1 2],1:sum[1 2 1 2]")
        self.assertEqual(self.names(r), ["sum/placeholder_port_0", "sum/placeholder_port_1"])

    def test_inputs_have_the_order_of_the_request_and_the_names_of_mo(self):
        """The tensor at a port is called PORT:LAYER, as the request writes it. The same for a framework's model and an IR."""
        converted = self.convert(*self.net())
        for kind in ("xml", "bin"):
            shutil.copy(converted[kind], self.path("whole." + kind))
        for files in (self.net(), [self.path("whole.xml")]):
            for request, names in (("1:sum[1 2 1 2],data[1 3 1 2]", ["sum/placeholder_port_1", "data"]),
                                   ("data[1 3 1 2],1:sum[1 2 1 2]", ["data", "sum/placeholder_port_1"])):
                r = self.convert(*files, "--input", request)
                self.assertEqual(self.names(r), names)
                with open(r["xml"]) as f:
                    text = f.read()
                self.assertEqual(re.findall('name="([^"]*)" type="Parameter"', text), names)
                self.assertRegex(text, 'names="([^"]*,)?1:sum[,"]')

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
                ("has 2 inputs, but the shape, type or value applies to one", ["--input", "sum[1 2 1 2]"], "0:sum"),
                ("also depend on the input data", ["--input", "half[1 2 1 2]"], "list them too"),
                ("are the same input", ["--input", "half[1 2 1 2],mid:0[1 2 1 2],data"], None),
                ("names 'data' twice", ["--input", "data,data"], None),
                ("expected a dimension, got 'x' in 'data[1 x]'", ["--input", "data[1 x]"], None),
                ("expected an element type, got 'f99' in 'data{f99}'", ["--input", "data{f99}"], None),
                ("expected an input, got 'data]'", ["--input", "data]"], None),
                ("only a layer or tensor", ["--input_shape", "relu1[1,2,3,4]"], "--input"),
                ("no input, layer or tensor 'nobody'", ["--input_shape", "nobody[1,2,3,4]"], None),
                ("expected a dimension, got 'a'", ["--input_shape", "[1,3,a,4]"], "write [1,3,224,224]"),
                ("--input_shape: expected a shape, got '5'", ["--input_shape", "[1,3,2,2],5"], None),
                ("shapes are given in both --input and --input_shape", ["--input", "data[1 3 2 2]", "--input_shape", "[1,3,2,2]"], None),
                ("--input_shape has 2 shapes, --input names 0 inputs", ["--input_shape", "[1,2],[3,4]"], "one input per shape")]:
            self.refused(said, *files, *arguments, hint=hint)

    def test_one_shape_needs_one_input(self):
        m = self.write("two.txt", "graph (x: f32[2], k: f32[2]) { return Add(x, k) }")
        self.refused("expected a shape for each of the 2 inputs, got only [3]", m, "--input_shape", "[3]", hint="inputs are x, k")
        self.assertEqual(len(self.convert(m, "--input_shape", "[1,2]", "--input", "k->[1 2]", "--input", "x")["inputs"]), 1)

    def test_an_input_that_nothing_needs_is_said(self):
        m = self.write("two.txt", "graph (x: f32[2], k: f32[2]) { a = Relu(x) b = Add(a, k) return a, b }")
        r = self.convert(m, "--input", "x,k", "--output", "a")
        self.assertIn("no output depends on 'k'", r["notes"])
        self.assertEqual(self.names(r), ["x"])


class Batch(ConvertCase):
    def test_the_first_dimension_of_all_inputs(self):
        self.assertEqual(self.convert(*self.net(), "-b", "4")["inputs"][0]["shape"], [4, 3, 1, 2])
        m = self.write("open.txt", "graph (x: f32[?,2], s: f32[]) { return Multiply(x, s) }")
        self.assertEqual([p["shape"] for p in self.convert(m, "--batch=5")["inputs"]], [[5, 2], []])

    def test_refusals(self):
        files = self.net(NET.replace("dim: 1 dim: 3", "dim: 2 dim: 3"))
        self.refused("expected a first dimension of 1 or unknown for input 'data', got 2", *files, "-b", "4", hint="--input_shape")
        self.refused("--batch and input shapes are mutually exclusive", *files, "-b", "4", "--input_shape", "[1,3,2,2]")
        self.refused("--batch and input shapes are mutually exclusive", *files, "-b", "4", "--input", "data[1 3 2 2]")
        for wrong in ("0", "-1", "many"):
            self.refused("expected a positive integer, got '%s'" % wrong, *files, "--batch=" + wrong)


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
        self.refused("also depend on the inputs a, b", m, "--input", "flag")

    def test_a_port_that_is_no_input_with_a_shape(self):
        r = self.convert(*self.net(), "--input", "data,mid:0[1 2 1 2]->[1 2 3 4]")
        self.assertEqual(self.names(r), ["data"])
        self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], [a + b for a, b in zip(relu(conv1(X)), [1, 2, 3, 4])])

    def test_refusals(self):
        self.refused("its value needs a shape", *self.net(), "--input", "data,mid:0->[1 2 3 4]")
        self.refused("expected 2 values for 'k' of shape [2], got 3", self.two(), "--input", "k->[1 2 3]")
        self.refused("expected a value of type f32 for 'k', got 'red'", self.two(), "--input", "k->red")
        self.refused("expected a value after -> in 'k->'", self.two(), "--input", "k->")
        self.refused("an empty list", self.two(), "--input", "k->[]")
        self.refused("expected a static shape for an input with a value", self.two(), "--input", "k[?]->[1 2]")
        self.refused("more than one value for input 'k'", self.two(), "--input", "k->1", "--freeze_placeholder_with_value", "k->2")
        self.refused("expected NAME->VALUE, got 'k'", self.two(), "--freeze_placeholder_with_value", "k")
        self.refused("expected a value of type u8 for 'k', got '300'", self.two(), "--input", "k{u8}->300")


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
        self.refused("'b' is ambiguous: it may be the layer 'b', the tensor 'b', produced by the layer 'a'", m, "--output", "b")
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
        self.refused("which has 2 (dimension 1 of", self.write("n.txt", "graph (x: f32[1,2,2,3]) { return Relu(x) }"), "--mean_values", "[1,2,3]", hint="add --layout nhwc")

    def test_disable_nhwc_to_nchw_keeps_transposes_and_takes_channels_second(self):
        m = self.tensorflow()
        r = self.convert(m, "--disable_nhwc_to_nchw", "--output", "conv")
        self.assertEqual(len(r["transposes"]), 2)
        self.refused("which has 1 (dimension 1", m, "--disable_nhwc_to_nchw", "--mean_values", "[1,2,3]")

    def test_layouts_meet_the_transposes_of_the_model(self):
        m = self.tensorflow()
        self.assertTrue(self.convert(m, "--output", "conv")["transposes"])
        r = self.convert(m, "--output", "conv", "--layout", "x(nhwc->nchw),conv(nhwc->nchw)")
        self.assertEqual(r["transposes"], [])
        self.assertEqual((r["inputs"][0]["shape"], r["outputs"][0]["shape"]), ([1, 3, 1, 2], [1, 1, 1, 2]))
        self.check(self.run_ir(r, ([1, 3, 1, 2], [1, 4, 2, 5, 3, 6]))[0], [321, 654])
        self.assertIn('layout="[N,C,H,W]"', self.xml(r))
        for same in (["--layout", "nhwc->nchw"], ["--source_layout", "nhwc", "--target_layout", "nchw"], ["--layout", "x(nhwc->nchw)"], ["--layout", "x[n,h,w,c]->[n,c,h,w]"], ["--source_layout", "x(nhwc)", "--target_layout", "x(nchw)"], ["--layout", "x[n,...,c]->[n,c,...]"]):
            r = self.convert(m, "--output", "conv", *same)
            self.assertEqual((r["inputs"][0]["shape"], r["outputs"][0]["shape"]), ([1, 3, 1, 2], [1, 1, 2, 1]))
            self.check(self.run_ir(r, ([1, 3, 1, 2], [1, 4, 2, 5, 3, 6]))[0], [321, 654])
        r = graft("convert", m, "-o", self.path("o"), "--output", "conv", "--layout", "x(nhwc->nchw)", "--explain", "passes", "--disable-pass", "sink_transposes", "--disable-pass", "merge_transposes")
        self.assertIn("remaining Transpose      x/layout", r.out)

    def test_layout_refusals(self):
        m = self.tensorflow()
        for said, value in [("has 'N' twice", "nnwc"), ("does not fit", "x(nc)"), ("cannot convert", "x(nhwc->nchd)"), ("no input 'z'", "z(nhwc)"),
                            ("merges dimensions", "x[n,h,w,c]->[n,h*w,c]"), ("expected a letter, got '1'", "n1wc"), ("no input has the rank", "nc->cn")]:
            self.refused(said, m, "--layout", value)
        self.refused("--layout is mutually exclusive with", m, "--layout", "nhwc", "--source_layout", "nhwc")
        self.refused("has no --source_layout", m, "--target_layout", "nchw")

    def test_mean_values_follow_a_layout(self):
        m = self.write("last.txt", "graph (x: f32[1,1,2,3]) { return Relu(x) }")
        r = self.convert(m, "--mean_values", "[1,2,3]", "--layout", "nhwc")
        self.check(self.run_ir(r, ([1, 1, 2, 3], self.X))[0], [0, 0, 0, 3, 3, 3])

    def test_text_and_tags_and_frameworks(self):
        m = self.tensorflow()
        self.convert(m, "--input_model_is_text", "--framework", "tf")
        self.refused("--framework: expected caffe, got the tensorflow model", m, "--framework", "caffe")
        self.refused("unknown framework 'keras'\nhint: the frameworks are caffe, kaldi, mxnet, onnx", m, "--framework", "keras")
        self.refused("expected a SavedModel for the given tags", m, "--saved_model_tags", "serve")
        self.refused("expected a TensorFlow graph in text format", *self.net(), "--input_model_is_text")


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
        self.refused("directory not found", "--saved_model_dir", self.path("none"))
        self.refused("mutually exclusive", "--saved_model_dir", self.path("saved"), "--input_model", self.path("saved", "saved_model.pb"))

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
        self.refused("checkpoint not found", self.path("m.meta"), "--input_checkpoint", self.path("none.ckpt"))
        os.mkdir(self.path("empty"))
        self.refused("expected one checkpoint", self.path("m.meta"), "--input_checkpoint", self.path("empty"))


class Explaining(ConvertCase):
    def test_a_part_can_be_explained(self):
        r = graft("explain", *self.net(NET + UNKNOWN), "--input", "relu1[1 2 1 2]", "--output", "mid")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("input   0:relu1  ", r.out)
        self.assertNotIn("Frobnicate", r.out)

    def test_a_written_ir_can_be_cut(self):
        r = self.convert(*self.net())
        again = self.convert(r["xml"], "--input", "relu1[1 2 1 2]", "--output", "mid", out="again")
        self.check(self.run_ir(again, ([1, 2, 1, 2], [1, -2, 3, 4]))[0], [0.5, 0, 1.5, 2])
        again = self.convert(r["xml"], "--input", "mid:0,data->1", out="again")
        self.assertEqual(self.names(again), ["mid/placeholder_out_port_0"])
        self.check(self.run_ir(again, ([1, 2, 1, 2], [1, 2, 3, 4]))[0], [7, 8, 3, 4])
        self.refused("also depend on the input data", r["xml"], "--input", "half")

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
