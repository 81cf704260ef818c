"""From a node of an extension to operations of the host, while the model is imported and shapes are known."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .builtin import BUILTIN, BY_OP, TableOp
from .datatypes import ir_name
from .errors import Error
from .graph import Graph
from .node import Node
from .shapes import dynamic_dimension, shape_array

__all__ = ["Builder", "emit", "emitter", "infer_outputs", "ir_attributes"]

_EMITTERS: "dict[str, Callable[[Builder, Node], Any]]" = {}


def emitter(*ops: str) -> "Callable[[Any], Any]":
    """Registers a function that makes operations for nodes with one of these `op`s and returns its outputs."""

    def register(function: Any) -> Any:
        for op in ops:
            _EMITTERS[op] = function
        return function

    return register


# Where types of the Model Optimizer differ from the names of the host's operations.
_HOST_NAMES = {"ReLU": "Relu", "PReLU": "PRelu", "SoftMax": "Softmax", "BiasAdd": "Add", "GEMM": "MatMul"}
_HOST_OPSETS = {"RNNCell": "opset1", "PSROIPooling": "opset1", "ShuffleChannels": "opset1"}


class Builder:
    """A layer under import: its inputs, and functions that add operations."""

    def __init__(self, layer: Any, layout: str) -> None:
        self.layer, self.layout = layer, layout
        self.inputs: "list[Any]" = list(getattr(layer, "inputs", []))
        self.base_op = ""  # the `op` of the table, also where an extractor gave the node another one

    def op(self, type: str, inputs: "list[Any]", attributes: "dict[str, Any] | None" = None, opset: str = "opset1",
           outputs: Any = 1) -> Any:
        """The output of an added operation, or a list if there are several.

        `outputs` is their number, or a pair of element type and shape for each.
        """
        type, opset = _HOST_NAMES.get(type, type), _HOST_OPSETS.get(type, opset)
        made = self.layer.add_operation(type, list(inputs), dict(attributes or {}), opset=opset, outputs=outputs)
        return made if len(made) != 1 else made[0]

    def const(self, value: Any, dtype: Any = None) -> Any:
        return self.layer.constant(np.array(value, dtype=dtype, order="C"))

    def like(self, value: Any, other: Any) -> Any:
        """A constant with the element type of another value."""
        return self.const(np.asarray(value, dtype=self.dtype(other)))

    def ints(self, values: Any) -> Any:
        return self.const(np.asarray(values, dtype=np.int64))

    @staticmethod
    def dtype(value: Any) -> Any:
        return np.dtype(value.dtype) if getattr(value, "dtype", None) is not None else np.dtype(np.float32)

    @staticmethod
    def shape(value: Any) -> "tuple[Any, ...] | None":
        return value.shape

    def rank(self, value: Any) -> int:
        shape = self.shape(value)
        if shape is None:
            raise Error("the rank of an input is not known")
        return len(shape)

    def to_nchw(self, value: Any) -> Any:
        rank = self.rank(value)
        return self.op("Transpose", [value, self.ints([0, rank - 1] + list(range(1, rank - 1)))])

    def from_nchw(self, value: Any) -> Any:
        rank = self.rank(value)
        return self.op("Transpose", [value, self.ints([0] + list(range(2, rank)) + [1])])

    def value(self, index: int) -> Any:
        return self.inputs[index].value if self.has(index) else None

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None


# ---- attributes ----

_RENAMED = {("Cast", "destination_type"): "dst_type", ("Pad", "pad_mode"): "mode",
            ("Const", "element_type"): "data_type",
            ("Parameter", "element_type"): "data_type", ("ReadValue", "variable_shape"): "variable_shape"}
_BOOLS = {"keep_dims", "special_zero", "transpose_a", "transpose_b", "exclusive", "reverse", "normalize_variance",
          "clip",
          "flip", "sort_result_descending", "exclude-pad", "across_spatial", "with_right_bound", "do_softmax",
          "normalized",
          "share_location", "clip_after_nms", "clip_before_nms", "decrease_label_id", "variance_encoded_in_target",
          "antialias",
          "align_corners", "preprocess_collapse_repeated", "ctc_merge_repeated", "unique", "merge_repeated", "aligned",
          "scale_all_sizes", "class_agnostic_box_regression", "flatten", "normalize", "linear_before_reset"}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, type) and issubclass(value, np.generic) or isinstance(value, np.dtype):
        return ir_name(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, bytes):
        value = value.decode()
    if name in _BOOLS and value in (0, 1):
        return bool(value)
    return value


def table_attributes(node: Node, row: Any) -> "dict[str, Any]":
    """Attributes of a built-in operation under the IR's names."""
    found = {}
    for name in row.attributes:
        value = node.soft_get(_RENAMED.get((row.op, name), name), None)
        if value is not None and not callable(value) or isinstance(value, type):
            found[name] = _plain(name, _read_text(value) if isinstance(value, str) else value)
    return found


