"""The decorator for operations, and import rules."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Sequence, Union

from .definition import OpDefinition, _TRAITS, _VARIADIC, _register

__all__ = ["op", "rule"]


class rule:
    """Which layer of a framework becomes the operation.

    ``graft.rule("LeakyReLU", attrs={"gain": "slope"}, when={"act_type": "elu"})``: `attrs` maps attributes to the
    fields of the layer (dotted for nested ones), `when` has the values that fields must have. In ONNX the type may have
    a domain: "com.acme::Twist".
    """

    def __init__(self, type: str, domain: str = "", since: int = 0, until: "int | None" = None,
                 attrs: "Mapping[str, str] | None" = None, when: "Mapping[str, Any] | None" = None) -> None:
        if "::" in type:
            domain, type = type.split("::", 1)
        self.type, self.domain, self.since, self.until = type, domain, since, until
        self.attrs, self.when = dict(attrs or {}), dict(when or {})

    def record(self, framework: str) -> "dict[str, Any]":
        return {"framework": framework, "domain": self.domain, "type": self.type, "since": self.since,
                "until": self.until, "attrs": self.attrs, "when": self.when}


Rules = Union[str, rule, Sequence[Union[str, rule]], None]


def _rules(name: str, given: "dict[str, Rules]") -> "list[dict[str, Any]]":
    if all(r is None for r in given.values()):
        given = {"*": name}
    out = []
    for framework, rules in given.items():
        listed = [] if rules is None else [rules] if isinstance(rules, (str, rule)) else rules
        if not isinstance(listed, (list, tuple)) or not all(isinstance(r, (str, rule)) for r in listed):
            raise TypeError(f"{name}: '{framework}' is no option of graft.op, and as a framework it needs a layer type, a "
                            f"graft.rule, or a list of them, got {rules!r}")
        out += [(rule(r) if isinstance(r, str) else r).record(framework) for r in listed]
    return out


def _outputs(given: "str | int | Sequence[str]") -> "list[tuple[str, int]]":
    if isinstance(given, int):
        return [(f"output{i}" if given > 1 else "output", 0) for i in range(given)]
    names = [n.strip() for n in given.split(",")] if isinstance(given, str) else list(given)
    return [(n[:-3], _VARIADIC) if n.endswith("...") else (n, 0) for n in names]


def _origin(target: Any) -> str:
    code = getattr(target, "__code__", None)
    if code is not None:
        return os.path.basename(code.co_filename)
    return getattr(target, "__module__", "") or "python"


def _trait_bits(words: "Sequence[str]") -> int:
    bits = 0
    for word in [words] if isinstance(words, str) else words:
        if word not in _TRAITS:
            raise ValueError(f"expected a trait ({', '.join(_TRAITS)}), got {word!r}")
        bits |= _TRAITS[word]
    return bits


def op(target: Any = None, *, name: "str | None" = None, opset: str = "extension", doc: "str | None" = None,
       attrs: "Mapping[str, Any] | None" = None, outputs: "str | int | Sequence[str]" = "output",
       shape: "Callable[..., Any] | None" = None, elementwise: "bool | None" = None, pure: "bool | None" = None,
       traits: "Sequence[str]" = (), register: bool = True, **frameworks: Rules) -> Any:
    """Makes a function or a class an operation.

    >>> @graft.op(opset="acme", onnx="com.acme::Warp")
    ... def Warp(x, gain: Annotated[float, graft.at_least(0)] = 1.0):
    ...     return np.cosh(gain * x)

    Parameters with a type (bool, int, float, str, lists of them) are attributes, the others are inputs: arrays, None if
    an input with the default None is absent, any number of them for ``*inputs``. A class has its attributes as annotated
    members, computes in `forward(self, *inputs)` and may have `shape(self, *inputs)`. For a lambda, ``attrs={"gain":
    1.0}`` declares attributes, which are fields of its last parameter `a`.

    `shape` gets an `Info` per input and the attributes, and returns the shape of the output, or a pair of element type
    and shape; a list of them for several outputs. A data-dependent dimension is None. It may be left out for
    an element-wise function. Such a function is traced where possible: it runs natively, without Python.

    `elementwise=True` declares a function element-wise that cannot be traced: it needs no `shape`, and runs in Python.
    `pure=False` declares that two calls with the same inputs may give different results, so that the operation is neither
    computed before the model runs nor shared by nodes with the same inputs. Functions are pure by default, classes are
    not: an instance may keep state. `register=False` only adds `definition` to the function, for `Core.add_extension`.

    `traits` are further promises that optimization passes rely on, such as "moves_data" or "channelwise"; the guide lists
    them. An element-wise function has those of element-wise operations by itself.

    An instance of a class belongs to one node of one request. Its annotated members have the values of the attributes
    before `__init__` is called, which takes those it names as parameters. `InferRequest.reset_state` drops the instance.

    Further keywords are import rules by framework, as ``onnx="com.acme::Warp"``: any of those that `Core.frameworks` lists.
    Without any, layers of all frameworks with the name of the operation become it.
    """
    if isinstance(target, str):
        name, target = target, None

    def define(it: Any) -> Any:
        title = name or getattr(it, "__name__", "")
        if not title or title == "<lambda>":
            raise TypeError('expected a name for the operation: graft.op("Name")(...)')
        text = doc if doc is not None else (it.__doc__ or "").strip().split("\n")[0].rstrip(".")
        definition = OpDefinition(it, title, opset, text, _origin(it), shape, dict(attrs or {}))
        definition.outputs = _outputs(outputs)
        definition.rules = _rules(title, frameworks)
        if definition.shape is None or elementwise:
            definition.become_elementwise(bool(elementwise))
        if pure is False or (pure is None and definition.stateful):
            definition.flags &= ~_TRAITS["pure"]
        definition.flags |= _trait_bits(traits)
        definition.native  # checks the definition now
        it.definition = definition
        if register:
            _register(definition)
        return it

    return define if target is None else define(target)
