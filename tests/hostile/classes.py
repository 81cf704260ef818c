"""Hostile model files, a generator per class: well-formed, small, and asking for what no honest file asks for.

Each generator yields (name, files, arguments of graft). `files` maps a name to its bytes; the first one is the model.
"""
import json
import struct
import zlib

import onnx_writer as onnx

I64 = onnx.INT64
BIG = 1 << 62


def model(nodes, tensors=(), inputs=(("x", [4]),), outputs=(("y", None),), opsets=None, functions=()):
    values = [onnx.value(n, d) for n, d in inputs]
    out = onnx.model("h", nodes, tensors, values, [onnx.value(n, d or []) if d is not None else onnx.data(1, n) for n, d in outputs],
                     opsets or {"": 17})
    return out + b"".join(onnx.data(25, f) for f in functions)


def ints(name, values):
    return onnx.tensor(name, [len(values)], values, I64)


def filled(name, dims):
    """A large constant from a few bytes."""
    return onnx.node("ConstantOfShape", [name + "_dims"], [name]), ints(name + "_dims", dims)


def convert(name, content, *more):
    return name, {name + ".onnx": content}, ["convert", name + ".onnx", "-o", "out", *more]


def run(name, content, *more):
    return name, {name + ".onnx": content}, ["run", name + ".onnx", *more]


# ---- memory ----

LAYERS = {  # type: inputs whose ranks are tried
    "BatchNormalization": 5, "InstanceNormalization": 3, "Conv": 2, "ConvTranspose": 2, "ConvInteger": 2, "EyeLike": 1, "LSTM": 3, "GRU": 3,
    "RNN": 3, "Attention": 3, "RotaryEmbedding": 3, "DepthToSpace": 1, "SpaceToDepth": 1, "GlobalAveragePool": 1, "MaxPool": 1,
    "AveragePool": 1, "LpPool": 1, "LRN": 1, "Gemm": 3, "MatMul": 2, "GridSample": 2, "RoiAlign": 3, "Resize": 1, "Upsample": 1, "Det": 1,
    "DeformConv": 3, "GroupNormalization": 3, "LayerNormalization": 2, "Col2Im": 3, "MaxUnpool": 2, "NonMaxSuppression": 2, "STFT": 2,
    "DFT": 1, "Einsum": 2, "CenterCropPad": 2, "AffineGrid": 2, "TopK": 2, "Trilu": 1, "Compress": 2, "GatherND": 2, "ScatterND": 3,
}


def ranks():
    """Inputs of every rank for layers that take few, with attributes as large as they go."""
    for kind, count in LAYERS.items():
        for rank in (0, 1, 2, 6):
            names = ["i%d" % i for i in range(count)]
            attributes = {"equation": "ij,jk->ik"} if kind == "Einsum" else {"blocksize": 2} if kind in ("DepthToSpace", "SpaceToDepth") else \
                {"hidden_size": 2} if kind in ("LSTM", "GRU", "RNN") else {"kernel_shape": [2, 2]} if "Pool" in kind and "Global" not in kind else \
                {"num_groups": 1} if kind == "GroupNormalization" else {"size": 3} if kind == "LRN" else {}
            yield convert("%s_rank%d" % (kind, rank), model([onnx.node(kind, names, ["y"], **attributes)], inputs=[(n, [2] * rank) for n in names],
                                                            opsets={"": 23}))


def extremes():
    """Attributes at the ends of their range."""
    for kind, name in (("LayerNormalization", "axis"), ("Softmax", "axis"), ("Flatten", "axis"), ("Concat", "axis"), ("Gather", "axis"),
                       ("Split", "axis"), ("ArgMax", "axis"), ("CumSum", "reverse"), ("DepthToSpace", "blocksize"), ("LRN", "size"),
                       ("Hardmax", "axis"), ("Conv", "group"), ("Attention", "q_num_heads"), ("TopK", "axis"), ("OneHot", "axis")):
        for v in (-(1 << 63), -9, BIG, (1 << 63) - 1):
            names = ["x"] * (2 if kind in ("LayerNormalization", "Gather", "Concat", "Conv") else 3 if kind in ("Attention", "OneHot") else 1)
            yield convert("%s_%s_%d" % (kind, name, v), model([onnx.node(kind, names, ["y"], **{name: v})], inputs=[("x", [2, 3, 4, 5])],
                                                             opsets={"": 23}))
    for v in (-(1 << 63), (1 << 63) - 1):
        for name in ("strides", "dilations", "pads", "kernel_shape", "output_padding", "output_shape"):
            values = [v] * (4 if name == "pads" else 2)
            yield convert("ConvTranspose_%s_%d" % (name, v), model([onnx.node("ConvTranspose", ["x", "w"], ["y"], **{name: values})],
                                                                  inputs=[("x", [1, 2, 5, 5]), ("w", [2, 2, 3, 3])]))
            yield convert("MaxPool_%s_%d" % (name, v), model([onnx.node("MaxPool", ["x"], ["y"], **dict({"kernel_shape": [2, 2]}, **{name: values}))],
                                                            inputs=[("x", [1, 2, 5, 5])]))


