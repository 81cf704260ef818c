#!/usr/bin/env python3
"""Ways to teach the converter a layer: a mapping file, an extension, replacements of sub-graphs, and who goes first.

  tests/cli/test_teaching.py --build build [unittest arguments]
"""
import json
import os
import struct
import tempfile

from harness import ROOT, Case, build_extension, built, graft, main, npy, onnx, read_npy, save

NET = """
name: "five"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
layer { name: "one" type: "ReLU" bottom: "data" top: "one" }
layer { name: "two" type: "Doubled" bottom: "one" top: "two" }
layer { name: "three" type: "Passing" bottom: "two" top: "three" passing_param { factor: 3 mode: "plain" nested { shape: 4 shape: 5 } } }
layer { name: "four" type: "Power" bottom: "three" top: "four" power_param { shift: 1 } }
layer { name: "five" type: "Shifted" bottom: "four" top: "five" }
"""
MAPPING = """<?xml version="1.0"?>
<CustomLayersMapping>
  <!-- passed on as it is -->
  <CustomLayer NativeType="passing" hasParam="true" protoParamName="passing_param" outputShape="in0[0], in0[1] * factor"/>
</CustomLayersMapping>
"""

# The graph of OpenCV's tutorial, as TensorFlow prints it.
RESIZE = r"""
node { name: "input" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } dim { size: 4 } dim { size: 5 } dim { size: 3 } } } } }
node { name: "resize_bilinear/size" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
    tensor_content: "\t\000\000\000\010\000\000\000" } } } }
node { name: "resize_bilinear" op: "ResizeBilinear" input: "input:0" input: "resize_bilinear/size"
  attr { key: "T" value { type: DT_FLOAT } } attr { key: "align_corners" value { b: false } } }
library { }
"""


# ---- GraphDef, written by hand ----

DT_FLOAT, DT_INT32 = 1, 3


def tf_shape(dims):
    return b"".join(onnx.data(2, onnx.number(1, d)) for d in dims)


def tf_tensor(kind, dims, content):
    return onnx.number(1, kind) + onnx.data(2, tf_shape(dims)) + onnx.data(4, content)


def tf_attr(name, value):
    return onnx.data(5, onnx.data(1, name) + onnx.data(2, value))


def tf_node(name, op, inputs=(), **attributes):
    out = onnx.data(1, name) + onnx.data(2, op) + b"".join(onnx.data(3, i) for i in inputs)
    return onnx.data(1, out + b"".join(tf_attr(k, v) for k, v in attributes.items()))


def tf_type(kind):
    return onnx.number(6, kind)


def tf_input(name, dims):
    return tf_node(name, "Placeholder", dtype=tf_type(DT_FLOAT), shape=onnx.data(7, tf_shape(dims)))


def tf_const(name, dims, values):
    content = struct.pack("<%df" % len(values), *values)
    return tf_node(name, "Const", dtype=tf_type(DT_FLOAT), value=onnx.data(8, tf_tensor(DT_FLOAT, dims, content)))


def npy4(path, dims, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d," % d for d in dims)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%df" % len(values), *values))


# ---- the formulas of the tutorial's layers ----

def bilinear(x, dims, rows, columns):
    """x of [planes, height, width] at places (low, high, part)."""
    planes, height, width = dims
    out = []
    for p in range(planes):
        at = lambda r, c: x[(p * height + r) * width + c]  # noqa: E731
        for r0, r1, v in rows:
            for c0, c1, u in columns:
                out.append((at(r0, c0) * (1 - u) + at(r0, c1) * u) * (1 - v) + (at(r1, c0) * (1 - u) + at(r1, c1) * u) * v)
    return out


def aligned(n, m):
    ratio = (n - 1) / (m - 1) if m > 1 else 0
    places = []
    for i in range(m):
        low = int(ratio * i)
        places.append((low, low + 1 if low < n - 1 else low, ratio * i - low))
    return places


def asymmetric(n, m):
    places = []
    for i in range(m):
        low = int(i * n / m)
        places.append((low, min(low + 1, n - 1), i * n / m - low))
    return places