def _read_text(text: str) -> Any:
    """Numbers that a file gives as text (`collect_attributes` does), as the reader of the IR would take them."""
    def number(item: str) -> Any:
        try:
            return int(item)
        except ValueError:
            return float(item)

    try:
        items = [number(i) for i in text.split(",")]
    except ValueError:
        return {"true": True, "false": False}.get(text.lower(), text)
    return items if len(items) > 1 else items[0]


def ir_attributes(node: Node) -> "dict[str, Any]":
    """What `backend_attrs` of the node's class lists: names, (name, attribute), or (name, function)."""
    schema = node.soft_get("IE", None)
    listed = schema[0][2][0][1] if schema else []
    found: "dict[str, Any]" = {}
    for entry in listed:
        name, source = (entry, entry) if isinstance(entry, str) else (entry[0], entry[1])
        value = source(node) if callable(source) else node.soft_get(source, None)
        if value is not None:
            found[name] = _plain(name, value)
    return found


# ---- operations of a folder ----


def _known(dims: Any) -> Any:
    return None if dims is None else shape_array([dynamic_dimension if d is None else d for d in dims])


def _inference_graph(builder: Builder, node: Node) -> Node:
    """A copy of the node in a graph with data nodes at its inputs and outputs."""
    graph = Graph(**node.graph.graph)
    graph.stage = "middle"
    attributes = {k: v for k, v in node.attrs().items() if k not in ("_in_ports", "_out_ports")}
    graph.add_node(node.id, **attributes)
    for kind in ("in", "out"):
        graph.nodes[node.id][f"_{kind}_ports"] = {i: dict(p) for i, p in node._ports(kind).items()}
    for index, given in enumerate(builder.inputs):
        if given is None:
            continue
        value = given.value
        source, data = f"input_{index}", f"data_{index}"
        graph.add_node(source, kind="op", name=source, op="Parameter" if value is None else "Const",
                       type="Parameter" if value is None else "Const",
                       _out_ports={0: {"data_type": builder.dtype(given).type}})
        graph.add_node(data, kind="data", name=data, shape=_known(given.shape), value=value,
                       data_type=builder.dtype(given).type)
        graph.add_edge(source, data, out=0)
        graph.add_edge(data, node.id, **{"in": index})
    copy = Node(graph, node.id)
    for index in copy._ports("out") or {0: {}}:
        copy.add_output_port(index, skip_if_exist=True)
        made = f"output_{index}"
        graph.add_node(made, kind="data", name=made, shape=None, value=None, data_type=None)
        graph.add_edge(node.id, made, out=index)
    return copy


def infer_outputs(builder: Builder, node: Node) -> "tuple[list[tuple[Any, Any]], list[Any], Node]":
    """((element type, shape) of each output, values that are known, the node with what `infer` added)."""
    copy = _inference_graph(builder, node)
    name = node.soft_get("name", node.id)
    infer = node.soft_get("infer", None)
    if not callable(infer):
        raise Error(f"operation '{node.soft_get('op')}' of '{name}' has no 'infer': its output shapes are unknown")
    known = all(given is None or given.shape is not None for given in builder.inputs)
    if known:
        infer(copy)
    if callable(copy.soft_get("type_infer", None)) and known:
        copy.type_infer(copy)
    first = next((builder.dtype(g) for g in builder.inputs if g is not None), np.dtype(np.float32))
    infos, values = [], []
    for index in sorted(copy._ports("out")):
        port = copy.out_port(index)
        shape, value = port.data.get_shape(), port.data.get_value()
        if shape is None and known:
            raise Error(f"'infer' of '{node.soft_get('op')}' ('{name}') did not set the shape of output {index}")
        dims = None if shape is None else tuple(None if d is dynamic_dimension or int(d) < 0 else int(d) for d in shape)
        kind = copy._ports("out")[index].get("data_type") or (np.asarray(value).dtype if value is not None else None)
        infos.append((np.dtype(kind or copy.soft_get("data_type", None) or first), dims))
        values.append(value)
    return infos, values, copy


def _emit_own(builder: Builder, node: Node) -> "list[Any]":
    kind = node.soft_get("type", None)
    if not kind:
        raise Error(f"'{node.soft_get('name')}' ({node.soft_get('op')}) has no 'type': the operation is internal, and no "
                    "transformation has replaced it")
    infos, values, copy = infer_outputs(builder, node)
    if values and all(v is not None for v in values):
        return [builder.const(np.asarray(v, dtype=i[0])) for v, i in zip(values, infos)]
    made = builder.op(kind, _given(builder), ir_attributes(copy), node.soft_get("version", None) or "extension", infos)
    return list(made) if isinstance(made, (list, tuple)) else [made]


