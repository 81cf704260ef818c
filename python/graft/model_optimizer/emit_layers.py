"""Operations that compute: arithmetic in the Model Optimizer's forms, convolution, pooling, normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from .builtin import BY_OP
from .emit import Builder, emitter, table_attributes
from .errors import Error
from .node import Node

__all__: "list[str]" = []


@emitter("AttributedPower")
def _power(b: Builder, node: Node) -> Any:
    x = b.inputs[0]
    scale, shift, power = (float(node.soft_get(n, d)) for n, d in (("scale", 1), ("shift", 0), ("power", 1)))
    if scale != 1:
        x = b.op("Multiply", [x, b.like(scale, x)])
    if shift != 0:
        x = b.op("Add", [x, b.like(shift, x)])
    return x if power == 1 else b.op("Power", [x, b.like(power, x)])


@emitter("AttributedClamp")
def _clamp(b: Builder, node: Node) -> Any:
    return b.op("Clamp", [b.inputs[0]], {"min": float(node.min), "max": float(node.max)})


@emitter("Clamp")
def _clamp_inputs(b: Builder, node: Node) -> Any:
    x = b.op("Maximum", [b.inputs[0], b.inputs[1]]) if b.has(1) else b.inputs[0]
    return b.op("Minimum", [x, b.inputs[2]]) if b.has(2) else x


@emitter("EltwiseN", "Eltwise")
def _eltwise_n(b: Builder, node: Node) -> Any:
    kinds = {"sum": "Add", "mul": "Multiply", "max": "Maximum", "min": "Minimum"}
    kind = kinds.get(str(node.soft_get("operation", "sum")))
    if kind is None:
        raise Error(f"'{node.soft_get('name')}': expected the operation sum, mul, max or min, got {node.operation!r}")
    out = b.inputs[0]
    for other in b.inputs[1:]:
        out = b.op(kind, [out, other])
    return out


@emitter("LeakyReLU")
def _leaky(b: Builder, node: Node) -> Any:
    return b.op("PReLU", [b.inputs[0], b.like([float(node.soft_get("negative_slope", 0.01))], b.inputs[0])])


@emitter("ReLU")
def _relu(b: Builder, node: Node) -> Any:
    return _leaky(b, node) if node.soft_get("negative_slope", 0) else b.op("ReLU", [b.inputs[0]])


@emitter("PReLU")
def _prelu(b: Builder, node: Node) -> Any:
    slope = b.inputs[1]
    shape = b.shape(slope) or ()
    rank = b.rank(b.inputs[0])
    if len(shape) == 1 and shape[0] != 1 and rank > 2 and b.layout == "NCHW":
        slope = b.op("Reshape", [slope, b.ints([-1] + [1] * (rank - 2))], {"special_zero": False})
    return b.op("PReLU", [b.inputs[0], slope])


@emitter("ThresholdedRelu")
def _thresholded(b: Builder, node: Node) -> Any:
    x = b.inputs[0]
    above = b.op("Greater", [x, b.like(float(node.soft_get("alpha", 1.0)), x)])
    return b.op("Select", [above, x, b.like(0.0, x)])


@emitter("HardSigmoid")
def _hard_sigmoid(b: Builder, node: Node) -> Any:
    alpha = b.inputs[1] if b.has(1) else b.like(float(node.soft_get("alpha", 0.2)), b.inputs[0])
    beta = b.inputs[2] if b.has(2) else b.like(float(node.soft_get("beta", 0.5)), b.inputs[0])
    return b.op("HardSigmoid", [b.inputs[0], alpha, beta])


@emitter("Gelu")
def _gelu(b: Builder, node: Node) -> Any:
    mode = str(node.soft_get("approximation_mode", "ERF")).upper()
    return b.op("Gelu", [b.inputs[0]], {"approximation_mode": mode}, "opset7")


@emitter("Cast")
def _cast(b: Builder, node: Node) -> Any:
    from .datatypes import ir_name

    return b.op("Convert", [b.inputs[0]], {"destination_type": ir_name(node.dst_type)})


@emitter("Range")
def _range(b: Builder, node: Node) -> Any:
    from .datatypes import ir_name

    kind = node.soft_get("output_type", None)
    return b.op("Range", b.inputs[:3], {"output_type": ir_name(kind if kind is not None else b.dtype(b.inputs[0]))},
                "opset4")


@emitter("Round")
def _round(b: Builder, node: Node) -> Any:
    return b.op("Round", [b.inputs[0]], {"mode": str(node.soft_get("mode", "half_to_even"))}, "opset5")


@emitter("ReduceSum", "ReduceProd", "ReduceMin", "ReduceMax", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceAnd",
         "ReduceLogicalAnd", "ReduceLogicalOr")
def _reduce(b: Builder, node: Node) -> Any:
    kind = "ReduceLogicalAnd" if b.base_op == "ReduceAnd" else b.base_op
    if b.has(1):
        axes = b.inputs[1]
    elif node.has_valid("axis"):
        axes = b.ints(np.ravel(node.axis))
    else:
        axes = b.ints(list(range(b.rank(b.inputs[0]))))
    version = "opset4" if kind in ("ReduceL1", "ReduceL2") else "opset1"
    return b.op(kind, [b.inputs[0], axes], {"keep_dims": bool(node.soft_get("keep_dims", False))}, version)


@emitter("ArgMax", "ArgMin")
def _arg(b: Builder, node: Node) -> Any:
    from .datatypes import ir_name

    axis = node.soft_get("axis", None)
    if axis is None:
        axis = int(np.ravel(b.value(1))[0])
    mode = "max" if b.base_op == "ArgMax" else "min"
    kind = ir_name(node.soft_get("output_type", np.int64))
    made = b.op("TopK", [b.inputs[0], b.ints(int(node.soft_get("top_k", 1)))],
                {"axis": int(axis), "mode": mode, "sort": "index", "index_element_type": kind}, "opset3", 2)
    squeeze = node.has_and_set("remove_values_output") and not node.soft_get("keepdims", 1)
    return b.op("Squeeze", [made[1], b.ints([int(axis)])]) if squeeze else made[1]


def _two_dimensional(b: Builder, node: Node, kind: str, version: str) -> Any:
    """Softmax over all dimensions from `axis` on, as ONNX had it before version 13."""
    x, rank = b.inputs[0], b.rank(b.inputs[0])
    axis = int(node.soft_get("axis", 1)) % max(rank, 1)
    if axis == rank - 1:
        return b.op(kind, [x], {"axis": axis}, version)
    shape = b.op("ShapeOf", [x], {"output_type": "i64"}, "opset3")
    head = b.op("Gather", [shape, b.ints(list(range(axis))), b.ints(0)], {"batch_dims": 0}, "opset8")
    rows = b.op("ReduceProd", [head, b.ints([0])], {"keep_dims": True})
    flat = b.op("Reshape", [x, b.op("Concat", [rows, b.ints([-1])], {"axis": 0})], {"special_zero": False})
    return b.op("Reshape", [b.op(kind, [flat], {"axis": 1}, version), shape], {"special_zero": False})


@emitter("SoftMaxONNX")
def _softmax_onnx(b: Builder, node: Node) -> Any:
    return _two_dimensional(b, node, "SoftMax", "opset8")


@emitter("LogSoftmaxONNX")
def _log_softmax_onnx(b: Builder, node: Node) -> Any:
    return _two_dimensional(b, node, "LogSoftmax", "opset5")


@emitter("SoftMax")
def _softmax(b: Builder, node: Node) -> Any:
    return b.op("SoftMax", [b.inputs[0]], {"axis": int(node.soft_get("axis", 1))}, "opset8")


# ---- matrices ----


@emitter("MatMul", "GEMM")
def _matmul(b: Builder, node: Node) -> Any:
    flags = {n: bool(node.soft_get(n, False)) for n in ("transpose_a", "transpose_b")}
    return b.op("MatMul", b.inputs[:2], flags)


@emitter("Gemm")
def _gemm(b: Builder, node: Node) -> Any:
    alpha, beta = float(node.soft_get("alpha", 1)), float(node.soft_get("beta", 1))
    out = _matmul(b, node)
    if alpha != 1:
        out = b.op("Multiply", [out, b.like(alpha, out)])
    if not b.has(2) or beta == 0:
        return out
    c = b.inputs[2]
    return b.op("Add", [out, c if beta == 1 else b.op("Multiply", [c, b.like(beta, c)])])


@emitter("FullyConnected")
def _fully_connected(b: Builder, node: Node) -> Any:
    x, weights = b.inputs[0], b.inputs[1]
    size = int(node.soft_get("out-size", 0)) or int((b.shape(weights) or (0,))[0] or 0)
    if b.rank(weights) != 2:
        weights = b.op("Reshape", [weights, b.ints([size, -1])], {"special_zero": False})
    if b.rank(x) > 2 and node.soft_get("axis", 1) == 1:
        x = b.op("Reshape", [x, b.ints([0, -1])], {"special_zero": True})
    out = b.op("MatMul", [x, weights], {"transpose_a": False, "transpose_b": True})
    return b.op("Add", [out, b.inputs[2]]) if b.has(2) else out


# ---- convolution and pooling ----


def _spatial(node: Node, name: str, rank: int, layout: str, default: int) -> "list[int]":
    """The values of a per-axis attribute for the spatial axes."""
    value = node.soft_get(name, None)
    axes = [int(a) for a in np.ravel(node.soft_get("spatial_dims", []))]
    axes = axes or list(range(2, rank)) if layout == "NCHW" else axes or list(range(1, rank - 1))
    if value is None:
        return [default] * len(axes)
    flat = [int(v) for v in np.ravel(value)]
    return [flat[a] for a in axes] if len(flat) == rank else flat


def _pads(node: Node, rank: int, layout: str) -> "tuple[list[int], list[int]]":
    pad = node.soft_get("pad", None)
    axes = [int(a) for a in np.ravel(node.soft_get("spatial_dims", []))]
    axes = axes or (list(range(2, rank)) if layout == "NCHW" else list(range(1, rank - 1)))
    if pad is None:
        return [0] * len(axes), [0] * len(axes)
    rows = np.asarray(pad, dtype=np.int64)
    rows = rows[axes] if len(rows) == rank else rows
    return rows[:, 0].tolist(), rows[:, 1].tolist()


def _layout(b: Builder, node: Node) -> str:
    channels = np.ravel(node.soft_get("channel_dims", [1 if b.layout == "NCHW" else -1]))
    return "NCHW" if int(channels[0]) == 1 else "NHWC"


@emitter("Convolution", "Deconvolution")
def _convolution(b: Builder, node: Node) -> Any:
    x, weights = b.inputs[0], b.inputs[1]
    rank, layout = b.rank(x), _layout(b, node)
    begin, end = _pads(node, rank, layout)
    attributes = {"strides": _spatial(node, "stride", rank, layout, 1), "pads_begin": begin, "pads_end": end,
                  "dilations": _spatial(node, "dilation", rank, layout, 1),
                  "auto_pad": str(node.soft_get("auto_pad", None) or "explicit")}
    group = int(node.soft_get("group", 1))
    backward = b.base_op == "Deconvolution" or node.soft_get("type", "") == "Deconvolution"
    if layout == "NHWC":
        if group != 1 or backward:
            raise Error(f"'{node.soft_get('name')}': a grouped or transposed convolution in NHWC has no counterpart here")
        order = [rank - 1, rank - 2] + list(range(rank - 2))
        x, weights = b.to_nchw(x), b.op("Transpose", [weights, b.ints(order)])
    elif b.rank(weights) != rank or group != 1:
        kernel = _spatial(node, "kernel_spatial", rank, layout, 0)
        if not any(kernel):
            kernel = [int(d or 0) for d in (b.shape(weights) or ())[-(rank - 2):]]
        count = int(node.soft_get("output", 0)) or int((b.shape(weights) or (0,))[0] or 0)
        channels = int((b.shape(x) or (0, 0))[1] or 0)
        shape = [channels // group, count // group] if backward else [count // group, channels // group]
        shape = ([group] if group != 1 else []) + shape
        weights = b.op("Reshape", [weights, b.ints(shape + kernel)], {"special_zero": False})
    kind = ("Group" if group != 1 else "") + "Convolution" + ("BackpropData" if backward else "")
    if backward:
        attributes["output_padding"] = _spatial(node, "output_padding", rank, layout, 0)
    out = b.op(kind, [x, weights], attributes)
    if layout == "NHWC":
        out = b.from_nchw(out)
    if not b.has(2):
        return out
    bias = b.inputs[2]
    if layout == "NCHW":
        bias = b.op("Reshape", [bias, b.ints([1, -1] + [1] * (rank - 2))], {"special_zero": False})
    return b.op("Add", [out, bias])


@emitter("Pooling")
def _pooling(b: Builder, node: Node) -> Any:
    x = b.inputs[0]
    rank, layout = b.rank(x), _layout(b, node)
    method = str(node.soft_get("pool_method", "max"))
    axes = list(range(2, rank)) if layout == "NCHW" else list(range(1, rank - 1))
    if node.has_and_set("global_pool"):
        return b.op("ReduceMax" if method == "max" else "ReduceMean", [x, b.ints(axes)], {"keep_dims": True})
    begin, end = _pads(node, rank, layout)
    rounding = "ceil" if node.soft_get("pooling_convention",
                                       "valid") == "full" or node.soft_get("rounding_type", "") == "ceil" \
        else "floor"
    attributes: "dict[str, Any]" = {
        "strides": _spatial(node, "stride", rank, layout, 1), "kernel": _spatial(node, "window", rank, layout, 1),
        "pads_begin": begin, "pads_end": end, "rounding_type": rounding,
        "auto_pad": str(node.soft_get("auto_pad", None) or "explicit")}
    if method == "avg":
        attributes["exclude-pad"] = str(node.soft_get("exclude_pad", True)).lower() in ("true", "1")
    x = b.to_nchw(x) if layout == "NHWC" else x
    out = b.op("MaxPool" if method == "max" else "AvgPool", [x], attributes)
    return b.from_nchw(out) if layout == "NHWC" else out


# ---- normalization ----


@emitter("batchNormInference", "BatchNormInference", "BN")
def _batch_norm(b: Builder, node: Node) -> Any:
    epsilon = float(node.soft_get("eps", node.soft_get("epsilon", 1e-5)))
    return b.op("BatchNormInference", b.inputs[:5], {"epsilon": epsilon}, "opset5")


def _per_channel(b: Builder, value: Any, rank: int, axis: int = 1) -> Any:
    return b.op("Reshape", [value, b.ints([1] * axis + [-1] + [1] * (rank - axis - 1))], {"special_zero": False})


@emitter("ScaleShift")
def _scale_shift(b: Builder, node: Node) -> Any:
    x, rank = b.inputs[0], b.rank(b.inputs[0])
    axis = int(node.soft_get("axis", 1)) % max(rank, 1)
    out = b.op("Multiply", [x, _from_axis(b, b.inputs[1], rank, axis)]) if b.has(1) else x
    return b.op("Add", [out, _from_axis(b, b.inputs[2], rank, axis)]) if b.has(2) else out


def _from_axis(b: Builder, value: Any, rank: int, axis: int) -> Any:
    """A vector along an axis; or dimensions that begin at the axis, as Caffe's Scale has them."""
    dims = b.shape(value)
    if dims is None or len(dims) < 2:
        return _per_channel(b, value, rank, axis)
    rest = rank - axis - len(dims)
    if rest < 0:
        raise Error(f"expected at most {rank - axis} dimensions from axis {axis} on, got {len(dims)}")
    return value if rest == 0 else b.op("Unsqueeze", [value, b.ints(range(len(dims), len(dims) + rest))])