class Teaching(Case):
    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb" if isinstance(content, bytes) else "w") as f:
            f.write(content)
        return path

    def extension(self, name):
        return built("extensions", name + ".so")

    def claims(self, *arguments):
        r = graft("explain", *arguments, "--json")
        self.assertEqual(r.status, 0, r.all)
        return {c["layer"]: c["by"] for c in json.loads(r.out)["claims"]}

    def good(self, *arguments):
        r = graft(*arguments)
        self.assertEqual(r.status, 0, r.all)
        return r

    def bad(self, *arguments, said=(), status=2):
        r = graft(*arguments)
        self.assertEqual(r.status, status, r.all)
        for text in [said] if isinstance(said, str) else said:
            self.assertIn(text, r.all)
        return r

    def close(self, got, wanted):
        self.assertEqual(len(got), len(wanted))
        for a, b in zip(got, wanted):
            self.assertAlmostEqual(a, b, places=4)

    def run_model(self, *arguments, inputs):
        self.good("run", *arguments, *[x for n, v in inputs.items() for x in ("--input", n + "=" + v)], "--output-dir", self.path("out"), "-q")
        return read_npy(self.path("out", "0.npy"))


class Mapping(Teaching):
    def setUp(self):
        super().setUp()
        self.net, self.mapping = self.write("five.prototxt", NET), self.write("map.xml", MAPPING)

    def test_five_layers_and_who_claims_them(self):
        by = self.claims(self.net, "-k", self.mapping, "--extensions", self.extension("teaching"))
        self.assertEqual(by, {"one": "built-in", "two": "teaching", "three": "mapping file " + self.mapping,
                              "four": "built-in", "five": "teaching"})

    def test_what_nobody_knows_is_named(self):
        self.bad("convert", self.net, "-o", self.path("ir"), "--extensions", self.extension("teaching"), said="Passing   1 layer: three")

    def test_the_mapping_goes_before_an_extension_and_an_extension_before_what_is_built_in(self):
        net = self.write("n.prototxt", """
            input: "x" input_shape { dim: 1 dim: 2 }
            layer { name: "a" type: "Doubled" bottom: "x" top: "a" }
            layer { name: "b" type: "TanH" bottom: "a" top: "b" }
            layer { name: "c" type: "ReLU" bottom: "b" top: "c" }""")
        both = self.write("both.xml", """<m>
            <CustomLayer NativeType="Doubled" hasParam="false" outputShape="in0"/>
            <CustomLayer NativeType="RELU" hasParam="FALSE" outputShape="in0"/></m>""")
        extension = ["--extensions", self.extension("teaching")]
        self.assertEqual(self.claims(net, *extension), {"a": "teaching", "b": "teaching", "c": "built-in"})
        by = self.claims(net, "-k", both, *extension)
        self.assertEqual(by, {"a": "mapping file " + both, "b": "teaching", "c": "mapping file " + both})

    def test_the_ir_holds_the_layer_and_an_extension_runs_it(self):
        r = self.good("convert", self.net, "-k", self.mapping, "--extensions", self.extension("teaching"), "-o", self.path("ir"))
        self.assertIn("Passing: passed through; running it requires an extension", r.err)
        ir = self.path("ir", "five.xml")
        with open(ir) as f:
            xml = f.read()
        self.assertIn('type="Passing" version="extension"', xml)
        self.assertIn('<data factor="3" mode="plain" shape="4,5" />', xml)
        self.assertIn("<dim>6</dim>", xml)
        npy4(self.path("x.npy"), [1, 2], [1, 2])
        teaching = self.extension("teaching")
        self.bad("run", ir, "--extensions", teaching, said="Passing   1 layer: three")
        got = self.run_model(ir, "--extensions", teaching + "," + self.extension("passed_layer"), inputs={"data": self.path("x.npy")})
        self.assertEqual(got, [13, 13, 13, 15, 15, 15])

    def test_running_without_an_extension_says_what_is_missing(self):
        self.bad("run", self.net, "-k", self.mapping, "--extensions", self.extension("teaching"),
                 said=["the model has layers that no loaded operation can run: 'three' (Passing)", "hint: load an extension"])

    def test_an_extension_that_knows_the_operation_gets_the_parameters(self):
        both = self.extension("teaching") + "," + self.extension("passed_layer")
        npy4(self.path("x.npy"), [1, 2], [1, 2])
        got = self.run_model(self.net, "-k", self.mapping, "--extensions", both, inputs={"data": self.path("x.npy")})
        self.assertEqual(got, [13, 13, 13, 15, 15, 15])
        net = self.write("extra.prototxt", NET.replace("factor: 3", "factor: 3 twist: 1 turn: 2"))
        self.bad("convert", net, "-k", self.mapping, "--extensions", both, "-o", self.path("ir"),
                 said=["operation Passing of acme has no attributes 'twist', 'turn'", "its attributes are factor, shape, mode"])

    def test_names_of_nested_parameters(self):
        options = ["-k", self.mapping, "--extensions", self.extension("teaching"), "-o", self.path("ir")]
        self.good("convert", self.net, *options, "--enable_flattening_nested_params", "--disable_omitting_optional")
        with open(self.path("ir", "five.xml")) as f:
            self.assertIn('<data factor="3" mode="plain" nested__shape="4,5" />', f.read())

    def test_blobs_become_inputs(self):
        blob = onnx.data(7, onnx.data(7, onnx.number(1, 2)) + b"".join(onnx.varint(5 << 3 | 5) + struct.pack("<f", v) for v in (8, 9)))
        weights = self.write("five.caffemodel", onnx.data(100, onnx.data(1, "three") + onnx.data(2, "Passing") + blob))
        self.good("convert", self.net, weights, "-k", self.mapping, "--extensions", self.extension("teaching"), "-o", self.path("ir"))
        with open(self.path("ir", "five.xml")) as f:
            self.assertIn('name="three/weights"', f.read())

    def test_what_is_refused(self):
        extension = ["--extensions", self.extension("teaching")]
        out = ["-o", self.path("ir")]
        other = self.write("other.xml", MAPPING.replace("passing_param", "warp_param"))
        self.bad("convert", self.net, "-k", other, *extension, *out, said=["no 'warp_param'", "the layer has passing_param"])
        self.bad("convert", self.plain_model(), "-k", self.mapping, *out, said="-k applies only to models of Caffe, got a model of ONNX", status=1)
        self.bad("convert", self.net, "-k", self.path("none.xml"), *out, said="file not found", status=1)
        self.bad("convert", self.net, "--enable_flattening_nested_params", *out, said=["has no effect without a mapping file (-k FILE)", "3 layer types are unknown"])
        broken = self.write("broken.xml", MAPPING.replace('hasParam="true"', 'hasParam="maybe"'))
        self.bad("convert", self.net, "-k", broken, *out, said="broken.xml:4:3: hasParam of 'passing': expected true or false, got 'maybe'")
        self.assertFalse(os.path.exists(self.path("ir")))


