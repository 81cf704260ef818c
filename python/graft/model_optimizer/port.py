"""Ports of nodes and the connections between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import Error

__all__ = ["Port", "Connection"]


class _Data:
    """``port.data``: shape, value and other attributes of the tensor at a port."""

    __slots__ = ("_port",)

    def __init__(self, port: "Port") -> None:
        self._port = port

    def get_shape(self) -> Any:
        return self.get_attr("shape")

    def get_value(self) -> Any:
        return self.get_attr("value")

    def get_attr(self, item: str) -> Any:
        holder = self._port._holder()
        return None if holder is None else holder.get(item)

    def set_shape(self, shape: Any) -> None:
        from .shapes import shape_array

        self._port._holder_for_write()["shape"] = None if shape is None else shape_array(shape)

    def set_value(self, value: Any) -> None:
        holder = self._port._holder_for_write()
        if value is None:
            holder["value"] = None
            return
        value = value if isinstance(value, np.ndarray) else np.array(value)
        holder["value"] = value
        holder["shape"] = np.array(value.shape, dtype=np.int64)

    def set_attr(self, item: str, value: Any) -> None:
        self._port._holder_for_write()[item] = value

    def has_valid(self, item: str) -> bool:
        return self.get_attr(item) is not None


class Port:
    """Input or output `idx` of a node. ``type`` is "in" or "out"."""

    __slots__ = ("node", "idx", "type", "control_flow")

    def __init__(self, node: Any, idx: int, type: str, **kwargs: Any) -> None:
        self.node, self.idx, self.type, self.control_flow = node, idx, type, False

    @property
    def data(self) -> _Data:
        return _Data(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Port) and (self.node, self.idx, self.type) == (other.node, other.idx, other.type)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.node, self.idx, self.type))

    def __repr__(self) -> str:
        return f"{self.type} port {self.idx} of '{self.node.id}'"

    # ---- edges ----

    def _edges(self) -> "list[tuple[Any, Any, int, dict[str, Any]]]":
        graph = self.node.graph
        if self.type == "in":
            found = graph.in_edges(self.node.id, data=True, keys=True)
        else:
            found = graph.out_edges(self.node.id, data=True, keys=True)
        return [e for e in found if e[3].get(self.type, 0) == self.idx and not e[3].get("control_flow_edge")]

    def _data_node(self) -> Any:
        """The id of the data node at this port, or None."""
        end = 0 if self.type == "in" else 1
        return next((e[end] for e in self._edges()
                     if self.node.graph._attributes[e[end]].get("kind") == "data"), None)

    def _holder(self) -> "dict[str, Any] | None":
        graph = self.node.graph
        data = self._data_node()
        if data is not None:
            return graph._attributes[data]
        if self.type == "out":
            return self.node.attrs()
        edges = self._edges()
        return graph._attributes[edges[0][0]] if edges else None

    def _holder_for_write(self) -> "dict[str, Any]":
        graph = self.node.graph
        if self.type == "out" and graph.stage != "front" and self._data_node() is None:
            self._make_data()
        holder = self._holder()
        if holder is None:
            raise Error(f"nothing is connected to {self!r}")
        return holder

    def _make_data(self) -> Any:
        graph = self.node.graph
        made = graph.unique_id(f"{self.node.id}_{self.idx}_data")
        graph.add_node(made, kind="data", name=made, value=None, shape=None, data_type=None, infer=None)
        graph.add_edge(self.node.id, made, out=self.idx)
        return made

    def disconnected(self) -> bool:
        if self.type == "in":
            return not self._edges()
        return not self.get_destinations()

    def get_source(self) -> "Port | None":
        if self.type != "in":
            raise Error(f"{self!r} is an output; only inputs have a source")
        graph = self.node.graph
        for source, _, _, edge in self._edges():
            if graph._attributes[source].get("kind") != "data":
                return Port(_node(graph, source), edge.get("out", 0), "out")
            for producer, _, above in graph.in_edges(source, data=True):
                return Port(_node(graph, producer), above.get("out", 0), "out")
        return None

    def get_destinations(self) -> "list[Port]":
        if self.type != "out":
            raise Error(f"{self!r} is an input; only outputs have destinations")
        graph = self.node.graph
        found = []
        for _, target, _, edge in self._edges():
            if graph._attributes[target].get("kind") != "data":
                found.append(Port(_node(graph, target), edge.get("in", 0), "in"))
                continue
            found += [Port(_node(graph, v), d.get("in", 0), "in") for _, v, d in graph.out_edges(target, data=True)]
        return found

    def get_destination(self) -> "Port | None":
        found = self.get_destinations()
        if len(found) > 1:
            raise Error(f"{self!r} has {len(found)} consumers: use get_destinations()")
        return found[0] if found else None

    def disconnect(self) -> None:
        graph = self.node.graph
        data = self._data_node() if self.type == "out" else None
        if data is not None:
            graph.remove_edges_from(graph.out_edges(data, keys=True))
        else:
            graph.remove_edges_from([e[:3] for e in self._edges()])

    def connect(self, port: "Port") -> None:
        if self.type == port.type:
            raise Error(f"cannot connect {self!r} to {port!r}: expected an output and an input")
        source, target = (self, port) if self.type == "out" else (port, self)
        target.disconnect()
        source._add_consumer(target, {})

    def _add_consumer(self, target: "Port", edge: "dict[str, Any]") -> None:
        graph = self.node.graph
        self.node.add_output_port(self.idx, skip_if_exist=True)
        attributes = {"in_attrs": ["in", "permutation"], "out_attrs": ["out", "permutation"], "data_attrs": [], **edge}
        if graph.stage == "front":
            graph.add_edge(self.node.id, target.node.id, **{**attributes, "out": self.idx, "in": target.idx})
            return
        data = self._data_node()
        graph.add_edge(self._make_data() if data is None else data, target.node.id, **{"in": target.idx})

    def get_connection(self) -> "Connection":
        if self.type == "in":
            return Connection(self.node.graph, self.get_source(), [self])
        return Connection(self.node.graph, self, self.get_destinations())

    # ---- the rest of the interface ----

    def get_in_edge_attrs(self, data: bool = False) -> Any:
        edges = self._edges()
        return edges[0][3] if edges else {}

    def get_tensor_names(self, port_renumber: bool = False) -> "list[str]":
        names = self.node.attrs().get("tensor_names") or {}
        return list(names.get(self.idx, []))

    def get_tensor_debug_info(self, port_renumber: bool = False) -> "list[Any]":
        return [(name, name) for name in self.get_tensor_names()]

    def get_data_type(self) -> Any:
        if self.type == "in":
            source = self.get_source()
            return None if source is None else source.get_data_type()
        stored = self.node._ports("out").get(self.idx, {}).get("data_type")
        if stored is not None:
            return stored
        value = self.data.get_value()
        if value is not None:
            return np.asarray(value).dtype.type
        return self.node.soft_get("data_type", None)

    def is_data_type_defined(self) -> bool:
        return self.get_data_type() is not None

    def set_data_type(self, data_type: Any, override: bool = False) -> None:
        self.node._ports("out").setdefault(self.idx, {})["data_type"] = data_type


def _node(graph: Any, identity: Any) -> Any:
    from .node import Node

    return Node(graph, identity)


class Connection:
    """One output and some or all of its consumers."""

    def __init__(self, graph: Any, source: "Port | None", destinations: "list[Port]",
                 control_flow: bool = False) -> None:
        self.graph, self.source, self.destinations = graph, source, destinations

    @property
    def data(self) -> _Data:
        port = self.source if self.source is not None else self.destinations[0]
        return _Data(port)

    def get_source(self) -> "Port | None":
        return self.source

    def get_destinations(self) -> "list[Port]":
        return self.destinations

    def get_destination(self) -> "Port | None":
        if len(self.destinations) > 1:
            raise Error(f"the connection has {len(self.destinations)} destinations: use get_destinations()")
        return self.destinations[0] if self.destinations else None

    def set_source(self, port: Port, attributes_save_mode: Any = None) -> None:
        """Lets the consumers of this connection read from another output."""
        if port.type == "in":
            found = port.get_source()
            if found is None:
                raise Error(f"nothing is connected to {port!r}")
            port = found
        for target in list(self.destinations):
            target.disconnect()
            port._add_consumer(target, {})
        self.source = port

    def set_destination(self, port: Port, attributes_save_mode: Any = None) -> None:
        """Makes an input the only consumer of this connection."""
        if port.type != "in":
            raise Error(f"expected an input port, got {port!r}")
        for target in list(self.destinations):
            target.disconnect()
        port.disconnect()
        if self.source is not None:
            self.source._add_consumer(port, {})
        self.destinations = [port]

    def add_destination(self, port: Port) -> None:
        if self.source is None:
            raise Error("a connection without a source cannot get another destination")
        port.disconnect()
        self.source._add_consumer(port, {})
        self.destinations.append(port)

    def remove(self) -> None:
        for target in list(self.destinations):
            target.disconnect()
        self.source, self.destinations = None, []

    def insert_node(self, new_node: Any, attributes_save_mode: Any = None) -> None:
        """Puts a node with one free input and one output between source and destinations."""
        ports = [p for p in new_node.in_ports().values() if p.disconnected()]
        if not ports:
            raise Error(f"node '{new_node.id}' has no free input port to insert it")
        source = self.source
        self.set_source(new_node.out_port(0))
        if source is not None:
            source.connect(ports[0])
