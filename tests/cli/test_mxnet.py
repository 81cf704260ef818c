#!/usr/bin/env python3
"""MXNet models from the command line: their files, the Model Optimizer's options for them, Custom layers, and the operators that the
Model Optimizer knew.

  tests/cli/test_mxnet.py --build build [unittest arguments]
"""
import glob
import json
import os
import re
import shutil

from harness import Case, graft, main, read_npy, write_npy
from mxnet_writer import params, symbol, variable


FC = [variable("data"), variable("fc_weight"), variable("fc_bias"),
      {"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": "1"}, "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}]
CUSTOM = [variable("x", __shape__="(2,)"),
          {"op": "Custom", "name": "c", "attrs": {"op_type": "twist", "angle": "3", "sides": "(1, 2)", "exact": "True"}, "inputs": [[0, 0, 0]]}]


class Files(Case):
    def setUp(self):
        super().setUp()
        self.write("m-symbol.json", symbol(FC, [[3, 0, 0]]))
        self.write("m-0007.params", params({"arg:fc_weight": ([1, 2], [3, 4]), "arg:fc_bias": ([1], [10])}))
        write_npy(self.path("x.npy"), [1, 2], [1, 2])

    def result(self, *files):
        r = graft("run", *files, "--input", "data=x.npy", "--output-dir", "out", "-q", cwd=self.folder)
        self.assertEqual((r.status, r.err), (0, ""))
        with open(self.path("out", "outputs.json")) as f:
            self.assertEqual([o["name"] for o in json.load(f)], ["fc_output"])
        return read_npy(self.path("out", "0.npy"))

    def refused(self, said, *arguments, status=1):
        r = graft(*arguments, cwd=self.folder)
        self.assertEqual(r.status, status, r.all)
        self.assertIn(said, r.err)
        return r

    def test_both_files_in_any_order_or_one_of_them(self):
        for files in (["m-symbol.json", "m-0007.params"], ["m-0007.params", "m-symbol.json"], ["m-symbol.json"], ["m-0007.params"],
                      ["-m", "m-symbol.json", "-w", "m-0007.params"], [self.path("m-0007.params")]):
            self.assertEqual(self.result(*files), [21], files)

    def test_names_that_say_nothing(self):
        shutil.move(self.path("m-symbol.json"), self.path("net.txt"))
        shutil.move(self.path("m-0007.params"), self.path("data.bin"))
        self.assertEqual(self.result("net.txt", "data.bin"), [21])
        self.refused("the parameter 'fc_weight' and 1 more have no value", "explain", "net.txt", status=2)
        self.refused("contains the parameters of an MXNet model, but not its symbol", "explain", "data.bin", status=2)

    def test_several_numbers(self):
        shutil.copy(self.path("m-0007.params"), self.path("m-0008.params"))
        self.refused("expected one parameters file of 'm-symbol.json' beside it, got 2", "explain", "m-symbol.json", status=2)
        self.assertEqual(self.result("m-0008.params"), [21])

    def test_an_input_that_has_a_value(self):
        r = graft("convert", "m-0007.params", "--input", "data[1 2],fc_bias", "--json", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("m-symbol.xml")) as f:
            self.assertEqual(f.read().count('type="Parameter"'), 2)

    def test_a_shape_that_is_needed(self):
        self.write("t-symbol.json", symbol([variable("data"), {"op": "transpose", "name": "t", "attrs": {}, "inputs": [[0, 0, 0]]}], [[1, 0, 0]]))
        r = self.refused("layer 't' (transpose)", "convert", "t-symbol.json", status=2)
        self.assertIn("--input_shape", r.err)
        self.assertIn("data", r.err)
        self.assertEqual(graft("convert", "t-symbol.json", "--input_shape", "[2,3]", cwd=self.folder).status, 0)

    def test_options_of_the_model_optimizer(self):
        os.mkdir(self.path("there"))
        shutil.move(self.path("m-symbol.json"), self.path("there", "s.json"))
        for options in (["--framework", "mxnet"], ["--legacy_mxnet_model"], ["--enable_ssd_gluoncv"]):
            r = graft("convert", "--input_model", "m-0007.params", "--input_symbol", "there/s.json", "--input_shape", "[1,2]", *options, cwd=self.folder)
            self.assertEqual(r.status, 0, r.all)
            self.assertTrue(os.path.exists(self.path("m-0007.xml")))
        self.refused("--input_symbol: file not found: 'no.json'", "convert", "m-0007.params", "--input_symbol", "no.json")
        self.refused("--framework: expected onnx, got the mxnet model", "convert", "m-0007.params", "--framework", "onnx")

    def test_nd_files(self):
        self.write("m_args.nd", params({"fc_bias": ([1], [100])}))
        given = ["--input_symbol", "m-symbol.json", "--pretrained_model_name", "m-0007.params", "--nd_prefix_name", "m"]
        shutil.copy(self.path("m-symbol.json"), self.path("n-symbol.json"))
        r = graft("convert", *given[2:], "--input_symbol", "n-symbol.json", "--save_params_from_nd", "--input_shape", "[1,2]", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual(self.result("n-symbol.json", "n-0007.params"), [111])
        self.refused("would overwrite 'm-0007.params'", "convert", *given, "--save_params_from_nd")
        for missing in range(0, 6, 2):
            self.refused("must be given together" if missing else "must be given together", "convert", *given[:missing], *given[missing + 2:])
        self.refused("file not found: 'x_args.nd'", "convert", *given[:5], "x")
        self.refused("expected the name of one .params file, got 'no'", "convert", *given[:3], "no", *given[4:])
        self.refused("--save_params_from_nd requires", "convert", "m-0007.params", "--save_params_from_nd")

    def test_an_attribute_without_a_value_is_not_written(self):
        """OpenVINO crashes when it reads an empty output_roi."""
        roi = {"op": "ROIPooling", "name": "r", "attrs": {"pooled_size": "(2, 3)", "spatial_scale": "0.5"}, "inputs": [[0, 0, 0], [1, 0, 0]]}
        self.write("r-symbol.json", symbol([variable("x", __shape__="(1, 1, 8, 8)"), variable("rois", __shape__="(1, 5)"), roi], [[2, 0, 0]]))
        r = graft("convert", "r-symbol.json", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("r-symbol.xml")) as f:
            content = f.read()
        self.assertIn('pooled_h="2" pooled_w="3"', content)
        self.assertNotIn('=""', content)

    def test_other_files(self):
        self.write("bad-symbol.json", "{}")
        self.refused("expected a symbol with a list of nodes", "convert", "bad-symbol.json", status=2)
        self.write("bad.params", b"\x12\x01")
        self.refused("MXNet", "convert", "bad.params", status=2)


class CustomLayers(Case):
    def setUp(self):
        super().setUp()
        self.write("c-symbol.json", symbol(CUSTOM, [[1, 0, 0]]))

    def test_the_report_and_the_scaffold(self):
        r = graft("convert", "c-symbol.json", cwd=self.folder)
        self.assertEqual(r.status, 2)
        for said in ("Custom::twist", "angle = 3", "sides = [1, 2]", "exact = true", "graft new twist --from-model c-symbol.json"):
            self.assertIn(said, r.err)
        self.assertEqual(graft("new", "twist", "--from-model", "c-symbol.json", "-o", "twist", cwd=self.folder).status, 0)
        with open(self.path("twist", "twist.cpp")) as f:
            self.assertIn('graft::mxnet("twist").domain("Custom")', f.read())

    def test_an_operator_of_the_same_name_is_another(self):
        nodes = [CUSTOM[0], dict(CUSTOM[1], op="twist", attrs={"angle": "3"})]
        self.write("t-symbol.json", symbol(nodes, [[1, 0, 0]]))
        r = graft("convert", "t-symbol.json", cwd=self.folder)
        self.assertEqual(r.status, 2)
        self.assertIn("  twist ", r.err)
        self.assertNotIn("Custom", r.err)


# Those of the last releases' code, under MXNet's own names, and of the documentation's list what is not among them.
OPERATORS = """
Activation BatchNorm BlockGrad Cast Concat Convolution Crop Custom Deconvolution Dropout ElementWiseSum Embedding Flatten FullyConnected InstanceNorm
L2Normalization LRN LayerNorm LeakyReLU Pad Pooling RNN ROIPooling Reshape ScaleShift SliceChannel SoftmaxActivation SoftmaxOutput SwapAxis Tile
UpSampling _Plus _arange _contrib_AdaptiveAvgPooling2D _contrib_DeformableConvolution _contrib_DeformablePSROIPooling
_contrib_ModulatedDeformableConvolution _contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_PSROIPooling
_contrib_Proposal _contrib_arange_like _contrib_box_nms _contrib_div_sqrt_dim _contrib_fft _contrib_ifft _copy _div_scalar _equal_scalar _eye
_greater_equal_scalar _greater_scalar _lesser_equal_scalar _lesser_scalar _maximum _maximum_scalar _minimum _minimum_scalar _minus_scalar _mul_scalar
_not_equal_scalar _np_cumsum _np_roll _npi_einsum _plus_scalar _random_uniform _rnn_param_concat _zeros add_n arccosh arcsinh arctanh batch_dot
broadcast_add broadcast_div broadcast_equal broadcast_greater broadcast_greater_equal broadcast_lesser broadcast_lesser_equal broadcast_logical_and
broadcast_logical_or broadcast_maximum broadcast_minimum broadcast_mul broadcast_not_equal broadcast_power broadcast_sub clip cumsum elemwise_add
elemwise_div elemwise_mul elemwise_sub exp expand_dims max null ones_like relu repeat round shape_array sigmoid slice slice_axis slice_like softmax
softsign squeeze stack swapaxes take tile transpose where zeros_like _foreach _while_loop _cond
""".split()
# Of the file format: variables, and layers that the reader gives another form.
OF_THE_READER = {"null", "Custom", "_foreach", "_while_loop", "_cond"}
READERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "readers")


class Operators(Case):
    def test_rules(self):
        r = graft("ops", "--framework", "mxnet", "--json")
        self.assertEqual(r.status, 0, r.all)
        known = set(re.findall(r'"type": ?"([^"]+)"', r.out))
        self.assertEqual(sorted(set(OPERATORS) - known - OF_THE_READER), [], "without an import rule")

    def test_cases(self):
        tried = set()
        for path in glob.glob(os.path.join(READERS, "mxnet*.test")):
            with open(path) as f:
                tried.update(re.findall(r'"op": ?"([^"]+)"', f.read()))
        self.assertEqual(sorted(set(OPERATORS) - tried), [], "without a case in tests/readers/mxnet*.test")

    def test_broken_files(self):
        """At least 40 symbols and parameters with the message that they must give."""
        with open(os.path.join(READERS, "mxnet.test")) as f:
            self.assertGreaterEqual(len(re.findall(r"^error: ", f.read(), re.M)), 40)


main()
