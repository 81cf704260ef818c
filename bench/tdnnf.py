"""A factorized time-delay network (TDNN-F) as a Kaldi nnet3 model, and the same network in ONNX; random weights, seeded.

The sizes are those of Kaldi's recipes for chain models: 40 features and an i-vector of 100, layers of 1536 with
bottlenecks of 160, 6024 outputs. ONNX has two forms: convolutions over [1, channels, frames], as exporters write them,
and matrix products over [frames, dimension], as Kaldi computes.
"""
import os
import struct
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import onnx_writer as onnx  # noqa: E402

FEATURES, IVECTOR = 40, 100
STRIDES = (1, 1, 1, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3)
BYPASS = 0.66


class Weights:
    """The parameters by name, and how many there are."""

    def __init__(self, width=1536, bottleneck=160, small=256, outputs=6024, strides=STRIDES):
        self.width, self.bottleneck, self.small, self.outputs, self.strides = width, bottleneck, small, outputs, strides
        self.context = 1 + sum(strides)
        self.rng = np.random.default_rng(3)
        self.arrays = {}
        columns = 3 * FEATURES + IVECTOR
        self.affine("lda", columns, columns)
        self.affine("tdnn1", columns, width)
        self.norm("tdnn1", width)
        for i, stride in enumerate(strides):
            taps = 2 if stride else 1
            self.matrix("f%d.linear" % i, taps * width, bottleneck)
            self.affine("f%d" % i, taps * bottleneck, width)
            self.norm("f%d" % i, width)
        self.matrix("l", width, small)
        self.affine("prefinal", small, width)
        self.norm("prefinal", width)
        self.matrix("prefinal.linear", width, small)
        self.norm("prefinal.small", small)
        self.affine("output", small, outputs)
        self.count = sum(a.size for a in self.arrays.values())

    def matrix(self, name, columns, rows):
        self.arrays[name + ".w"] = (self.rng.standard_normal((rows, columns)) * columns ** -0.5).astype(np.float32)

    def affine(self, name, columns, rows):
        self.matrix(name, columns, rows)
        self.arrays[name + ".b"] = self.rng.uniform(-0.1, 0.1, rows).astype(np.float32)

    def norm(self, name, dim):
        self.arrays[name + ".mean"] = self.rng.uniform(0.2, 0.4, dim).astype(np.float32)
        self.arrays[name + ".var"] = self.rng.uniform(0.3, 0.6, dim).astype(np.float32)

    def __getitem__(self, name):
        return self.arrays[name]


# ---- Kaldi ----

def token(name, *values):
    out = b"<%s> " % name.encode()
    for v in values:
        if isinstance(v, np.ndarray):
            out += (b"FM " if v.ndim == 2 else b"FV ") + b"".join(struct.pack("<bi", 4, d) for d in v.shape) + v.tobytes()
        elif isinstance(v, list):
            out += struct.pack("<bi%di" % len(v), 4, len(v), *v)
        elif isinstance(v, int):
            out += struct.pack("<bi", 4, v)
        else:
            out += struct.pack("<bf", 4, v)
    return out


class Kaldi:
    def __init__(self, w):
        self.w, self.components = w, []
        self.config = ["input-node name=ivector dim=%d" % IVECTOR, "input-node name=input dim=%d" % FEATURES]

    def component(self, name, type, source, *tokens):
        self.config.append("component-node name=%s component=%s input=%s" % (name, name, source))
        self.components.append(token("ComponentName") + name.encode() + b" " + token(type) + b"".join(tokens) + token("/" + type))
        return name

    def activated(self, name, source, dim):
        y = self.component(name + ".relu", "RectifiedLinearComponent", source, token("Dim", dim))
        return self.normalized(name, y, dim)

    def normalized(self, name, source, dim):
        return self.component(name + ".batchnorm", "BatchNormComponent", source, token("Dim", dim), token("BlockDim", dim), token("Epsilon", 0.001), token("TargetRms", 1.0),
                              token("TestMode") + b"T", token("Count", 1.0), token("StatsMean", self.w[name + ".mean"]), token("StatsVar", self.w[name + ".var"]))

    def affine(self, name, source, type="NaturalGradientAffineComponent"):
        return self.component(name + ".affine", type, source, token("LinearParams", self.w[name + ".w"]), token("BiasParams", self.w[name + ".b"]))

    def linear(self, name, source):
        return self.component(name, "LinearComponent", source, token("Params", self.w[name + ".w"]))

    def tdnn(self, name, weights, bias, source, offsets):
        return self.component(name, "TdnnComponent", source, token("TimeOffsets", offsets), token("LinearParams", weights), token("BiasParams", bias))

    def factorized(self, i, stride, source):
        name, w = "f%d" % i, self.w
        none = np.zeros(0, np.float32)
        y = self.tdnn(name + ".linear", w[name + ".linear.w"], none, source, [-stride, 0] if stride else [0])
        y = self.tdnn(name + ".affine", w[name + ".w"], w[name + ".b"], y, [0, stride] if stride else [0])
        y = self.activated(name, y, w.width)
        return self.component(name + ".noop", "NoOpComponent", "Sum(Scale(%g, %s), %s)" % (BYPASS, source, y), token("Dim", w.width))

    def write(self, path):
        w = self.w
        y = self.affine("lda", "Append(Offset(input, -1), input, Offset(input, 1), ReplaceIndex(ivector, t, 0))", "FixedAffineComponent")
        y = self.activated("tdnn1", self.affine("tdnn1", y), w.width)
        for i, stride in enumerate(w.strides):
            y = self.factorized(i, stride, y)
        y = self.activated("prefinal", self.affine("prefinal", self.linear("l", y)), w.width)
        y = self.normalized("prefinal.small", self.linear("prefinal.linear", y), w.small)
        self.config.append("output-node name=output input=%s objective=linear" % self.affine("output", y))
        with open(path, "wb") as f:
            f.write(b"\0B<Nnet3> \n" + "\n".join(self.config).encode() + b"\n\n" + token("NumComponents", len(self.components)) + b"".join(self.components) + b"</Nnet3> ")
        return path


