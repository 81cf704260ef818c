"""Passes over the imported graph in Python, for the phases of passes in C++: front, middle, back, write.

>>> @graft.graph_pass(phase="middle")
... def drop_doubled_relu(graph):
...     for node in graph.nodes:
...         if node.type == "Relu" and node.inputs[0].producer.type == "Relu":
...             graph.replace(node.outputs[0], node.inputs[0])
"""

from __future__ import annotations

import os
from typing import Any, Callable, Sequence

from . import _native
from .definition import Part, _register
from .importing import Builder, Value

__all__ = ["GraphPassDefinition", "GraphRewrite", "GraphValue", "Node", "graph_pass"]


class GraphValue(Value):
    """A value of a graph, with its producer and consumers."""

    __slots__ = ()

    @property
    def producer(self) -> "Node | None":
        """None for a value that a pass must not look through: the user wants to keep it."""
        found = self._native.producer(self.ref)
        return None if found is None else Node(self._native, found[0])

    @property
    def producer_port(self) -> "int | None":
        found = self._native.producer(self.ref)
        return None if found is None else found[1]

    @property
    def consumers(self) -> "list[tuple[Node, int]]":
        """Nodes, and which of their inputs. Model outputs are nodes of the type Result."""
        return [(Node(self._native, n), i) for n, i in self._native.consumers(self.ref)]


class Node:
    """A node of the graph: one of Graft's operations, or one that no definition knows."""

    __slots__ = ("_native", "_address")

    def __init__(self, native: Any, address: int) -> None:
        self._native, self._address = native, address

    @property
    def name(self) -> str:
        return self._native.node(self._address)[0]

    @name.setter
    def name(self, value: str) -> None:
        self._native.set_node_name(self._address, value)

    @property
    def type(self) -> str:
        return self._native.node(self._address)[1]

    @property
    def opset(self) -> str:
        return self._native.node(self._address)[2]

    @property
    def attributes(self) -> "dict[str, Any]":
        """A copy; a node with other attributes replaces this one."""
        return self._native.attributes(self._address)

    @property
    def inputs(self) -> "list[GraphValue | None]":
        return [GraphValue(self._native, r) if r else None for r in self._native.node_inputs(self._address)]

    @property
    def outputs(self) -> "list[GraphValue]":
        return [GraphValue(self._native, r) for r in self._native.node_outputs(self._address)]

    def set_input(self, index: int, value: Value) -> None:
        """Makes one input consume another value. Types and shapes are inferred again when the pass ends."""
        self._native.set_node_input(self._address, index, value.ref)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other._address == self._address

    def __hash__(self) -> int:
        return hash(self._address)

    def __repr__(self) -> str:
        name, type, opset = self._native.node(self._address)
        return f"<node '{name}' ({type} of {opset})>"


class GraphRewrite(Builder):
    """The graph while a pass runs. Nodes without consumers are removed when the pass ends."""

    @property
    def nodes(self) -> "list[Node]":
        """All nodes, producers first."""
        return [Node(self._native, a) for a in self._native.nodes()]

    def add_operation(self, *args: Any, **named: Any) -> "list[GraphValue]":  # type: ignore[override]
        return [GraphValue(self._native, v.ref) for v in super().add_operation(*args, **named)]

    add_operation.__doc__ = Builder.add_operation.__doc__

    def constant(self, value: Any) -> GraphValue:
        return GraphValue(self._native, super().constant(value).ref)

    def replace(self, old: Value, new: Any) -> None:
        """Makes all consumers of a value consume another one (an array becomes a constant), which takes over the name.
        Type and shape must be compatible."""
        self._native.replace(old.ref, self._ref(new))


class GraphPassDefinition(Part):
    """A pass over the graph: `function` gets a GraphRewrite, once per graph (bodies of loops are graphs, too)."""

    def __init__(self, name: str, phase: str, function: "Callable[[GraphRewrite], Any]", origin: str = "", doc: str = "",
                 before: Sequence[str] = (), after: Sequence[str] = ()) -> None:
        super().__init__(_native.graph_pass(name, phase, lambda native: function(GraphRewrite(native)),
                                            origin or "python", doc, list(before), list(after)))
        self.name = name


def graph_pass(function: Any = None, *, name: "str | None" = None, phase: str = "middle", doc: "str | None" = None,
               before: Sequence[str] = (), after: Sequence[str] = (), register: bool = True) -> Any:
    """Makes a function of a `GraphRewrite` a pass of a phase; `before` and `after` are names of passes of that phase.

    front: right after the import, when unknown layers are still in the graph; middle: optimization; back: the final
    form; write: when an IR is written.
    """
    def define(it: Any) -> Any:
        text = doc if doc is not None else (it.__doc__ or "").strip().split("\n")[0].rstrip(".")
        origin = os.path.basename(getattr(getattr(it, "__code__", None), "co_filename", "")) or "python"
        it.definition = GraphPassDefinition(name or it.__name__, phase, it, origin, text, before, after)
        if register:
            _register(it.definition)
        return it

    return define if function is None else define(function)
