#!/usr/bin/env python3
"""Options of `graft convert`: each of the Model Optimizer's does what it says or is refused by name, and numbers are what plain arithmetic gives.

  tests/cli/test_convert_options.py --build build [unittest arguments]
"""
import os
import re
import shutil
import struct

from harness import graft, main, onnx
from small_net import NET, UNKNOWN, X, ConvertCase, conv1, relu


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
        self.assertIn("to multiply by 1/255, write --scale 255", r["notes"])
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
                ("--scale and --scale_values are mutually exclusive", ["--scale", "2", "--scale_values", "[1,1,1]"]),
                ("expected 1 list of values, one per input, got 2", ["--mean_values", "[1,2,3],[1,2,3]"]),
                ("which has 3 (dimension 1 of [1,3,1,2]), got 2", ["--mean_values", "[1,2]"]),
                ("no input 'datta'", ["--mean_values", "datta[1,2,3]"]),
                ("names only some of the inputs", ["--mean_values", "data[1,2,3],[1,2,3]"]),
                ("two lists of values for input 'data'", ["--scale_values", "data[1,2,3],data[1,2,3]"]),
                ("--mean_values: expected a number, got 'a'", ["--mean_values", "[1,a,3]"]),
                ("expected at least one value in 'data[]'", ["--mean_values", "data[]"]),
                ("cannot be divided by a scale of 0", ["--scale_values", "[1,0,1]"]),
                ("--scale: expected a nonzero number, got 'much'", ["--scale", "much"])]:
            self.refused(said, *files, *arguments)
        m = self.write("whole.txt", "graph (x: u8[1,3]) { return Convert(x) {destination_type = f32} }")
        self.refused("expected a floating-point type of input 'x', got u8", m, "--mean_values", "[1,2,3]", hint="x{f32}")
        self.assertIn("--scale does not apply to input 'x'", self.convert(m, "--scale", "2")["notes"])

    def test_a_mean_image(self):
        image = list(range(3 * 3 * 4))  # three channels of 3 rows and 4 columns
        f = self.write("mean.binaryproto", onnx.number(1, 1) + onnx.number(2, 3) + onnx.number(3, 3) + onnx.number(4, 4) + onnx.data(5, struct.pack("<36f", *image)))
        for arguments, (x, y) in (([], (1, 1)), (["-mo", "(2,0)"], (2, 0)), (["--mean_file_offsets=(0,2)"], (0, 2))):
            r = self.convert(*self.net(), "--output", "conv1", "-mf", f, *arguments)
            part = [image[c * 12 + y * 4 + x + i] for c in range(3) for i in range(2)]
            self.check(self.run_ir(r, ([1, 3, 1, 2], X))[0], conv1([v - m for v, m in zip(X, part)]))
        files = self.net()
        self.refused("mutually exclusive", *files, "--mean_file", f, "--mean_values", "[1,2,3]")
        self.refused("expected non-negative offsets, got (-1,0)", *files, "--mean_file", f, "--mean_file_offsets", "(-1,0)")
        self.refused("expected (x,y), got '(1)'", *files, "--mean_file", f, "--mean_file_offsets", "(1)")
        self.refused("does not fit into the image", *files, "--mean_file", f, "--mean_file_offsets", "(3,0)")
        self.refused("does not fit into the image", *files, "--mean_file", f, "--input_shape", "[1,3,8,8]")
        self.refused("mean file not found", *files, "--mean_file", self.path("none"))
        self.refused("requires --mean_file", *files, "--mean_file_offsets", "(1,1)")
        self.refused("mean.txt", *files, "--mean_file", self.write("mean.txt", "hello"), status=2)
        two = self.write("two.txt", "graph (x: f32[1,3,1,2], k: f32[1,3,1,2]) { return Add(x, k) }")
        self.refused("--mean_file: expected a model with one input, got 2 inputs", two, "--mean_file", f)


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
        self.assertIn("applies only to inputs with four dimensions and three channels, not to: k [1,4]", self.convert(m, "--reverse_input_channels")["notes"])


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
        self.refused("--data_type: expected FP16, FP32, half or float, got 'INT8'", *self.net(), "--data_type", "INT8")
        self.refused("mutually exclusive", *self.net(), "--data_type", "FP32", "--compress_to_fp16")