# ---- ONNX ----

class Onnx:
    """`convolutions`: values are [1, channels, frames]; else [frames, dimension]."""

    def __init__(self, w, convolutions, frames):
        self.w, self.convolutions, self.frames = w, convolutions, frames
        self.nodes, self.tensors = [], []
        self.time = 2 if convolutions else 0

    def op(self, kind, *inputs, **attributes):
        out = "v%d" % len(self.nodes)
        self.nodes.append(onnx.node(kind, inputs, [out], **attributes))
        return out

    def constant(self, values):
        values = np.ascontiguousarray(values)
        name = "c%d" % len(self.tensors)
        self.tensors.append(onnx.tensor(name, values.shape, values.tobytes(), onnx.INT64 if values.dtype == np.int64 else onnx.FLOAT))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def cut(self, x, front, back):
        """Without the first and the last frames."""
        if not front and not back:
            return x
        return self.op("Slice", x, self.ints(front), self.ints(-back if back else 1 << 40), self.ints(self.time))

    def product(self, weights, bias, x, stride=0):
        if self.convolutions:
            taps = 2 if stride else 1
            kernel = weights.reshape(len(weights), taps, -1).transpose(0, 2, 1)
            return self.op("Conv", x, self.constant(kernel), *([self.constant(bias)] if bias is not None else []), kernel_shape=[taps], dilations=[max(stride, 1)])
        if stride:
            x = self.op("Concat", self.cut(x, 0, stride), self.cut(x, stride, 0), axis=1)
        if bias is not None:
            return self.op("Gemm", x, self.constant(weights), self.constant(bias), transB=1)
        return self.op("MatMul", x, self.constant(weights.T))

    def affine(self, name, x, stride=0):
        return self.product(self.w[name + ".w"], self.w[name + ".b"], x, stride)

    def normalized(self, name, x):
        mean, var = self.w[name + ".mean"], self.w[name + ".var"]
        return self.op("BatchNormalization", x, self.constant(np.ones_like(mean)), self.constant(np.zeros_like(mean)), self.constant(mean), self.constant(var), epsilon=0.001)

    def activated(self, name, x):
        return self.normalized(name, self.op("Relu", x))

    def spliced(self):
        context = self.w.context
        x = self.op("Pad", "input", self.ints(context, 0, context, 0), mode="edge")
        whole, self.time = self.time, 0
        parts = [self.cut(x, i, 2 - i) for i in range(3)]
        self.time = whole
        rows = self.frames + 2 * context - 2
        x = self.op("Concat", *parts, self.op("Expand", "ivector", self.ints(rows, IVECTOR)), axis=1)
        return self.op("Unsqueeze", self.op("Transpose", x, perm=[1, 0]), self.ints(0)) if self.convolutions else x

    def write(self, path):
        w = self.w
        y = self.activated("tdnn1", self.affine("tdnn1", self.affine("lda", self.spliced())))
        for i, stride in enumerate(w.strides):
            name = "f%d" % i
            z = self.affine(name, self.product(w[name + ".linear.w"], None, y, stride), stride)
            bypass = self.op("Mul", self.cut(y, stride, stride), self.constant(np.float32(BYPASS)))
            y = self.op("Add", bypass, self.activated(name, z))
        y = self.activated("prefinal", self.affine("prefinal", self.product(w["l.w"], None, y)))
        y = self.affine("output", self.normalized("prefinal.small", self.product(w["prefinal.linear.w"], None, y)))
        if self.convolutions:
            y = self.op("Transpose", self.op("Squeeze", y, self.ints(0)), perm=[1, 0])
        self.nodes.append(onnx.node("Identity", [y], ["output"]))
        with open(path, "wb") as f:
            f.write(onnx.model("tdnnf", self.nodes, self.tensors, [onnx.value("input", [self.frames, FEATURES]), onnx.value("ivector", [1, IVECTOR])],
                               [onnx.value("output", [self.frames, w.outputs])], {"": 17}))
        return path


def write(folder, frames, **sizes):
    """Files of the network, inputs, and the number of parameters."""
    w = Weights(**sizes)
    rng = np.random.default_rng(4)
    inputs = {"input": rng.standard_normal((frames, FEATURES)).astype(np.float32), "ivector": rng.standard_normal((1, IVECTOR)).astype(np.float32)}
    files = {"kaldi": Kaldi(w).write(os.path.join(folder, "tdnnf.mdl")), "convolutions": Onnx(w, True, frames).write(os.path.join(folder, "tdnnf_conv.onnx")),
             "matrix products": Onnx(w, False, frames).write(os.path.join(folder, "tdnnf_matmul.onnx"))}
    return files, inputs, w.count
