"""Exports networks of the table, in a process of its own: reads names of rows from standard input, one a line, makes the
folder of each, and answers with one line of JSON. A folder holds model.onnx and, for each set of input shapes, the inputs
and what ONNX Runtime makes of them.
"""
import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
import onnxruntime as ort
import torch

import table

OPSET = 17
EXTERNAL = 1 << 30  # larger models keep their weights outside


def read_inputs(spec, grow=0):
    """Arrays by name. `grow` makes the axes that may change longer."""
    rng = np.random.default_rng(7 + grow)
    arrays, dynamic = {}, {}
    for name, kind, dims, relation, bound in re.findall(r"(\w+):(\w+)\[([^\]]*)\](?:([<=])(\d+))?", spec):
        axes = {i for i, d in enumerate(dims.split(",")) if d.endswith("*")} | {0}
        shape = [int(d.rstrip("*")) + (grow if i in axes else 0) for i, d in enumerate(dims.split(","))]
        dynamic[name] = axes
        if kind == "i64":
            low = 1 if name == "attention_mask" else 0
            arrays[name] = rng.integers(low, int(bound), shape) if relation == "<" else np.full(shape, int(bound))
        else:
            arrays[name] = rng.standard_normal(shape).astype(np.float32)
    return arrays, dynamic


class Ordered(torch.nn.Module):
    """Takes inputs by position under their names, and gives all tensors of the result one by one."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        return self.flat(self.model(**dict(zip(self.names, values))) if self.names else self.model(*values))

    def flat(self, y):
        if isinstance(y, torch.Tensor):
            return (y,)
        if isinstance(y, dict):
            y = list(y.values())
        return tuple(t for part in y if isinstance(part, (list, tuple, dict, torch.Tensor)) for t in self.flat(part)) if isinstance(y, (list, tuple)) else ()


def build(network):
    torch.manual_seed(1)
    if network.library == "torchvision":
        import torchvision
        more = {"weights_backbone": None} if re.match("fcn|deeplab|lraspp", network.model) else {}
        more |= {"init_weights": True, "aux_logits": False} if network.model in ("googlenet", "inception_v3") else {}
        return torchvision.models.get_model(network.model, weights=None, num_classes=10, **more)
    if network.library == "timm":
        import timm
        return timm.create_model(network.model, pretrained=False, num_classes=10)
    if network.library == "blocks":
        import blocks
        return blocks.MAKERS[network.model]()
    import transformers
    model = getattr(transformers, network.model)
    config = model.config_class(**{k: dict(v) if isinstance(v, dict) else v for k, v in network.options}, return_dict=True)
    config._attn_implementation = "eager"
    return model(config)


@torch.no_grad()
def enliven(model, arrays):
    """Parameters that begin as all zeros or all ones get values, and batch normalization the statistics of random data, so
    that no layer is without effect and no value runs away."""
    g = torch.Generator().manual_seed(3)
    for p in model.parameters():
        if p.is_floating_point() and p.numel() > 1 and bool((p == p.flatten()[0]).all()):
            p.add_(0.05 * torch.randn(p.shape, generator=g))
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm) and m.track_running_stats]
    for m in norms:
        m.momentum, m.training = None, True
    values = [torch.from_numpy(v) for v in arrays.values()]
    if norms:
        with contextlib.suppress(Exception):
            model(*[torch.cat([v, v + 0.3 * torch.randn(v.shape, generator=g)]) if v.is_floating_point() else v for v in values])
    model.eval()


def static_quantized(path, to, arrays):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        left = [arrays, {n: -v for n, v in arrays.items()}]

        def get_next(self):
            return self.left.pop() if self.left else None

    quant_pre_process(path, to + ".pre")
    quantize_static(to + ".pre", to, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)


def transformed(way, path, arrays):
    """The legacy export changed as the way says; the new path and inputs."""
    to = path.replace(".onnx", ".changed.onnx")
    if way == "H":
        from onnxruntime.transformers.float16 import convert_float_to_float16
        onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True), to)
    elif way == "O":
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = to
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    elif way == "S":
        static_quantized(path, to, arrays)
    elif way == "Q":
        from onnxruntime.quantization import quantize_dynamic
        quantize_dynamic(path, to, op_types_to_quantize=["MatMul", "Gemm"])
    else:
        return path
    return to


PLAIN, FULL = ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL


def run_all(path, sets, level):
    """Pairs of inputs and results."""
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]  # an exporter drops what has no effect
    given = [{n: v for n, v in arrays.items() if n in names} for arrays in sets]
    return [(g, session.run(None, g)) for g in given]


def nudged(sets, seed):
    """Inputs that differ by about what an order of summation makes."""
    rng = np.random.default_rng(seed)
    return [{n: v * (1 + 1e-6 * rng.standard_normal(v.shape).astype(v.dtype)) if v.dtype.kind == "f" else v for n, v in arrays.items()} for arrays in sets]


def distance(results, others):
    """The largest difference of two runs, in parts of a tensor's largest value."""
    pairs = [(a, b) for (_, x), (_, y) in zip(results, others) for a, b in zip(x, y) if a.dtype.kind == "f" and a.size]
    return max((float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-6)) for a, b in pairs), default=0.0)