def crc32c(content):
    crc = 0xffffffff
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(content):
    """The records of an event file, whose sums are checked."""
    while content:
        (length,), (crc,) = struct.unpack("<Q", content[:8]), struct.unpack("<I", content[8:12])
        record, (sum,) = content[12:12 + length], struct.unpack("<I", content[12 + length:16 + length])
        assert crc == crc32c(content[:8]) and sum == crc32c(record) and len(record) == length
        yield record
        content = content[16 + length:]


def fields(message):
    """The fields of a message by number: integers, or bytes."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            value |= (message[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if not message[at - 1] & 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = 8 if key & 7 == 1 else varint()
            value, at = message[at:at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


class OldCommandLines(ConvertCase):
    def test_the_optimizers_own_words(self):
        self.net(name="x")
        os.rename(self.path("x.prototxt"), self.path("d.prototxt"))
        r = graft("convert", "--input_model", "x.caffemodel", "--input_proto", "d.prototxt", "--data_type", "FP16", "--reverse_input_channels", "--mean_values",
                  "data[104,117,123]", "--scale", "255", "-n", "name", "-o", "dir", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertRegex(r.out, r"dir/name.xml\ndir/name.bin\ncaffe model, .*\n.* stored as f16.*\nIR version 11, opsets up to opset1, converted in [0-9.]+ s, peak memory [0-9]+ MB\n")
        # The files are named after the model, which is the weights.
        self.assertEqual(graft("convert", "-w", "x.caffemodel", "-d", "d.prototxt", cwd=self.folder).status, 0)
        self.assertTrue(os.path.exists(self.path("x.xml")))
        with open(self.path("x.xml")) as f:
            self.assertIn('name="small"', f.read())

    def test_what_is_refused_says_why(self):
        files = self.net()
        for option, value in [("--move_to_preprocess", None), ("--generate_deprecated_IR_V7", None), ("--generate_deprecated_IR_V2", None), ("--keep_shape_ops", None),
                              ("--example_input", "x"), ("--tensorflow_subgraph_patterns", "p"), ("--tensorflow_operation_patterns", "p"), ("--offload_unsupported_operations_to_tf", None)]:
            r = self.refused(option + " is not supported: ", *files, option, *([value] if value else []))
            self.assertIn("hint: ", r.err, option)
            if value:
                self.refused(option + " is not supported: ", *files, option + "=" + value)
        self.refused("--framework: expected mxnet, got the caffe model", *files, "--framework", "mxnet")
        self.refused("--framework: expected kaldi, got the caffe model", *files, "--framework", "kaldi")
        self.refused("--framework paddle is not supported", *files, "--framework", "paddle")
        self.convert(*files, "--transform", "")
        self.convert(*files, "--transform=", "--scale", "2")  # an empty value, not the next word

    def test_what_is_so_anyway_is_granted(self):
        files = self.net()
        for option in (["--caffe_parser_path", "d"], ["--tensorflow_custom_layer_libraries", "l.so"], ["--disable_weights_compression"], ["--legacy_ir_generation"], ["--share_weights"], ["--use_new_frontend"], ["--use_legacy_frontend"]):
            self.assertIn(option[0] + " has no effect: ", self.convert(*files, *option)["notes"])
        self.convert(*files, "--static_shape")

    def test_switches_of_passes(self):
        files = self.net()
        for option in ("--disable_fusing", "--disable_gfusing", "--disable_resnet_optimization", "--enable_concat_optimization"):
            self.convert(*files, option)
        self.assertNotIn("sink_transposes", [p["name"] for p in self.convert(*files, "--disable_nhwc_to_nchw")["passes"]])
        counts = [self.types(self.convert(*files, "--output", "conv1", "--scale", "2", *o)).count("Multiply")
                  for o in ([], ["--disable_fusing"], ["--finegrain_fusing", "data/scale"], ["--finegrain_fusing", "conv1"], ["--finegrain_fusing", "scale"])]
        self.assertEqual(counts, [0, 1, 1, 1, 0])
        self.assertIn("no node name matches 'nobody.*'", self.convert(*files, "--finegrain_fusing", "nobody.*,conv1")["notes"])
        self.refused("--finegrain_fusing: ", *files, "--finegrain_fusing", "(")
        one, other = (graft("convert", *files, "--output", "conv1", "--scale", "2", "-o", self.path("o"), *spelling).out for spelling in (["--explain", "passes"], ["--explain-passes"]))
        strip = re.compile("IR version.*")
        self.assertEqual(strip.sub("", one), strip.sub("", other))
        self.assertIn("fuse_linear", one)
        self.refused("--explain: expected passes, got 'kernels'", *files, "--explain", "kernels")

    def test_what_is_printed(self):
        files = self.net()
        r = graft("convert", *files, "-o", self.path("o"), "--silent", "--scale", "0.5", "--use_new_frontend")
        self.assertEqual((r.status, r.out), (0, ""))
        self.assertEqual(r.err, "")
        for level in ("CRITICAL", "ERROR", "WARN", "WARNING", "INFO", "DEBUG", "NOTSET"):
            notes = self.convert(*files, "--log_level", level, "--reverse_input_channels", "--input", "relu1[1 2 1 2]")["notes"]
            self.assertEqual("applies only to inputs" in notes, level not in ("CRITICAL", "ERROR"), level)
        self.refused("--log_level: expected a log level, got 'LOUD'", *files, "--log_level", "LOUD")
        self.assertIn("100%", self.convert(*files, "--progress")["notes"])
        self.assertEqual(self.convert(*files, "--stream_output")["notes"].count("%"), 5)
        r = graft("convert", "--version")
        self.assertEqual((r.status, r.out[:6]), (0, "graft "))
        r = graft("convert", *files, "-o", self.path("o"), env={"MO_DISABLED_TRANSFORMS": "x"})
        self.assertIn("MO_DISABLED_TRANSFORMS is set", r.err)

    def test_a_graph_for_tensorboard(self):
        model = self.write("m.graft", "graph (x: f32[1,?]) { a = Split@1(x, i64[] {1}) {num_splits = 2} y = Add(a, a.1) return y }")
        r = self.convert(model, "--tensorboard_logdir", self.path("deep", "logs"))
        path = re.search("graph for TensorBoard: (.*)", r["notes"]).group(1)
        self.assertEqual(os.listdir(self.path("deep", "logs")), [os.path.basename(path)])
        self.assertIn("tfevents", path)
        with open(path, "rb") as f:
            version, graph = [fields(e) for e in records(f.read())]
        self.assertEqual(version[3], [b"brain.Event:2"])
        nodes = {}
        for node in map(fields, fields(graph[4][0])[1]):
            attributes = {entry[1][0].decode(): fields(entry[2][0]) for entry in map(fields, node.get(5, []))}
            nodes[node[1][0].decode()] = (node[2][0].decode(), [i.decode() for i in node.get(3, [])], attributes)
        self.assertEqual({k: v[0] for k, v in nodes.items() if v[0] != "Const"}, {"x": "Placeholder", "a": "Split", "y": "Add", "result_0": "Result"})
        self.assertEqual(nodes["y"][1], ["a", "a:1"])
        shape = fields(fields(nodes["x"][2]["_output_shapes"][1][0])[7][0])
        self.assertEqual([fields(d)[1] for d in shape[2]], [[1], [2**64 - 1]])
        self.assertEqual(nodes["a"][2]["num_splits"][2], [b"2"])
        # Also of a model that cannot be converted; a folder that cannot be made.
        unknown = self.net(NET + UNKNOWN)
        self.assertIn("graph for TensorBoard: ", self.refused("1 layer type is unknown", *unknown, "--tensorboard_logdir", self.path("logs"), status=2).err)
        self.refused("net.prototxt", *unknown, "--tensorboard_logdir", unknown[0])

    def test_a_folder_that_is_no_extension(self):
        self.refused("expected a folder with ops/, front/, middle/ or back/ as an extension, got one with", *self.net(), "--extensions", self.folder, status=2, hint="a shared library")

    def test_an_output_folder_that_cannot_be_made(self):
        r = graft("convert", *self.net(), "-o", self.path("net.prototxt"))
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("net.prototxt", r.err)

    def test_names_of_files(self):
        shutil.copy(self.write("plain.txt", "graph (x: f32[2]) { return Relu(x) }"), self.path(".hidden"))
        self.assertEqual(os.path.basename(self.convert(self.path(".hidden"))["xml"]), "model.xml")

if __name__ == "__main__":
    main()
