"""The graph that extension files edit: a directed multigraph of nodes and edges with attributes.

Two forms share one class. In the front phase edges lead from operation to operation and have ``out`` and ``in``, the
ports. Where shapes are inferred, a node of ``kind`` "data" lies between two operations and has ``shape`` and ``value``.
"""

from __future__ import annotations

import collections
from typing import Any, Iterable, Iterator

import numpy as np

from .errors import Error

__all__ = ["Graph", "dict_includes", "dict_includes_compare_attrs", "merge_edge_props", "rename_node", "rename_nodes",
           "add_opoutput", "get_edge_attribute_between_nodes", "set_edge_attribute_between_nodes",
           "dict_to_ordered_dict"]


class _NodeView:
    """``graph.nodes[id]``, ``graph.nodes(data=True)`` and iteration over ids."""

    def __init__(self, attributes: "dict[Any, dict[str, Any]]") -> None:
        self._attributes = attributes

    def __call__(self, data: Any = False) -> "list[Any]":
        if data is True:
            return list(self._attributes.items())
        if data:
            return [(n, a.get(data)) for n, a in self._attributes.items()]
        return list(self._attributes)

    def __getitem__(self, node: Any) -> "dict[str, Any]":
        return self._attributes[node]

    def __iter__(self) -> "Iterator[Any]":
        return iter(list(self._attributes))

    def __len__(self) -> int:
        return len(self._attributes)

    def __contains__(self, node: Any) -> bool:
        return node in self._attributes

    def items(self) -> Any:
        return self._attributes.items()

    def data(self, data: Any = True) -> "list[Any]":
        return self(data=data)


