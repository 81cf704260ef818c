"""Reports and explanations: objects with fields, as text, and as tables in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Sequence

__all__ = ["ConvertReport", "Explanation", "Operation", "Operations", "Profile", "Query", "Report"]


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    out = ["<table>"]
    if caption:
        out.append(f"<caption>{html.escape(caption)}</caption>")
    out.append("<thead><tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in head) + "</tr></thead><tbody>")
    for row in rows:
        out.append("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>")
    return "".join(out) + "</tbody></table>"


def ports_html(title: str, inputs: Iterable[Any], outputs: Iterable[Any], more: Sequence[Sequence[Any]] = ()) -> str:
    """The inputs and outputs of a model as a table; `more`: further rows."""
    rows = [(kind, port.any_name, port.dtype, port.shape)
            for kind, ports in (("input", inputs), ("output", outputs)) for port in ports]
    return _table(["", "name", "type", "shape"], [*rows, *more], title)


class Record:
    """Named values; ``dir()`` lists them."""

    _text = ""

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, "_text" if name == "text" else name, _objects(value))

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...

    def __iter__(self) -> "Iterator[Any]":
        """The values in the order of the fields: ``for kernel, reason in choice.declined``."""
        return (v for k, v in vars(self).items() if not k.startswith("_"))

    def __repr__(self) -> str:
        shown = (f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({', '.join(shown)})"


def _objects(value: Any) -> Any:
    """Lists of dictionaries with a name or a type become lists of records."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [Record(**v) for v in value]
    return value


class _Shown(Record):
    """A record that prints as its text."""

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text or super().__repr__()


class Report(_Shown):
    """What came of reading a model: unknown layers, problems, and which rule imported each of the other layers."""

    def __str__(self) -> str:
        return self._text or f"complete: {self.layers} layers\n{self.claims_text}".rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = []
        if self.unknown:
            rows = ((u.type, u.domain, len(u.layers), ", ".join(layer.name for layer in u.layers[:5]), u.note)
                    for u in self.unknown)
            parts.append(_table(["unknown type", "domain", "layers", "for example", "note"], rows))
        if self.problems:
            parts.append(_table(["layer", "type", "problem"], ((p.layer, p.type, p.error.message) for p in self.problems)))
        claims = ((c.layer, c.type, c.by, ", ".join(c.operations)) for c in self.claims)
        parts.append(_table(["layer", "type", "imported by", "as"], claims, f"{self.layers} layers"))
        return "".join(parts)


class ConvertReport(_Shown):
    """The files that a conversion wrote, and what it did."""

    def _repr_html_(self) -> str:
        rows = [("xml", self.xml), ("bin", self.bin), ("layers in the file", self.file_layers),
                ("layers in the IR", self.ir_layers), ("by extensions", self.by_extensions)]
        done = ((p.name, p.changes, p.nodes_before, p.nodes_after) for p in self.passes if p.changes)
        return _table(["", "converted"], rows) + _table(["pass", "changes", "nodes before", "after"], done)


class Explanation(_Shown):
    """Which kernel runs each operation, and why others declined; what the passes did; how memory is planned."""

    def kernel_of(self, node: str) -> str:
        """The kernel that runs the node of this name; empty: nothing to run."""
        for choice in self.kernels:
            if choice.node == node:
                return choice.kernel
        raise KeyError(f"there is no node '{node}'")

    def _repr_html_(self) -> str:
        def why(choice: Record) -> str:
            return "; ".join([f"{k}: {reason}" for k, reason in choice.declined] + ([choice.note] if choice.note else []))

        rows = ((c.node, c.type, c.kernel, ", ".join(i._text for i in c.outputs),
                 why(c)) for c in self.kernels)
        caption = f"{self.device}: {self.arena_bytes} bytes of activations, {self.constant_bytes} bytes of constants"
        return _table(["node", "operation", "kernel", "outputs", "declined"], rows, caption)


class Query(_Shown):
    """Which layers of a model a device supports, and why not the others.

    `assigned` is a dictionary from layers to devices, as the option `affinities` of `compile_model` takes it.
    """

    def _repr_html_(self) -> str:
        rows = ((layer.layer, layer.type, layer.device or ("-" if layer.supported else "none"), layer.reason)
                for layer in self.layers)
        return _table(["layer", "operation", "device", "kernel, or why not"], rows, self.device)


class Profile(_Shown):
    """The time that each node took, over all runs of a request."""

    def _repr_html_(self) -> str:
        rows = ((n.node, n.type, n.kernel, f"{n.microseconds:.1f}", n.calls)
                for n in sorted(self.nodes, key=lambda n: -n.microseconds))
        return _table(["node", "operation", "kernel", "µs", "calls"], rows)


class Operation(_Shown):
    """An operation: attributes, kernels, import rules."""


class Operations(List[Operation]):
    """All operations that a Core knows."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return list.__getitem__(self, key)
        found = [o for o in self if o.name == key]
        if not found:
            raise KeyError(f"there is no operation '{key}'")
        return found[-1]

    def __repr__(self) -> str:
        return "\n".join(f"{o.name:<28} {o.opset:<12} {o.doc}" for o in self)

    def _repr_html_(self) -> str:
        return _table(["operation", "opset", "from", "description"], ((o.name, o.opset, o.origin, o.doc) for o in self))
