"""Attributes of operations, from annotations."""

from __future__ import annotations

import collections.abc
import inspect
import math
import typing
from typing import Any

import numpy as np

__all__ = ["Attribute", "at_least", "at_most", "attr", "between", "one_of"]

_REQUIRED, _OPTIONAL = 1, 2
_TEXT, _DTYPE = 4, 5
_KINDS = {bool: 1, int: 2, float: 3, str: _TEXT, np.dtype: _DTYPE, "list[int]": 8, "list[float]": 9, "list[str]": 10}
_SAMPLES = {1: False, 2: 1, 3: 1.0, _TEXT: "", _DTYPE: "f32", 8: [1], 9: [1.0], 10: [""]}


class Bound:
    """A restriction of an attribute, for ``Annotated[float, graft.at_least(0)]``."""

    def __init__(self, low: float = -math.inf, high: float = math.inf, words: "tuple[str, ...]" = ()) -> None:
        self.low, self.high, self.words = low, high, words


def at_least(low: float) -> Bound:
    """A number, or each item of a list, is `low` or greater."""
    return Bound(low=low)


def at_most(high: float) -> Bound:
    """A number, or each item of a list, is `high` or less."""
    return Bound(high=high)


def between(low: float, high: float) -> Bound:
    """A number, or each item of a list, is from `low` to `high`."""
    return Bound(low, high)


def one_of(*words: str) -> Bound:
    """A string is one of these."""
    return Bound(words=words)


class Attribute:
    """An attribute: name, type, default, bounds, and a description."""

    def __init__(self, name: str, kind: int, default: Any, optional: bool, bounds: "list[Bound]", doc: str) -> None:
        self.name, self.kind, self.default, self.optional, self.doc = name, kind, default, optional, doc
        self.low = max([b.low for b in bounds], default=-math.inf)
        self.high = min([b.high for b in bounds], default=math.inf)
        self.words = [w for b in bounds for w in b.words]

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty and not self.optional

    def sample(self) -> Any:
        """A value to try the operation with."""
        if not self.required:
            return self.default
        if self.words:
            return self.words[0]
        sample = _SAMPLES[self.kind]
        if isinstance(sample, (int, float)) and not isinstance(sample, bool):
            return type(sample)(min(max(sample, self.low), self.high))
        return sample

    def record(self) -> "dict[str, Any]":
        flags = _REQUIRED if self.required else _OPTIONAL if self.optional else 0
        default = self.default
        if self.kind == _DTYPE and not flags and not isinstance(default, str):
            default = np.dtype(default).name
        return {"name": self.name, "kind": self.kind, "flags": flags, "default": default, "min": self.low,
                "max": self.high, "allowed": self.words, "doc": self.doc}


class attr:
    """An attribute for ``attrs={...}``: ``graft.attr(float, 1.0, graft.at_least(0))``."""

    def __init__(self, type: Any, default: Any = inspect.Parameter.empty, *bounds: Any) -> None:
        self.type, self.default, self.bounds = type, default, bounds


def _kind_of(name: str, hint: Any) -> int:
    args = typing.get_args(hint)
    if typing.get_origin(hint) in (list, tuple, collections.abc.Sequence):
        key: Any = f"list[{getattr(args[0], '__name__', args[0])}]" if args else None
    elif isinstance(hint, type) and issubclass(hint, np.floating):
        key = float
    elif isinstance(hint, type) and issubclass(hint, np.integer):
        key = int
    else:
        key = hint
    if key not in _KINDS:
        raise TypeError(f"attribute '{name}': expected bool, int, float, str, numpy.dtype, or a list of int, float or "
                        f"str, got {hint!r}")
    return _KINDS[key]


def attribute_of(name: str, hint: Any, default: Any) -> Attribute:
    """From an annotation and a default; the annotation may be an `attr`, or a plain default."""
    extra: "list[Any]" = []
    if isinstance(hint, attr):
        extra, default, hint = list(hint.bounds), hint.default, hint.type
    elif not isinstance(hint, type) and typing.get_origin(hint) is None and hint is not None:
        default, hint = hint, _type_of(hint)
    if hasattr(hint, "__metadata__"):
        extra += list(hint.__metadata__)
        hint = hint.__origin__
    optional = False
    args = typing.get_args(hint)
    if type(None) in args:
        optional = True
        hint = next(a for a in args if a is not type(None))
        if hasattr(hint, "__metadata__"):
            extra += list(hint.__metadata__)
            hint = hint.__origin__
    if typing.get_origin(hint) is typing.Literal:
        extra.append(Bound(words=typing.get_args(hint)))
        hint = str
    bounds = [e for e in extra if isinstance(e, Bound)]
    doc = next((e for e in extra if isinstance(e, str)), "")
    if optional:
        default = None
    return Attribute(name, _kind_of(name, hint), default, optional, bounds, doc)


def _type_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return typing.List[type(value[0]) if value else int]  # type: ignore[misc]
    return type(value)
