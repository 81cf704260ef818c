"""Recorded MXNet and Kaldi models, converted by `mo` of OpenVINO 2023.3 and by `graft convert`.

OpenVINO 2023.3 runs both IRs of an MXNet model with the recorded inputs. A Kaldi model of `mo` takes a frame at a time and
keeps the frames before it as state, so that its results come later: it runs frame by frame, and the rows are compared with
those of Graft at the delay that fits. Runs in an environment with openvino-dev and MXNet, which scripts/mxnet.sh makes.

  mo_recorded.py --graft PATH --work DIR [--only NAME...] CASES...

CASES are manifests of recorded models. Leaves DIR/table.json for main.py, which knows the differences that are explained.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys

import numpy as np

from kaldi_rows import case_rows

sys.modules["openvino_telemetry"] = None  # the Model Optimizer does without

from openvino.runtime import Core
from openvino.tools.mo import convert_model

TOLERANCE = 1e-4  # of the largest value
LONGEST_DELAY = 64


class Refusal(Exception):
    def __init__(self, who, why):
        super().__init__(why)
        self.who = who


class Wrong(Exception):
    """The model of mo differs from what was recorded, and that of Graft does not."""

    def __init__(self, far, why):
        super().__init__(why)
        self.far = far


def by_mo(**arguments):
    try:
        return convert_model(silent=True, compress_to_fp16=False, **arguments)
    except BaseException as e:  # it ends the process for some models
        lines = [l for l in str(e).splitlines() if l.strip() and "refer to" not in l]
        raise Refusal("mo", (lines or [type(e).__name__])[-1].strip()[:200]) from None


def graft(command, *arguments):
    p = subprocess.run([command, *arguments], capture_output=True, text=True)
    if p.returncode:
        raise Refusal("graft", p.stderr.strip().splitlines()[0])


def error_of(expected, got):
    if expected.shape != got.shape:
        return None
    if not expected.size:
        return 0.0
    with np.errstate(all="ignore"):
        same = (expected == got) | (np.isnan(expected) & np.isnan(got))
        far = np.where(same, 0, np.abs(expected.astype(np.float64) - got))
    return float(far.max()) / max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0)), 1e-6)


def compiled(model):
    return Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def named(port):
    """The names that mo and Graft give to what a layer makes: `layer:0`, `layer_output`."""
    node = port.get_node()
    if node.get_type_name() == "Result":
        node = node.input_value(0).get_node()
    return {n.rsplit(":", 1)[0] for n in port.get_names()} | {node.get_friendly_name()}


# ---- MXNet ----

def mxnet(opt, base, case):
    path = lambda f: os.path.join(base, f)
    symbol = [f for f in case["model"] if f.endswith(".json")]
    arrays = [f for f in case["model"] if not f.endswith(".json")]
    inputs = {i["name"]: np.load(path(i["file"])) for i in case["inputs"]}
    shapes = ",".join("[%s]" % ",".join(map(str, v.shape)) for v in inputs.values())
    theirs = by_mo(input_model=path(arrays[0]), input_symbol=path(symbol[0]), framework="mxnet", input=",".join(inputs), input_shape=shapes)
    folder = os.path.join(opt.work, case["name"])
    shutil.rmtree(folder, ignore_errors=True)
    graft(opt.graft, "convert", *[path(f) for f in case["model"]], "-o", folder, "--model_name", "m", "--silent", "--input", ",".join(inputs),
          "--input_shape", shapes)
    xml = os.path.join(folder, "m.xml")
    with open(xml) as f:
        if 'version="graft"' in f.read():
            return None, "an operation that OpenVINO does not have"
    recorded = [({o["name"][:-7] if o["name"].endswith("_output") else o["name"]}, np.load(path(o["file"]))) for o in case["outputs"]]
    results = []
    for model in (theirs, Core().read_model(xml)):
        c = compiled(model)
        places = {n: i for i, p in enumerate(model.inputs) for n in named(p)}
        request = c.create_infer_request()
        request.infer({places[n]: v.astype(model.inputs[places[n]].get_element_type().to_dtype()) for n, v in inputs.items() if n in places})
        results.append([(named(p), request.get_output_tensor(i).data.copy()) for i, p in enumerate(model.outputs)])
    far, why = matched(*results)
    if far > TOLERANCE or why:
        ours, lost = matched(recorded, results[1])
        if ours <= 10 * TOLERANCE and not lost:
            raise Wrong(far, why or "the numbers")
    return far, why


def matched(theirs, ours):
    """The worst of the outputs that both have: by name, else by position."""
    worst, notes = 0.0, []
    for i, (names, value) in enumerate(theirs):
        same = [v for n, v in ours if names & {x[:-7] if x.endswith("_output") else x for x in n}]
        if not same and len(theirs) == len(ours):
            same = [ours[i][1]]
        if not same:
            notes.append("output %s is not in ours" % min(names))
            continue
        e = error_of(value.reshape(same[0].shape) if value.size == same[0].size else value, same[0])
        if e is None:
            notes.append("output %s: shape %s, graft %s" % (min(names), list(value.shape), list(same[0].shape)))
        elif value.shape != same[0].shape:
            notes.append("output %s: shape %s, graft %s" % (min(names), list(value.shape), list(same[0].shape)))
        worst = max(worst, e or 0.0)
    return worst, "; ".join(notes)


# ---- Kaldi ----

def kaldi(opt, base, case):
    path = lambda f: os.path.join(base, f)
    theirs = by_mo(input_model=path(case["model"][0]), framework="kaldi")
    folder = os.path.join(opt.work, case["name"])
    shutil.rmtree(folder, ignore_errors=True)
    given = []
    for i in case["inputs"]:
        values = case_rows(base, i)
        file = os.path.join(opt.work, "%s.%s.npy" % (case["name"], i["name"]))
        np.save(file, values.astype(np.float32))
        given.append((i["name"], file, values))
    arguments = [a for name, file, _ in given for a in ("--input", "%s=%s" % (name, file))]
    graft(opt.graft, "run", path(case["model"][0]), "--quiet", "--output-dir", folder, *arguments)
    with open(os.path.join(folder, "outputs.json")) as f:
        listed = json.load(f)
    ours = np.load(os.path.join(folder, listed[0]["file"]))
    ours = ours.reshape(-1, ours.shape[-1])
    frames = given[0][2]
    request = compiled(theirs).create_infer_request()
    rows = []
    widths = [int(np.prod(p.get_shape())) for p in theirs.inputs]
    for t in range(len(frames) + LONGEST_DELAY):
        values = {}
        for k, p in enumerate(theirs.inputs):
            v = next((g for _, _, g in given if g.shape[-1] == widths[k]), None)
            if v is None:
                return None, "mo: an input of %d numbers" % widths[k]
            values[k] = v[min(t, len(v) - 1)].reshape(p.get_shape()).astype(np.float32)
        request.infer(values)
        rows.append([request.get_output_tensor(i).data.reshape(-1).copy() for i in range(len(theirs.outputs))])
    step = max(1, round(len(frames) / max(len(ours), 1)))
    late = max(len(ours) // 2, case.get("kaldi", {}).get("context", [0])[0] // step)  # at first its state is not yet filled
    best, at = None, 0
    for k, port in enumerate(theirs.outputs):  # in an order of their own
        if list(port.get_shape())[-1] != ours.shape[1]:
            continue
        made = np.array([r[k] for r in rows])
        for delay in range(LONGEST_DELAY):
            picked = made[delay::step][:len(ours)]
            if len(picked) < len(ours):
                break
            e = error_of(ours[late:], picked[late:])
            if e is not None and (best is None or e < best):
                best, at = e, delay
    if best is None:
        return None, "no output has rows of %d" % ours.shape[1]
    return best, "" if best is not None and best <= TOLERANCE else "no delay fits, best %d" % at


def judged(opt, base, case):
    row = {"line": "%s/%s" % (case["framework"], case["name"]), "mo": "ok", "graft": "ok", "difference": None, "verdict": "same", "why": ""}
    try:
        row["difference"], row["why"] = (mxnet if case["framework"] == "mxnet" else kaldi)(opt, base, case)
        if row["why"] == "an operation that OpenVINO does not have":
            row["verdict"] = row["why"]
        elif row["why"] or row["difference"] is None or row["difference"] > TOLERANCE:
            row.update(verdict="differs", why=row["why"] or "the numbers")
    except Wrong as e:
        row.update(difference=e.far, verdict="mo differs from the framework", why=str(e))
    except Refusal as e:
        row.update({e.who: "refused", "why": str(e)}, verdict="differs" if e.who == "graft" else "mo refuses")
    except Exception as e:
        row.update(verdict="differs", why="in OpenVINO: " + " ".join(str(e).split())[-300:])
    return row


def apart(opt, base, case):
    """In a process of its own: MXNet, mo and OpenVINO may crash."""
    here, there = multiprocessing.get_context("fork").Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=lambda: there.send(judged(opt, base, case)))
    process.start()
    there.close()
    try:
        row = here.recv() if here.poll(600) else None
    except EOFError:
        row = None
    process.kill()
    process.join()
    return row or {"line": "%s/%s" % (case["framework"], case["name"]), "mo": "crashed", "graft": "", "difference": None, "verdict": "mo crashes", "why": ""}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--graft", required=True)
    ap.add_argument("--work", required=True)
    ap.add_argument("--only", nargs="*", default=[])
    ap.add_argument("cases", nargs="+")
    opt = ap.parse_args()
    opt.graft, opt.work = os.path.abspath(opt.graft), os.path.abspath(opt.work)
    os.makedirs(opt.work, exist_ok=True)
    table = []
    for manifest in opt.cases:
        with open(manifest) as f:
            cases = json.load(f)
        for case in cases:
            if case["framework"] in ("mxnet", "kaldi") and (not opt.only or case["name"] in opt.only):
                table.append(apart(opt, os.path.dirname(os.path.abspath(manifest)), case))
                print(json.dumps(table[-1]), file=sys.stderr, flush=True)
    with open(os.path.join(opt.work, "table.json"), "w") as f:
        json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
