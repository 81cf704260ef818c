"""A node of the graph, as extension files see it: attributes, neighbors and ports."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import Error
from .port import Port

__all__ = ["Node"]


class Node:
    """A view of one node; its attributes are those of the graph's entry."""

    __slots__ = ("graph", "id", "node")

    def __init__(self, graph: Any, node: Any) -> None:
        if node not in graph:
            raise Error(f"there is no node '{node}' in the graph")
        for slot, value in (("graph", graph), ("id", node), ("node", node)):
            object.__setattr__(self, slot, value)

    # ---- attributes ----

    def attrs(self) -> "dict[str, Any]":
        return self.graph._attributes[self.id]

    def get_attrs(self) -> "dict[str, Any]":
        return self.attrs()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.graph._attributes[self.id][name]
        except KeyError:
            pass
        if self.id not in self.graph._attributes:
            raise AttributeError(f"node '{self.id}' has been removed; its attribute '{name}' was read")
        raise AttributeError(f"node '{self.id}' has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Node.__slots__:
            raise AttributeError(f"'{name}' of a node cannot be changed")
        self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        attributes = self.graph._attributes[self.id]
        # Shapes are arrays so that extension files can calculate with them.
        if name == "shape" and isinstance(value, (list, tuple)):
            value = shape_of(value)
        attributes[name] = value

    def __getitem__(self, name: str) -> Any:
        return self.graph._attributes[self.id][name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._set(name, value)

    def __delitem__(self, name: str) -> None:
        del self.graph._attributes[self.id][name]

    def __contains__(self, name: str) -> bool:
        return self.has(name)

    def has(self, name: str) -> bool:
        return name in self.graph._attributes[self.id]

    def has_valid(self, name: str) -> bool:
        value = self.graph._attributes[self.id].get(name)
        return value is not None and value is not np.nan

    def has_and_set(self, name: str) -> bool:
        if not self.has_valid(name):
            return False
        value = self[name]
        return bool(value) if not isinstance(value, np.ndarray) else bool(value.all())

    def soft_get(self, name: str, default: Any = "<UNKNOWN>") -> Any:
        return self[name] if self.has_valid(name) else default

    def get_opset(self) -> str:
        return self.soft_get("version", "extension")

    def update_node(self) -> None:
        """Makes the ports that the attributes ask for."""
        self.graph.add_node(self.id, **{k: v for k, v in self.attrs().items()
                                        if k in ("in_ports_count", "out_ports_count")})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.graph is other.graph and self.id == other.id

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((id(self.graph), self.id))

    def __repr__(self) -> str:
        return f"Node({self.id!r}, op={self.graph._attributes.get(self.id, {}).get('op')!r})"

    # ---- ports ----

    def _ports(self, kind: str) -> "dict[int, dict[str, Any]]":
        return self.graph._attributes[self.id][f"_{kind}_ports"]

    def add_input_port(self, idx: int, skip_if_exist: bool = False, **kwargs: Any) -> None:
        self._add_port("in", idx, skip_if_exist, kwargs)

    def add_output_port(self, idx: int, skip_if_exist: bool = False, **kwargs: Any) -> None:
        self._add_port("out", idx, skip_if_exist, kwargs)

    def _add_port(self, kind: str, idx: int, skip: bool, given: "dict[str, Any]") -> None:
        if given.pop("control_flow", False):
            return
        ports = self._ports(kind)
        if idx in ports and not skip:
            raise Error(f"node '{self.soft_get('name', self.id)}' has {kind} port {idx} already")
        ports.setdefault(int(idx), {}).update(given)

    def add_sequence_of_ports(self, type: str, rng: Any) -> None:
        for idx in rng:
            self._add_port(type, idx, True, {})

    def delete_input_port(self, idx: int, skip_if_absent: bool = False) -> None:
        self._delete_port("in", idx, skip_if_absent)

    def delete_input_ports(self, idx_set: Any, skip_if_absent: bool = False) -> None:
        for idx in idx_set:
            self.delete_input_port(idx, skip_if_absent)

    def delete_output_port(self, idx: int, skip_if_absent: bool = False) -> None:
        self._delete_port("out", idx, skip_if_absent)

    def _delete_port(self, kind: str, idx: int, skip: bool) -> None:
        ports = self._ports(kind)
        if idx not in ports:
            if skip:
                return
            raise Error(f"node '{self.soft_get('name', self.id)}' has no {kind} port {idx}")
        Port(self, idx, kind).disconnect()
        del ports[idx]

    def in_port(self, idx: "int | None" = None, control_flow: bool = False) -> Port:
        return self._port("in", idx)

    def out_port(self, idx: "int | None" = None, control_flow: bool = False) -> Port:
        return self._port("out", idx)

    def _port(self, kind: str, idx: "int | None") -> Port:
        ports = self._ports(kind)
        if idx is None:
            if len(ports) != 1:
                raise Error(f"node '{self.soft_get('name', self.id)}' has {len(ports)} {kind} ports: name one")
            idx = next(iter(ports))
        if idx not in ports:
            raise Error(f"node '{self.soft_get('name', self.id)}' has no {kind} port {idx}; it has {sorted(ports)}")
        return Port(self, int(idx), kind)

    def in_ports(self, control_flow: bool = False) -> "dict[int, Port]":
        return {} if control_flow else {i: Port(self, i, "in") for i in sorted(self._ports("in"))}

    def out_ports(self, control_flow: bool = False) -> "dict[int, Port]":
        return {} if control_flow else {i: Port(self, i, "out") for i in sorted(self._ports("out"))}

    def has_port(self, port_type: str, idx: int, control_flow: bool = False) -> bool:
        return not control_flow and idx in self._ports(port_type)

    def is_in_port_connected(self, idx: int, control_flow: bool = False) -> bool:
        return self.has_port("in", idx, control_flow) and not self.in_port(idx).disconnected()

    def is_out_port_connected(self, idx: int, control_flow: bool = False) -> bool:
        return self.has_port("out", idx, control_flow) and not self.out_port(idx).disconnected()

    # ---- neighbors ----

    def _incoming(self, control_flow: bool = False) -> "list[tuple[Any, dict[str, Any]]]":
        return [(u, d) for u, _, d in self.graph.in_edges(self.id, data=True)
                if control_flow or not d.get("control_flow_edge")]

    def _outgoing(self, control_flow: bool = False) -> "list[tuple[Any, dict[str, Any]]]":
        return [(v, d) for _, v, d in self.graph.out_edges(self.id, data=True)
                if control_flow or not d.get("control_flow_edge")]

    @staticmethod
    def _keyed(edges: "list[tuple[Any, dict[str, Any]]]", key: str) -> "dict[int, tuple[Any, dict[str, Any]]]":
        found = {d.get(key, i): (other, d) for i, (other, d) in enumerate(edges)}
        return {k: found[k] for k in sorted(found)}

    def in_nodes_edges(self, control_flow: bool = False) -> "dict[int, Any]":
        return {k: (Node(self.graph, u), d) for k, (u, d) in self._keyed(self._incoming(control_flow),
                                                                         self._in()).items()}

    def out_nodes_edges(self, control_flow: bool = False) -> "dict[int, Any]":
        return {k: (Node(self.graph, v), d) for k, (v, d) in self._keyed(self._outgoing(control_flow),
                                                                         self._out()).items()}

    def _is_data(self) -> bool:
        return bool(self.attrs().get("kind") == "data")

    def _in(self) -> str:
        return "" if self._is_data() else "in"

    def _out(self) -> str:
        return "" if self._is_data() else "out"

    def _by_port(self, found: "dict[int, Any]") -> Any:
        """An operation has its neighbors by port; a data node has no ports, and lists them."""
        return list(found.values()) if self._is_data() else found

    def in_nodes(self, control_flow: bool = False) -> Any:
        return self._by_port({k: n for k, (n, _) in self.in_nodes_edges(control_flow).items()})

    def out_nodes(self, control_flow: bool = False) -> Any:
        return self._by_port({k: n for k, (n, _) in self.out_nodes_edges(control_flow).items()})

    def in_node(self, key: int = 0, control_flow: bool = False) -> "Node":
        return self._neighbor(self.in_nodes_edges(control_flow), key, "input")

    def out_node(self, key: int = 0, control_flow: bool = False) -> "Node":
        return self._neighbor(self.out_nodes_edges(control_flow), key, "output")

    def _neighbor(self, found: "dict[int, Any]", key: int, kind: str) -> "Node":
        if key not in found:
            raise KeyError(f"node '{self.soft_get('name', self.id)}' has no connected {kind} {key}")
        return found[key][0]

    def in_edges(self, control_flow: bool = False) -> Any:
        return self._by_port({k: d for k, (_, d) in self.in_nodes_edges(control_flow).items()})

    def out_edges(self, control_flow: bool = False) -> Any:
        return self._by_port({k: d for k, (_, d) in self.out_nodes_edges(control_flow).items()})

    def in_edge(self, key: int = 0, control_flow: bool = False) -> "dict[str, Any]":
        return self.in_edges(control_flow)[key]

    def out_edge(self, key: int = 0, control_flow: bool = False) -> "dict[str, Any]":
        return self.out_edges(control_flow)[key]

    @staticmethod
    def _with(edges: "list[tuple[Any, dict[str, Any]]]", attributes: "dict[str, Any] | None") -> "list[Any]":
        return [(n, d) for n, d in edges if not attributes or all(d.get(k) == v for k, v in attributes.items())]

    def get_inputs(self, edge_attr: "dict[str, Any] | None" = None, control_flow: bool = False) -> "list[Any]":
        return self._with(self._incoming(control_flow), edge_attr)

    def get_outputs(self, edge_attr: "dict[str, Any] | None" = None, control_flow: bool = False) -> "list[Any]":
        return self._with(self._outgoing(control_flow), edge_attr)

    def get_sorted_inputs(self, control_flow: bool = False) -> "list[Any]":
        return sorted(self._incoming(control_flow), key=lambda e: e[1].get("in", 0))

    def get_sorted_outputs(self, control_flow: bool = False) -> "list[Any]":
        return sorted(self._outgoing(control_flow), key=lambda e: e[1].get("out", 0))

    def edges(self, attrs: "dict[str, Any] | None" = None) -> "list[Any]":
        both = self.graph.in_edges(self.id, data=True) + self.graph.out_edges(self.id, data=True)
        return [e for e in both if not attrs or all(e[2].get(k) == v for k, v in attrs.items())]

    def edge(self, attrs: "dict[str, Any] | None" = None) -> Any:
        found = self.edges(attrs)
        if len(found) != 1:
            raise Error(f"expected one edge of node '{self.id}' with {attrs}, got {len(found)}")
        return found[0]

    def input_ports_with(self, node: "Node") -> "list[int]":
        return [k for k, (n, _) in self.in_nodes_edges().items() if n == node]

    # ---- edits ----

    def copy_node(self, new_attrs: "dict[str, Any] | None" = None, dst_graph: Any = None) -> "Node":
        graph = dst_graph if dst_graph is not None else self.graph
        attributes = {k: v for k, v in self.attrs().items() if k not in ("_in_ports", "_out_ports", "raw")}
        attributes["_in_ports"], attributes["_out_ports"] = dict(self._ports("in")), dict(self._ports("out"))
        attributes.update(new_attrs or {})
        made = graph.unique_id(attributes.get("name", str(self.id)) + "_")
        graph.add_node(made, **attributes)
        return Node(graph, made)

    def replace_node(self, new_node: "Node", new_node_out_port: "int | None" = None) -> None:
        """Moves all edges to another node and removes this one."""
        for u, _, d in self.graph.in_edges(self.id, data=True):
            self.graph.add_edge(u, new_node.id, **d)
        for _, v, d in self.graph.out_edges(self.id, data=True):
            port = d.get("out") if new_node_out_port is None else new_node_out_port
            self.graph.add_edge(new_node.id, v, **{**d, "out": port})
        self.graph.remove_node(self.id)

    def insert_node_after(self, new_node: "Node", node_out_port: int = 0) -> None:
        """Puts another node between an output and its consumers."""
        for _, v, k, d in self.graph.out_edges(self.id, data=True, keys=True):
            if d.get("out") == node_out_port:
                self.graph.remove_edge(self.id, v, k)
                self.graph.add_edge(new_node.id, v, **{**d, "out": 0})
        self.graph.create_edge(self, new_node, node_out_port, 0, {})

    def insert_op_on_input_port(self, in_port_idx: int, new_op_class: Any, new_op_attrs: "dict[str, Any]",
                                value: Any = None) -> "Node":
        """Puts an operation, with a constant as its second input if one is given, in front of an input."""
        from .builtin import Const

        made = new_op_class(self.graph, new_op_attrs).create_node()
        if value is not None:
            constant = Const(self.graph, {"name": made.soft_get("name") + "/value", "value": value}).create_node()
            made.add_input_port(1, skip_if_exist=True)
            constant.out_port(0).connect(made.in_port(1))
        made.add_input_port(0, skip_if_exist=True)
        made.add_output_port(0, skip_if_exist=True)
        self.in_port(in_port_idx).get_connection().insert_node(made)
        return made


def shape_of(dims: Any) -> np.ndarray:
    from .shapes import shape_array

    return shape_array(list(dims))
