"""Compares Graft with OpenVINO and ONNX Runtime.

  cases          the IR of every case in tests/ops, loaded and run by OpenVINO
  recorded       recorded ONNX models: our IR in OpenVINO, OpenVINO's IR in Graft, the same bytes after Graft reads and writes it
  networks       networks made here with random weights, all ways round, against ONNX Runtime
  architectures  whole Caffe and TensorFlow networks with random weights, every layer against OpenCV and TensorFlow
  operations     single operations, control flow and lookup tables of TensorFlow, against TensorFlow
  mo             command lines of the Model Optimizer, given to the last one and to graft convert
  keras          each layer of Keras that the Model Optimizer's documentation lists, against TensorFlow
  mxnet          operators and whole models of MXNet, with the values that it computes; recorded MXNet and Kaldi models, against the
                 last Model Optimizer
  converted      recorded MXNet and Kaldi models: our IR in OpenVINO, also in chunks of an utterance, against MXNet and Kaldi

Exit status 1 when something differs that is not in known_differences.txt.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import architectures
import converted
import networks
from openvino_worker import Crash, OpenVino

HERE = os.path.dirname(os.path.abspath(__file__))


class Report:
    """Counts what happened, and remembers what should not have."""

    def __init__(self, known):
        self.count = collections.defaultdict(collections.Counter)
        self.known = known
        self.failed = []

    def say(self, group, name, verdict, why=""):
        key = "%s/%s" % (group, name)
        if verdict == "differs" and key in self.known:
            verdict = "known"
        self.count[group][verdict] += 1
        if verdict == "differs":
            self.failed.append("%s: %s" % (key, why))

    def close(self):
        for group, c in self.count.items():
            print("%-24s %s" % (group, "  ".join("%s %d" % (k, v) for k, v in sorted(c.items()))))
        for line in self.failed:
            print("DIFFERS", line)
        print("%d passed, %d failed" % (sum(c["same"] for c in self.count.values()), len(self.failed)))
        return 1 if self.failed else 0


def read_known(path):
    known = {}
    for line in open(path):
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, why = line.partition("  ")
            known[name] = why.strip()
    return known


def difference(a, b, tolerance):
    """'' when equal enough, else why not."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return "shape %s, expected %s" % (list(b.shape), list(a.shape))
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        return "" if [str(x) for x in a.ravel()] == [str(x) for x in b.ravel()] else "texts differ"
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(np.float64)
        bad = ~((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tolerance * np.maximum(1, np.abs(x))))
    if not bad.any():
        return ""
    i = tuple(np.argwhere(bad)[0])
    return "%d of %d differ, first at %s: %r, expected %r" % (bad.sum(), bad.size, list(i), y[i], x[i])


def run_graft(opt, path, inputs, work, more=()):
    args = [opt.graft, "run", path, "--quiet", "--output-dir", os.path.join(work, "out"), *more]
    for i, v in enumerate(inputs):
        file = os.path.join(work, "g%d.npy" % i)
        np.save(file, v)
        args += ["--input", "=" + file]
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip().splitlines()[0] if p.stderr.strip() else "exit %d" % p.returncode)
    listed = json.load(open(os.path.join(work, "out", "outputs.json")))
    return [np.load(os.path.join(work, "out", e["file"])) for e in listed]


def graft_convert(opt, path, folder):
    p = subprocess.run([opt.graft, "convert", path, "-o", folder, "--model_name", "m", "--silent"], capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip().splitlines()[0])
    return os.path.join(folder, "m.xml")


def compare_all(report, group, name, expected, got, tolerance):
    if len(expected) != len(got):
        return report.say(group, name, "differs", "%d results, expected %d" % (len(got), len(expected)))
    for i, (a, b) in enumerate(zip(expected, got)):
        why = difference(a, b, tolerance)
        if why:
            return report.say(group, name, "differs", "result %d: %s" % (i, why))
    report.say(group, name, "same")


def cases(opt, report, openvino):
    for number in sorted(os.listdir(opt.models), key=int):
        folder = os.path.join(opt.models, number)
        name, tolerance = open(os.path.join(folder, "name.txt")).read().strip().split("\n")
        name = os.path.basename(name.split(": ")[0]) + ":" + name.split(": ", 1)[1]
        xml = open(os.path.join(folder, "model.xml")).read()
        if 'version="graft' in xml or 'version="opset17"' in xml:
            report.say("our cases in OpenVINO", name, "not an operation of OpenVINO")
            continue
        load = lambda kind: [np.load(os.path.join(folder, f)) for f in sorted((f for f in os.listdir(folder) if f.startswith(kind)), key=lambda f: int(f[len(kind):-4]))]
        try:
            got = openvino.run(os.path.join(folder, "model.xml"), load("in"))
        except RuntimeError as e:
            # OpenVINO lacks kernels for some types; what it cannot read at all is our mistake.
            try:
                openvino.read(os.path.join(folder, "model.xml"))
                report.say("our cases in OpenVINO", name, "crashes there" if isinstance(e, Crash) else "not run there")
            except RuntimeError as e:
                report.say("our cases in OpenVINO", name, "differs", "does not load: " + str(e)[-300:])
            continue
        compare_all(report, "our cases in OpenVINO", name, load("out"), got, max(float(tolerance), 1e-4))


