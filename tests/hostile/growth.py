"""Files whose size is a number n: ten times as many of whatever they have much of take about ten times as long.

Each entry of GROWTH is (name, make, n, command...): make(n) gives the files of a model, the first one is passed to the command.
"""
import json
import struct

import onnx_writer as onnx
from classes import I64, PARAMETER, graph_attribute, ints, layer, model, net

GROWTH = []


def grows(n, *commands):
    def add(make):
        for command in commands or ("convert",):
            GROWTH.append((make.__name__ + ("" if command == "convert" else "_" + command), make, n, command))
        return make
    return add


def m_onnx(*args, **kwargs):
    return {"m.onnx": model(*args, **kwargs)}


def chain(n, kind, domain="", **attributes):
    return [onnx.node(kind % i if "%" in kind else kind, ["x" if i == 0 else "v%d" % (i - 1)], ["v%d" % i if i + 1 < n else "y"], domain=domain, **attributes)
            for i in range(n)]


# ---- ONNX: the reader, names, the report ----

@grows(3000)
def nodes(n):
    return m_onnx(chain(n, "Relu"))


@grows(3000, "explain")
def identities(n):
    """Removed by a pass, which hands all their names to one value; from the last to the first, they sort before each other."""
    return m_onnx([onnx.node("Identity", ["x"], ["v%09d" % (n - i)]) for i in range(n)] + [onnx.node("Sum", ["v%09d" % (n - i) for i in range(n)], ["y"])])


@grows(20000)
def wide_node(n):
    return m_onnx([onnx.node("Frob", ["x"], ["y"], domain="d", **{"a%d" % i: 1 for i in range(n)})])


@grows(100)
def wide_nodes(n):
    return m_onnx(chain(n, "Frob", domain="d", **{"a%d" % i: 1 for i in range(1000)}))


@grows(3000, "convert", "explain", "new")
def unknown_types(n):
    return m_onnx(chain(n, "T%d", domain="d"))


@grows(5000)
def unknown_fields(n):
    return m_onnx([onnx.node("Frob", ["x"], ["v%d" % i], domain="d", **{"a%d" % i: 1}) for i in range(n)] + [onnx.node("Frob", ["v0"], ["y"], domain="d")])


@grows(5000, "convert", "explain")
def unknown_values(n):
    return m_onnx([onnx.node("Frob", ["x"], ["v%d" % i], domain="d", a=i) for i in range(n)] + [onnx.node("Frob", ["v0"], ["y"], domain="d")])


@grows(3000)
def failing_layers(n):
    return m_onnx([onnx.node("Concat", ["x", "x"], ["v%d" % i], axis=7) for i in range(n)] + [onnx.node("Relu", ["v0"], ["y"])])


@grows(3000)
def fan_out(n):
    return m_onnx([onnx.node("Relu", ["x"], ["v%d" % i]) for i in range(n)] + [onnx.node("Sum", ["v%d" % i for i in range(n)], ["y"])])


@grows(20000)
def constants(n):
    return m_onnx([onnx.node("Relu", ["x"], ["y"])], [onnx.tensor("c%d" % i, [1], [1.0]) for i in range(n)])


@grows(3000)
def used_constants(n):
    return m_onnx([onnx.node("Sum", ["x"] + ["c%d" % i for i in range(n)], ["y"])], [onnx.tensor("c%d" % i, [1], [1.0]) for i in range(n)])


@grows(2000)
def inputs_and_outputs(n):
    return m_onnx([onnx.node("Relu", ["x%d" % i], ["y%d" % i]) for i in range(n)], inputs=[("x%d" % i, [2]) for i in range(n)],
                  outputs=[("y%d" % i, None) for i in range(n)])


@grows(20000)
def declared_values(n):
    graph = onnx.data(1, onnx.node("Relu", ["x"], ["y"])) + onnx.data(2, "g") + onnx.data(11, onnx.value("x", [2])) + onnx.data(12, onnx.data(1, "y")) + \
        b"".join(onnx.data(13, onnx.value("v%d" % i, [2])) for i in range(n))
    return {"m.onnx": onnx.number(1, 8) + onnx.data(7, graph) + onnx.data(8, onnx.data(1, "") + onnx.number(2, 17))}


@grows(2000)
def calls(n):
    body = (onnx.data(1, "F") + onnx.data(4, "a") + onnx.data(5, "b") + onnx.data(7, onnx.node("Relu", ["a"], ["b"])) +
            onnx.data(9, onnx.data(1, "") + onnx.number(2, 17)) + onnx.data(10, "f"))
    return m_onnx(chain(n, "F", domain="f"), functions=[body], opsets={"": 17, "f": 1})


