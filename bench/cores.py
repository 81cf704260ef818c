#!/usr/bin/env python3
"""Graft on many cores, by numbers of threads, with and without a mask of cores, beside the engines that this Python has.

  bench/cores.py --graft DIR [--before DIR] [--threads 1,4,8,16] [--only bert,...] [--json FILE]

DIR holds bin/graft and lib/libgraft.so.0, with the other libraries that it needs in lib: `bench/cores.py --pack BUILD DIR` makes
one, so that the large machine needs nothing installed but Python with NumPy and onnx. Peers are those of onnxruntime and openvino
that can be imported. --before: another build of Graft, to compare with.

For each number of threads N every model runs twice: `asked`, with N threads asked for and all cores free, and `masked`, on N cores
with nothing asked for, as in a container. The engines take turns, round by round; a ratio is the best peer's time over ours, the
median over the rounds. `throughput` runs as many inferences per second as an engine can on all cores.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Of the C library, which every machine has in its own version.
OWN = ("libc.so", "libm.so", "libgcc_s", "libstdc++", "libdl.so", "libpthread", "librt.so", "ld-linux")


def pack(build, to):
    os.makedirs(os.path.join(to, "bin"), exist_ok=True)
    os.makedirs(os.path.join(to, "lib"), exist_ok=True)
    library = os.path.join(build, "lib", "libgraft.so.0")
    shutil.copy2(os.path.join(build, "bin", "graft"), os.path.join(to, "bin"))
    found = [line.split()[2] for line in subprocess.check_output(["ldd", library], text=True).splitlines() if "=> /" in line]
    for path in [library] + [p for p in found if not os.path.basename(p).startswith(OWN)]:
        copy = os.path.join(to, "lib", os.path.basename(path))
        shutil.copy2(os.path.realpath(path), copy)
        subprocess.call(["strip", copy], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def on_cores(count):
    """Processes that start inside see `count` cores; None: all."""
    every = os.sched_getaffinity(0)
    try:
        if count:
            os.sched_setaffinity(0, sorted(every)[:count])
        yield
    finally:
        os.sched_setaffinity(0, every)


class Graft:
    """A build of Graft: a process for each measurement."""

    def __init__(self, name, folder):
        self.name, self.folder = name, os.path.abspath(folder)

    def bench(self, model, inputs, *options):
        given = [part for key, path in inputs.items() for part in ("--input", "%s=%s" % (key, path))]
        command = [os.path.join(self.folder, "bin", "graft"), "bench", model, *given, "--json", *options]
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(self.folder, "lib"))
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
        return json.loads(done.stdout)

    def latency(self, model, inputs, threads, seconds):
        asked = ["--nthreads", str(threads)] if threads else []
        return self.bench(model, inputs, "--api", "sync", "-t", str(seconds), *asked)["latency_ms"]["median"]

    def throughput(self, model, inputs, seconds):
        return self.bench(model, inputs, "--hint", "throughput", "-t", str(seconds))["throughput_fps"]


PEER = r"""
import json, os, statistics, sys, threading, time
import numpy as np
name, model, given, threads, seconds, mode = sys.argv[1:]
threads, seconds = int(threads), float(seconds)
feed = {k: np.load(v) for k, v in json.loads(given).items()}
cores = len(os.sched_getaffinity(0))

def ort(threads):
    import onnxruntime as ort
    o = ort.SessionOptions()
    if threads:
        o.intra_op_num_threads = threads
    o.log_severity_level = 3
    s = ort.InferenceSession(model, o, providers=["CPUExecutionProvider"])
    return lambda: s.run(None, feed)

def openvino(threads, hint):
    import openvino as ov
    c = {"PERFORMANCE_HINT": hint, "INFERENCE_PRECISION_HINT": "bf16" if name == "openvino_bf16" else "f32"}
    if threads:
        c["INFERENCE_NUM_THREADS"] = threads
    core = ov.Core()
    return core.compile_model(core.read_model(model), "CPU", c)

def latency(call):
    call(), call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000

def counted(calls):
    counts, end = [0] * len(calls), [0.0]
    def work(i):
        while time.perf_counter() < end[0]:
            calls[i]()
            counts[i] += 1
    [c() for c in calls]
    start = time.perf_counter()
    end[0] = start + seconds
    all = [threading.Thread(target=work, args=(i,)) for i in range(len(calls))]
    [t.start() for t in all]
    [t.join() for t in all]
    return sum(counts) / (time.perf_counter() - start)

if mode == "latency":
    if name == "onnxruntime":
        call = ort(threads)
    else:
        r = openvino(threads, "LATENCY").create_infer_request()
        call = lambda: r.infer(feed, share_inputs=True, share_outputs=True)
    print(latency(call))
elif name == "onnxruntime":
    print(counted([ort(1) for _ in range(cores)]))
else:
    c = openvino(0, "THROUGHPUT")
    n = c.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
    made = [c.create_infer_request() for _ in range(n)]
    print(counted([lambda r=r: r.infer(feed, share_inputs=True, share_outputs=True) for r in made]))
