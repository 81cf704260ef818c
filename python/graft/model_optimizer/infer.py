"""Shape functions that extension files call from their own `infer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import Error
from .shapes import dynamic_dimension, get_canonical_axis_index, int64_array, shape_array

__all__ = ["copy_shape_infer", "copy_value", "single_output_infer", "eltwise_infer", "eltwise_reverse_infer",
           "bias_add_infer",
           "make_equal_rank", "reduce_infer", "split_infer", "crop_infer", "tf_window_op_pad_infer", "broadcast_shape",
           "bi_directional_shape_broadcasting", "uni_directional_shape_broadcasting", "bi_directional_broadcasting",
           "uni_directional_broadcasting", "explicit_broadcasting", "explicit_shape_broadcasting", "mark_input_bins",
           "assign_dims_to_weights", "convert_tf_padding_to_str", "convert_deconv_tf_padding_to_str",
           "copy_type_infer",
           "type_infer", "arg_ops_infer", "rnn_infer", "multi_box_detection_infer", "match_shapes",
           "symm_match_shapes"]


def copy_value(node: Any) -> Any:
    value = node.in_port(0).data.get_value()
    return None if value is None else value.copy()


def copy_shape_infer(node: Any, value_infer: Any = None) -> None:
    """All outputs get the shape of the first input."""
    shape = node.in_port(0).data.get_shape()
    if shape is None:
        raise Error(f"the shape of input 0 of '{node.soft_get('name', node.id)}' is not known")
    for port in node.out_ports().values() or [node.out_port(0)]:
        port.data.set_shape(shape)
    if value_infer is not None:
        value_infer(node)


def single_output_infer(node: Any, shape_infer: Any, value_infer: Any = None) -> None:
    node.out_port(0).data.set_shape(shape_infer(node))
    if value_infer is not None:
        node.out_port(0).data.set_value(value_infer(node))


# ---- broadcasting ----


def broadcast_shape(first_shape: Any, second_shape: Any) -> Any:
    """The shape of two tensors after numpy's broadcasting; unknown dimensions stay unknown unless the other decides."""
    first, second = list(first_shape), list(second_shape)
    rank = max(len(first), len(second))
    first, second = [1] * (rank - len(first)) + first, [1] * (rank - len(second)) + second
    out: "list[Any]" = []
    for a, b in zip(first, second):
        known = [d for d in (a, b) if d is not dynamic_dimension]
        above = [d for d in known if d != 1]
        if len(above) == 2 and above[0] != above[1]:
            raise Error(f"shapes {list(first_shape)} and {list(second_shape)} cannot be broadcast")
        if above:
            out.append(above[0])
        else:
            out.append(1 if len(known) == 2 else dynamic_dimension)
    return shape_array(out)


def bi_directional_shape_broadcasting(input_shape_1: Any, input_shape_2: Any) -> Any:
    try:
        return broadcast_shape(input_shape_1, input_shape_2)
    except Error:
        return None


def uni_directional_shape_broadcasting(input_shape: Any, target_shape: Any) -> Any:
    source, target = list(input_shape), list(target_shape)
    if len(source) > len(target):
        return None
    padded = [1] * (len(target) - len(source)) + source
    fits = all(a is dynamic_dimension or b is dynamic_dimension or a in (1, b) for a, b in zip(padded, target))
    return shape_array(target) if fits else None


def uni_directional_broadcasting(input_value: Any, target_shape: Any) -> Any:
    return np.broadcast_to(input_value, tuple(int(d) for d in target_shape))


def bi_directional_broadcasting(input_value: Any, second_shape: Any) -> Any:
    shape = broadcast_shape(np.shape(input_value), second_shape)
    return np.broadcast_to(input_value, tuple(int(d) for d in shape))


def explicit_shape_broadcasting(input_shape: Any, target_shape: Any, axes_mapping: Any) -> "tuple[Any, Any]":
    return shape_array(list(target_shape)), sorted(int(a) for a in axes_mapping)


def explicit_broadcasting(input_value: Any, target_shape: Any, axes_mapping: Any) -> Any:
    dims = [1] * len(target_shape)
    for size, axis in zip(np.shape(input_value), axes_mapping):
        dims[int(axis)] = size
    return np.broadcast_to(np.reshape(input_value, dims), tuple(int(d) for d in target_shape))