# ---- all ----


def _row(node: Node) -> Any:
    """The line of the table that a node goes by: that of its class, or of its `op`.

    A class of the folder with the name of a built-in one goes by the table if it says that it is the standard operation,
    or an internal one, or if it is a copy of the Model Optimizer's own: the same class and operation in a file of that name.
    """
    cls = node.soft_get("op_class", None)
    if isinstance(cls, type) and issubclass(cls, TableOp) and cls in _BUILTIN:
        return cls.row
    copy = BUILTIN.get(f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}") if isinstance(cls, type) else None
    if copy is not None and copy.row is not None and copy.op == getattr(cls, "op", None):
        return copy.row
    found = BY_OP.get(node.soft_get("op", None))
    if found is None or found.row is None:
        return None
    standard = str(node.soft_get("version", "")).startswith("opset") or not node.soft_get("type", None)
    return found.row if cls is None or standard else None


_BUILTIN = set(BUILTIN.values())


def emit(builder: Builder, node: Node) -> "list[Any]":
    """Adds what the node stands for; returns its outputs."""
    from . import emit_layers, emit_shapes  # noqa: F401  register their functions

    row = _row(node)
    version = str(node.soft_get("version", None) or "")
    builder.base_op = row.op if row is not None else ""
    if row is not None and row.op in _EMITTERS:
        made = _EMITTERS[row.op](builder, node)
    elif row is not None:
        made = _emit_table(builder, node, row)
    elif version.startswith("opset") and node.soft_get("type", None):
        made = builder.op(node.type, _given(builder), ir_attributes(node), version, max(1, len(node._ports("out"))))
    else:
        made = _emit_own(builder, node)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _given(builder: Builder) -> "list[Any]":
    """The inputs up to the last one that is connected."""
    last = max((i for i, g in enumerate(builder.inputs) if g is not None), default=-1)
    return builder.inputs[:last + 1]


def _aligned(builder: Builder, inputs: "list[Any]") -> "list[Any]":
    """Inputs of an element-wise operation; a constant of another type gets the type of the others."""
    kinds = {builder.dtype(g) for g in inputs if g is not None}
    free = [g for g in inputs if g is not None and g.value is None] or inputs[:1]
    if len(kinds) < 2 or len({builder.dtype(g) for g in free}) != 1:
        return inputs
    kind = builder.dtype(free[0])
    return [g if g is None or builder.dtype(g) == kind else builder.const(g.value, kind) for g in inputs]


def _from_axis(builder: Builder, node: Node, inputs: "list[Any]") -> "list[Any]":
    """A vector begins at the dimension that the attribute `axis` names; without it, or with -1, it is the last one, as in NumPy."""
    axis = node.soft_get("axis", None)
    ranks = [len(builder.shape(g) or ()) for g in inputs]
    if not isinstance(axis, (int, np.integer)) or axis < 0 or max(ranks) < 2 or axis >= max(ranks):
        return inputs
    dims = [1] * axis + [-1] + [1] * (max(ranks) - axis - 1)
    return [builder.op("Reshape", [g, builder.ints(dims)], {"special_zero": False}) if rank == 1 else g
            for g, rank in zip(inputs, ranks)]


# Operations of images that the opset defines with channels as the second dimension only.
_CHANNELS_SECOND = {"RegionYolo", "ReorgYolo", "ROIPooling", "PSROIPooling", "DeformablePSROIPooling", "DepthToSpace",
                    "SpaceToDepth", "GRN"}


def _emit_table(builder: Builder, node: Node, row: Any) -> Any:
    kind = node.soft_get("type", None) or row.type
    version = str(node.soft_get("version", None) or row.version)
    if version in ("experimental", "extension"):  # of operations that got an opset later
        version = row.version
    if node.soft_get("type", None) and not version.startswith("opset") and node.soft_get("infer", None) is not TableOp.infer:
        return _emit_own(builder, node)  # of no operation set, but the folder has the class that infers its shape
    if not row.type or not version.startswith("opset"):
        raise Error(f"'{node.soft_get('name')}': the operation '{row.op}' is internal to the Model Optimizer and has no "
                    "counterpart here")
    inputs = _given(builder)
    if row.module == "elementwise":
        inputs = _from_axis(builder, node, _aligned(builder, inputs))
    channels_last = kind in _CHANNELS_SECOND and builder.layout == "NHWC" and builder.rank(inputs[0]) > 2
    if channels_last:
        inputs = [builder.to_nchw(inputs[0]), *inputs[1:]]
    made = builder.op(kind, inputs, table_attributes(node, row), version, max(1, len(node._ports("out"))))
    # The Model Optimizer leaves the output of RegionYolo as the operation defines it.
    return builder.from_nchw(made) if channels_last and kind != "RegionYolo" else made