"""


class Peer:
    def __init__(self, name):
        self.name = name

    def ask(self, model, inputs, threads, seconds, mode):
        command = [sys.executable, "-c", PEER, self.name, model, json.dumps(inputs), str(threads), str(seconds), mode]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr or "no reason").strip().splitlines()[-1])
        return float(done.stdout.split()[-1])

    def latency(self, model, inputs, threads, seconds):
        return self.ask(model, inputs, threads, seconds, "latency")

    def throughput(self, model, inputs, seconds):
        return self.ask(model, inputs, 0, seconds, "throughput")


def peers():
    found = [Peer("onnxruntime")] if importlib.util.find_spec("onnxruntime") else []
    if importlib.util.find_spec("openvino"):
        found += [Peer("openvino"), Peer("openvino_bf16")]
    return found


def measure(engines, rounds, ask):
    """Each engine's figure: the median over the rounds; and the ratios to `graft`, round by round."""
    figures = {e.name: [] for e in engines}
    for _ in range(rounds):
        for e in engines:
            try:
                figures[e.name].append(ask(e))
            except RuntimeError as why:
                print("  %s: %s" % (e.name, why))
    return {name: found for name, found in figures.items() if found}


def line(label, situation, figures, more_is_better):
    ours = figures.get("graft")
    f32 = [n for n in figures if n in ("onnxruntime", "openvino")]
    parts = ["%s %.4g" % (name, statistics.median(found)) for name, found in figures.items()]
    ratio = None
    if ours and f32:
        over = lambda name: statistics.median(o / t if more_is_better else t / o for t, o in zip(figures[name], ours))
        ratio = min(over(name) for name in f32)
    print("%-22s %-14s %s%s" % (label, situation, "  ".join(parts), "" if ratio is None else "   ratio %.2f" % ratio), flush=True)
    return ratio


def files(entry, folder):
    """The model, and each of its inputs in a file of its own."""
    import catalogue
    model, inputs = catalogue.write(entry, folder)
    given = {}
    with catalogue.np.load(inputs) as f:
        for key in f.files:
            given[key] = os.path.join(folder, "%s.%s.npy" % (entry.name, key))
            catalogue.np.save(given[key], f[key])
    return model, given


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pack", nargs=2, metavar=("BUILD", "DIR"), help="copy what a large machine needs of a build, and end")
    p.add_argument("--graft", metavar="DIR")
    p.add_argument("--before", metavar="DIR", help="another build of Graft")
    p.add_argument("--threads", default="", help="numbers of threads, separated by commas (1, 4, 8, 16 up to the number of cores)")
    p.add_argument("--only", default="resnet50,mobilenet_v2,bert,lstm,tdnn", help="names of bench/catalogue.py")
    p.add_argument("--situations", default="asked,masked,throughput")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=0.5, help="length of an engine's turn")
    p.add_argument("--json", metavar="FILE", help="write all figures")
    o = p.parse_args()
    if not o.pack and not o.graft:
        p.error("expected --graft DIR, or --pack BUILD DIR")
    cores = len(os.sched_getaffinity(0))
    o.threads = [int(t) for t in o.threads.split(",")] if o.threads else [t for t in (1, 4, 8, 16) if t <= cores]
    if max(o.threads) > cores:
        p.error("--threads: expected at most %d, the number of cores, got %d" % (cores, max(o.threads)))
    o.situations = o.situations.split(",")
    return o


def main():
    o = options()
    if o.pack:
        pack(*o.pack)
        return 0
    sys.path.insert(0, os.path.join(ROOT, "bench"))
    import catalogue
    import workers
    engines = [Graft("graft", o.graft)] + ([Graft("before", o.before)] if o.before else []) + peers()
    about = workers.machine()
    print("%s, %d cores, %s; %s" % (about["cpu"], len(os.sched_getaffinity(0)), " ".join(about["sets"]), ", ".join(e.name for e in engines)))
    whole = {"machine": about, "rounds": o.rounds, "seconds": o.seconds, "figures": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in o.only.split(","):
            entry = next(e for e in catalogue.ALL if e.name == name)
            model, inputs = files(entry, folder)
            for situation in o.situations:
                for threads in o.threads if situation != "throughput" else [0]:
                    asked = threads if situation == "asked" else 0
                    with on_cores(threads if situation == "masked" else None):
                        if situation == "throughput":
                            figures = measure(engines, 1, lambda e: e.throughput(model, inputs, 4 * o.seconds))
                        else:
                            figures = measure(engines, o.rounds, lambda e: e.latency(model, inputs, asked, o.seconds))
                    ratio = line(entry.label, "%s %d" % (situation, threads) if threads else situation, figures, situation == "throughput")
                    whole["figures"].append({"model": name, "situation": situation, "threads": threads, "figures": figures, "ratio": ratio})
    found = [f["ratio"] for f in whole["figures"] if f["ratio"]]
    if found:
        print("best f32 peer over graft: geometric mean %.3f, least %.2f" % (statistics.geometric_mean(found), min(found)))
    if o.json:
        with open(o.json, "w") as f:
            json.dump(whole, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