@grows(500)
def branches(n):
    def one(i):
        body = graph_attribute("then_branch", [onnx.node("Relu", ["x"], ["t%d" % i])], [], [onnx.value("t%d" % i, [4])])
        return onnx.node("If", ["c"], ["v%d" % i]) + body + body.replace(b"then_branch", b"else_branch")
    return m_onnx([one(i) for i in range(n)] + [onnx.node("Sum", ["v%d" % i for i in range(n)], ["y"])], inputs=[("x", [4]), ("c", [])])


@grows(2000)
def transposes(n):
    return m_onnx(chain(n, "Transpose", perm=[1, 0]), inputs=[("x", [3, 4])])


@grows(2000)
def folded(n):
    nodes = [onnx.node("Add", ["c" if i == 0 else "k%d" % (i - 1), "c"], ["k%d" % i]) for i in range(n)]
    return m_onnx(nodes + [onnx.node("Add", ["x", "k%d" % (n - 1)], ["y"])], [onnx.tensor("c", [1], [1.0])])


@grows(2000)
def shape_arithmetic(n):
    nodes = [onnx.node("Shape", ["x"], ["s"])] + [onnx.node("Add", ["s" if i == 0 else "k%d" % (i - 1), "c"], ["k%d" % i]) for i in range(n)]
    return m_onnx(nodes + [onnx.node("Cast", ["k%d" % (n - 1)], ["y"], to=1)], [ints("c", [1])], inputs=[("x", ["a", 3])])


# ---- ONNX: the longest list of each rule ----

def listed(name, n, nodes, *tensors, inputs=(("x", [4]),), opset=17, **opsets):
    def make(n):
        return m_onnx(nodes(n), [t(n) for t in tensors], inputs=inputs, opsets=dict({"": opset}, **{k.replace("_", "."): v for k, v in opsets.items()}))
    GROWTH.append((name, make, n, "convert"))


def constant(name, values):
    return lambda n: ints(name, values(n))


for kind in ("Concat", "Sum", "Mean", "Max", "Min"):
    attributes = {"axis": 0} if kind == "Concat" else {}
    listed(kind, 3000, lambda n, kind=kind, attributes=attributes: [onnx.node(kind, ["x"] * n, ["y"], **attributes)])
listed("Einsum", 1000, lambda n: [onnx.node("Einsum", ["x"] * n, ["y"], equation=",".join("a" * n) + "->a")])
listed("Split", 5000, lambda n: [onnx.node("Split", ["x"], ["v%d" % i for i in range(n)], axis=0), onnx.node("Relu", ["v0"], ["y"])],
       inputs=[("x", ["n"])], opset=18)
listed("Split_sizes", 5000, lambda n: [onnx.node("Split", ["x", "l"], ["v%d" % i for i in range(n)], axis=0), onnx.node("Relu", ["v0"], ["y"])],
       constant("l", lambda n: [1] * n), inputs=[("x", ["n"])])
for kind, more in (("Reshape", []), ("Expand", []), ("Tile", []), ("Unsqueeze", []), ("Squeeze", []), ("ReduceSum", []), ("Pad", [])):
    listed(kind, 30000, lambda n, kind=kind: [onnx.node(kind, ["x", "l"], ["y"])], constant("l", lambda n: [1] * n))
listed("Slice", 30000, lambda n: [onnx.node("Slice", ["x", "l", "l", "l"], ["y"])], constant("l", lambda n: [0] * n))
for kind, attribute in (("Transpose", "perm"), ("ReduceMax", "axes"), ("ReduceL2", "axes"), ("LpPool", "kernel_shape"), ("MaxPool", "kernel_shape"),
                        ("AveragePool", "pads")):
    listed(kind, 30000, lambda n, kind=kind, attribute=attribute: [onnx.node(kind, ["x"], ["y"], **{attribute: [1] * n})])