def sizes():
    """Constants and shapes that state the size of something that import would have to make."""
    for n in (1 << 24, 1 << 33, 1 << 40):
        for corners in (0, 1):
            yield convert("affine_grid_%d_%d" % (n, corners), model([onnx.node("AffineGrid", ["x", "n"], ["y"], align_corners=corners)],
                                                                   [ints("n", [1, 1, n, 1])], inputs=[("x", [1, 2, 3])], opsets={"": 20}))
        yield convert("blocks_%d" % n, model([onnx.node("QuantizeLinear", ["x", "s"], ["y"], axis=1, block_size=n)],
                                             inputs=[("x", [1, n]), ("s", [1, 1])], opsets={"": 21}))


def layer(id, name, kind, opset, inputs, outputs, data=""):
    port = lambda i: '<port id="%d"/>' % i
    made = lambda i: '<port id="%d" precision="FP32"/>' % i
    return '<layer id="%d" name="%s" type="%s" version="%s">%s%s%s</layer>' % (
        id, name, kind, opset, data, "<input>%s</input>" % "".join(port(i) for i in inputs) if inputs else "",
        "<output>%s</output>" % "".join(made(i) for i in outputs) if outputs else "")


def net(layers, edges):
    return '<?xml version="1.0"?><net name="n" version="11"><layers>%s</layers><edges>%s</edges></net>' % (
        "".join(layers), "".join('<edge from-layer="%d" from-port="%d" to-layer="%d" to-port="%d"/>' % e for e in edges))


PARAMETER = '<data shape="4,2" element_type="f32"/>'
BODY = ('<body><layers>' + layer(0, "bp", "Parameter", "opset1", [], [0], '<data shape="1,2" element_type="f32"/>') +
        layer(1, "br", "ReLU", "opset1", [0], [1]) + layer(2, "bres", "Result", "opset1", [0], []) +
        '</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'
        '<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></body>')


def iterator(port_map):
    return net([layer(0, "x", "Parameter", "opset1", [], [0], PARAMETER),
                '<layer id="1" name="ti" type="TensorIterator" version="opset1"><input><port id="0"/></input><output><port id="1" precision="FP32"/>'
                "</output><port_map>%s</port_map>%s</layer>" % (port_map, BODY), layer(2, "r", "Result", "opset1", [0], [])],
               [(0, 0, 1, 0), (1, 1, 2, 0)])


