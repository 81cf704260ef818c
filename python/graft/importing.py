"""Import rules in Python: what a layer of a framework becomes.

>>> @graft.import_rule("onnx", "com.acme::Twist")
... def twist(layer):
...     x = layer.inputs[0]
...     out = layer.add_operation("Twist", [x], {"gain": layer.fields["gain"]}, outputs=[(x.dtype, x.shape)])
...     layer.set_output(0, out[0])
"""

from __future__ import annotations

import os
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from . import _native
from .definition import Part, _register

__all__ = ["Declined", "ImportRuleDefinition", "Layer", "Value", "import_rule"]


class Declined(Exception):
    """The rule cannot convert this layer; it is reported with the reason."""

    _graft_declined = True


class Value:
    """A value in the graph: an input of the layer, or an output of a node that was added."""

    __slots__ = ("_native", "ref")

    def __init__(self, native: Any, ref: int) -> None:
        self._native, self.ref = native, ref

    @property
    def dtype(self) -> Any:
        """A NumPy type; the name of a type that NumPy lacks; None: unknown."""
        return self._native.info(self.ref)[0]

    @property
    def shape(self) -> "tuple[int | None, ...] | None":
        """Unknown dimensions are None; None: the rank is unknown."""
        return self._native.info(self.ref)[1]

    @property
    def value(self) -> "np.ndarray | None":
        """The elements, if they are known before the model runs. A copy."""
        return self._native.value(self.ref)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and other.ref == self.ref

    def __hash__(self) -> int:
        return hash(self.ref)

    def __repr__(self) -> str:
        return f"Value({self.dtype}, {self.shape})"


class _Fields(Mapping[str, Any]):
    """Fields by (dotted) path. Those that were not read are reported as unused."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getitem__(self, path: str) -> Any:
        return self._native.field(path)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._native.has_field(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.field_names())

    def __len__(self) -> int:
        return len(self._native.field_names())


class Builder:
    """Adds nodes to a graph."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def _ref(self, value: Any) -> int:
        if value is None:
            return 0
        if isinstance(value, Value):
            return value.ref
        return self._native.constant(np.asarray(value))

    def add_operation(self, type: str, inputs: "Sequence[Any]", attributes: "Mapping[str, Any] | None" = None,
                      opset: "str | None" = "extension", outputs: "Sequence[Any] | int | None" = None,
                      name: str = "") -> "list[Value]":
        """Adds a node and returns its outputs.

        Inputs are values, arrays, or None for an absent one. `outputs` has a pair of element type and shape for each
        output: then the operation may be unknown, and if no extension defines it, the node is written to the IR as it
        is, with its opset as the version. Without it the operation must be known, and with opset=None it is the newest
        version; a number limits the outputs that are returned. Attributes that are None are left out.
        """
        given, count = None, 0
        if isinstance(outputs, int):
            count = outputs
        elif outputs is not None:
            given = list(outputs)
            if not given:
                raise ValueError(f"{type}: expected types and shapes of the outputs, got none")
        refs = self._native.add_node(type, opset or "", [self._ref(i) for i in inputs], dict(attributes or {}), given,
                                     count, name)
        return [Value(self._native, r) for r in refs]

    def constant(self, value: Any) -> Value:
        return Value(self._native, self._native.constant(np.asarray(value)))

    def add_constant(self, value: Any) -> Value:
        return self.constant(value)


class Layer(Builder):
    """A layer of the framework while its import rule runs."""

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def type(self) -> str:
        return self._native.type

    @property
    def version(self) -> int:
        """The operator-set version of its domain."""
        return self._native.version

    @property
    def fields(self) -> _Fields:
        return _Fields(self._native)

    @property
    def inputs(self) -> "list[Value | None]":
        """None for an absent input; the last `weights` ones are stored with the layer."""
        return [Value(self._native, r) if r else None for r in self._native.inputs()]

    @property
    def weights(self) -> int:
        return self._native.weights

    @property
    def output_count(self) -> int:
        return self._native.output_count

    def output_used(self, index: int) -> bool:
        return self._native.output_used(index)

    def set_output(self, index: int, value: Any) -> None:
        """Every used output must be set: to a value, or to an array, which becomes a constant."""
        self._native.set_output(index, self._ref(value))

    def decline(self, reason: str) -> None:
        """Reports that the layer cannot be converted."""
        raise Declined(reason)


class ImportRuleDefinition(Part):
    """An import rule: `function` gets a Layer. The type "*" stands for all layers of a domain without another rule."""

    def __init__(self, framework: str, type: str, function: "Callable[[Layer], Any]", origin: str = "",
                 domain: str = "", since: int = 0, until: "int | None" = None) -> None:
        super().__init__(_native.import_rule(framework, type, lambda native: function(Layer(native)),
                                             origin or "python", domain, since, until))
        self.name = f"{framework} {type}"


def import_rule(framework: str, type: str, *, domain: str = "", since: int = 0, until: "int | None" = None,
                register: bool = True) -> Any:
    """Makes a function of a `Layer` the import rule for a framework's layer. In ONNX the type may have a domain:
    "com.acme::Twist"."""
    if "::" in type:
        domain, type = type.split("::", 1)

    def define(it: Any) -> Any:
        origin = os.path.basename(getattr(getattr(it, "__code__", None), "co_filename", "")) or "python"
        it.definition = ImportRuleDefinition(framework, type, it, origin, domain, since, until)
        if register:
            _register(it.definition)
        return it

    return define
