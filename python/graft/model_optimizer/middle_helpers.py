"""Helpers of middle and back transformations: removal of nodes with their data, neighbors, groups."""

from __future__ import annotations

import logging
from typing import Any, Callable

import numpy as np

from .errors import Error
from .node import Node

__all__ = ["merge_data_nodes", "remove_op_node_with_data_node", "get_value_in_port", "get_tensor_in_port",
           "get_value_id", "get_tensor_id", "get_next_operation", "forward_bfs", "backward_bfs",
           "group_by_with_binary_predicate", "unique_by", "convert_const_node_value_type", "log", "indices_mapping",
           "graph_clean_up"]

log = logging.getLogger("graft.model_optimizer")
indices_mapping = {4: {"NCHW": "NCHW", "NHWC": "NHWC"}, 5: {"NCHW": "NCDHW", "NHWC": "NDHWC"}}


def merge_data_nodes(graph: Any, survived: Node, removed: Node) -> None:
    """Gives the producer, the consumers and the attributes of one data node to another."""
    for source, _, edge in graph.in_edges(removed.id, data=True):
        graph.add_edge(source, survived.id, **edge)
    for _, target, edge in graph.out_edges(removed.id, data=True):
        graph.add_edge(survived.id, target, **edge)
    for edges in (graph.in_edges(removed.id, keys=True), graph.out_edges(removed.id, keys=True)):
        graph.remove_edges_from(edges)
    for name, value in removed.attrs().items():
        if name != "name" and not name.startswith("_"):
            survived[name] = value


def remove_op_node_with_data_node(graph: Any, node_to_remove: Node, input_data_node: "Node | None" = None) -> None:
    """Removes an operation with one output: consumers of the output consume the input."""
    given = node_to_remove.in_node() if input_data_node is None else input_data_node
    made = [v for _, v in graph.out_edges(node_to_remove.id)]
    if len(made) != 1:
        raise Error(f"cannot remove '{node_to_remove.id}': expected one output, got {len(made)}")
    result = Node(graph, made[0])
    graph.remove_edges_from(graph.out_edges(node_to_remove.id, keys=True))
    graph.remove_edges_from([e for e in graph.in_edges(node_to_remove.id, keys=True) if e[0] == given.id])
    merge_data_nodes(graph, result, given)
    graph.remove_nodes_from([node_to_remove.id, given.id])


def _ports(node: Node, with_value: bool) -> "list[Any]":
    return [p for p in node.in_ports().values() if (p.data.get_value() is not None) == with_value]


def get_value_in_port(node: Node) -> Any:
    """The only input whose value is known, or None."""
    found = _ports(node, True)
    return found[0] if len(found) == 1 else None


def get_tensor_in_port(node: Node) -> Any:
    """The only input whose value is not known, or None."""
    found = _ports(node, False)
    return found[0] if len(found) == 1 else None


def get_value_id(node: Node) -> "int | None":
    port = get_value_in_port(node)
    return None if port is None else port.idx


def get_tensor_id(node: Node) -> "int | None":
    port = get_tensor_in_port(node)
    return None if port is None else port.idx


def get_next_operation(node: Node) -> "list[Node]":
    """The operations that consume any output."""
    found: "dict[Any, Node]" = {}
    for port in node.out_ports().values():
        for target in port.get_destinations():
            found.setdefault(target.node.id, target.node)
    return list(found.values())


def forward_bfs(start_node: Node, allowed_ops: Any, op_name: Any, allowed_all: bool = False) -> "list[Node]":
    from .traverse import common_bfs

    return common_bfs(start_node, allowed_ops, op_name, False, allowed_all)


def backward_bfs(start_node: Node, allowed_ops: Any, op_name: Any, allowed_all: bool = False) -> "list[Node]":
    from .traverse import common_bfs

    return common_bfs(start_node, allowed_ops, op_name, True, allowed_all)


def group_by_with_binary_predicate(xs: "list[Any]", predicate: "Callable[[Any, Any], bool]") -> "list[list[Any]]":
    """Runs of items in which each fits the one before it."""
    groups: "list[list[Any]]" = []
    for x in xs:
        if groups and predicate(groups[-1][-1], x):
            groups[-1].append(x)
        else:
            groups.append([x])
    return groups


def unique_by(xs: "list[Any]", predicate: "Callable[[Any, Any], bool]") -> "list[Any]":
    return [group[0] for group in group_by_with_binary_predicate(xs, predicate)]


def convert_const_node_value_type(const_node: Node, np_data_type: Any) -> None:
    """Stores the value of a constant in another type."""
    const_node["value"] = np.asarray(const_node.value).astype(np_data_type)
    const_node["data_type"] = np.dtype(np_data_type).type
    if const_node.graph.stage != "front":
        const_node.out_port(0).data.set_value(const_node.value)


def graph_clean_up(graph: Any, undead_node_types: "list[str] | None" = None) -> None:
    graph.clean_up(undead_node_types)
