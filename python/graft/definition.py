"""Operations in Python: what a definition consists of, and how the library calls it."""

from __future__ import annotations

import inspect
import os
import threading
import typing
from typing import Any, Callable, Sequence

import numpy as np

from . import _native
from .attributes import Attribute, attribute_of
from .errors import TraceError, _Plain
from .tracing import Namespace, trace

__all__ = ["Definition", "Info", "Part", "unregister"]

_TRAITS = _native.traits  # word -> bit
_OPTIONAL, _VARIADIC = 1, 2


class Info:
    """What is known of an input while shapes are inferred; also what a shape function may return for an output."""

    __slots__ = ("dtype", "shape", "_value")

    def __init__(self, dtype: Any, shape: "Sequence[Any] | None", value: "np.ndarray | None" = None) -> None:
        self.dtype = dtype  # "f32", "i64", ...
        self.shape = None if shape is None else tuple(shape)  # None: unknown rank; a dimension may be None
        self._value = value

    @property
    def value(self) -> "np.ndarray | None":
        """The elements, if they are known before the model runs."""
        return None if self._value is None else self._value.copy()

    @property
    def rank(self) -> "int | None":
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)

    def __repr__(self) -> str:
        return f"Info({self.dtype!r}, {self.shape})"


def _infos(inputs: "list[Any]") -> "list[Info | None]":
    return [None if i is None else Info(*i) for i in inputs]


def _is_type(value: Any) -> bool:
    return isinstance(value, (str, type, np.dtype))


def _output(value: Any, first: str) -> "tuple[Any, Any]":
    """(element type, shape) from what a shape function may say of one output."""
    if isinstance(value, Info):
        return value.dtype, value.shape
    if isinstance(value, tuple) and len(value) == 2 and _is_type(value[0]):
        return value[0], value[1]
    if value is not None and not isinstance(value, (tuple, list)):
        raise _Plain(f"the shape function returned {value!r}, expected a shape, or a pair of element type and shape")
    return first, value


def outputs_of(result: Any, count: int, first: str) -> "list[tuple[Any, Any]]":
    """The outputs from the result of a shape function; `first` is the element type if none is given."""
    if count == 1:
        wrapped = isinstance(result, list) and len(result) == 1 and not isinstance(result[0], (int, np.integer))
        return [_output(result[0] if wrapped else result, first)]
    if not isinstance(result, (tuple, list)) or len(result) != count:
        raise _Plain(f"the shape function returned {result!r}, expected a list of {count} shapes")
    return [_output(r, first) for r in result]


class Part:
    """A definition that belongs to no operation: an import rule or a pass."""

    def __init__(self, native: Any) -> None:
        self.native = native


class Definition:
    """An operation with its kernels and import rules. `graft.op` and `graft.register_layer` make it."""

    layer = False
    elementwise = False
    boolean = False
    traceable = False

    def __init__(self, name: str, opset: str, doc: str, origin: str) -> None:
        self.name, self.opset, self.doc, self.origin = name, opset, doc, origin
        self.flags = _TRAITS["pure"]
        self.attributes: "list[Attribute]" = []
        self.inputs: "list[tuple[str, int]]" = []
        self.outputs: "list[tuple[str, int]]" = [("output", 0)]
        self.rules: "list[dict[str, Any]]" = []
        self._native: Any = None

    @property
    def attrs(self) -> "list[dict[str, Any]]":
        return [a.record() for a in self.attributes]

    @property
    def native(self) -> Any:
        if self._native is None:
            self._native = _native.Definition(self)
        return self._native

    def infer(self, attributes: "dict[str, Any]", inputs: "list[Any]", node: str) -> "list[tuple[Any, Any]]":
        raise NotImplementedError

    def prepare(self, attributes: "dict[str, Any]", inputs: "list[Any]", node: str) -> "tuple[Any, ...]":
        """What computes a node: the function, its keyword arguments, whether the inputs are one list, how many of the
        inputs are passed (None: all), and what the function lives with: the "process", or the "request" or the "plan" of
        it (a request with inputs of these shapes); then the first is what makes the function."""
        raise NotImplementedError

    def trace(self, attributes: "dict[str, Any]") -> Any:
        return "not element-wise"

    def __repr__(self) -> str:
        return f"<graft operation {self.name} of {self.opset}>"


