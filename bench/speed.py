#!/usr/bin/env python3
"""Graft beside OpenVINO, ONNX Runtime and OpenCV on the same models, the same threads, taking turns.

  build/oracle/venv/bin/python bench/speed.py --graft PYTHON [--quick] [--only NAME,...] [--json FILE] [MODEL.onnx ...]

Each engine runs in a process of its own. The outputs are compared with those of ONNX Runtime first; an engine that computes
something else is reported and not used. Then all engines run one after the other, round by round. A figure is the best
peer's time over ours, the median over the rounds of the ratio within a round: above 1, Graft is ahead. All models are
written by bench/catalogue.py; MODEL.onnx are further ones, with inputs beside them in MODEL.npz or random.
"""
import argparse
import datetime
import importlib.util
import json
import os
import sys
import tempfile

import onnx

import catalogue
import custom_ops
import report
import workers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = {"openvino": "openvino", "openvino_cpp": "openvino", "onnxruntime": "onnxruntime", "opencv": "cv2"}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--graft", required=True, metavar="PYTHON", help="the interpreter that the Python package was built for")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--extension", default="", help="library built from bench/custom; without it, models with custom operations are left out")
    p.add_argument("--openvino-extension", default="", help="library built from bench/custom/openvino: OpenVINO with operations in C++, too")
    p.add_argument("--work", default=os.path.join(ROOT, "build", "bench"))
    p.add_argument("--threads", help="numbers of threads, separated by commas (1,2; quick: 1)")
    p.add_argument("--rounds", type=int, help="(5; quick: 2)")
    p.add_argument("--seconds", type=float, help="length of an engine's turn (0.6; quick: 0.2)")
    p.add_argument("--starts", type=int, help="fresh processes for the time of load, compilation and first inference (3; quick: 1)")
    p.add_argument("--quick", action="store_true", help="less of everything")
    p.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: the processor's time, for one thread on a busy machine")
    p.add_argument("--only", default="", help="names of models, separated by commas: " + ", ".join(e.name for e in catalogue.ALL))
    p.add_argument("--engines", default=",".join(PEERS), help="peers to run")
    p.add_argument("--json", default="", metavar="FILE", help="write all figures")
    p.add_argument("models", nargs="*")
    o = p.parse_args()
    for name, usual, quick in (("threads", "1,2", "1"), ("rounds", 5, 2), ("seconds", 0.6, 0.2), ("starts", 3, 1)):
        if getattr(o, name) is None:
            setattr(o, name, quick if o.quick else usual)
    o.threads = [int(t) for t in o.threads.split(",")]
    if o.clock == "cpu" and o.threads != [1]:
        p.error("--clock cpu: expected --threads 1, got %s" % o.threads)
    for option, given, known in (("--only", o.only, [e.name for e in catalogue.ALL]), ("--engines", o.engines, PEERS)):
        unknown = sorted(set(filter(None, given.split(","))) - set(known))
        if unknown:
            p.error("%s: expected names among %s, got %s" % (option, ", ".join(known), ", ".join(unknown)))
    return o


def engines_of(o):
    found = [workers.Engine("graft", o.graft, os.path.join(o.build, "python"), os.path.abspath(o.extension))]
    for name in filter(None, o.engines.split(",")):
        if not importlib.util.find_spec(PEERS[name]):
            print("without %s: the package is not installed" % name)
        elif name != "openvino_cpp":
            found.append(workers.Engine(name, sys.executable, "", "python"))
        elif o.openvino_extension:
            found.append(workers.Engine(name, sys.executable, "", os.path.abspath(o.openvino_extension)))
    return found


def entries_of(o):
    if o.models:
        return [catalogue.Entry(path, os.path.basename(path)[:-len(".onnx")], "other", None, catalogue.BY_ONNX_RUNTIME) for path in o.models]
    only = set(filter(None, o.only.split(",")))
    chosen = [e for e in catalogue.ALL if not only or e.name in only]
    if not o.extension:
        left = [e.label for e in chosen if catalogue.has_custom(e)]
        print("without --extension: %s left out" % ", ".join(left)) if left else None
        chosen = [e for e in chosen if not catalogue.has_custom(e)]
    return chosen


def files_of(e, o):
    if e.make:
        return catalogue.write(e, os.path.join(o.work, "models"))
    inputs = e.name[:-len(".onnx")] + ".npz"
    if not os.path.exists(inputs):
        inputs = os.path.join(o.work, e.label + ".npz")
        catalogue.np.savez(inputs, **catalogue.inputs_of(onnx.load(e.name, load_external_data=False)))
    return e.name, inputs


def measure(e, engines, o, folder):
    """All figures of a model, for each number of threads."""
    model, inputs = files_of(e, o)
    custom = catalogue.has_custom(e)
    names, engines = [g.name for g in engines], [g for g in engines if custom or g.name != "openvino_cpp"]
    found = {"name": e.name, "label": e.label, "kind": e.kind, "threads": {}}
    for threads in o.threads:
        race = workers.Race(engines, model, inputs, threads, folder, custom, e.tolerance, o.clock)
        try:
            if threads == max(o.threads):
                race.restart(o.starts - 1)
            race.run(o.rounds, o.seconds)
        finally:
            race.close()
        found["threads"][str(threads)] = race.figures
        report.line(e.label, threads, names, race.figures)
    return found


def main():
    o = options()
    engines = engines_of(o)
    os.makedirs(o.work, exist_ok=True)
    whole = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "machine": workers.machine(), "load": [os.getloadavg()[0]],
             "rounds": o.rounds, "seconds": o.seconds, "clock": o.clock, "interfaces": custom_ops.INTERFACES, "models": []}
    report.head(whole, [e.name for e in engines])
    with tempfile.TemporaryDirectory(dir=o.work) as folder:
        for e in entries_of(o):
            whole["models"].append(measure(e, engines, o, folder))
    whole["load"].append(os.getloadavg()[0])
    report.tables(whole)
    report.bars(whole)
    if o.json:
        with open(o.json, "w") as f:
            json.dump(whole, f, indent=1)
    broken = [m["label"] for m in whole["models"] if any(t["graft"]["status"] != "ok" for t in m["threads"].values())]
    if broken:
        print("Graft failed on %s" % ", ".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