listed("Conv", 30000, lambda n: [onnx.node("Conv", ["x", "x"], ["y"], strides=[1] * n, dilations=[1] * n)])
listed("Resize", 30000, lambda n: [onnx.node("Resize", ["x", "", "l"], ["y"], axes=[0] * n)], lambda n: onnx.tensor("l", [n], [1.0] * n), opset=18)
listed("Constant", 100000, lambda n: [onnx.node("Constant", [], ["c"], value_ints=[1] * n), onnx.node("Cast", ["c"], ["y"], to=1)])
listed("Gather", 100000, lambda n: [onnx.node("Gather", ["x", "l"], ["y"])], constant("l", lambda n: [0] * n))
listed("SequenceConstruct", 3000, lambda n: [onnx.node("SequenceConstruct", ["x"] * n, ["s"]), onnx.node("ConcatFromSequence", ["s"], ["y"], axis=0)])
listed("SequenceInsert", 50, lambda n: [onnx.node("SequenceConstruct", ["x"], ["s0"])] +
       [onnx.node("SequenceInsert", ["s%d" % i, "x"], ["s%d" % (i + 1)]) for i in range(n)] + [onnx.node("ConcatFromSequence", ["s%d" % n], ["y"], axis=0)])
listed("Loop", 100, lambda n: [onnx.node("Loop", ["", "go"] + ["x"] * n, ["v%d" % i for i in range(n)]) +
                               graph_attribute("body", [onnx.node("Identity", ["c"], ["d"])], [onnx.value("i", [], I64), onnx.value("c", [], 9)] +
                                               [onnx.value("a%d" % i, [4]) for i in range(n)], [onnx.value("d", [], 9)] + [onnx.value("a%d" % i, [4]) for i in range(n)]),
                               onnx.node("Relu", ["v0"], ["y"])], inputs=[("x", [4]), ("go", [])])
ml = lambda kind, **attributes: [onnx.node(kind, ["x"], ["y"], domain="ai.onnx.ml", **attributes)]
listed("LabelEncoder", 20000, lambda n: ml("LabelEncoder", keys_floats=[float(i) for i in range(n)], values_floats=[1.0] * n), ai_onnx_ml=3)
listed("TreeEnsemble", 3000, lambda n: ml("TreeEnsembleRegressor", nodes_treeids=list(range(n)), nodes_nodeids=[0] * n, nodes_featureids=[0] * n,
                                          nodes_modes=["LEAF"] * n, nodes_values=[0.0] * n, nodes_truenodeids=[0] * n, nodes_falsenodeids=[0] * n,
                                          target_treeids=list(range(n)), target_nodeids=[0] * n, target_ids=[0] * n, target_weights=[1.0] * n, n_targets=1),
       inputs=[("x", [2, 4])], ai_onnx_ml=3)
listed("TfIdf", 20000, lambda n: [onnx.node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0,
                                            ngram_counts=[0], ngram_indexes=list(range(n)), pool_int64s=list(range(n)))])


# ---- IR and the textual form ----

def ir(layers, edges):
    return {"m.xml": net(layers, edges).encode()}


PIECE = layer(0, "x", "Parameter", "opset1", [], [0], PARAMETER)


@grows(2000)
def ir_layers(n):
    return ir([PIECE] + [layer(i, "l%d" % i, "ReLU", "opset1", [0], [1]) for i in range(1, n)] + [layer(n, "r", "Result", "opset1", [0], [])],
              [(i, int(i > 0), i + 1, 0) for i in range(n)])


@grows(3000)
def ir_unknown_types(n):
    return ir([PIECE] + [layer(i, "l%d" % i, "T%d" % i, "extension", [0], [1]) for i in range(1, n)] + [layer(n, "r", "Result", "opset1", [0], [])],
              [(i, int(i > 0), i + 1, 0) for i in range(n)])


@grows(20000)
def ir_attributes(n):
    return ir([PIECE, layer(1, "a", "Frob", "acme", [0], [1], "<data %s/>" % " ".join('a%d="1"' % i for i in range(n))), layer(3, "r", "Result", "opset1", [0], [])],
              [(0, 0, 1, 0), (1, 1, 3, 0)])


@grows(3000)
def ir_names_and_results(n):
    many = layer(1, "a", "ReLU", "opset1", [0], [1]).replace("<port id=\"1\" ", '<port id="1" names="%s" ' % ",".join("n%d" % (n - i) for i in range(n)))
    return ir([PIECE, many] + [layer(i + 2, "r%d" % i, "Result", "opset1", [0], []) for i in range(n)], [(0, 0, 1, 0)] + [(1, 1, i + 2, 0) for i in range(n)])


@grows(2000)
def text_nodes(n):
    lines = ["v%d = Relu(%s)" % (i, "x" if i == 0 else "v%d" % (i - 1)) for i in range(n)]
    return {"m.graph": ("graph (x: f32[4]) {\n%s\nreturn v%d }" % ("\n".join(lines), n - 1)).encode()}


