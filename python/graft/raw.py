"""A framework's model before its import, as a raw pass sees it.

>>> @graft.raw_pass(frameworks=["onnx"])
... def fuse_mish(model):
...     for mul in model.layers:
...         ...

Values are referred to by name: inputs of the model, constants, and outputs of layers. All objects are valid while the
pass runs; arrays stay valid.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

import numpy as np

from . import _native
from .definition import Part, _register

__all__ = ["RawLayer", "RawModel", "RawPassDefinition", "RawPort", "raw_pass"]


class RawPort:
    """An input or output of the model. `dtype` is None if it is unknown, `shape` if the rank is."""

    def __init__(self, name: str, dtype: Any = None, shape: "Sequence[int | None] | None" = None, kind: str = "") -> None:
        self.name, self.dtype = name, dtype
        self.shape = None if shape is None else tuple(shape)
        self.kind = kind  # "": a tensor; otherwise "sequence", "optional", ...

    def __repr__(self) -> str:
        return f"RawPort({self.name!r}, {self.dtype}, {self.shape})"


class _Fields(MutableMapping[str, Any]):
    """The fields of a layer by (dotted) path. Sub-graphs are lists of models that can be read, not changed."""

    def __init__(self, native: Any, id: int) -> None:
        self._native, self._id = native, id

    def __getitem__(self, path: str) -> Any:
        value = self._native.field(self._id, path)
        if isinstance(value, list) and value and isinstance(value[0], _native.RawModel):
            return [RawModel(v) for v in value]
        return value

    def __setitem__(self, path: str, value: Any) -> None:
        if value is None:
            raise TypeError(f"field '{path}': expected a value, got None; `del` removes a field")
        self._native.set_field(self._id, path, value)

    def __delitem__(self, path: str) -> None:
        if path not in self:
            raise KeyError(path)
        self._native.remove_field(self._id, path)

    def __contains__(self, path: object) -> bool:
        return path in self._native.field_names(self._id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.field_names(self._id))

    def __len__(self) -> int:
        return len(self._native.field_names(self._id))

    def __repr__(self) -> str:
        return repr(dict(self))


class RawLayer:
    """A layer with the framework's own type, names and fields. Setting an attribute changes the model."""

    __slots__ = ("_native", "id")

    def __init__(self, native: Any, id: int) -> None:
        self._native, self.id = native, id

    @property
    def name(self) -> str:
        return self._native.layer(self.id)[0]

    @name.setter
    def name(self, value: str) -> None:
        self._native.set_layer(self.id, "name", value)

    @property
    def type(self) -> str:
        return self._native.layer(self.id)[1]

    @type.setter
    def type(self, value: str) -> None:
        self._native.set_layer(self.id, "type", value)

    @property
    def domain(self) -> str:
        return self._native.layer(self.id)[2]

    @domain.setter
    def domain(self, value: str) -> None:
        self._native.set_layer(self.id, "domain", value)

    @property
    def version(self) -> int:
        """The operator-set version of its domain."""
        return self._native.layer(self.id)[3]

    @property
    def weights(self) -> int:
        """How many of the last inputs are weights stored with the layer (blobs of Caffe)."""
        return self._native.layer(self.id)[4]

    @weights.setter
    def weights(self, value: int) -> None:
        self._native.set_layer(self.id, "weights", value)

    @property
    def operation(self) -> bool:
        """Whether `type` is one of Graft's operations, "Type" or "Type@opset", and the fields are its attributes."""
        return self._native.layer(self.id)[5]

    @property
    def mapped(self) -> bool:
        """Whether the mapping file (-k) has an entry for the layer: that goes before rules of extensions."""
        return self._native.layer(self.id)[6]

    @property
    def inputs(self) -> "list[str]":
        """Names of values, "" if absent. A copy: assign the whole list to change it."""
        return self._native.inputs_of(self.id)

    @inputs.setter
    def inputs(self, value: Iterable[str]) -> None:
        self._native.set_layer(self.id, "inputs", list(value))

    @property
    def outputs(self) -> "list[str]":
        return self._native.outputs_of(self.id)

    @outputs.setter
    def outputs(self, value: Iterable[str]) -> None:
        self._native.set_layer(self.id, "outputs", list(value))

    @property
    def fields(self) -> _Fields:
        return _Fields(self._native, self.id)

    @fields.setter
    def fields(self, value: "Mapping[str, Any]") -> None:
        fields = self.fields
        for path in list(fields):
            if path not in value:
                del fields[path]
        for path, v in value.items():
            fields[path] = v

    def copy_field(self, layer: "RawLayer", path: str, to: "str | None" = None) -> None:
        """Copies a field of another layer, of any kind, sub-graphs too."""
        self._native.copy_field(layer.id, path, self.id, to or path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RawLayer) and other.id == self.id and other._native is self._native

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        name, type, domain = self._native.layer(self.id)[:3]
        return f"<layer '{name}' ({domain + '::' if domain else ''}{type}) {self.inputs} -> {self.outputs}>"