def eltwise_infer(node: Any, op: Any = None, **kwargs: Any) -> None:
    """Broadcasts all inputs; computes the value if all are constants and `op` is a function."""
    ports = [p for p in node.in_ports().values() if not p.disconnected()]
    shapes = [p.data.get_shape() for p in ports]
    if any(s is None for s in shapes):
        raise Error(f"a shape of an input of '{node.soft_get('name', node.id)}' is not known")
    out = shapes[0]
    for shape in shapes[1:]:
        out = broadcast_shape(out, shape)
    node.out_port(0).data.set_shape(out)
    values = [p.data.get_value() for p in ports]
    if callable(op) and all(v is not None for v in values):
        result = values[0]
        if len(values) == 1:
            result = op(result, **kwargs)
        for value in values[1:]:
            result = op(result, value, **kwargs)
        node.out_port(0).data.set_value(np.asarray(result))


def eltwise_reverse_infer(node: Any) -> None:
    """Shapes go from inputs to outputs only."""


def make_equal_rank(shape_1: Any, shape_2: Any) -> "tuple[Any, Any]":
    rank = max(len(shape_1), len(shape_2))
    return (shape_array([1] * (rank - len(shape_1)) + list(shape_1)),
            shape_array([1] * (rank - len(shape_2)) + list(shape_2)))


def bias_add_infer(node: Any, op: Any = None) -> None:
    node.out_port(0).data.set_shape(node.in_port(0).data.get_shape())


# ---- single operations ----


def _axes(node: Any, rank: int) -> "list[int]":
    value = node.in_port(1).data.get_value() if node.is_in_port_connected(1) else node.soft_get("axis", None)
    if value is None:
        return list(range(rank))
    return [get_canonical_axis_index(range(rank), int(a)) for a in np.ravel(value)]


def reduce_infer(node: Any) -> None:
    shape = node.in_port(0).data.get_shape()
    axes = _axes(node, len(shape))
    keep = bool(node.soft_get("keep_dims", False))
    dims = [1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes]
    node.out_port(0).data.set_shape(shape_array(dims))


