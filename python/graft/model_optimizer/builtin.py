"""The built-in operation classes, made from the table, and the few that need code of their own."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .errors import Error
from .infer import copy_shape_infer, eltwise_infer, reduce_infer, split_infer
from .op import Op
from .operations import OPERATIONS
from .shapes import shape_array

__all__ = ["Row", "TableOp", "BUILTIN", "BY_OP", "Const", "Parameter"]


class Row:
    """One line of the table."""

    def __init__(self, line: str) -> None:
        where, what, inputs, outputs, attributes, *defaults = line.split(" ")
        self.module, _, rest = where.partition(".")
        self.name, _, self.base = rest.partition(":")
        named, _, self.version = what.partition("@")
        op, slash, kind = named.partition("/")
        self.op: "str | None" = None if op == "-" else op
        self.type: "str | None" = kind or None if slash else self.op
        self.inputs = None if inputs == "-" else int(inputs)
        self.outputs = None if outputs == "-" else int(outputs)
        self.attributes = [] if attributes == "-" else attributes.split(",")
        self.defaults = {k: _default(v) for k, _, v in (d.partition("=") for d in defaults)}


def _default(text: str) -> Any:
    value = ast.literal_eval(text)
    if isinstance(value, str) and value.startswith("@"):
        return getattr(np, value[1:])
    return np.array(value) if isinstance(value, list) and value and isinstance(value[0], int) else value


def _lines(text: str) -> "list[str]":
    out: "list[str]" = []
    for line in text.splitlines():
        if line.startswith("  ") and out:
            out[-1] += ("" if out[-1].endswith(",") else " ") + line.strip()
        elif line:
            out.append(line)
    return out


def _host_infer(node: Any) -> None:
    raise Error(f"the shape of '{node.soft_get('name', node.id)}' ({node.soft_get('op')}) is inferred by the host, not by "
                "the extension")


class TableOp(Op):
    """A class of the table. Subclasses in a folder may set `op`, `op_type`, `version` and `operation`."""

    row: "Row | None" = None
    op_type: "str | None" = None
    version: "str | None" = None
    operation: Any = None
    infer = staticmethod(_host_infer)

    def __init__(self, graph: Any, attrs: "dict[str, Any] | None" = None, *rest: Any) -> None:
        row = type(self).row
        assert row is not None
        kind = self.op_type if self.op_type is not None else row.type
        if type(self).op != row.op and self.op_type in (None, row.type):
            kind = type(self).op
        made = {"op": type(self).op, "type": kind, "version": self.version or None, "infer": self.infer,
                "in_ports_count": row.inputs, "out_ports_count": row.outputs, **row.defaults}
        if type(self).operation is not None:
            made["operation"] = type(self).operation
        super().__init__(graph, {k: v for k, v in made.items() if v is not None or k in ("type", "op")},
                         {**(attrs or {}), **{k: v for r in rest for k, v in (r or {}).items()}})

    def supported_attrs(self) -> "list[Any]":
        row = type(self).row
        return [] if row is None else list(row.attributes)


class _Const(TableOp):
    def __init__(self, graph: Any, attrs: "dict[str, Any] | None" = None) -> None:
        super().__init__(graph, attrs)
        if not isinstance(self.attrs.get("value"), np.ndarray):
            self.attrs["value"] = np.array(self.attrs.get("value"))
        value = self.attrs["value"]
        self.attrs["shape"] = np.array(value.shape, dtype=np.int64)
        self.attrs.setdefault("data_type", value.dtype.type)

    @staticmethod
    def infer(node: Any) -> None:
        node.out_port(0).data.set_value(node.value)


class _Parameter(TableOp):
    def __init__(self, graph: Any, attrs: "dict[str, Any] | None" = None) -> None:
        super().__init__(graph, attrs)
        if self.attrs.get("shape") is not None:
            self.attrs["shape"] = shape_array(self.attrs["shape"])

    @staticmethod
    def infer(node: Any) -> None:
        node.out_port(0).data.set_shape(node.shape)


class _Elementwise(TableOp):
    @staticmethod
    def infer(node: Any) -> None:
        eltwise_infer(node, node.soft_get("operation", None))


class _Activation(TableOp):
    @staticmethod
    def infer(node: Any) -> None:
        copy_shape_infer(node)
        value = node.in_port(0).data.get_value()
        operation = node.soft_get("operation", None)
        if value is not None and callable(operation):
            node.out_port(0).data.set_value(operation(value))


class _Reduce(TableOp):
    infer = staticmethod(reduce_infer)


class _Split(TableOp):
    infer = staticmethod(split_infer)

    def __init__(self, graph: Any, attrs: "dict[str, Any] | None" = None) -> None:
        super().__init__(graph, attrs)
        if "out_ports_count" not in self.attrs:
            sizes = self.attrs.get("size_splits")
            count = self.attrs.get("num_splits", None if sizes is None else len(sizes))
            if count is not None:
                self.attrs["out_ports_count"] = int(count)


class _Einsum(TableOp):
    @staticmethod
    def normalize_equation(node_name: str, equation: str, *ports: int) -> str:
        return equation.replace(" ", "")


def _copying(node: Any) -> None:
    copy_shape_infer(node)


_BASES = {"const.Const": _Const, "parameter.Parameter": _Parameter, "elementwise.Elementwise": _Elementwise,
          "activation_ops.Activation": _Activation, "ReduceOps.ReduceOp": _Reduce,
          "einsum.Einsum": _Einsum, "split.Split": _Split,
          "split.VariadicSplit": _Split, "split.AttributedSplit": _Split, "split.AttributedVariadicSplit": _Split}
_SAME_SHAPE = {"Identity", "SoftMax", "LogSoftmax", "AttributedPower", "AttributedClamp", "LRN", "AttributedLRN",
               "PReLU",
               "Gelu", "NormalizeL2", "Normalize", "MVN", "GRN", "LeakyReLU", "ScaleShift", "StopGradient", "Swish"}


def _build() -> "dict[str, type[TableOp]]":
    made: "dict[str, type[TableOp]]" = {}
    for line in _lines(OPERATIONS):
        row = Row(line)
        key = f"{row.module}.{row.name}"
        base = made.get(f"{row.module}.{row.base}") if row.base else _BASES.get(key)
        if base is None:
            base = made.get(next((k for k in made if k.endswith(f".{row.base}")), ""),
                            TableOp) if row.base else TableOp
        members: "dict[str, Any]" = {"row": row, "op": row.op, "op_type": row.type, "version": row.version or None,
                                     "enabled": False, "__module__": f"mo.ops.{row.module}", "__doc__": f"{row.op}"}
        if row.op in _SAME_SHAPE:
            members["infer"] = staticmethod(_copying)
        made[key] = type(row.name, (base,), members)
    return made


BUILTIN = _build()
BY_OP: "dict[str, type[TableOp]]" = {}
for _cls in BUILTIN.values():
    if _cls.op is not None:
        BY_OP.setdefault(_cls.op, _cls)
Const = BUILTIN["const.Const"]
Parameter = BUILTIN["parameter.Parameter"]
Op.registered_ops.update(BY_OP)
