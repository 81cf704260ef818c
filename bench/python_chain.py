#!/usr/bin/env python3
"""A chain of operations in Python on a few floats: what one call of such an operation costs, beside other engines.

  bench/python_chain.py --graft PYTHON [--opencv PYTHON] [--openvino PYTHON]

Each engine runs in a process of its own with the interpreter given for it, taking turns; the figure is the best of the rounds.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

LENGTH, SIZE, BAR = 100, 8, 1.5


class Layer:
    """The least that a layer can do: the figure is the cost of the call, not of NumPy."""

    def __init__(self, params, blobs):
        pass

    def getMemoryShapes(self, inputs):
        return inputs

    def forward(self, inputs):
        return inputs


class Doubled(Layer):
    def forward(self, inputs):
        return [inputs[0] + inputs[0]]


def prototxt(folder, layer):
    lines = ['input: "t0" input_shape { dim: 1 dim: %d }' % SIZE]
    lines += ['layer { name: "l%d" type: "%s" bottom: "t%d" top: "t%d" }' % (i, layer.__name__, i, i + 1) for i in range(LENGTH)]
    path = os.path.join(folder, "chain.prototxt")
    with open(path, "w") as f:
        f.write("\n".join(lines))
    return path


def graft_call(folder, layer, x):
    import graft
    graft.register_layer(layer.__name__, layer)
    request = graft.Core().read_model(prototxt(folder, layer)).compile(threads=1).create_infer_request()
    return lambda: request.infer(x)[0]


def opencv_call(folder, layer, x):
    import cv2
    cv2.dnn_registerLayer(layer.__name__, layer)
    net = cv2.dnn.readNetFromCaffe(prototxt(folder, layer))

    def run():
        net.setInput(x)
        return net.forward()

    return run


def openvino_call(folder, layer, x):
    import openvino as ov
    import openvino.opset13 as ops

    class Chained(ov.Op):
        def __init__(self, inputs=None):
            super().__init__(self, inputs)

        def validate_and_infer_types(self):
            self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

        def clone_with_new_inputs(self, inputs):
            return Chained(inputs)

        def evaluate(self, outputs, inputs):
            value = inputs[0].data if layer is Layer else inputs[0].data + inputs[0].data
            outputs[0].data[:] = value
            return True

        def has_evaluate(self):
            return True

    first = node = ops.parameter([1, SIZE], np.float32)
    for _ in range(LENGTH):
        node = Chained([node]).output(0) if node is not first else Chained([first.output(0)]).output(0)
    compiled = ov.Core().compile_model(ov.Model([ops.result(node)], [first], "chain"), "CPU")
    request = compiled.create_infer_request()
    return lambda: request.infer([x])[0]


def measure(engine):
    for layer in (Layer, Doubled):
        with tempfile.TemporaryDirectory() as folder:
            x = np.zeros((1, SIZE), np.float32)
            call = {"graft": graft_call, "opencv": opencv_call, "openvino": openvino_call}[engine](folder, layer, x)
            call()
            best = float("inf")
            for _ in range(20):
                start = time.perf_counter()
                for _ in range(20):
                    call()
                best = min(best, (time.perf_counter() - start) / 20)
            print("%.3f" % (best * 1e6 / LENGTH))


def figures(python, engine):
    done = subprocess.run([python, os.path.abspath(__file__), "--measure", engine], capture_output=True, text=True)
    return [float(v) for v in done.stdout.split()] if done.returncode == 0 else None


def main():
    p = argparse.ArgumentParser()
    for engine in ("graft", "opencv", "openvino"):
        p.add_argument("--" + engine, metavar="PYTHON")
    p.add_argument("--measure")
    o = p.parse_args()
    if o.measure:
        return measure(o.measure)
    print("a chain of %d operations in Python on %d floats, microseconds per operation (bar: %.1f)" % (LENGTH, SIZE, BAR))
    print("%-12s %16s %16s" % ("", "returns its input", "adds two arrays"))
    status = 0
    for engine in ("graft", "opencv", "openvino"):
        if not getattr(o, engine):
            continue
        found = figures(getattr(o, engine), engine)
        if not found:
            print("%-12s does not run" % engine)
            status = status or engine == "graft"
            continue
        over = "  over the bar" if engine == "graft" and found[0] >= BAR else ""
        print("%-12s %16.2f %16.2f%s" % (engine, *found, over))
    return status


if __name__ == "__main__":
    if "--measure" in sys.argv:
        import numpy as np
    sys.exit(main())