class Graph:
    def __init__(self, data: Any = None, **attributes: Any) -> None:
        self.graph: "dict[str, Any]" = dict(attributes)
        self.stage: "str | None" = None
        self.strict_mode = True
        self.node_count = 0
        self._attributes: "dict[Any, dict[str, Any]]" = {}
        self._next: "dict[Any, dict[Any, dict[int, dict[str, Any]]]]" = {}
        self._previous: "dict[Any, dict[Any, dict[int, dict[str, Any]]]]" = {}
        self._ids: "dict[str, int]" = collections.defaultdict(int)
        for key in ("inputs_order", "outputs_order"):
            self.graph.setdefault(key, [])
        if isinstance(data, Graph):
            self.graph.update(data.graph)
            self.add_nodes_from(data.nodes(data=True))
            self.add_edges_from([(u, v, dict(d)) for u, v, d in data.edges(data=True)])

    # ---- nodes ----

    @property
    def nodes(self) -> _NodeView:
        return _NodeView(self._attributes)

    @property
    def node(self) -> _NodeView:
        return _NodeView(self._attributes)

    def add_node(self, node_for_adding: Any, **attributes: Any) -> None:
        known = self._attributes.setdefault(node_for_adding, {"_in_ports": {}, "_out_ports": {}})
        self._next.setdefault(node_for_adding, {})
        self._previous.setdefault(node_for_adding, {})
        attributes = dict(attributes)
        for kind in ("in", "out"):
            ports = attributes.pop(f"_{kind}_ports", None)
            if ports is not None:
                known[f"_{kind}_ports"] = dict(ports) if isinstance(ports, dict) else {i: {} for i in ports}
            count = attributes.get(f"{kind}_ports_count")
            for index in range(int(count)) if isinstance(count, (int, np.integer)) else ():
                known[f"_{kind}_ports"].setdefault(index, {})
        known.update(attributes)

    def add_nodes_from(self, nodes: "Iterable[Any]", **attributes: Any) -> None:
        for item in nodes:
            if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], dict):
                self.add_node(item[0], **{**attributes, **item[1]})
            else:
                self.add_node(item, **attributes)

    def remove_node(self, node: Any) -> None:
        if node not in self._attributes:
            raise Error(f"node '{node}' is not in the graph")
        for other in list(self._next[node]):
            self._previous[other].pop(node, None)
        for other in list(self._previous[node]):
            self._next[other].pop(node, None)
        del self._next[node], self._previous[node], self._attributes[node]

    def remove_nodes_from(self, nodes: "Iterable[Any]") -> None:
        for node in list(nodes):
            if node in self._attributes:
                self.remove_node(node)

    def has_node(self, node: Any) -> bool:
        return node in self._attributes

    def __contains__(self, node: Any) -> bool:
        return node in self._attributes

    def __iter__(self) -> "Iterator[Any]":
        return iter(list(self._attributes))

    def __len__(self) -> int:
        return len(self._attributes)

    def number_of_nodes(self) -> int:
        return len(self._attributes)

    # ---- edges ----

    def add_edge(self, u_for_edge: Any, v_for_edge: Any, key: "int | None" = None, **attributes: Any) -> int:
        for end in (u_for_edge, v_for_edge):
            if end not in self._attributes:
                raise Error(f"an edge needs two nodes of the graph; there is no node '{end}'")
        from .node import Node

        source, target = Node(self, u_for_edge), Node(self, v_for_edge)
        if self.stage == "front" and not attributes.get("control_flow_edge"):
            attributes.setdefault("in", self._free_input(v_for_edge))
            attributes.setdefault("out", 0)
        if "in" in attributes and target.soft_get("kind", "op") == "op":
            target.add_input_port(attributes["in"], skip_if_exist=True)
        if "out" in attributes and source.soft_get("kind", "op") == "op":
            source.add_output_port(attributes["out"], skip_if_exist=True)
        between = self._next[u_for_edge].setdefault(v_for_edge, {})
        self._previous[v_for_edge][u_for_edge] = between
        if key is None:
            key = max(between, default=-1) + 1
        between.setdefault(key, {}).update(attributes)
        return key

    def _free_input(self, node: Any) -> int:
        return max((d["in"] for _, _, d in self.in_edges(node, data=True) if "in" in d), default=-1) + 1

    def add_edges_from(self, edges: "Iterable[Any]", **attributes: Any) -> None:
        for edge in edges:
            u, v, *rest = edge
            given = next((r for r in rest if isinstance(r, dict)), {})
            self.add_edge(u, v, **{**attributes, **given})

    def remove_edge(self, u: Any, v: Any, key: "int | None" = None) -> None:
        between = self._next.get(u, {}).get(v)
        if not between or (key is not None and key not in between):
            raise Error(f"there is no edge from '{u}' to '{v}'")
        del between[max(between) if key is None else key]
        if not between:
            del self._next[u][v], self._previous[v][u]

    def remove_edges_from(self, edges: "Iterable[Any]") -> None:
        for u, v, *rest in list(edges):
            key = next((r for r in rest if isinstance(r, int)), None)
            if v in self._next.get(u, {}) and (key is None or key in self._next[u][v]):
                self.remove_edge(u, v, key)

    def has_edge(self, u: Any, v: Any, key: "int | None" = None) -> bool:
        between = self._next.get(u, {}).get(v, {})
        return bool(between) if key is None else key in between

    def get_edge_data(self, u: Any, v: Any, key: "int | None" = None, default: Any = None) -> Any:
        between = self._next.get(u, {}).get(v)
        if between is None:
            return default
        return between if key is None else between.get(key, default)

    def __getitem__(self, node: Any) -> "dict[Any, dict[int, dict[str, Any]]]":
        return self._next[node]

    @staticmethod
    def _edges(pairs: "Iterable[tuple[Any, Any, dict[int, dict[str, Any]]]]", data: Any, keys: bool) -> "list[Any]":
        out: "list[Any]" = []
        for u, v, between in pairs:
            for key, attributes in between.items():
                tail = (attributes,) if data is True else (attributes.get(data),) if data else ()
                out.append((u, v) + ((key,) if keys else ()) + tail)
        return out

    def out_edges(self, nodes: Any = None, data: Any = False, keys: bool = False) -> "list[Any]":
        return self._edges(((u, v, b) for u in self._bunch(nodes) for v, b in self._next[u].items()), data, keys)

    def in_edges(self, nodes: Any = None, data: Any = False, keys: bool = False) -> "list[Any]":
        return self._edges(((u, v, b) for v in self._bunch(nodes) for u, b in self._previous[v].items()), data, keys)

    def edges(self, nodes: Any = None, data: Any = False, keys: bool = False) -> "list[Any]":
        return self.out_edges(nodes, data, keys)

    def _bunch(self, nodes: Any) -> "list[Any]":
        if nodes is None:
            return list(self._attributes)
        if isinstance(nodes, (list, tuple, set)):
            return [n for n in nodes if n in self._attributes]
        return [nodes]

    def successors(self, node: Any) -> "Iterator[Any]":
        return iter(list(self._next[node]))

    def predecessors(self, node: Any) -> "Iterator[Any]":
        return iter(list(self._previous[node]))

    def in_degree(self, node: Any) -> int:
        return len(self.in_edges(node))

    def out_degree(self, node: Any) -> int:
        return len(self.out_edges(node))

    def number_of_edges(self) -> int:
        return len(self.edges())

    # ---- what the Model Optimizer adds ----

    def unique_id(self, prefix: str = "") -> str:
        """An id that no node has, beginning with the prefix."""
        if prefix and not prefix.endswith("_") and prefix not in self._attributes:
            return prefix
        stem = prefix or "node_"
        while True:
            number = self._ids[stem]
            self._ids[stem] += 1
            found = f"{stem}{number}" if stem.endswith("_") else f"{stem}_{number}"
            if found not in self._attributes:
                return found

    def get_nodes_with_attributes(self, **attributes: Any) -> "list[Any]":
        return [n for n, a in self._attributes.items()
                if all(k in a and dict_includes_compare_attrs(a[k], v) for k, v in attributes.items())]

    def get_op_nodes(self, **attributes: Any) -> "list[Any]":
        from .node import Node

        return [Node(self, n) for n in self.get_nodes_with_attributes(**attributes)
                if self._attributes[n].get("kind", "op") == "op"]

    def get_data_nodes(self, has_value: "bool | None" = None) -> "list[Any]":
        from .node import Node

        found = [Node(self, n) for n in self.get_nodes_with_attributes(kind="data")]
        return found if has_value is None else [n for n in found if n.has_valid("value") == has_value]

    def get_node_id_by_name(self, name: str) -> Any:
        found = self.get_nodes_with_attributes(name=name)
        if not found:
            raise Error(f"there is no node named '{name}'")
        if len(found) > 1:
            raise Error(f"{len(found)} nodes are named '{name}'")
        return found[0]

    def create_edge(self, src_node: Any, dst_node: Any, out_port: int = 0, in_port: int = 0,
                    edge_attrs: "dict[str, Any] | None" = None) -> None:
        attributes: "dict[str, Any]" = {"in": in_port, "out": out_port, "in_attrs": ["in", "permutation"],
                                        "out_attrs": ["out", "permutation"], "data_attrs": ["fw_tensor_debug_info"]}
        attributes.update(edge_attrs or {})
        self.add_edge(src_node.id, dst_node.id, **attributes)

    def erase_node(self, node: Any) -> None:
        """Removes a node and connects its only input to all its consumers."""
        inputs = self.in_edges(node.id, data=True)
        outputs = self.out_edges(node.id, data=True)
        flows = [e for e in inputs if not e[2].get("control_flow_edge")]
        if len(flows) != 1:
            raise Error(f"cannot erase node '{node.id}': expected one input, got {len(flows)}")
        source, _, before = flows[0]
        for _, consumer, after in outputs:
            if self._attributes[consumer].get("op") == "Result" and self._attributes[source].get("kind") == "data":
                continue
            self.add_edge(source, consumer, **{**before, **{k: v for k, v in after.items() if k != "out"},
                                               "out": before.get("out", 0)})
        self.remove_node(node.id)

    def get_inputs_with_ports(self, match: "dict[str, Any]", pattern_edges: Any,
                              input_names_in_pattern: Any) -> "list[Any]":
        """(input node, out port) for names of a pattern, in the order of the names."""
        found = []
        for name in input_names_in_pattern:
            if name not in match:
                raise Error(f"'{name}' is not a node of the pattern")
            port = 0
            for edge in pattern_edges:
                if edge[0] == name and edge[1] in match:
                    data = self.get_edge_data(match[name].id, match[edge[1]].id) or {}
                    port = next((d["out"] for d in data.values() if "out" in d), 0)
                    break
            found.append((match[name], port))
        return found

    def dfs(self, node_name: Any, visited: "set[Any]") -> "list[Any]":
        """Post-order of what is reachable from a node."""
        order: "list[Any]" = []
        stack = [(node_name, iter(self._next[node_name]))]
        visited.add(node_name)
        while stack:
            node, following = stack[-1]
            child = next((c for c in following if c not in visited), None)
            if child is None:
                order.append(node)
                stack.pop()
            else:
                visited.add(child)
                stack.append((child, iter(self._next[child])))
        return order

    def pseudo_topological_sort(self, reverse: bool = False) -> "list[Any]":
        from .node import Node

        visited: "set[Any]" = set()
        order: "list[Any]" = []
        for node in list(self._attributes):
            if node not in visited:
                order.extend(self.dfs(node, visited))
        return [Node(self, n) for n in (order if reverse else reversed(order))]

    def pseudo_topological_sort_with_start_node(self, start_node: Any, reverse: bool = False) -> "list[Any]":
        from .node import Node

        order = self.dfs(start_node.soft_get("id", start_node.id), set())
        return [Node(self, n) for n in (order if reverse else reversed(order))]

    def topological_sort(self, reverse: bool = False) -> "list[Any]":
        return self.pseudo_topological_sort(reverse)

    def clean_up(self, undead_node_types: "list[str] | None" = None) -> None:
        """Removes nodes that no result depends on."""
        alive = self.alive(undead_node_types or [])
        self.remove_nodes_from([n for n in self._attributes if n not in alive])

    def alive(self, undead_node_types: "Iterable[str]" = ()) -> "set[Any]":
        """Nodes that a result depends on, and inputs; all nodes of a graph without results."""
        keep = {"Result", "Parameter", *undead_node_types}
        pending = [n for n, a in self._attributes.items() if a.get("op") in keep]
        if not any(self._attributes[n].get("op") == "Result" for n in pending):
            return set(self._attributes)
        alive = set(pending)
        while pending:
            for before in self._previous[pending.pop()]:
                if before not in alive:
                    alive.add(before)
                    pending.append(before)
        return alive

    def check_empty_graph(self, description: str) -> None:
        if len(self) <= 1:
            raise Error(f"the graph is empty after {description}")

    def subgraph(self, nodes: "Iterable[Any]") -> "Graph":
        chosen = [n for n in nodes if n in self._attributes]
        made = Graph(**self.graph)
        made.stage = None
        made.add_nodes_from((n, dict(self._attributes[n])) for n in chosen)
        inside = set(chosen)
        made.add_edges_from((u, v, dict(d)) for u, v, d in self.out_edges(chosen, data=True) if v in inside)
        made.stage = self.stage
        return made

    def create_sub_graph_copy(self, nodes_to_extract: "list[Any]") -> "Graph":
        return self.subgraph(nodes_to_extract)

    def copy(self) -> "Graph":
        return self.subgraph(list(self._attributes))

    def print_graph_stat(self) -> None:
        """Statistics are part of `graft explain`; files call this for their log only."""

    def dump_graph_for_graphviz(self, *args: Any, **kwargs: Any) -> str:
        """Dot text of nodes and edges, for debugging an extension."""
        lines = [f'  "{n}" [label="{n}\\n{a.get("op", a.get("kind", ""))}"];' for n, a in self._attributes.items()]
        lines += [f'  "{u}" -> "{v}" [label="{d.get("out", "")}:{d.get("in", "")}"];' for u, v,
                  d in self.edges(data=True)]
        return "\n".join(["digraph {"] + lines + ["}"])


