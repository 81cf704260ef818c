"""Which names extension files can import, and from where: one table for all prefixes.

``mo.X``, ``extensions.X`` and ``openvino.tools.mo.X`` are the same module here, under its path `X`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from . import (building, datatypes, errors, extractor, graph, infer, kaldi, middle_helpers, pattern, port, replacement, shapes,
               subgraph, traverse)
from .builtin import BUILTIN
from .node import Node
from .op import Op, PermuteAttrs, PermuteInputs
from .transformations import TRANSFORMATIONS

__all__ = ["PREFIXES", "names_of", "known_modules", "ONNX"]

PREFIXES = ("openvino.tools.mo", "extensions", "mo")

_FUNCTIONS = {
    "graph.graph": (graph, "Graph dict_includes dict_includes_compare_attrs merge_edge_props rename_node rename_nodes "
                    "add_opoutput get_edge_attribute_between_nodes set_edge_attribute_between_nodes dict_to_ordered_dict"),
    "graph.port": (port, "Port"),
    "graph.connection": (port, "Connection"),
    "utils.error": (errors, "Error FrameworkError InternalError"),
    "utils.utils": (errors, "refer_to_faq_msg"),
    "utils.graph": (traverse,
                    "bfs_search backward_bfs_for_operation nodes_matching_name_pattern is_connected_component "
                    "sub_graph_between_nodes invert_sub_graph_between_nodes node_incoming_neighbourhood "
                    "node_outcoming_neighbourhood node_neighbourhood scope_output_nodes clear_tensor_names_info"),
    "utils.find_inputs": (traverse, "find_inputs find_outputs find_nodes_by_attribute_value"),
    "utils.broadcasting": (infer,
                           "make_equal_rank uni_directional_shape_broadcasting bi_directional_shape_broadcasting "
                           "explicit_shape_broadcasting uni_directional_broadcasting bi_directional_broadcasting "
                           "explicit_broadcasting"),
    "utils.shape": (building, "get_canonical_axis_index_node get_range_node_of_idxs get_shape_values_by_indices_node "
                    "node_to_get_shape_value_of_indices get_shape_values_by_range_idxs node_to_get_batch_value "
                    "node_to_get_features_dimension_value node_to_get_spatial_dimensions_value "
                    "new_shape_node_from_shape_nodes get_shape_and_rank_nodes_by_port"),
    "utils.str_to": (extractor, "StrTo"),
    "utils.replacement_pattern": (replacement, "ReplacementPattern"),
    "utils.custom_replacement_config": (subgraph, "CustomReplacementDescriptor"),
    "front.subgraph_matcher": (subgraph, "SubgraphMatch SubgraphMatcher find_object_by_pattern"),
    "front.extractor": (extractor,
                        "FrontExtractorOp CaffePythonFrontExtractorOp MXNetCustomFrontExtractorOp attr_getter "
                        "bool_to_str spatial_getter spatial_attr_getter kernel_getter add_attrs_props update_attrs "
                        "update_ie_fields"),
    "front.caffe.extractor": (extractor, "register_caffe_python_extractor"),
    "front.caffe.collect_attributes": (extractor, "collect_attributes collect_optional_attributes merge_attrs"),
    "front.caffe.extractors.utils": (extractor, "dim_to_shape embed_input input_as_const weights_biases "
                                     "get_list_from_container get_spatial_attr"),
    "front.common.replacement": (replacement, "FrontReplacementPattern FrontReplacementSubgraph FrontReplacementOp"),
    "front.tf.replacement": (replacement,
                             "FrontReplacementFromConfigFileGeneral FrontReplacementFromConfigFileSubGraph "
                             "FrontReplacementFromConfigFileOp FrontReplacementSubgraph FrontReplacementPattern"),
    "middle.replacement": (replacement, "MiddleReplacementPattern"),
    "back.replacement": (replacement, "BackReplacementPattern"),
    "front.pass_separator": (replacement, "FrontStart FrontFinish"),
    "middle.pass_separator": (replacement, "PreMiddleStart MiddleStart MiddleFinish PostMiddleStart"),
    "back.pass_separator": (replacement, "BackStart BackFinish"),
    "load.loader": (replacement, "LoadFinish"),
    "front.common.layout": (building, "get_batch_dim get_features_dim get_depth_dim get_height_dim get_width_dim "
                            "shape_for_layout convert_shape nchw_to_nhwc_permute nhwc_to_nchw_permute"),
    "front.common.extractors.utils": (extractor, "layout_attrs"),
    "front.common.partial_infer.elemental": (infer, "copy_shape_infer copy_value single_output_infer"),
    "front.common.partial_infer.eltwise": (infer,
                                           "eltwise_infer eltwise_reverse_infer bias_add_infer make_equal_rank"),
    "front.common.partial_infer.crop": (infer, "crop_infer"),
    "front.common.partial_infer.multi_box_detection": (infer, "multi_box_detection_infer"),
    "front.common.partial_infer.utils": (infer, "mark_input_bins assign_dims_to_weights convert_tf_padding_to_str "
                                         "convert_deconv_tf_padding_to_str tf_window_op_pad_infer broadcast_shape"),
    "front.onnx.extractors.utils": (extractor, "onnx_attr onnx_node_has_attr onnx_get_num_outputs get_backend_pad "
                                    "get_onnx_autopad get_onnx_opset_version"),
    "front.tf.extractors.utils": (extractor, "tf_dtype_extractor tf_tensor_shape tf_int_list tf_data_format_spatial "
                                  "tf_data_format_channel tf_data_format_batch tf_tensor_content check_attr_type "
                                  "collect_tf_attrs"),
    "front.tf.common": (datatypes, "tf_data_type_decode tf_data_type_cast"),
    "front.tf.graph_utils": (building, "create_op_with_const_inputs create_op_node_with_second_input "
                             "add_activation_function_after_node add_constant_to_negative_values "
                             "add_convolution_to_swap_xy_coordinates add_fake_background_loc "
                             "mark_squeeze_reshape_concat_before_detection_output"),
    "front.mxnet.extractors.utils": (extractor, "AttrDictionary get_mxnet_layer_attrs get_json_layer_attrs "
                                     "scalar_ops_replacer"),
    "front.kaldi.loader.utils": (kaldi, " ".join(n for n in kaldi.__all__ if n not in ("Parameters", "read_learning_info"))),
    "front.kaldi.utils": (kaldi, "read_binary_matrix read_binary_vector read_binary_vector_of_pairs read_learning_info "
                          "read_token_value read_blob read_placeholder find_next_tag read_binary_integer32_token"),
    "middle.pattern_match": (pattern, "find_pattern_matches apply_pattern find_isomorphisms check_value inverse_dict "
                             "check_node_usages_out_of_match for_each_sub_graph for_each_sub_graph_recursively "
                             "for_graph_and_each_sub_graph_recursively all_edges_in_nodes node_match build_matcher"),
    "middle.passes.convert_data_type": (datatypes,
                                        "SUPPORTED_DATA_TYPES packed_U1 packed_U4 packed_I4 data_type_str_to_np "
                                        "data_type_str_to_precision data_type_str_to_destination_type "
                                        "np_data_type_to_precision np_data_type_to_destination_type "
                                        "destination_type_to_np_data_type precision_to_destination_type convert_blob"),
    "middle.passes.infer": (infer, "type_infer copy_type_infer"),
    "middle.passes.fusing.helpers": (middle_helpers, "get_value_in_port get_tensor_in_port get_value_id get_tensor_id "
                                     "get_next_operation forward_bfs backward_bfs"),
    "middle.passes.eliminate": (middle_helpers, "merge_data_nodes remove_op_node_with_data_node graph_clean_up"),
    "pipeline.common": (middle_helpers, "convert_const_node_value_type"),
    "utils.logger": (middle_helpers, "log"),
    "middle.InsertLayoutPropagationTransposes": (building,
                                                 "mark_as_correct_data_layout mark_input_as_in_correct_layout "
                                                 "mark_output_as_in_correct_layout"),
}


class _ClassType:
    """Kinds of classes, for files that register by themselves."""

    EXTRACTOR, OP, FRONT_REPLACER, MIDDLE_REPLACER, BACK_REPLACER, LOADER = range(6)


def _further() -> "dict[str, dict[str, Any]]":
    from .builtin import BY_OP

    reduce_map = {c.op: c.op for k, c in BUILTIN.items() if k.startswith("ReduceOps.") and c.op}
    return {
        "graph.graph": {"Node": Node, "Port": port.Port},
        "middle.passes.fusing.helpers": {"common_bfs": traverse.common_bfs},
        "front.common.layout": {"indices_mapping": middle_helpers.indices_mapping}, "utils.graph": {"Node": Node, "Graph": graph.Graph},
        "ops.op": {"Op": Op, "PermuteAttrs": PermuteAttrs}, "graph.perm_inputs": {"PermuteInputs": PermuteInputs},
        "front.common.partial_infer.utils": {n: getattr(shapes, n) for n in shapes.__all__},
        "front.caffe.extractors.utils": {"get_canonical_axis_index": shapes.get_canonical_axis_index},
        "front.onnx.extractors.utils": {"get_onnx_datatype_as_numpy": datatypes.get_onnx_datatype_as_numpy},
        "front.mxnet.extractors.utils": {"mxnet_str_dtype_to_np": datatypes.mxnet_str_dtype_to_np},
        "utils.utils": {"match_shapes": infer.match_shapes, "symm_match_shapes": infer.symm_match_shapes,
                        "group_by_with_binary_predicate": middle_helpers.group_by_with_binary_predicate,
                        "unique_by": middle_helpers.unique_by, "NamedAttrsClass": SimpleNamespace, "array_to_str": extractor.attr_getter},
        "utils.class_registration": {"ClassType": _ClassType},
        "ops.argmax": {"arg_ops_infer": infer.arg_ops_infer}, "ops.RNN": {"rnn_infer": infer.rnn_infer},
        "ops.ReduceOps": {"reduce_infer": infer.reduce_infer, "reduce_map": reduce_map},
        "ops.activation_ops": {"activation_ops": [c.op for k,
                                                  c in BUILTIN.items() if k.startswith("activation_ops.") and c.op]},
        "ops.resize_factor_utils": {"factor_update": _factor_update},
        "front.onnx.extractor": {"onnx_op_extractors": {}}, "front.tf.extractor": {"tf_op_extractors": {}},
        "front.mxnet.extractor": {"mxnet_op_extractors": {}}, "front.kaldi.extractor": {"kaldi_type_extractors": {}},
        "front.common.register_custom_ops": {"check_for_duplicates": lambda *a: None},
        "graph.port": {"Connection": port.Connection},
        "ops": {}, "front": {}, "": {}, "utils": {"BY_OP": BY_OP},
    }


def _factor_update(factor: Any, real_factor: Any, in_shape: Any, out_shape: Any, name: str) -> Any:
    """A scale factor: the stated one, or the quotient of sizes if it is the same for both directions."""
    if factor is not None and abs(factor - real_factor[0]) <= 1e-6:
        return factor
    return real_factor[0] if abs(real_factor[0] - real_factor[1]) <= 1e-6 else factor


def _build() -> "dict[str, dict[str, Any]]":
    table: "dict[str, dict[str, Any]]" = {}
    for path, (source, names) in _FUNCTIONS.items():
        table.setdefault(path, {}).update({n: getattr(source, n) for n in names.split()})
    for path, more in _further().items():
        table.setdefault(path, {}).update(more)
    for key, cls in BUILTIN.items():
        module, _, name = key.partition(".")
        table.setdefault(f"ops.{module}", {})[name] = cls
    for entry in TRANSFORMATIONS.split():
        path, _, classes = entry.partition(":")
        for name in classes.split("+"):
            anchor = type(name, (replacement.Anchor,), {"__module__": f"mo.{path}"})
            table.setdefault(path, {}).setdefault(name, anchor)
    return table


_TABLE = _build()
ONNX: "dict[str, dict[str, Any]]" = {"onnx": {}, "onnx.numpy_helper": {"to_array": extractor.to_array},
        "onnx.mapping": {"TENSOR_TYPE_TO_NP_TYPE": {n: t for n, t in datatypes._ONNX.items()}}}


def known_modules() -> "list[str]":
    return sorted(_TABLE)


def names_of(path: str) -> "dict[str, Any] | None":
    """The names of a module; empty for a package that has modules below; None if there is no such module."""
    if path in _TABLE:
        return _TABLE[path]
    return {} if any(k.startswith(path + ".") for k in _TABLE) else None
