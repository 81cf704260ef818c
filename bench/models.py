"""Networks of real size with random weights, for measuring."""
import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "oracle"))
from networks import Builder  # noqa: E402


def resnet50():
    b = Builder(1)
    y = b.conv("x", 3, 64, 7, 2)
    y = b.op("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            s = stride if i == 0 else 1
            left = b.conv(b.conv(b.conv(y, channels, width, 1), width, width, 3, s), width, 4 * width, 1, relu=False)
            right = b.conv(y, channels, 4 * width, 1, s, relu=False) if i == 0 else y
            y = b.op("Relu", b.op("Add", left, right))
            channels = 4 * width
    y = b.op("Flatten", b.op("GlobalAveragePool", y))
    y = b.op("Softmax", b.op("Gemm", y, b.weight(1000, channels, scale=1e-4), b.weight(1000, scale=0.1), transB=1))  # not one-hot, so that outputs can be compared
    return b.model("resnet50", [("x", TensorProto.FLOAT, [1, 3, 224, 224])], [y])


def mobilenet_v2():
    b = Builder(2)
    six = lambda y: b.op("Clip", y, b.constant(np.float32(0)), b.constant(np.float32(6)))
    y, channels = six(b.conv("x", 3, 32, 3, 2, relu=False)), 32
    for expand, cout, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            mid, s = channels * expand, stride if i == 0 else 1
            z = six(b.conv(y, channels, mid, 1, relu=False)) if expand > 1 else y
            z = b.conv(six(b.conv(z, mid, mid, 3, s, groups=mid, relu=False)), mid, cout, 1, relu=False)
            y = b.op("Add", y, z) if s == 1 and channels == cout else z
            channels = cout
    y = b.op("Flatten", b.op("GlobalAveragePool", six(b.conv(y, channels, 1280, 1, relu=False))))
    y = b.op("Gemm", y, b.weight(1000, 1280), b.weight(1000, scale=0.1), transB=1)
    return b.model("mobilenet_v2", [("x", TensorProto.FLOAT, [1, 3, 224, 224])], [y])


def lstm(layers=2, steps=100, width=512):
    b = Builder(4)
    y = "x"
    for _ in range(layers):
        y, _, _ = b.op("LSTM", y, b.weight(1, 4 * width, width), b.weight(1, 4 * width, width), b.weight(1, 8 * width, scale=0.1), outputs=3, hidden_size=width)
        y = b.op("Squeeze", y, b.constant(np.array([1], np.int64)))
    return b.model("lstm", [("x", TensorProto.FLOAT, [steps, 1, width])], [y])
