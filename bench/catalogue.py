"""The models of the table: how they are made, their inputs, and how closely the engines must agree on them."""
import os
from collections import namedtuple

import numpy as np
import onnx

import custom_models
import models
import quantized
import sequence_models
import vision_models

# kind: f32 (in the geometric mean), int8, custom, cosh, tiny. tolerance: of the largest value of an output.
Entry = namedtuple("Entry", "name label kind make tolerance")

BY_ONNX_RUNTIME = 1e-3
BY_EIGHT_BITS = 0.1  # roundings differ by a step here and there, and 50 layers amplify it


def resnet50_int8():
    model = models.resnet50()
    return quantized.quantize(model, inputs_of(model), "resnet50_int8")


def entry(name, label, kind, make, tolerance=BY_ONNX_RUNTIME):
    return Entry(name, label, kind, make, tolerance)


ALL = [
    entry("resnet50", "ResNet-50", "f32", models.resnet50),
    entry("mobilenet_v2", "MobileNet v2", "f32", models.mobilenet_v2),
    entry("squeezenet", "SqueezeNet 1.1", "f32", vision_models.squeezenet),
    entry("tiny_yolo", "tiny YOLO v3", "f32", vision_models.tiny_yolo),
    entry("bert", "BERT-base 128", "f32", sequence_models.bert),
    entry("tdnn", "TDNN", "f32", sequence_models.tdnn),
    entry("lstm", "LSTM 2x512", "f32", models.lstm),
    entry("resnet50_int8", "ResNet-50 int8 QDQ", "int8", resnet50_int8, BY_EIGHT_BITS),
    entry("cnn_elementwise", "CNN + custom element-wise", "custom", custom_models.cnn_elementwise),
    entry("cnn_norm", "CNN + custom channel norm", "custom", custom_models.cnn_norm),
    entry("cnn_warp", "CNN + custom warp", "custom", custom_models.cnn_warp),
    entry("cosh", "cosh, 1M floats", "cosh", sequence_models.cosh),
    entry("cosh_custom", "cosh, 1M floats, custom", "cosh", custom_models.cosh_custom),
    entry("tiny_operations", "100 tiny operations", "tiny", sequence_models.tiny_operations),
]


def inputs_of(model):
    """Random numbers, and ones for integers except the words of BERT; an unknown dimension is 1."""
    rng = np.random.default_rng(1)
    weights = {w.name for w in model.graph.initializer}
    values = {}
    for i in model.graph.input:
        if i.name in weights:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)
        shape = [d.dim_value or 1 for d in i.type.tensor_type.shape.dim]
        words = i.name == "ids" and model.graph.name == "bert"
        value = rng.integers(0, 30522, shape) if words else rng.standard_normal(shape) if kind.kind == "f" else np.ones(shape)
        values[i.name] = value.astype(kind)
    return values


def write(e, folder):
    """The paths of the model and of its inputs; files of an earlier run are used again unless the code is newer."""
    os.makedirs(folder, exist_ok=True)
    model, inputs = (os.path.join(folder, e.name + end) for end in (".onnx", ".npz"))
    code = max(os.path.getmtime(m.__file__) for m in (custom_models, models, quantized, sequence_models, vision_models))
    if not os.path.exists(model) or os.path.getmtime(model) < code:
        made = e.make()
        onnx.save(made, model + ".part")
        np.savez(inputs, **inputs_of(made))
        os.rename(model + ".part", model)
    return model, inputs


def has_custom(e):
    return e.kind == "custom" or e.name == "cosh_custom"
