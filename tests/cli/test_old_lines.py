#!/usr/bin/env python3
"""Command lines that were written for the Model Optimizer and for OpenVINO's samples: they run unchanged, or are refused by name.

  tests/cli/test_old_lines.py --build build [unittest arguments]
"""
import json
import os
import re
import shutil
import subprocess
import sys

from checkpoint_writer import write_checkpoint
from harness import Ended, built, graft, main, read_npy, write_npy, patience
from small_net import NET, X, ConvertCase, conv1, relu

NAMES = ("mo", "mo.py", "mo_caffe.py", "mo_kaldi.py", "mo_mxnet.py", "mo_onnx.py", "mo_tf.py")


def tf_attr(key, value):
    return ' attr { key: "%s" value { %s } }' % (key, value)


def tf_placeholder(name, kind="DT_FLOAT", dims=(1, 2)):
    shape = "shape { %s }" % " ".join("dim { size: %d }" % d for d in dims)
    return 'node { name: "%s" op: "Placeholder"%s%s }\n' % (name, tf_attr("dtype", "type: " + kind), tf_attr("shape", shape))


def tf_node(name, op, *inputs, **attributes):
    inputs = "".join(' input: "%s"' % i for i in inputs)
    return 'node { name: "%s" op: "%s"%s%s }\n' % (name, op, inputs, "".join(tf_attr(k, v) for k, v in {"T": "type: DT_FLOAT", **attributes}.items()))


class Case(ConvertCase):
    def good(self, *arguments, **more):
        r = graft(*arguments, cwd=self.folder, **more)
        self.assertEqual(r.status, 0, r.all)
        return r

    def extension(self, name="teaching"):
        return built("extensions", name + ".so")