class OpenCvLayers(Teaching):
    library = None

    def setUp(self):
        super().setUp()
        if not OpenCvLayers.library:
            OpenCvLayers.folder_of_build = tempfile.TemporaryDirectory(prefix="graft-opencv-")
            source = os.path.join(ROOT, "examples", "opencv-layers")
            OpenCvLayers.library = build_extension(source, OpenCvLayers.folder_of_build.name, "g++")

    def test_interp(self):
        net = self.write("interp.prototxt", """
            input: "input" input_shape { dim: 2 dim: 3 dim: 4 dim: 5 }
            layer { name: "output" type: "Interp" bottom: "input" top: "output" interp_param { height: 9 width: 8 } }
            layer { name: "again" type: "Interp" bottom: "output" top: "again" interp_param { zoom_factor: 2 } }""")
        self.assertEqual(self.claims(net, "--extensions", self.library), {"output": "opencv_layers", "again": "opencv_layers"})
        x = [((i * 37) % 101) / 10 - 5 for i in range(120)]
        npy4(self.path("x.npy"), [2, 3, 4, 5], x)
        once = bilinear(x, (6, 4, 5), aligned(4, 9), aligned(5, 8))
        wanted = bilinear(once, (6, 9, 8), aligned(9, 17), aligned(8, 15))
        for way in ([], ["--through-ir"]):
            self.close(self.run_model(net, "--extensions", self.library, *way, inputs={"input": self.path("x.npy")}), wanted)

    def test_interp_borders_and_factors(self):
        net = self.write("pads.prototxt", """
            input: "x" input_shape { dim: 1 dim: 1 dim: 9 dim: 8 }
            layer { name: "y" type: "Interp" bottom: "x" top: "y"
                    interp_param { shrink_factor: 2 zoom_factor: 3 pad_beg: -1 pad_end: -1 } }""")
        x = [(i * 13 % 29) for i in range(72)]
        npy4(self.path("x.npy"), [1, 1, 9, 8], x)
        rows = [(a + 1, b + 1, p) for a, b, p in aligned(7, 10)]  # 7 -> 4 -> 10
        columns = [(a + 1, b + 1, p) for a, b, p in aligned(6, 7)]  # 6 -> 3 -> 7
        got = self.run_model(net, "--extensions", self.library, inputs={"x": self.path("x.npy")})
        self.close(got, bilinear(x, (1, 9, 8), rows, columns))
        broken = self.write("broken.prototxt", 'input: "x" input_shape { dim: 1 dim: 1 dim: 2 dim: 2 } '
                            'layer { name: "y" type: "Interp" bottom: "x" top: "y" interp_param { pad_beg: -3 height: 4 width: 4 } }')
        self.bad("run", broken, "--extensions", self.library, said="leaves nothing")

    def resize_model(self, name):
        if name.endswith("txt"):
            return self.write(name, RESIZE)
        size = struct.pack("<2i", 9, 8)
        nodes = [tf_input("input", [2, 4, 5, 3]),
                 tf_node("resize_bilinear/size", "Const", dtype=tf_type(DT_INT32), value=onnx.data(8, tf_tensor(DT_INT32, [2], size))),
                 tf_node("resize_bilinear", "ResizeBilinear", ["input:0", "resize_bilinear/size"], T=tf_type(DT_FLOAT),
                         align_corners=onnx.number(5, 0))]
        return self.write(name, b"".join(nodes) + onnx.data(2, b""))

    def test_resize_bilinear(self):
        planes = [((i * 37) % 101) / 10 - 5 for i in range(120)]  # [2, 3, 4, 5]
        last = [planes[((n * 3 + c) * 4 + h) * 5 + w] for n in range(2) for h in range(4) for w in range(5) for c in range(3)]
        resized = bilinear(planes, (6, 4, 5), asymmetric(4, 9), asymmetric(5, 8))
        wanted = [resized[((n * 3 + c) * 9 + h) * 8 + w] for n in range(2) for h in range(9) for w in range(8) for c in range(3)]
        npy4(self.path("x.npy"), [2, 4, 5, 3], last)
        for name in ("resize.pb", "resize.pbtxt"):
            model = self.resize_model(name)
            self.assertEqual(self.claims(model, "--extensions", self.library)["resize_bilinear"], "opencv_layers")
            self.close(self.run_model(model, "--extensions", self.library, inputs={"input": self.path("x.npy")}), wanted)

    def test_resize_bilinear_refuses_what_it_does_not_know(self):
        model = self.write("aligned.pbtxt", RESIZE.replace("b: false", "b: true"))
        self.bad("run", model, "--extensions", self.library, said="align_corners is true")

    def test_crop_takes_the_centre(self):
        net = self.write("crop.prototxt", """
            input: "x" input: "like" input_shape { dim: 1 dim: 2 dim: 7 dim: 6 } input_shape { dim: 1 dim: 1 dim: 4 dim: 3 }
            layer { name: "crop" type: "Crop" bottom: "x" bottom: "like" top: "crop" crop_param { axis: 2 offset: 0 } }""")
        x = list(range(84))
        npy4(self.path("x.npy"), [1, 2, 7, 6], x)
        npy4(self.path("like.npy"), [1, 1, 4, 3], [0] * 12)
        inputs = {"x": self.path("x.npy"), "like": self.path("like.npy")}
        top_left = [x[(c * 7 + h) * 6 + w] for c in range(2) for h in range(4) for w in range(3)]
        centre = [x[(c * 7 + h + 1) * 6 + w + 1] for c in range(2) for h in range(4) for w in range(3)]
        self.assertEqual(self.claims(net), {"crop": "built-in"})
        self.close(self.run_model(net, inputs=inputs), top_left)
        self.assertEqual(self.claims(net, "--extensions", self.library), {"crop": "opencv_layers"})
        self.close(self.run_model(net, "--extensions", self.library, inputs=inputs), centre)