@emitter("PriorBox", "PriorBoxClustered")
def _prior_box(b: Builder, node: Node) -> Any:
    """The framework's layer has the feature map and the image as inputs; the operation takes their sizes."""
    attributes = table_attributes(node, BY_OP[b.base_op].row)
    for name in ("img_size", "img_h", "img_w", *(("step_h", "step_w") if b.base_op == "PriorBox" else ())):
        attributes.pop(name, None)
    if b.rank(b.inputs[0]) == 1:
        return b.op(b.base_op, b.inputs[:2], attributes)
    sizes = [b.op("Slice", [b.op("ShapeOf", [x], {"output_type": "i64"}, "opset3"), b.ints([2]), b.ints([4]), b.ints([1])], {}, "opset8")
             for x in b.inputs[:2]]
    return b.op("Unsqueeze", [b.op(b.base_op, sizes, attributes), b.ints([0])])


@emitter("Select")
def _select(b: Builder, node: Node) -> Any:
    """Frameworks take numbers as conditions; the operation takes booleans."""
    condition = b.inputs[0]
    if b.dtype(condition) != np.bool_:
        condition = b.op("NotEqual", [condition, b.like(0, condition)])
    return b.op("Select", [condition, *b.inputs[1:3]], table_attributes(node, BY_OP[b.base_op].row))


