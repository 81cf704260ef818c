"""``node.pb``: objects that look like a framework's messages, over the fields of a layer.

Fields have dotted paths. What a message says of an absent field is a question of its schema: TensorFlow's attributes have
protobuf's zero values; of Caffe's standard messages the defaults are listed in `caffe_schema`; others are an error.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping

import numpy as np

from .caffe_schema import DEFAULTS, ENUMS, REPEATED
from .datatypes import onnx_number, tf_number
from .errors import Error

__all__ = ["caffe_pb", "caffe_model_pb", "tensorflow_pb", "onnx_pb", "Message", "onnx_fields"]


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


# ---- Caffe ----


class Message:
    """A message of Caffe: the fields under one prefix."""

    def __init__(self, fields: "Mapping[str, Any]", prefix: str, layer: str) -> None:
        self.__dict__.update(_fields=fields, _prefix=prefix, _layer=layer)

    def _has(self, name: str) -> bool:
        path = self._prefix + name
        return path in self._fields or any(k.startswith(path + ".") for k in self._fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = self._prefix + name
        if path in self._fields:
            return _caffe_value(path, self._fields[path])
        if any(k.startswith(path + ".") for k in self._fields) or path.endswith(("_param",
                                                                                 "filler")) and "." not in path:
            return Message(self._fields, path + ".", self._layer)
        if path in REPEATED:
            return []
        if path in DEFAULTS:
            return DEFAULTS[path]
        if path.endswith("_filler"):
            return Message(self._fields, path + ".", self._layer)
        raise AttributeError(f"layer '{self._layer}' does not set the field '{path}', and its default is not known here: "
                             "test with hasattr, or give a default")

    def HasField(self, name: str) -> bool:
        return self._has(name)

    def ListFields(self) -> "list[tuple[Any, Any]]":
        return [(_Descriptor(n), getattr(self, n)) for n in self._names()]

    def _names(self) -> "list[str]":
        start = len(self._prefix)
        names = [k[start:].split(".")[0] for k in self._fields if k.startswith(self._prefix)]
        return list(dict.fromkeys(names))

    def known(self) -> "dict[str, Any]":
        """Fields that are set, and those of a standard message that have defaults."""
        found = {n: getattr(self, n) for n in self._names()}
        for path, value in DEFAULTS.items():
            if path.startswith(self._prefix) and "." not in path[len(self._prefix):]:
                found.setdefault(path[len(self._prefix):], value)
        return found

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{self._prefix.rstrip('.') or 'layer'} of '{self._layer}': {', '.join(self._names())}>"


class _Descriptor:
    def __init__(self, name: str) -> None:
        self.name = name


def _caffe_value(path: str, value: Any) -> Any:
    value = _plain(value)
    if path in ENUMS and isinstance(value, str):
        if value not in ENUMS[path]:
            raise AttributeError(f"field '{path}': expected one of {', '.join(ENUMS[path])}, got '{value}'")
        return ENUMS[path].index(value)
    if path in REPEATED and not isinstance(value, (list, tuple, np.ndarray)):
        return [value]
    return list(value) if isinstance(value, (tuple, np.ndarray)) else value


class _CaffeLayer(Message):
    def __init__(self, layer: Any) -> None:
        super().__init__(layer.fields, "", layer.name)
        bottom = list(layer.inputs)[:len(layer.inputs) - layer.weights]  # blobs are in model_pb
        self.__dict__.update(name=layer.name, type=layer.type, bottom=bottom, top=list(layer.outputs))


def caffe_pb(layer: Any) -> Message:
    return _CaffeLayer(layer)


class _Blob:
    def __init__(self, array: "np.ndarray") -> None:
        self._array = array

    @property
    def data(self) -> "np.ndarray":
        return self._array.reshape(-1)

    @property
    def shape(self) -> Any:
        return _BlobShape(list(self._array.shape))


class _BlobShape:
    def __init__(self, dims: "list[int]") -> None:
        self.dim = dims


class _Blobs(List[_Blob]):
    """The blobs of a layer; an index beyond them is an error that says so."""

    layer = ""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, int) and not -len(self) <= index < len(self):
            raise Error(f"layer '{self.layer}' has {len(self)} blob{'s' if len(self) != 1 else ''}, blob {index} was read")
        return super().__getitem__(index)


class caffe_model_pb:
    """The weights of a Caffe layer; false if there are none."""

    def __init__(self, layer: Any, blobs: "list[np.ndarray]") -> None:
        self.name, self.type, self.blobs = layer.name, layer.type, _Blobs(_Blob(b) for b in blobs)
        self.blobs.layer = layer.name

    def __bool__(self) -> bool:
        return bool(self.blobs)


# ---- TensorFlow ----


class _Shape:
    class Dim:
        def __init__(self, size: int) -> None:
            self.size, self.name = size, ""

    def __init__(self, dims: Any) -> None:
        self.unknown_rank = dims is None
        self.dim = [] if dims is None else [_Shape.Dim(-1 if d is None else int(d)) for d in dims]


class _Tensor:
    """A TensorProto whose content is an array."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array) if array is not None else np.zeros(0, np.float32)

    @property
    def tensor_content(self) -> bytes:
        return self.array.tobytes()

    raw_data = tensor_content

    @property
    def tensor_shape(self) -> _Shape:
        return _Shape(self.array.shape)

    @property
    def dims(self) -> "list[int]":
        return list(self.array.shape)

    @property
    def dtype(self) -> int:
        return tf_number(self.array.dtype)

    @property
    def data_type(self) -> int:
        return onnx_number(self.array.dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> "np.ndarray":
        return self.array if dtype is None else self.array.astype(dtype)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))


