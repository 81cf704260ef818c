"""Recorded MXNet and Kaldi models, converted by Graft and run by OpenVINO, against what MXNet and Kaldi computed.

A Kaldi model is converted for whole utterances, for chunks with variables (--streaming), and for chunks with the state
as inputs and outputs (--remove_memory); chunks of several sizes give the results of the whole utterance.
"""
import json
import os
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ET

import numpy as np

from kaldi_rows import case_rows

CHUNKS = (1, 7, 1000)
OWN = "not an operation of OpenVINO"


class Refused(Exception):
    pass


def off(case, expected, got):
    """'' when equal enough, else why not."""
    if expected.shape != got.shape:
        return "shape %s, expected %s" % (list(got.shape), list(expected.shape))
    with np.errstate(all="ignore"):
        a, b = expected.astype(np.float64), got.astype(np.float64)
        far = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
    if not far.size:
        return ""
    if "linf" in case:
        bad = far.max() > case["linf"] or far.mean() > case["l1"]
    else:
        bad = (far > case["atol"] + case["rtol"] * np.abs(a)).any()
    return "the largest difference is %.2e" % far.max() if bad else ""


def converted(opt, files, folder, *options):
    p = subprocess.run([opt.graft, "convert", *files, "-o", folder, "--model_name", "m", "--silent", *options], capture_output=True, text=True)
    if p.returncode:
        raise Refused(p.stderr.strip().splitlines()[0])
    xml = os.path.join(folder, "m.xml")
    with open(xml) as f:
        return xml, 'version="graft"' in f.read()


# ---- MXNet ----

def mxnet(opt, openvino, base, case, folder):
    """(verdict, why) by the way of conversion."""
    inputs = {i["name"]: np.load(os.path.join(base, i["file"])) for i in case["inputs"]}
    shapes = ",".join("[%s]" % ",".join(map(str, v.shape)) for v in inputs.values())
    xml, own = converted(opt, [os.path.join(base, f) for f in case["model"]], folder, "--input", ",".join(inputs), "--input_shape", shapes)
    if own:
        yield "IR", OWN, ""
        return
    types = {l.get("name"): l.find("data").get("element_type") for l in ET.parse(xml).getroot().iter("layer") if l.get("type") == "Parameter"}
    kinds = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "i8": np.int8, "f64": np.float64}
    feed = {n: v.astype(kinds[types[n]]) for n, v in inputs.items() if n in types}
    results = openvino.run_named(xml, feed, [o["name"] for o in case["outputs"]])
    whys = [off(case, np.load(os.path.join(base, o["file"])), r) for o, r in zip(case["outputs"], results)]
    why = next((w for w in whys if w), "")
    yield "IR", "differs" if why else "same", why


# ---- Kaldi ----

def kaldi(opt, openvino, base, case, folder):
    inputs = {i["name"]: case_rows(base, i) for i in case["inputs"]}
    output = case["outputs"][0]
    expected = case_rows(base, output)
    first, last, step = output.get("select", [0, len(inputs["input"]), 1])

    def judge(rows):
        why = off(case, expected, rows[first:last:step])
        return "differs" if why else "same", why
    files = [os.path.join(base, case["model"][0])]
    xml, _ = converted(opt, files, folder)
    yield ("whole", *judge(openvino.run_named(xml, inputs, [output["name"]])[0]))
    try:
        xml, _ = converted(opt, files, folder, "--streaming")
    except Refused as why:
        yield "streaming", "not for chunks" if "in chunks of an utterance" in str(why) else "differs", str(why)
        return
    left, right = context(xml)
    fed = np.concatenate([np.repeat(inputs["input"][:1], left, 0), inputs["input"], np.repeat(inputs["input"][-1:], right, 0)])
    rest = {n: v for n, v in inputs.items() if n != "input"}
    for size in CHUNKS:
        feeds = [None] + [dict(rest, input=fed[at:at + size]) for at in range(0, len(fed), size)]
        rows = openvino.run_sequence(xml, feeds * 2, [output["name"]])
        for utterance in (rows[:len(rows) // 2], rows[len(rows) // 2:]):  # the same again, from a state that is reset
            verdict, why = judge(np.concatenate([r[0] for r in utterance])[left + right:])
            if why:
                break
        yield "streaming, chunks of %d" % size, verdict, why
    xml, _ = converted(opt, files, folder, "--remove_memory")
    yield ("state as inputs and outputs", *judge(fed_back(openvino, xml, rest, fed, output["name"])[left + right:]))


def context(xml):
    info = ET.parse(xml).getroot().find("rt_info/streaming")
    return (int(info.find(name).get("value")) for name in ("left_context", "right_context"))


def fed_back(openvino, xml, rest, fed, output, size=7):
    """Zeros to the inputs Parameter_<i>_for_<variable> first, then the outputs Result_for_<variable> of the run before."""
    state = {}
    for layer in ET.parse(xml).getroot().iter("layer"):
        if layer.get("type") == "Parameter" and "_for_" in layer.get("name"):
            data = layer.find("data")
            dims = [int(d) for d in data.get("shape").split(",")]
            state[layer.get("name")] = np.zeros(dims, {"f32": np.float32, "i32": np.int32}[data.get("element_type")])
    results = ["Result_for_" + n.split("_for_", 1)[1] for n in state]
    rows = []
    for at in range(0, len(fed), size):
        found = openvino.run_named(xml, dict(rest, input=fed[at:at + size], **state), [output] + results)
        rows.append(found[0])
        state = dict(zip(state, found[1:]))
    return np.concatenate(rows)


def run(opt, report, openvino):
    manifests = [os.path.join(opt.data, g, "cases.json") for g in ("mxnet", "kaldi")]
    manifests.append(os.path.join(opt.environments, "mxnet_made", "models", "cases.json"))  # where the stage mxnet has run
    for manifest in manifests:
        if not os.path.exists(manifest):
            print("converted: skipped, there is no %s" % manifest)
            continue
        with open(manifest) as f:
            cases = json.load(f)
        for case in cases:
            if opt.networks and case["name"] not in opt.networks:
                continue
            group = "%s IR in OpenVINO" % {"mxnet": "MXNet", "kaldi": "Kaldi"}[case["framework"]]
            folder = tempfile.mkdtemp()
            try:
                for way, verdict, why in {"mxnet": mxnet, "kaldi": kaldi}[case["framework"]](opt, openvino, os.path.dirname(manifest), case, folder):
                    report.say(group if way == "IR" else "%s: %s" % (group, way), case["name"], verdict, why)
            except (Refused, RuntimeError) as e:
                report.say(group, case["name"], "differs", str(e)[-300:])
            finally:
                shutil.rmtree(folder, ignore_errors=True)
