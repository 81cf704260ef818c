#!/usr/bin/env python3
"""Writes deploy.prototxt and hed.caffemodel: an edge detector with the structure of HED, Holistically-Nested Edge Detection.

  make_model.py FOLDER HEIGHT WIDTH

As in HED, the first convolution pads the picture widely, three stages look at it at scales 1, 2 and 4, each has a side output, and
the side outputs are enlarged by deconvolutions, cropped to the size of the picture and fused. Nothing is trained: a stage takes the
differences of brightness in both directions. HED has five stages of VGG-16 instead.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from caffe_writer import caffemodel

GRAY = [0.114, 0.587, 0.299]  # of blue, green, red
SOBEL = [-1, 0, 1, -2, 0, 2, -1, 0, 1]
PAD = 17
STAGES = (1, 2, 3)


def transposed(kernel):
    return [kernel[3 * x + y] for y in range(3) for x in range(3)]


def filters():
    """Six filters of 3 x 3: differences to the right, left, down and up; brightness, and its negative, because ReLU follows."""
    middle = [0, 0, 0, 0, 1, 0, 0, 0, 0]
    plain = [SOBEL, transposed(SOBEL), middle]
    return [[sign * v for v in k] for k in plain for sign in (1, -1)]


def stage_weights(stage):
    """The first stage reads the three colors, the others the brightness of the stage before: channel 4 less channel 5."""
    mix = GRAY if stage == 1 else [0, 0, 0, 0, 1, -1]
    return [6, len(mix), 3, 3], [m * v for f in filters() for m in mix for v in f]


def bilinear(size):
    """The weights with which a deconvolution enlarges by size / 2."""
    half = size // 2
    line = [1 - abs(i + 0.5 - half) / half for i in range(size)]
    return [1, 1, size, size], [a * b for a in line for b in line]


def layer(name, kind, bottoms, **messages):
    text = 'layer {\n  name: "%s"\n  type: "%s"\n' % (name, kind)
    text += "".join('  bottom: "%s"\n' % b for b in bottoms) + '  top: "%s"\n' % name
    return text + "".join("  %s { %s }\n" % item for item in messages.items()) + "}\n"


def convolution(outputs, kernel, pad=0, bias=False):
    return "num_output: %d kernel_size: %d pad: %d bias_term: %s" % (outputs, kernel, pad, str(bias).lower())


def network(height, width):
    """The prototxt, and the weights of each layer as caffemodel() takes them."""
    text = 'name: "hed"\ninput: "data"\ninput_shape { dim: 1 dim: 3 dim: %d dim: %d }\n' % (height, width)
    weights = {}
    below, sides = "data", []
    for s in STAGES:
        if s > 1:
            text += layer("pool%d" % (s - 1), "Pooling", [below], pooling_param="pool: AVE kernel_size: 2 stride: 2")
            below = "pool%d" % (s - 1)
        conv, relu, score = "conv%d" % s, "relu%d" % s, "score-dsn%d" % s
        text += layer(conv, "Convolution", [below], convolution_param=convolution(6, 3, PAD if s == 1 else 1))
        text += layer(relu, "ReLU", [conv])
        text += layer(score, "Convolution", [relu], convolution_param=convolution(1, 1))
        weights[conv] = ("Convolution", [stage_weights(s)])
        weights[score] = ("Convolution", [([1, 6, 1, 1], [1, 1, 1, 1, 0, 0])])
        side = score
        if s > 1:
            side = "upsample_%d" % 2 ** (s - 1)
            size = 2 ** s
            text += layer(side, "Deconvolution", [score], convolution_param=convolution(1, size) + " stride: %d" % (size // 2))
            weights[side] = ("Deconvolution", [bilinear(size)])
        text += layer("crop%d" % s, "Crop", [side, "data"])
        sides.append("crop%d" % s)
        below = relu
    text += layer("concat", "Concat", sides)
    text += layer("fuse", "Convolution", ["concat"], convolution_param=convolution(1, 1, bias=True))
    weights["fuse"] = ("Convolution", [([1, 3, 1, 1], [1 / 40, 1 / 80, 1 / 160]), ([1], [-5])])
    return text + layer("edges", "Sigmoid", ["fuse"]), weights


def main(folder, height, width):
    if height % 4 or width % 4:
        sys.exit("expected multiples of 4, got %d and %d" % (height, width))
    text, weights = network(height, width)
    with open(os.path.join(folder, "deploy.prototxt"), "w") as f:
        f.write(text)
    with open(os.path.join(folder, "hed.caffemodel"), "wb") as f:
        f.write(caffemodel(weights))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
