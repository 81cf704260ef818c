"""Networks of torchvision, timm, transformers and torch.nn with random weights, exported by PyTorch and run here and by
ONNX Runtime. Prints one table and a summary; status 1 when something is wrong that known.txt does not explain.
"""
import argparse
import fnmatch
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import table

HERE = os.path.dirname(os.path.abspath(__file__))
# In parts of the largest value. Where few bits round, also what ONNX Runtime's own results differ by when it is optimized or
# its inputs change in the last digit.
TOLERANCE = {"S": 0.05, "Q": 0.05, "H": 0.02}
EXACT = 1e-3


class Exporter:
    """exporter.py as a process that is started anew when it dies or takes too long."""

    def __init__(self, root, seconds):
        self._root, self._seconds, self._process = root, seconds, None

    def get(self, name):
        if self._process is None:
            self._process = subprocess.Popen([sys.executable, os.path.join(HERE, "exporter.py"), self._root], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL, text=True)
        late = threading.Timer(self._seconds, self._process.kill)
        late.start()
        try:
            self._process.stdin.write(name + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            late.cancel()
        if answer:
            return json.loads(answer)
        self.close()
        return {"problem": "the exporter died, or took longer than %d s" % self._seconds}

    def close(self):
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


def difference(expected, got):
    """The largest difference in parts of the largest value, or why the two cannot be compared."""
    if expected.shape != got.shape:
        return "shape %s, expected %s" % (list(got.shape), list(expected.shape))
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind in "biu":
        wrong = int((expected != got).sum())
        return "%d of %d whole numbers differ" % (wrong, expected.size) if wrong else 0.0
    x, y = expected.astype(np.float64), got.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    if not np.isfinite(np.where(same, 0, y)).all():
        return "not finite"
    finite = np.abs(x[np.isfinite(x)])
    return float(np.max(np.where(same, 0, np.abs(x - y)))) / max(float(finite.max()) if finite.size else 0.0, 1e-6)


def run_graft(opt, folder, index, work, more):
    out = os.path.join(work, "out")
    command = [opt.graft, "run", os.path.join(folder, "model.onnx"), "--quiet", "--threads", "1", "--output-dir", out, "--input", os.path.join(folder, "inputs%d.npz" % index), *more]
    try:
        p = subprocess.run(command, capture_output=True, text=True, timeout=opt.seconds)
    except subprocess.TimeoutExpired:
        raise RuntimeError("takes longer than %d s" % opt.seconds)
    if p.returncode:
        lines = [line for line in p.stderr.strip().splitlines() if line.strip()]
        raise RuntimeError(" | ".join(line.strip() for line in lines[:2]) or "exit %d" % p.returncode)
    with open(os.path.join(out, "outputs.json")) as f:
        return [np.load(os.path.join(out, e["file"])) for e in json.load(f)]


def compare(opt, folder, about, way, more=()):
    """("ok" or what is wrong, the largest difference)"""
    worst, limit = 0.0, max(TOLERANCE.get(way, EXACT), about.get("spread", 0.0))
    for index in range(about["sets"]):
        where = "" if index == 0 else "second shape: "
        with np.load(os.path.join(folder, "expected%d.npz" % index)) as z:
            expected = [z["arr_%d" % i] for i in range(len(z.files))]
        with tempfile.TemporaryDirectory() as work:
            try:
                got = run_graft(opt, folder, index, work, more)
            except RuntimeError as e:
                return where + str(e), worst
        if len(got) != len(expected):
            return "%s%d results, expected %d" % (where, len(got), len(expected)), worst
        for i, (a, b) in enumerate(zip(expected, got)):
            d = difference(a, b)
            if isinstance(d, str):
                return "%sresult %d: %s" % (where, i, d), worst
            worst = max(worst, d)
            if d > limit:
                return "%sresult %d: off by %.2g of its largest value" % (where, i, d), worst
    return "ok", worst


def check(opt, exporter, name, way):
    about = exporter.get(name)
    row = {"name": name, "nodes": about.get("nodes", 0), "export": about.get("export_seconds", 0), "worst": 0.0, "seconds": 0.0}
    if "problem" in about:
        return row | {"graft": "-", "ir": "-", "problem": about["problem"]}
    folder, start = os.path.join(opt.models, name), time.monotonic()
    row["graft"], row["worst"] = compare(opt, folder, about, way)
    row["seconds"] = time.monotonic() - start
    row["ir"], worst = compare(opt, folder, about, way, ("--through-ir",))
    row["worst"] = max(row["worst"], worst)
    return row


def read_known(path):
    known = {}
    with open(path) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, _, why = line.strip().partition("  ")
                known[name] = why.strip()
    return known


def print_table(rows, known):
    print("%-44s %6s  %-6s %-6s %9s %7s" % ("network", "nodes", "graft", "IR", "max diff", "seconds"))
    short = lambda s: s if s in ("ok", "-") else "WRONG"
    for r in rows:
        print("%-44s %6d  %-6s %-6s %9.1e %7.1f" % (r["name"], r["nodes"], short(r["graft"]), short(r["ir"]), r["worst"], r["seconds"]))
    wrong = []
    for r in rows:
        for what in ("graft", "ir"):
            if r[what] not in ("ok", "-"):
                explained = any(fnmatch.fnmatch(r["name"], k) for k in known)
                print("%s %s (%s): %s" % ("known" if explained else "WRONG", r["name"], what, r[what]))
                if not explained:
                    wrong.append(r["name"])
    for r in rows:
        if "problem" in r:
            print("not compared %s: %s" % (r["name"], r["problem"]))
    compared = [r for r in rows if "problem" not in r]
    print("%d networks: %d exported and run by ONNX Runtime, %d right, %d right through the IR, %d wrong without a known reason; export %.0f s, here %.0f s" %
          (len(rows), len(compared), sum(r["graft"] == "ok" for r in compared), sum(r["ir"] == "ok" for r in compared), len(set(wrong)),
           sum(r["export"] for r in rows), sum(r["seconds"] for r in rows)))
    return 1 if wrong else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--graft", required=True, help="the program")
    ap.add_argument("--models", required=True, help="folder that keeps the exported models")
    ap.add_argument("--filter", nargs="*", default=[], help="only networks whose names match one of these, e.g. 'hf_*'")
    ap.add_argument("--limit", type=int, default=0, help="maximum number of networks, spread over the table")
    ap.add_argument("-j", "--jobs", type=int, default=1)
    ap.add_argument("--seconds", type=int, default=240, help="the longest that an export or a run may take")
    ap.add_argument("--export-only", action="store_true")
    opt = ap.parse_args()
    todo = [(name, way) for name, _, way in table.rows() if not opt.filter or any(fnmatch.fnmatch(name, f) for f in opt.filter)]
    if opt.limit and opt.limit < len(todo):
        todo = [todo[i * len(todo) // opt.limit] for i in range(opt.limit)]
    waiting, rows = queue.Queue(), {}
    for item in todo:
        waiting.put(item)

    def work():
        exporter = Exporter(opt.models, opt.seconds)
        while True:
            try:
                name, way = waiting.get_nowait()
            except queue.Empty:
                return exporter.close()
            if opt.export_only:
                about = exporter.get(name)
                print(name, about.get("problem", "ok"), about.get("export_seconds"), flush=True)
                continue
            rows[name] = check(opt, exporter, name, way)
            r = rows[name]
            print("%d of %d: %s %s" % (len(rows), len(todo), name, r.get("problem") or (r["graft"] if r["graft"] == r["ir"] else "%s; IR: %s" % (r["graft"], r["ir"]))), file=sys.stderr, flush=True)

    threads = [threading.Thread(target=work) for _ in range(opt.jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return 0 if opt.export_only else print_table([rows[n] for n, _ in todo], read_known(os.path.join(HERE, "known.txt")))


if __name__ == "__main__":
    sys.exit(main())
