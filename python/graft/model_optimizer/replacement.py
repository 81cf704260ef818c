"""Base classes of transformations: front ones run on the framework's graph, middle and back ones on the imported one."""

from __future__ import annotations

import logging
from typing import Any

from .errors import Error
from .graph import merge_edge_props
from .node import Node
from .pattern import apply_pattern
from .subgraph import SubgraphMatch, SubgraphMatcher
from .traverse import is_connected_component

__all__ = ["ReplacementPattern", "FrontReplacementPattern", "FrontReplacementSubgraph", "FrontReplacementOp",
           "FrontReplacementFromConfigFileSubGraph", "FrontReplacementFromConfigFileOp",
           "FrontReplacementFromConfigFileGeneral", "MiddleReplacementPattern", "BackReplacementPattern", "LoadFinish",
           "FrontStart", "FrontFinish", "PreMiddleStart", "MiddleStart", "MiddleFinish", "PostMiddleStart",
           "BackStart",
           "BackFinish", "Anchor"]

log = logging.getLogger("graft.model_optimizer")


class ReplacementPattern:
    enabled: Any = True
    phase = ""
    replacement_id = ""
    run_not_recursively = False
    force_clean_up = False
    force_shape_inference = False
    graph_condition: "list[Any]" = []
    excluded_replacers: "list[Any]" = []

    def run_before(self) -> "list[Any]":
        return []

    def run_after(self) -> "list[Any]":
        return []

    def find_and_replace_pattern(self, graph: Any) -> None:
        nodes, edges = self._pattern()
        apply_pattern(graph, nodes, edges, getattr(self, self.action))

    action = "replace_pattern"

    def _pattern(self) -> "tuple[Any, Any]":
        pattern = getattr(self, "pattern", None)
        if not callable(pattern):
            raise Error(f"{type(self).__name__} has neither 'pattern' nor 'find_and_replace_pattern'")
        found = pattern()
        if not isinstance(found, dict) or "nodes" not in found:
            raise Error(f"{type(self).__name__}.pattern returned {found!r}, expected a dictionary with 'nodes' and 'edges'")
        return found["nodes"], found.get("edges", [])

    @classmethod
    def class_type(cls) -> str:
        return f"{cls.phase} replacer"


class Anchor(ReplacementPattern):
    """A point in the order of transformations; does nothing."""

    def find_and_replace_pattern(self, graph: Any) -> None:
        return


class LoadFinish(Anchor):
    pass


class FrontStart(Anchor):
    def run_after(self) -> "list[Any]":
        return [LoadFinish]


class FrontFinish(Anchor):
    def run_after(self) -> "list[Any]":
        return [FrontStart]


class PreMiddleStart(Anchor):
    def run_after(self) -> "list[Any]":
        return [FrontFinish]


class MiddleStart(Anchor):
    def run_after(self) -> "list[Any]":
        return [PreMiddleStart]


class MiddleFinish(Anchor):
    def run_after(self) -> "list[Any]":
        return [MiddleStart]


class PostMiddleStart(Anchor):
    def run_after(self) -> "list[Any]":
        return [MiddleFinish]


class BackStart(Anchor):
    def run_after(self) -> "list[Any]":
        return [PostMiddleStart]


class BackFinish(Anchor):
    def run_after(self) -> "list[Any]":
        return [BackStart]


class FrontReplacementPattern(ReplacementPattern):
    phase = "front"

    def run_after(self) -> "list[Any]":
        return [FrontStart]

    def run_before(self) -> "list[Any]":
        return [FrontFinish]


class FrontReplacementSubgraph(FrontReplacementPattern):
    """Replaces each match of a pattern."""

    action = "replace_sub_graph"

    def __init__(self) -> None:
        self.replacement_desc: Any = None

    @staticmethod
    def extract_port(node_port: Any) -> "tuple[Any, int]":
        return (node_port[0], node_port[1]) if isinstance(node_port, tuple) else (node_port, 0)

    @staticmethod
    def replace_input_edges(graph: Any, input_edges_match: "dict[Any, Any]") -> None:
        for old, new in input_edges_match.items():
            node, port = FrontReplacementSubgraph.extract_port(old)
            target, target_port = FrontReplacementSubgraph.extract_port(new)
            edges = [e for e in graph.in_edges(node, data=True)
                     if e[2].get("in", 0) == port and not e[2].get("control_flow_edge")]
            if not edges:
                raise Error(f"input_edges_match: input {port} of '{node}' is not connected")
            for source, _, edge in edges:
                graph.add_edge(source, target, **merge_edge_props(edge, {"in": target_port}))

    @staticmethod
    def replace_output_edges(graph: Any, output_edges_match: "dict[Any, Any]") -> None:
        for old, new in output_edges_match.items():
            node, port = FrontReplacementSubgraph.extract_port(old)
            source, source_port = FrontReplacementSubgraph.extract_port(new)
            for _, target, edge in graph.out_edges(node, data=True):
                if edge.get("out", 0) == port and not edge.get("control_flow_edge"):
                    graph.add_edge(source, target, **merge_edge_props(edge, {"out": source_port}))

    def input_edges_match(self, graph: Any, match: Any, new_sub_graph: Any) -> "dict[Any, Any]":
        return {}

    def output_edges_match(self, graph: Any, match: Any, new_sub_graph: Any) -> "dict[Any, Any]":
        return {}

    def generate_sub_graph(self, graph: Any, match: Any) -> Any:
        raise Error(f"{type(self).__name__} has neither 'replace_sub_graph' nor 'generate_sub_graph'")

    def nodes_to_remove(self, graph: Any, match: Any) -> "list[Any]":
        return [node.id for node in match.values()]

    def replace_sub_graph(self, graph: Any, match: Any) -> None:
        made = self.generate_sub_graph(graph, match)
        self.replace_input_edges(graph, self.input_edges_match(graph, match, made))
        self.replace_output_edges(graph, self.output_edges_match(graph, match, made))
        graph.remove_nodes_from(self.nodes_to_remove(graph, match))


