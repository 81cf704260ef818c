#!/usr/bin/env python3
"""A model and its IR give the same bits: whatever `graft convert` does, `graft run` of the model itself does too. In
quantized networks a difference in the last bit is one of a whole level, where a number lies between two; the networks are large
enough to have such numbers.

  tests/cli/test_same_bits.py --build build [unittest arguments]
"""
import os
import random
import struct

from harness import Case, graft, main, onnx, save, write_npy

INT8, INT32, FLOAT16 = 3, 6, 10
PACKED = {onnx.FLOAT: "f", onnx.UINT8: "B", INT8: "b", INT32: "i", FLOAT16: "e"}


class Net:
    """A network under construction, with weights that are drawn at random."""

    def __init__(self, seed=1):
        self.nodes, self.tensors, self.count, self.random = [], [], 0, random.Random(seed)

    def name(self):
        self.count += 1
        return "v%d" % self.count

    def op(self, kind, *inputs, outputs=1, **attributes):
        out = [self.name() for _ in range(outputs)]
        self.nodes.append(onnx.node(kind, list(inputs), out, **attributes))
        return out[0] if outputs == 1 else out

    def constant(self, dims, values, kind=onnx.FLOAT):
        name = self.name()
        self.tensors.append(onnx.tensor(name, dims, struct.pack("<%d%s" % (len(values), PACKED[kind]), *values), kind))
        return name

    def shape(self, dims):
        name = self.name()
        self.tensors.append(onnx.tensor(name, [len(dims)], dims, onnx.INT64))
        return name

    def levels(self, dims, kind=INT8):
        size, low = 1, {INT8: -127, onnx.UINT8: 0, INT32: -1000}[kind]
        for d in dims:
            size *= d
        return self.constant(dims, [self.random.randint(low, low + (2000 if kind == INT32 else 254)) for _ in range(size)], kind)

    def scales(self, count):
        return self.constant([count] if count else [], [self.random.uniform(0.003, 0.011) for _ in range(count or 1)])

    def levels_of(self, x, scale, zero, kind=onnx.UINT8):
        s, z = self.constant([], [scale]), self.constant([], [zero], kind)
        return self.op("DequantizeLinear", self.op("QuantizeLinear", x, s, z), s, z)

    def weights(self, dims, by_channel=True, bias=True):
        scale = self.scales(dims[0] if by_channel else 0)
        zero = self.constant([dims[0]] if by_channel else [], [0] * (dims[0] if by_channel else 1), INT8)
        out = [self.op("DequantizeLinear", self.levels(dims), scale, zero, axis=0)]
        if bias:
            out.append(self.op("DequantizeLinear", self.levels([dims[0]], INT32), self.constant([], [0.0004]), self.constant([], [0], INT32)))
        return out


def separable(net, kind=onnx.UINT8, by_channel=True):
    """Depthwise and pointwise convolutions with levels between all of them, as quantizers of PyTorch and ONNX Runtime write them."""
    low = 0 if kind == onnx.UINT8 else -128
    x = net.levels_of("x", 0.0173, low + 114, kind)
    for block, (a, b, stride) in enumerate(((8, 24, 1), (24, 64, 1))):
        x = net.op("Conv", x, *net.weights([a, 1, 3, 3], by_channel), group=a, pads=[1, 1, 1, 1], strides=[stride, stride])
        x = net.levels_of(net.op("Relu", x), 0.0231, low, kind)
        x = net.op("Conv", x, *net.weights([b, a, 1, 1], by_channel))
        if block:
            x = net.op("Clip", x, net.constant([], [0.0]), net.constant([], [6.0]))
        x = net.levels_of(x, 0.0329, low + (0 if block else 7), kind)
    rows = net.op("Transpose", x, perm=[0, 2, 3, 1])
    y = net.op("Reshape", rows, net.shape([-1, 64]))
    return net.op("Gemm", y, *net.weights([5, 64], by_channel), transB=1), [1, 8, 96, 96]


