#!/usr/bin/env python3
"""Writes exported programs of PyTorch as seeds for the fuzz target: raw and pickled weights, views, branches, loops.

  tests/fuzz/pytorch_seeds.py FOLDER
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import pt2_writer as pt


def graph(inputs, nodes, outputs):
    return {"as_graph": {"name": "g", "graph": {"inputs": [pt.tensor(i) for i in inputs], "outputs": [pt.tensor(o) for o in outputs],
                                                "nodes": nodes, "tensor_values": {}}}}


def tensors(*names):
    return {"as_tensors": [{"name": n} for n in names]}


def programs():
    x = ("self", pt.tensor("x"))
    add = pt.node("torch.ops.aten.add.Tensor", [x, ("other", pt.tensor("w"))], ["y"], ("net.py", 3))
    stored = pt.program([add], ["x"], ["y"], {n: pt.meta(["s0", 2] if n != "w" else [2]) for n in "xwy"}, [("parameter", "w", "w")])
    yield "raw", pt.archive(stored, {"w": (pt.floats(1, 2, 3, 4), pt.meta([2], strides=[2], offset=1))})
    yield "pickled", pt.flat(stored, pt.pickled_tensors({"w": ([1, 2, 3], [2], [1])}))
    views = [pt.node("torch.ops.aten.clone.default", [x], ["c"]),
             pt.node("torch.ops.aten.select.int", [("self", pt.tensor("c")), ("dim", {"as_int": 0}), ("index", {"as_int": 1})], ["s"]),
             pt.node("torch.ops.aten.transpose.int", [("self", pt.tensor("c")), ("dim0", {"as_int": 0}), ("dim1", {"as_int": 1})], ["t"]),
             pt.node("torch.ops.aten.mul_.Tensor", [("self", pt.tensor("s")), ("other", {"as_float": 2.0})], ["m"]),
             pt.node("torch.ops.aten.zero_.default", [("self", pt.tensor("t"))], ["z"])]
    yield "views", pt.archive(pt.program(views, ["x"], ["c", "m", "z"], {n: pt.meta([2, 2]) for n in "xctz"}))
    neg = pt.node("torch.ops.aten.neg.default", [("self", pt.tensor("a"))], ["b"])
    less = pt.node("torch.ops.aten.lt.Scalar", [("self", pt.tensor("a")), ("other", {"as_int": 3})], ["b"])
    more = pt.node("torch.ops.aten.add.Tensor", [("self", pt.tensor("a")), ("other", {"as_int": 1})], ["b"])
    branch = pt.node("torch.ops.higher_order.cond", [("", pt.tensor("x")), ("", graph(["a"], [neg], ["b"])), ("", graph(["a"], [more], ["b"])), ("", tensors("x"))], ["y"])
    yield "branches", pt.archive(pt.program([branch], ["x"], ["y"], {n: pt.meta([]) for n in "xy"}))
    loop = pt.node("torch.ops.higher_order.while_loop", [("", graph(["a"], [less], ["b"])), ("", graph(["a"], [more], ["b"])), ("", tensors("x")), ("", tensors())], ["y"])
    yield "loop", pt.archive(pt.program([loop], ["x"], ["y"], {n: pt.meta([]) for n in "xy"}))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name, content in programs():
        with open(os.path.join(folder, name + ".pt2"), "wb") as f:
            f.write(content)


if __name__ == "__main__":
    main(sys.argv[1])