class FrontReplacementOp(FrontReplacementSubgraph):
    """Replaces each node with a given `op`."""

    op: "str | None" = None

    def pattern(self) -> "dict[str, Any]":
        return {"nodes": [("op", {"op": type(self).op})], "edges": []}

    def replace_op(self, graph: Any, node: Node) -> "list[Any]":
        raise Error(f"{type(self).__name__} has neither 'replace_op' nor 'replace_sub_graph'")

    @staticmethod
    def gen_output_edges_match(node: Node, out_node_replace: "list[Any]") -> "dict[Any, Any]":
        return {(node.id, i): FrontReplacementSubgraph.extract_port(new) for i, new in enumerate(out_node_replace)}

    def replace_sub_graph(self, graph: Any, match: Any) -> None:
        node = match["op"]
        made = self.replace_op(graph, node)
        if not isinstance(made, (list, tuple)):
            raise Error(f"{type(self).__name__}.replace_op returned {made!r}, expected a list with a node id per output")
        for new in made:
            identity = new[0] if isinstance(new, tuple) else new
            if identity not in graph:
                raise Error(f"{type(self).__name__}.replace_op returned {identity!r}, which is not the id of a node")
        self.replace_output_edges(graph, self.gen_output_edges_match(node, list(made)))
        graph.remove_node(node.id)


# ---- from a configuration file ----


class FrontReplacementFromConfigFileSubGraph(FrontReplacementSubgraph):
    """Replaces the sub-graphs that entries with this `replacement_id` describe."""

    def nodes_to_remove(self, graph: Any, match: SubgraphMatch) -> "list[Any]":
        return match.matched_nodes_names()

    def find_and_replace_pattern(self, graph: Any) -> None:
        replacements = graph.graph["replacements"]
        for description in replacements.of(self.replacement_id):
            self.replacement_desc = description
            matches = SubgraphMatcher(description).matched_sub_graph_instances(graph)
            for match in matches:
                if not is_connected_component(graph, match.matched_nodes_names()):
                    log.warning("replacement '%s' matches nodes that are not connected: %s", self.replacement_id,
                                ", ".join(map(str, match.matched_nodes_names())))
                self.replace_sub_graph(graph, match)
            if matches:
                replacements.take(description)


class FrontReplacementFromConfigFileOp(FrontReplacementFromConfigFileSubGraph):
    """Replaces a sub-graph by one node of the operation that the entry names."""

    def input_edges_match(self, graph: Any, match: SubgraphMatch, new_sub_graph: Any) -> "dict[Any, Any]":
        found = {}
        for i in range(match.inputs_count()):
            node, port = match.input_nodes(i)[0]
            found[(node.id, port)] = (new_sub_graph["new_node"].id, i)
        return found

    def output_edges_match(self, graph: Any, match: SubgraphMatch, new_sub_graph: Any) -> "dict[Any, Any]":
        found = {}
        for i in range(match.outputs_count()):
            node, port = match.output_node(i)
            found[(node.id, port)] = (new_sub_graph["new_node"].id, i)
        return found

    def generate_sub_graph(self, graph: Any, match: SubgraphMatch) -> "dict[str, Any]":
        from .op import Op

        description = match.custom_replacement_desc
        name = graph.unique_id(f"{description.op}_")
        made = Op.get_op_class_by_name(description.op)(graph, {**description.custom_attributes, "name": name})
        made.default_backend_attrs = list(description.custom_attributes)
        return {"new_node": made.create_node()}


class FrontReplacementFromConfigFileGeneral(FrontReplacementPattern):
    """Called with the whole graph and the attributes of each entry with this `replacement_id`."""

    def transform_graph(self, graph: Any, replacement_descriptions: Any) -> None:
        raise Error(f"{type(self).__name__} has no method 'transform_graph'")

    def find_and_replace_pattern(self, graph: Any) -> None:
        for description in graph.graph["replacements"].of(self.replacement_id):
            self.transform_graph(graph, description.custom_attributes)
            graph.graph["replacements"].take(description)


# ---- phases that run on the imported graph ----


class MiddleReplacementPattern(ReplacementPattern):
    phase = "middle"

    def run_after(self) -> "list[Any]":
        return [MiddleStart]

    def run_before(self) -> "list[Any]":
        return [MiddleFinish]


class BackReplacementPattern(ReplacementPattern):
    phase = "back"

    def run_after(self) -> "list[Any]":
        return [BackStart]

    def run_before(self) -> "list[Any]":
        return [BackFinish]
