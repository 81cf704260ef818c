"""Command lines of the Model Optimizer, given to `mo` of OpenVINO 2023.3 and to `graft convert`.

Both IRs are loaded by OpenVINO 2023.3 and run with the same random inputs. Runs in an environment with openvino-dev, which
scripts/mo.sh makes.

  mo_lines.py --mo PATH --graft PATH --work DIR [--only NAME...]

Ends with a table, and leaves it as DIR/table.json for main.py, which knows the differences that are explained.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))

# name, arguments; {m} is the folder with the models of mo_models.py. Weights stay f32 where a line is not about that: mo
# would store them as f16.
FULL = "--compress_to_fp16=False"
LINES = [
    # ONNX: shapes
    ("onnx", "--input_model {m}/cls.onnx " + FULL),
    ("onnx, short names", "-m {m}/cls.onnx -n renamed " + FULL),
    ("onnx, -w and --framework", "-w {m}/cls.onnx --framework onnx " + FULL),
    ("shape", "--input_model {m}/open.onnx --input_shape [1,3,12,20] " + FULL),
    ("shape in parentheses", "--input_model {m}/open.onnx --input_shape (2,3,9,9) " + FULL),
    ("shape with unknown dimensions", "--input_model {m}/open.onnx --input_shape [?,3,16,-1] " + FULL),
    ("shape with bounds", "--input_model {m}/open.onnx --input_shape [1..4,3,16,12..] " + FULL),
    ("shape in --input", "--input_model {m}/open.onnx --input image[1,3,12,12] " + FULL),
    ("shape in --input, blanks", "--input_model {m}/open.onnx --input image[1\\ 3\\ 12\\ 12] " + FULL),
    ("batch", "--input_model {m}/cls.onnx --batch 3 " + FULL),
    ("batch, -b", "--input_model {m}/open.onnx -b 2 " + FULL),
    ("static shape", "--input_model {m}/open.onnx --input_shape [1,3,10,10] --static_shape " + FULL),
    ("operations", "--input_model {m}/ops.onnx " + FULL),
    # ONNX: cutting and freezing
    ("cut at an output", "--input_model {m}/cls.onnx --output relu1 " + FULL),
    ("cut at an input", "--input_model {m}/cls.onnx --input conv2[1,4,6,6] " + FULL),
    ("cut at an input port", "--input_model {m}/cls.onnx --input 0:conv2[1,4,6,6] --output relu2 " + FULL),
    ("cut at an input, legacy frontend", "--input_model {m}/cls.onnx --input 0:conv2[1,4,6,6] --use_legacy_frontend " + FULL),
    ("cut at an output port", "--input_model {m}/cls.onnx --output conv2:0 " + FULL),
    ("order of inputs", "--input_model {m}/two.onnx --input flag,info,image " + FULL),
    ("order of outputs", "--input_model {m}/two.onnx --output bend,gate " + FULL),
    ("shapes of several inputs", "--input_model {m}/two.onnx --input image,info --input_shape [1,3,9,9],[1,4] --freeze_placeholder_with_value flag->True " + FULL),
    ("freezing in --input", "--input_model {m}/two.onnx --input image,info,flag->True " + FULL),
    ("freezing with a list", "--input_model {m}/two.onnx --input image,info[1,4]->[1,2,3,4],flag " + FULL),
    ("freezing with a type behind the shape", "--input_model {m}/two.onnx --input image,info[1,4]{{f32}}->[1,2,3,4],flag " + FULL),
    ("--freeze_placeholder_with_value", "--input_model {m}/two.onnx --freeze_placeholder_with_value flag->False " + FULL),
    ("type", "--input_model {m}/ids.onnx --input ids{{i32}} " + FULL),
    ("type behind the shape", "--input_model {m}/ids.onnx --input ids[2,4]{{i32}} " + FULL),
    ("type before the shape", "--input_model {m}/ids.onnx --input ids{{i32}}[2,4] " + FULL),
    # ONNX: preprocessing
    ("means", "--input_model {m}/cls.onnx --mean_values [10,20,30] " + FULL),
    ("means and scales by input", "--input_model {m}/cls.onnx --mean_values image[10,20,30] --scale_values image[2,3,4] " + FULL),
    ("means of one input of several", "--input_model {m}/two.onnx --mean_values image(1,2,3) " + FULL),
    ("scale", "--input_model {m}/cls.onnx --scale 255 " + FULL),
    ("scale, -s", "--input_model {m}/cls.onnx -s 17.5 " + FULL),
    ("reversed channels", "--input_model {m}/cls.onnx --reverse_input_channels --mean_values [10,20,30] " + FULL),
    ("prefix --mean_value", "--input_model {m}/cls.onnx --mean_value [10,20,30] --reverse_input_ch " + FULL),
    ("layout", "--input_model {m}/cls.onnx --layout nchw->nhwc " + FULL),
    ("layout of an input before an image", "--input_model {m}/cls.onnx --output relu1 --layout nchw->nhwc " + FULL),
    ("layout by name", "--input_model {m}/two.onnx --layout image([n,c,h,w]->[n,h,w,c]),info(nc) " + FULL),
    ("source and target layout", "--input_model {m}/cls.onnx --source_layout nchw --target_layout nhwc " + FULL),
    ("source layout and channels", "--input_model {m}/cls.onnx --source_layout nchw --reverse_input_channels --mean_values [1,2,3] " + FULL),
    # ONNX: the rest
    ("f16", "--input_model {m}/cls.onnx --compress_to_fp16"),
    ("f16, said with True", "--input_model {m}/cls.onnx --compress_to_fp16=True"),
    ("f16, the older option", "--input_model {m}/cls.onnx --data_type FP16"),
    ("without fusing", "--input_model {m}/cls.onnx --disable_fusing --disable_resnet_optimization"),
    ("no transformation", "--input_model {m}/cls.onnx --transform \"\" " + FULL),
    ("no transformation, behind =", "--input_model {m}/cls.onnx --transform= " + FULL),
    ("silent", "--input_model {m}/cls.onnx --silent --log_level ERROR --progress=False " + FULL),
    ("new frontend", "--input_model {m}/cls.onnx --use_new_frontend " + FULL),
    ("legacy frontend", "--input_model {m}/cls.onnx --use_legacy_frontend " + FULL),
    # TensorFlow
    ("frozen", "--input_model {m}/frozen.pb --input_shape [1,8,8,3] --input x --freeze_placeholder_with_value training->False " + FULL),
    ("frozen, --framework", "--input_model {m}/frozen.pb --framework tf --input x[2,8,8,3],training->False " + FULL),
    ("text", "--input_model {m}/frozen.pbtxt --input_model_is_text --input x,training->True " + FULL),
    ("checkpoint", "--input_model {m}/variables.pb --input_checkpoint {m}/meta/model.ckpt.index --input x,training->False --output prob " + FULL),
    ("checkpoint, legacy frontend", "--input_model {m}/variables.pb --input_checkpoint {m}/meta/model.ckpt.index --input x,training->False --output prob --use_legacy_frontend " + FULL),
    ("meta graph", "--input_meta_graph {m}/meta/model.ckpt.meta --input x,training->False --output prob " + FULL),
    ("saved model", "--saved_model_dir {m}/saved " + FULL),
    ("saved model, tags and batch", "--saved_model_dir {m}/saved --saved_model_tags serve --batch 2 " + FULL),
    ("saved model, means", "--saved_model_dir {m}/saved --mean_values [1,2,3] --scale_values [2,2,4] --reverse_input_channels " + FULL),
    ("saved model, layout", "--saved_model_dir {m}/saved --layout nhwc->nchw --batch 1 " + FULL),
    ("cut of a frozen graph", "--input_model {m}/frozen.pb --input x[1,8,8,3] --output pool1 " + FULL),
    ("cut on both sides", "--input_model {m}/frozen.pb --input conv2[1,2,2,4],training->False --output mean " + FULL),
    ("cut on both sides, legacy frontend", "--input_model {m}/frozen.pb --use_legacy_frontend --input 0:conv2[1,2,2,4],training->False --output mean " + FULL),
    ("means of a frozen graph", "--input_model {m}/frozen.pb --input x[1,8,8,3],training->False --mean_values x[1,2,3] --scale 2 " + FULL),
    ("legacy frontend, batch", "--input_model {m}/frozen.pb --use_legacy_frontend --batch 1 --freeze_placeholder_with_value training->False " + FULL),
    # Caffe
    ("caffe", "--input_model {m}/net.caffemodel --input_proto {m}/net.prototxt " + FULL),
    ("caffe, short names", "-w {m}/net.caffemodel -d {m}/net.prototxt -b 4 -n deep " + FULL),
    ("caffe, prototxt beside it", "--input_model {m}/net.caffemodel --framework caffe " + FULL),
    ("caffe, shape", "--input_model {m}/net.caffemodel --input_proto {m}/net.prototxt --input_shape [2,3,15,15] " + FULL),
    ("caffe, means by input", "--input_model {m}/net.caffemodel --input_proto {m}/net.prototxt --mean_values data[104,117,123] --scale 0.5 " + FULL),
    ("caffe, f16 and channels", "--input_model {m}/net.caffemodel --input_proto {m}/net.prototxt --reverse_input_channels --compress_to_fp16"),
    ("caffe, cut", "--input_model {m}/net.caffemodel --input_proto {m}/net.prototxt --output pool1 " + FULL),
    ("caffe, cut on both sides", "--input_model {m}/net.caffemodel --input_proto {m}/net.prototxt --input conv2[1,4,7,7] --output norm " + FULL),
    ("caffe, options of custom layers", "--input_model {m}/net.caffemodel --input_proto {m}/net.prototxt --disable_omitting_optional --enable_flattening_nested_params " + FULL),
    # What both refuse
    ("no model", FULL),
    ("an unknown output", "--input_model {m}/cls.onnx --output nowhere"),
    ("contradicting shapes", "--input_model {m}/cls.onnx --batch 2 --input_shape [1,3,16,16]"),
    ("means of an unknown input", "--input_model {m}/cls.onnx --mean_values nowhere[1,2,3]"),
    ("an unknown option", "--input_model {m}/cls.onnx --no_such_option 1"),
]


def words(line, models):
    """As a shell parts them, with `\\ ` for a blank and `""` for nothing."""
    return [w.replace("\0", " ").replace('""', "") for w in line.format(m=models).replace("\\ ", "\0").split()]


def convert(command, folder):
    """The .xml, or why there is none."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    p = subprocess.run(command + ["-o", folder], capture_output=True, text=True, cwd=folder, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES=""))
    written = [f for f in os.listdir(folder) if f.endswith(".xml")]
    if p.returncode == 0 and len(written) == 1:
        return os.path.join(folder, written[0]), ""
    lines = [l for l in (p.stderr + p.stdout).strip().splitlines() if "error" in l.lower()] or ["exit %d, %d files" % (p.returncode, len(written))]
    return None, lines[0].strip()