def ports():
    """IR layers with ports that their operations do not have, and port maps that lead nowhere."""
    def ir(name, text):
        return name, {name + ".xml": text.encode()}, ["run", name + ".xml"]
    yield ir("extra_output", net([layer(0, "x", "Parameter", "opset1", [], [0], PARAMETER), layer(1, "a", "ReLU", "opset1", [0], [1, 2]),
                                  layer(3, "r", "Result", "opset1", [0], [])], [(0, 0, 1, 0), (1, 2, 3, 0)]))
    yield ir("extra_input", net([layer(0, "x", "Parameter", "opset1", [], [0], PARAMETER), layer(1, "a", "ReLU", "opset1", [0, 1], [2]),
                                 layer(3, "r", "Result", "opset1", [0], [])], [(0, 0, 1, 0), (0, 0, 1, 1), (1, 2, 3, 0)]))
    good_in, good_out = '<input external_port_id="0" internal_layer_id="0" axis="0"/>', '<output external_port_id="1" internal_layer_id="2" axis="0"/>'
    yield ir("map_good", iterator(good_in + good_out))
    for name, entry in (("external_minus_1", '<input external_port_id="-1" internal_layer_id="0" axis="0"/>'),
                        ("axis_9", '<input external_port_id="0" internal_layer_id="0" axis="9"/>'),
                        ("stride_0", '<input external_port_id="0" internal_layer_id="0" axis="0" stride="0"/>'),
                        ("part_huge", '<input external_port_id="0" internal_layer_id="0" axis="0" part_size="%d"/>' % BIG),
                        ("start_min", '<input external_port_id="0" internal_layer_id="0" axis="0" start="%d"/>' % -(1 << 63)),
                        ("twice", good_in + good_in), ("none", "")):
        yield ir("map_" + name, iterator(entry + good_out))
    yield ir("empty_attribute", net([layer(0, "x", "Parameter", "opset1", [], [0], PARAMETER), layer(1, "a", "Frob", "acme", [0], [1], '<data at=""/>'),
                                     layer(3, "r", "Result", "opset1", [0], [])], [(0, 0, 1, 0), (1, 1, 3, 0)]))
    # A loop that runs more often than its input has parts.
    loop = net([layer(0, "x", "Parameter", "opset1", [], [0], PARAMETER),
                '<layer id="3" name="trip" type="Const" version="opset1"><data element_type="i64" shape="" offset="0" size="8"/><output><port id="0" '
                'precision="I64"/></output></layer><layer id="4" name="go" type="Const" version="opset1"><data element_type="boolean" shape="" '
                'offset="8" size="1"/><output><port id="0" precision="BOOL"/></output></layer>',
                '<layer id="1" name="lp" type="Loop" version="opset5"><input><port id="0"/><port id="1"/><port id="2"/></input><output><port id="3" '
                'precision="FP32"/></output><port_map><input external_port_id="2" internal_layer_id="0" axis="0"/><output external_port_id="3" '
                'internal_layer_id="2" axis="0"/><output external_port_id="-1" internal_layer_id="4" purpose="execution_condition"/></port_map>' +
                BODY.replace('</layers>', '<layer id="3" name="bc" type="Const" version="opset1"><data element_type="boolean" shape="" offset="8" '
                             'size="1"/><output><port id="0" precision="BOOL"/></output></layer>' + layer(4, "bcr", "Result", "opset1", [0], []) +
                             '</layers>').replace('</edges>', '<edge from-layer="3" from-port="0" to-layer="4" to-port="0"/></edges>') + "</layer>",
                layer(2, "r", "Result", "opset1", [0], [])],
               [(3, 0, 1, 0), (4, 0, 1, 1), (0, 0, 1, 2), (1, 3, 2, 0)])
    yield "loop_past_the_end", {"l.xml": loop.encode(), "l.bin": struct.pack("<q?7x", 8000, True)}, ["run", "l.xml"]


# ---- work ----

def folding():
    """Constants that a few bytes describe and that take minutes to compute."""
    def folded(name, dims, node, *tensors, opsets=None, **more):
        made, shape = filled("c", dims)
        return convert("fold_" + name, model([made, node, onnx.node("Add", ["x", "z"], ["y"])], [shape, *tensors], inputs=[("x", [1])], opsets=opsets))
    yield folded("conv", [1, 1, 2000, 2000], onnx.node("Conv", ["c", "c"], ["z"], pads=[1999] * 4))
    yield folded("einsum", [2000], onnx.node("Einsum", ["c", "c", "c", "c"], ["z"], equation="a,b,c,d->"))
    yield folded("nms", [1, 100000, 4], onnx.node("NonMaxSuppression", ["c", "s"], ["n"]), onnx.tensor("s", [1, 1, 1], [1.0]))
    yield folded("dft", [1, 1999993, 1], onnx.node("DFT", ["c"], ["z"], axis=1))
    yield folded("pool", [1, 1, 3000, 3000], onnx.node("AveragePool", ["c"], ["z"], kernel_shape=[1500, 1500]))
    yield folded("lrn", [1, 100000, 8, 8], onnx.node("LRN", ["c"], ["z"], size=99999))
    yield folded("matmul", [4000, 4000], onnx.node("MatMul", ["c", "c"], ["z"]))
    made, shape = filled("c", [4000, 4000])
    sums = [onnx.node("ReduceSum", ["c"], ["s%d" % i], keepdims=0) for i in range(2000)]
    chain = [onnx.node("Add", ["s%d" % i if i == 0 else "t%d" % (i - 1), "s%d" % i], ["t%d" % i]) for i in range(2000)]
    yield convert("fold_many_sums", model([made] + sums + chain + [onnx.node("Add", ["x", "t1999"], ["y"])], [shape], inputs=[("x", [1])]))