def dict_to_ordered_dict(d: "dict[Any, Any]", func: Any = lambda t: t) -> "dict[Any, Any]":
    return {k: d[k] for k in sorted(d, key=func)}


def dict_includes_compare_attrs(attr: Any, attr_probe: Any) -> bool:
    """Whether a value fits: the probe may be a predicate, None (absent or None) or a value."""
    if callable(attr_probe) and not isinstance(attr_probe, type):
        return bool(attr_probe(attr))
    if isinstance(attr, np.ndarray) or isinstance(attr_probe, np.ndarray):
        return bool(np.array_equal(attr, attr_probe))
    result = attr == attr_probe
    return bool(np.all(result)) if isinstance(result, np.ndarray) else bool(result)


def dict_includes(big: "dict[str, Any]", sub_dict: "dict[str, Any]", skip_attr_names: Any = ()) -> bool:
    return all(k in skip_attr_names or (k in big and dict_includes_compare_attrs(big[k],
                                                                                 v)) or (k not in big and v is None)
               for k, v in sub_dict.items())


def merge_edge_props(attrs: "dict[str, Any]", additional_attrs: "dict[str, Any]") -> "dict[str, Any]":
    """Attributes of an edge with others on top; lists are joined."""
    merged = dict(attrs)
    for key, value in additional_attrs.items():
        if isinstance(value, list) and isinstance(merged.get(key), list):
            merged[key] = list(dict.fromkeys(merged[key] + value))
        else:
            merged[key] = value
    return merged