class _AttrValue:
    """An attribute of a NodeDef: the field of its kind has the value, the others protobuf's zero."""

    def __init__(self, value: Any = None) -> None:
        self._value = value

    @property
    def i(self) -> int:
        return int(self._value) if isinstance(self._value,
                                              (int, np.integer)) and not isinstance(self._value, bool) else 0

    @property
    def f(self) -> float:
        return float(self._value) if isinstance(self._value, (float, np.floating)) else 0.0

    @property
    def b(self) -> bool:
        return bool(self._value) if isinstance(self._value, (bool, np.bool_)) else False

    @property
    def s(self) -> bytes:
        if isinstance(self._value, str):
            return self._value.encode()
        return self._value if isinstance(self._value, bytes) else b""

    @property
    def type(self) -> int:
        return tf_number(np.dtype(self._value)) if _is_dtype(self._value) else 0

    @property
    def shape(self) -> _Shape:
        return _Shape(self._value) if isinstance(self._value, (tuple, list)) else _Shape(())

    @property
    def tensor(self) -> _Tensor:
        return _Tensor(self._value if isinstance(self._value, np.ndarray) else None)

    @property
    def list(self) -> "_ListValue":
        return _ListValue(self._value)

    def HasField(self, name: str) -> bool:
        return bool(self.ListFields()) and name == _kind(self._value)

    def ListFields(self) -> Any:
        return [] if self._value is None else [(_Descriptor(_kind(self._value)), self._value)]


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "b"
    if isinstance(value, (int, np.integer)):
        return "i"
    if isinstance(value, (float, np.floating)):
        return "f"
    if isinstance(value, (str, bytes)):
        return "s"
    if _is_dtype(value):
        return "type"
    if isinstance(value, tuple):
        return "shape"
    return "tensor" if isinstance(value, np.ndarray) and value.ndim != 1 else "list"


