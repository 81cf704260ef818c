"""Writes tests/readers/mxnet_other.test: operators of MXNet under other names, and those that it computes on GPUs alone, with values
from their definitions in NumPy.

    python3 tests/oracle/mxnet_other.py tests/readers
"""
import json
import sys

import numpy as np

OUT = []


def f(*v):
    return np.array(v, np.float32)


def tensor(a):
    numbers = (str(int(v)) if v == int(v) else repr(round(float(v), 6)) for v in np.asarray(a).reshape(-1))
    return "f32[%s] {%s}" % (",".join(map(str, a.shape)), ", ".join(numbers))


def symbol(nodes, outputs=1):
    heads = [[len(nodes) - 1, i, 0] for i in range(outputs)]
    return '{"nodes": [%s],\n "heads": %s, "attrs": {"mxnet_version": ["int", 10901]}}' % (",\n  ".join(json.dumps(n) for n in nodes), json.dumps(heads))


def case(name, op, attrs, inputs, results, weights=()):
    """`inputs` and `weights` are arrays by name, the inputs of the operator in order."""
    weights = dict(weights)
    nodes = [{"op": "null", "name": n, "attrs": {"__shape__": str(a.shape)}} for n, a in inputs.items()] + [{"op": "null", "name": n} for n in weights]
    order = list(inputs) + list(weights)
    if op == "RNN":  # its weights are the second input
        order = ["x", "w"] + [n for n in inputs if n != "x"]
        nodes = [nodes[0]] + [{"op": "null", "name": n} for n in order[1:]]  # a state with a shape begins with zeros
    node = {"op": op, "name": "n", "attrs": attrs, "inputs": [[i, 0, 0] for i in range(len(order))]}
    nodes.append({k: v for k, v in node.items() if v})
    text = "== %s\nmxnet <<<\n%s\n>>>\n" % (name, symbol(nodes, len(results)))
    if weights:
        text += "weights {%s}\n" % ", ".join('"arg:%s": %s' % (n, tensor(a)) for n, a in weights.items())
    text += "".join("%s = %s\n" % (n, tensor(a)) for n, a in inputs.items())
    OUT.append(text + "".join("-> %s\n" % tensor(r) for r in results) + "tolerance 1e-4\n")


def names():
    x, y = f(1, 2, 3, 4).reshape(2, 2), f(1, 0, 2, 1).reshape(2, 2)
    gamma, beta, rows = f(2, 3), f(10, 20), f(1, 2, 3, 4, 5, 6).reshape(2, 3)
    case("ElementWiseSum", "ElementWiseSum", {"num_args": "3"}, {"x": f(1, 2), "y": f(3, 4), "z": f(-1, 5)}, [f(3, 11)])
    case("_Plus", "_Plus", {}, {"x": f(1, 2), "y": f(3, 4)}, [f(4, 6)])
    # Boxes of 16 x 16 at four places, without offsets; the three with the best scores. The first channel has the scores of the background.
    scores = f(.9, .2, .6, .4, .1, .8, .4, .6).reshape(1, 2, 2, 2)
    case("Custom proposal", "Custom", {"op_type": "proposal", "feat_stride": "16", "ratios": "(1,)", "rpn_min_size": "1", "rpn_post_nms_top_n": "3", "rpn_pre_nms_top_n": "4", "scales": "(1,)", "threshold": "0.7"},
         {"x": scores, "y": np.zeros((1, 4, 2, 2), np.float32), "z": f(32, 32, 1).reshape(1, 3)}, [f(0, 16, 0, 31, 15, 0, 16, 16, 31, 31, 0, 0, 16, 15, 31).reshape(3, 5)])
    case("ScaleShift", "ScaleShift", {"fix_gamma": "False"}, {"x": x}, [x * gamma + beta], {"g": gamma, "b": beta})
    case("ScaleShift with a fixed factor", "ScaleShift", {}, {"x": x}, [x + beta], {"g": gamma, "b": beta})
    case("Tile", "Tile", {"reps": "(1, 2)"}, {"x": x}, [np.tile(x, (1, 2))])
    case("swapaxes", "swapaxes", {"dim1": "0", "dim2": "1"}, {"x": x}, [x.T])
    case("cumsum", "cumsum", {"axis": "0"}, {"x": x}, [np.cumsum(x, 0)])
    case("_np_roll", "_np_roll", {"shift": "1", "axis": "1"}, {"x": rows}, [np.roll(rows, 1, 1)])
    case("_npi_einsum", "_npi_einsum", {"subscripts": "ij,jk->ik", "num_args": "2"}, {"x": x, "y": y}, [x @ y])
    nodes = [{"op": "_random_uniform", "name": "r", "attrs": {"low": "4", "high": "4.9", "shape": "(2, 3)"}}, {"op": "floor", "name": "f", "inputs": [[0, 0, 0]]}]
    OUT.append("== _random_uniform, whose values are any in a range\nmxnet <<<\n%s\n>>>\n-> %s\n" % (symbol(nodes), tensor(np.full((2, 3), 4.0))))


