"""Sub-graphs that a transformations config describes: scopes and points, and the entries themselves."""

from __future__ import annotations

import logging
import re
from typing import Any

from .errors import Error, FolderError, refer_to_faq_msg
from .node import Node
from .traverse import is_connected_component, nodes_matching_name_pattern, sub_graph_between_nodes

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
        return [[(e["node"], e["port"]) for e in group] for group in self.inputs]

    def get_outputs_description(self) -> "list[Any]":
        return [(e["node"], e["port"]) for e in self.outputs]


class Replacements:
    """The entries of a model's configuration; `take` hands out those of an id and marks them as handled."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.entries = [e if isinstance(e, dict) else dict(e) for e in getattr(raw, "replacements", None) or []]

    def take(self, replacement_id: str) -> "list[CustomReplacementDescriptor]":
        found = [e for e in self.entries if e.get("id") == replacement_id]
        if found and hasattr(self._raw, "take"):
            self._raw.take(replacement_id)
        return [CustomReplacementDescriptor(replacement_id, e) for e in found]

    def ids(self) -> "set[str]":
        return {e.get("id", "") for e in self.entries}


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
                for name in find_object_by_pattern(self._matched, self._pattern(pattern)):
                    self._inputs.setdefault(index, []).append((name, port))
        for index, (pattern, port) in enumerate(outputs_order):
            for name in find_object_by_pattern(self._matched, self._pattern(pattern)):
                if index in self._outputs:
                    raise Error(f"pattern '{pattern}' of output {index} matches several nodes")
                self._outputs[index] = (name, port)

    def _pattern(self, node: str) -> str:
        if self.scope == "":
            return f"^{re.escape(node)}$"
        return self.scope + ("" if self.scope.endswith("/") else "/") + node

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
        found = find_object_by_pattern(self._matched, self._pattern(pattern))
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
            instances = self.replacement_desc.instances or []
            found = [m for m in (self._scope(graph, s) for s in instances) if m is not None]
            if not found:
                log.error("replacement '%s' does not match the model", self.replacement_desc.id)
            return found
        raise FolderError(f"replacement '{self.replacement_desc.id}': match_kind '{kind}' is not one of scope, points")

    def _scope(self, graph: Any, scope: str) -> "SubgraphMatch | None":
        nodes = nodes_matching_name_pattern(graph, scope)
        inputs = self.replacement_desc.get_inputs_description()
        for group in inputs:
            for pattern, _ in group:
                full = scope + ("" if scope.endswith("/") else "/") + pattern
                hits = nodes_matching_name_pattern(graph, full)
                if len(hits) > 1:
                    raise Error(f"pattern '{full}' matches {len(hits)} nodes, expected one" + refer_to_faq_msg(78))
                if not hits:
                    log.info("node '%s' of replacement '%s' is not in the model", full, self.replacement_desc.id)
                    return None
        if not nodes:
            return None
        if not is_connected_component(graph, nodes):
            log.warning("replacement '%s': scope '%s' matches a sub-graph that is not connected",
                        self.replacement_desc.id, scope)
        return SubgraphMatch(graph, self.replacement_desc, nodes, inputs,
                             self.replacement_desc.get_outputs_description(), scope)

    def _points(self, graph: Any) -> "SubgraphMatch | None":
        described = self.replacement_desc.instances or {}
        if not isinstance(described, dict):
            raise FolderError(f"replacement '{self.replacement_desc.id}': 'instances' of match_kind points is not an object")
        starts, ends = list(described.get("start_points") or []), list(described.get("end_points") or [])
        for name in starts + ends:
            if name not in graph:
                log.info("node '%s' of replacement '%s' is not in the model", name, self.replacement_desc.id)
                return None
        if not self.replacement_desc.attrs.get("include_inputs_to_sub_graph", True):
            starts = [n.id for s in starts for n in Node(graph, s).out_nodes().values()]
        if not self.replacement_desc.attrs.get("include_outputs_to_sub_graph", True):
            ends = [n.id for e in ends for n in Node(graph, e).in_nodes().values()]
        nodes = sub_graph_between_nodes(graph, starts, ends, include_control_flow=False)
        return SubgraphMatch(graph, self.replacement_desc, nodes, [[(s, 0)] for s in starts], [(e, 0) for e in ends],
                             "")
