"""Sub-graph patterns: find all places where nodes and edges with given attributes occur."""

from __future__ import annotations

from typing import Any, Iterator

from .graph import dict_includes_compare_attrs
from .node import Node

__all__ = ["find_pattern_matches", "apply_pattern", "find_isomorphisms", "check_value",
           "check_node_usages_out_of_match",
           "inverse_dict", "for_each_sub_graph", "for_each_sub_graph_recursively",
           "for_graph_and_each_sub_graph_recursively",
           "all_edges_in_nodes", "node_match", "build_matcher"]


def inverse_dict(d: "dict[Any, Any]") -> "dict[Any, Any]":
    return {v: k for k, v in d.items()}


def node_match(data1: "dict[str, Any]", data2: "dict[str, Any]") -> bool:
    """Whether attributes of a node (first) fit those of the pattern (second)."""
    return all(k in data1 and dict_includes_compare_attrs(data1[k], v) for k, v in data2.items())


def all_edges_in_nodes(nodes: Any, edges: Any) -> bool:
    return all(e[0] in nodes and e[1] in nodes for e in edges)


def check_value(v: Any, check: Any) -> bool:
    return v is not None and bool(check(v))


def _edge_fits(between: "dict[int, dict[str, Any]] | None", probe: "dict[str, Any]") -> bool:
    return any(all(k in d and dict_includes_compare_attrs(d[k], v) for k, v in probe.items())
               for d in (between or {}).values())


class _Matcher:
    """Backtracking over the nodes of the pattern, each next to those that are placed where possible."""

    def __init__(self, graph: Any, nodes: Any, edges: Any, extra_edges_between: bool) -> None:
        self.graph, self.extra = graph, extra_edges_between
        self.nodes = [(n[0], n[1] if len(n) > 1 else {}) for n in nodes]
        self.edges = [(e[0], e[1], dict(e[2]) if len(e) > 2 else {}) for e in edges]
        unknown = next((e for e in self.edges for end in e[:2] if end not in dict(self.nodes)), None)
        if unknown is not None:
            raise ValueError(f"edge {unknown[:2]} of the pattern names a node that the pattern does not have")
        self.order = self._order()

    def _order(self) -> "list[tuple[str, dict[str, Any]]]":
        left, order, placed = list(self.nodes), [], set()
        while left:
            chosen = next((n for n in left if any((a == n[0] and b in placed) or (b == n[0] and a in placed)
                                                  for a, b, _ in self.edges)), left[0])
            left.remove(chosen)
            placed.add(chosen[0])
            order.append(chosen)
        return order

    def _candidates(self, name: str, match: "dict[str, Any]") -> "list[Any]":
        for a, b, _ in self.edges:
            if a == name and b in match:
                return list(dict.fromkeys(self.graph.predecessors(match[b])))
            if b == name and a in match:
                return list(dict.fromkeys(self.graph.successors(match[a])))
        return list(self.graph.nodes())

    def _fits(self, name: str, node: Any, match: "dict[str, Any]") -> bool:
        trial = {**match, name: node}
        for a, b, probe in self.edges:
            if name in (a, b) and a in trial and b in trial:
                if not _edge_fits(self.graph.get_edge_data(trial[a], trial[b]), probe):
                    return False
        if self.extra:
            return True
        edges = {(a, b) for a, b, _ in self.edges}
        for other, placed in match.items():  # induced: no other edges between matched nodes
            for pair in ((name, other), (other, name)):
                if pair not in edges and self.graph.has_edge(trial[pair[0]], trial[pair[1]]):
                    return False
        return True

    def matches(self, match: "dict[str, Any]", depth: int = 0) -> "Iterator[dict[str, Any]]":
        if depth == len(self.order):
            yield dict(match)
            return
        name, attributes = self.order[depth]
        used = set(match.values())
        for node in self._candidates(name, match):
            if node in used or not node_match(self.graph.nodes[node], attributes):
                continue
            if self._fits(name, node, match):
                match[name] = node
                yield from self.matches(match, depth + 1)
                del match[name]


def build_matcher(graph: Any, nodes: Any, edges: Any, node_attrs: Any = None, edge_attrs: Any = None) -> _Matcher:
    return _Matcher(graph, nodes, edges, False)


def find_pattern_matches(graph: Any, nodes: Any, edges: Any, node_attrs: Any = None, edge_attrs: Any = None) -> Any:
    """For each place where the pattern occurs a dictionary of node id -> name in the pattern."""
    return [inverse_dict(m) for m in build_matcher(graph, nodes, edges).matches({})]


def find_isomorphisms(graph: Any, nodes: Any, edges: Any) -> "list[dict[str, Any]]":
    return [{k: Node(graph, v) for k, v in m.items()} for m in build_matcher(graph, nodes, edges).matches({})]


def apply_pattern(graph: Any, nodes: Any, edges: Any, action: Any, node_attrs: Any = None,
                  edge_attrs: Any = None) -> None:
    """Finds all matches first, then calls the action for each whose nodes are still there."""
    for match in list(build_matcher(graph, nodes, edges).matches({})):
        if all(n in graph for n in match.values()):
            action(graph, {name: Node(graph, n) for name, n in match.items()})


def check_node_usages_out_of_match(match: "dict[str, Any]", node_name_in_match_group: str) -> bool:
    """Whether all consumers of a node belong to the match."""
    inside = {n.id for n in match.values()}
    node = match[node_name_in_match_group]
    return all(consumer in inside for consumer in node.graph.successors(node.id))


def for_each_sub_graph(graph: Any, func: Any) -> None:
    for node in graph.nodes():
        for name in graph.nodes[node].get("sub_graphs") or []:
            if graph.nodes[node].get(name) is not None:
                func(graph.nodes[node][name])


def for_each_sub_graph_recursively(graph: Any, func: Any) -> None:
    def both(inner: Any) -> None:
        func(inner)
        for_each_sub_graph_recursively(inner, func)

    for_each_sub_graph(graph, both)


def for_graph_and_each_sub_graph_recursively(graph: Any, func: Any) -> None:
    func(graph)
    for_each_sub_graph_recursively(graph, func)
