"""Files of the Model Optimizer's own folder `extensions`, besides those of the table in `modules`.

Users of older releases put their files into that folder and named it as a whole. Its own files do what the importer does
here, so they are left out (`Folder`).
"""

__all__ = ["FILES"]

# folder: names of modules, of the releases 2021.4, 2022.3 and 2023.3
FILES = {
    "back": """
        offline_transformations preprocessing
    """,
    "front.caffe": """
        accum_ext argmax_ext batchnorm_ext binary_conv_ext bn_ext concat_ext conv_ext correlation_ext crop_ext
        ctcgreedydecoder_ext custom_layers_mapping data_augmentation_ext detection_output detection_output_ext
        dropout_ext elementwise_ext elu flatten_ext grn_ext inner_product_ext input_ext interp_ext loader lrn_ext
        mvn_ext normalize_ext permute_ext pooling_ext power_file_ext prelu_ext priorbox_clustered_ext priorbox_ext
        proposal_ext proposal_python_ext psroipooling_ext python_layer_extractor regionyolo_ext register_custom_ops
        relu6 relu_ext reorgyolo_ext resample_ext reshape roipooling_ext scale_ext shufflechannel_ext sigmoid
        simplernms_ext slice_ext softmax_ext spatial_transformer_ext tanh
    """,
    "front.kaldi": """
        logsoftmax_component_ext register_custom_ops sigmoid_ext tanh_component_ext
    """,
    "front.mxnet": """
        RNN_ext activation adaptive_avg_pooling_ext arange_ext arange_like_ext batch_dot_ext block_grad_ext box_nms_ext
        cast_ext clip_ext conv_ext copy_ext crop_ext cumsum_ext custom custom_rpn_proposal deformable_conv_ext
        deformable_psroi_pooling_ext dropout_ext einsum_ext elementwise_ext exp_ext expand_dims_ext eye_ext fft_ext
        flatten_ext fully_connected_ext gather_ext instance_norm_ext layer_norm_ext leaky_relu loader lrn_ext max_ext
        modulated_deformable_conv_ext multibox_detection_ext nd_to_params null_ext pad_ext pooling_ext proposal_ext
        psroi_pooling_ext random_uniform_ext register_custom_ops repeat_ext reshape_ext rnn_param_concat roi_pooling_ext
        roll_ext shape_array_ext sigmoid slice_channel_ext slice_ext slice_like_ext softmax_activation_ext softmax_ext
        softmax_output_ext softsign_ext squeeze_ext stack_ext swapaxis_ext take_ext tile_ext transpose_ext
        up_sampling_ext where_ext zeros_ext
    """,
    "front.onnx": """
        CTCGreedyDecoder_ext activation_ext affine_ext argmax_ext argmin_ext aten_ext cast_ext clip_ext concat_ext
        const_ext constant_fill_ext constant_of_shape_ext conv_ext crop_ext cumsum_ext deformable_conv_ext
        depth_to_space_ext dequantize_linear_ext detection_output detection_output_ext detection_output_onnx_ext
        detectionoutput_ext dropout_ext einsum_ext elementwise_ext expand_ext flatten_ext fused_bn_ext gather_ext
        gatherelements_ext gathernd_ext gemm_ext group_norm_ext gru_ext identity_ext image_scaler_ext
        instance_normalization_ext loader loop_ext lp_normalization_ext lrn_ext lstm_ext matmul_ext
        mean_variance_normalization_ext non_max_suppression_ext non_zero_ext normalize_ext one_hot_ext pad_ext
        parameter_ext pooling_ext priorbox_clustered_ext priorbox_ext priorgridgenerator_ext proposal_ext quantize_ext
        quantize_linear_ext random_uniform_ext range_ext reduce_ext register_custom_ops reshape_ext resize_ext
        reverse_sequence_ext rnn_ext roialign_ext roifeatureextractor_ext scatter_ext shape_ext size_ext slice_ext
        softmax_ext softplus_ext space_to_depth_ext split_ext squeeze_ext top_k_ext topkrois_ext transpose_ext
        unsqueeze_ext upsample_ext where_ext
    """,
    "front.tf": """
        BatchMatMul_ext BlockLSTM_ext CTCGreedyDecoder_ext CTCLoss_ext Cast_ext ClipByValue_ext
        FakeQuantWithMinMaxVars_ext GRUBlockCell_ext GatherTree_ext IteratorGetNext_ext LookupTableInsert_ext
        LoopCond_ext QueueDequeue_ext TensorArrayExtractors TensorArrayGatherV3 activation_ext argmax_ext argmin_ext
        batch_to_space_ext broadcast_ext bucketize_ext complex_ext concat_ext const_ext conv_ext crop_and_resize_ext
        cumsum_ext custom_subgraph_call deconv_ext depth_to_space einsum_ext elementwise_ext expand_dims_ext
        extract_image_patches_ext eye_ext fft_ext fifo_queue_v2_ext fill_ext floor_ext gather_ext gathernd_ext
        identity_ext if_ext loader log_softmax_ext lrn_ext matmul_ext next_iteration_ext non_max_suppression_ext
        one_hot_ext pad_ext placeholder_ext placeholder_with_default_ext pooling_ext random_uniform_ext
        random_uniform_int_ext range_ext reduce_ext register_custom_ops reshape_related_ext resize_bilinear
        resize_nearest_neighbor reverse_sequence reverse_v2 roll_ext scatter_nd_ext select_ext sign_ext slice_ext
        softmax_ext softplus_ext space_to_batch_ext space_to_depth_ext sparse_fill_empty_rows_ext
        sparse_segment_mean_ext sparse_segment_sqrtn_ext sparse_segment_sum_ext split_ext swish_ext tile_ext topk_ext
        transpose_ext unique_ext variable_ext while_ext
    """,
    "middle": """
        TensorIterator_utils
    """,
}