@emitter("DetectionOutput")
def _detection_output(b: Builder, node: Node) -> Any:
    """MXNet's anchors [1, count, 4], which its transformations hand on, become priors with the variances of MXNet."""
    inputs = list(b.inputs)
    shape = b.shape(inputs[2]) if b.has(2) else None
    if shape is not None and len(shape) == 3 and shape[2] == 4:
        boxes = b.op("Reshape", [inputs[2], b.ints([1, 1, -1])], {"special_zero": False})
        one = b.like(np.reshape([0.1, 0.1, 0.2, 0.2], (1, 1, 4)), inputs[2])
        count = b.op("Slice", [b.op("ShapeOf", [inputs[2]], {"output_type": "i64"}, "opset3"), b.ints([1]), b.ints([2]),
                               b.ints([1])], {}, "opset8")
        repeats = b.op("Concat", [b.ints([1, 1]), count], {"axis": 0})
        inputs[2] = b.op("Concat", [boxes, b.op("Tile", [one, repeats])], {"axis": 1})
    return b.op("DetectionOutput", inputs, table_attributes(node, BY_OP[b.base_op].row), "opset8")


def _mvn(b: Builder, x: Any, axes: "list[int]", variance: bool, eps: float, mode: str) -> Any:
    return b.op("MVN", [x, b.ints(axes)], {"eps": eps, "eps_mode": mode, "normalize_variance": variance}, "opset6")


