#!/usr/bin/env python3
"""The real-time factor of a Kaldi TDNN-F: seconds of computation per second of speech, for 10 s in one utterance with one thread,
beside ONNX Runtime with the same network.

  bench/realtime.py --graft PYTHON [--build build] [--rounds 5] [--seconds 2] [--clock wall|cpu]

Runs in an environment with onnxruntime; PYTHON has the package for Python of --build. The network is converted to
ONNX in two forms (bench/tdnnf.py); the faster one counts. The results are compared before anything is measured.
"""
import argparse
import os
import statistics
import sys
import tempfile

import numpy as np

import tdnnf
from workers import Engine, Failed, Worker, difference, machine

SECONDS, FRAMES_PER_SECOND, TOLERANCE = 10, 100, 1e-3


def start(engines, files, inputs, work):
    """Workers by name; each has computed the utterance once."""
    workers = {}
    for name, (engine, form) in engines.items():
        folder = os.path.join(work, name.replace(" ", "_"))
        os.makedirs(folder)
        try:
            workers[name] = Worker(engine, files[form], inputs, 1, folder)
        except Failed as why:
            print("%-30s failed: %s" % (name, why))
    return workers


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--graft", required=True, help="a Python that finds NumPy; the package comes from --build")
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2, help="of each engine in a round")
    p.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    o = p.parse_args()
    graft = Engine("graft", o.graft, os.path.join(os.path.abspath(o.build), "python"), "")
    peer = Engine("onnxruntime", sys.executable, "", "")
    engines = {"graft": (graft, "kaldi"), "onnxruntime, convolutions": (peer, "convolutions"), "onnxruntime, matrix products": (peer, "matrix products")}
    with tempfile.TemporaryDirectory() as work:
        files, values, parameters = tdnnf.write(work, SECONDS * FRAMES_PER_SECOND)
        inputs = os.path.join(work, "inputs.npz")
        np.savez(inputs, **values)
        workers = start(engines, files, inputs, work)
        if "graft" not in workers:
            return 1
        print("TDNN-F with %.1f million parameters, %d frames (%d s), one thread, %s time, %s" % (parameters / 1e6, SECONDS * FRAMES_PER_SECOND, SECONDS, o.clock, machine()["cpu"]))
        ours = workers["graft"].values()
        far = {name: difference(w.values(), ours) for name, w in workers.items()}
        rounds = {name: [] for name in workers}
        for i in range(-1, o.rounds):  # the first is to warm up
            for name, w in workers.items():
                ms = w.ask("time %g %s" % (o.seconds if i >= 0 else 0.2, o.clock))
                if i >= 0:
                    rounds[name].append(ms / 1000)
        for w in workers.values():
            w.close()
    times = {name: statistics.median(r) for name, r in rounds.items()}
    for name, seconds in times.items():
        print("%-30s %6.3f s   real-time factor %.4f   %s" % (name, seconds, seconds / SECONDS, "" if name == "graft" else "results differ by %.1e of the largest" % far[name]))
    peers = [n for n in times if n != "graft"]
    if peers:
        best = min(peers, key=times.get)
        ratio = statistics.median(a / b for a, b in zip(rounds[best], rounds["graft"]))
        print("%s takes %.2f times as long as graft" % (best, ratio))
    return 1 if any(f > TOLERANCE for f in far.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
