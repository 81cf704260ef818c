"""Networks with random weights, as ONNX models with inputs."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper, shape_inference


class Builder:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], [], 0

    def name(self, kind):
        self.count += 1
        return "%s_%d" % (kind, self.count)

    def weight(self, *shape, scale=None):
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1
        value = self.rng.standard_normal(shape) * (scale if scale is not None else (2.0 / max(fan, 1)) ** 0.5)
        return self.constant(value.astype(np.float32))

    def constant(self, value):
        n = self.name("w")
        self.weights.append(numpy_helper.from_array(np.asarray(value), n))
        return n

    def op(self, kind, *inputs, outputs=1, **attributes):
        out = [self.name(kind.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), out, name=self.name("node"), **attributes))
        return out[0] if outputs == 1 else out

    def conv(self, x, cin, cout, k=3, stride=1, groups=1, relu=True):
        y = self.op("Conv", x, self.weight(cout, cin // groups, k, k), self.weight(cout, scale=0.1), strides=[stride] * 2, pads=[k // 2] * 4, group=groups, kernel_shape=[k, k])
        c = lambda low, high: self.constant(self.rng.uniform(low, high, cout).astype(np.float32))
        y = self.op("BatchNormalization", y, c(0.8, 1.2), c(-0.1, 0.1), c(-0.1, 0.1), c(0.8, 1.2))
        return self.op("Relu", y) if relu else y

    def model(self, name, inputs, outputs, opset=17):
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                                  [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs], self.weights)
        m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        return shape_inference.infer_shapes(m, check_type=True, strict_mode=True)


def residual():
    b = Builder(1)
    y = b.conv("x", 3, 16, 3, 2)
    for cin, cout, stride in ((16, 16, 1), (16, 32, 2), (32, 32, 1)):
        left = b.conv(b.conv(y, cin, cout, 3, stride), cout, cout, relu=False)
        right = y if cin == cout and stride == 1 else b.conv(y, cin, cout, 1, stride, relu=False)
        y = b.op("Relu", b.op("Add", left, right))
    y = b.op("Flatten", b.op("GlobalAveragePool", y))
    y = b.op("Softmax", b.op("Gemm", y, b.weight(10, 32), b.weight(10, scale=0.1), transB=1))
    return b.model("residual", [("x", TensorProto.FLOAT, ["batch", 3, 32, 32])], [y]), [b.rng.standard_normal((2, 3, 32, 32)).astype(np.float32)]


def mobile():
    b = Builder(2)
    y = b.conv("x", 3, 8, 3, 2)
    for cin, mid, cout, stride in ((8, 16, 8, 1), (8, 24, 12, 2), (12, 36, 12, 1)):
        z = b.op("Clip", b.conv(y, cin, mid, 1, relu=False), b.constant(np.float32(0)), b.constant(np.float32(6)))
        z = b.op("Clip", b.conv(z, mid, mid, 3, stride, groups=mid, relu=False), b.constant(np.float32(0)), b.constant(np.float32(6)))
        z = b.conv(z, mid, cout, 1, relu=False)
        y = b.op("Add", y, z) if cin == cout and stride == 1 else z
    y = b.op("HardSwish", y)
    y = b.op("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
    y = b.op("Resize", y, "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="linear", coordinate_transformation_mode="half_pixel")
    return b.model("mobile", [("x", TensorProto.FLOAT, [1, 3, 33, 31])], [y]), [b.rng.standard_normal((1, 3, 33, 31)).astype(np.float32)]


def encoder():
    """A transformer encoder layer over token ids, with shapes computed at run time."""
    b = Builder(3)
    width, heads, ids = 32, 4, "ids"
    x = b.op("Gather", b.weight(50, width, scale=0.5), ids)
    shape = b.op("Shape", x)
    batch, length = (b.op("Gather", shape, b.constant(np.array([i], np.int64))) for i in (0, 1))

    def split(v):
        target = b.op("Concat", batch, length, b.constant(np.array([heads, width // heads], np.int64)), axis=0)
        return b.op("Transpose", b.op("Reshape", v, target), perm=[0, 2, 1, 3])

    q, k, v = (split(b.op("Add", b.op("MatMul", x, b.weight(width, width)), b.weight(width, scale=0.1))) for _ in range(3))
    scores = b.op("Div", b.op("MatMul", q, b.op("Transpose", k, perm=[0, 1, 3, 2])), b.constant(np.float32((width / heads) ** 0.5)))
    y = b.op("Transpose", b.op("MatMul", b.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    y = b.op("Reshape", y, b.op("Concat", batch, length, b.constant(np.array([width], np.int64)), axis=0))
    y = b.op("LayerNormalization", b.op("Add", x, b.op("MatMul", y, b.weight(width, width))), b.weight(width, scale=1), b.weight(width, scale=0.1), axis=-1)
    h = b.op("MatMul", y, b.weight(width, 64))
    h = b.op("Mul", b.op("Mul", h, b.constant(np.float32(0.5))), b.op("Add", b.op("Erf", b.op("Div", h, b.constant(np.float32(2 ** 0.5)))), b.constant(np.float32(1))))
    y = b.op("LayerNormalization", b.op("Add", y, b.op("MatMul", h, b.weight(64, width))), b.weight(width, scale=1), b.weight(width, scale=0.1), axis=-1)
    return b.model("encoder", [("ids", TensorProto.INT64, ["batch", "length"])], [y]), [b.rng.integers(0, 50, (2, 7))]


def recurrent():
    b = Builder(4)
    size, hidden = 6, 5
    weights = lambda gates, d: (b.weight(d, gates * hidden, size), b.weight(d, gates * hidden, hidden), b.weight(d, 2 * gates * hidden, scale=0.1))
    y, _, _ = b.op("LSTM", "x", *weights(4, 2), outputs=3, hidden_size=hidden, direction="bidirectional")
    z, h = b.op("GRU", "x", *weights(3, 1), outputs=2, hidden_size=hidden, linear_before_reset=1)
    r, _ = b.op("RNN", "x", *weights(1, 1), outputs=2, hidden_size=hidden, direction="reverse")
    return b.model("recurrent", [("x", TensorProto.FLOAT, [4, 3, size])], [y, z, h, r]), [b.rng.standard_normal((4, 3, size)).astype(np.float32)]


def quantised():
    b = Builder(5)
    q = lambda x, s, zero: b.op("DequantizeLinear", b.op("QuantizeLinear", x, s, zero), s, zero)
    s, zero = b.constant(np.float32(0.05)), b.constant(np.uint8(128))
    y = q("x", s, zero)
    w = b.constant(b.rng.integers(-127, 127, (8, 3, 3, 3)).astype(np.int8))
    w = b.op("DequantizeLinear", w, b.constant(b.rng.uniform(0.01, 0.02, 8).astype(np.float32)), b.constant(np.zeros(8, np.int8)), axis=0)
    y = q(b.op("Relu", b.op("Conv", y, w, pads=[1, 1, 1, 1])), b.constant(np.float32(0.1)), b.constant(np.uint8(0)))
    return b.model("quantised", [("x", TensorProto.FLOAT, [1, 3, 9, 9])], [b.op("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2])]), [b.rng.standard_normal((1, 3, 9, 9)).astype(np.float32)]


def looping():
    """A Loop with a scan output and a value from outside, and an If."""
    b = Builder(6)
    body = helper.make_graph(
        [helper.make_node("Mul", ["state", "factor"], ["scaled"]), helper.make_node("Add", ["scaled", "x"], ["next"]), helper.make_node("Identity", ["next"], ["kept"]),
         helper.make_node("Identity", ["go"], ["still"])],
        "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("state", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("still", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, [3]), helper.make_tensor_value_info("kept", TensorProto.FLOAT, [3])])
    b.weights.append(numpy_helper.from_array(np.float32(0.5), "factor"))
    last, every = b.op("Loop", b.constant(np.int64(4)), b.constant(np.bool_(True)), "x", outputs=2, body=body)
    branch = lambda kind: helper.make_graph([helper.make_node(kind, [last], ["y"])], kind, [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
    chosen = b.op("If", b.op("Less", b.op("ReduceSum", last, keepdims=0), b.constant(np.float32(0))), then_branch=branch("Neg"), else_branch=branch("Exp"))
    return b.model("looping", [("x", TensorProto.FLOAT, [3])], [last, every, chosen]), [np.array([-1, 2, -3], np.float32)]


def detector():
    b = Builder(7)
    boxes, scores = b.op("Sigmoid", "b"), b.op("Sigmoid", "s")
    low, size = b.op("Split", boxes, outputs=2, axis=2)
    corners = b.op("Concat", low, b.op("Add", low, size), axis=2)
    picked = b.op("NonMaxSuppression", corners, scores, b.constant(np.array([5], np.int64)), b.constant(np.array([0.5], np.float32)), b.constant(np.array([0.55], np.float32)))
    return b.model("detector", [("b", TensorProto.FLOAT, [1, 12, 4]), ("s", TensorProto.FLOAT, [1, 2, 12])], [b.op("Cast", picked, to=TensorProto.FLOAT)]), [b.rng.standard_normal(s).astype(np.float32) for s in ((1, 12, 4), (1, 2, 12))]


def all_networks():
    for make in (residual, mobile, encoder, recurrent, quantised, looping, detector):
        model, inputs = make()
        yield make.__name__, model, inputs