def rename_node(node: Any, name: str) -> None:
    if not node.graph.get_nodes_with_attributes(name=name):
        node["name"] = name
        return
    raise Error(f"cannot rename node '{node.soft_get('name')}' to '{name}': another node has this name")


def rename_nodes(nodes: "Iterable[tuple[Any, str]]") -> None:
    """Gives all names at once, so that two nodes can exchange theirs."""
    pairs = list(nodes)
    for node, name in pairs:
        node["name"] = node.graph.unique_id(f"{name}/tmp_")
    for node, name in pairs:
        rename_node(node, name)


def add_opoutput(graph: Graph, node_name: Any, port: int, cut: bool = True, **ignored: Any) -> Any:
    """Makes a port an output of the model."""
    from .op import Op

    node = graph.get_op_nodes(name=node_name) if node_name not in graph else []
    identity = node[0].id if node else node_name
    if cut:
        graph.remove_edges_from([(u, v, k) for u, v, k, d in graph.out_edges(identity, data=True, keys=True)
                                 if d.get("out") == port])
    result = Op(graph, {"op": "Result", "type": "Result", "name": f"{identity}/sink_port_{port}"}).create_node()
    ends: "dict[str, Any]" = {"out": port, "in": 0, "in_attrs": ["in"], "out_attrs": ["out"], "data_attrs": []}
    graph.add_edge(identity, result.id, **ends)
    return result.id


def _edges_between(node1: Any, node2: Any) -> "list[dict[str, Any]]":
    return list((node1.graph.get_edge_data(node1.id, node2.id) or {}).values())


def get_edge_attribute_between_nodes(node1: Any, node2: Any, attr_name: str) -> Any:
    return next((d[attr_name] for d in _edges_between(node1, node2) if attr_name in d), None)


def set_edge_attribute_between_nodes(node1: Any, node2: Any, attr_name: str, new_value: Any) -> None:
    for edge in _edges_between(node1, node2):
        if attr_name in edge:
            edge[attr_name] = new_value
