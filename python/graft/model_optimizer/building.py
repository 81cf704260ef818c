"""Functions that make small groups of nodes: with constant inputs, from shapes, by layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from .builtin import BUILTIN, Const
from .errors import Error
from .node import Node
from .shapes import int64_array

__all__ = ["create_op_with_const_inputs", "create_op_node_with_second_input", "add_activation_function_after_node",
           "add_constant_to_negative_values", "add_convolution_to_swap_xy_coordinates", "add_fake_background_loc",
           "mark_squeeze_reshape_concat_before_detection_output", "get_batch_dim", "get_features_dim", "get_depth_dim",
           "get_height_dim", "get_width_dim", "shape_for_layout", "convert_shape", "nchw_to_nhwc_permute",
           "nhwc_to_nchw_permute", "get_canonical_axis_index_node", "get_range_node_of_idxs",
           "get_shape_values_by_indices_node",
           "node_to_get_shape_value_of_indices", "get_shape_values_by_range_idxs", "node_to_get_batch_value",
           "node_to_get_features_dimension_value", "node_to_get_spatial_dimensions_value",
           "new_shape_node_from_shape_nodes",
           "get_shape_and_rank_nodes_by_port", "mark_as_correct_data_layout", "mark_input_as_in_correct_layout",
           "mark_output_as_in_correct_layout"]


def _op(path: str) -> Any:
    return BUILTIN[path]


def create_op_with_const_inputs(graph: Any, op: Any, port_value_dict: "dict[int, Any]",
                                op_attrs: "dict[str, Any] | None" = None, input_node: "Node | None" = None,
                                edge_attrs: "dict[str, Any] | None" = None) -> Node:
    """A node with constants at some inputs, and `input_node` at input 0 if one is given."""
    node = op(graph, op_attrs or {}).create_node()
    if input_node is not None:
        graph.create_edge(input_node, node, 0, 0, edge_attrs)
    for port, value in port_value_dict.items():
        if value is None:
            continue
        constant = Const(graph, {"name": f"{node.soft_get('name', node.id)}/const_{port}", "value": np.array(value)})
        node.add_input_port(port, skip_if_exist=True)
        graph.create_edge(constant.create_node(), node, 0, port)
    return node


def create_op_node_with_second_input(graph: Any, op: Any, second_input_value: Any,
                                     op_attrs: "dict[str, Any] | None" = None,
                                     input_node: "Node | None" = None,
                                     edge_attrs: "dict[str, Any] | None" = None) -> Node:
    return create_op_with_const_inputs(graph, op, {1: second_input_value}, op_attrs, input_node, edge_attrs)


def add_activation_function_after_node(graph: Any, node: Node, activation_function: str) -> Node:
    if activation_function == "SOFTMAX":
        made = _op("softmax.Softmax")(graph, {"axis": -1, "name": node.name + "/softmax"}).create_node([node])
    elif activation_function == "SIGMOID":
        made = _op("activation_ops.Sigmoid")(graph, {"name": node.name + "/sigmoid"}).create_node([node])
    elif activation_function == "IDENTITY":
        return node
    else:
        raise Error(f"expected the activation function SOFTMAX, SIGMOID or IDENTITY, got '{activation_function}'")
    return made


def add_constant_to_negative_values(node: Node, port_idx: int, added_value: Any) -> None:
    """Replaces input x by x + added_value where x is negative."""
    graph, name = node.graph, node.soft_get("name", node.id)
    less = create_op_with_const_inputs(graph, _op("elementwise.Less"), {1: np.array(0, added_value.dtype)},
                                       {"name": name + "/Less"})
    amount = create_op_with_const_inputs(graph, _op("elementwise.Mul"), {1: added_value}, {"name": name + "/Mul"})
    cast = _op("Cast.Cast")(graph, {"name": name + "/Cast", "dst_type": added_value.dtype.type}).create_node()
    add = _op("elementwise.Add")(graph, {"name": name + "/Add"}).create_node()
    source = node.in_port(port_idx).get_source()
    if source is None:
        raise Error(f"input {port_idx} of '{name}' has no source")
    source.connect(less.in_port(0))
    less.out_port(0).connect(cast.in_port(0))
    cast.out_port(0).connect(amount.in_port(0))
    node.in_port(port_idx).get_connection().set_source(add.out_port(0))
    source.connect(add.in_port(0))
    amount.out_port(0).connect(add.in_port(1))


def _detection_only(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise Error(f"{name} belongs to the object-detection transformations, which the host does by itself")

    refuse.__name__ = name
    return refuse


add_convolution_to_swap_xy_coordinates = _detection_only("add_convolution_to_swap_xy_coordinates")
add_fake_background_loc = _detection_only("add_fake_background_loc")
mark_squeeze_reshape_concat_before_detection_output = _detection_only("mark_squeeze_reshape_concat_before_detection_output")


def mark_as_correct_data_layout(node: Node) -> None:
    """The order of axes stays here; nothing to mark."""


def mark_input_as_in_correct_layout(node: Node, port_number: int) -> None:
    """See above."""


def mark_output_as_in_correct_layout(node: Node, port_number: int) -> None:
    """See above."""


# ---- layouts ----

nchw_to_nhwc_permute = int64_array([0, 2, 3, 1])
nhwc_to_nchw_permute = int64_array([0, 3, 1, 2])


def convert_shape(shape: Any, permute: Any) -> Any:
    return int64_array([shape[i] for i in permute])


def _spatial(layout: str, shape_len: int, from_end: int, title: str) -> int:
    if layout not in ("NCHW", "NHWC"):
        raise Error(f"expected the layout NCHW or NHWC, got '{layout}'")
    if not 4 <= shape_len <= 5:
        raise Error(f"{title} is defined for ranks 4 and 5, got {shape_len}")
    return shape_len - from_end - (0 if layout == "NCHW" else 1)


def get_depth_dim(layout: str, shape_len: int) -> int:
    if shape_len != 5:
        raise Error(f"the depth is defined for rank 5, got {shape_len}")
    return _spatial(layout, shape_len, 3, "the depth")


def get_height_dim(layout: str, shape_len: int) -> int:
    return _spatial(layout, shape_len, 2, "the height")


def get_width_dim(layout: str, shape_len: int) -> int:
    return _spatial(layout, shape_len, 1, "the width")


def get_features_dim(layout: str, shape_len: int) -> int:
    return 1 if layout == "NCHW" or shape_len < 4 else shape_len - 1


def get_batch_dim(layout: str, shape_len: int) -> int:
    return 0


def shape_for_layout(layout: str, **kwargs: Any) -> np.ndarray:
    """A shape from batch, features, height, width and, for five dimensions, depth."""
    rank = 5 if "depth" in kwargs else 4
    shape = [0] * rank
    places = {"batch": get_batch_dim(layout, rank), "features": get_features_dim(layout, rank),
              "height": get_height_dim(layout, rank), "width": get_width_dim(layout, rank)}
    if rank == 5:
        places["depth"] = get_depth_dim(layout, rank)
    for name, place in places.items():
        if name not in kwargs:
            raise Error(f"shape_for_layout needs '{name}'")
        shape[place] = kwargs[name]
    return int64_array(shape)


# ---- shapes as nodes ----


def get_canonical_axis_index_node(rank: Node, axis: int) -> Node:
    graph, name = rank.graph, rank.soft_get("name", rank.id)
    constant = Const(graph, {"name": name + "/axis", "value": int64_array([axis])}).create_node()
    if axis >= 0:
        return constant
    add = _op("elementwise.Add")(graph, {"name": name + "/canonical_axis"}).create_node()
    rank.out_port(0).connect(add.in_port(0))
    constant.out_port(0).connect(add.in_port(1))
    return add


def get_range_node_of_idxs(rank: Node, begin: int, end: int, include_begin: bool = True,
                           include_end: bool = False) -> Node:
    graph, name = rank.graph, rank.soft_get("name", rank.id)

    def bound(index: int, shift: int) -> Node:
        node = get_canonical_axis_index_node(rank, index)
        if shift:
            node = create_op_with_const_inputs(graph, _op("elementwise.Add"), {1: int64_array([1])},
                                               {"name": name + "/plus_one"}, node)
        return create_op_with_const_inputs(graph, _op("squeeze.Squeeze"), {1: int64_array(0)},
                                           {"name": name + "/scalar"}, node)

    made = create_op_with_const_inputs(graph, _op("range.Range"), {2: int64_array(1)},
                                       {"name": name + "/range", "output_type": np.int64})
    bound(begin, not include_begin).out_port(0).connect(made.in_port(0))
    bound(end, include_end).out_port(0).connect(made.in_port(1))
    return made


def get_shape_values_by_indices_node(shape_node: Node, indices_node: Node) -> Node:
    graph, name = shape_node.graph, shape_node.soft_get("name", shape_node.id)
    made = create_op_with_const_inputs(graph, _op("gather.Gather"), {2: int64_array(0)}, {"name": name + "/Gather"})
    shape_node.out_port(0).connect(made.in_port(0))
    indices_node.out_port(0).connect(made.in_port(1))
    return made


def node_to_get_shape_value_of_indices(shape_node: Node, indices: "list[int]") -> Node:
    graph, name = shape_node.graph, shape_node.soft_get("name", shape_node.id)
    return create_op_with_const_inputs(graph, _op("gather.Gather"), {1: int64_array(indices), 2: int64_array(0)},
                                       {"name": name + "/Gather"}, shape_node)


def get_shape_values_by_range_idxs(shape: Node, rank: Node, begin: int, end: int, include_begin: bool = True,
                                   include_end: bool = False) -> Node:
    return get_shape_values_by_indices_node(shape, get_range_node_of_idxs(rank, begin, end, include_begin,
                                                                          include_end))


def node_to_get_batch_value(shape_node: Node) -> Node:
    return node_to_get_shape_value_of_indices(shape_node, [0])


def node_to_get_features_dimension_value(shape_node: Node) -> Node:
    layout = shape_node.graph.graph["layout"]
    return node_to_get_shape_value_of_indices(shape_node, [1 if layout == "NCHW" else -1])


def node_to_get_spatial_dimensions_value(shape_node: Node) -> Node:
    layout = shape_node.graph.graph["layout"]
    return node_to_get_shape_value_of_indices(shape_node, [2, 3] if layout == "NCHW" else [1, 2])


def new_shape_node_from_shape_nodes(input_shape_nodes: "list[Node]") -> Node:
    graph = input_shape_nodes[0].graph
    name = input_shape_nodes[0].soft_get("name", "shape")
    made = _op("concat.Concat")(graph, {"name": name + "/shapes", "axis": 0, "in_ports_count": len(input_shape_nodes)})
    node = made.create_node()
    for index, part in enumerate(input_shape_nodes):
        part.out_port(0).connect(node.in_port(index))
    return node


def get_shape_and_rank_nodes_by_port(port: Any, return_as_a_scalar: bool = True) -> "tuple[Node, Node]":
    graph, name = port.node.graph, port.node.soft_get("name", port.node.id)
    if port.type == "in":
        port = port.get_source()
    shape = _op("shape.Shape")(graph, {"name": name + "/ShapeOf"}).create_node()
    rank = _op("shape.Shape")(graph, {"name": name + "/1dRankOf"}).create_node()
    port.connect(shape.in_port(0))
    shape.out_port(0).connect(rank.in_port(0))
    if return_as_a_scalar:
        rank = create_op_with_const_inputs(graph, _op("squeeze.Squeeze"), {1: int64_array([0])},
                                           {"name": name + "/RankOf"}, rank)
    return shape, rank
