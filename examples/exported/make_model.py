#!/usr/bin/env python3
"""Writes exported.pt2: what torch.export.save writes of a small network with an operator of torch.library, without torch.

  y = coshc(relu(x @ w.T + b), gain=2.0), where acme::coshc is the user's; the batch is free.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import pt2_writer as pt


def main(path):
    nodes = [
        pt.node("torch.ops.aten.linear.default", [("input", pt.tensor("x")), ("weight", pt.tensor("p_w")), ("bias", pt.tensor("p_b"))],
                ["linear"], ("net.py", 12), "head"),
        pt.node("torch.ops.aten.relu_.default", [("self", pt.tensor("linear"))], ["relu_"], ("net.py", 13)),
        pt.node("torch.ops.acme.coshc.default", [("x", pt.tensor("relu_")), ("gain", {"as_float": 2.0})], ["coshc"], ("net.py", 14), "act"),
    ]
    values = {"x": pt.meta(["batch", 3]), "p_w": pt.meta([2, 3]), "p_b": pt.meta([2])}
    values.update({name: pt.meta(["batch", 2]) for name in ("linear", "relu_", "coshc")})
    stored = [("parameter", "p_w", "head.weight"), ("parameter", "p_b", "head.bias")]
    weights = {"head.weight": (pt.floats(1, 0, -1, 0.5, 0.5, 0.5), pt.meta([2, 3])), "head.bias": (pt.floats(0, 1), pt.meta([2]))}
    with open(path, "wb") as f:
        f.write(pt.archive(pt.program(nodes, ["x"], ["coshc"], values, stored), weights))


if __name__ == "__main__":
    main(sys.argv[1])