def with_model(opt, report, openvino, group, name, model, inputs, expected, tolerance):
    """All ways round for one ONNX model."""
    work = tempfile.mkdtemp()
    try:
        try:
            ours = graft_convert(opt, model, work)
        except RuntimeError as e:
            report.say(group + ": our IR there", name, "not converted")
            return
        xml = open(ours).read()
        if 'version="graft' in xml:
            report.say(group + ": our IR there", name, "not an operation of OpenVINO")
        else:
            try:
                compare_all(report, group + ": our IR there", name, expected, openvino.run(ours, inputs), tolerance)
            except RuntimeError as e:
                report.say(group + ": our IR there", name, "differs", str(e)[-300:])
        try:
            theirs = os.path.join(work, "theirs.xml")
            openvino.save(model, theirs)
            expected = openvino.run(theirs, inputs)  # their conversion may lose something; ours of their IR may not
        except RuntimeError:
            report.say(group + ": their IR here", name, "OpenVINO cannot")
            return
        try:
            compare_all(report, group + ": their IR here", name, expected, run_graft(opt, theirs, inputs, work), tolerance)
        except RuntimeError as e:
            report.say(group + ": their IR here", name, "differs", str(e)[:300])
            return
        # Without any pass, reading and writing must give the same bytes.
        again = os.path.join(work, "again")
        p = subprocess.run([opt.graft, "convert", theirs, "-o", again, "--model_name", "theirs", "--silent", "--disable-pass", "all"], capture_output=True, text=True)
        same = p.returncode == 0 and all(open(os.path.join(work, "theirs" + e), "rb").read() == open(os.path.join(again, "theirs" + e), "rb").read() for e in (".xml", ".bin"))
        why = p.stderr[:200] if p.returncode else first_difference(theirs, os.path.join(again, "theirs.xml"))
        report.say(group + ": same bytes", name, "same" if same else "differs", why)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def first_difference(a, b):
    x, y = open(a).read().split("\n"), open(b).read().split("\n")
    for i, (p, q) in enumerate(zip(x, y)):
        if p != q:
            return "line %d: %s | %s" % (i + 1, p.strip()[:140], q.strip()[:140])
    return "the .bin differs" if len(x) == len(y) else "%d lines, %d" % (len(x), len(y))


def recorded(opt, report, openvino):
    tools = os.path.join(os.path.dirname(os.path.abspath(opt.data)), "tools")
    sys.path.insert(0, tools)
    if not (os.path.isdir(opt.data) and os.path.exists(os.path.join(tools, "run_cases.py"))):
        print("recorded models: skipped, there is no %s" % opt.data)
        return
    import run_cases
    for group in opt.groups.split(","):
        base = os.path.join(opt.data, group)
        if not os.path.exists(os.path.join(base, "cases.json")):
            continue
        for case in json.load(open(os.path.join(base, "cases.json"))):
            if case["framework"] != "onnx" or any(s.get("kind", "tensor") != "tensor" or s.get("odd_type") for s in case["inputs"] + case["outputs"]):
                continue
            if set(case.get("tags", [])) & {"random", "disputed"}:
                continue
            inputs = [run_cases.load(base, s) for s in case["inputs"]]
            expected = [run_cases.load(base, s) for s in case["outputs"]]
            if any(a.dtype == object for a in inputs + expected):
                continue
            with_model(opt, report, openvino, group, case["name"], os.path.join(base, case["model"][0]), inputs, expected, 2e-3)


def made(opt, report, openvino):
    import onnxruntime as ort
    work = tempfile.mkdtemp()
    for name, model, inputs in networks.all_networks():
        path = os.path.join(work, name + ".onnx")
        open(path, "wb").write(model.SerializeToString())
        session = ort.InferenceSession(path)
        expected = session.run(None, {i.name: v for i, v in zip(session.get_inputs(), inputs)})
        for device in ("CPU", "REFERENCE"):
            try:
                compare_all(report, "networks on " + device, name, expected, run_graft(opt, path, inputs, work, ("-d", device)), 1e-3)
            except RuntimeError as e:
                report.say("networks on " + device, name, "differs", str(e)[:300])
        with_model(opt, report, openvino, "networks", name, path, inputs, expected, 1e-3)
    shutil.rmtree(work, ignore_errors=True)


