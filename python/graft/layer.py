"""Layers in the style of OpenCV: a class with `getMemoryShapes` and `forward`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .attributes import Attribute, between
from .definition import Definition, _definitions, _infos, _lock, _register, _VARIADIC
from .errors import _Plain

__all__ = ["register_layer", "unregister_layer"]


def _params(listed: "list[str]") -> "dict[str, Any]":
    """From "name=value" with values in JSON, as an IR stores them."""
    out = {}
    for item in listed:
        name, _, value = item.partition("=")
        try:
            out[name] = json.loads(value)
        except ValueError:
            out[name] = value
    return out


def _plain_list(result: Any, method: str, layer: str) -> "list[Any]":
    if not isinstance(result, (list, tuple)):
        raise _Plain(f"{method} of {layer} returned an object of type {type(result).__name__}, expected a list")
    return list(result)


class LayerDefinition(Definition):
    layer = True

    def __init__(self, type_name: str, factory: Any) -> None:
        domain, _, last = type_name.replace("::", ".").rpartition(".")
        doc = f"layer in Python: {getattr(factory, '__name__', type_name)}"
        super().__init__(last, "layer", doc, getattr(factory, "__module__", None) or "python")
        self.type_name, self.factory = type_name, factory
        # As in graft/layer_import.hpp, so that layers in C++ and in Python have the same form in an IR.
        self.attributes = [
            Attribute("params", 10, [], False, [], "parameters as name=value, the value in JSON"),
            Attribute("blobs", 2, 0, False, [between(0, 65536)], "number of inputs, at the end, that are weights"),
            Attribute("outputs", 2, 1, False, [between(1, 65536)], "number of outputs")]
        self.inputs = [("inputs", _VARIADIC)]
        self.outputs = [("outputs", _VARIADIC)]
        plain = {"domain": "", "since": 0, "until": None, "attrs": {}, "when": {}}
        self.rules.append({**plain, "framework": "*", "type": type_name})
        if domain:
            self.rules.append({**plain, "framework": "onnx", "domain": domain, "type": last})
        self._instances: "dict[Any, Any]" = {}

    def _make(self, attributes: "dict[str, Any]", blobs: "list[Any]") -> Any:
        return self.factory(_params(attributes["params"]), [b.copy() for b in blobs])

    def _split(self, attributes: "dict[str, Any]", inputs: "list[Any]") -> "tuple[list[Any], list[Any]]":
        infos = _infos(inputs)
        count = len(infos) - attributes["blobs"]
        if count < 0:
            raise _Plain(f"expected {attributes['blobs']} blobs among the inputs, got {len(infos)} inputs")
        blobs = [i._value if i is not None else None for i in infos[count:]]
        if any(b is None for b in blobs):
            raise _Plain(f"the weights of {self.type_name} are not constant")
        return infos[:count], blobs

    def _for_shapes(self, attributes: "dict[str, Any]", blobs: "list[np.ndarray]") -> Any:
        """An instance that is asked for shapes; they are asked often, so it is kept."""
        few = 1024  # elements: shapes depend on small tensors
        key = (tuple(attributes["params"]),
               tuple((b.shape, b.tobytes() if b.size <= few else b.ctypes.data) for b in blobs))
        if key not in self._instances:
            if len(self._instances) >= 16:
                self._instances.clear()
            self._instances[key] = self._make(attributes, blobs)
        return self._instances[key]

    def _shapes(self, instance: Any, shapes: "list[list[int]]", outputs: int) -> "list[list[int]]":
        if not hasattr(instance, "getMemoryShapes"):
            return [list(shapes[0]) for _ in range(outputs)] if shapes else []
        result = _plain_list(instance.getMemoryShapes(shapes), "getMemoryShapes", self.type_name)
        return [[int(d) for d in _plain_list(s, "getMemoryShapes", self.type_name)] for s in result]

    def infer(self, attributes: "dict[str, Any]", inputs: "list[Any]", node: str) -> "list[tuple[Any, Any]]":
        flows, blobs = self._split(attributes, inputs)
        first = next((i.dtype for i in flows if i is not None), "f32")
        if not all(i is not None and i.is_static for i in flows):
            return [(first, None)] * attributes["outputs"]
        shapes = self._shapes(self._for_shapes(attributes, blobs), [list(i.shape) for i in flows],
                              attributes["outputs"])
        return [(first, s) for s in shapes]

    def prepare(self, attributes: "dict[str, Any]", inputs: "list[Any]", node: str) -> "tuple[Any, ...]":
        flows, blobs = self._split(attributes, inputs)
        blobs = [b.copy() for b in blobs]  # views, valid during this call

        def make() -> Any:
            instance = self._make(attributes, blobs)
            if all(i is not None and i.is_static for i in flows):
                self._shapes(instance, [list(i.shape) for i in flows], attributes["outputs"])
                return instance.forward

            def forward(arrays: "list[np.ndarray]") -> Any:
                self._shapes(instance, [list(a.shape) for a in arrays], attributes["outputs"])
                return instance.forward(arrays)

            return forward

        return make, {}, True, len(flows), "plan"


def register_layer(type: str, cls: Any) -> None:
    """Makes a class the implementation of a layer type, in models of all frameworks that are read from now on.

    ``cls(params, blobs)`` makes an instance per layer: `params` is a dictionary, `blobs` a list of arrays.
    ``getMemoryShapes(inputs)`` returns the list of output shapes for a list of input shapes, ``forward(inputs)`` the list
    of outputs for a list of arrays, which are valid during the call. A built-in layer of this type, or an earlier
    registration, is hidden until `unregister_layer`.

    For ONNX, "domain.Type" or "domain::Type" names a type of a domain. As in OpenCV, tensors of rank 4 of a TensorFlow
    model reach the layer as [n, c, h, w], and its results of rank 4 are converted back.
    """
    if not callable(cls):
        raise TypeError("class must be callable")
    definition = LayerDefinition(type, cls)
    definition.native  # checks the definition now
    _register(definition)


def unregister_layer(type: str) -> None:
    """Removes the latest registration of a layer type. What is read or compiled already stays as it is."""
    with _lock:
        for i in range(len(_definitions) - 1, -1, -1):
            d = _definitions[i]
            if isinstance(d, LayerDefinition) and d.type_name == type:
                del _definitions[i]
                return
    raise ValueError(f"no layer of type '{type}' is registered")
