"""The operations of the Model Optimizer that extension files create, as a table.

One line per class: ``module.Class[:Base] op[/type][@version] inputs outputs attributes [name=default ...]``. ``op`` alone
means that the type in an IR is the same; ``op/`` is an operation inside the Model Optimizer, which has no type. Attributes
are those that reach an IR; an indented line continues the one before. Numbers of ports that vary are "-". A name after
"@" in a default is a numpy type.
"""

__all__ = ["OPERATIONS"]

OPERATIONS = """\
BN.BN BN/ 5 1 -
BatchNormInference.BatchNormInference batchNormInference/ 5 1 -
BlockLSTM.BlockLSTM BlockLSTM/ - - -
Cast.Cast Cast/Convert@opset1 1 1 destination_type
ClipByValueTF.ClibByValueTF ClipByValueTF/ 3 1 -
Complex.Complex Complex/ 2 1 -
ConvertLike.ConvertLike ConvertLike@opset1 2 1 -
DetectionOutput.DetectionOutput DetectionOutput@opset8 3 1 background_label_id,clip_after_nms,clip_before_nms,
  code_type,confidence_threshold,decrease_label_id,input_height,input_width,keep_top_k,nms_threshold,normalized,
  share_location,top_k,variance_encoded_in_target,objectness_score input_width=1 input_height=1 normalized=True
  share_location=True clip_after_nms=False clip_before_nms=False decrease_label_id=False
  variance_encoded_in_target=False
Enter.Enter Enter/ 1 - -
Exit.Exit Exit/ 1 - -
ExtractImagePatches.ExtractImagePatches ExtractImagePatches@opset3 1 1 sizes,strides,rates,auto_pad
GRU.GRU GRU/RNNSequence 6 2 hidden_size,direction,axis,activations,activations_alpha,activations_beta,clip,
  linear_before_reset blobs_wrb=False has_num_directions=False direction='forward' multiplier=3 multilayers=False
  gate_order=[0,1,2] normalized=False
GRUBlockCell.GRUBlockCell GRUBlockCell/ 6 4 -
GRUCell.GRUCell GRUCell@opset3 4 1 hidden_size,activations,activations_alpha,activations_beta,clip,
  linear_before_reset wr_input_id=2 gates_count=3 linear_before_reset=False
GatherTree.GatherTree GatherTree@opset1 4 1 -
If.If If@opset8 - - -
LSTM.LSTM LSTM/RNNSequence 7 3 hidden_size,direction,axis,activations,activations_alpha,activations_beta,clip
  blobs_wrb=False has_num_directions=False direction='forward' multiplier=4 normalized=False multilayers=False
LookupTableInsert.LookupTableInsert LookupTableInsert/ 3 1 -
MatMul.MatMul MatMul@opset1 2 1 transpose_a,transpose_b transpose_a=False transpose_b=False
MatMul.GemmONNX Gemm/ 3 1 - transpose_a=False transpose_b=False alpha=1 beta=1 broadcast_c=True
MatMul.FullyConnected FullyConnected 3 1 out-size
MatMul.Gemm:MatMul GEMM@opset1 2 1 transpose_a,transpose_b transpose_a=False transpose_b=False
NextIteration.NextIteration NextIteration/ 1 - -
ONNXResize10.ONNXResize10 ONNXResize10/ 2 1 -
ONNXResize11.ONNXResize11Op ONNXResize11/ - 1 coordinate_transformation_mode,cube_coeff,exclude_outside,
  extrapolation_value,mode,nearest_mode
RNN.RNN RNN/RNNSequence 6 2 hidden_size,direction,axis,activation_alpha,activation_beta,activations,clip
  blobs_wrb=False has_num_directions=False direction='forward' multiplier=1 gate_order=[0] normalized=False
RNNCell.RNNCell RNNCell@opset3 4 1 hidden_size,activations,activation_alpha,activation_beta,clip wr_input_id=2
  gates_count=1
ReduceOps.ReduceOp - 2 1 keep_dims keep_dims=False
ReduceOps.ReduceSum:ReduceOp ReduceSum@opset1 2 1 keep_dims keep_dims=False
ReduceOps.ReduceProd:ReduceOp ReduceProd@opset1 2 1 keep_dims keep_dims=False
ReduceOps.ReduceMin:ReduceOp ReduceMin@opset1 2 1 keep_dims keep_dims=False
ReduceOps.ReduceMax:ReduceOp ReduceMax@opset1 2 1 keep_dims keep_dims=False
ReduceOps.ReduceMean:ReduceOp ReduceMean@opset1 2 1 keep_dims keep_dims=False
ReduceOps.ReduceL1:ReduceOp ReduceL1@opset4 2 1 keep_dims keep_dims=False
ReduceOps.ReduceL2:ReduceOp ReduceL2@opset4 2 1 keep_dims keep_dims=False
ReduceOps.ReduceAnd:ReduceOp ReduceAnd/ReduceLogicalAnd@opset1 2 1 keep_dims keep_dims=False
ReduceOps.ReduceLogicalAnd:ReduceOp ReduceLogicalAnd@opset1 2 1 keep_dims keep_dims=False
ReduceOps.ReduceLogicalOr:ReduceOp ReduceLogicalOr@opset1 2 1 keep_dims keep_dims=False
Reverse.Reverse Reverse/ 2 1 -
TFFFT.TFFFT TFFFT/ 1 1 num_of_dimensions,fft_kind
TFResize.TFResize TFResize/ 2 1 -
TensorArray.TensorArray TensorArrayV3/ - - -
TensorArrayGather.TensorArrayGather TensorArrayGatherV3/ - - -
TensorArrayRead.TensorArrayReader TensorArrayReadV3/ - - -
TensorArrayScatter.TensorArrayScatter TensorArrayScatterV3/ - - -
TensorArraySize.TensorArraySize TensorArraySizeV3/ - - -
TensorArrayWrite.TensorArrayWriter TensorArrayWriteV3/ - - -
TensorIterator_ops.TensorIteratorInput TensorIteratorInput/ 3 1 external_port_id,internal_layer_id,
  internal_port_id,axis,start,stride,part_size
TensorIterator_ops.TensorIteratorOutput TensorIteratorOutput/ 3 1 external_port_id,internal_layer_id,
  internal_port_id,axis,start,stride,part_size
TensorIterator_ops.TensorIteratorCondition TensorIteratorCondition/ 2 2 -
TensorIterator_ops.TensorIteratorBackEdge TensorIteratorBackEdge/ 3 1 -
accum.AccumOp Accum/ - - top_height,top_width,size_divisible_by,have_reference top_height=0 top_width=0
  size_divisible_by=0 have_reference=0
activation.Activation Activation 1 1 type,alpha
activation_ops.Activation - 1 1 -
activation_ops.Sigmoid:Activation Sigmoid@opset1 1 1 -
activation_ops.Sin:Activation Sin@opset1 1 1 -
activation_ops.Sinh:Activation Sinh@opset1 1 1 -
activation_ops.Asin:Activation Asin@opset1 1 1 -
activation_ops.Asinh:Activation Asinh@opset4 1 1 -
activation_ops.Cos:Activation Cos@opset1 1 1 -
activation_ops.Cosh:Activation Cosh@opset1 1 1 -
activation_ops.Acos:Activation Acos@opset1 1 1 -
activation_ops.Acosh:Activation Acosh@opset4 1 1 -
activation_ops.Tan:Activation Tan@opset1 1 1 -
activation_ops.Tanh:Activation Tanh@opset1 1 1 -
activation_ops.Atan:Activation Atan@opset1 1 1 -
activation_ops.Atanh:Activation Atanh@opset4 1 1 -
activation_ops.ReLU6:AttributedClamp AttributedClamp/Clamp@opset1 1 1 max,min min=0 max=6
activation_ops.Exp:Activation Exp@opset1 1 1 -
activation_ops.ReLU:Activation ReLU@opset1 1 1 -
activation_ops.Erf:Activation Erf@opset1 1 1 -
activation_ops.Floor:Activation Floor@opset1 1 1 -
activation_ops.Ceiling:Activation Ceiling@opset1 1 1 -
activation_ops.Abs:Activation Abs@opset1 1 1 -
activation_ops.Sign:Activation Sign@opset1 1 1 -
activation_ops.Elu:Activation Elu@opset1 1 1 alpha alpha=1.0
activation_ops.ThresholdedRelu:Activation ThresholdedRelu/ 1 1 - alpha=1.0
activation_ops.LeakyReLU LeakyReLU 1 1 negative_slope
activation_ops.LogicalNot:Activation LogicalNot@opset1 1 1 -
activation_ops.Log:Activation Log@opset1 1 1 -
activation_ops.SoftPlus:Activation SoftPlus@opset4 1 1 -
activation_ops.Mish:Activation Mish@opset4 1 1 -
activation_ops.HSwish:Activation HSwish@opset4 1 1 -
activation_ops.HSigmoid:Activation HSigmoid@opset5 1 1 -
activation_ops.Swish Swish@opset4 2 1 -
activation_ops.SoftSign:Activation SoftSign@opset9 1 1 -
adaptive_avg_pooling.AdaptiveAvgPooling AdaptiveAvgPooling/ 1 1 -
arange_like.ArangeLikeOp arange_like/ 1 1 -
argmax.ArgMaxOp ArgMax/ 2 1 out_max_val,top_k,axis output_type='@int64'
argmin.ArgMinOp ArgMin/ 2 1 top_k,axis output_type='@int64'
assert_op.Assert Assert/ - - -
assign.Assign Assign@opset6 1 1 variable_id
aten.ATen ATen/ - - mode,operator
axpy.AxpyOp Axpy/ - - -
binarization.Binarization Binarization/ 1 1 -
box_nms.BoxNms _contrib_box_nms/ - - coord_start,force_suppress,id_index,overlap_thresh,score_index,topk,
  valid_thresh coord_start=2 force_suppress=False id_index=0 overlap_thresh=0.45 score_index=1 topk=400
  valid_thresh=0.01
broadcast.Broadcast Broadcast@opset3 3 1 mode mode='numpy'
bucketize.Bucketize Bucketize@opset3 2 1 with_right_bound,output_type
clamp.AttributedClamp AttributedClamp/Clamp@opset1 1 1 max,min
clamp.Clamp Clamp/ 3 1 -
concat.Concat Concat@opset1 - 1 axis axis=1
const.Const Const@opset1 - 1 offset,size,shape,element_type value=None
constant_fill.ConstantFill ConstantFill/ 1 1 input_as_shape,fill_value input_as_shape=1
constant_of_shape.ConstantOfShape ConstantOfShape/ 1 1 fill_value fill_value=0
convolution.Convolution Convolution@opset1 3 1 auto_pad,strides,dilations,pads_begin,pads_end,output_padding,
  pad_value,mode
copyop.CopyOp copy/ - - -
correlation.CorrelationOp Correlation/ - - pad,kernel_size,max_displacement,stride_1,stride_2,single_direction,
  do_abs,correlation_type
crop.Crop Crop/ 2 1 axis,offset,dim,crop_begin,crop_end
ctc_greedy_decoder.CTCGreedyDecoderOp CTCGreedyDecoder@opset1 2 1 ctc_merge_repeated ctc_merge_repeated=True
ctc_greedy_decoder_seq_len.CTCGreedyDecoderSeqLenOp CTCGreedyDecoderSeqLen@opset6 3 2 classes_index_type,
  sequence_length_type,merge_repeated merge_repeated=True classes_index_type='@int32' sequence_length_type='@int32'
ctc_loss.CTCLoss CTCLoss@opset4 5 1 preprocess_collapse_repeated,ctc_merge_repeated,unique
  preprocess_collapse_repeated=False ctc_merge_repeated=True unique=False
cumsum.CumSum CumSum@opset3 2 1 exclusive,reverse
cumsum.MXNetCumSum MXNetCumSum/ 1 1 -
data_augmentation.DataAugmentationOp DataAugmentation/ - - crop_width,crop_height,write_augmented,max_multiplier,
  augment_during_test,recompute_mean,write_mean,mean_per_pixel,mean,mode,bottomwidth,bottomheight,num,
  chromatic_eigvec
deconvolution.Deconvolution Deconvolution@opset1 3 1 dilations,strides,pads_begin,pads_end,auto_pad
deformable_convolution.DeformableConvolution DeformableConvolution@opset8 3 1 auto_pad,strides,dilations,
  pads_begin,pads_end,output_padding,pad_value,mode,deformable_group,group,
  bilinear_interpolation_pad group=1 deformable_group=1 bilinear_interpolation_pad=False
depth_to_space.DepthToSpaceOp DepthToSpace@opset1 1 1 mode,block_size mode='blocks_first'
dequantize_linear.DequantizeLinear DequantizeLinear/ 3 1 axis
detection_output_onnx.ExperimentalDetectronDetectionOutput ExperimentalDetectronDetectionOutput@opset6 4 3
  class_agnostic_box_regression,max_detections_per_image,nms_threshold,num_classes,post_nms_count,score_threshold,
  max_delta_log_wh,deltas_weights
detectionoutput_onnx.ExperimentalDetectronDetectionOutput ExperimentalDetectronDetectionOutput@opset6 4 3
  class_agnostic_box_regression,max_detections_per_image,nms_threshold,num_classes,post_nms_count,score_threshold,
  max_delta_log_wh,deltas_weights
dft.FFTBase - 3 1 -
dft.DFT:FFTBase DFT@opset7 3 1 -
dft.IDFT:FFTBase IDFT@opset7 3 1 -
dft.RDFT RDFT@opset9 3 1 -
dft.IRDFT:FFTBase IRDFT@opset9 3 1 -
div_sqrt_dim.DivSqrtDimOp _contrib_div_sqrt_dim/ 1 1 -
dropoutmask.DropoutMask dropoutmaskcomponent/ 0 1 -
einsum.Einsum Einsum@opset7 - 1 equation
elementwise.Elementwise - 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.UnaryElementwise:Elementwise - 1 1 - auto_broadcast='numpy'
elementwise.Add:Elementwise Add@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.BiasAdd:Add Add/BiasAdd@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Sub:Elementwise Sub/Subtract@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Mul:Elementwise Mul/Multiply@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Div:Elementwise Div/Divide@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.SquaredDifference:Elementwise SquaredDifference@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Pow:Elementwise Pow/Power@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.LogicalElementwise:Elementwise - 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Greater:LogicalElementwise Greater@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.GreaterEqual:LogicalElementwise GreaterEqual@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Less:LogicalElementwise Less@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.LessEqual:LogicalElementwise LessEqual@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Equal:LogicalElementwise Equal@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.NotEqual:LogicalElementwise NotEqual@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Maximum:Elementwise Maximum@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Minimum:Elementwise Minimum@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Round:UnaryElementwise Round@opset5 1 1 mode auto_broadcast='numpy' mode='half_to_even'
elementwise.LogicalOr:LogicalElementwise LogicalOr@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.LogicalXor:Elementwise LogicalXor@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.LogicalAnd:LogicalElementwise LogicalAnd@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.FloorMod:Elementwise FloorMod@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Mod:Elementwise Mod@opset1 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.Negative:UnaryElementwise Negative@opset1 1 1 - auto_broadcast='numpy'
elementwise.Sqrt:UnaryElementwise Sqrt@opset1 1 1 - auto_broadcast='numpy'
elementwise.BitwiseAnd:Elementwise BitwiseAnd@opset13 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.BitwiseOr:Elementwise BitwiseOr@opset13 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.BitwiseXor:Elementwise BitwiseXor@opset13 2 1 auto_broadcast auto_broadcast='numpy'
elementwise.BitwiseNot:UnaryElementwise BitwiseNot@opset13 1 1 - auto_broadcast='numpy'
eltwise.Eltwise Add/Eltwise 2 1 operation operation='sum'
eltwise_n.EltwiseN EltwiseN/ - 1 -
eltwise_n.EltwiseNMul:EltwiseN EltwiseN/ - 1 - operation='mul'
eltwise_n.EltwiseNMin:EltwiseN EltwiseN/ - 1 - operation='min'
eltwise_n.EltwiseNMax:EltwiseN EltwiseN/ - 1 - operation='max'
eltwise_n.EltwiseNAdd:EltwiseN EltwiseN/ - 1 - operation='sum'
eltwise_ninputs_in_1.EltwiseNin1 EltwiseNin1/ - 1 -
embedding_bag.EmbeddingBagBase - - 1 -
embedding_bag.EmbeddingBagOffsetsSum:EmbeddingBagBase EmbeddingBagOffsetsSum@opset3 5 1 -
embedding_bag.EmbeddingBagPackedSum:EmbeddingBagBase EmbeddingBagPackedSum@opset3 3 1 -
embedding_bag.EmbeddingSegmentsSum:EmbeddingBagBase EmbeddingSegmentsSum@opset3 6 1 -
embedding_bag.EmbeddingSegmentsMean EmbeddingSegmentsMean/ 6 1 -
expand_dims.ExpandDims ExpandDims/ 1 1 -
eye.Eye Eye@opset9 4 1 output_type output_type='@float32'
eye.TFEye TFEye/ 3 1 - output_type='@float32'
eye.MXEye MXEye/ 0 1 - num_rows=1 num_columns=1 diagonal_index=0 output_type='@float32'
fake_output.FakeOutput FakeOutput/ 1 1 -
fakequantize.FakeQuantize FakeQuantize@opset1 5 1 levels,auto_broadcast auto_broadcast='numpy'
fill.Fill Fill/ 2 1 -
flatten.Flatten Flatten/ 1 1 -
flatten.FlattenONNX FlattenONNX/ 1 1 -
gather.Gather Gather@opset8 3 1 batch_dims batch_dims=0
gather.AttributedGather AttributedGather/Gather 2 1 axis axis=0
gatherelements.GatherElements GatherElements@opset6 2 1 axis axis=0
gathernd.GatherND GatherND@opset8 2 1 batch_dims batch_dims=0
gelu.GeLUOP Gelu@opset7 1 1 approximation_mode
grn.GRNOp GRN@opset1 1 1 bias
group_norm.GroupNorm GroupNorm/ 3 1 -
group_norm.GroupNormalization GroupNormalization@opset12 3 1 num_groups,epsilon
hard_sigmoid.HardSigmoid HardSigmoid@opset1 3 1 -
identity.Identity Identity/ 1 1 - identity=True
identity.IdentityN IdentityN/ - - -
instance_normalization.InstanceNormalization InstanceNormalization/ - - epsilon
interp.InterpOp Interp 2 1 height,width,zoom_factor,shrink_factor,factor,pad_beg,pad_end,align_corners
  align_corners=1 parse_2nd_input='value'
interpolate.Interpolate Interpolate@opset1 2 1 axes,antialias,align_corners,mode,pads_begin,pads_end
  align_corners=0 antialias=0 pads_begin=0 pads_end=0
layer_norm.LayerNorm LayerNorm/ 1 3 - axis=-1 epsilon=0.001 output_mean_var=False
log_softmax.LogSoftmax LogSoftmax@opset5 1 1 axis axis=1
log_softmax.LogSoftmaxONNX LogSoftmaxONNX/ 1 1 - axis=1
loop.Loop:TensorIterator Loop@opset5 - - -
lrn.LRN LRN@opset1 2 1 alpha,beta,bias,size
lrn.AttributedLRN AttributedLRN/ 1 1 alpha,beta,bias,local_size,region bias=1 region='across'
lstm_cell.LSTMCell LSTMCell@opset4 5 2 hidden_size,activations,activations_alpha,activations_beta,clip
  wr_input_id=3 gates_count=4
lstm_sequence.LSTMSequence LSTMSequence/ - - hidden_size,activations,activations_alpha,activations_beta,clip,
  direction blobs_wrb=False has_num_directions=False direction='forward' num_layers=1
lstmnonlinearity.LstmNonLinearity LstmNonLinearity/ 1 1 - use_dropout=False
memory.Memory Memory 1 1 id,size,index
memoryoffset.MemoryOffset MemoryOffset/ 1 1 - splitted=False has_default=False
merge.Merge Merge/ - - -
multinomial.Multinomial Multinomial@opset13 2 1 convert_type,with_replacement,log_probs,global_seed,op_seed
  with_replacement=False log_probs=False global_seed=0 op_seed=0 convert_type='@int64'
mvn.MVN MVN@opset6 2 1 eps,eps_mode,normalize_variance
mvn.MVNOnnx MVNOnnx/ 1 1 -
mvn.MVNCaffe MVNCaffe/ 1 1 - eps=1e-09
mxfft.MXFFT MXFFT/ 1 1 is_inverse
mxrepeat.MXRepeat MXRepeat/ 1 1 axis,repeats
mxreshape.MXReshape MXReshape/ 2 1 - reverse=False
nms_rotated.NMSRotated NMSRotated@opset13 5 3 sort_result_descending,output_type,clockwise
  sort_result_descending=True output_type='@int64' clockwise=True
non_max_suppression.NonMaxSuppression NonMaxSuppression@opset9 5 3 sort_result_descending,box_encoding,
  output_type output_type='@int64' box_encoding='corner' sort_result_descending=1
non_zero.NonZero NonZero@opset3 1 1 output_type
normalize.NormalizeOp Normalize/ 2 1 across_spatial,channel_shared,eps p=2
normalize_l2.NormalizeL2Op NormalizeL2@opset1 2 1 eps,eps_mode
one_hot.OneHot OneHot@opset1 4 1 axis axis=-1
pack.PackOp Pack/ - 1 axis
pad.Pad Pad@opset1 4 1 pad_mode mode='constant'
pad.AttributedPad AttributedPad/ 1 1 - mode='constant' fill_value=0.0
pad.TFPad TFPad/ 3 1 - mode='constant'
pad.ONNXPad ONNXPad/ 3 1 - mode='constant'
parameter.Parameter Parameter@opset1 - 1 shape,element_type is_input=True data_type='@float32'
permute.Permute Permute 1 1 order
pnorm.PNormOp pnorm/ 1 1 -
pooling.PoolingV2 PoolingV2/ 3 1 -
pooling.Pooling Pooling@opset1 1 1 strides,kernel,pads_begin,pads_end,exclude-pad,rounding_type,auto_pad
power.AttributedPower AttributedPower/Power 1 1 power,scale,shift power=1 scale=1 shift=0
power_file.PowerFileOp PowerFile/ 1 1 normalize_variance,across_channels,shift_file
prediction_heatmap.PredictionHeatmapOp PredictionHeatmap/ 1 1 -
prelu.PReLU PReLU@opset1 2 1 -
priorbox.PriorBoxOp PriorBox@opset1 2 1 flip,clip,step,offset,scale_all_sizes,min_size,max_size,aspect_ratio,
  variance,density,fixed_size,fixed_ratio flip=True clip=True scale_all_sizes=True
priorbox_clustered.PriorBoxClusteredOp PriorBoxClustered@opset1 2 1 clip,img_h,img_w,step,step_h,step_w,offset,
  variance,width,height clip=True
priorgridgenerator_onnx.ExperimentalDetectronPriorGridGenerator
  ExperimentalDetectronPriorGridGenerator@opset6 - - flatten,h,w,stride_x,stride_y
proposal.ProposalOp Proposal@opset4 3 2 feat_stride,base_size,min_size,ratio,scale,pre_nms_topn,post_nms_topn,
  nms_thresh,framework,box_coordinate_scale,box_size_scale,normalize,clip_after_nms,
  clip_before_nms post_nms_topn=300 normalize=False clip_before_nms=True clip_after_nms=False
proposal_onnx.ExperimentalDetectronGenerateProposalsSingleImage
  ExperimentalDetectronGenerateProposalsSingleImage@experimental - -
  min_size,nms_threshold,post_nms_count,pre_nms_count
proposal_python_example.ProposalPythonExampleOp Proposal - - - post_nms_topn=300
psroipooling.PSROIPoolingOp PSROIPooling@opset2 2 1 spatial_scale,output_dim,group_size,mode,spatial_bins_x,
  spatial_bins_y mode='average' trans_std=0 no_trans=True
psroipooling.DeformablePSROIPoolingOp:PSROIPoolingOp DeformablePSROIPooling@opset1 3 1 spatial_scale,output_dim,
  group_size,mode,spatial_bins_x,spatial_bins_y,trans_std,part_size mode='bilinear_deformable' trans_std=0
  no_trans=True
quantize_linear.QuantizeLinear QuantizeLinear/ 3 1 axis
random_uniform.RandomUniform RandomUniform@opset8 3 1 output_type,global_seed,op_seed global_seed=0 op_seed=0
  output_type='@float32'
random_uniform.AttributedRandomUniform AttributedRandomUniform/ 1 1 - global_seed=0 op_seed=0 output_type='@float32'
range.Range Range@opset4 3 1 output_type
rank.Rank Rank/ 1 1 - output_type='@int64'
read_value.ReadValue ReadValue@opset6 1 1 variable_id,variable_shape,variable_type
regionyolo.RegionYoloOp RegionYolo@opset1 1 1 coords,classes,num,axis,end_axis,do_softmax,anchors,mask
reorgyolo.ReorgYoloOp ReorgYolo@opset2 - - stride
reshape.Reshape Reshape@opset1 2 1 special_zero special_zero=True
resize.ResizeOp Resize/ 2 1 mode
restrictedattentioncomponent.RestrictedAttentionComponent restrictedattentioncomponent/ 1 1 - has_default=False
result.Result Result@opset1 1 - -
reverse_sequence.ReverseSequence ReverseSequence@opset1 2 1 seq_axis,batch_axis batch_axis=0
roialign.ROIAlign ROIAlign@opset9 3 1 mode,pooled_h,pooled_w,sampling_ratio,spatial_scale,aligned_mode
  aligned_mode='asymmetric'
roifeatureextractor_onnx.ExperimentalDetectronROIFeatureExtractor
  ExperimentalDetectronROIFeatureExtractor@opset6 - 2 pyramid_scales,output_size,sampling_ratio,aligned
roipooling.ROIPooling ROIPooling@opset2 2 1 pooled_h,pooled_w,spatial_scale,method spatial_scale=0.0625 method='max'
roll.Roll Roll@opset7 3 1 -
roll.AttributedRoll AttributedRoll/ 3 1 -
scale_shift.ScaleShiftOp ScaleShift 3 1 -
scatter.Scatter - 4 1 -
scatter.ScatterElementsAdd:Scatter ScatterElementsAdd/ 4 1 -
scatter.ScatterElementsDiv:Scatter ScatterElementsDiv/ 4 1 -
scatter.ScatterElementsMax:Scatter ScatterElementsMax/ 4 1 -
scatter.ScatterElementsMin:Scatter ScatterElementsMin/ 4 1 -
scatter.ScatterElementsMul:Scatter ScatterElementsMul/ 4 1 -
scatter.ScatterElementsSub:Scatter ScatterElementsSub/ 4 1 -
scatter.ScatterElementsUpdate:Scatter ScatterElementsUpdate@opset3 4 1 - is_scatter=True
scatter.ScatterAdd:Scatter ScatterAdd/ 4 1 -
scatter.ScatterDiv:Scatter ScatterDiv/ 4 1 -
scatter.ScatterMax:Scatter ScatterMax/ 4 1 -
scatter.ScatterMin:Scatter ScatterMin/ 4 1 -
scatter.ScatterMul:Scatter ScatterMul/ 4 1 -
scatter.ScatterSub:Scatter ScatterSub/ 4 1 -
scatter.ScatterUpdate:Scatter ScatterUpdate@opset3 4 1 - is_scatter=True
scatternd.ScatterNDBase - 3 1 -
scatternd.ScatterNDUpdate:ScatterNDBase ScatterNDUpdate@opset4 3 1 -
scatternd.TFScatterND TFScatterND/ 3 1 -
select.Select Select@opset1 3 1 auto_broadcast auto_broadcast='numpy'
shape.Shape ShapeOf@opset3 1 1 output_type output_type='@int64'
shufflechannel.ShuffleChannels ShuffleChannels@opset3 1 1 group,axis axis=1
simplernms.SimplerNMSOp SimplerNMS@experimental - - cls_threshold,max_num_proposals,iou_threshold,min_bbox_size,
  feat_stride,pre_nms_topn,post_nms_topn,scale cls_threshold=0.5 max_num_proposals=300 iou_threshold=0.7
  min_bbox_size=16 feat_stride=16 pre_nms_topn=6000 post_nms_topn=150
size.Size Size/ - 2 -
slice.AttributedSlice AttributedSlice/ 1 1 -
slice.CaffeSlice CaffeSlice/ 1 1 -
slice.TFSlice TFSlice/ 3 1 -
slice.MXSlice MXSlice/ 1 1 -
slice.Slice Slice/ 5 1 -
slice.OvSlice OvSlice/ 5 1 -
slice_like.SliceLike slice_like/ 2 1 -
softmax.Softmax SoftMax@opset8 1 1 axis axis=1
softmax.SoftmaxONNX SoftMaxONNX/ 1 1 - axis=1
space_to_batch.SpaceToBatch SpaceToBatch@opset2 3 1 -
space_to_batch.BatchToSpace BatchToSpace@opset2 3 1 -
space_to_depth.SpaceToDepth SpaceToDepth@opset1 1 1 mode,block_size mode='blocks_first'
sparse_fill_empty_rows.SparseFillEmptyRows SparseFillEmptyRows/ 4 3 -
sparse_reshape.SparseReshape SparseReshape/ 3 2 -
sparse_segment_mean.SparseSegmentMean SparseSegmentMean/ 3 1 -
sparse_segment_sqrtn.SparseSegmentSqrtN SparseSegmentSqrtN/ 3 1 -
sparse_segment_sum.SparseSegmentSum SparseSegmentSum/ 3 1 -
spatial_transformer.SpatialTransformOp SpatialTransformer@experimental - - transform_type,sampler_type,output_H,
  output_W,to_compute_dU,theta_1_1,theta_1_2,theta_1_3,theta_2_1,theta_2_2,theta_2_3
splice.Splice Splice/ 1 1 - const_dim=0
split.VariadicSplitBase - - - -
split.VariadicSplit VariadicSplit@opset1 3 - -
split.AttributedVariadicSplit:VariadicSplitBase AttributedVariadicSplit/VariadicSplit@opset1 1 2 -
split.SplitBase - - - -
split.Split Split@opset1 2 - num_splits
split.AttributedSplit:SplitBase AttributedSplit/Split@opset1 1 - num_splits,axis
squeeze.Squeeze Squeeze@opset1 2 1 - keep_at_least_1d=0
stop_gradient.StopGradientOp StopGradient/ 1 1 - identity=True
strided_slice.StridedSlice StridedSlice@opset1 4 1 begin_mask,end_mask,new_axis_mask,shrink_axis_mask,ellipsis_mask
swapaxis.SwapAxis SwapAxis/ 1 1 -
switch.Switch Switch/ - - -
tdnncomponent.TdnnComponent tdnncomponent/ 1 1 -
tensor_iterator.TensorIterator TensorIterator@opset1 - - -
tile.Tile Tile@opset1 2 1 -
tile.AttributedTile AttributedTile/Tile@opset1 1 1 axis,tiles
timeheightconvolution.TimeHeightConvolutionComponent timeheightconvolutioncomponent/ 1 1 -
topk.TopK TopK@opset3 3 2 axis,mode,sort,index_element_type index_element_type='@int32' mode='max' sort='none'
topkrois_onnx.ExperimentalDetectronTopKROIs ExperimentalDetectronTopKROIs@opset6 - - max_rois
transpose.Transpose Transpose@opset1 2 1 -
unique.Unique Unique/ 1 3 sorted,return_inverse,return_counts
unsqueeze.Unsqueeze Unsqueeze@opset1 2 1 -
upsample.UpsampleOp Upsample/ 2 1 height_scale,width_scale,mode
"""