@emitter("MVN", "MVNOnnx", "MVNCaffe")
def _mvn_any(b: Builder, node: Node) -> Any:
    rank = b.rank(b.inputs[0])
    mode = str(node.soft_get("eps_mode", "inside_sqrt" if b.base_op == "MVNCaffe" else "outside_sqrt")).upper()
    variance = bool(int(node.soft_get("normalize_variance", 1)))
    eps = float(node.soft_get("eps", 1e-9))
    if b.has(1):
        return b.op("MVN", b.inputs[:2], {"eps": eps, "eps_mode": mode, "normalize_variance": variance}, "opset6")
    if node.has_valid("axes"):
        axes = [int(a) for a in np.ravel(node.axes)]
    else:
        axes = list(range(1 if int(node.soft_get("across_channels", 0)) else 2, rank))
    return _mvn(b, b.inputs[0], axes, variance, eps, mode)


@emitter("InstanceNormalization")
def _instance_norm(b: Builder, node: Node) -> Any:
    x, rank = b.inputs[0], b.rank(b.inputs[0])
    out = _mvn(b, x, list(range(2, rank)), True, float(node.soft_get("epsilon", 1e-5)), "INSIDE_SQRT")
    out = b.op("Multiply", [out, _per_channel(b, b.inputs[1], rank)])
    return b.op("Add", [out, _per_channel(b, b.inputs[2], rank)])