class _Constants(Mapping[str, Any]):
    """Values stored in the file, by name; arrays refer to the file's memory and cannot be written."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getitem__(self, name: str) -> np.ndarray:
        return self._native.constant(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._native.has_constant(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.constants())

    def __len__(self) -> int:
        return len(self._native.constants())


class RawModel:
    """A framework's model, uninterpreted."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def framework(self) -> str:
        """"onnx", "caffe", "tensorflow"."""
        return self._native.framework

    @property
    def path(self) -> str:
        return self._native.path

    @property
    def layers(self) -> "list[RawLayer]":
        """In the order of the file; added ones at the end."""
        return [RawLayer(self._native, i) for i in self._native.layers()]

    @property
    def inputs(self) -> "list[RawPort]":
        return [RawPort(*v) for v in self._native.inputs()]

    @property
    def outputs(self) -> "list[RawPort]":
        return [RawPort(*v) for v in self._native.outputs()]

    @property
    def constants(self) -> _Constants:
        return _Constants(self._native)

    @property
    def replacements(self) -> "list[dict[str, Any]]":
        """Entries of the replacement file (--transformations_config) that no pass has taken."""
        return [json.loads(text) for _, text, taken in self._native.replacements() if not taken]

    def take(self, entry: "str | dict[str, Any]") -> None:
        """The entries with this id, or one of `replacements`, are handled by this pass.

        They are neither applied nor refused afterwards.
        """
        found = [i for i, (name, text, taken) in enumerate(self._native.replacements())
                 if (name == entry if isinstance(entry, str) else not taken and json.loads(text) == entry)]
        if not found:
            raise KeyError(f"the replacement file has no entry '{entry if isinstance(entry, str) else entry.get('id')}'")
        for i in found if isinstance(entry, str) else found[:1]:
            self._native.take_replacement(i)

    def info(self, value: str) -> "RawPort | None":
        """Type and shape that the file declares for a value."""
        found = self._native.value_info(value)
        return None if found is None else RawPort(value, *found)

    def producer(self, value: str) -> "RawLayer | None":
        id = self._native.producer(value)
        return RawLayer(self._native, id) if id else None

    def consumers(self, value: str) -> "list[RawLayer]":
        """Layers that consume the value, also in their sub-graphs."""
        return [RawLayer(self._native, i) for i in self._native.consumers(value)]

    def add_layer(self, type: str, name: str, inputs: Iterable[str], outputs: Iterable[str],
                  fields: "Mapping[str, Any] | None" = None, *, domain: str = "", operation: bool = False,
                  opset: "str | None" = None, infos: "Sequence[Any] | None" = None, weights: int = 0) -> RawLayer:
        """Adds a layer of the framework, or with `operation` one of Graft's operations.

        `opset` is that of the operation. `infos`, a pair of element type and shape per output, is for an operation that
        no definition may know: the node gets these outputs and is written to the IR as it is.
        """
        if (opset is not None or infos is not None) and not operation:
            raise TypeError(f"layer '{name}': opset and infos are only for an operation; set operation=True")
        full = f"{type}@{opset}" if opset else type
        id = self._native.add_layer(full, name, list(inputs), list(outputs), domain, weights, operation, infos)
        layer = RawLayer(self._native, id)
        for path, value in (fields or {}).items():
            if value is not None:
                self._native.set_field(id, path, value)
        return layer

    def remove(self, layer: RawLayer) -> None:
        self._native.remove_layer(layer.id)

    def add_constant(self, name: str, array: Any) -> None:
        self._native.add_constant(name, np.asarray(array))

    def remove_constant(self, name: str) -> None:
        self._native.remove_constant(name)

    def replace_value(self, old: str, new: str) -> None:
        """Makes all consumers of a value consume another one. An output of the model keeps its name."""
        self._native.replace_value(old, new)

    def set_inputs(self, ports: Iterable[RawPort]) -> None:
        self._native.set_inputs(list(ports))

    def set_outputs(self, names: Iterable[str]) -> None:
        self._native.set_outputs(list(names))

    def __repr__(self) -> str:
        return f"<{self.framework} model '{self.path}' of {len(self._native.layers())} layers>"


class RawPassDefinition(Part):
    """A pass over the raw model: `function` gets a RawModel."""

    def __init__(self, name: str, frameworks: Sequence[str], function: "Callable[[RawModel], Any]", origin: str = "",
                 doc: str = "", after_replacements: bool = False) -> None:
        super().__init__(_native.raw_pass(name, list(frameworks), lambda native: function(RawModel(native)),
                                          origin or "python", doc, after_replacements))
        self.name = name


def raw_pass(function: Any = None, *, name: "str | None" = None, frameworks: Sequence[str] = (),
             doc: "str | None" = None, after_replacements: bool = False, register: bool = True) -> Any:
    """Makes a function of a `RawModel` a raw pass; without `frameworks` it runs for all of them.

    Raw passes run in the order of registration, after a model was cut and before the entries of a replacement file are
    applied, unless `after_replacements` is set. Afterwards every input must have a producer, the names of values and of
    new layers must be unique, and there must be no cycle.
    """
    def define(it: Any) -> Any:
        text = doc if doc is not None else (it.__doc__ or "").strip().split("\n")[0].rstrip(".")
        origin = os.path.basename(getattr(getattr(it, "__code__", None), "co_filename", "")) or "python"
        it.definition = RawPassDefinition(name or it.__name__, frameworks, it, origin, text, after_replacements)
        if register:
            _register(it.definition)
        return it

    return define if function is None else define(function)
