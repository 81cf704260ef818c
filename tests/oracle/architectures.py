"""Whole architectures with random weights: every layer against the framework, the IR here and in OpenVINO.

caffe_models.py and tensorflow_models.py make them, each in an environment of its own, and leave for each network a
folder with the model, inputs.npz, expected.npz (t0, t1, ... for the tensors that network.json names) and network.json.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
from xml.etree import ElementTree

import numpy as np

from graft_command import measured

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 1e-3  # of a tensor's largest value


def make(python, script, folder, names):
    p = subprocess.run([python, os.path.join(HERE, script), folder, *names], capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError("%s: %s" % (script, p.stderr.strip()[-600:]))


def error_of(expected, got, rows=False):
    """The largest difference in parts of the largest value, or why the two cannot be compared."""
    a, b = np.asarray(expected), np.asarray(got)
    if rows:  # detections: a row of -1 ends them; Caffe has them by class, OpenCV by score
        a, b = (x.reshape(-1, x.shape[-1]) for x in (a, b))
        ended = np.flatnonzero(b[:, 0] < 0)
        b = b[:ended[0]] if len(ended) else b
        a, b = (x[np.lexsort((x[:, 1], -x[:, 2]))] for x in (a, b))
    if a.shape != b.shape:
        return "shape %s, expected %s" % (list(b.shape), list(a.shape))
    if a.dtype.kind in "US" or b.dtype.kind in "US":
        return "" if a.tolist() == b.tolist() else "texts differ"
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return "" if (a == b).all() else "%d of %d whole numbers differ" % ((a != b).sum(), a.size)
    if a.size == 0:
        return 0.0
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    if not np.isfinite(np.where(same, 0, y)).all():
        return "not finite"
    finite = np.abs(x[np.isfinite(x)])
    return float(np.max(np.where(same, 0, np.abs(x - y)))) / max(float(finite.max()) if finite.size else 0.0, 1e-6)


class Comparison:
    """The worst of many tensors."""

    def __init__(self):
        self.count, self.worst, self.where, self.wrong = 0, 0.0, "", []

    def add(self, name, expected, got, rows=False):
        e = error_of(expected, got, rows)
        self.count += 1
        if isinstance(e, str):
            if e:
                self.wrong.append("%s: %s" % (name, e))
        elif e >= self.worst:
            self.worst, self.where = e, name
            if e > TOLERANCE:
                self.wrong.append("%s: %.2g of its largest value" % (name, e))


def run_graft(opt, files, inputs, work, outputs=()):
    """Values of the outputs, in order. `inputs` is an .npz with the names of the inputs."""
    out = os.path.join(work, "out")
    shutil.rmtree(out, ignore_errors=True)
    args = [opt.graft, "run", *files, "--quiet", "--output-dir", out, "--input", inputs]
    for name in outputs:
        args += ["--output", name]
    measured(args)
    with open(os.path.join(out, "outputs.json")) as f:
        return [np.load(os.path.join(out, e["file"])) for e in json.load(f)]


def names_of_tensors(opt, files, work):
    """All tensors that our graph has before any pass, from the IR."""
    measured([opt.graft, "convert", *files, "-o", work, "--model_name", "plain", "--silent", "--disable-pass", "all"])
    names = set()
    for _, e in ElementTree.iterparse(os.path.join(work, "plain.xml")):
        if e.tag == "port" and "names" in e.attrib:
            names.update(n.replace("\\,", ",") for n in re.split(r"(?<!\\),", e.attrib["names"]))
    return names


def check(opt, report, openvino, folder, group, name):
    """Compares one network in all ways, and returns a line of figures."""
    with open(os.path.join(folder, "network.json")) as f:
        about = json.load(f)
    files = [os.path.join(folder, x) for x in about["files"]]
    inputs = os.path.join(folder, "inputs.npz")
    with np.load(os.path.join(folder, "expected.npz")) as z:
        expected = {t: z["t%d" % i] for i, t in enumerate(about["tensors"])}
    rows = set(about.get("rows", ()))
    work = tempfile.mkdtemp()
    layers, here, there = Comparison(), Comparison(), Comparison()

    def compare(comparison, names, run):
        try:
            for tensor, value in zip(names, run(), strict=True):
                comparison.add(tensor, expected[tensor], value, tensor in rows)
        except RuntimeError as e:
            comparison.wrong.append(str(e)[-600:])

    try:
        try:
            known = names_of_tensors(opt, files, work)
            seconds, peak = measured([opt.graft, "convert", *files, "-o", work, "--model_name", "m", "--silent"])
        except RuntimeError as e:
            report.say(group + ": converted", name, "differs", str(e)[:600])
            return "%s is not converted" % name
        wanted = [t for t in expected if t in known]
        compare(layers, wanted, lambda: run_graft(opt, files, inputs, work, wanted))
        if 2 * len(wanted) < len(expected):
            layers.wrong.append("only %d of %d tensors are in our graph by name" % (len(wanted), len(expected)))
        xml = os.path.join(work, "m.xml")
        compare(here, about["outputs"], lambda: run_graft(opt, [xml], inputs, work, about["outputs"]))
        compared = [("layers", layers), ("IR here", here)]
        with np.load(inputs) as z:
            values = {n: z[n] for n in about["inputs"]}
        with open(xml) as f:
            own = 'version="graft"' in f.read()  # operations that OpenVINO does not have
        if not own:
            compare(there, about["outputs"], lambda: openvino.run_named(xml, values, about["outputs"]))
            compared.append(("IR in OpenVINO", there))
        for what, c in compared:
            report.say(group + ": " + what, name, "differs" if c.wrong else "same", "; ".join(c.wrong[:3]))
        return ("%-15s %4d tensors of %4d, worst %.1e at %-32s IR here %.1e, in OpenVINO %.1e; convert %5.2f s, peak %4.0f MB, weights %4.0f MB" %
                (name, layers.count, len(expected), layers.worst, layers.where[-32:], here.worst, there.worst, seconds, peak / 1e6, about["weights"] / 1e6))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run(opt, report, openvino, group, makers):
    """`makers` are (environment, script); one whose environment is not there is left out with a note."""
    for kind, script in makers:
        python = os.path.join(opt.environments, kind, "bin", "python")
        if not os.path.exists(python):
            print("%s: %s skipped, there is no %s" % (group, script, python))
            continue
        folder = os.path.join(opt.environments, group, kind)
        if not opt.keep or not os.path.isdir(folder):
            shutil.rmtree(folder, ignore_errors=True)
            make(python, script, folder, opt.networks)
        for name in sorted(os.listdir(folder)):
            if not opt.networks or name in opt.networks:
                line = check(opt, report, openvino, os.path.join(folder, name), group, name)
                if group == "architectures":
                    print(line, flush=True)