def graph_attribute(name, nodes, inputs, outputs):
    body = b"".join(onnx.data(1, n) for n in nodes) + onnx.data(2, "b") + b"".join(onnx.data(11, v) for v in inputs) + b"".join(onnx.data(12, v) for v in outputs)
    return onnx.data(5, onnx.data(1, name) + onnx.data(6, body) + onnx.number(20, 5))


def nested_loop(depth):
    if depth == 0:
        return onnx.node("Concat", ["v", "v"], ["w"], axis=0)
    inner = [nested_loop(depth - 1), onnx.node("Identity", ["c"], ["c2"])]
    body = graph_attribute("body", inner, [onnx.value("i", [], I64), onnx.value("c", [], 9), onnx.value("v", ["n"])],
                           [onnx.value("c2", [], 9), onnx.value("w", ["n"])])
    return onnx.node("Loop", ["trip", "go", "v"], ["w"]) + body


def growing_loop(depth):
    """Every loop starts from a constant, runs the next one and appends its result."""
    state, result = "s%d" % depth, "r%d" % depth
    inner = [growing_loop(depth - 1)] if depth > 1 else [onnx.node("Identity", [state], ["v0"])]
    inner += [onnx.node("Concat", [state, "v%d" % (depth - 1)], [result], axis=0), onnx.node("Identity", ["c%d" % depth], ["d%d" % depth])]
    body = graph_attribute("body", inner, [onnx.value("i%d" % depth, [], I64), onnx.value("c%d" % depth, [], 9), onnx.value(state, ["n"])],
                           [onnx.value("d%d" % depth, [], 9), onnx.value(result, ["m"])])
    return onnx.node("Loop", ["trip", "", "one"], ["v%d" % depth]) + body


def nesting():
    """Sub-graphs and functions in each other."""
    go = onnx.tensor("go", [], b"\x01", 9)
    for depth in (4, 8, 12, 16):
        nodes = [onnx.node("Identity", ["x"], ["v"]), nested_loop(depth), onnx.node("Identity", ["w"], ["y"])]
        yield *convert("loops_%d" % depth, model(nodes, [onnx.tensor("trip", [], [2], I64), go], inputs=[("x", ["n"])])), 0
    # A value that grows in every loop: each body is imported for a few shapes only, or all bodies would multiply.
    for depth in (4, 16, 32):
        yield *convert("growing_loops_%d" % depth, model([growing_loop(depth)], [onnx.tensor("trip", [], [2], I64), onnx.tensor("one", [1], [1.0])],
                                                         outputs=[("v%d" % depth, None)])), 0
    def function(name, nodes, inputs, outputs):
        return (onnx.data(1, name) + b"".join(onnx.data(4, i) for i in inputs) + b"".join(onnx.data(5, o) for o in outputs) +
                b"".join(onnx.data(7, n) for n in nodes) + onnx.data(9, onnx.data(1, "") + onnx.number(2, 17)) + onnx.data(9, onnx.data(1, "f") + onnx.number(2, 1)) +
                onnx.data(10, "f"))
    doubling = [function("F0", [onnx.node("Relu", ["a"], ["b"])], ["a"], ["b"])]
    for i in range(1, 30):
        doubling.append(function("F%d" % i, [onnx.node("F%d" % (i - 1), ["a"], ["m"], domain="f"), onnx.node("F%d" % (i - 1), ["m"], ["b"], domain="f")], ["a"], ["b"]))
    yield convert("functions_double", model([onnx.node("F29", ["x"], ["y"], domain="f")], functions=doubling, opsets={"": 17, "f": 1}))
    long = "n" * 10000
    names = [function("G0", [onnx.node("Relu", ["a"], ["b"], name=long) for _ in range(1)], ["a"], ["b"])]
    for i in range(1, 30):
        names.append(function("G%d" % i, [onnx.node("G%d" % (i - 1), ["a"], ["b"], name=long, domain="f")], ["a"], ["b"]))
    yield convert("functions_long_names", model([onnx.node("G29", ["x"], ["y"], name=long, domain="f")], functions=names, opsets={"": 17, "f": 1}))
    unnamed = lambda i, o: onnx.data(1, i) + onnx.data(2, o) + onnx.data(4, "H0") + onnx.data(7, "f")
    valid = [function("H0", [onnx.node("Relu", ["a"], ["m"]), onnx.node("Neg", ["m"], ["b"])], ["a"], ["b"]),
             function("H1", [unnamed("a", "m"), unnamed("m", "b")], ["a"], ["b"])]
    yield "two_unnamed_calls", {"v.onnx": model([onnx.node("H1", ["x"], ["y"], domain="f")], functions=valid, opsets={"": 17, "f": 1})}, ["run", "v.onnx"], 0