def mxnet(opt, report):
    """Cases that MXNet writes, in all modes and on both devices."""
    python = os.path.abspath(os.path.join(opt.environments, "mxnet", "bin", "python"))
    if not os.path.exists(python):
        print("mxnet: skipped, there is no %s (scripts/mxnet.sh)" % python)
        return
    programs = os.path.dirname(os.path.abspath(opt.graft))
    made = os.path.abspath(os.path.join(opt.environments, "mxnet_made"))
    for part, script in (("operators", "mxnet_operators.py"), ("models", "mxnet_models.py")):
        shutil.rmtree(os.path.join(made, part), ignore_errors=True)
        os.makedirs(os.path.join(made, part))
        p = subprocess.run([python, os.path.join(HERE, script), os.path.join(made, part)], capture_output=True, text=True)
        report.say("mxnet: made", part, "differs" if p.returncode else "same", p.stderr.strip()[-300:])
    for file in sorted(os.listdir(os.path.join(made, "operators"))):
        passed(report, "mxnet: operators", file, [os.path.join(programs, "graft_tests"), os.path.join(made, "operators", file)])
    for device in ("CPU", "REFERENCE"):
        for more in ([], ["--through-ir"]):
            passed(report, "mxnet: models", " ".join([device, *more]),
                   [os.path.join(programs, "graft_cases"), "-v", "--device", device, *more, os.path.join(made, "models", "cases.json")])
            custom = os.path.join(os.path.dirname(programs), "extensions", "api_tour.so")
            passed(report, "mxnet: a Custom layer", " ".join([device, *more]),
                   [os.path.join(programs, "graft_cases"), "-v", "--device", device, *more, "--extensions", custom, os.path.join(made, "models", "custom", "cases.json")])
    work = os.path.join(opt.environments, "mo_recorded")
    cases = [os.path.join(opt.data, g, "cases.json") for g in ("mxnet", "kaldi")] + [os.path.join(made, "models", "cases.json")]
    only = ["--only", *opt.networks] if opt.networks else []
    subprocess.run([python, os.path.join(HERE, "mo_recorded.py"), "--graft", opt.graft, "--work", work, *[c for c in cases if os.path.exists(c)], *only],
                   check=True, stderr=subprocess.DEVNULL)
    print_table(report, "mo of recorded models", os.path.join(work, "table.json"))


def passed(report, group, name, command):
    """A test program: all of its cases at once."""
    p = subprocess.run(command, capture_output=True, text=True)
    report.say(group, name, "differs" if p.returncode else "same", (p.stdout + p.stderr).strip()[:600])


def mo(opt, report):
    """Table of what the last Model Optimizer and graft convert make of the same command lines."""
    python = os.path.join(opt.environments, "mo", "bin", "python")
    if not os.path.exists(python):
        print("mo: skipped, there is no %s (scripts/mo.sh)" % python)
        return
    work = os.path.join(opt.environments, "mo_lines")
    only = ["--only", *opt.networks] if opt.networks else []
    subprocess.run([python, os.path.join(HERE, "mo_lines.py"), "--mo", os.path.join(os.path.dirname(python), "mo"), "--graft", opt.graft, "--work", work, *only], check=True)
    print_table(report, "mo", os.path.join(work, "table.json"))


def print_table(report, group, path):
    with open(path) as f:
        table = json.load(f)
    print("%-42s %-8s %-8s %-9s %s" % ("command line", "mo", "graft", "differ by", "verdict"))
    for row in table:
        known = report.known.get("%s/%s" % (group, row["line"]))
        if row["verdict"] == "mo differs from the framework" and known is None:
            row.update(verdict="differs", why="mo differs from the framework, without an explanation: " + row["why"])
        explained = row["verdict"] in ("differs", "mo differs from the framework") and known is not None
        far = "" if row["difference"] is None else "%.1e" % row["difference"]
        verdict = "explained: " + known if explained else row["verdict"] + (": " + row["why"] if row["verdict"] == "differs" else "")
        print("%-42s %-8s %-8s %-9s %s" % (row["line"], row["mo"], row["graft"], far, verdict))
        report.say(group, row["line"], row["verdict"], row["why"])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--graft", required=True)
    ap.add_argument("--models", required=True)
    ap.add_argument("--data", required=True)
    ap.add_argument("--groups", default="onnx-node,real-onnx,opencv-onnx,onnx-backend")
    ap.add_argument("--only", default="cases,recorded,networks,architectures,operations,mo,keras,mxnet,converted")
    ap.add_argument("--environments", default="build/oracle", help="folder with the environments opencv, tensorflow, mxnet and mo")
    ap.add_argument("--networks", nargs="*", default=[], help="only these of architectures, operations, mo, keras, converted and the models that mo and mxnet share")
    ap.add_argument("--keep", action="store_true", help="takes the networks of the last time, where they are")
    opt = ap.parse_args()
    report = Report(read_known(os.path.join(HERE, "known_differences.txt")))
    openvino = OpenVino()
    parts = opt.only.split(",")
    if "cases" in parts:
        cases(opt, report, openvino)
    if "recorded" in parts:
        recorded(opt, report, openvino)
    if "networks" in parts:
        made(opt, report, openvino)
    if "architectures" in parts:
        architectures.run(opt, report, openvino, "architectures", (("opencv", "caffe_models.py"), ("tensorflow", "tensorflow_models.py")))
    if "operations" in parts:
        architectures.run(opt, report, openvino, "operations", (("tensorflow", "tensorflow_operations.py"),))
    if "mo" in parts:
        mo(opt, report)
    if "keras" in parts:
        architectures.run(opt, report, openvino, "keras", (("tensorflow", "keras_layers.py"),))
    if "mxnet" in parts:
        mxnet(opt, report)
    if "converted" in parts:
        converted.run(opt, report, openvino)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