# ---- two IRs of one model, in OpenVINO ----

def names(port):
    """All that a user may call it: tensor names, and the layer, of an output the one that makes it."""
    node = port.get_node()
    if node.get_type_name() == "Result":
        node = node.input_value(0).get_node()
    return set(port.get_names()) | {node.get_friendly_name()}


def matched(a, b):
    """The port of `b` for each of `a`, by name, or all by position; and whether names told."""
    found = []
    for p in a:
        same = [q for q in b if names(p) & names(q)]
        if len(same) != 1:
            return list(b), False
        found.append(same[0])
    return found, len(set(map(id, found))) == len(b)


def values(port, rng):
    def length(d):  # 8 where it is open, as far as bounds allow
        return d.get_length() if d.is_static else max(d.get_min_length(), 8 if d.get_max_length() < 0 else min(8, d.get_max_length()))
    shape = [length(d) for d in port.get_partial_shape()]
    kind = port.get_element_type().to_dtype()
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(bool) if shape else np.array(True)
    if np.issubdtype(kind, np.integer):
        return rng.integers(0, 4, shape).astype(kind)
    return rng.standard_normal(shape).astype(kind)


def compare(theirs, ours):
    """The largest difference in parts of the largest value, and what else is not the same."""
    from openvino.runtime import Core
    core = Core()
    a, b = core.read_model(theirs), core.read_model(ours)
    if (len(a.inputs), len(a.outputs)) != (len(b.inputs), len(b.outputs)):
        return None, "mo: %d inputs, %d outputs; graft: %d, %d" % (len(a.inputs), len(a.outputs), len(b.inputs), len(b.outputs))
    notes, rng = [], np.random.default_rng(1)
    inputs, by_name = matched(a.inputs, b.inputs)
    if not by_name:
        notes.append("names of inputs differ: %s, %s" % tuple([sorted(min(names(p)) for p in m.inputs) for m in (a, b)]))
    elif [i.get_index() for i in inputs] != list(range(len(inputs))) and [b.inputs.index(i) for i in inputs] != list(range(len(inputs))):
        notes.append("order of inputs differs")
    outputs, by_name = matched(a.outputs, b.outputs)
    if not by_name:
        notes.append("names of outputs differ: %s, %s" % tuple([sorted(min(names(p)) for p in m.outputs) for m in (a, b)]))
    elif [b.outputs.index(o) for o in outputs] != list(range(len(outputs))):
        notes.append("order of outputs differs")
    for what, ports, others in (("input", a.inputs, inputs), ("output", a.outputs, outputs)):
        for p, q in zip(ports, others):
            if p.get_partial_shape() != q.get_partial_shape():
                notes.append("%s %s: shape %s, graft %s" % (what, min(names(p)), p.get_partial_shape(), q.get_partial_shape()))
            if p.get_element_type() != q.get_element_type():
                notes.append("%s %s: type %s, graft %s" % (what, min(names(p)), p.get_element_type().get_type_name(), q.get_element_type().get_type_name()))
    given = [values(p, rng) for p in a.inputs]
    places = [b.inputs.index(q) for q in inputs]
    x = core.compile_model(a, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request().infer(dict(enumerate(given)))
    y = core.compile_model(b, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request().infer(dict(zip(places, given)))
    x, y, worst = list(x.values()), list(y.values()), 0.0
    for i, q in enumerate(outputs):
        u, v = np.asarray(x[i], np.float64), np.asarray(y[b.outputs.index(q)], np.float64)
        if u.shape != v.shape:
            return None, "; ".join(notes + ["output %d: shape %s, graft %s" % (i, list(u.shape), list(v.shape))])
        if u.size:
            worst = max(worst, float(np.abs(u - v).max()) / max(float(np.abs(u).max()), 1e-6))
    return worst, "; ".join(notes)


def judge(line, theirs, ours, why_theirs, why_ours):
    row = {"line": line, "mo": "ok" if theirs else "refused", "graft": "ok" if ours else "refused", "difference": None, "verdict": "same", "why": ""}
    if not theirs and not ours:
        row.update(verdict="both refuse", why="mo: %s | graft: %s" % (why_theirs, why_ours))
    elif not theirs or not ours:
        row.update(verdict="differs", why=("mo: " + why_theirs) if not theirs else ("graft: " + why_ours))
    else:
        try:
            row["difference"], why = compare(theirs, ours)
        except Exception as e:
            why = "in OpenVINO: " + " ".join(str(e).split())[-300:]
        tolerance = 1e-2 if "f16" in line else 1e-4
        if why or row["difference"] is None or row["difference"] > tolerance:
            row.update(verdict="differs", why=why or "the numbers")
    return row


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mo", required=True)
    ap.add_argument("--graft", required=True)
    ap.add_argument("--work", required=True)
    ap.add_argument("--only", nargs="*", default=[])
    opt = ap.parse_args()
    work, models = os.path.abspath(opt.work), os.path.join(os.path.abspath(opt.work), "models")
    if not os.path.isdir(models):
        subprocess.run([sys.executable, os.path.join(HERE, "mo_models.py"), models], check=True, stderr=subprocess.DEVNULL)
    lines = [l for l in LINES if not opt.only or l[0] in opt.only]
    graft, mo = os.path.abspath(opt.graft), os.path.abspath(opt.mo)

    def one(number, line, arguments):
        folder = lambda who: os.path.join(work, who, str(number))
        theirs, why_theirs = convert([sys.executable, mo] + words(arguments, models), folder("mo"))
        ours, why_ours = convert([graft, "convert"] + words(arguments, models), folder("graft"))
        return line, theirs, ours, why_theirs, why_ours

    with concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 2) // 2)) as pool:
        done = [f.result() for f in [pool.submit(one, i, *l) for i, l in enumerate(lines)]]
    table = [judge(*d) for d in done]
    with open(os.path.join(work, "table.json"), "w") as f:
        json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
