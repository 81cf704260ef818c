#!/usr/bin/env python3
"""Writes an ONNX model whose input and output are sequences: it squares each item and puts one of its own behind them."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import onnx_writer as onnx  # noqa: E402


def main():
    body = onnx.graph("square", [onnx.node("Mul", ["item", "item"], ["square"])], [], [onnx.value("item", ["n"])], [onnx.value("square", ["n"])])
    nodes = [onnx.node("SequenceMap", ["x"], ["squares"], body=onnx.Graph(body)), onnx.node("SequenceInsert", ["squares", "last"], ["y"])]
    last = onnx.tensor("last", [4], [1, 2, 3, 4])
    sequence = [onnx.sequence(name, ["n"]) for name in ("x", "y")]
    with open(sys.argv[1], "wb") as f:
        f.write(onnx.model("pairs", nodes, [last], sequence[:1], sequence[1:], {"": 17}))


if __name__ == "__main__":
    main()
