"""Networks over sequences, and the two of single operations; random weights, seeded."""
import numpy as np
from onnx import TensorProto

from models import Builder


def bert(layers=12, length=128, width=768, heads=12, words=30522):
    """BERT-base with its embeddings; the mask is an input, as exporters write it."""
    b = Builder(7)
    scalar = lambda v: b.constant(np.float32(v))
    matrix = lambda cin, cout: b.constant((b.rng.standard_normal((cin, cout), np.float32) * np.float32(cin ** -0.5)))
    rows = lambda y, cin, cout: b.op("Add", b.op("MatMul", y, matrix(cin, cout)), b.weight(cout, scale=0.1))
    norm = lambda y: b.op("LayerNormalization", y, b.constant(np.ones(width, np.float32)), b.weight(width, scale=0.1), axis=-1, epsilon=1e-12)
    table = lambda count: b.constant(b.rng.standard_normal((count, width), np.float32) * np.float32(0.5))
    split = b.constant(np.array([0, 0, heads, width // heads], np.int64))
    join = b.constant(np.array([0, 0, width], np.int64))
    hidden = b.op("Unsqueeze", "mask", b.constant(np.array([1, 2], np.int64)))
    hidden = b.op("Mul", b.op("Sub", scalar(1), b.op("Cast", hidden, to=TensorProto.FLOAT)), scalar(-10000))
    y = b.op("Add", b.op("Gather", table(words), "ids"), b.op("Gather", table(2), "types"))
    y = norm(b.op("Add", y, table(length)))
    for _ in range(layers):
        part = lambda order: b.op("Transpose", b.op("Reshape", rows(y, width, width), split), perm=order)
        q, k, v = part([0, 2, 1, 3]), part([0, 2, 3, 1]), part([0, 2, 1, 3])
        a = b.op("Add", b.op("Div", b.op("MatMul", q, k), scalar((width // heads) ** 0.5)), hidden)
        a = b.op("Reshape", b.op("Transpose", b.op("MatMul", b.op("Softmax", a, axis=-1), v), perm=[0, 2, 1, 3]), join)
        y = norm(b.op("Add", y, rows(a, width, width)))
        h = rows(y, width, 4 * width)
        h = b.op("Mul", b.op("Mul", h, b.op("Add", b.op("Erf", b.op("Div", h, scalar(2 ** 0.5))), scalar(1))), scalar(0.5))
        y = norm(b.op("Add", y, rows(h, 4 * width, width)))
    return b.model("bert", [(n, TensorProto.INT64, [1, length]) for n in ("ids", "types", "mask")], [y])


def tdnn(frames=300, features=80, width=512):
    """A time-delay network for speakers: dilated convolutions over frames, then mean and deviation over time."""
    b = Builder(8)

    def layer(y, cin, cout, k, dilation):
        y = b.op("Conv", y, b.weight(cout, cin, k), b.weight(cout, scale=0.1), kernel_shape=[k], dilations=[dilation])
        c = lambda low, high: b.constant(b.rng.uniform(low, high, cout).astype(np.float32))
        return b.op("BatchNormalization", b.op("Relu", y), c(0.8, 1.2), c(-0.1, 0.1), c(-0.1, 0.1), c(0.8, 1.2))

    y, channels = "x", features
    for cout, k, dilation in ((width, 5, 1), (width, 1, 1), (width, 3, 2), (width, 1, 1), (width, 3, 3), (width, 1, 1), (width, 3, 4), (width, 1, 1), (width, 1, 1), (1500, 1, 1)):
        y, channels = layer(y, channels, cout, k, dilation), cout
    mean = b.op("ReduceMean", y, axes=[2], keepdims=1)
    off = b.op("Sub", y, mean)
    deviation = b.op("Sqrt", b.op("Add", b.op("ReduceMean", b.op("Mul", off, off), axes=[2], keepdims=1), b.constant(np.float32(1e-5))))
    y = b.op("Flatten", b.op("Concat", mean, deviation, axis=1))
    y = b.op("Gemm", y, b.weight(width, 2 * channels), b.weight(width, scale=0.1), transB=1)
    return b.model("tdnn", [("x", TensorProto.FLOAT, [1, features, frames])], [y])


def cosh(size=1 << 20):
    b = Builder(9)
    return b.model("cosh", [("x", TensorProto.FLOAT, [1, size])], [b.op("Cosh", "x")])


def tiny_operations(count=100, size=8):
    """Kinds that take turns, so that nothing is simplified away."""
    b = Builder(10)
    y = "x"
    for i in range(count):
        y = b.op(("Sigmoid", "Exp", "Tanh", "Neg")[i % 4], y)
    return b.model("tiny_operations", [("x", TensorProto.FLOAT, [1, size])], [y])