def residual(net):
    x = net.levels_of("x", 0.0173, 114)
    y = net.levels_of(net.op("Relu", net.op("Conv", x, *net.weights([8, 8, 3, 3]), pads=[1, 1, 1, 1])), 0.0231, 0)
    y = net.levels_of(net.op("Conv", y, *net.weights([8, 8, 3, 3]), pads=[1, 1, 1, 1]), 0.0391, 120)
    y = net.levels_of(net.op("Relu", net.op("Add", y, x)), 0.0293, 0)
    y = net.op("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    return net.op("Mul", y, net.constant([], [3.7])), [1, 8, 96, 96]


def floats_between(net):
    """Layers with weights in numbers behind levels, and factors and sums next to those."""
    x = net.levels_of("x", 0.0173, 114)
    w = net.constant([6, 8, 1, 1], [net.random.uniform(-1, 1) for _ in range(48)])
    y = net.op("Conv", x, w)
    y = net.op("Mul", y, net.constant([1, 6, 1, 1], [net.random.uniform(0.1, 2) for _ in range(6)]))
    y = net.levels_of(net.op("Sub", y, net.constant([], [0.3])), 0.0311, 99)
    y = net.op("Add", net.op("Mul", y, net.constant([], [0.77])), net.constant([], [0.1]))
    return net.levels_of(net.op("Div", y, net.constant([], [0.3])), 0.0411, 128), [1, 8, 96, 96]


def dynamic(net):
    values, scale, zero = net.op("DynamicQuantizeLinear", "x", outputs=3)
    y = net.op("MatMulInteger", values, net.levels([8, 6]), zero)
    y = net.op("Mul", net.op("Cast", y, to=onnx.FLOAT), net.op("Mul", scale, net.scales(0)))
    return net.op("Relu", y), [500, 8]


def integers(net):
    s, z = net.constant([], [0.0173]), net.constant([], [114], onnx.UINT8)
    q = net.op("QuantizeLinear", "x", s, z)
    ws, wz = net.scales(8), net.constant([8], [0] * 8, INT8)
    ys, yz = net.constant([], [0.0331]), net.constant([], [121], onnx.UINT8)
    y = net.op("QLinearConv", q, s, z, net.levels([8, 8, 3, 3]), ws, wz, ys, yz, net.levels([8], INT32), pads=[1, 1, 1, 1])
    y = net.op("QLinearConv", y, ys, yz, net.levels([8, 1, 3, 3]), ws, wz, s, z, group=8)
    return net.op("DequantizeLinear", y, s, z), [1, 8, 65, 65]


def plain(net, kind=onnx.FLOAT):
    """Without levels: batch norms, factors and activations around convolutions."""
    def draw(dims, low, high):
        size = 1
        for d in dims:
            size *= d
        return net.constant(dims, [net.random.uniform(low, high) for _ in range(size)], kind)
    x = net.op("Cast", "x", to=kind)
    for a, b in ((8, 12), (12, 8)):
        x = net.op("Conv", x, draw([b, a, 3, 3], -1, 1), pads=[1, 1, 1, 1])
        x = net.op("BatchNormalization", x, draw([b], 0.5, 2), draw([b], -1, 1), draw([b], -1, 1), draw([b], 0.1, 2))
        x = net.op("Mul", x, net.op("Sigmoid", x))
    return net.op("Cast", net.op("Div", x, draw([], 0.37, 0.38)), to=onnx.FLOAT), [1, 8, 96, 96]


class SameBits(Case):
    def outputs(self, model, x):
        r = graft("run", model, "--input", "x=" + x, "--output-dir", "out", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("out", "0.npy"), "rb") as f:
            return f.read()

    def compare(self, build, *arguments):
        net = Net()
        y, dims = build(net, *arguments)
        save(self.path("m.onnx"), net.nodes, [onnx.value("x", dims)], [onnx.value(y, ["d%d" % i for i in range(4 if len(dims) == 4 and build is not separable else 2)])], net.tensors)
        size = 1
        for d in dims:
            size *= d
        for seed in range(3):
            draw = random.Random(seed)
            write_npy(self.path("x.npy"), dims, [draw.gauss(0, 0.8) for _ in range(size)])
            direct = self.outputs("m.onnx", "x.npy")
            for source, name in (("m.onnx", "one"), ("one.xml", "two")):
                r = graft("convert", source, "-n", name, "--silent", cwd=self.folder)
                self.assertEqual(r.status, 0, r.all)
                self.assertEqual(direct, self.outputs(name + ".xml", "x.npy"), "%s differs from the model" % name)

    def test_depthwise_separable(self):
        self.compare(separable)

    def test_depthwise_separable_in_signed_bytes(self):
        self.compare(separable, INT8)

    def test_one_scale_for_all_channels(self):
        self.compare(separable, onnx.UINT8, False)

    def test_residual(self):
        self.compare(residual)

    def test_numbers_between_levels(self):
        self.compare(floats_between)

    def test_dynamic(self):
        self.compare(dynamic)

    def test_integer_layers(self):
        self.compare(integers)

    def test_without_levels(self):
        self.compare(plain)

    def test_half_precision(self):
        self.compare(plain, FLOAT16)

    def test_weights_stay_bytes(self):
        net = Net()
        y, dims = residual(net)
        save(self.path("m.onnx"), net.nodes, [onnx.value("x", dims)], [onnx.value(y, [1, 8, 32, 32])], net.tensors)
        r = graft("convert", "m.onnx", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertLess(os.path.getsize(self.path("m.bin")), 2 * 8 * 8 * 9 * 2)  # f32 would take four times that of bytes
        r = graft("explain", "m.xml", cwd=self.folder)
        self.assertEqual(r.all.count(" QuantizedConvolution "), 2, r.all)


if __name__ == "__main__":
    main()