# ---- memory that a few bytes ask for ----

def sparse(name, dims, kind):
    values = onnx.tensor(name, [1], b"\x01", kind)
    return onnx.data(15, onnx.data(1, values) + onnx.data(2, onnx.tensor("", [1], [0], I64)) + b"".join(onnx.number(3, d) for d in dims))


def expansion():
    for kind, name in ((2, "u8"), (21, "u4")):
        graph = onnx.data(1, onnx.node("Identity", ["w"], ["y"])) + onnx.data(2, "g") + sparse("w", [1 << 29], kind) + onnx.data(12, onnx.data(1, "y"))
        yield convert("sparse_" + name, onnx.number(1, 8) + onnx.data(7, graph) + onnx.data(8, onnx.data(1, "") + onnx.number(2, 17)))
    text = onnx.data(8, "s") + onnx.number(1, 1) + onnx.number(2, 8) + onnx.data(6, b"a" * 1000)
    chain = [onnx.node("StringConcat", ["s" if i == 0 else "t%d" % (i - 1)] * 2, ["t%d" % i]) for i in range(40)]
    yield convert("string_concat", model(chain + [onnx.node("Identity", ["t39"], ["y"])], [text], opsets={"": 20}))
    yield convert("string_tile", model([onnx.node("Tile", ["s", "r"], ["t"]), onnx.node("Identity", ["t"], ["y"])], [text, ints("r", [60000])], opsets={"": 20}))
    for name, dims in (("dim", [(1 << 40) - 1, 3]), ("many", [1 << 24])):
        yield convert("split_to_sequence_" + name, model([onnx.node("SplitToSequence", ["x"], ["y"])], inputs=[("x", dims)]))
    header = lambda descr, shape: b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).ljust(117).encode() + b"\n"
    relu = model([onnx.node("Identity", ["x"], ["y"])])
    for name, content in (("u0", header("<U0", "(4000000000,)")), ("huge", header("<f4", "(%d,)" % BIG)), ("many_dims", header("<f4", "(" + "1," * 8 + ")"))):
        yield "npy_" + name, {"m.onnx": relu, "x.npy": content}, ["run", "m.onnx", "--input", "x=x.npy"]
    yield "npz_overlap", {"m.onnx": relu, "x.npz": overlapping_npz(header("<f4", "(%d,)" % (1 << 18)) + bytes(1 << 20), 1000)}, ["run", "m.onnx", "--input", "x=x.npz"]
    largest = model([onnx.node("ReduceMax", ["x"], ["y"], keepdims=0)], inputs=[("x", [1, 3, "h", "w"])])
    for name, side, expected in (("png_large", 3400, 0), ("png_larger", 16384, 2), ("png_huge", 30000, 2)):
        yield name, {"m.onnx": largest, "x.png": gray_png(side)}, ["run", "m.onnx", "--input", "x=x.png"], expected
    many = [layer(0, "x", "Parameter", "opset1", [], [0], '<data shape="1048576" element_type="f32"/>')]
    edges = []
    for i in range(200):
        many.append('<layer id="%d" name="c%d" type="Const" version="opset1"><data element_type="u8" shape="%d" offset="%d" size="%d"/><output><port id="0" '
                    'precision="U8"/></output></layer><layer id="%d" name="r%d" type="Result" version="opset1"><input><port id="0"/></input></layer>'
                    % (2 * i + 1, i, 1000000, i, 1000000, 2 * i + 2, i))
        edges.append((2 * i + 1, 0, 2 * i + 2, 0))
    yield "overlapping_constants", {"o.xml": net(many, edges).encode(), "o.bin": bytes(1000300)}, ["convert", "o.xml", "-o", "out"], 2