class _ListValue:
    def __init__(self, value: Any) -> None:
        items = value.tolist() if isinstance(value, np.ndarray) else value
        self._items = list(items) if isinstance(items, (list, tuple)) else []

    def _of(self, *kinds: str) -> "list[Any]":
        return [v for v in self._items if _kind(v) in kinds]

    @property
    def i(self) -> "list[int]":
        return [int(v) for v in self._of("i")]

    @property
    def f(self) -> "list[float]":
        return [float(v) for v in self._of("f")]

    @property
    def b(self) -> "list[bool]":
        return self._of("b")

    @property
    def s(self) -> "list[bytes]":
        return [v.encode() if isinstance(v, str) else v for v in self._of("s")]

    @property
    def type(self) -> "list[int]":
        return [tf_number(np.dtype(v)) for v in self._of("type")]

    @property
    def shape(self) -> "list[_Shape]":
        return [_Shape(v) for v in self._items if v is None or _kind(v) in ("shape", "list")]

    def __bool__(self) -> bool:
        return bool(self._items)


class _Attributes:
    """``pb.attr``: a map that has a default for every key."""

    def __init__(self, fields: "Mapping[str, Any]") -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> _AttrValue:
        return _AttrValue(self._fields[name] if name in self._fields else None)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def __iter__(self) -> "Iterator[str]":
        return iter(list(self._fields))

    def __len__(self) -> int:
        return len(list(self._fields))

    def keys(self) -> "list[str]":
        return list(self._fields)

    def items(self) -> "list[tuple[str, _AttrValue]]":
        return [(k, self[k]) for k in self._fields]


class tensorflow_pb:
    """A NodeDef."""

    def __init__(self, layer: Any) -> None:
        self.name, self.op, self.device = layer.name, layer.type, ""
        self.input = [i for i in layer.inputs]
        self.attr = _Attributes(layer.fields)


# ---- ONNX ----


class _Attribute:
    """An AttributeProto."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self._value = name, value

    def _is(self, kind: str) -> bool:
        return _kind(self._value) == kind

    @property
    def i(self) -> int:
        if self._is("type"):
            return onnx_number(np.dtype(self._value))
        return int(self._value) if self._is("i") or self._is("b") else 0

    @property
    def f(self) -> float:
        return float(self._value) if self._is("f") or self._is("i") else 0.0

    @property
    def s(self) -> bytes:
        value = self._value
        return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else b""

    @property
    def t(self) -> _Tensor:
        return _Tensor(self._value if isinstance(self._value, np.ndarray) else None)

    @property
    def g(self) -> Any:
        return self._value

    def _items(self) -> "list[Any]":
        value = self._value.tolist() if isinstance(self._value, np.ndarray) else self._value
        return list(value) if isinstance(value, (list, tuple)) else []

    @property
    def ints(self) -> "list[int]":
        return [int(v) for v in self._items() if _kind(v) in ("i", "b")]

    @property
    def floats(self) -> "list[float]":
        return [float(v) for v in self._items() if _kind(v) in ("f", "i")]

    @property
    def strings(self) -> "list[bytes]":
        return [v.encode() if isinstance(v, str) else v for v in self._items() if _kind(v) == "s"]

    @property
    def type(self) -> int:
        kinds = {"f": 1, "i": 2, "b": 2, "type": 2, "s": 3, "tensor": 4}
        if _kind(self._value) in kinds:
            return kinds[_kind(self._value)]
        items = self._items()
        return 7 if not items else {"f": 6, "i": 7, "b": 7, "s": 8}.get(_kind(items[0]), 0)


class onnx_pb:
    """A NodeProto."""

    def __init__(self, layer: Any) -> None:
        self.name, self.op_type, self.domain = layer.name, layer.type, getattr(layer, "domain", "")
        self.input, self.output = list(layer.inputs), list(layer.outputs)
        self._fields = layer.fields

    @property
    def attribute(self) -> "list[_Attribute]":
        return [_Attribute(n, self._fields[n]) for n in self._fields]


def onnx_fields(pb: Any) -> "Mapping[str, Any]":
    return pb._fields
