"""Walks over a graph that extension files call: reachability, scopes, sub-graphs between nodes."""

from __future__ import annotations

import collections
import re
from typing import Any

from .errors import Error, refer_to_faq_msg
from .node import Node

__all__ = ["bfs_search", "backward_bfs_for_operation", "nodes_matching_name_pattern", "is_connected_component",
           "sub_graph_between_nodes", "invert_sub_graph_between_nodes", "node_incoming_neighbourhood",
           "node_outcoming_neighbourhood", "node_neighbourhood", "scope_output_nodes", "clear_tensor_names_info",
           "common_bfs",
           "find_inputs", "find_outputs", "find_nodes_by_attribute_value"]


def bfs_search(graph: Any, start_nodes: Any = ()) -> "list[Any]":
    """All nodes in breadth-first order, from the given ones or from those without inputs."""
    starts = list(start_nodes) or [n for n in graph.nodes() if not list(graph.predecessors(n))]
    order, seen, pending = [], set(starts), collections.deque(starts)
    while pending:
        node = pending.popleft()
        order.append(node)
        for after in graph.successors(node):
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return order


def backward_bfs_for_operation(start_node: Node, op_names: Any, skip_op_list: Any = ()) -> "list[Node]":
    """The nearest producers, on each way back, with one of the operations."""
    found, seen, pending = [], {start_node.id}, collections.deque([start_node])
    while pending:
        for before, _ in pending.popleft().in_nodes_edges().values():
            if before.id in seen:
                continue
            seen.add(before.id)
            if before.soft_get("op") in op_names:
                found.append(before)
            elif before.soft_get("op") not in skip_op_list:
                pending.append(before)
    return found


def common_bfs(start_node: Node, allowed_ops: Any, op_name: Any, is_backward: bool = True, allowed_all: bool = False,
               attr_to_check: str = "type", follow_multi_consumer_data_nodes: bool = False) -> "list[Node]":
    """The nearest nodes with an operation, reached through allowed ones only."""
    names = [op_name] if isinstance(op_name, str) else list(op_name)
    found: "list[Node]" = []
    seen, pending = {start_node.id}, collections.deque([start_node])
    while pending:
        node = pending.popleft()
        for other, _ in (node.in_nodes_edges() if is_backward else node.out_nodes_edges()).values():
            if other.id in seen:
                continue
            seen.add(other.id)
            kind = other.soft_get(attr_to_check, other.soft_get("op"))
            if kind in names:
                found.append(other)
            elif allowed_all or kind in allowed_ops or other.soft_get("kind") == "data":
                pending.append(other)
    return found


def nodes_matching_name_pattern(graph: Any, pattern: str) -> "list[Any]":
    found = re.compile(pattern)
    return [n for n in graph.nodes() if isinstance(n, str) and found.match(n)]


def is_connected_component(graph: Any, node_names: Any) -> bool:
    inside = set(node_names)
    if not inside:
        return True
    start = next(iter(inside))
    seen, pending = {start}, [start]
    while pending:
        node = pending.pop()
        for other in list(graph.successors(node)) + list(graph.predecessors(node)):
            if other in inside and other not in seen:
                seen.add(other)
                pending.append(other)
    return seen == inside


def sub_graph_between_nodes(graph: Any, start_nodes: Any, end_nodes: Any, detect_extra_start_node: Any = None,
                            include_control_flow: bool = True,
                            allow_non_reachable_end_nodes: bool = False) -> "list[Any]":
    """What lies on ways from the start nodes to the end nodes, with all that feeds it on the side."""

    def edges(found: "list[Any]", end: int) -> "list[Any]":
        return [e[end] for e in found if include_control_flow or not e[2].get("control_flow_edge")]

    order, seen, pending = [], set(start_nodes), collections.deque(start_nodes)
    while pending:
        node = pending.popleft()
        order.append(node)
        following = [] if node in end_nodes else edges(graph.out_edges(node, data=True), 1)
        feeding = [] if node in start_nodes else edges(graph.in_edges(node, data=True), 0)
        if feeding and detect_extra_start_node is not None and detect_extra_start_node(Node(graph, node)):
            feeding = []
        for other in following + feeding:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    for end in end_nodes:
        if end not in seen and not allow_non_reachable_end_nodes:
            raise Error(f"end node '{end}' is not reachable from {list(start_nodes)}" + refer_to_faq_msg(74))
    for node in order:
        if graph.nodes[node].get("op") == "Parameter" and node not in start_nodes:
            raise Error(f"the sub-graph contains the model input '{node}'" + refer_to_faq_msg(75))
    return order


def invert_sub_graph_between_nodes(graph: Any, start_nodes: Any, end_nodes: Any,
                                   detect_extra_start_node: Any = None) -> "list[Any]":
    """The same, walking from the end nodes back."""
    order, seen, pending = [], set(start_nodes), collections.deque(start_nodes)
    while pending:
        node = pending.popleft()
        order.append(node)
        if node in end_nodes:
            continue
        for other in list(graph.predecessors(node)) + ([] if node in start_nodes else list(graph.successors(node))):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return order


def node_neighbourhood(node_name: Any, depth: int, next_node_fn: Any) -> "list[Any]":
    level, seen = [node_name], [node_name]
    for _ in range(depth):
        level = [n for name in level for n in next_node_fn(name) if n not in seen]
        seen += list(dict.fromkeys(level))
    return seen


def node_incoming_neighbourhood(graph: Any, node_name: Any, depth: int) -> "list[Any]":
    return node_neighbourhood(node_name, depth, graph.predecessors)


def node_outcoming_neighbourhood(graph: Any, node_name: Any, depth: int) -> "list[Any]":
    return node_neighbourhood(node_name, depth, graph.successors)


def scope_output_nodes(graph: Any, scope: str, scope_delimiter: str = "/") -> "list[Node]":
    prefix = scope if scope.endswith(scope_delimiter) else scope + scope_delimiter
    return [Node(graph, n) for n in graph.nodes()
            if str(n).startswith(prefix) and any(not str(v).startswith(prefix) for v in graph.successors(n))]


def clear_tensor_names_info(nodes: "list[Node]") -> None:
    for node in nodes:
        if node.has("tensor_names"):
            node["tensor_names"] = {}


def find_nodes_by_attribute_value(graph: Any, attr: str, attr_name: Any) -> "list[Any]":
    return [n for n, a in graph.nodes(data=True) if a.get(attr) == attr_name]


def find_inputs(graph: Any) -> "list[Any]":
    return find_nodes_by_attribute_value(graph, "op", "Parameter")


def find_outputs(graph: Any) -> "list[Any]":
    return [next(iter(graph.predecessors(n))) for n in find_nodes_by_attribute_value(graph, "op", "Result")]