# ---- Caffe ----

HEAD = 'input: "d" input_dim: 1 input_dim: 1 input_dim: 2 input_dim: 2\n'


def prototxt(text):
    return {"m.prototxt": (HEAD + text).encode()}


@grows(3000)
def caffe_in_place(n):
    return prototxt("".join('layer { name: "l" type: "ReLU" bottom: "d" top: "d" }\n' for _ in range(n)))


@grows(2000)
def caffe_fan_out(n):
    return prototxt("".join('layer { name: "l%d" type: "Split" bottom: "d" top: "t%09d" }\n' % (i, n - i) for i in range(n)))


@grows(10000)
def caffe_fields(n):
    return prototxt('layer { name: "l" type: "Frob" bottom: "d" top: "t" frob_param { %s } }' % " ".join("f%d: 1" % i for i in range(n)))


@grows(10000)
def caffe_messages(n):
    return prototxt('layer { name: "l" type: "Frob" bottom: "d" top: "t" %s }' % " ".join("m%d { }" % i for i in range(n)))


@grows(3000)
def caffe_paths(n):
    return prototxt('layer { name: "l" type: "Frob" bottom: "d" top: "t" %s { %s } }' % ("m" * 10 * n, " ".join("f%d: 1" % i for i in range(n))))


@grows(20000)
def caffe_list(n):
    return prototxt('layer { name: "l" type: "Frob" bottom: "d" top: "t" frob_param { %s } }' % " ".join("f: 1" for _ in range(n)))


@grows(3000)
def caffe_concat(n):
    return prototxt('layer { name: "l" type: "Concat" %s top: "t" }' % " ".join('bottom: "d"' for _ in range(n)))


@grows(3000)
def caffe_unknown_types(n):
    return prototxt("".join('layer { name: "l%d" type: "T%d" bottom: "d" top: "t%d" }\n' % (i, i, i) for i in range(n)))


# ---- TensorFlow ----

def tf_node(name, kind, inputs, **attributes):
    return onnx.data(1, onnx.data(1, name) + onnx.data(2, kind) + b"".join(onnx.data(3, i) for i in inputs) +
                     b"".join(onnx.data(5, onnx.data(1, k) + onnx.data(2, v)) for k, v in attributes.items()))


TF_FLOAT = onnx.number(6, 1)
TF_INPUT = tf_node("x", "Placeholder", [], dtype=TF_FLOAT, shape=onnx.data(7, onnx.data(2, onnx.number(1, 4))))


def pb(*nodes):
    return {"m.pb": TF_INPUT + b"".join(nodes)}


@grows(3000)
def tf_nodes(n):
    return pb(*[tf_node("n%d" % i, "Relu", ["x" if i == 0 else "n%d" % (i - 1)], T=TF_FLOAT) for i in range(n)])


@grows(3000)
def tf_unknown_types(n):
    return pb(*[tf_node("n%d" % i, "T%d" % i, ["x" if i == 0 else "n%d" % (i - 1)], T=TF_FLOAT) for i in range(n)])


@grows(20000)
def tf_attributes(n):
    return pb(tf_node("n", "Frob", ["x"], **{"a%d" % i: onnx.number(3, 1) for i in range(n)}))


@grows(3000)
def tf_outputs(n):
    return pb(*[tf_node("n%d" % i, "Frob", ["x" if i == 0 else "n%d:60000" % (i - 1)], T=TF_FLOAT) for i in range(n)])


@grows(3000)
def tf_pack(n):
    return pb(tf_node("n", "Pack", ["x"] * n, T=TF_FLOAT, N=onnx.number(3, n)))


@grows(300)
def tf_switches(n):
    both = lambda i: (tf_node("s%d" % i, "Switch", ["x", "c"], T=TF_FLOAT), tf_node("a%d" % i, "Relu", ["s%d" % i], T=TF_FLOAT),
                      tf_node("b%d" % i, "Neg", ["s%d:1" % i], T=TF_FLOAT), tf_node("m%d" % i, "Merge", ["a%d" % i, "b%d" % i], T=TF_FLOAT))
    return pb(tf_node("c", "Placeholder", [], dtype=onnx.number(6, 10), shape=onnx.data(7, b"")), *[p for i in range(n) for p in both(i)])


# ---- MXNet ----

