"""The names that the Model Optimizer gives to framework layers, so that patterns match layers no extension touches.

``Type=op``: a layer of this type has that `op`; a type without an entry keeps its own name. ``Type=op:new<field`` also
gives the node the attribute `new` from a field of the layer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .datatypes import tf_dtype

__all__ = ["op_name", "is_known", "attributes_of"]

_CAFFE = """
Accum ArgMax:axis<argmax_param.axis,top_k<argmax_param.top_k BatchNorm=batchNormInference:eps<batch_norm_param.eps Bias=Add BN
Concat:axis<concat_param.axis Convolution ConvolutionBinary=Convolution Correlation Crop:axis<crop_param.axis CTCGreedyDecoder
DataAugmentation Deconvolution=Convolution DetectionOutput Dropout=Identity Eltwise=Add ELU=Elu:alpha<elu_param.alpha
Flatten:axis<flatten_param.axis,end_axis<flatten_param.end_axis GRN:bias<grn_param.bias InnerProduct=FullyConnected Interp
Input=Parameter LRN=AttributedLRN MVN=MVNCaffe Normalize Permute=Transpose:order<permute_param.order Pooling
Power=AttributedPower:power<power_param.power,scale<power_param.scale,shift<power_param.shift PowerFile PReLU PriorBox
PriorBoxClustered Proposal PSROIPooling Python RegionYolo ReLU:negative_slope<relu_param.negative_slope ReLU6=AttributedClamp
ReorgYolo Resample=Interpolate Reshape:dim<reshape_param.shape.dim ROIPooling Scale=ScaleShift ShuffleChannel=ShuffleChannels
Sigmoid SimplerNMS Slice=CaffeSlice:axis<slice_param.axis Softmax=SoftMax:axis<softmax_param.axis SpatialTransformer Split
TanH=Tanh Tile AbsVal=Abs Axpy BinaryConvolution Exp Log Reduction Silence Threshold
"""

_MXNET = """
_arange=Range _contrib_AdaptiveAvgPooling2D=AdaptiveAvgPooling _contrib_box_nms
_contrib_DeformableConvolution=DeformableConvolution _contrib_MultiBoxDetection=DetectionOutput _contrib_Proposal=Proposal
_contrib_PSROIPooling=PSROIPooling _copy=Identity _maximum=Maximum _minimum=Minimum _np_cumsum=MXNetCumSum
_np_roll=AttributedRoll _npi_einsum=Einsum _Plus=Add _rnn_param_concat=Concat _zeros=Const add_n=EltwiseN arccosh=Acosh
arcsinh=Asinh arctanh=Atanh BlockGrad=Identity broadcast_add=Add broadcast_div=Div broadcast_equal=Equal
broadcast_greater=Greater broadcast_greater_equal=GreaterEqual broadcast_lesser=Less broadcast_lesser_equal=LessEqual
broadcast_logical_and=LogicalAnd broadcast_logical_or=LogicalOr broadcast_maximum=Maximum broadcast_minimum=Minimum
broadcast_mul=Mul broadcast_not_equal=NotEqual broadcast_power=Pow broadcast_sub=Sub Cast clip=AttributedClamp Convolution Crop
Deconvolution=Convolution Dropout=Identity ElementWiseSum=EltwiseN elemwise_add=Add elemwise_div=Div elemwise_mul=Mul
elemwise_sub=Sub Embedding exp=Exp expand_dims=ExpandDims fft=MXFFT Flatten FullyConnected ifft=MXFFT
InstanceNorm=InstanceNormalization LRN=AttributedLRN max=ReduceMax Pad=AttributedPad Pooling repeat=MXRepeat Reshape RNN
ROIPooling round=Round shape_array=ShapeOf sigmoid=Sigmoid slice=MXSlice slice_like SliceChannel=AttributedSplit softmax=SoftMax
SoftmaxActivation=SoftMax SoftmaxOutput=SoftMax squeeze=Squeeze stack=Pack swapaxes=SwapAxis SwapAxis take=AttributedGather
tile=Tile transpose=Transpose UpSampling=Interpolate where=Select BatchNorm Concat L2Normalization Activation LeakyReLU Custom
"""

_ONNX = """
Abs Acos Acosh Add And=LogicalAnd ArgMax ArgMin Asin Asinh Atan Atanh ATen AveragePool=Pooling
BatchNormalization=batchNormInference:eps<epsilon Cast Ceil=Ceiling Clip=AttributedClamp Concat Constant=Const ConstantFill
ConstantOfShape Conv=Convolution ConvTranspose=Convolution Cos Cosh Crop CumSum DeformableConv2D=DeformableConvolution
DepthToSpace DequantizeLinear DetectionOutput Div Dropout=Identity Einsum Elu Equal Erf Exp Expand=Broadcast
ExperimentalDetectronGroupNorm=GroupNorm FakeQuantize Flatten=FlattenONNX Floor Gather=AttributedGather GatherElements GatherND
Gemm:transpose_a<transA,transpose_b<transB GlobalAveragePool=Pooling GlobalMaxPool=Pooling Greater GreaterOrEqual=GreaterEqual
GroupNorm GRU Identity ImageScaler InstanceNormalization LeakyRelu=LeakyReLU:negative_slope<alpha Less LessOrEqual=LessEqual Log
LogSoftmax=LogSoftmaxONNX Loop LpNormalization=NormalizeL2 LRN=AttributedLRN LSTM MatMul Max=EltwiseN MaxPool=Pooling
MeanVarianceNormalization=MVNOnnx Min=EltwiseN Mul Neg=AttributedPower NonMaxSuppression NonZero Normalize Not=LogicalNot OneHot
Or=LogicalOr Pad=ONNXPad Pow PriorBox PriorBoxClustered QuantizeLinear Range ReduceL1:keep_dims<keepdims
ReduceL2:keep_dims<keepdims ReduceMax:keep_dims<keepdims ReduceMean:keep_dims<keepdims ReduceMin:keep_dims<keepdims
ReduceProd:keep_dims<keepdims ReduceSum:keep_dims<keepdims Relu=ReLU Reshape Resize=ONNXResize11 ReverseSequence RNN ROIAlign
Round Scale=AttributedPower Scatter=ScatterElementsUpdate ScatterElements=ScatterElementsUpdate ScatterND=ScatterNDUpdate
Shape=ShapeOf Sigmoid Sign Sin Sinh Size Slice Softmax=SoftMaxONNX Softplus=SoftPlus SpaceToDepth Split=AttributedSplit
Sqrt=AttributedPower Squeeze:squeeze_dims<axes Sub Sum=EltwiseN Tan Tanh ThresholdedRelu TopK Transpose:order<perm
Unsqueeze=ExpandDims:expand_axis<axes Upsample Where=Select Xor=LogicalXor Reciprocal Mod Hardmax HardSigmoid HardSwish
"""

_TENSORFLOW = """
Abs Acosh Add AddN=EltwiseN AddV2=Add All=ReduceAnd:keep_dims<keep_dims ArgMax ArgMin Asinh Atanh AvgPool=Pooling
AvgPool3D=Pooling AvgPoolV2=PoolingV2 BatchMatMul=MatMul:transpose_a<adj_x,transpose_b<adj_y
BatchMatMulV2=MatMul:transpose_a<adj_x,transpose_b<adj_y BatchToSpaceND=BatchToSpace BiasAdd=Add BlockLSTM BroadcastTo=Broadcast
Bucketize Cast:dst_type<DstT Ceil=Ceiling Concat ConcatV2=Concat Const Conv2D=Convolution Conv2DBackpropInput=Deconvolution
Conv3D=Convolution Conv3DBackpropInputV2=Deconvolution Cos Cosh CropAndResize CTCGreedyDecoder=CTCGreedyDecoderSeqLen CTCLoss
Cumsum=CumSum DepthToSpace DepthwiseConv2dNative=Convolution Einsum Elu Equal Erf EuclideanNorm=ReduceL2 Exp
ExpandDims=Unsqueeze ExtractImagePatches FFT=TFFFT FFT2D=TFFFT FFT3D=TFFFT Fill Floor FloorMod Gather=AttributedGather
FusedBatchNorm:eps<epsilon,is_training<is_training FusedBatchNormV2:eps<epsilon,is_training<is_training
FusedBatchNormV3:eps<epsilon,is_training<is_training GatherNd=GatherND GatherTree GatherV2=Gather Greater GreaterEqual
Identity IdentityN IFFT=TFFFT IFFT2D=TFFFT IFFT3D=TFFFT IteratorGetNext LeakyRelu=LeakyReLU:negative_slope<alpha Less LessEqual
Log LogicalAnd LogicalNot LogicalOr LogSoftmax LRN=AttributedLRN MatMul:transpose_a<transpose_a,transpose_b<transpose_b
Max=ReduceMax:keep_dims<keep_dims Maximum MaxPool=Pooling MaxPool3D=Pooling MaxPoolV2=PoolingV2
Mean=ReduceMean:keep_dims<keep_dims Min=ReduceMin:keep_dims<keep_dims Minimum MirrorPad=TFPad Mul Neg=AttributedPower
NonMaxSuppressionV2=NonMaxSuppression NonMaxSuppressionV3=NonMaxSuppression NonMaxSuppressionV4=NonMaxSuppression
NonMaxSuppressionV5=NonMaxSuppression NotEqual OneHot Pack:axis<axis Pad=TFPad PadV2=TFPad Placeholder=Parameter
PlaceholderWithDefault Pow Prod=ReduceProd:keep_dims<keep_dims Range Rank ReadVariableOp=Identity RealDiv=Div Relu=ReLU
Relu6=AttributedClamp Reshape ResizeBilinear=TFResize ResizeNearestNeighbor=TFResize ReverseSequence ReverseV2=Reverse Roll Round
Rsqrt=AttributedPower Select SelectV2=Select Shape=ShapeOf Sigmoid Sign Sin Sinh Size Slice=TFSlice Softmax=SoftMax
Softplus=SoftPlus SpaceToBatchND=SpaceToBatch SpaceToDepth Split SplitV=VariadicSplit Sqrt=AttributedPower
Square=AttributedPower SquaredDifference Squeeze:squeeze_dims<squeeze_dims StopGradient=Identity
StridedSlice Sub Sum=ReduceSum:keep_dims<keep_dims swish_f32=Swish Tan Tanh Tile TopK TopKV2=TopK Transpose Unique Unpack=AttributedSplit
While=Loop ZerosLike=AttributedPower Complex ComplexAbs Real Imag FloorDiv Softsign
"""


class _Names:
    def __init__(self, text: str) -> None:
        self.ops: "dict[str, str]" = {}
        self.fields: "dict[str, list[tuple[str, str]]]" = {}
        for word in text.split():
            head, _, fields = word.partition(":")
            kind, _, op = head.partition("=")
            self.ops[kind.lower()] = op or kind
            self.fields[kind.lower()] = [(n, f) for n, _, f in (x.partition("<") for x in fields.split(",") if x)]


_TABLES = {"caffe": _Names(_CAFFE), "mxnet": _Names(_MXNET), "onnx": _Names(_ONNX), "tensorflow": _Names(_TENSORFLOW),
           "kaldi": _Names("")}
# Of these operations the power is the type's.
_POWERS = {"neg": (1, -1, 0), "sqrt": (0.5, 1, 0), "square": (2, 1, 0), "rsqrt": (-0.5, 1, 0), "zeroslike": (1, 0, 0)}


def is_known(framework: str, type: str) -> bool:
    return type.lower() in _TABLES[framework].ops


def op_name(framework: str, type: str) -> str:
    return _TABLES[framework].ops.get(type.lower(), type)


def attributes_of(framework: str, layer: Any) -> "dict[str, Any]":
    """Attributes of an untouched layer: its own fields by their names, and the Model Optimizer's names for some."""
    fields = layer.fields
    found = {k: _value(fields[k]) for k in fields if "." not in k and k not in _RESERVED}
    for name, field in _TABLES[framework].fields.get(layer.type.lower(), []):
        value = fields[field] if field in fields else _default(framework, field)
        if value is not None:
            found[name] = _value(value)
    power = _POWERS.get(layer.type.lower())
    if power is not None:
        found.update(zip(("power", "scale", "shift"), power))
    return found


_RESERVED = {"name", "op", "type", "kind", "id", "graph", "node", "infer", "value", "shape", "pb", "version", "IE"}


def _default(framework: str, field: str) -> Any:
    if framework != "caffe":
        return None
    from .caffe_schema import DEFAULTS

    return DEFAULTS.get(field)


def _value(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, (int, np.integer)) for v in value):
        return np.array(value, dtype=np.int64)
    if isinstance(value, np.dtype):
        return tf_dtype(value)
    return value
