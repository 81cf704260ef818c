#!/usr/bin/env python3
"""A chain of custom operations in C++ on a few floats: what one call of such an operation costs, beside ONNX Runtime.

  bench/native_chain.py --build build [--onnxruntime PYTHON]

Graft runs bench/chain.cpp, an application with an operation of its own. ONNX Runtime runs NegPos, the smallest custom operation of
onnxruntime-extensions (it has two outputs), if PYTHON has that package, and Sign, an operation of its own, to compare.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LENGTH, SIZE, BAR = 100, 8, 60


def graft_figure(build):
    with tempfile.TemporaryDirectory() as folder:
        program, libraries = os.path.join(folder, "chain"), os.path.join(os.path.abspath(build), "lib")
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-I" + os.path.join(ROOT, "include"), os.path.join(ROOT, "bench", "chain.cpp"),
                        "-L" + libraries, "-lgraft", "-Wl,-rpath," + libraries, "-o", program], check=True)
        done = subprocess.run([program, os.path.join(folder, "chain.graph")], capture_output=True, text=True, check=True)
        return float(done.stdout)


def measure(kind):
    import numpy as np
    import onnx.helper as make
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    domain, more = "", 0
    if kind == "NegPos":
        import onnxruntime_extensions
        options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
        domain, more = "ai.onnx.contrib", 1
    nodes = [make.make_node(kind, ["t%d" % i], ["t%d" % (i + 1)] + ["u%d" % i] * more, domain=domain) for i in range(LENGTH)]
    ends = [make.make_tensor_value_info(name, 1, [1, SIZE]) for name in ("t0", "t%d" % LENGTH)]
    model = make.make_model(make.make_graph(nodes, "chain", ends[:1], ends[1:]), ir_version=9,
                            opset_imports=[make.make_opsetid("", 17), make.make_opsetid("ai.onnx.contrib", 1)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    bound = session.io_binding()
    bound.bind_cpu_input("t0", np.zeros((1, SIZE), np.float32))
    bound.bind_output("t%d" % LENGTH)
    session.run_with_iobinding(bound)
    best = float("inf")
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(20):
            session.run_with_iobinding(bound)
        best = min(best, (time.perf_counter() - start) / 20)
    print("%.1f" % (best * 1e9 / LENGTH))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--onnxruntime", metavar="PYTHON")
    p.add_argument("--measure")
    o = p.parse_args()
    if o.measure:
        return measure(o.measure)
    print("a chain of %d operations in C++ on %d floats, nanoseconds per operation (bar: %d)" % (LENGTH, SIZE, BAR))
    own = graft_figure(o.build)
    print("%-44s %8.1f%s" % ("graft, custom operation", own, "" if own < BAR else "  over the bar"))
    for kind, title in (("NegPos", "onnxruntime, custom operation (NegPos)"), ("Sign", "onnxruntime, own operation (Sign)")):
        if not o.onnxruntime:
            continue
        done = subprocess.run([o.onnxruntime, os.path.abspath(__file__), "--measure", kind], capture_output=True, text=True)
        print("%-44s %8s" % (title, done.stdout.strip() if done.returncode == 0 else "does not run"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
