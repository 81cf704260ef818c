"""Element-wise functions as expressions: a function is called with tracers, which note what is done to them."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from .errors import TraceError

__all__ = ["Tracer", "trace"]

_BOOLEAN = {"greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and", "logical_or",
            "logical_xor", "logical_not", "isnan", "isinf", "isfinite"}
_NATIVE = _BOOLEAN | {
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot",
    "copysign", "floor_divide", "negative", "absolute", "square", "reciprocal", "sqrt", "cbrt", "exp", "exp2", "expm1",
    "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "arcsinh", "arccosh", "arctanh", "floor", "ceil", "trunc", "rint", "sign"}
_SAME = {"true_divide": "divide", "fabs": "absolute", "bitwise_and": "logical_and", "bitwise_or": "logical_or",
         "invert": "logical_not", "float_power": "power"}


class _Code:
    """The steps so far: ("input", 0), ("const", 2.0), ("multiply", 0, 1)."""

    def __init__(self) -> None:
        self.steps: "list[tuple[Any, ...]]" = []
        self.known: "dict[tuple[Any, ...], int]" = {}

    def add(self, step: "tuple[Any, ...]") -> int:
        # NaN differs from itself, and 0.0 equals -0.0: constants are told apart by their text.
        key = (step[0], repr(step[1])) if step[0] == "const" else step
        if key not in self.known:
            self.known[key] = len(self.steps)
            self.steps.append(step)
        return self.known[key]


class Tracer:
    """Stands for an array while a function is traced. It has no shape, no elements and no boolean value."""

    __slots__ = ("code", "index", "boolean")
    __array_priority__ = 1000

    def __init__(self, code: _Code, index: int, boolean: bool = False) -> None:
        self.code, self.index, self.boolean = code, index, boolean

    def _operand(self, value: Any) -> "Tracer":
        if isinstance(value, Tracer):
            return value
        if isinstance(value, (bool, np.bool_)):
            return Tracer(self.code, self.code.add(("const", float(value))), True)
        if isinstance(value, (int, float, np.integer, np.floating)):
            return Tracer(self.code, self.code.add(("const", float(value))))
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf":
            return Tracer(self.code, self.code.add(("const", float(value))))
        raise TraceError(f"an operand of type {type(value).__name__}")

    def _apply(self, name: str, *operands: Any) -> "Tracer":
        name = _SAME.get(name, name)
        if name not in _NATIVE and name != "where":
            raise TraceError(f"np.{name} has no native form")
        traced = [self._operand(v) for v in operands]
        values = [self.code.steps[t.index] for t in traced]
        if name == "power" and values[1] == ("const", 2.0):
            return self._apply("square", traced[0])
        if name == "power" and values[1] == ("const", 0.5):
            return self._apply("sqrt", traced[0])
        # Booleans are added and subtracted by other rules in NumPy.
        if name not in _BOOLEAN and name != "where" and all(t.boolean for t in traced) and name != "multiply":
            raise TraceError(f"np.{name} of booleans")
        boolean = name in _BOOLEAN or (name == "where" and traced[1].boolean and traced[2].boolean) or (
            name == "multiply" and all(t.boolean for t in traced))
        return Tracer(self.code, self.code.add((name, *(t.index for t in traced))), boolean)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise TraceError(f"np.{ufunc.__name__}.{method}" if method != "__call__" else
                             f"np.{ufunc.__name__} with {', '.join(kwargs)}")
        if ufunc is np.bitwise_and or ufunc is np.bitwise_or or ufunc is np.invert:
            if not all(self._operand(v).boolean for v in inputs):
                raise TraceError(f"np.{ufunc.__name__} of numbers")
        return self._apply(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3 and not kwargs:
            return self._apply("where", *args)
        if function is np.clip and not kwargs.keys() - {"a", "a_min", "a_max", "min", "max"} and len(args) <= 3:
            named = dict(zip(("a", "min", "max"), args))
            for key, value in kwargs.items():
                if named.setdefault(key[2:] if key.startswith("a_") else key, value) is not value:
                    raise TraceError(f"np.clip with two values for {key}")
            return self._operand(named["a"]).clip(named.get("min"), named.get("max"))
        if function is np.select and not kwargs.keys() - {"condlist", "choicelist", "default"} and len(args) <= 3:
            named = dict(zip(("condlist", "choicelist", "default"), args), **kwargs)
            out = named.get("default", 0)
            for condition, choice in reversed(list(zip(named["condlist"], named["choicelist"]))):
                out = self._apply("where", condition, choice, out)
            return out
        if function in (np.round, np.around) and len(args) == 1 and not kwargs:
            return self._apply("rint", args[0])
        raise TraceError(f"np.{function.__name__}")

    def clip(self, min: Any = None, max: Any = None) -> "Tracer":
        out = self if min is None else self._apply("maximum", self, min)
        return out if max is None else out._apply("minimum", out, max)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TraceError("the function asks for the elements of its input")

    def __bool__(self) -> bool:
        raise TraceError("a branch depends on the elements: np.where chooses between two values, np.maximum and "
                         "np.minimum replace max and min")

    def __getattr__(self, name: str) -> Any:
        raise TraceError(f".{name} of an input")

    def _refuse(self, *_: Any) -> Any:
        raise TraceError("the function asks for single elements of its input")

    __float__ = __int__ = __index__ = __len__ = __iter__ = __getitem__ = __setitem__ = _refuse
    __hash__ = object.__hash__

    def __pos__(self) -> "Tracer":
        return self

    def __neg__(self) -> "Tracer":
        return self._apply("negative", self)

    def __abs__(self) -> "Tracer":
        return self._apply("absolute", self)

    def __invert__(self) -> "Tracer":
        return self.__array_ufunc__(np.invert, "__call__", self)


def _add_operators() -> None:
    def forward(name: str) -> Callable[[Tracer, Any], Tracer]:
        return lambda self, other: self.__array_ufunc__(getattr(np, name), "__call__", self, other)

    def backward(name: str) -> Callable[[Tracer, Any], Tracer]:
        return lambda self, other: self.__array_ufunc__(getattr(np, name), "__call__", other, self)

    for operator, name in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
                           "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or"}.items():
        setattr(Tracer, f"__{operator}__", forward(name))
        setattr(Tracer, f"__r{operator}__", backward(name))
    for operator, name in {"gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal", "eq": "equal",
                           "ne": "not_equal"}.items():
        setattr(Tracer, f"__{operator}__", forward(name))


_add_operators()


def trace(function: Callable[..., Any], inputs: int, attributes: "dict[str, Any]",
          namespace: bool = False) -> "tuple[list[tuple[Any, ...]], bool]":
    """The steps of a function of `inputs` arrays, and whether the result is boolean. Raises TraceError."""
    code = _Code()
    arguments = [Tracer(code, code.add(("input", i))) for i in range(inputs)]
    try:
        if namespace:
            result = function(*arguments, Namespace(attributes))
        else:
            result = function(*arguments, **attributes)
    except TraceError:
        raise
    except Exception as error:
        raise TraceError(f"{type(error).__name__}: {error}") from error
    if not isinstance(result, Tracer) or result.code is not code:
        raise TraceError(f"the result is an object of type {type(result).__name__}")
    return _used(code.steps, result.index), result.boolean


class Namespace:
    """Attributes by name: ``a.gain``."""

    def __init__(self, values: "dict[str, Any]") -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        return f"({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


def _used(steps: "Sequence[tuple[Any, ...]]", result: int) -> "list[tuple[Any, ...]]":
    """The steps that the result depends on, with the result as the last one."""
    needed = {result}
    for i in range(result, -1, -1):
        if i in needed and steps[i][0] not in ("input", "const"):
            needed.update(steps[i][1:])
    order = sorted(needed)
    place = {old: new for new, old in enumerate(order)}
    out: "list[tuple[Any, ...]]" = []
    for i in order:
        step = steps[i]
        out.append(step if step[0] in ("input", "const") else (step[0], *(place[k] for k in step[1:])))
    return out
