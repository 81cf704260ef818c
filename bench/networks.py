#!/usr/bin/env python3
"""Graft beside ONNX Runtime on a folder of networks, taking turns, one thread.

  build/oracle/venv/bin/python bench/networks.py DIR --graft PYTHON [--filter 'hf_*'] [--limit N] [--json FILE]

DIR has a folder for each network with model.onnx and inputs0.npz, as `scripts/oracle.sh --only zoo` writes them to
build/oracle/zoo/models. Networks on which the outputs differ or an engine fails are listed and not counted. A figure is ONNX
Runtime's time over ours; for the worst networks, the operations that take most of the time follow.
"""
import argparse
import fnmatch
import json
import os
import sys
import tempfile

import workers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BARS = (("median", 1.05), ("10th percentile", 0.85), ("worst", 0.6))


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", metavar="DIR")
    p.add_argument("--graft", required=True, metavar="PYTHON", help="the interpreter that the Python package was built for")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--filter", default="*", help="pattern of names")
    p.add_argument("--limit", type=int, default=0, help="this number of networks, spread over the list")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=0.1, help="length of an engine's turn")
    p.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: the processor's time, for one thread on a busy machine")
    p.add_argument("--tolerance", type=float, default=1e-2, help="of the largest value of an output")
    p.add_argument("--worst", type=int, default=10, help="networks to profile")
    p.add_argument("--json", default="", metavar="FILE", help="write all figures")
    o = p.parse_args()
    if o.clock == "cpu" and o.threads != 1:
        p.error("--clock cpu: expected --threads 1, got %d" % o.threads)
    return o


def networks(o):
    complete = lambda n: all(os.path.exists(os.path.join(o.folder, n, f)) for f in ("model.onnx", "inputs0.npz"))
    names = [n for n in sorted(os.listdir(o.folder)) if fnmatch.fnmatch(n, o.filter) and complete(n)]
    if not names:
        raise SystemExit("expected folders with model.onnx and inputs0.npz in %s, found none%s" % (o.folder, "" if o.filter == "*" else " that match " + o.filter))
    if 0 < o.limit < len(names):
        names = [names[i * len(names) // o.limit] for i in range(o.limit)]
    return names


def measure(name, engines, o, work):
    model, inputs = (os.path.join(o.folder, name, f) for f in ("model.onnx", "inputs0.npz"))
    race = workers.Race(engines, model, inputs, o.threads, work, tolerance=o.tolerance, clock=o.clock)
    try:
        if len(race.workers) == len(engines):
            race.run(o.rounds, o.seconds)
    finally:
        race.close()
    return race.figures


def profile(name, engine, o, work):
    """The slowest kinds of operations of a network, with their kernels."""
    model, inputs = (os.path.join(o.folder, name, f) for f in ("model.onnx", "inputs0.npz"))
    try:
        w = workers.Worker(engine, model, inputs, o.threads, work, profile=True)
        w.ask("time %g wall" % o.seconds)
        found = w.ask("profile 3")
        w.close()
        return ", ".join("%s %.0f %%" % (kind, 100 * share) for kind, share in found)
    except workers.Failed as why:
        return str(why)


def percentile(values, part):
    """Between the two nearest of a sorted list."""
    at = part * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def show(found, engines, o, work):
    """`found` is a sorted list of (ratio, name)."""
    values = [r for r, _ in found]
    print("\n%d networks, ONNX Runtime's time over Graft's: 10th percentile %.2f, median %.2f, 90th percentile %.2f; ahead on %d, below 0.5 on %d" %
          (len(found), *(percentile(values, p) for p in (0.1, 0.5, 0.9)), sum(v >= 1 for v in values), sum(v < 0.5 for v in values)))
    measured = {"median": percentile(values, 0.5), "10th percentile": percentile(values, 0.1), "worst": values[0]}
    for what, bar in BARS:
        print("%-16s \u2265 %-5g %6.2f  %s" % (what, bar, measured[what], "met" if measured[what] >= bar else "missed by %.2f" % (bar - measured[what])))
    print("\nThe worst, and where their time goes")
    for ratio, name in found[:o.worst]:
        print("%6.2f  %-36s %s" % (ratio, name, profile(name, engines[0], o, work)), flush=True)


def main():
    o = options()
    engines = [workers.Engine("graft", o.graft, os.path.join(o.build, "python"), ""), workers.Engine("onnxruntime", sys.executable, "", "")]
    m = workers.machine()
    print("%s, %d cores, load %.1f; %d thread%s, %d rounds of %g s, %s clock" % (m["cpu"], m["cores"], os.getloadavg()[0], o.threads, "" if o.threads == 1 else "s", o.rounds, o.seconds, o.clock))
    whole, found = {}, []
    with tempfile.TemporaryDirectory() as work:
        try:
            for name in networks(o):
                whole[name] = figures = measure(name, engines, o, work)
                ratio = workers.ratio(figures)
                if ratio:
                    found.append((ratio[0], name))
                else:
                    print("  %s: %s" % (name, "; ".join("%s %s, %s" % (n, f["status"], f["why"]) for n, f in figures.items() if f["status"] != "ok")), flush=True)
        except KeyboardInterrupt:
            print("interrupted: what follows is about the networks so far")
        if o.json:
            with open(o.json, "w") as f:
                json.dump(whole, f, indent=1)
        if not found:
            raise SystemExit("no network ran in both engines")
        show(sorted(found), engines, o, work)


if __name__ == "__main__":
    sys.exit(main())
