"""Sub-graphs that a transformations config describes: scopes and points, and the entries themselves."""

from __future__ import annotations

import logging
import re
from typing import Any

from .errors import Error, FolderError, refer_to_faq_msg
from .node import Node
from .traverse import nodes_matching_name_pattern, sub_graph_between_nodes

__all__ = ["SubgraphMatch", "SubgraphMatcher", "Replacements", "CustomReplacementDescriptor", "find_object_by_pattern"]

log = logging.getLogger("graft.model_optimizer")


class CustomReplacementDescriptor:
    """One entry of the file."""

    def __init__(self, replacement_id: str, attrs: "dict[str, Any]") -> None:
        self.replacement_id, self.id = replacement_id, replacement_id
        self.attrs = attrs
        self.match_kind = attrs.get("match_kind")
        self.custom_attributes = attrs.get("custom_attributes") or {}
        self.op: Any = attrs.get("op")
        self.instances = attrs.get("instances")
        self._replacement_desc = attrs

    @property
    def inputs(self) -> "list[Any]":
        return self.attrs.get("inputs") or []

    @property
    def outputs(self) -> "list[Any]":
        return self.attrs.get("outputs") or []

    def has(self, attr: str) -> bool:
        return attr in self.attrs

    def get_inputs_description(self) -> "list[Any]":
        if self.match_kind == "points":
            return [[(f"^{re.escape(name)}$", 0)] for name in self._points("start_points")]
        return [[(e["node"], e["port"]) for e in group] for group in self.inputs]

    def get_outputs_description(self) -> "list[Any]":
        if self.match_kind == "points":
            return [(f"^{re.escape(name)}$", 0) for name in self._points("end_points")]
        return [(e["node"], e["port"]) for e in self.outputs]

    def _points(self, key: str) -> "list[str]":
        return list((self.instances or {}).get(key) or [])

    def sub_graph_instances(self) -> "list[Any]":
        return [self.instances] if self.match_kind == "points" else list(self.instances or [])

    def get_internal_input_nodes(self, graph: Any) -> "list[str]":
        """The nodes where the sub-graph starts: the points, or their consumers if the points stay outside."""
        return list(dict.fromkeys(n for group in self.input_ports(graph) for n, _ in group))

    def get_internal_output_nodes(self, graph: Any) -> "list[str]":
        return list(dict.fromkeys(n for n, _ in self.output_ports(graph)))

    def input_ports(self, graph: Any) -> "list[list[tuple[str, int]]]":
        """Of match_kind points: for each input of the sub-graph the nodes and ports that consume it."""
        points = self._points("start_points")
        if self.attrs.get("include_inputs_to_sub_graph", True):
            return [[(p, 0)] for p in points]
        return [[(v, d.get("in", 0)) for _, v, d in graph.out_edges(p, data=True)] for p in points]

    def output_ports(self, graph: Any) -> "list[tuple[str, int]]":
        points = self._points("end_points")
        if self.attrs.get("include_outputs_to_sub_graph", True):
            return [(p, 0) for p in points]
        return list(dict.fromkeys((u, d.get("out", 0)) for p in points for u, _, d in graph.in_edges(p, data=True)))