def split_infer(node: Any) -> None:
    shape = list(node.in_port(0).data.get_shape())
    axis = node.in_port(1).data.get_value() if node.has_port("in", 1) and node.is_in_port_connected(1) else node.soft_get("axis")
    axis = get_canonical_axis_index(shape, int(np.ravel(axis)[0]))
    sizes = node.soft_get("size_splits", None)
    if sizes is None and node.has_port("in", 2) and node.is_in_port_connected(2):
        sizes = node.in_port(2).data.get_value()
    if sizes is None:
        count = int(node.num_splits)
        sizes = [dynamic_dimension if shape[axis] is dynamic_dimension else int(shape[axis]) // count] * count
    sizes = [int(s) if s is not dynamic_dimension else s for s in sizes]
    if -1 in sizes and shape[axis] is not dynamic_dimension:
        sizes[sizes.index(-1)] = int(shape[axis]) - sum(s for s in sizes if s != -1)
    for index in node.out_ports():
        dims = list(shape)
        dims[axis] = sizes[index]
        node.out_port(index).data.set_shape(shape_array(dims))


def crop_infer(node: Any) -> None:
    """Axes with sizes: from attribute `dim`, from `crop_begin` and `crop_end`, or from the second input."""
    shape = list(node.in_port(0).data.get_shape())
    axes = [get_canonical_axis_index(shape, int(a)) for a in np.ravel(node.axis)]
    if node.has_port("in", 1) and node.is_in_port_connected(1):
        reference = node.in_port(1).data.get_shape()
        for axis in axes:
            shape[axis] = reference[axis]
    elif node.has_valid("dim"):
        for axis, size in zip(axes, np.ravel(node.dim)):
            shape[axis] = int(size)
    elif node.has_valid("crop_begin") and node.has_valid("crop_end"):
        for axis, begin, end in zip(axes, np.ravel(node.crop_begin), np.ravel(node.crop_end)):
            shape[axis] = shape[axis] - int(begin) - int(end)
    else:
        raise Error(f"Crop '{node.soft_get('name', node.id)}' has neither 'dim', nor 'crop_begin' and 'crop_end', nor a "
                    "second input")
    node.out_port(0).data.set_shape(shape_array(shape))


def arg_ops_infer(node: Any) -> None:
    shape = list(node.in_port(0).data.get_shape())
    axis = node.soft_get("axis", None)
    if axis is None and node.has_port("in", 1) and node.is_in_port_connected(1):
        axis = int(np.ravel(node.in_port(1).data.get_value())[0])
    if axis is not None:
        shape[get_canonical_axis_index(shape, int(axis))] = int(node.soft_get("top_k", 1))
    node.out_port(0).data.set_shape(shape_array(shape))


def _not_here(name: str) -> Any:
    def refuse(node: Any, *args: Any, **kwargs: Any) -> None:
        raise Error(f"{name} is not available to extensions: the shape of '{node.soft_get('name', node.id)}' is inferred by "
                    "the host")

    refuse.__name__ = name
    return refuse


rnn_infer = _not_here("rnn_infer")
multi_box_detection_infer = _not_here("multi_box_detection_infer")


def tf_window_op_pad_infer(input: Any, window: Any, stride: Any, auto_pad: str, is_deconv: bool = False,
                           dilation: Any = None) -> "tuple[Any, Any]":
    """(pads, output sizes) of a window operation for "same_upper", "same_lower" or "valid"."""
    if input is None or window is None or stride is None or auto_pad is None:
        return None, None
    sizes, kernel, step = (np.asarray(v, dtype=np.int64) for v in (input, window, stride))
    spread = np.ones_like(kernel) if dilation is None else np.asarray(dilation, dtype=np.int64)
    if auto_pad in ("same_lower", "same_upper"):
        output = sizes * step if is_deconv else -(-sizes // step)
        residual = sizes % step
        full = (kernel - 1) * spread + 1 - np.where(residual == 0, step, residual)
        full = np.maximum(full, 0)
        low, high = full // 2, full - full // 2
        pads = np.transpose([low, high] if auto_pad == "same_upper" else [high, low])
    elif auto_pad == "valid":
        output = sizes * step + np.maximum(kernel - step,
                                           0) if is_deconv else -(-(sizes - ((kernel - 1) * spread)) // step)
        pads = np.zeros((len(output), 2), dtype=np.int64)
    else:
        raise Error(f"expected auto_pad 'same_upper', 'same_lower' or 'valid', got '{auto_pad}'")
    return pads, output


# ---- attributes ----

_PADDING = {"SAME": "same_upper", "VALID": "valid", "EXPLICIT": "explicit"}
_PADDING_DECONV = {"SAME": "same_lower", "VALID": "valid"}


def convert_tf_padding_to_str(padding: Any) -> str:
    return _PADDING[padding]


def convert_deconv_tf_padding_to_str(padding: Any) -> str:
    return _PADDING_DECONV[padding]


def mark_input_bins(node: Any, names: Any = ("weights", "biases"), start_port: int = 1) -> None:
    """Names the constant inputs; only the `bin` attribute of edges changes."""
    for port, name in enumerate(names, start_port):
        if port in node.in_nodes():
            node.in_edge(port)["bin"] = name


def assign_dims_to_weights(node: Any, spatial: Any, input_channel: Any, output_channel: Any = None,
                           dims_number: Any = None) -> None:
    for name, value in (("spatial_dims", int64_array(spatial)), ("input_channel_dim", input_channel),
                        ("output_channel_dim", output_channel), ("dims_number", dims_number)):
        node[name] = value


def copy_type_infer(node: Any) -> None:
    for port in node.out_ports().values():
        port.set_data_type(node.in_port(0).get_data_type())


def type_infer(graph: Any) -> None:
    """Element types are inferred by the host."""


def match_shapes(pattern: Any, shape: Any) -> bool:
    """Whether a shape fits a pattern, in which -1 is any dimension."""
    return len(pattern) == len(shape) and all(p == -1 or p == s for p, s in zip(pattern, shape))


def symm_match_shapes(shape1: Any, shape2: Any) -> bool:
    return len(shape1) == len(shape2) and all(-1 in (a, b) or a == b for a, b in zip(shape1, shape2))
