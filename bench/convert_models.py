"""Models for bench/convert.py, in each format: weights of many megabytes in square matrices, and long chains of small layers.

Each function writes files into a folder and returns their paths, in the order of the command line.
"""
import json
import os
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import onnx_writer as onnx  # noqa: E402

SIDE = 5000  # of a matrix: 100 MB


def matrices(megabytes):
    """How many there are, and the bytes of each."""
    block = os.urandom(1 << 20)
    return megabytes * 1000000 // (4 * SIDE * SIDE), (block * (4 * SIDE * SIDE // len(block) + 1))[:4 * SIDE * SIDE]


def written(folder, name, *parts):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        for p in parts:
            f.write(p)
    return path


# ---- ONNX ----

def onnx_large(folder, megabytes):
    count, weights = matrices(megabytes)
    tensors = [onnx.tensor("w%d" % i, [SIDE, SIDE], weights) for i in range(count)]
    nodes = [onnx.node("MatMul", ["x%d" % i, "w%d" % i], ["x%d" % (i + 1)]) for i in range(count)]
    return [written(folder, "large.onnx", onnx.model("large", nodes, tensors, [onnx.value("x0", [1, SIDE])], [onnx.value("x%d" % count, [1, SIDE])], {"": 17}))]


def onnx_chain(folder, length):
    nodes = [onnx.node(("Relu", "Abs", "Sigmoid")[i % 3], ["x%d" % i], ["x%d" % (i + 1)]) for i in range(length)]
    return [written(folder, "chain.onnx", onnx.model("chain", nodes, [], [onnx.value("x0", [1, 8])], [onnx.value("x%d" % length, [1, 8])], {"": 17}))]


# ---- MXNet ----

def symbol(nodes):
    return json.dumps({"nodes": nodes, "heads": [[len(nodes) - 1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}).encode()


def variable(name, **attrs):
    return {"op": "null", "name": name, "attrs": attrs, "inputs": []}


def mxnet_large(folder, megabytes):
    count, weights = matrices(megabytes)
    nodes = [variable("data", __shape__="(1, %d)" % SIDE)]
    for i in range(count):
        nodes.append(variable("w%d" % i))
        nodes.append({"op": "FullyConnected", "name": "fc%d" % i, "attrs": {"num_hidden": str(SIDE), "no_bias": "True"},
                      "inputs": [[max(0, len(nodes) - 2), 0, 0], [len(nodes) - 1, 0, 0]]})
    parts = [struct.pack("<QQQ", 0x112, 0, count)]
    for _ in range(count):
        parts += [struct.pack("<IiIqqiii", 0xF993FAC9, 0, 2, SIDE, SIDE, 1, 0, 0), weights]
    names = ["arg:w%d" % i for i in range(count)]
    parts += [struct.pack("<Q", count)] + [struct.pack("<Q", len(n)) + n.encode() for n in names]
    return [written(folder, "large-symbol.json", symbol(nodes)), written(folder, "large-0000.params", *parts)]


def mxnet_chain(folder, length):
    nodes = [variable("data", __shape__="(1, 8)")]
    nodes += [{"op": ("relu", "abs", "sigmoid")[i % 3], "name": "l%d" % i, "inputs": [[i, 0, 0]]} for i in range(length)]
    return [written(folder, "chain-symbol.json", symbol(nodes))]


# ---- Kaldi: nnet1, binary ----

def kaldi_component(type, outputs, inputs):
    return b"<%s> " % type + struct.pack("<bibi", 4, outputs, 4, inputs)


def kaldi_large(folder, megabytes):
    count, weights = matrices(megabytes)
    parts = [b"\0B<Nnet> "]
    for _ in range(count):
        parts += [kaldi_component(b"AffineTransform", SIDE, SIDE), b"FM " + struct.pack("<bibi", 4, SIDE, 4, SIDE), weights,
                  b"FV " + struct.pack("<bi", 4, SIDE), bytes(4 * SIDE), b"<!EndOfComponent> "]
    return [written(folder, "large.nnet", *parts, b"</Nnet> ")]


def kaldi_chain(folder, length):
    layers = [kaldi_component((b"Sigmoid", b"Tanh")[i % 2], 8, 8) + b"<!EndOfComponent> " for i in range(length)]
    return [written(folder, "chain.nnet", b"\0B<Nnet> ", *layers, b"</Nnet> ")]


FORMATS = {"ONNX": (onnx_large, onnx_chain), "MXNet": (mxnet_large, mxnet_chain), "Kaldi": (kaldi_large, kaldi_chain)}
