"""Convolution networks of the table that bench/models.py does not have; random weights, seeded."""
import numpy as np
from onnx import TensorProto

from models import Builder


def squeezenet():
    """SqueezeNet 1.1."""
    b = Builder(5)
    picture = lambda y, cin, cout, k, stride=1, pad=0: b.op("Relu", b.op("Conv", y, b.weight(cout, cin, k, k), b.weight(cout, scale=0.1), kernel_shape=[k, k], strides=[stride] * 2, pads=[pad] * 4))
    pool = lambda y: b.op("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    y, channels = pool(picture("x", 3, 64, 3, 2)), 64
    for squeeze, expand, pooled in ((16, 64, 0), (16, 64, 1), (32, 128, 0), (32, 128, 1), (48, 192, 0), (48, 192, 0), (64, 256, 0), (64, 256, 0)):
        s = picture(y, channels, squeeze, 1)
        y = b.op("Concat", picture(s, squeeze, expand, 1), picture(s, squeeze, expand, 3, pad=1), axis=1)
        y, channels = pool(y) if pooled else y, 2 * expand
    y = b.op("Flatten", b.op("GlobalAveragePool", picture(y, channels, 1000, 1)))
    return b.model("squeezenet", [("x", TensorProto.FLOAT, [1, 3, 224, 224])], [y])


def tiny_yolo():
    """Tiny YOLO v3 at 416 x 416, up to its two heads."""
    b = Builder(6)
    leaky = lambda y, cin, cout, k=3: b.op("LeakyRelu", b.conv(y, cin, cout, k, relu=False), alpha=0.1)
    head = lambda y, cin: b.op("Conv", y, b.weight(255, cin, 1, 1), b.weight(255, scale=0.1), kernel_shape=[1, 1])
    y, channels, middle = "x", 3, None
    for cout in (16, 32, 64, 128, 256, 512):
        y, channels = leaky(y, channels, cout), cout
        middle = y if cout == 256 else middle
        last = cout == 512
        y = b.op("MaxPool", y, kernel_shape=[2, 2], strides=[1, 1] if last else [2, 2], pads=[0, 0, 1, 1] if last else [0] * 4)
    y = leaky(leaky(y, 512, 1024), 1024, 256, 1)
    coarse = head(leaky(y, 256, 512), 512)
    up = b.op("Resize", leaky(y, 256, 128, 1), "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    fine = head(leaky(b.op("Concat", up, middle, axis=1), 384, 256), 256)
    return b.model("tiny_yolo", [("x", TensorProto.FLOAT, [1, 3, 416, 416])], [coarse, fine])
