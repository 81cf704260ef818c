"""`Op`, the base class of operations, and what goes with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import Error
from .node import Node

__all__ = ["Op", "PermuteAttrs", "PermuteInputs"]

# Attributes that layout changes permute. Nothing does so here, but files add to the lists and remove from them.
_DIM_ATTRS = ("axis", "batch_dims", "channel_dims", "spatial_dims")
_SHAPE_ATTRS = ("shape", "pad", "window", "stride")


class Op:
    """An operation: a dictionary of attributes for a node, and which of them reach the IR.

    A folder's classes are registered when they are defined (`Session` collects them); the table of built-in classes
    has the others.
    """

    op: "str | None" = None
    enabled = True
    registered_ops: "dict[str, Any]" = {}
    registered_cls: "list[Any]" = []
    excluded_classes: "list[Any]" = []

    def __init__(self, graph: Any, attrs1: "dict[str, Any] | None" = None,
                 attrs2: "dict[str, Any] | None" = None) -> None:
        self.graph = graph
        self.ir_version = 10
        self.attrs: "dict[str, Any]" = {"kind": "op"}
        self.default_backend_attrs: "list[Any]" = []
        self.attrs.update(attrs1 or {})
        self.attrs.update(attrs2 or {})

    # ---- what a class declares ----

    def supported_attrs(self) -> "list[Any]":
        return []

    def backend_attrs(self) -> "list[Any]":
        return self.supported_attrs()

    def get_opset(self) -> str:
        return self.attrs.get("version") or "extension"

    @classmethod
    def class_type(cls) -> str:
        return "op"

    @staticmethod
    def get_op_class_by_name(name: str) -> Any:
        if name not in Op.registered_ops:
            raise Error(f"no operation '{name}' is registered")
        return Op.registered_ops[name]

    @staticmethod
    def normalize_outputs(node: Node) -> None:
        """Connects unused outputs to nothing: unused outputs are allowed here."""

    # ---- nodes ----

    def substitute_ie_attrs(self, new_attrs: "dict[str, Any]") -> None:
        listed = self.backend_attrs() + self.default_backend_attrs
        new_attrs["IE"] = [("layer", [("id", lambda node: node.node), "name", "type", "version"],
                            [("data", listed, []), "@ports", "@consts"])]

    def _complete(self, attrs: "dict[str, Any] | None") -> "dict[str, Any]":
        made = {"dim_attrs": list(_DIM_ATTRS), "shape_attrs": list(_SHAPE_ATTRS), **self.attrs, **(attrs or {})}
        self.substitute_ie_attrs(made)
        made["op_class"] = type(self)
        return made

    def add_node(self, attrs: "dict[str, Any] | None" = None) -> Node:
        made = self._complete(attrs)
        identity = self.graph.unique_id(made.get("name") or made.get("op") or "")
        made["name"] = identity
        self.graph.add_node(identity, **made)
        return Node(self.graph, identity)

    def update_node(self, node: Node, attrs: "dict[str, Any] | None" = None) -> None:
        for name, value in self._complete(attrs).items():
            node[name] = value
        node.update_node()

    @classmethod
    def update_node_stat(cls, node: Node, attrs: "dict[str, Any] | None" = None) -> None:
        cls(node.graph, dict(attrs or {})).update_node(node)

    @staticmethod
    def extract_port(node_port: Any) -> "tuple[Node, int]":
        if isinstance(node_port, tuple):
            return node_port[0], node_port[1]
        ports = {d["out"] for _, _, d in node_port.graph.out_edges(node_port.id, data=True) if "out" in d}
        if len(ports) > 1:
            raise Error(f"node '{node_port.soft_get('name', node_port.id)}' has {len(ports)} used outputs: give (node, port)")
        return node_port, 0

    def create_node(self, inputs: "list[Any] | None" = None, attrs: "dict[str, Any] | None" = None,
                    edge_attrs: "dict[str, Any] | None" = None) -> Node:
        sources = [Op.extract_port(i) for i in inputs or []]
        node = self.add_node(attrs)
        for index, (source, port) in enumerate(sources):
            edge = {"in": index, "in_attrs": ["in", "permutation"]}
            if source.soft_get("kind", "op") == "op":
                edge.update({"out": port, "out_attrs": ["out", "permutation"], "data_attrs": []})
            edge.update(edge_attrs or {})
            self.graph.add_edge(source.id, node.id, **edge)
        return node

    def create_node_on_port(self, node: Node, out_port: int, attrs: "dict[str, Any] | None" = None,
                            edge_attrs: "dict[str, Any] | None" = None) -> Node:
        made = self.add_node(attrs)
        self.graph.add_edge(node.id, made.id, **{"in": 0, "out": out_port, **(edge_attrs or {})})
        return made

    def create_node_with_data(self, inputs: "list[Any] | None" = None, attrs: "dict[str, Any] | None" = None,
                              data_nodes: Any = None, edge_attrs: "list[Any] | None" = None) -> Any:
        """A node with a data node for each output; shapes are inferred at once."""
        node = self.add_node(attrs)
        for index, source in enumerate(inputs or []):
            if source is not None:
                extra = edge_attrs[index] if edge_attrs and index < len(edge_attrs) else {}
                self.graph.add_edge(source.id, node.id, **{"in": index, **extra})
        if data_nodes is None:
            data_nodes = [Op._create_data_node(self.graph, node.id)]
        elif not isinstance(data_nodes, (list, np.ndarray)):
            data_nodes = [data_nodes]
        for index, data in enumerate(data_nodes):
            self.graph.add_edge(node.id, data.id, out=index)
        if node.has_valid("infer"):
            node.infer(node)
        return data_nodes[0] if len(data_nodes) == 1 else data_nodes

    # Some files use this name for the same.
    create_op_node_with_data = create_node_with_data

    @staticmethod
    def _create_data_node(graph: Any, name: str, attrs: "dict[str, Any] | None" = None) -> Node:
        identity = graph.unique_id(f"{name}_data_")
        graph.add_node(identity, **{"kind": "data", "name": identity, "value": None, "shape": None, "data_type": None,
                                    "infer": None, **(attrs or {})})
        return Node(graph, identity)

    @staticmethod
    def create_data_node(graph: Any, op_node: Node, attrs: "dict[str, Any] | None" = None,
                         edge_attrs: "dict[str, Any] | None" = None, out_port: int = 0) -> Node:
        data = Op._create_data_node(graph, op_node.id, attrs)
        graph.add_edge(op_node.id, data.id, **{"out": out_port, **(edge_attrs or {})})
        return data

    @staticmethod
    def create_input_data_node(graph: Any, name: str, value: Any, attrs: "dict[str, Any] | None" = None) -> Node:
        array = np.array(value)
        return Op._create_data_node(graph, name, {"value": array, "shape": np.array(array.shape, dtype=np.int64),
                                                  **(attrs or {})})

    @staticmethod
    def create_and_connect_input_data_node(graph: Any, op_node: Node, attrs: "dict[str, Any] | None" = None,
                                           edge_attrs: "dict[str, Any] | None" = None) -> Node:
        data = Op._create_data_node(graph, op_node.id, attrs)
        graph.add_edge(data.id, op_node.id, **(edge_attrs or {"in": 0}))
        return data

    @staticmethod
    def expand_node_shape(node: Node, dims_to_add: int) -> None:
        if node is None or not node.has_valid("value"):
            return
        node["value"] = np.reshape(node.value, node.value.shape + (1,) * dims_to_add)
        node["shape"] = np.array(node.value.shape, dtype=np.int64)


class PermuteAttrs:
    """Attributes that depend on the order of axes.

    Models keep the framework's order of axes here, so a request to permute is remembered and nothing moves.
    """

    class Permutation:
        def __init__(self, perm: Any, inv: Any) -> None:
            self.perm, self.inv = perm, inv

    common_permutation = staticmethod(lambda node, permutation, attr: node[attr])
    slice_permutation = staticmethod(lambda node, permutation, attr: node[attr])
    common_permutation_inv = staticmethod(lambda node, permutation, attr: node[attr])
    common_attrs_permutation: "dict[str, Any]" = {}

    def __init__(self) -> None:
        self.attrs: "dict[str, Any]" = {}

    def update_attrs(self, attrs: "list[Any]") -> "PermuteAttrs":
        for entry in attrs:
            self.attrs[entry[0]] = entry[1:]
        return self

    def permute_attrs(self, node: Node) -> None:
        """Nothing to do: the order of axes stays."""

    @staticmethod
    def create_permute_attrs(node: Node, attrs: "list[Any] | None" = None) -> None:
        if not node.has_valid("permute_attrs"):
            node["permute_attrs"] = PermuteAttrs()
        node.permute_attrs.update_attrs(attrs or [])

    @staticmethod
    def set_permutation(node1: Node, node2: Node, permutation: Any, override: bool = False) -> None:
        for edge in (node1.graph.get_edge_data(node1.id, node2.id) or {}).values():
            if override or edge.get("permutation") is None:
                edge["permutation"] = permutation

    @staticmethod
    def get_inverse_permutation(perm: Any) -> np.ndarray:
        return np.argsort(np.asarray(perm))

    @staticmethod
    def get_nhwc_to_nchw_permutation(dims_number: int) -> Any:
        order = list(range(dims_number))
        if dims_number > 3:
            order = [0, dims_number - 1] + order[1:-1]
        perm = np.array(order, dtype=np.int64)
        return PermuteAttrs.Permutation(perm, np.argsort(perm))

    @staticmethod
    def get_nchw_to_nhwc_permutation(dims_number: int) -> Any:
        found = PermuteAttrs.get_nhwc_to_nchw_permutation(dims_number)
        return PermuteAttrs.Permutation(found.inv, found.perm)


class PermuteInputs:
    """Inputs that hold axes; see `PermuteAttrs`."""

    common_inv_permutation = None
    shape_check_nchw_to_nhwc = None

    def __init__(self) -> None:
        self.input_permutes: "dict[str, Any]" = {}

    def set_input_permutation(self, node1: Any, node2: Any, port_info: str, permutation_rule: str,
                              shape_check: Any = None) -> None:
        """Nothing to do: the order of axes stays."""