class Replacements:
    """The entries of a model's configuration. Those that are not taken stay for the host, which applies or refuses them."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.entries = [e if isinstance(e, dict) else dict(e) for e in getattr(raw, "replacements", None) or []]

    def of(self, replacement_id: str) -> "list[CustomReplacementDescriptor]":
        return [CustomReplacementDescriptor(replacement_id, e) for e in self.entries if e.get("id") == replacement_id]

    def take(self, description: CustomReplacementDescriptor) -> None:
        """The entry is handled."""
        if hasattr(self._raw, "take"):
            self._raw.take(description.attrs)


def find_object_by_pattern(names: "list[str]", pattern: str) -> "list[str]":
    found = re.compile(pattern)
    return [n for n in names if found.match(n)]


class SubgraphMatch:
    """A place that an entry describes, with its inputs and outputs in order."""

    def __init__(self, graph: Any, replacement_desc: CustomReplacementDescriptor, matched_nodes: "list[Any]",
                 inputs_order: "list[Any]", outputs_order: "list[Any]", scope: str) -> None:
        self.graph, self.custom_replacement_desc, self.scope = graph, replacement_desc, scope
        self._matched = list(matched_nodes)
        self._inputs: "dict[int, list[tuple[str, int]]]" = {}
        self._outputs: "dict[int, tuple[str, int]]" = {}
        for index, group in enumerate(inputs_order):
            for pattern, port in group:
                node = self.node_by_pattern(pattern)
                if node is not None:
                    self._inputs.setdefault(index, []).append((node.id, port))
        for index, (pattern, port) in enumerate(outputs_order):
            node = self.node_by_pattern(pattern)
            if node is not None:
                self._outputs[index] = (node.id, port)

    def _pattern(self, node: str) -> str:
        return node if self.scope == "" else self.scope + ("" if self.scope.endswith("/") else "/") + node

    def matched_nodes_names(self) -> "list[Any]":
        return list(self._matched)

    def inputs_count(self) -> int:
        return len(self._inputs)

    def outputs_count(self) -> int:
        return len(self._outputs)

    def input_nodes(self, port: int) -> "list[tuple[Node, int]]":
        if port not in self._inputs:
            raise Error(f"the matched sub-graph has no input {port}; it has {len(self._inputs)}")
        return [(Node(self.graph, n), p) for n, p in self._inputs[port]]

    def single_input_node(self, port: int) -> "tuple[Node, int]":
        found = self.input_nodes(port)
        if len(found) != 1:
            raise Error(f"input {port} of the matched sub-graph has {len(found)} consumers, expected one" + refer_to_faq_msg(33))
        return found[0]

    def output_node(self, port: int) -> "tuple[Node, int]":
        if port not in self._outputs:
            raise Error(f"the matched sub-graph has no output {port}; it has {len(self._outputs)}")
        name, out = self._outputs[port]
        return Node(self.graph, name), out

    def node_by_pattern(self, pattern: str) -> "Node | None":
        pattern = self._pattern(pattern)
        found = find_object_by_pattern(self._matched, pattern)
        if len(found) > 1:
            raise Error(f"pattern '{pattern}' matches {len(found)} nodes, expected one" + refer_to_faq_msg(78))
        return Node(self.graph, found[0]) if found else None


class SubgraphMatcher:
    def __init__(self, replacement_descriptor: CustomReplacementDescriptor) -> None:
        self.replacement_desc = replacement_descriptor

    def matched_sub_graph_instances(self, graph: Any) -> "list[SubgraphMatch]":
        kind = self.replacement_desc.match_kind
        if kind == "points":
            match = self._points(graph)
            return [] if match is None else [match]
        if kind == "scope":
            return [m for m in map(lambda scope: self._scope(graph, scope), self.replacement_desc.sub_graph_instances())
                    if m is not None]
        raise FolderError(f"replacement '{self.replacement_desc.id}': match_kind '{kind}' is not one of scope, points")

    def _scope(self, graph: Any, scope: str) -> "SubgraphMatch | None":
        inputs = self.replacement_desc.get_inputs_description()
        names = [n for n in graph.nodes() if isinstance(n, str)]
        for pattern in (p for group in inputs for p, _ in group):
            if not find_object_by_pattern(names, ".*" + pattern):
                log.info("no node matches '%s' of replacement '%s'", pattern, self.replacement_desc.id)
                return None
        nodes = nodes_matching_name_pattern(graph, scope)
        if not nodes:
            log.info("no node matches '%s' of replacement '%s'", scope, self.replacement_desc.id)
            return None
        return SubgraphMatch(graph, self.replacement_desc, nodes, inputs,
                             self.replacement_desc.get_outputs_description(), scope)

    def _points(self, graph: Any) -> "SubgraphMatch | None":
        description = self.replacement_desc
        described = description.instances or {}
        if not isinstance(described, dict):
            raise FolderError(f"replacement '{description.id}': 'instances' of match_kind points: expected an object, got "
                              f"{described!r}")
        for name in list(described.get("start_points") or []) + list(described.get("end_points") or []):
            if name not in graph:
                log.info("node '%s' of replacement '%s' is not in the model", name, description.id)
                return None
        inputs, outputs = description.input_ports(graph), description.output_ports(graph)
        nodes = sub_graph_between_nodes(graph, description.get_internal_input_nodes(graph),
                                        description.get_internal_output_nodes(graph), include_control_flow=False)
        return SubgraphMatch(graph, description, nodes,
                             [[(f"^{re.escape(n)}$", p) for n, p in group] for group in inputs],
                             [(f"^{re.escape(n)}$", p) for n, p in outputs], "")