def transforms():
    """Pairs of real and imaginary parts."""
    x = f(1, 2, -1, 0.5, 0, 3, 1, 1).reshape(2, 4)
    y = np.fft.fft(x)
    pairs = np.stack([y.real, y.imag], -1).reshape(2, 8).astype(np.float32)
    case("_contrib_fft", "_contrib_fft", {"compute_size": "128"}, {"x": x}, [pairs])
    case("_contrib_fft of images", "_contrib_fft", {}, {"x": x.reshape(1, 1, 2, 4)}, [pairs.reshape(1, 1, 2, 8)])
    case("_contrib_ifft, which does not divide by the length", "_contrib_ifft", {}, {"x": pairs}, [x * 4])


# ---- LSTM whose state is projected to fewer elements ----

def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def projected_lstm(x, cells, h0, c0, directions):
    """`cells`: for each layer and direction W, R, P and two biases; gates in MXNet's order: input, forget, new, output."""
    last_h, last_c = [], []
    for first in range(0, len(cells), directions):
        outputs = []
        for d in range(directions):
            w, r, p, bw, br = cells[first + d]
            h, c, rows = h0[first + d], c0[first + d], [None] * len(x)
            for t in range(len(x)) if d == 0 else reversed(range(len(x))):
                i, forget, new, out = np.split(x[t] @ w.T + bw + h @ r.T + br, 4, axis=-1)
                c = sigmoid(forget) * c + sigmoid(i) * np.tanh(new)
                h = rows[t] = (sigmoid(out) * np.tanh(c)) @ p.T
            outputs.append(np.stack(rows))
            last_h.append(h), last_c.append(c)
        x = np.concatenate(outputs, -1)
    return x, np.stack(last_h), np.stack(last_c)


def recurrent(name, layers, directions, states):
    rng = np.random.RandomState(layers * 2 + directions)
    random = lambda *shape: np.round(rng.uniform(-1, 1, shape), 2).astype(np.float32)
    steps, batch, elements, hidden, projected, count = 3, 2, 2, 3, 2, layers * directions
    cells = [[random(4 * hidden, elements if i < directions else projected * directions), random(4 * hidden, projected), random(projected, hidden),
              random(4 * hidden), random(4 * hidden)] for i in range(count)]
    w = np.concatenate([a.reshape(-1) for c in cells for a in c[:3]] + [a for c in cells for a in c[3:]])
    x = random(steps, batch, elements)
    h, c = (random(count, batch, n) if states else np.zeros((count, batch, n), np.float32) for n in (projected, hidden))
    attrs = {"mode": "lstm", "state_size": str(hidden), "num_layers": str(layers), "projection_size": str(projected), "state_outputs": "True"}
    if directions == 2:
        attrs["bidirectional"] = "True"
    case(name, "RNN", attrs, {"x": x, **({"h": h, "c": c} if states else {})}, projected_lstm(x.astype(np.float64), cells, h, c, directions), {"w": w})


def refusals():
    for name, old, new, said in (("a projection larger than its state", '"projection_size": "2"', '"projection_size": "4"', "expected 'projection_size' of 1 to 3, the size of the state, got 4"),
                                 ("mode gru and a projection", '"mode": "lstm"', '"mode": "gru"', "'projection_size' is for the mode lstm, got 'gru'")):
        OUT.append("== RNN with %s\nlike RNN lstm with a projection\nreplace %s %s\nerror: %s\n" % (name, json.dumps(old), json.dumps(new), said))


names()
transforms()
recurrent("RNN lstm with a projection", 1, 1, False)
recurrent("RNN lstm with a projection and first states", 1, 1, True)
recurrent("RNN lstm with a projection, 2 layers, both directions and first states", 2, 2, True)
refusals()
with open(sys.argv[1] + "/mxnet_other.test", "w") as file:
    file.write("# Operators of MXNet under other names, and those that it computes on GPUs alone. Made by tests/oracle/mxnet_other.py.\n\n" + "\n".join(OUT))
