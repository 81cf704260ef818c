"""Whole MXNet models with random weights, written without MXNet: thin forms of networks that people convert.

tests/oracle/mxnet_models.py has MXNet compute their outputs (tests/cli/mxnet_networks.json), test_mxnet_networks.py compares.
"""
import os

import numpy as np

from mxnet_writer import params, symbol, variable


def text(v):
    return "(%s)" % ", ".join(map(str, v)) if isinstance(v, tuple) else str(v)


class Net:
    """A value is [node, output, 0]. Weights are drawn in the order of the layers."""

    def __init__(self, seed, **inputs):
        self.rng = np.random.RandomState(seed)
        self.nodes, self.arrays, self.heads, self.number = [], {}, [], 0
        self.inputs = {n: self.rng.uniform(-1, 1, s).astype(np.float32) if isinstance(s, tuple) else s for n, s in inputs.items()}
        self.of = {n: self.add(variable(n)) for n in inputs}

    def add(self, node):
        self.nodes.append(node)
        return [len(self.nodes) - 1, 0, 0]

    def weight(self, name, values, auxiliary=False):
        self.arrays[("aux:" if auxiliary else "arg:") + name] = values.astype(np.float32)
        return self.add(variable(name))

    def normal(self, name, *dims):
        return self.weight(name, self.rng.normal(0, np.prod(dims[1:]) ** -0.5, dims))

    def vector(self, name, dim, low=-0.1, high=0.1, auxiliary=False):
        return self.weight(name, self.rng.uniform(low, high, dim), auxiliary)

    def op(self, kind, *values, name="", **attrs):
        self.number += not name
        node = {"op": kind, "name": name or "%s%d" % (kind.lower(), self.number), "attrs": {k: text(v) for k, v in attrs.items()}, "inputs": list(values)}
        return self.add(node)

    def conv(self, x, cin, cout, kernel, stride=1, pad=0, groups=1, bias=True):
        self.number += 1
        name = "conv%d" % self.number
        weights = [self.normal(name + "_weight", cout, cin // groups, kernel, kernel)] + ([self.vector(name + "_bias", cout)] if bias else [])
        return self.op("Convolution", x, *weights, name=name, kernel=(kernel, kernel), stride=(stride, stride), pad=(pad, pad), num_filter=cout, num_group=groups, no_bias=not bias)

    def norm(self, x, dim, fixed=False):
        self.number += 1
        name = "bn%d" % self.number
        parts = [self.vector(name + "_gamma", dim, 0.8, 1.2), self.vector(name + "_beta", dim), self.vector(name + "_mean", dim, auxiliary=True),
                 self.vector(name + "_var", dim, 0.5, 1.5, auxiliary=True)]
        return self.op("BatchNorm", x, *parts, name=name, eps=1e-5, fix_gamma=fixed)

    def relu(self, x):
        return self.op("Activation", x, act_type="relu")

    def dense(self, x, cin, cout, name="dense"):
        return self.op("FullyConnected", x, self.normal(name + "_weight", cout, cin), self.vector(name + "_bias", cout), name=name, num_hidden=cout)

    def write(self, folder, name):
        files = [os.path.join(folder, name + "-symbol.json"), os.path.join(folder, name + "-0000.params")]
        with open(files[0], "w") as f:
            f.write(symbol(self.nodes, self.heads))
        with open(files[1], "wb") as f:
            f.write(params({n: (a.shape, a.tobytes()) for n, a in self.arrays.items()}))
        return files


def resnet18_v2(width=16):
    n = Net(1, data=(1, 3, 64, 64))
    x = n.norm(n.of["data"], 3, fixed=True)
    x = n.relu(n.norm(n.conv(x, 3, width, 7, 2, 3, bias=False), width))
    x, channels = n.op("Pooling", x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max"), width
    for stage in range(4):
        for block in range(2):
            cout, stride = width << stage, 2 if stage and not block else 1
            y = n.relu(n.norm(x, channels))
            if cout != channels:
                x = n.conv(y, channels, cout, 1, stride, bias=False)
            y = n.conv(y, channels, cout, 3, stride, 1, bias=False)
            x, channels = n.op("elemwise_add", n.conv(n.relu(n.norm(y, cout)), cout, cout, 3, 1, 1, bias=False), x), cout
    x = n.op("Pooling", n.relu(n.norm(x, channels)), kernel=(1, 1), global_pool=True, pool_type="avg")
    n.heads = [n.dense(n.op("Flatten", x), channels, 10)]
    return n


def mobilenet(width=8):
    n = Net(2, data=(1, 3, 64, 64))
    x, channels = n.relu(n.norm(n.conv(n.of["data"], 3, width, 3, 2, 1, bias=False), width)), width
    for stride, factor in ((1, 2), (2, 4), (1, 4), (2, 8), (1, 8), (2, 16), (1, 16), (1, 16), (2, 32), (1, 32)):
        x = n.relu(n.norm(n.conv(x, channels, channels, 3, stride, 1, groups=channels, bias=False), channels))
        x, channels = n.relu(n.norm(n.conv(x, channels, factor * width, 1, bias=False), factor * width)), factor * width
    x = n.op("Flatten", n.op("Pooling", x, kernel=(1, 1), global_pool=True, pool_type="avg"))
    n.heads = [n.op("softmax", n.dense(x, channels, 10))]
    return n


def ssd():
    """Two feature maps with MultiBox layers; the best 20 boxes."""
    n = Net(3, data=(1, 3, 64, 64))
    first = n.relu(n.conv(n.of["data"], 3, 8, 3, 4))
    second = n.relu(n.conv(first, 8, 8, 3, 2))
    scores, places, anchors = [], [], []
    for x, size in ((first, 0.2), (second, 0.5)):
        anchors.append(n.op("_contrib_MultiBoxPrior", x, sizes=(size, size * 1.2), ratios=(1, 2, 0.5)))
        for out in (scores, places):
            out.append(n.op("Flatten", n.op("transpose", n.conv(x, 8, 16, 3, 1, 1), axes=(0, 2, 3, 1))))
    joined = [n.op("Concat", *parts, dim=1, num_args=2) for parts in (scores, places, anchors)]
    classes = n.op("transpose", n.op("Reshape", joined[0], shape=(0, -1, 4)), axes=(0, 2, 1))
    found = n.op("_contrib_MultiBoxDetection", n.op("SoftmaxActivation", classes, mode="channel"), *joined[1:], threshold=0.3, nms_threshold=0.45, nms_topk=50)
    n.heads = [n.op("slice_axis", found, axis=1, begin=0, end=20)]
    return n


def language_model(words=20, dim=6, hidden=8):
    n = Net(4, data=np.array([[1, 2, 3, 4, 5], [19, 0, 7, 7, 8]], np.float32))
    x = n.op("SwapAxis", n.op("Embedding", n.of["data"], n.normal("words", words, dim), input_dim=words, output_dim=dim), dim1=0, dim2=1)
    count = 4 * hidden * (dim + hidden + 2) + 4 * hidden * (2 * hidden + 2)
    weights = n.vector("lstm_parameters", count, -0.5, 0.5)
    states = [n.add(variable(s, __shape__=text((2, 2, hidden)), __init__='["zero", {}]')) for s in ("begin_h", "begin_c")]
    y = n.op("RNN", x, weights, *states, name="lstm", state_size=hidden, num_layers=2, mode="lstm")
    y = n.dense(n.op("Reshape", y, shape=(-1, hidden)), hidden, words)
    n.heads = [n.op("SoftmaxOutput", y, n.add(variable("softmax_label")), name="softmax")]
    return n


def style():
    """Instance normalization, residuals and enlarging, as style transfer has them."""
    n = Net(5, data=(1, 3, 8, 8))

    def instance_norm(x, dim):
        n.number += 1
        return n.op("InstanceNorm", x, n.vector("in%d_gamma" % n.number, dim, 0.5, 1.5), n.vector("in%d_beta" % n.number, dim), eps=0.001)
    x = n.op("Pad", n.of["data"], mode="reflect", pad_width=(0, 0, 0, 0, 2, 2, 2, 2))
    x = n.relu(instance_norm(n.conv(x, 3, 8, 3, 2), 8))
    x = n.op("elemwise_add", x, instance_norm(n.conv(x, 8, 8, 3, 1, 1), 8))
    x = n.op("UpSampling", x, scale=2, sample_type="nearest", num_args=1)
    n.heads = [n.op("Activation", n.conv(x, 8, 3, 3), act_type="tanh")]
    return n


def custom():
    """A Custom layer, x * scale + offset, between layers of MXNet's own."""
    n = Net(6, data=(2, 3, 6, 6))
    x = n.relu(n.conv(n.of["data"], 3, 4, 3))
    x = n.op("Custom", x, op_type="affine", scale=3, offset=-0.5)
    n.heads = [n.op("softmax", n.dense(n.op("Pooling", x, kernel=(2, 2), stride=(2, 2), pool_type="max"), 16, 5))]
    return n


NETWORKS = {f.__name__: f for f in (resnet18_v2, mobilenet, ssd, language_model, style, custom)}