def gray_png(side):
    rows = zlib.compress(bytes((side // 8 + 1) * side), 9)
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def overlapping_npz(content, count):
    """An archive whose entries all name the same compressed bytes."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeeze.compress(content) + squeeze.flush()
    fields = (20, 0, 8, 0, 0, zlib.crc32(content), len(packed), len(content), 5, 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", *fields) + b"x.npy" + packed
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + struct.pack("<HHHHHIIIHH", *fields) + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"x.npy"
    return local + entry * count + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(entry) * count, len(local), 0)


def tiny():
    """Files of nothing but the smallest parts: what is made of them stays in proportion."""
    relu = lambda i: onnx.node("Relu", ["x" if i == 0 else "v%d" % (i - 1)], ["v%d" % i])
    bare = lambda field, part, count: onnx.number(1, 8) + onnx.data(7, onnx.data(1, onnx.node("Relu", ["x"], ["y"])) + onnx.data(11, onnx.value("x", [4])) +
                                                                  onnx.data(12, onnx.data(1, "y")) + b"".join(onnx.data(field, part(i)) for i in range(count))) + \
        onnx.data(8, onnx.data(1, "") + onnx.number(2, 17))
    yield *convert("nodes_90k", model([relu(i) for i in range(90000)] + [onnx.node("Relu", ["v89999"], ["y"])])), 0
    yield *convert("nodes_400k", bare(1, relu, 400000)), 2
    yield *convert("least_nodes", bare(1, lambda i: onnx.data(4, "A"), 800000)), 2
    yield *convert("least_inputs", bare(11, lambda i: onnx.data(1, "i%d" % i), 400000)), 2
    yield *convert("least_outputs", bare(12, lambda i: onnx.data(1, "y"), 400000)), 2
    yield convert("least_values", bare(13, lambda i: onnx.data(1, "i%d" % i), 1000000))
    yield convert("least_constants", bare(5, lambda i: onnx.number(2, 1) + onnx.data(8, "i%d" % i) + onnx.data(9, b"abcd"), 400000))
    yield convert("concat", model([onnx.node("Concat", ["x"] * 2000000, ["y"], axis=0)]))
    yield convert("attributes", bare(1, lambda i: onnx.data(1, "x") + onnx.data(4, "A") + b"".join(onnx.data(5, onnx.data(1, "%x" % k) + onnx.number(20, 2)) for k in range(900)), 400))
    head = 'input: "d" input_dim: 1 input_dim: 1 input_dim: 2 input_dim: 2 '
    yield "caffe_list", {"m.prototxt": (head + 'layer{name:"l"type:"A"bottom:"d"top:"t"p{%s}}' % ("f:1 " * 1500000)).encode()}, ["convert", "m.prototxt", "-o", "out"]
    yield "caffe_layers", {"m.prototxt": (head + 'layer{type:"A"}' * 400000).encode()}, ["convert", "m.prototxt", "-o", "out"]
    yield "kaldi_sum", {"m.mdl": b"\0B<Nnet3> \ninput-node name=x dim=2\n" + b"".join(b"output-node name=o%d input=Sum(%s)\n" % (i, b",".join([b"x"] * 60000)) for i in range(40)) +
                        b"\n<NumComponents> \4\0\0\0\0</Nnet3> "}, ["convert", "m.mdl", "-o", "out"]
    yield "xml_results", {"m.xml": net([layer(0, "x", "Parameter", "opset1", [], [0], PARAMETER).replace('<port id="0"', '<port id="0" names="%s"' % ",".join("n%d" % i for i in range(30000)))] +
                                       [layer(i, "r%d" % i, "Result", "opset1", [0], []) for i in range(1, 3000)], [(0, 0, i, 0) for i in range(1, 3000)]).encode()}, \
        ["convert", "m.xml", "-o", "out"], 2


def conditions():
    """Loops of MXNet in the conditions and steps of others: a condition is read twice, so they would multiply."""
    def symbol(depth):
        inner = {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]} if depth == 0 else loop(depth - 1)
        return {"nodes": [{"op": "null", "name": "a", "inputs": []}, inner], "arg_nodes": [0], "heads": [[1, 0, 0]]}

    def loop(depth):
        return {"op": "_while_loop", "name": "w", "inputs": [[0, 0, 0]], "subgraphs": [symbol(depth), symbol(depth)],
                "attrs": {"num_args": "3", "num_out_data": "0", "num_outputs": "1", "max_iterations": "2", "cond_input_locs": "(0,)", "func_input_locs": "(0,)",
                          "func_var_locs": "(0,)"}}
    for depth in (2, 9, 11):
        top = {"nodes": [{"op": "null", "name": "x", "attrs": {"__shape__": "(1,)"}, "inputs": []}, loop(depth)], "heads": [[1, 0, 0]],
               "attrs": {"mxnet_version": ["int", 10901]}}
        yield "conditions_%d" % depth, {"m-symbol.json": json.dumps(top).encode()}, ["convert", "m-symbol.json", "-o", "out"]


def running():
    """Text that a run would make without end, and what explaining a model takes."""
    text = onnx.data(8, "s") + onnx.number(1, 1) + onnx.number(2, 8) + onnx.data(6, b"a" * 1000)
    body = lambda nodes, tensors: onnx.number(1, 8) + onnx.data(7, b"".join(onnx.data(1, n) for n in nodes) + b"".join(onnx.data(5, t) for t in tensors) +
                                                                onnx.data(12, onnx.data(1, "y"))) + onnx.data(8, onnx.data(1, "") + onnx.number(2, 20))
    chain = [onnx.node("StringConcat", ["s" if i == 0 else "t%d" % (i - 1)] * 2, ["t%d" % i if i < 39 else "y"]) for i in range(40)]
    yield "concat_text", {"m.onnx": body(chain, [text])}, ["run", "m.onnx", "--quiet", "--limit", "value-bytes=16M", "--limit", "fold-value=1M"], 2
    yield "tile_text", {"m.onnx": body([onnx.node("Tile", ["s", "r"], ["y"])], [text, ints("r", [6000000])])}, ["run", "m.onnx", "--quiet"], 2
    one = onnx.tensor("a", [1, 1, 1, 1], [1.0])
    yield "explain_conv", {"m.onnx": body([onnx.node("Expand", ["a", "s"], ["X"]), onnx.node("Expand", ["a", "k"], ["K"]), onnx.node("Conv", ["X", "K"], ["y"])],
                                          [one, ints("s", [1, 1, 4096, 4096]), ints("k", [1, 1, 2048, 2048])])}, ["explain", "m.onnx"], 0


# ---- what is written ----

def names():
    """Names that try to leave their place in a terminal, a shell, a C++ source or an XML file."""
    for name, s in (("newline", "a\nb"), ("escape", "\x1b[31mred"), ("quote", 'a"b\'c`$(touch pwned)'), ("xml", 'a"/><layer id="9'), ("bytes", b"\xff\xfe\x80"),
                    ("comment", "a*/ int evil; //\\\nb")):
        s = s if isinstance(s, bytes) else s.encode()
        unknown = onnx.data(1, "x") + onnx.data(2, "y") + onnx.data(3, s) + onnx.data(4, b"T" + s) + onnx.data(7, b"d" + s) + \
            onnx.data(5, onnx.data(1, b"at" + s) + onnx.number(3, 1) + onnx.number(20, 2))
        content = onnx.number(1, 8) + onnx.data(7, onnx.data(1, unknown) + onnx.data(2, "g") + onnx.data(11, onnx.value("x", [4])) + onnx.data(12, onnx.data(1, "y"))) + \
            onnx.data(8, onnx.data(1, "") + onnx.number(2, 17))
        for command in (["convert", "n.onnx", "-o", "out"], ["convert", "n.onnx", "-o", "out", "--stub-unknown"], ["explain", "n.onnx"],
                        ["new", "--from-model", "n.onnx", "-o", "ext"]):
            yield "names_%s_%s" % (name, command[0] + ("_stub" if "--stub-unknown" in command else "")), {"n.onnx": content}, command


CLASSES = [ranks, extremes, sizes, ports, folding, nesting, expansion, tiny, conditions, running, names]