def symbol(nodes, heads):
    return {"m-symbol.json": json.dumps({"nodes": nodes, "heads": heads, "attrs": {"mxnet_version": ["int", 10901]}}).encode()}


DATA = {"op": "null", "name": "x", "attrs": {"__shape__": "(1, 8)"}, "inputs": []}


@grows(2000)
def mxnet_nodes(n):
    return symbol([DATA] + [{"op": ("relu", "abs", "sigmoid")[i % 3], "name": "l%d" % i, "inputs": [[i, 0, 0]]} for i in range(n)], [[n, 0, 0]])


@grows(20000)
def mxnet_attributes(n):
    return symbol([DATA, {"op": "frob", "name": "l", "attrs": {"a%d" % i: "1" for i in range(n)}, "inputs": [[0, 0, 0]]}], [[1, 0, 0]])


@grows(3000)
def mxnet_unknown_types(n):
    return symbol([DATA] + [{"op": "t%d" % i, "name": "l%d" % i, "inputs": [[i, 0, 0]]} for i in range(n)], [[n, 0, 0]])


@grows(3000)
def mxnet_sum(n):
    return symbol([DATA, {"op": "add_n", "name": "l", "attrs": {"num_args": str(n)}, "inputs": [[0, 0, 0]] * n}], [[1, 0, 0]])


@grows(3000)
def mxnet_states(n):
    variables = [DATA] + [{"op": "null", "name": "l" * 10 * n + "_%d" % i, "inputs": []} for i in range(20)]
    return symbol(variables + [{"op": "RNN", "name": "l" * 10 * n, "attrs": {"mode": "lstm", "state_size": "2", "num_layers": "1"},
                                "inputs": [[i % 21, 0, 0] for i in range(n)]}], [[21, 0, 0]])


@grows(50000)
def json_objects(n):
    return {"m-symbol.json": b'{"nodes": [%s], "heads": []}' % b", ".join([b"{}"] * n)}


# ---- Kaldi ----

@grows(2000)
def kaldi_components(n):
    return {"m.nnet": b"\0B<Nnet> " + b"".join(b"<%s> " % (b"Sigmoid", b"Tanh")[i % 2] + struct.pack("<bibi", 4, 8, 4, 8) + b"<!EndOfComponent> " for i in range(n)) + b"</Nnet> "}


def nnet3(lines, component):
    return {"m.mdl": b"\0B<Nnet3> \ninput-node name=x dim=2\n" + "\n".join(lines).encode() + b"\n\n<NumComponents> \4\1\0\0\0<ComponentName> c " + component + b"</Nnet3> "}


SCALE = b"<FixedScaleComponent> <Scales> FV \4\2\0\0\0" + struct.pack("<2f", 0.5, 0.25) + b"</FixedScaleComponent> "


@grows(500)  # 2.2 times as long for twice as many, from 5,000 on
def kaldi_nodes(n):
    lines = ["component-node name=n%d component=c input=Sum(%s, %s)" % (i, *2 * ("n%d" % (i - 1) if i else "x",)) for i in range(n)]
    return nnet3(lines + ["output-node name=output input=n%d" % (n - 1)], SCALE)


@grows(1000)
def kaldi_outputs(n):
    return nnet3(["output-node name=o%d input=x" % i for i in range(n)], SCALE)


@grows(3000)
def kaldi_sum(n):
    return nnet3(["output-node name=output input=Sum(%s)" % ", ".join(["x"] * n)], SCALE)


@grows(10000)
def kaldi_tokens(n):
    """Tokens in lines; none of them begins a component."""
    return {"m.nnet": b"<Nnet>\n<Sigmoid> 8 8\n" + b"</Foo>\n" * n + b"<!EndOfComponent>\n</Nnet>\n"}


@grows(1000)
def kaldi_lists(n):
    """Lists in one line."""
    return {"m.nnet": b"<Nnet> " + b"<Sigmoid> 8 8 <Foo> [ 1 2 ] <!EndOfComponent> " * n + b"</Nnet> "}


@grows(10000)
def kaldi_offsets(n):
    pairs = struct.pack("<bi", 4, n) + b"".join(struct.pack("<ii", i, 0) for i in range(n))
    times = struct.pack("<bi", 4, n) + b"".join(struct.pack("<i", i) for i in range(n))
    return nnet3(["component-node name=n component=c input=x", "output-node name=output input=n"],
                 b"<TimeHeightConvolutionComponent> <Offsets> " + pairs + b"<RequiredTimeOffsets> " + times + b"</TimeHeightConvolutionComponent> ")