def export(network, way, folder):
    arrays, dynamic = read_inputs(network.inputs)
    model = build(network).eval()
    model = Ordered(model, list(arrays) if network.library == "transformers" else None).eval()
    enliven(model, arrays)
    values = tuple(torch.from_numpy(v) for v in arrays.values())
    path = os.path.join(folder, "model.onnx")
    grows = way in "YZ"
    with torch.no_grad():
        if way in "DZ":
            shapes = {"values": tuple({i: torch.export.Dim.AUTO for i in dynamic[n]} for n in arrays)} if grows else None
            torch.onnx.export(model, values, path, dynamo=True, input_names=list(arrays), dynamic_shapes=shapes, external_data=False, verbose=False)
        else:
            axes = {n: {i: "%s_%d" % (n, i) for i in dynamic[n]} for n in arrays} if grows else None
            torch.onnx.export(model, values, path, dynamo=False, input_names=list(arrays), dynamic_axes=axes, opset_version=OPSET)
    sets = [read_inputs(network.inputs, grow)[0] for grow in ((0, 2) if grows else (0,))]
    exact = run_all(path, sets, PLAIN) if way == "H" else None
    file = transformed(way, path, arrays)
    if file != path:
        os.replace(file, path)
    for left in os.listdir(folder):
        if left.endswith(".pre"):
            os.remove(os.path.join(folder, left))
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    try:  # as the file says it: the optimizer changes some results
        results = run_all(path, sets, PLAIN)
    except Exception:  # some files run only optimized
        results = run_all(path, sets, FULL)
    for index, (given, expected) in enumerate(results):
        np.savez(os.path.join(folder, "inputs%d.npz" % index), **given)
        np.savez(os.path.join(folder, "expected%d.npz" % index), *expected)
    # How far results may be apart although nothing is wrong: rounding to few bits tips over at the slightest difference.
    spread = distance(results, exact) if exact else 0.0
    if way in "SQH":
        spread = max([spread, distance(results, run_all(path, sets, FULL))] + [distance(results, run_all(path, nudged(sets, seed), PLAIN)) for seed in range(4)])
    return {"nodes": nodes, "sets": len(sets), "spread": spread}


def stamp(network, way):
    """What a folder has to have been made of to be used again."""
    versions = []
    for module in ("torch", "onnxruntime", {"blocks": "torch"}.get(network.library, network.library)):
        versions.append(__import__(module).__version__)
    if network.library == "blocks":
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "blocks.py"), "rb") as f:
            versions.append(hashlib.sha256(f.read()).hexdigest())
    return repr((network, way, OPSET, versions, 3 if way in "SQH" else 1))


def serve(root):
    by_name = {name: (network, way) for name, network, way in table.rows()}
    os.makedirs(root, exist_ok=True)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # exporters print
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)  # no exporter knows it
    for line in sys.stdin:
        name = line.strip()
        network, way = by_name[name]
        folder, start = os.path.join(root, name), time.monotonic()
        about = {}
        with contextlib.suppress(OSError, ValueError):
            with open(os.path.join(folder, "about.json")) as f:
                about = json.load(f)
        try:
            made_of = stamp(network, way)
            if about.get("stamp") != made_of:
                with tempfile.TemporaryDirectory(dir=root, prefix=".part-") as part:
                    try:
                        about = export(network, way, part)
                    except Exception as e:  # kept too: it would fail again
                        about = {"problem": "%s: %s" % (type(e).__name__, " ".join(str(e).split())[:300])}
                    about |= {"stamp": made_of, "export_seconds": round(time.monotonic() - start, 1)}
                    with open(os.path.join(part, "about.json"), "w") as f:
                        json.dump(about, f)
                    if "problem" in about:
                        for left in os.listdir(part):
                            if left != "about.json":
                                os.remove(os.path.join(part, left))
                    shutil.rmtree(folder, ignore_errors=True)
                    with contextlib.suppress(OSError):  # another run was faster
                        os.rename(part, folder)
                    os.makedirs(part, exist_ok=True)
        except Exception as e:
            about = {"problem": "%s: %s" % (type(e).__name__, str(e)[:300])}
        answers.write(json.dumps(about) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
