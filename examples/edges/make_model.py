#!/usr/bin/env python3
"""Writes edges.onnx: an edge detector at three scales. Nothing is trained; the weights are the well-known Scharr filter.

At each scale the picture is made smaller, its gradient taken in both directions, and the strength of an edge made from it by
1 - 1 / cosh(gain * gradient), which is flat for noise and saturates for real edges. cosh comes from the extension
(examples/extension-cosh): it is the layer that no other toolkit knows. The scales are put together by the maximum.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import onnx_writer as onnx

GREY = [0.299 / 255, 0.587 / 255, 0.114 / 255]
SCHARR = [-3, 0, 3, -10, 0, 10, -3, 0, 3], [-3, -10, -3, 0, 0, 0, 3, 10, 3]


def main(path, height, width):
    tensors = [onnx.tensor("grey", [1, 3, 1, 1], GREY), onnx.tensor("filters", [2, 1, 3, 3], [v / 16 for f in SCHARR for v in f]), onnx.tensor("one", [], [1.0]), onnx.tensor("none", [0], [])]
    nodes = [onnx.node("Conv", ["picture", "grey"], ["brightness"], kernel_shape=[1, 1])]
    maps = []
    for scale in (1, 2, 4):
        tag = "at_%d" % scale
        small = "brightness"
        if scale > 1:
            small = "smaller_" + tag
            nodes.append(onnx.node("AveragePool", ["brightness"], [small], kernel_shape=[scale, scale], strides=[scale, scale]))
        nodes += [
            onnx.node("Pad", [small, "border"], ["padded_" + tag], mode="edge"),
            onnx.node("Conv", ["padded_" + tag, "filters"], ["gradient_" + tag], kernel_shape=[3, 3]),
            onnx.node("ReduceL2", ["gradient_" + tag], ["length_" + tag], axes=[1], keepdims=1),
            onnx.node("CoshC", ["length_" + tag], ["cosh_" + tag], domain="acme", gain=float(8 / scale)),
            onnx.node("Div", ["one", "cosh_" + tag], ["flat_" + tag]),
            onnx.node("Sub", ["one", "flat_" + tag], ["edges_" + tag]),
            onnx.node("Resize", ["edges_" + tag, "none", "none", "size"], ["large_" + tag], mode="linear", coordinate_transformation_mode="half_pixel"),
        ]
        maps.append("large_" + tag)
    tensors += [onnx.tensor("border", [8], [0, 0, 1, 1, 0, 0, 1, 1], onnx.INT64), onnx.tensor("size", [4], [1, 1, height, width], onnx.INT64)]
    nodes.append(onnx.node("Max", maps, ["edges"]))
    out = onnx.model("edges", nodes, tensors, [onnx.value("picture", [1, 3, height, width])], [onnx.value("edges", [1, 1, height, width])], {"": 13, "acme": 1})
    with open(path, "wb") as f:
        f.write(out)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