@emitter("Normalize")
def _normalize(b: Builder, node: Node) -> Any:
    x, rank = b.inputs[0], b.rank(b.inputs[0])
    axes = list(range(1, rank)) if int(node.soft_get("across_spatial", 0)) else [1]
    out = b.op("NormalizeL2", [x, b.ints(axes)], {"eps": float(node.soft_get("eps", 1e-10)), "eps_mode": "add"})
    return b.op("Multiply", [out, _per_channel(b, b.inputs[1], rank)]) if b.has(1) else out


@emitter("NormalizeL2")
def _normalize_l2(b: Builder, node: Node) -> Any:
    axes = b.inputs[1] if b.has(1) else b.ints(np.ravel(node.soft_get("axis", node.soft_get("axes", 1))))
    return b.op("NormalizeL2", [b.inputs[0], axes], {"eps": float(node.soft_get("eps", 1e-12)),
                                                     "eps_mode": str(node.soft_get("eps_mode", "add"))})


@emitter("AttributedLRN")
def _lrn(b: Builder, node: Node) -> Any:
    rank = b.rank(b.inputs[0])
    channel = 1 if b.layout == "NCHW" else rank - 1
    axes = [channel] if node.soft_get("region", "across") == "across" else list(range(2, rank))
    return b.op("LRN", [b.inputs[0], b.ints(axes)],
                {"alpha": float(node.alpha), "beta": float(node.beta), "bias": float(node.soft_get("bias", 1)),
                 "size": int(node.soft_get("local_size", node.soft_get("size", 5)))})