class Replacements(Teaching):
    def cells(self):
        """x -> first -> cell_a(left, right, scale, join) -> cell_b -> last."""
        nodes = [tf_input("x", [1, 2]), tf_node("net/first", "Relu", ["x"], T=tf_type(DT_FLOAT))]
        flow = "net/first"
        for cell, scale in (("a", 3), ("b", 5)):
            s = "net/cell_%s/" % cell
            nodes += [tf_const(s + "scale", [], [scale]), tf_node(s + "left", "Relu", [flow], T=tf_type(DT_FLOAT)),
                      tf_node(s + "right", "Mul", [flow, s + "scale"], T=tf_type(DT_FLOAT)),
                      tf_node(s + "join", "Mul", [s + "left", s + "right"], T=tf_type(DT_FLOAT))]
            flow = s + "join"
        nodes += [tf_node("net/last", "Neg", [flow], T=tf_type(DT_FLOAT))]
        npy4(self.path("x.npy"), [1, 2], [1, 2])
        return self.write("cells.pb", b"".join(nodes))

    def scope(self, **changes):
        entry = {"id": "FoldCell", "match_kind": "scope", "instances": [".*cell_a", ".*cell_b"],
                 "inputs": [[{"node": "left$", "port": 0}, {"node": "right$", "port": 0}]],
                 "outputs": [{"node": "join$", "port": 0}]}
        entry.update(changes)
        return {k: v for k, v in entry.items() if v is not None}

    def config(self, *entries):
        return self.write("r.json", json.dumps(list(entries)))

    def result(self, model, config, *more):
        return self.run_model(model, "--transformations_config", config, "--extensions", self.extension("teaching"), *more,
                              inputs={"x": self.path("x.npy")})

    def test_scope_with_an_operation(self):
        config = self.config(self.scope(op="RidgeCell", custom_attributes={"depth": 4, "mode": "hard"}))
        model = self.cells()
        self.assertEqual(self.run_model(model, inputs={"x": self.path("x.npy")}), [-45, -720])
        for way in ([], ["--through-ir"]):
            self.assertEqual(self.result(model, config, *way), [-16, -32])
        by = self.claims(model, "--tensorflow_use_custom_operations_config", config, "--extensions", self.extension("teaching"))
        self.assertEqual(by["net/cell_a"], "replacement 'FoldCell' of " + config)
        self.assertEqual(by["net/last"], "built-in")
        self.assertNotIn("net/cell_a/left", by)

    def test_scope_with_a_rule_that_reads_the_nodes(self):
        config = self.config(self.scope(custom_attributes={"bias": {"value": 100}}))
        self.assertEqual(self.result(self.cells(), config), [-(1 * 3 + 100) * 5 - 100, -(2 * 3 + 100) * 5 - 100])

    def test_a_built_in_operation(self):
        config = self.config(self.scope(op="Elu", custom_attributes={"alpha": 1.0}))
        self.assertEqual(self.result(self.cells(), config), [-1, -2])

    def test_points(self):
        config = self.config({"id": "FoldCell", "match_kind": "points", "op": "RidgeCell", "custom_attributes": {"depth": 7},
                              "instances": {"start_points": ["net/first"], "end_points": ["net/cell_a/join"]}})
        self.assertEqual(self.result(self.cells(), config), [-(7 * 7 * 5), -(14 * 14 * 5)])
        config = self.config({"id": "FoldCell", "match_kind": "points", "op": "RidgeCell", "custom_attributes": {"depth": 7},
                              "include_inputs_to_sub_graph": False, "include_outputs_to_sub_graph": False,
                              "instances": {"start_points": ["net/first"], "end_points": ["net/last"]}})
        self.assertEqual(self.result(self.cells(), config), [-7, -14])

    def test_onnx_and_initializers(self):
        model = self.path("pair.onnx")
        save(model, [onnx.node("Relu", ["x"], ["a"], name="relu"), onnx.node("Add", ["a", "t"], ["b"], name="pair/add"),
                         onnx.node("Relu", ["b"], ["y"], name="pair/clip")],
                 [onnx.value("x", [2])], [onnx.value("y", [2])], [onnx.tensor("t", [2], [-10.0, 20.0])])
        npy(self.path("x.npy"), [1, 2])
        config = self.config({"id": "FoldPair", "match_kind": "scope", "instances": ["pair"],
                              "inputs": [[{"node": "add$", "port": 0}]], "outputs": [{"node": "clip$", "port": 0}]})
        self.assertEqual(self.result(model, config), [-9, 22])

    def test_caffe(self):
        net = self.write("net.prototxt", """input: "x" input_shape { dim: 1 dim: 2 }
            layer { name: "a" type: "ReLU" bottom: "x" top: "a" }
            layer { name: "b" type: "Unheard" bottom: "a" top: "b" }
            layer { name: "c" type: "ReLU" bottom: "b" top: "c" }""")
        npy4(self.path("x.npy"), [1, 2], [1, 2])
        config = self.config({"id": "Un", "match_kind": "points", "op": "RidgeCell", "custom_attributes": {"depth": 2},
                              "instances": {"start_points": ["b"], "end_points": ["b"]}})
        self.assertEqual(self.result(net, config), [2, 4])

    def test_a_dry_run_shows_matches_and_writes_nothing(self):
        config = self.config(self.scope(op="RidgeCell"), {"id": "Tail", "match_kind": "general"})
        r = self.good("convert", self.cells(), "--transformations_config", config, "--dry-run", "-o", self.path("ir"))
        self.assertEqual(r.out, """FoldCell (scope) -> RidgeCell
  net/cell_a
    nodes    net/cell_a/scale, net/cell_a/left, net/cell_a/right, net/cell_a/join
    inputs   net/first
    outputs  net/cell_a/join
  net/cell_b
    nodes    net/cell_b/scale, net/cell_b/left, net/cell_b/right, net/cell_b/join
    inputs   net/cell_a/join
    outputs  net/cell_b/join
Tail (general)
  matches no nodes by itself: used by a pass
""")
        self.assertFalse(os.path.exists(self.path("ir")))
        r = self.good("convert", self.cells(), "--transformations_config", config, "--dry-run", "--json")
        self.assertEqual(json.loads(r.out)[0]["matches"][1]["inputs"], ["net/cell_a/join"])
        wrong = self.config(self.scope(instances=[".*cel_a"]))
        self.bad("convert", self.cells(), "--transformations_config", wrong, "--dry-run", said=["no match:", "the closest is 'cell_a'"])

    def test_what_matches_nothing_says_what_is_near(self):
        convert = ["convert", self.cells(), "--transformations_config"]
        out = ["-o", self.path("ir"), "--extensions", self.extension("teaching")]
        config = self.config(self.scope(instances=[".*net/cel_a"]))
        self.bad(*convert, config, *out, said=["no node name begins with a match of '.*net/cel_a'", "'.*net' matches 'net/first'",
                                               "'cel_a' is the first mismatch", "the closest is 'net/cell_a'", "--allow-unmatched"])
        self.assertFalse(os.path.exists(self.path("ir")))
        r = self.good(*convert, config, *out, "--allow-unmatched")
        self.assertIn("warning: replacement 'FoldCell' of " + config + " does not match: no node name begins with a match of", r.err)
        config = self.config(self.scope(instances=["nett/cell_[ab]", "net/cel_a/.*/deep/down"]))
        self.bad(*convert, config, *out, said=["begins with a match of 'nett/cell_[ab]'; the closest is 'net/cell_a'",
                                               "so 'cel_a/.*/deep/down' is the first mismatch; the closest there is 'cell_a'"])
        config = self.config(self.scope(outputs=[{"node": "joint$", "port": 0}]))
        self.bad(*convert, config, *out, said=["the pattern 'joint$' of an output matches no node of 'net/cell_a'", "the closest is 'join'"])
        points = {"id": "P", "match_kind": "points", "op": "Relu", "instances": {"start_points": ["net/frist"], "end_points": ["net/last"]}}
        self.bad(*convert, self.config(points), *out, said="unknown node 'net/frist' as start point; the closest is 'net/first'")

    def test_what_contradicts_the_model(self):
        def refused(entry, *said):
            self.bad("convert", self.cells(), "--transformations_config", self.config(entry), "-o", self.path("ir"),
                     "--extensions", self.extension("teaching"), said=said)

        def points(start, end, **more):
            return {"id": "P", "match_kind": "points", "op": "Relu", "instances": {"start_points": start, "end_points": end}, **more}

        refused(self.scope(instances=["net/cell_."]), "matches 2 nodes: 'net/cell_a/left', 'net/cell_b/left'", "end the pattern with $")
        refused(self.scope(inputs=[[{"node": "left$", "port": 3}]]), "which has 1 inputs")
        refused(self.scope(inputs=[[{"node": "left$", "port": 0}, {"node": "join$", "port": 0}]]), "expected one tensor for input 0")
        refused(self.scope(inputs=[[{"node": "join$", "port": 0}]]), "is produced inside the sub-graph")
        refused(self.scope(outputs=[{"node": "left$", "port": 0}]), "consumes 'net/cell_a/join'", "is not among its outputs")
        refused(self.scope(inputs=None), "missing key 'inputs'", "--tensorflow_custom_operations_config_update FILE")
        refused(self.scope(op="RidgeCel"), "unknown operation 'RidgeCel'", "did you mean RidgeCell?")
        refused(self.scope(op="RidgeCell", custom_attributes={"width": 3}), "has no attribute 'width'", "its attributes are depth, mode")
        refused(self.scope(op="RidgeCell", custom_attributes={"depth": 0}), "attribute 'depth': expected a value")
        refused(self.scope(id="Nobody"), "no extension has a rule for the replacement 'Nobody'", 'graft::replacement("Nobody")')
        refused(points(["net/cell_a/join"], ["net/first"]), "the end point 'net/first' is not reachable")
        refused(points(["net/first"], ["net/cell_a/left"]), "is an output of the model but not of the sub-graph", "choose other points")
        refused(points(["net/cell_a/left"], ["net/cell_a/join"]), "the sub-graph would contain the model input 'x'")
        refused({"id": "Tail", "match_kind": "general"}, "replacement 'Tail' of", "no pass handles it")

    def test_filling_a_file_in(self):
        config = self.config(self.scope(inputs=None, outputs=None, op="RidgeCell", custom_attributes={"depth": 4}),
                             {"match_kind": "general", "id": "Tail"})
        self.good("convert", self.cells(), "--tensorflow_custom_operations_config_update", config)
        with open(config) as f:
            text = f.read()
        filled = json.loads(text)
        self.assertEqual(filled[0]["inputs"], [[{"node": "left$", "port": 0}, {"node": "right$", "port": 0}]])
        self.assertEqual(filled[0]["outputs"], [{"node": "join$", "port": 0}])
        self.assertEqual(text, json.dumps(filled, indent=4, sort_keys=True) + "\n")
        self.assertFalse(os.path.exists(self.path("cells.xml")))
        del filled[1]
        self.assertEqual(self.result(self.cells(), self.config(*filled)), [-16, -32])
        missing = self.config(self.scope(instances=["cellar"], inputs=None))
        with open(missing) as f:
            before = f.read()
        self.bad("convert", self.cells(), "--tensorflow_custom_operations_config_update", missing, said="no node name begins with a match of 'cellar'")
        with open(missing) as f:
            self.assertEqual(f.read(), before)

    def test_usage(self):
        m = self.cells()
        self.bad("convert", m, "--transformations_config", self.path("none.json"), said="file not found", status=1)
        self.bad("convert", m, "--dry-run", said="--transformations_config FILE", status=1)
        self.bad("convert", m, "--allow-unmatched", said="--transformations_config FILE", status=1)
        self.bad("convert", m, "--transformations_config", self.write("bad.json", '[{"id": "a",}]'), said="bad.json:1: invalid JSON")
        self.good("convert", m, "-o", self.path("ir"))
        self.bad("convert", self.path("ir", "cells.xml"), "--transformations_config", self.config(self.scope()), said="is already converted")


if __name__ == "__main__":
    main()