class OpDefinition(Definition):
    """A function or a class that `graft.op` decorates."""

    def __init__(self, target: Any, name: str, opset: str, doc: str, origin: str, shape: "Callable[..., Any] | None",
                 declared: "dict[str, Any]") -> None:
        super().__init__(name, opset, doc, origin)
        self.target, self.shape = target, shape
        self.stateful = inspect.isclass(target)  # its instances may change from call to call
        self.namespace = False  # the attributes are one argument
        if inspect.isclass(target):
            self._read_class(declared)
        else:
            self._read_function(target, declared)

    def _read_class(self, declared: "dict[str, Any]") -> None:
        hints = typing.get_type_hints(self.target, include_extras=True)
        for name, hint in hints.items():
            if typing.get_origin(hint) is typing.ClassVar or name.startswith("_"):
                continue
            self.attributes.append(attribute_of(name, hint, getattr(self.target, name, inspect.Parameter.empty)))
        self.attributes += [attribute_of(n, d, inspect.Parameter.empty) for n, d in declared.items()]
        self.method = next((m for m in ("forward", "run", "__call__") if callable(getattr(self.target, m, None)) and
                            (m != "__call__" or "__call__" in vars(self.target))), None)
        if self.method is None:
            raise TypeError(f"{self.target.__name__} has no method 'forward'")
        if self.shape is None:
            self.shape = getattr(self.target, "shape", None)
        self._read_construction()
        parameters = list(inspect.signature(getattr(self.target, self.method)).parameters.values())[1:]
        self._read_inputs(parameters)

    def _read_function(self, function: Any, declared: "dict[str, Any]") -> None:
        parameters = list(inspect.signature(function).parameters.values())
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except TypeError:  # a callable object
            hints = {}
        hints.pop("return", None)
        self.attributes = [attribute_of(n, d, inspect.Parameter.empty) for n, d in declared.items()]
        if declared and parameters and parameters[-1].name in ("a", "attrs", "attributes"):
            self.namespace = True
            parameters.pop()
        inputs = []
        for p in parameters:
            hint = hints.get(p.name)
            if p.name in declared:
                continue
            if hint is not None and not _is_array(hint):
                self.attributes.append(attribute_of(p.name, hint, p.default))
            else:
                inputs.append(p)
        self._read_inputs(inputs)

    def _read_inputs(self, parameters: "list[inspect.Parameter]") -> None:
        for p in parameters:
            flags = 0
            if p.kind is p.VAR_POSITIONAL:
                flags = _VARIADIC
            elif p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY):
                raise TypeError(f"{self.name}: parameter '{p.name}' is neither an input nor an attribute: "
                                "annotate an attribute with its type")
            elif p.default is None:
                flags = _OPTIONAL
            elif p.default is not p.empty:
                raise TypeError(f"{self.name}: parameter '{p.name}' has a default, but no type: annotate it")
            self.inputs.append((p.name, flags))

    @property
    def is_class(self) -> bool:
        return inspect.isclass(self.target)

    def become_elementwise(self, required: bool) -> None:
        """Traces the function; without a shape function it must be element-wise."""
        if len(self.outputs) != 1 or not self.inputs or any(f for _, f in self.inputs):
            reason = "it has no input, several outputs, or inputs that may be absent"
            traced = None
        else:
            samples = {a.name: a.sample() for a in self.attributes}
            traced = self.trace(samples)
            reason = traced if isinstance(traced, str) else ""
        if reason and not required:
            raise TypeError(f"{self.name} needs a shape function, because it is not known to be element-wise ({reason}): "
                            "give shape=..., or elementwise=True")
        if traced is None:
            raise TypeError(f"{self.name} cannot be element-wise: {reason}")
        self.elementwise = self.traceable = True
        self.flags |= _TRAITS["elementwise"] | _TRAITS["in_place"]
        if not reason:
            self.flags |= _TRAITS["widens"]  # a function in Python sees the type of the model
            self.stateful = False
            self.boolean = self._boolean
            if self.boolean:
                self.flags &= ~_TRAITS["in_place"]

    def trace(self, attributes: "dict[str, Any]") -> Any:
        instance = self._instance(attributes) if self.is_class else None
        before = _members(instance)
        function = getattr(instance, self.method or "") if self.is_class else self.target
        try:
            steps, self._boolean = trace(function, len(self.inputs), {} if self.is_class else attributes, self.namespace)
        except TraceError as error:
            return str(error)
        changed = [n for n, v in _members(instance).items() if n not in before or before[n] is not v]
        return f"it sets 'self.{changed[0]}'" if changed else steps

    def _read_construction(self) -> None:
        """Which attributes `__init__` takes; the others are set before it is called."""
        self.constructed: "list[str]" = []
        names = [a.name for a in self.attributes]
        if self.target.__init__ is object.__init__:
            return
        for p in list(inspect.signature(self.target.__init__).parameters.values())[1:]:
            if p.kind is p.VAR_KEYWORD:
                self.constructed += [n for n in names if n not in self.constructed]
            elif p.name in names and p.kind is not p.POSITIONAL_ONLY:
                self.constructed.append(p.name)
            elif p.default is p.empty and p.kind is not p.VAR_POSITIONAL:
                raise TypeError(f"{self.name}: '__init__' takes '{p.name}', which is not an attribute: annotate it in the "
                                f"class, as in `{p.name}: float = 1.0`, or give the parameter a default")

    def _instance(self, attributes: "dict[str, Any]") -> Any:
        """Annotated members first, so that `__init__` sees them; those that it takes are passed to it."""
        attributes = {n: list(v) if isinstance(v, list) else v for n, v in attributes.items()}  # each has its own
        passed = {n: attributes[n] for n in self.constructed}
        made = self.target.__new__(self.target) if self.target.__new__ is object.__new__ else self.target(**passed)
        for name, value in attributes.items():
            if name not in passed:
                setattr(made, name, value)
        if self.target.__new__ is object.__new__:
            made.__init__(**passed)
        if self.target.__init__ is object.__init__ and hasattr(made, "__post_init__"):
            made.__post_init__()
        return made

    def _callable(self, attributes: "dict[str, Any]") -> Any:
        return getattr(self._instance(attributes), self.method or "") if self.is_class else self.target

    def infer(self, attributes: "dict[str, Any]", inputs: "list[Any]", node: str) -> "list[tuple[Any, Any]]":
        infos = _infos(inputs)
        assert self.shape is not None
        if self.is_class:
            result = self.shape(self._instance(attributes), *infos) if self._takes_self() else self.shape(*infos)
        elif self.namespace:
            result = self.shape(*infos, Namespace(attributes))
        else:
            result = self.shape(*infos, **attributes)
        first = next((i.dtype for i in infos if i is not None), "f32")
        return outputs_of(result, len(self.outputs), first)

    def _takes_self(self) -> bool:
        return self.shape is getattr(self.target, "shape", None)

    def prepare(self, attributes: "dict[str, Any]", inputs: "list[Any]", node: str) -> "tuple[Any, ...]":
        if self.is_class:
            return (lambda: self._callable(attributes)), {}, False, None, "request"
        if self.namespace:
            name = list(inspect.signature(self.target).parameters)[-1]
            return self.target, {name: Namespace(attributes)}, False, None, "process"
        return self.target, attributes, False, None, "process"


