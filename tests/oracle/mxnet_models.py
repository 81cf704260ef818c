"""Whole MXNet models with random weights, and what MXNet computes with them, as cases for graft_cases.

    build/oracle/mxnet/bin/python tests/oracle/mxnet_models.py build/oracle/mxnet_made/models
    build/bin/graft_cases -v --device CPU build/oracle/mxnet_made/models/cases.json

The networks of tests/cli/mxnet_networks.py are among them; it fails if their outputs are not those of mxnet_networks.json, which
--record writes. The one with a Custom layer is in a manifest of its own, custom/cases.json.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

import mxnet as mx
import numpy as np
from mxnet.gluon import nn, rnn
from mxnet.gluon.model_zoo import vision

import mxnet_networks

CASES = []
RECORDED = os.path.join(os.path.dirname(mxnet_networks.__file__), "mxnet_networks.json")


@mx.operator.register("affine")
class Affine(mx.operator.CustomOpProp):
    def __init__(self, scale, offset):
        super().__init__(need_top_grad=False)
        self.scale, self.offset = float(scale), float(offset)

    def create_operator(self, context, shapes, types):
        outer = self

        class Computed(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * outer.scale + outer.offset)
        return Computed()


def add(folder, name, symbol, arguments, states, inputs):
    """Stores a symbol with its arrays; `inputs` maps names to values. Gives its outputs."""
    symbol.save(os.path.join(folder, name + "-symbol.json"))
    arrays = {"arg:" + k: v for k, v in arguments.items() if k in symbol.list_arguments()}
    arrays.update({"aux:" + k: v for k, v in states.items()})
    mx.nd.save(os.path.join(folder, name + "-0000.params"), arrays)
    entry = {"name": name, "framework": "mxnet", "model": [name + "-symbol.json", name + "-0000.params"], "inputs": [], "outputs": [],
             "rtol": 1e-4, "atol": 1e-5, "ops": []}
    given = {k: mx.nd.array(v) for k, v in inputs.items()}
    for k, v in inputs.items():
        np.save(os.path.join(folder, "%s.%s.npy" % (name, k)), v)
        entry["inputs"].append({"name": k, "file": "%s.%s.npy" % (name, k)})
    shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(**{k: v.shape for k, v in inputs.items()})[0]))
    rest = {k: mx.nd.zeros(s) for k, s in shapes.items() if k not in given and k not in arguments}
    known = {k: v for k, v in arguments.items() if k in shapes}
    run = symbol.bind(mx.cpu(), {**known, **given, **rest}, aux_states=dict(states))
    results = run.forward(is_train=False)
    for i, (output, result) in enumerate(zip(symbol.list_outputs(), results)):
        np.save(os.path.join(folder, "%s.out%d.npy" % (name, i)), result.asnumpy())
        entry["outputs"].append({"name": output, "file": "%s.out%d.npy" % (name, i)})
    CASES.append(entry)
    return [r.asnumpy() for r in results]


def random_arrays(symbol, **shapes):
    rng = np.random.RandomState(1)
    arguments, _, states = symbol.infer_shape(**shapes)
    made = {n: mx.nd.array(rng.normal(0, 0.2, s)) for n, s in zip(symbol.list_arguments(), arguments) if n not in shapes}
    kept = {n: mx.nd.array(rng.uniform(0.5, 1.5, s) if n.endswith("var") else rng.normal(0, 0.1, s))
            for n, s in zip(symbol.list_auxiliary_states(), states)}
    return made, kept


def gluon(folder, name, net, *inputs):
    """A block, exported."""
    mx.random.seed(1)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(*[mx.nd.array(x) for x in inputs])
    path = os.path.join(folder, name)
    net.export(path)
    symbol = mx.sym.load(path + "-symbol.json")
    arrays = mx.nd.load(path + "-0000.params")
    names = [n for n in symbol.list_arguments() if "arg:" + n not in arrays]
    shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(**{n: x.shape for n, x in zip(names, inputs)})[0]))
    inputs += tuple(np.zeros(shapes[n], np.float32) for n in names[len(inputs):])  # states
    add(folder, name, symbol, {k[4:]: v for k, v in arrays.items() if k.startswith("arg:")},
        {k[4:]: v for k, v in arrays.items() if k.startswith("aux:")}, dict(zip(names, inputs)))


def image(*shape):
    return np.random.RandomState(2).uniform(-1, 1, shape).astype(np.float32)


def ssd():
    """Two feature maps with MultiBox layers."""
    s = mx.sym
    x = s.Variable("data")
    first = s.Activation(s.Convolution(x, kernel=(3, 3), num_filter=8, stride=(4, 4), name="c1"), act_type="relu")
    second = s.Activation(s.Convolution(first, kernel=(3, 3), num_filter=8, stride=(2, 2), name="c2"), act_type="relu")
    scores, places, anchors = [], [], []
    for i, (f, size) in enumerate(((first, 0.2), (second, 0.5))):
        anchors.append(s.contrib.MultiBoxPrior(f, sizes=(size, size * 1.2), ratios=(1, 2, 0.5)))
        c = s.Convolution(f, kernel=(3, 3), pad=(1, 1), num_filter=4 * 4, name="cls%d" % i)
        scores.append(s.Flatten(s.transpose(c, axes=(0, 2, 3, 1))))
        p = s.Convolution(f, kernel=(3, 3), pad=(1, 1), num_filter=4 * 4, name="loc%d" % i)
        places.append(s.Flatten(s.transpose(p, axes=(0, 2, 3, 1))))
    c = s.transpose(s.Reshape(s.Concat(*scores, dim=1), shape=(0, -1, 4)), axes=(0, 2, 1))
    return s.contrib.MultiBoxDetection(s.SoftmaxActivation(c, mode="channel"), s.Concat(*places, dim=1), s.Concat(*anchors, dim=1), name="detection",
                                       threshold=0.3, nms_threshold=0.45, nms_topk=50)


def language_model():
    s = mx.sym
    x = s.swapaxes(s.Embedding(s.Variable("data"), input_dim=20, output_dim=6, name="embed"), dim1=0, dim2=1)
    y = s.RNN(x, s.Variable("lstm_parameters"), s.Variable("begin_h", shape=(2, 0, 8), init=mx.init.Zero()), s.Variable("begin_c", shape=(2, 0, 8), init=mx.init.Zero()),
              state_size=8, num_layers=2, mode="lstm", name="lstm")
    return s.SoftmaxOutput(s.FullyConnected(s.Reshape(y, shape=(-1, 8)), num_hidden=20, name="out"), s.Variable("softmax_label"), name="softmax")


class Style(nn.HybridBlock):
    """Instance normalization, residuals and enlarging, as style transfer has them."""

    def __init__(self):
        super().__init__()
        self.a, self.n = nn.Conv2D(8, 3, strides=2, padding=1), nn.InstanceNorm()
        self.b, self.m = nn.Conv2D(8, 3, padding=1), nn.InstanceNorm()
        self.c = nn.Conv2D(3, 3, padding=1)

    def hybrid_forward(self, F, x):
        x = F.relu(self.n(self.a(F.pad(x, mode="reflect", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)))))
        x = x + self.m(self.b(x))
        return F.tanh(self.c(F.UpSampling(x, scale=2, sample_type="nearest", num_args=1)))


def write_cases(folder):
    with open(os.path.join(folder, "cases.json"), "w") as f:
        json.dump(CASES, f, indent=1)
    CASES.clear()


def small_networks(folder, record):
    """Those of the tests. The last one has a Custom layer."""
    found = {}
    for name, make in mxnet_networks.NETWORKS.items():
        to = folder
        if name == "custom":
            write_cases(folder)
            to = os.path.join(folder, "custom")
            os.makedirs(to, exist_ok=True)
        net = make()
        net.write(to, "small_" + name)
        arrays = {k: mx.nd.array(v) for k, v in net.arrays.items()}
        result = add(to, "small_" + name, mx.sym.load(os.path.join(to, "small_%s-symbol.json" % name)), {k[4:]: v for k, v in arrays.items() if k.startswith("arg:")},
                     {k[4:]: v for k, v in arrays.items() if k.startswith("aux:")}, net.inputs)[0]
        found[name] = {"shape": list(result.shape), "values": [float("%.7g" % v) for v in result.reshape(-1)]}
        write_cases(to) if to != folder else None
    if record:
        with open(RECORDED, "w") as f:
            f.write("{\n%s\n}\n" % ",\n".join(json.dumps(n) + ": " + json.dumps(v) for n, v in found.items()))
    with open(RECORDED) as f:
        recorded = json.load(f)
    for name, v in found.items():
        np.testing.assert_allclose(v["values"], recorded[name]["values"], rtol=1e-4, atol=1e-5, err_msg=name)


def main(folder, record):
    os.makedirs(folder, exist_ok=True)
    gluon(folder, "resnet18_v2", vision.resnet18_v2(classes=10), image(1, 3, 64, 64))
    gluon(folder, "mobilenet", vision.mobilenet0_25(classes=10), image(1, 3, 64, 64))
    gluon(folder, "style", Style(), image(1, 3, 16, 16))
    gluon(folder, "gluon_gru", rnn.GRU(5, 2, bidirectional=True), image(4, 2, 3))
    s = ssd()
    add(folder, "ssd", s, *random_arrays(s, data=(1, 3, 64, 64)), {"data": image(1, 3, 64, 64)})
    s = language_model()
    arguments, states = random_arrays(s, data=(2, 5))
    for name in ("begin_h", "begin_c", "softmax_label"):
        arguments.pop(name)
    add(folder, "language_model", s, arguments, states, {"data": np.array([[1, 2, 3, 4, 5], [19, 0, 7, 7, 8]], np.float32)})
    small_networks(folder, record)


main(sys.argv[1], "--record" in sys.argv[2:])
