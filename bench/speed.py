#!/usr/bin/env python3
"""Graft beside ONNX Runtime and OpenVINO on the same models, the same threads, taking turns.

  build/oracle/venv/bin/python bench/speed.py --graft build/bin/graft [--threads 2] [--rounds 5] [MODEL.onnx ...]

Each engine runs in a process of its own, one after the other, round by round; the figure is the median over the rounds of each
round's median latency.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


PEER = """
import sys, time, statistics, numpy as np
engine, path, threads, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
rng = np.random.default_rng(1)
def value(shape, kind):
    shape = [d if isinstance(d, int) and d > 0 else 1 for d in shape]
    return rng.standard_normal(shape).astype(np.float32) if "float" in kind or "f32" in kind else np.ones(shape, np.int64)
if engine == "onnxruntime":
    import onnxruntime as ort
    o = ort.SessionOptions(); o.intra_op_num_threads = threads; o.log_severity_level = 3
    s = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    feed = {i.name: value(i.shape, i.type) for i in s.get_inputs()}
    call = lambda: s.run(None, feed)
else:
    import openvino as ov
    c = ov.Core().compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    r = c.create_infer_request()
    feed = [value(list(p.shape), p.element_type.get_type_name()) for p in c.inputs]
    call = lambda: r.infer(feed)
for _ in range(3): call()
times, end = [], time.perf_counter() + seconds
while time.perf_counter() < end:
    t = time.perf_counter(); call(); times.append(1000 * (time.perf_counter() - t))
print(statistics.median(times))
"""


def run(command):
    p = subprocess.run(command, capture_output=True, text=True)
    return p.stdout if p.returncode == 0 else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--graft", required=True)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--work", default="build/bench")
    p.add_argument("models", nargs="*")
    o = p.parse_args()
    if not o.models:
        import models
        o.models = models.write_all(o.work)
    print("%-28s %12s %12s %12s   %s" % ("median ms, %d threads" % o.threads, "graft", "onnxruntime", "openvino", "graft is ... of the faster peer's speed"))
    for path in o.models:
        rounds = {"graft": [], "onnxruntime": [], "openvino": []}
        for _ in range(o.rounds):
            said = run([o.graft, "bench", path, "-t", str(o.seconds), "--api", "sync", "--nthreads", str(o.threads), "--json"])
            rounds["graft"].append(json.loads(said)["latency_ms"]["median"] if said else None)
            for peer in ("onnxruntime", "openvino"):
                said = run([sys.executable, "-c", PEER, peer, path, str(o.threads), str(o.seconds)])
                rounds[peer].append(float(said) if said else None)
        medians = {k: statistics.median(v) if None not in v else None for k, v in rounds.items()}
        peers = [v for k, v in medians.items() if k != "graft" and v]
        ratio = "%.2f" % (min(peers) / medians["graft"]) if peers and medians["graft"] else "?"
        print("%-28s %s   %s" % (os.path.basename(path)[:28], " ".join("%12s" % ("%.3f" % v if v else "cannot") for v in medians.values()), ratio), flush=True)


if __name__ == "__main__":
    main()