class Names(Case):
    """python3 mo.py ..., ./mo_tf.py ..., mo ..."""

    def call(self, *command, **more):
        return Ended(subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=patience(300), **more))

    def test_every_name_stands_beside_the_program(self):
        help_of_convert = graft("convert", "--help").out
        for name in NAMES:
            script = built("bin", name)
            for command in ([sys.executable, script], [script]):
                r = self.call(*command, "--help")
                self.assertEqual((r.status, r.out, r.err), (0, help_of_convert, ""), command)

    def test_they_convert_and_hand_on_the_exit_code(self):
        self.net(name="x")
        for name, status, said in (("mo", 0, ""), ("mo.py", 0, ""), ("mo_caffe.py", 0, ""), ("mo_tf.py", 1, "--framework: expected tf, got the caffe model"),
                                   ("mo_onnx.py", 1, "--framework: expected onnx"), ("mo_mxnet.py", 1, "--framework: expected mxnet, got the caffe model"), ("mo_kaldi.py", 1, "--framework: expected kaldi, got the caffe model")):
            r = self.call(sys.executable, built("bin", name), "--input_model", "x.caffemodel", "-n", "a name", "-o", name + " ir")
            self.assertEqual(r.status, status, r.all)
            self.assertIn(said, r.err)
            self.assertEqual(os.path.exists(self.path(name + " ir", "a name.xml")), status == 0)
        broken = self.write("broken.prototxt", 'layer { name: "x"')
        self.assertEqual(self.call(built("bin", "mo.py"), "--input_model", broken).status, 2)

    def test_they_report_success_as_the_model_optimizer_did(self):
        self.net(name="x")
        r = self.call(sys.executable, built("bin", "mo.py"), "--input_model", "x.caffemodel", "--data_type", "FP16")
        here = os.path.realpath(self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertRegex(r.out, r"\Acaffe model, .*\n.* stored as f16.*\nIR version 11, .*\n\[ SUCCESS \] Generated IR version 11 model\.\n"
                         r"\[ SUCCESS \] XML file: %s/x\.xml\n\[ SUCCESS \] BIN file: %s/x\.bin\n"
                         r"\[ SUCCESS \] Total execution time: \d+\.\d\d seconds\. ?\n\[ SUCCESS \] Memory consumed: \d+ MB\. ?\n\Z" % (here, here))
        r = self.call(built("bin", "mo_caffe.py"), "--input_model", "x.caffemodel", "-o", "there", "-n", "y", "--ir_version", "10")
        self.assertIn("[ SUCCESS ] Generated IR version 10 model.\n[ SUCCESS ] XML file: %s/there/y.xml\n[ SUCCESS ] BIN file: %s/there/y.bin\n" % (here, here), r.out)
        self.assertEqual(self.call(built("bin", "mo"), "--input_model", "x.caffemodel", "--silent").out, "")
        self.assertNotIn("SUCCESS", self.call(built("bin", "mo"), "--input_model", "x.caffemodel", "--output", "none").all)
        self.assertNotIn("SUCCESS", graft("convert", self.path("x.caffemodel"), cwd=self.folder).all)

    def test_arguments_signals_and_links_pass_through(self):
        os.mkdir(self.path("bin"))
        shutil.copy(built("bin", "mo_tf.py"), self.path("bin"))
        with open(self.path("bin", "graft"), "w") as f:
            f.write('#!/bin/sh\nprintf "<%s>\\n" "$@"\ngrep SigIgn /proc/$$/status\nkill -TERM $$\n')
        os.chmod(self.path("bin", "graft"), 0o755)
        os.symlink(self.path("bin", "mo_tf.py"), self.path("mo_caffe.py"))
        words = ["--input", "a b[1 2]", "", "*", "é", "--", "-x"]
        for script, framework in (("bin/mo_tf.py", "tf"), ("mo_caffe.py", "caffe")):
            r = self.call(sys.executable, script, *words, restore_signals=True)
            self.assertEqual(r.status, -15, r.all)
            lines = r.out.splitlines()
            self.assertEqual(lines[:-1], ["<convert>", "<--mo-report>", "<--framework=%s>" % framework] + ["<%s>" % w for w in words])
            self.assertEqual(int(lines[-1].split()[1], 16) & 1 << 12, 0, "SIGPIPE is ignored")
        os.remove(self.path("bin", "graft"))
        r = self.call(sys.executable, "bin/mo_tf.py")
        self.assertEqual(r.status, 1)
        self.assertIn("program 'graft' not found next to", r.err)

    def test_they_are_installed(self):
        r = self.call("cmake", "--install", built(), "--prefix", self.path("usr"))
        self.assertEqual(r.status, 0, r.all)
        self.net(name="x")
        for name in NAMES:
            self.assertTrue(os.access(self.path("usr", "bin", name), os.X_OK), name)
        r = self.call(self.path("usr", "bin", "mo_caffe.py"), "--input_model", "x.caffemodel")
        self.assertEqual(r.status, 0, r.all)


class Abbreviations(Case):
    """Options cut short, as Python's argparse took them."""

    def test_one_option_is_meant(self):
        files = self.net()
        full = self.convert(*files, "--output", "conv1", "--mean_values", "[1,2,3]", "--scale_values", "[2]", "--data_type", "FP16", out="full")
        cut = self.convert(*files, "--output", "conv1", "--mean_value", "[1,2,3]", "--scale_v=[2]", "--data", "FP16", out="cut")
        self.assertEqual(self.xml(full), self.xml(cut))
        self.assertEqual(self.good("convert", "--input_mod", "net.caffemodel", "--model_n", "short", "--output_d=there", "--sil").out, "")
        self.assertTrue(os.path.exists(self.path("there", "short.xml")))

    def test_what_is_refused_is_refused_by_its_whole_name(self):
        self.refused("--keep_shape_ops is not supported", "--keep_shape")
        self.refused("--tensorflow_subgraph_patterns is not supported", *self.net(), "--tensorflow_sub=d")

    def test_an_exact_name_wins(self):
        r = self.convert(*self.net(), "--input", "relu1[1 2 1 2]", "--output", "mid", "--scale", "2")
        self.assertEqual(self.names(r), ["relu1/placeholder_port_0"])

    def test_several_options_are_named(self):
        files = self.net()
        self.refused("'--disable' is ambiguous: it could be --disable-pass, --disable_fusing, --disable_gfusing", *files, "--disable", hint="spell out the full option name")
        self.refused("'--inp' is ambiguous: it could be --input, --input_model, --input_shape", *files, "--inp=data")
        self.refused("unknown option '--mean_valuess'", *files, "--mean_valuess", "[1]", hint="did you mean --mean_values?")

    def test_each_framework_has_options_of_its_own(self):
        self.net(name="x")
        self.good("convert", "--framework=caffe", "--input_mod", "x.caffemodel", "--input_p", "x.prototxt", "-o", "o")
        self.refused("'--input_mod' is ambiguous: it could be --input_model, --input_model_is_text", "--framework", "tf", "--input_mod", "x.caffemodel")
        self.refused("'--mean' is ambiguous: it could be --mean_file, --mean_file_offsets, --mean_values", "--framework", "caffe", "--mean", "[1,2,3]", "x.caffemodel")
        self.good("convert", "x.caffemodel", "--mean", "[1,2,3]", "-o", "o")

    def test_values_and_what_follows_two_dashes_stay(self):
        self.write("--data", NET)
        self.net(name="x")
        shutil.copy(self.path("x.caffemodel"), self.path("--dat"))
        self.good("convert", "-d", "--data", "--input_model", "x.caffemodel", "-n", "--js", "-o", "o")
        self.assertTrue(os.path.exists(self.path("o", "--js.xml")))
        self.good("convert", "-o", "p", "--", "--data", "x.caffemodel")

    def test_all_commands_have_them(self):
        model = self.plain_model()
        self.assertEqual(len(json.loads(self.good("bench", "--mod", model, "--nit=3", "--jso").out)["latency_ms"]), 6)
        self.assertIn("f32[3]", self.good("run", "--mod", model, "--see", "2").out)
        self.good("explain", "--devic", "REFERENCE", model)
        self.assertIn("Elu (opset1)", self.good("ops", "Elu", "--ext", self.extension()).out)
        self.assertEqual(graft("--vers").out, graft("--version").out)
        r = graft("bench", model, "--n")
        self.assertEqual(r.status, 1)
        self.assertIn("'--n' is ambiguous: it could be --nireq, --niter, --no_warmup, --nstreams, --nthreads", r.err)


class Inputs(Case):
    def test_type_and_shape_in_either_order(self):
        graph = tf_placeholder("IteratorGetNext", "DT_INT64", (4, 8)) + tf_node("cast", "Cast", "IteratorGetNext", SrcT="type: DT_INT64", DstT="type: DT_FLOAT") + tf_node("y", "Neg", "cast")
        model = self.write("bert.pbtxt", graph)
        for item in ("IteratorGetNext:0{i32}[1 128]", "IteratorGetNext:0[1 128]{i32}", "IteratorGetNext{i32}(1,128)"):
            r = self.convert(model, "--input", item)
            self.assertEqual([(p["type"], p["shape"]) for p in r["inputs"]], [("i32", [1, 128])], item)
        r = self.convert(model, "--input", "cast:0{f32}[1 2]->[20 15]", "--output", "y")
        self.assertEqual((self.names(r), self.names(r, "outputs")), ([], ["y/sink_port_0"]))
        self.assertEqual(self.run_ir(r), [[-20, -15]])
        for item in ("cast{f32}[1 2]{f32}", "cast[1 2]{f32}[1 2]", "cast[1]{", "{f32}[1]"):
            self.refused("expected an input, got", model, "--input", item)

    def test_an_output_that_the_layer_does_not_have(self):
        model = self.write("conv.pbtxt", tf_placeholder("x") + tf_node("conv2", "Neg", "x") + tf_node("three", "Split", "d", "x", num_split="i: 2") +
                           tf_node("d", "Const", dtype="type: DT_INT32", value="tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 }"))
        self.refused("layer 'conv2' (Neg) has no output 3", model, "--output", "conv2:3", hint="it has 1 output, counted from 0")
        self.refused("layer 'three' (Split) has no output 2", model, "--output", "three:2", hint="it has 2 outputs, counted from 0")
        self.refused("layer 'conv1' (Convolution) has no output 3", *self.net(), "--output", "conv1:3", hint="it has 1 output, counted from 0")


class Libraries(Case):
    """-l and -c of the samples and of benchmark_app."""

    def setUp(self):
        super().setUp()
        self.model = self.write("n.prototxt", 'input: "x" input_shape { dim: 1 dim: 2 }\nlayer { name: "d" type: "Doubled" bottom: "x" top: "d" }\n')

    def test_an_extension(self):
        library = self.extension()
        for command in (["run", "-m", self.model], ["bench", "-m", self.model, "-niter", "1"], ["explain", self.model], ["convert", self.model, "-o", "o"]):
            self.assertEqual(graft(*command, cwd=self.folder).status, 2)
            self.good(*command, "-l", library)
            self.good(*command, "-l", library, "--extensions", library + "," + self.extension("passed_layer"), "--extensions", os.path.relpath(library, self.folder))

    def test_kernels_for_other_devices(self):
        self.write("kernels.xml", '<CustomLayer name="Other" type="SimpleGPU" version="1"><Kernel entry="other"><Source filename="other.cl"/></Kernel>'
                   '<Buffers><Tensor arg-index="0" type="output" port-index="0"/></Buffers></CustomLayer>')
        self.write("other.cl", "__kernel void other(__global float* y) {}")
        for command in ("run", "bench", "explain", "convert"):
            r = graft(command, self.model, "-l", self.extension(), "-c", "nothing.xml", "-d", "CPU", cwd=self.folder)
            self.assertEqual(r.status, 1, r.all)
            self.assertIn("extension not found: 'nothing.xml'", r.err)
        self.good("run", "-m", self.model, "-l", self.extension(), "-c", "kernels.xml", "-d", "CPU")

    def test_two_libraries_that_define_the_same_are_still_refused(self):
        other = self.path("copy.so")
        shutil.copy(self.extension(), other)
        r = graft("run", self.model, "-l", self.extension(), "-l", other)
        self.assertEqual(r.status, 2)
        self.assertIn("is defined by", r.err)


class Checkpoints(Case):
    """--input_checkpoint with TensorFlow's state file."""

    def setUp(self):
        super().setUp()
        self.model = self.write("g.pbtxt", tf_placeholder("x") + 'node { name: "w" op: "VariableV2"%s%s }\n' % (
            tf_attr("dtype", "type: DT_FLOAT"), tf_attr("shape", "shape { dim { size: 2 } }")) + tf_node("y", "Mul", "x", "w"))
        os.makedirs(self.path("train", "deep"))
        for name, values in (("train/model.ckpt-1", [1, 1]), ("train/model.ckpt-2", [2, 3]), ("train/deep/model.ckpt-3", [5, 7]), ("outside", [9, 9])):
            write_checkpoint(self.path(name), {"w": ([2], values)})

    def state(self, content):
        return self.write("train/checkpoint", content)

    def factors(self, *checkpoint):
        return self.run_ir(self.convert(self.model, "--input_checkpoint", *checkpoint), ([1, 2], [1, 1]))[0]

    def test_it_is_followed(self):
        for named, want in (("model.ckpt-2", [2, 3]), ("deep/model.ckpt-3", [5, 7]), (self.path("train", "model.ckpt-1"), [1, 1])):
            state = self.state('model_checkpoint_path: "%s"\nall_model_checkpoint_paths: "model.ckpt-1"\nall_model_checkpoint_paths: "%s"\n' % (named, named))
            self.assertEqual(self.factors(state), want)
            self.assertEqual(self.factors("train/checkpoint"), want)
            self.assertEqual(self.factors(self.path("train")), want)
        os.symlink(self.path("train"), self.path("link"))
        self.state('model_checkpoint_path: "%s"' % self.path("link", "model.ckpt-2"))
        self.assertEqual(self.factors("link/checkpoint"), [2, 3])
        self.assertEqual(self.factors("train/model.ckpt-1"), [1, 1])

    def test_what_it_may_not_say(self):
        for content, said in [
                ("", "expected one model_checkpoint_path, got 0"),
                ('model_checkpoint_path: "a" model_checkpoint_path: "b"', "expected one model_checkpoint_path, got 2"),
                ("model_checkpoint_path: 7", "line 1: expected the name of a checkpoint in quotes"),
                ('model_checkpoint_path: ""', "line 1: expected the name of a checkpoint in quotes"),
                ("model_checkpoint_path { a: 1 }", "line 1: expected the name of a checkpoint in quotes"),
                ('model_checkpoint_path: "model\\000.ckpt-1"', "line 1: the name of the checkpoint has a zero byte"),
                ('model_checkpoint_path: "../outside"', "leads outside"),
                ('model_checkpoint_path: "checkpoint"', "cannot open 'checkpoint.index'"),
                ('model_checkpoint_path: "model.ckpt-8"', "cannot open 'model.ckpt-8.index'"),
                ('model_checkpoint_path: "%s"' % self.path("outside"), "expected a checkpoint below the folder of the state file"),
                (b"\x00\x01\x02 table", "train/checkpoint:1"),
                ("a" * (1 << 20 | 1), "expected at most 1048576 bytes")]:
            self.state(content)
            r = self.refused(said, self.model, "--input_checkpoint", "train/checkpoint", status=2)
            self.assertIn("as the state file of a folder of checkpoints", r.err)
        os.symlink(self.path("outside.index"), self.path("train", "trick.index"))
        self.state('model_checkpoint_path: "trick"')
        self.refused("leads outside", self.model, "--input_checkpoint", "train/checkpoint", status=2)
        os.remove(self.path("train", "trick.index"))
        self.state('model_checkpoint_path: "/gone/model.ckpt-2"')
        self.refused("expected a checkpoint below the folder", self.model, "--input_checkpoint", "train/checkpoint", status=2, hint="--input_checkpoint train/model.ckpt-2")
        os.remove(self.path("train", "checkpoint"))
        self.refused("expected one checkpoint", self.model, "--input_checkpoint", "train")


class LogLevels(Case):
    def lines(self, level, *arguments):
        r = self.good(*arguments, "--log_level", level)
        return r.out, r.err.splitlines()

    def setUp(self):
        super().setUp()
        text = NET.replace('"Power"', '"Doubled"').replace("power_param", "doubled_param")
        self.files = self.net(text)
        self.command = ["convert", *self.files, "-o", "o", "--scale", "0.5", "-l", self.extension()]

    def kinds(self, lines):
        return {line.split(":")[0] for line in lines}

    def test_each_level_shows_more(self):
        for level, kinds in (("CRITICAL", set()), ("ERROR", set()), ("WARN", {"warning"}), ("warning", {"warning"}), ("INFO", {"warning", "info"}),
                             ("DEBUG", {"warning", "info", "debug"}), ("NOTSET", {"warning", "info", "debug"})):
            out, lines = self.lines(level, *self.command)
            self.assertEqual(self.kinds(lines), kinds, level)
            self.assertEqual(out.splitlines()[:2], ["o/net.xml", "o/net.bin"])
        self.assertEqual(self.good(*self.command, "--silent", "--log_level", "DEBUG").all, "")

    def test_info_tells_steps_times_and_who_claimed_layers(self):
        _, lines = self.lines("INFO", *self.command)
        said = "\n".join(lines)
        for pattern in (r"info: loaded the extension 'teaching' 1.0 from '.*teaching.so': \d+ operations, \d+ import rules, \d+ kernels",
                        r"info: read '.*net.prototxt': caffe model, 4 layers, 1 input, 1 output in \d+\.\d{3} s",
                        r"info: imported 4 layers: \d+ nodes, \d+ constants? of \d+ bytes in \d+\.\d{3} s",
                        r"info: claimed by teaching: 1 layer, mid",
                        r"info: inserted preprocessing in \d+\.\d{3} s",
                        r"info: ran \d+ passes: \d+ changes?, \d+ -> \d+ nodes in \d+\.\d{3} s",
                        r"info: wrote 'o/net.xml' and 'o/net.bin' in \d+\.\d{3} s"):
            self.assertRegex(said, pattern)

    def test_debug_tells_files_layers_and_passes(self):
        _, lines = self.lines("DEBUG", *self.command)
        said = "\n".join(lines)
        for pattern in (r"debug: opened '.*net.caffemodel', \d+ bytes", r"debug: layer 'conv1' \(Convolution\) by built-in -> Convolution",
                        r"debug: layer 'mid' \(Doubled\) by teaching -> Doubled", r"debug: pass fuse_linear: 1 change, \d+ -> \d+ nodes", r"debug: wrote 'o/net.bin', \d+ bytes"):
            self.assertRegex(said, pattern)

    def test_mapping_files_and_unknown_layers(self):
        mapping = self.write("map.xml", '<m><CustomLayer NativeType="Doubled" hasParam="false" outputShape="in0"/></m>')
        _, lines = self.lines("INFO", "convert", *self.files, "-k", mapping, "-o", "o")
        self.assertIn("info: claimed by mapping file %s: 1 layer, mid" % mapping, lines)
        _, lines = self.lines("DEBUG", "convert", *self.files, "--stub-unknown", "-o", "o")
        self.assertIn("info: unknown: 1 layer, mid", lines)

    def test_other_commands(self):
        for command in (["run"], ["bench", "-niter", "1"], ["explain"]):
            _, lines = self.lines("INFO", *command, *self.files, "-l", self.extension())
            self.assertRegex("\n".join(lines), r"info: read '.*net.prototxt'")
            r = graft(*command, *self.files, "--log_level", "LOUD")
            self.assertEqual(r.status, 1)
            self.assertIn("--log_level: expected a log level, got 'LOUD'", r.err)
        self.good("convert", *self.files, "-l", self.extension(), "-o", "o")
        _, lines = self.lines("INFO", "run", "o/net.xml", "-l", self.extension())
        for pattern in (r"info: read 'o/net.xml': ir, \d+ nodes in ", "info: compiled for CPU in ", "info: ran the model in "):
            self.assertRegex("\n".join(lines), pattern)
        self.assertEqual(self.lines("ERROR", "run", "o/net.xml", "-l", self.extension())[1], [])


class PublishedFiles(Case):
    """Mapping and replacement files as they were published: without anything that only Graft knows."""

    def test_a_mapping_without_shapes(self):
        mapping = self.write("CustomLayersMapping.xml", '<CustomKernelsMapping>\n<CustomLayer NativeType="Twist" hasParam="true" protoParamName="twist_param"/>\n</CustomKernelsMapping>\n')
        text = NET.replace('type: "ReLU" bottom: "conv1" top: "conv1"', 'type: "Twist" bottom: "conv1" top: "conv1" twist_param { turns: 2 }')
        r = self.convert(*self.net(text), "-k", mapping)
        self.assertIn(mapping + ":2: the output shape of 'Twist' is unknown; set outputShape", r["notes"])
        self.assertIn('<data turns="2" />', self.xml(r))
        self.assertEqual(r["outputs"][0]["shape"], "...")
        ends = text + 'layer { name: "soft" type: "Softmax" bottom: "sum" top: "soft" }\nlayer { name: "norm" type: "MVN" bottom: "soft" top: "norm" }\n'
        r = self.refused("its input depends on 'relu1' (Twist), whose output shape is unknown", *self.net(ends), "-k", mapping, status=2,
                         hint="to set the shape of 'relu1' (Twist) add outputShape=\"...\" at %s:2, or load an extension that defines the operation" % mapping)
        self.assertIn("1 layer is known but cannot be imported", r.err)
        self.assertIn("'norm' (MVN): ", r.err)

    def cells(self):
        return self.write("cells.pbtxt", tf_placeholder("x") + tf_node("Postprocessor/a", "Neg", "x") + tf_node("Postprocessor/b", "Relu", "Postprocessor/a"))

    def replacements(self):
        return self.write("ssd_support.json", json.dumps([
            {"id": "ObjectDetectionAPIPreprocessorReplacement", "match_kind": "general", "custom_attributes": {"preprocessed_image_height": 300}},
            {"id": "ObjectDetectionAPISSDPostprocessorReplacement", "match_kind": "scope", "instances": [".*Postprocessor/"],
             "inputs": [[{"node": "a$", "port": 0}]], "outputs": [{"node": "b$", "port": 0}]}]))

    def test_replacements_that_the_importer_does_without(self):
        model, config = self.cells(), self.replacements()
        r = self.convert(model, "--transformations_config", config)
        for name in ("ObjectDetectionAPIPreprocessorReplacement", "ObjectDetectionAPISSDPostprocessorReplacement"):
            self.assertTrue(any("replacement '%s' of %s is not needed: " % (name, config) in line for line in r["notes"].splitlines()), r["notes"])
        self.assertEqual(self.run_ir(r, ([1, 2], [1, -2])), [[0, 2]])

    # Every id of the files that the last release of the Model Optimizer with such files had, with its kinds.
    IDS = {
        "AutomlEfficientDet": "general", "ONNXMaskRCNNReplacement": "general", "ONNXPersonDetectionCrossroadReplacement": "general",
        "ObjectDetectionAPIConstValueOverride": "general", "ObjectDetectionAPIDetectionOutputReplacement": "points scope",
        "ObjectDetectionAPIMaskRCNNROIPoolingSecondReplacement": "points", "ObjectDetectionAPIMaskRCNNSigmoidReplacement": "general",
        "ObjectDetectionAPIOutputReplacement": "general", "ObjectDetectionAPIPSROIPoolingReplacement": "scope",
        "ObjectDetectionAPIPreprocessor2Replacement": "general", "ObjectDetectionAPIPreprocessorReplacement": "scope general",
        "ObjectDetectionAPIProposalReplacement": "points", "ObjectDetectionAPISSDPostprocessorReplacement": "points scope",
        "RetinaNetFilteredDetectionsReplacement": "points", "SSDToolboxDetectionOutput": "points"}

    def entry(self, name, kind):
        e = {"id": name, "match_kind": kind, "custom_attributes": {"outputs": "Postprocessor/b"}}
        if kind == "points":
            e["instances"] = {"start_points": ["absent"], "end_points": ["absent_too"]}
        if kind == "scope":
            e.update(instances=[".*Absent/"], inputs=[[{"node": "a$", "port": 0}]], outputs=[{"node": "b$", "port": 0}])
        return e

    def test_every_published_id_has_an_effect(self):
        model = self.cells()
        config = self.write("all.json", json.dumps([self.entry(name, kind) for name, kinds in self.IDS.items() for kind in kinds.split()]))
        r = self.convert(model, "--transformations_config", config)
        for name, kinds in self.IDS.items():
            said = [line for line in r["notes"].splitlines() if "replacement '%s' of %s is not needed: " % (name, config) in line]
            self.assertEqual(len(said), len(kinds.split()), name)
        self.assertEqual(self.run_ir(r, ([1, 2], [1, -2])), [[0, 2]])

    def test_an_id_that_is_not_known(self):
        model = self.cells()
        config = self.write("other.json", json.dumps([self.entry("SomethingElse", "general")]))
        self.refused("replacement 'SomethingElse' of %s is of kind general, but no pass handles it" % config, model, "--transformations_config", config, status=2,
                     hint="--allow-unmatched")
        r = self.convert(model, "--transformations_config", config, "--allow-unmatched")
        self.assertIn("warning: replacement 'SomethingElse' of %s is skipped: no extension has a pass of this name" % config, r["notes"])
        entry = dict(self.entry("SomethingElse", "scope"), instances=[".*Postprocessor/"])
        config = self.write("scope.json", json.dumps([entry]))
        self.refused("no extension has a rule for the replacement 'SomethingElse'", model, "--transformations_config", config, status=2,
                     hint="--allow-unmatched to keep the sub-graph unchanged")

    def test_a_pipeline_config_is_not_needed(self):
        option, config = "--tensorflow_object_detection_api_pipeline_config", self.write("pipeline.config", "model { ssd { } }")
        r = self.convert(self.cells(), option, config)
        self.assertIn(option + " is not needed: the whole graph was imported; outputs: Postprocessor/b", r["notes"])
        self.convert(self.cells(), "--tensorflow_object_detection_api", config)
        self.convert(self.cells(), "--transformations_config", self.replacements(), option, config, "--reverse_input_channels")
        self.refused("file not found: 'none'", self.cells(), option, "none")
        self.refused(option + ": expected a TensorFlow model, got a model of caffe", *self.net(), option, config)


class PythonLayers(Case):
    def net_of(self, module="my.mod", layer="Twist", param_str="{'a': 1}"):
        return self.write("p.prototxt", 'input: "x" input_shape { dim: 1 dim: 2 }\nlayer { name: "t" type: "Python" bottom: "x" top: "y" python_param { module: "%s" layer: "%s" param_str: "%s" } }\n'
                          % (module, layer, param_str))

    def test_by_module_and_class_or_by_class(self):
        for module, factor in (("my.mod", 3), ("other", 5)):
            r = self.convert(self.net_of(module), "-l", self.extension())
            write_npy(self.path("v.npy"), [1, 2], [1, 2])
            self.good("run", r["xml"], "-l", self.extension(), "-i", "=v.npy", "--output-dir", "results", "-q")
            self.assertEqual(read_npy(self.path("results", "0.npy")), [factor, 2 * factor])

    def test_only_what_is_left_is_unused(self):
        notes = self.convert(self.net_of(), "-l", self.extension())["notes"]
        self.assertEqual(re.findall(r"attribute '([^']*)' of layer 't' \(Twist\) is not used", notes), ["python_param.param_str.a"])
        notes = self.convert(self.net_of(param_str="a, b"), "-l", self.extension())["notes"]
        self.assertEqual(re.findall(r"attribute '([^']*)' of layer 't' \(Twist\) is not used", notes), ["python_param.param_str"])
        self.assertEqual(self.convert(self.net_of(param_str=""), "-l", self.extension())["notes"], "")


if __name__ == "__main__":
    main()