def _members(instance: Any) -> "dict[str, Any]":
    return dict(getattr(instance, "__dict__", {}))


def _is_array(hint: Any) -> bool:
    name = getattr(hint, "__name__", str(hint))
    return hint is np.ndarray or hint is Any or typing.get_origin(hint) is np.ndarray or name in ("ndarray", "Tensor")


# ---- registration ----

_lock = threading.Lock()
_definitions: "list[Definition]" = []
_collecting = threading.local()


def _registered() -> "list[Definition]":
    with _lock:
        return list(_definitions)


def _register(definition: Definition) -> None:
    collected = getattr(_collecting, "list", None)
    if collected is not None:
        collected.append(definition)
        return
    with _lock:
        _definitions.append(definition)


def unregister(operation: Any) -> None:
    """Takes back the registration of an operation; what it took the place of is found again."""
    definition = operation if isinstance(operation, (Definition, Part)) else getattr(operation, "definition", None)
    with _lock:
        if definition not in _definitions:
            raise ValueError(f"{operation!r} is not registered")
        _definitions.remove(definition)


def _collect(path: str) -> "list[Definition | Part]":
    """Runs a Python file and returns what it registers, without registering it for the whole process. A folder has
    extensions in the form of the Model Optimizer."""
    if os.path.isdir(path):
        return _collect_folder(path)
    import runpy
    import sys

    outer = getattr(_collecting, "list", None)
    found: "list[Definition | Part]" = []
    _collecting.list = found
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)  # so that the file can import its neighbors
    try:
        runpy.run_path(path, run_name=os.path.splitext(os.path.basename(path))[0])
    finally:
        _collecting.list = outer
        if folder in sys.path:
            sys.path.remove(folder)
    if not found:
        raise ValueError(f"'{path}' defines no operation: use @graft.op, graft.register_layer, @graft.import_rule or "
                         "@graft.raw_pass")
    return found


def _collect_folder(path: str) -> "list[Definition | Part]":
    """Definitions of a folder of Python extensions for the Model Optimizer: ops/, front/, middle/, back/."""
    from . import model_optimizer

    outer = getattr(_collecting, "list", None)
    _collecting.list = found = []
    try:
        loaded = model_optimizer.load(path) or []
        return [*found, *loaded]
    finally:
        _collecting.list = outer
