"""Operations that move elements: reshaping, slicing, joining, padding, and what reads shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .emit import Builder, emitter
from .errors import Error
from .node import Node

__all__: "list[str]" = []


def _axis(b: Builder, axis: int) -> int:
    return int(axis) + b.rank(b.inputs[0]) if int(axis) < 0 else int(axis)


def _second(b: Builder, node: Node, *names: str) -> Any:
    """Input 1, or a constant from an attribute."""
    if b.has(1):
        return b.inputs[1]
    for name in names:
        if node.has_valid(name):
            return b.ints(np.asarray(node[name], dtype=np.int64))
    raise Error(f"'{node.soft_get('name')}' ({node.op}) has neither a second input nor the attribute '{names[0]}'")


@emitter("Const")
def _const(b: Builder, node: Node) -> Any:
    return b.const(node.value)


@emitter("Identity", "StopGradient", "copy", "Enter", "Exit")
def _identity(b: Builder, node: Node) -> Any:
    return b.inputs[0]


@emitter("IdentityN")
def _identities(b: Builder, node: Node) -> Any:
    return list(b.inputs)


@emitter("Reshape")
def _reshape(b: Builder, node: Node) -> Any:
    return b.op("Reshape", [b.inputs[0], _second(b, node, "dim")],
                {"special_zero": bool(node.soft_get("special_zero", True))})


@emitter("Squeeze")
def _squeeze(b: Builder, node: Node) -> Any:
    axes = [b.inputs[1]] if b.has(1) else [b.ints(np.ravel(node.squeeze_dims))] if node.has_valid("squeeze_dims") else []
    return b.op("Squeeze", [b.inputs[0]] + axes)


@emitter("Unsqueeze")
def _unsqueeze(b: Builder, node: Node) -> Any:
    return b.op("Unsqueeze", [b.inputs[0], _second(b, node, "unsqueeze_dims")])


@emitter("ExpandDims")
def _expand_dims(b: Builder, node: Node) -> Any:
    axes = b.inputs[1] if b.has(1) else b.ints(np.ravel(node.expand_axis))
    return b.op("Unsqueeze", [b.inputs[0], axes])


@emitter("Transpose", "Permute")
def _transpose(b: Builder, node: Node) -> Any:
    if not b.has(1) and not node.has_valid("order"):
        order: Any = b.ints(list(range(b.rank(b.inputs[0])))[::-1])
    else:
        order = _second(b, node, "order")
    return b.op("Transpose", [b.inputs[0], order])


@emitter("SwapAxis")
def _swap(b: Builder, node: Node) -> Any:
    order = list(range(b.rank(b.inputs[0])))
    first, second = int(node.soft_get("dim1", 0)), int(node.soft_get("dim2", 0))
    order[first], order[second] = order[second], order[first]
    return b.op("Transpose", [b.inputs[0], b.ints(order)])


@emitter("Flatten")
def _flatten(b: Builder, node: Node) -> Any:
    axis, end = _axis(b, node.soft_get("axis", 1)), _axis(b, node.soft_get("end_axis", -1))
    rank = b.rank(b.inputs[0])
    shape = b.shape(b.inputs[0])
    tail = [-1 if d is None else d for d in (shape or ())[end + 1:]]
    if axis == 0 and end < rank - 1 or tail.count(-1):
        if any(d is None for d in shape or ()):
            raise Error(f"'{node.soft_get('name')}': Flatten with these axes needs a known shape")
    return b.op("Reshape", [b.inputs[0], b.ints([0] * axis + [-1] + tail)], {"special_zero": True})


@emitter("FlattenONNX")
def _flatten_onnx(b: Builder, node: Node) -> Any:
    axis = _axis(b, node.soft_get("axis", 1))
    if axis == 0:
        return b.op("Reshape", [b.inputs[0], b.ints([1, -1])], {"special_zero": False})
    if axis == 1:
        return b.op("Reshape", [b.inputs[0], b.ints([0, -1])], {"special_zero": True})
    shape = b.op("ShapeOf", [b.inputs[0]], {"output_type": "i64"}, "opset3")
    head = b.op("Gather", [shape, b.ints(list(range(axis))), b.ints(0)], {}, "opset8")
    rows = b.op("ReduceProd", [head, b.ints([0])], {"keep_dims": True})
    return b.op("Reshape", [b.inputs[0], b.op("Concat", [rows, b.ints([-1])], {"axis": 0})], {"special_zero": False})


@emitter("Concat")
def _concat(b: Builder, node: Node) -> Any:
    parts, axis = [g for g in b.inputs if g is not None], node.soft_get("axis", 1)
    if node.has_and_set("simple_concat"):  # TensorFlow's first version has the axis first
        axis, parts = np.ravel(b.value(0))[0], parts[1:]
    return b.op("Concat", parts, {"axis": int(axis)})


@emitter("Pack")
def _pack(b: Builder, node: Node) -> Any:
    axis = int(node.soft_get("axis", 0))
    parts = [b.op("Unsqueeze", [g, b.ints([axis])]) for g in b.inputs if g is not None]
    return b.op("Concat", parts, {"axis": axis})


@emitter("Gather")
def _gather(b: Builder, node: Node) -> Any:
    axis = b.inputs[2] if b.has(2) else b.ints(int(node.soft_get("axis", 0)))
    return b.op("Gather", [b.inputs[0], b.inputs[1], axis], {"batch_dims": int(node.soft_get("batch_dims", 0))},
                "opset8")


@emitter("AttributedGather")
def _attributed_gather(b: Builder, node: Node) -> Any:
    return b.op("Gather", [b.inputs[0], b.inputs[1], b.ints(int(node.soft_get("axis", 0)))], {"batch_dims": 0},
                "opset8")


def _count(b: Builder, node: Node) -> int:
    return int(node.soft_get("num_splits", len(node._ports("out"))))


@emitter("Split")
def _split(b: Builder, node: Node) -> Any:
    inputs = b.inputs[:2]
    if int(node.soft_get("input_port", 0)) == 1:  # TensorFlow has the axis first
        inputs = inputs[::-1]
    return b.op("Split", inputs, {"num_splits": _count(b, node)}, outputs=_count(b, node))


@emitter("AttributedSplit")
def _attributed_split(b: Builder, node: Node) -> Any:
    axis = int(node.soft_get("axis", 1))
    made = b.op("Split", [b.inputs[0], b.ints(axis)], {"num_splits": _count(b, node)}, outputs=_count(b, node))
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    return [b.op("Squeeze", [m, b.ints([axis])]) for m in made] if node.has_and_set("squeeze_axis") else made


@emitter("VariadicSplit")
def _variadic_split(b: Builder, node: Node) -> Any:
    data, axis, lengths = b.inputs[:3]
    if node.has_and_set("swap_axis_and_split_size_inputs"):
        axis, lengths = lengths, axis
    return b.op("VariadicSplit", [data, axis, lengths], {}, outputs=len(node._ports("out")))


@emitter("AttributedVariadicSplit")
def _attributed_variadic_split(b: Builder, node: Node) -> Any:
    return b.op("VariadicSplit", [b.inputs[0], b.ints(int(node.axis)), b.ints(np.ravel(node.size_splits))], {},
                outputs=np.size(node.size_splits))


@emitter("CaffeSlice")
def _caffe_slice(b: Builder, node: Node) -> Any:
    axis = _axis(b, node.soft_get("axis", 1))
    size = (b.shape(b.inputs[0]) or ())[axis]
    points = [int(p) for p in np.ravel(node.soft_get("slice_point", []))]
    if not points:
        return b.op("Split", [b.inputs[0], b.ints(axis)], {"num_splits": len(node._ports("out"))},
                    outputs=len(node._ports("out")))
    bounds = [0] + points + [size]
    return b.op("VariadicSplit", [b.inputs[0], b.ints(axis), b.ints([y - x for x, y in zip(bounds, bounds[1:])])], {},
                outputs=len(bounds) - 1)


def _slice(b: Builder, begin: Any, end: Any, step: Any, axes: "list[int]") -> Any:
    return b.op("Slice", [b.inputs[0], b.ints(np.ravel(begin)), b.ints(np.ravel(end)), b.ints(np.ravel(step)),
                          b.ints(axes)],
                {}, "opset8")


@emitter("Slice")
def _slice_inputs(b: Builder, node: Node) -> Any:
    rank = b.rank(b.inputs[1]) and (b.shape(b.inputs[1]) or (None,))[0]
    count = rank if rank is not None else b.rank(b.inputs[0])
    axes = b.inputs[3] if b.has(3) else b.ints(list(range(count)))
    steps = b.inputs[4] if b.has(4) else b.ints([1] * count)
    return b.op("Slice", [b.inputs[0], b.inputs[1], b.inputs[2], steps, axes], {}, "opset8")


@emitter("AttributedSlice")
def _attributed_slice(b: Builder, node: Node) -> Any:
    count = np.size(node.starts)
    axes = [int(a) for a in np.ravel(node.axes)] if node.has_valid("axes") else list(range(count))
    return _slice(b, node.starts, node.ends, np.ones(count, np.int64), axes)


@emitter("TFSlice")
def _tf_slice(b: Builder, node: Node) -> Any:
    begin, size = b.value(1), b.value(2)
    if begin is None or size is None:
        raise Error(f"'{node.soft_get('name')}': begin and size of a slice must be constants")
    far = np.iinfo(np.int64).max
    end = [far if s == -1 else x + s for x, s in zip(np.ravel(begin).tolist(), np.ravel(size).tolist())]
    return _slice(b, begin, end, np.ones(len(end), np.int64), list(range(len(end))))


@emitter("Crop")
def _crop(b: Builder, node: Node) -> Any:
    axes = [_axis(b, a) for a in np.ravel(node.axis)]
    shape = b.shape(b.inputs[0]) or ()
    if b.has(1):
        reference = b.shape(b.inputs[1]) or ()
        offset = [int(o) for o in np.ravel(node.soft_get("offset", 0))] or [0]
        if len(axes) == 1 and np.ndim(node.axis) == 0:
            axes = list(range(axes[0], len(shape)))
        begin = offset * len(axes) if len(offset) == 1 else offset
        sizes: "list[Any]" = [reference[a] for a in axes]
    elif node.has_valid("dim"):
        begin = [int(o) for o in np.ravel(node.offset)]
        sizes = [int(d) for d in np.ravel(node.dim)]
    else:
        begin = [int(o) for o in np.ravel(node.crop_begin)]
        sizes = [None if shape[a] is None else shape[a] - x - int(e)
                 for a, x, e in zip(axes, begin, np.ravel(node.crop_end))]
    if any(s is None for s in sizes):
        raise Error(f"'{node.soft_get('name')}': the size of a crop depends on an unknown dimension")
    return _slice(b, begin, [x + s for x, s in zip(begin, sizes)], [1] * len(axes), axes)


@emitter("StridedSlice")
def _strided_slice(b: Builder, node: Node) -> Any:
    def bits(name: str) -> "list[int]":
        value = node.soft_get(name, 0)
        count = (b.shape(b.inputs[1]) or (0,))[0] or 0
        if isinstance(value, (int, np.integer)):
            return [int(value) >> i & 1 for i in range(count)]
        return [int(v) for v in np.ravel(value)]

    # MO's masks say which bounds are used, for begin and end; in TensorFlow and in an IR a 1 means "ignored".
    raw = isinstance(node.soft_get("begin_mask", 0), (int, np.integer))
    masks = {name: bits(name) for name in ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask",
                                           "ellipsis_mask")}
    if not raw:
        for name in ("begin_mask", "end_mask"):
            masks[name] = [1 - v for v in masks[name]]
    return b.op("StridedSlice", [g for g in b.inputs if g is not None], masks)


def _pad(b: Builder, node: Node, begin: Any, end: Any, value: Any, mode: str) -> Any:
    inputs = [b.inputs[0], begin, end] + ([value] if value is not None and mode == "constant" else [])
    return b.op("Pad", inputs, {"pad_mode": mode})


@emitter("AttributedPad")
def _attributed_pad(b: Builder, node: Node) -> Any:
    pads = np.asarray(node.pads, dtype=np.int64)
    value = b.like(node.soft_get("fill_value", 0.0), b.inputs[0])
    return _pad(b, node, b.ints(pads[:, 0]), b.ints(pads[:, 1]), value, str(node.soft_get("mode", "constant")))


@emitter("TFPad")
def _tf_pad(b: Builder, node: Node) -> Any:
    pads = b.value(1)
    if pads is None:
        raise Error(f"'{node.soft_get('name')}': the paddings must be constants")
    value = b.inputs[2] if b.has(2) else None
    return _pad(b, node, b.ints(pads[:, 0]), b.ints(pads[:, 1]), value, str(node.soft_get("mode", "constant")))


@emitter("ONNXPad")
def _onnx_pad(b: Builder, node: Node) -> Any:
    halves = b.op("Split", [b.inputs[1], b.ints(0)], {"num_splits": 2}, outputs=2)
    value = b.inputs[2] if b.has(2) else None
    return _pad(b, node, halves[0], halves[1], value, str(node.soft_get("mode", "constant")))


@emitter("Pad")
def _pad_inputs(b: Builder, node: Node) -> Any:
    return _pad(b, node, b.inputs[1], b.inputs[2], b.inputs[3] if b.has(3) else None,
                str(node.soft_get("mode", "constant")))


@emitter("AttributedTile")
def _attributed_tile(b: Builder, node: Node) -> Any:
    repeats = [1] * b.rank(b.inputs[0])
    repeats[_axis(b, node.axis)] = int(node.tiles)
    return b.op("Tile", [b.inputs[0], b.ints(repeats)])


@emitter("AttributedRoll")
def _attributed_roll(b: Builder, node: Node) -> Any:
    if not node.has_valid("axes"):
        flat = b.op("Reshape", [b.inputs[0], b.ints([-1])], {"special_zero": False})
        rolled = b.op("Roll", [flat, b.ints(np.ravel(node.shift)), b.ints([0])], {}, "opset7")
        return b.op("Reshape", [rolled, b.op("ShapeOf", [b.inputs[0]], {"output_type": "i64"}, "opset3")],
                    {"special_zero": False})
    return b.op("Roll", [b.inputs[0], b.ints(np.ravel(node.shift)), b.ints(np.ravel(node.axes))], {}, "opset7")


@emitter("ShapeOf")
def _shape(b: Builder, node: Node) -> Any:
    kind = node.soft_get("output_type", np.int64)
    return b.op("ShapeOf", [b.inputs[0]], {"output_type": "i32" if np.dtype(kind) == np.int32 else "i64"}, "opset3")


@emitter("Rank")
def _rank(b: Builder, node: Node) -> Any:
    shape = b.op("ShapeOf", [b.inputs[0]], {"output_type": "i64"}, "opset3")
    rank = b.op("ShapeOf", [shape], {"output_type": "i64"}, "opset3")
    return b.op("Squeeze", [rank, b.ints([0])])


@emitter("Size")
def _size(b: Builder, node: Node) -> Any:
    shape = b.op("ShapeOf", [b.inputs[0]], {"output_type": "i64"}, "opset3")
    return b.op("ReduceProd", [shape, b.ints([0])], {"keep_dims": False})


@emitter("Fill")
def _fill(b: Builder, node: Node) -> Any:
    return b.op("Broadcast", [b.inputs[1], b.inputs[0]], {"mode": "numpy"}, "opset3")


@emitter("ConstantOfShape")
def _constant_of_shape(b: Builder, node: Node) -> Any:
    return b.op("Broadcast", [b.const(np.asarray(node.soft_get("fill_value", np.float32(0))).reshape(())),
                              b.inputs[0]],
                {"mode": "numpy"}, "opset3")


@emitter("Broadcast")
def _broadcast(b: Builder, node: Node) -> Any:
    return b.op("Broadcast", [g for g in b.inputs if g is not None], {"mode": str(node.soft_get("mode", "numpy"))},
                "opset3")
