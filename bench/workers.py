"""Starts bench/engine.py for every engine, has the engines take turns, and compares what they compute."""
import json
import os
import select
import signal
import statistics
import subprocess
import time
from collections import namedtuple

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 180  # seconds for an answer

# python: the interpreter; path: added to its modules; extension: what it needs for models with custom operations.
Engine = namedtuple("Engine", "name python path extension")


class Failed(Exception):
    """An engine that crashed, refused or did not answer."""


class Worker:
    def __init__(self, engine, model, inputs, threads, work, custom=False, profile=False):
        self.engine = engine.name
        self.outputs = os.path.join(work, engine.name + ".outputs.npz")
        self.log = open(os.path.join(work, engine.name + ".log"), "w+")
        environment = dict(os.environ, PYTHONPATH=engine.path, OMP_NUM_THREADS=str(threads), **({"BENCH_PROFILE": "1"} if profile else {}))
        command = [engine.python, os.path.join(HERE, "engine.py"), engine.name, model, inputs, str(threads), self.outputs] + [engine.extension] * custom
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=environment)
        try:
            first = self.answer()
        except Failed:
            self.close()
            raise
        self.start, self.version = first["start"], first["version"]

    def answer(self):
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.process.kill()
            raise Failed("no answer in %d s" % PATIENCE)
        line = self.process.stdout.readline()
        if not line:
            raise Failed(self.reason())
        return json.loads(line)

    def ask(self, question):
        try:
            self.process.stdin.write((question + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return self.answer()

    def reason(self):
        status = self.process.wait()
        if status < 0:
            return "crashed with " + signal.Signals(-status).name
        self.log.seek(0)
        lines = [line.strip() for line in self.log if line.strip()]
        errors = [line for line in lines if "rror" in line]
        return (errors or lines or ["status %d" % status])[-1][:200]

    def values(self):
        with np.load(self.outputs) as f:
            return [f[k] for k in f.files]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def difference(got, expected):
    """The largest difference in parts of the largest value, over all outputs."""
    if len(got) != len(expected):
        return float("inf")
    worst = 0.0
    for a, b in zip(got, expected):
        if a.shape != b.shape:
            return float("inf")
        a, b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(b)
        if not np.isfinite(a[finite]).all() or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return float("inf")
        if finite.any():
            worst = max(worst, float(np.abs(a[finite] - b[finite]).max() / max(np.abs(b[finite]).max(), 1e-30)))
    return worst


class Race:
    """All engines on one model with a number of threads; `figures` holds for each engine what was measured or why it was not."""

    def __init__(self, engines, model, inputs, threads, work, custom=False, tolerance=1e-3, clock="wall"):
        self.figures, self.workers, self.clock = {}, {}, clock
        start = lambda e: Worker(e, model, inputs, threads, work, custom)
        self.starters = {e.name: (lambda e=e: start(e)) for e in engines}
        for e in engines:
            self.figures[e.name] = {"status": "ok", "starts": [], "rounds": []}
            try:
                self.workers[e.name] = w = start(e)
                self.figures[e.name].update(version=w.version, starts=[w.start[clock]])
            except Failed as why:
                self.fail(e.name, "failed", str(why))
        self.compare(tolerance)

    def fail(self, name, status, why):
        self.figures[name].update(status=status, why=why)
        if name in self.workers:
            self.workers.pop(name).close()

    def compare(self, tolerance):
        """ONNX Runtime's outputs are the reference; without it, the first peer's."""
        peers = [n for n in ("onnxruntime", "openvino", "opencv") if n in self.workers]
        if not peers:
            return
        expected = self.workers[peers[0]].values()
        for name in list(self.workers):
            off = difference(self.workers[name].values(), expected)
            self.figures[name]["difference"] = off
            if off > tolerance:
                self.fail(name, "mismatch", "outputs differ from those of %s by %.2g of the largest value" % (peers[0], off))

    def restart(self, count):
        """Further fresh processes, for the time of the start."""
        for _ in range(count):
            for name in list(self.workers):
                try:
                    w = self.starters[name]()
                    self.figures[name]["starts"].append(w.start[self.clock])
                    w.close()
                except Failed as why:
                    self.fail(name, "failed", str(why))

    def run(self, rounds, seconds):
        """Rounds of all engines one after the other; a pause lets the threads of the last one go to sleep."""
        for i in range(-1, rounds):  # the first is to warm up
            for name in list(self.workers):
                try:
                    ms = self.workers[name].ask("time %g %s" % (seconds if i >= 0 else min(seconds, 0.2), self.clock))
                    if i >= 0:
                        self.figures[name]["rounds"].append(ms)
                except Failed as why:
                    self.fail(name, "failed", str(why))
                time.sleep(0.02)
        for name in list(self.workers):
            try:
                self.figures[name]["memory"] = self.workers[name].ask("memory")
            except Failed as why:
                self.fail(name, "failed", str(why))

    def close(self):
        for w in self.workers.values():
            w.close()
        self.workers = {}


def ratio(figures, peers=None):
    """(Best peer's time over ours, that peer): for each peer the median over the rounds; None where nothing can be compared."""
    ours = figures["graft"]
    found = []
    for name, theirs in figures.items():
        if name != "graft" and (peers is None or name in peers) and ours["status"] == theirs["status"] == "ok" and theirs["rounds"]:
            found.append((statistics.median(t / o for t, o in zip(theirs["rounds"], ours["rounds"])), name))
    return min(found) if found else None


def machine():
    with open("/proc/cpuinfo") as f:
        lines = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    with open("/proc/cpuinfo") as f:
        flags = next((line.split() for line in f if line.startswith("flags")), [])
    sets = [s for s in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile") if s in flags]
    return {"cpu": lines[0] if lines else "unknown", "cores": os.cpu_count(), "sets": sets}
