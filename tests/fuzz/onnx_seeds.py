#!/usr/bin/env python3
"""Writes a small ONNX model for every layer type that has an import rule: seeds for fuzzing.

  tests/fuzz/onnx_seeds.py DIR [GRAFT]     with the program graft: fails if a layer type that it imports has no seed

An input is written "f[2,3]" (a parameter) or "i[2]{1,2}" (a constant; fewer values are repeated), "" where it is absent;
"m[7,1]" is a map with keys and values of these ONNX types.
"""
import json
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
import onnx_writer as onnx  # noqa: E402

#        number of the type, format of struct
TYPES = {"f": (1, "f"), "u": (2, "B"), "c": (3, "b"), "j": (6, "i"), "i": (7, "q"), "s": (8, None), "b": (9, "?"), "h": (10, "e"), "d": (11, "d")}
MS, ML, OV = "com.microsoft", "ai.onnx.ml", "org.openvinotoolkit"
X, V = "f[1,3,6,6]", "f[2,3]"

SEEDS = []


def parse(text):
    kind, rest = text[0], text[2:]
    dims, _, content = rest.partition("]")
    dims = [int(d) for d in dims.split(",") if d]
    return kind, dims, [float(v) for v in content.strip("{}").split(",")] if content else None


def content(kind, dims, values):
    count = 1
    for d in dims:
        count *= d
    code = TYPES[kind][1]
    return b"".join(struct.pack("<" + code, values[i % len(values)] if code in "fed" else int(values[i % len(values)])) for i in range(count))


def seed(types, *inputs, outputs=1, version=17, domain="", **attributes):
    for kind in types.split():
        SEEDS.append((kind, domain, inputs, [node(kind, len(inputs), outputs, domain, inputs, attributes)], outputs, version))


def node(kind, count, outputs, domain, inputs, attributes):
    return onnx.node(kind, ["i%d" % i if inputs[i] else "" for i in range(count)], ["o%d" % i for i in range(outputs)], domain=domain, **attributes)


def chain(types, inputs, *nodes, outputs=1, version=17, domain=""):
    """Several layers, written out: values are i0, i1, ... and o0, o1, ..."""
    for kind in types.split():
        SEEDS.append((kind, domain, inputs, nodes, outputs, version))


def body(inputs, outputs, *nodes):
    return onnx.Graph(onnx.graph("body", nodes, [], [onnx.data(1, i) for i in inputs], [onnx.data(1, o) for o in outputs]))


def weights(kind, *values):
    return onnx.Tensor(onnx.tensor("", [len(values)], content(kind, [len(values)], values), TYPES[kind][0]))


seed("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Identity IsInf IsNaN Log Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh "
     "Softplus Softsign Sqrt Tan Tanh HardSwish Mish NonZero Size Shape Dropout Hardmax LogSoftmax Softmax Celu Elu Selu HardSigmoid LeakyRelu "
     "ThresholdedRelu Shrink LpNormalization Flatten", V, version=18)
seed("Gelu Swish", V, version=24)
seed("Not", "b[2,3]")
seed("BitwiseNot", "j[2,3]", version=18)
seed("Add Sub Mul Div Pow Max Min Sum Mean PRelu Greater GreaterOrEqual Less LessOrEqual Equal", V, "f[3]")
seed("Add Sub Mul Div Pow Equal", V, "f[3]", version=6, axis=1, broadcast=1)
seed("Mod", "i[2,3]", "i[3]{2,3,5}")
seed("Mod", V, "f[3]", fmod=1)
seed("And Or Xor", "b[2,3]", "b[3]")
seed("BitwiseAnd BitwiseOr BitwiseXor", "j[2,3]", "j[3]", version=18)
seed("BitShift", "u[2,3]", "u[3]{1,2,3}", direction="LEFT")
seed("Clip", V, "f[]{-1}", "f[]{1}")
seed("Clip", V, version=6, min=-1.0, max=1.0)
seed("Where", "b[2,3]", V, "f[3]")
seed("Cast", V, to=7)
seed("CastLike", V, "i[1]", version=19)
seed("Concat", V, V, axis=1)
seed("Split", "f[2,6]", outputs=2, axis=1)
seed("Split", "f[2,6]", "i[2]{2,4}", outputs=2, axis=1)
seed("Transpose", V, perm=[1, 0])
seed("Reshape", V, "i[2]{3,-1}")
seed("Reshape", V, version=1, shape=[3, 2])
seed("Expand", "f[1,3]", "i[2]{2,3}")
seed("Tile", V, "i[2]{2,1}")
seed("Tile", V, "f[]{2}", "f[]{1}", version=1)
seed("Squeeze", "f[1,3]", "i[1]{0}")
seed("Squeeze", "f[1,3]", version=11, axes=[0])
seed("Unsqueeze", V, "i[1]{0}")
seed("Unsqueeze", V, version=11, axes=[0])
seed("Gather", V, "i[2]{0,1}", axis=1)
seed("GatherElements", V, "i[2,3]{0,1,0,1,0,1}", axis=0)
seed("GatherND", V, "i[2,1]{0,1}", batch_dims=0)
seed("Scatter", V, "i[1,3]{0,1,0}", "f[1,3]", version=10, axis=0)
seed("ScatterElements", V, "i[1,3]{0,1,0}", "f[1,3]", version=18, axis=0, reduction="add")
seed("ScatterND", V, "i[1,1]{1}", "f[1,3]", version=18, reduction="mul")
seed("Slice", "f[4,6]", "i[2]{0,1}", "i[2]{3,5}", "i[2]{0,1}", "i[2]{1,2}")
seed("Slice", "f[4,6]", version=9, starts=[0, 1], ends=[3, 5], axes=[0, 1])
seed("Pad", V, "i[4]{1,0,0,2}", "f[]{1.5}", mode="constant")
seed("Pad", X, version=2, mode="reflect", pads=[0, 0, 1, 1, 0, 0, 1, 1], value=0.0)
seed("Pad", V, "i[4]{1,0,0,2}", version=19, mode="wrap")
seed("Pad", V, "i[2]{1,2}", "f[]{1.5}", "i[1]{1}", version=18, mode="constant")
seed("Pad", V, "i[4]{1,0,0,2}", version=18, mode="edge")
seed("Range", "i[]{0}", "i[]{9}", "i[]{2}")
seed("ConstantOfShape", "i[2]{2,3}")
seed("ConstantFill", "i[2]{2,3}", version=1, input_as_shape=1, value=2.0)
seed("EyeLike", V, k=1)
seed("OneHot", "i[3]{0,1,2}", "i[]{4}", "f[2]{0,1}", axis=-1)
seed("CumSum", V, "i[]{1}", exclusive=1, reverse=1)
seed("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare", V, "i[1]{1}", version=18, keepdims=0)
seed("ReduceSum ReduceMean ReduceMax ReduceL2 ReduceLogSumExp", V, version=11, axes=[1], keepdims=1)
seed("ArgMax ArgMin", V, axis=1, keepdims=0, select_last_index=1)
seed("TopK", V, "i[1]{2}", outputs=2, axis=1, largest=1, sorted=1)
seed("Trilu", "f[3,3]", "i[]{1}", upper=1)
seed("Compress", V, "b[2]{1,0}", axis=0)
seed("Unique", "f[6]", outputs=4, sorted=1)
seed("Unique", V, outputs=4, axis=0)
seed("ReverseSequence", "f[4,2]", "i[2]{2,4}", batch_axis=1, time_axis=0)
seed("DepthToSpace", "f[1,8,2,2]", blocksize=2, mode="CRD")
seed("SpaceToDepth", "f[1,2,4,4]", blocksize=2)
seed("Det", "f[2,3,3]")
seed("Einsum", V, "f[3,2]", equation="ij,jk->ik")
seed("MatMul", V, "f[3,2]")
seed("Gemm", V, "f[4,3]", "f[4]", alpha=0.5, beta=0.5, transB=1)
seed("Conv", X, "f[2,3,3,3]{1}", "f[2]{0.5}", strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1], kernel_shape=[3, 3])
seed("Conv", "f[1,4,6]", "f[4,2,3]", group=2, auto_pad="SAME_UPPER")
seed("ConvTranspose", X, "f[3,2,3,3]", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1], dilations=[1, 1])
seed("ConvTranspose", X, "f[3,2,3,3]", strides=[2, 2], output_shape=[12, 12], group=1)
seed("ConvInteger", "u[1,3,6,6]", "u[2,3,3,3]{1,2,3}", "u[]{1}", "u[]{1}", pads=[1, 1, 1, 1])
seed("DeformConv", X, "f[2,3,3,3]", "f[1,18,4,4]", "f[2]", "f[1,9,4,4]", version=19, offset_group=1, kernel_shape=[3, 3])
seed("DeformableConv2D", X, "f[1,18,4,4]", "f[2,3,3,3]", domain="org.openvinotoolkit", version=1, strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1])
seed("MaxPool", X, outputs=2, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 0, 0], dilations=[1, 1], ceil_mode=1, storage_order=0)
seed("AveragePool", X, version=19, kernel_shape=[2, 2], strides=[2, 2], pads=[1, 1, 0, 0], dilations=[1, 1], ceil_mode=1, count_include_pad=1)
seed("LpPool", X, version=18, kernel_shape=[2, 2], strides=[2, 2], p=2)
seed("GlobalAveragePool GlobalMaxPool GlobalLpPool", X)
seed("MaxRoiPool", X, "f[1,5]{0,0,0,3,3}", pooled_shape=[2, 2], spatial_scale=1.0)
seed("MaxUnpool", "f[1,1,2,2]", "i[1,1,2,2]{0,2,8,10}", kernel_shape=[2, 2], strides=[2, 2])
seed("RoiAlign", X, "f[1,4]{0,0,4,4}", "i[1]{0}", output_height=2, output_width=2, sampling_ratio=2, spatial_scale=0.5, mode="avg")
seed("LRN", X, size=3, alpha=0.1, beta=0.5, bias=1.0)
seed("BatchNormalization", X, "f[3]", "f[3]", "f[3]", "f[3]{1}", epsilon=0.001)
seed("BatchNormalization", X, "f[3]", "f[3]", "f[3]", "f[3]{1}", outputs=3, training_mode=1, momentum=0.5)
seed("InstanceNormalization", X, "f[3]", "f[3]")
seed("GroupNormalization", "f[1,4,3,3]", "f[4]", "f[4]", version=21, num_groups=2)
seed("LayerNormalization", V, "f[3]", "f[3]", axis=-1, epsilon=0.001)
seed("RMSNormalization", V, "f[3]", version=23, axis=-1)
seed("SimplifiedLayerNormalization", V, "f[3]", axis=-1)
seed("MeanVarianceNormalization", X, axes=[0, 2, 3])
seed("Resize", X, "", "f[4]{1,1,2,2}", mode="linear", coordinate_transformation_mode="half_pixel", nearest_mode="floor", cubic_coeff_a=-0.5, exclude_outside=1)
seed("Resize", X, "", "", "i[4]{1,3,4,9}", version=19, mode="cubic", antialias=1)
seed("Resize", X, "", "f[2]{2,3}", version=18, axes=[2, 3], mode="nearest")
seed("Resize", X, "", "", "i[2]{4,9}", version=18, axes=[2, 3], mode="linear", keep_aspect_ratio_policy="not_larger")
seed("Resize", X, "f[8]{0,0,0,0,1,1,1,1}", "", "i[4]{1,3,4,9}", version=13, mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=1.0)
seed("Upsample", X, "f[4]{1,1,2,2}", version=9, mode="nearest")
seed("GridSample", X, "f[1,4,4,2]", version=20, mode="linear", padding_mode="border", align_corners=1)
seed("AffineGrid", "f[1,2,3]", "i[4]{1,2,3,3}", version=20, align_corners=1)
seed("CenterCropPad", "f[4,5]", "i[2]{3,7}", version=18, axes=[0, 1])
seed("Col2Im", "f[1,4,4]", "i[2]{3,3}", "i[2]{2,2}", version=18, strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1])
seed("NonMaxSuppression", "f[1,4,4]", "f[1,1,4]", "i[]{2}", "f[]{0.5}", "f[]{0}", center_point_box=1)
seed("STFT", "f[1,16,1]", "i[]{4}", "f[8]", "i[]{8}", onesided=1)
seed("DFT", "f[1,8,1]", "i[]{6}", axis=1, onesided=1)
seed("DFT", "f[1,8,2]", "", "i[]{1}", version=20, inverse=1)
seed("HannWindow HammingWindow BlackmanWindow", "i[]{8}", periodic=1)
seed("MelWeightMatrix", "i[]{4}", "i[]{8}", "i[]{8000}", "f[]{0}", "f[]{4000}", output_datatype=1)
R = dict(hidden_size=2, direction="bidirectional")
seed("RNN", "f[3,1,4]", "f[2,2,4]", "f[2,2,2]", "f[2,4]", "i[1]{3}", "f[2,1,2]", outputs=2, **R)
seed("GRU", "f[3,1,4]", "f[2,6,4]", "f[2,6,2]", "f[2,12]", "i[1]{3}", "f[2,1,2]", outputs=2, linear_before_reset=1, **R)
seed("LSTM", "f[3,1,4]", "f[2,8,4]", "f[2,8,2]", "f[2,16]", "i[1]{3}", "f[2,1,2]", "f[2,1,2]", "f[2,6]", outputs=3, clip=2.0, **R)
seed("GRU", "f[3,1,4]", "f[1,6,4]", "f[1,6,2]", outputs=2, hidden_size=2, layout=0)
seed("LSTM", "f[3,1,4]", "f[1,8,4]", "f[1,8,2]", outputs=2, hidden_size=2, layout=0)
seed("Attention", "f[1,2,3,4]", "f[1,2,5,4]", "f[1,2,5,4]", version=23, is_causal=1, scale=0.5, softcap=2.0)
seed("Attention", "f[1,3,8]", "f[1,5,8]", "f[1,5,8]", "f[3,5]", version=23, q_num_heads=2, kv_num_heads=2)
seed("RotaryEmbedding", "f[1,2,3,4]", "f[8,2]", "f[8,2]", "i[1,3]{0,1,2}", version=23, interleaved=1, rotary_embedding_dim=4, num_heads=2)
seed("Bernoulli", V, seed=1.0)
seed("Multinomial", V, sample_size=4, seed=1.0)
seed("RandomNormal RandomUniform", shape=[2, 3], seed=1.0)
seed("RandomNormalLike RandomUniformLike", V, seed=1.0)
seed("QuantizeLinear", V, "f[]{0.1}", "u[]{128}", version=19, saturate=1)
seed("QuantizeLinear", V, "f[3]{0.1}", "u[3]{128}", version=21, axis=1)
seed("DequantizeLinear", "u[2,3]", "f[3]{0.1}", "u[3]{128}", version=21, axis=1, block_size=0)
seed("DynamicQuantizeLinear", V, outputs=3)
seed("MatMulInteger", "u[2,3]", "u[3,2]", "u[]{1}", "u[]{2}")
seed("QLinearMatMul", "u[2,3]", "f[]{0.1}", "u[]{1}", "u[3,2]", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}")
seed("QLinearConv", "u[1,3,6,6]", "f[]{0.1}", "u[]{1}", "u[2,3,3,3]{1,2}", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}", "j[2]{3}", pads=[1, 1, 1, 1])
seed("NegativeLogLikelihoodLoss", "f[2,3]", "i[2]{0,2}", "f[3]{1}", reduction="mean", ignore_index=1)
seed("SoftmaxCrossEntropyLoss", "f[2,3]", "i[2]{0,2}", "f[3]{1}", outputs=2, reduction="sum", ignore_index=1)
seed("StringConcat", "s[2]", "s[2]", version=20)
seed("StringNormalizer", "s[2]", case_change_action="UPPER", is_case_sensitive=0)
seed("StringSplit", "s[2]", outputs=2, version=20, delimiter=",", maxsplit=2)
seed("RegexFullMatch", "s[2]", version=20, pattern="a(b|c)*")
seed("ImageDecoder", "u[12]{80,53,32,49,32,49,32,50,53,53,10,7}", version=20, pixel_format="BGR")
seed("TfIdfVectorizer", "i[6]{1,2,3,1,2,3}", max_gram_length=2, max_skip_count=1, min_gram_length=1, mode="TF", ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3], pool_int64s=[1, 2, 3, 1, 2])
seed("ImageScaler", X, version=1, scale=2.0, bias=[1.0, 2.0, 3.0])
seed("Crop", X, version=1, border=[1, 1, 1, 1])
seed("Affine ParametricSoftplus ScaledTanh", V, version=1, alpha=0.5, beta=0.5)
seed("SequenceConstruct", V, V)

seed("ArrayFeatureExtractor", V, "i[2]{0,2}", domain=ML, version=1)
seed("Binarizer", V, domain=ML, version=1, threshold=0.5)
seed("Normalizer", V, domain=ML, version=1, norm="L2")
seed("Scaler", V, domain=ML, version=1, offset=[1.0, 2.0, 3.0], scale=[0.5, 1.0, 2.0])
seed("LabelEncoder", "i[3]{1,2,3}", domain=ML, version=2, keys_int64s=[1, 2], values_int64s=[7, 8], default_int64=9)
TREE = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[0.5, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"])
seed("TreeEnsembleRegressor", V, domain=ML, version=1, n_targets=1, target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0], **TREE)
seed("TreeEnsembleClassifier", V, outputs=2, domain=ML, version=1, class_treeids=[0, 0], class_nodeids=[1, 2], class_ids=[0, 1], class_weights=[1.0, 2.0], classlabels_int64s=[3, 4], **TREE)

seed("FusedMatMul TransposeMatMul", V, "f[3,2]", domain=MS, version=1, alpha=0.5)
seed("FusedGemm", V, "f[3,2]", "f[2]", domain=MS, version=1, activation="Relu")
seed("FusedConv", X, "f[2,3,3,3]", "f[2]", domain=MS, version=1, activation="Relu", pads=[1, 1, 1, 1])
seed("Gelu", V, domain=MS, version=1)
seed("MatMulNBits", "f[2,32]", "u[4,1,16]", "f[4]", domain=MS, version=1, K=32, N=4, bits=4, block_size=32)
seed("MultiHeadAttention", "f[1,3,8]", "f[1,5,8]", "f[1,5,8]", domain=MS, version=1, num_heads=2, scale=0.5, unidirectional=1)
seed("DecoderMaskedMultiHeadAttention", "f[1,1,8]", "f[1,1,8]", "f[1,1,8]", domain=MS, version=1, num_heads=2)
seed("Attention", "f[1,3,4]", "f[4,24]", "f[24]", domain=MS, version=1, num_heads=2, unidirectional=1)
seed("GroupQueryAttention", "f[1,1,16]", "f[1,1,8]", "f[1,1,8]", "f[1,1,3,8]", "f[1,1,3,8]", "j[1]{3}", "j[]{4}", outputs=3, domain=MS, version=1, num_heads=2, kv_num_heads=1)
seed("RotaryEmbedding", "f[1,3,8]", "i[1,3]{0,1,2}", "f[8,2]", "f[8,2]", domain=MS, version=1, num_heads=2)
seed("RelativePositionBias", "f[4,2]", "i[]{3}", "i[]{3}", domain=MS, version=1, max_distance=8, is_bidirectional=1)
seed("SimplifiedLayerNormalization", V, "f[3]", domain=MS, version=1)
seed("SkipLayerNormalization", "f[1,2,4]", "f[1,2,4]", "f[4]", "f[4]", "f[4]", domain=MS, version=1, epsilon=0.001)
seed("QuickGelu", V, domain=MS, version=1, alpha=1.7)
seed("BiasGelu FastGelu", "f[1,2,4]", "f[4]", domain=MS, version=1)
seed("QLinearAdd QLinearMul", "u[2,3]", "f[]{0.1}", "u[]{1}", "u[2,3]", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}", domain=MS, version=1)
seed("QLinearSigmoid QLinearLeakyRelu", "u[2,3]", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}", domain=MS, version=1)
seed("QLinearGlobalAveragePool", "u[1,3,4,4]", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}", domain=MS, version=1)
seed("QLinearConcat", "f[]{0.1}", "u[]{1}", "u[2,3]", "f[]{0.1}", "u[]{1}", "u[2,3]", "f[]{0.1}", "u[]{1}", domain=MS, version=1, axis=1)
seed("DynamicQuantizeMatMul", V, "u[3,2]", "f[]{0.1}", "u[]{1}", domain=MS, version=1)
seed("MatMulIntegerToFloat", "u[2,3]", "u[3,2]", "f[]{0.1}", "f[]{0.1}", "u[]{1}", "u[]{1}", domain=MS, version=1)
seed("QLinearWhere", "b[3,1]{1,0,1}", "u[3,4]", "f[]{0.1}", "u[]{1}", "u[1,4]", "f[]{0.2}", "u[]{2}", "f[]{0.1}", "u[]{1}", domain=MS, version=1)
seed("QLinearConv", "u[1,4,4,2]", "f[]{0.1}", "u[]{1}", "c[3,2,2,2]", "f[]{0.1}", "c[]{0}", "f[]{0.1}", "u[]{1}", "j[3]", domain=MS, version=1, channels_last=1)
seed("QAttention", "u[1,3,4]", "c[4,24]", "f[24]", "f[]{0.1}", "f[]{0.1}", "", "u[]{1}", "c[]{0}", domain=MS, version=1, num_heads=2, unidirectional=1)
seed("GatherBlockQuantized", "u[4,16]", "i[2]{1,3}", "f[4,2]", domain=MS, version=1, bits=4, block_size=16, gather_axis=0, quantize_axis=1)
seed("MoE", "f[3,4]", "f[3,3]", "f[3,2,4]", "f[3,2]", "f[3,4,2]", "f[3,4]", domain=MS, version=1, k=2, activation_type="silu", normalize_routing_weights=1)
seed("MoE", "f[3,4]", "f[3,3]", "f[3,4,4]", "f[3,4]", "f[3,4,2]", "f[3,4]", domain=MS, version=1, k=1, activation_type="swiglu", swiglu_fusion=1, swiglu_limit=2.0, activation_alpha=1.5, activation_beta=1.0)
seed("QMoE", "f[2,16]", "f[2,3]", "u[3,16,8]", "f[3,16]", "", "u[3,16,8]", "f[3,16]", domain=MS, version=1, k=2, expert_weight_bits=4)
seed("Inverse", "f[2,2]{1,2,3,4}", domain=MS, version=1)
seed("CDist", "f[3,4]", "f[2,4]", domain=MS, version=1, metric="euclidean")
seed("ExpandDims", V, "j[]{1}", domain=MS, version=1)
seed("BiasSplitGelu", "f[1,2,4]", "f[4]", domain=MS, version=1)
seed("GroupNorm", "f[1,3,3,4]", "f[4]", "f[4]", domain=MS, version=1, groups=2, activation=1, channels_last=1, epsilon=0.001)
seed("SkipGroupNorm", "f[1,3,3,4]", "f[4]", "f[4]", "f[1,4]", "f[4]", outputs=2, domain=MS, version=1, groups=2, activation=0)
seed("NhwcConv", "f[1,4,4,3]", "f[2,3,2,2]", "f[2]", domain=MS, version=1, pads=[0, 0, 1, 1])
seed("NhwcMaxPool", "u[1,4,4,3]", domain=MS, version=1, kernel_shape=[2, 2], strides=[2, 2])
seed("GridSample", X, "f[1,2,2,2]", domain=MS, version=1, mode="bilinear", padding_mode="zeros", align_corners=1)
seed("ReorderInput ReorderOutput", "f[1,16,4,4]", domain=MS + ".nchwc", version=1, channels=16)  # refused

seed("FakeQuantize", V, "f[]{0}", "f[]{1}", "f[]{0}", "f[]{1}", domain=OV, version=1, levels=256)
seed("PriorBox", "f[1,3,4,4]", "f[1,3,32,32]", domain=OV, version=1, min_size=[4.0], max_size=[8.0], aspect_ratio=[2.0], flip=1, clip=0, variance=[0.1, 0.1, 0.2, 0.2])
seed("PriorBoxClustered", "f[1,3,4,4]", "f[1,3,32,32]", domain=OV, version=1, width=[4.0], height=[4.0], variance=[0.1, 0.1, 0.2, 0.2])
seed("DetectionOutput", "f[1,8]", "f[1,4]", "f[1,2,8]", domain=OV, version=1, num_classes=2, top_k=4, keep_top_k=[4], nms_threshold=0.5, code_type="caffe.PriorBoxParameter.CENTER_SIZE")
seed("GroupNorm", "f[1,4,3,3]", "f[4]", "f[4]", domain=OV, version=1, num_groups=2, eps=0.001)
seed("Swish", V, domain=OV, version=1)
seed("NMSRotated", "f[1,4,5]", "f[1,1,4]", domain="mmdeploy", version=1, iou_threshold=0.5, score_threshold=0.1)
seed("MMCVRoIAlignRotated", X, "f[1,6]{0,2,2,2,2,0}", domain="mmdeploy", version=1, output_height=2, output_width=2, sampling_ratio=2, spatial_scale=0.5, aligned=1, clockwise=0)
seed("adaptive_avg_pool2d", X, "i[2]{2,2}", domain="org.pytorch.aten", version=1)
seed("IsFinite", V)
seed("BifurcationDetector", "i[4]{1,2,3,4}", "i[5]{1,2,3,4,5}", "i[1]{0}", "i[2]{1,2}", outputs=2, domain=MS, version=1, min_ngram_size=1, max_ngram_size=3)
seed("BiasAdd", "f[1,3,2]", "f[2]", "f[1,3,2]", domain=MS, version=1)
seed("SkipSimplifiedLayerNormalization", "f[1,2,4]", "f[1,2,4]", "f[4]", domain=MS, version=1, epsilon=0.001)
seed("EmbedLayerNormalization", "j[1,3]{0,1,2}", "j[1,3]{0,1,0}", "f[5,4]", "f[5,4]", "f[2,4]", "f[4]", "f[4]", outputs=2, domain=MS, version=1, epsilon=0.001)
seed("QGemm", "u[2,3]", "f[]{0.1}", "u[]{1}", "u[3,2]", "f[]{0.1}", "u[]{1}", "j[2]{3}", "f[]{0.1}", "u[]{1}", domain=MS, version=1, alpha=0.5)
seed("QLinearAveragePool", "u[1,3,4,4]", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}", domain=MS, version=1, kernel_shape=[2, 2])
seed("QLinearReduceMean", "u[2,3]", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}", domain=MS, version=1, axes=[1], keepdims=0)
seed("QLinearSoftmax", "u[2,3]", "f[]{0.1}", "u[]{1}", "f[]{0.1}", "u[]{1}", domain=MS, version=1, axis=1, opset=13)
seed("Normalize", X, "f[3]{1}", domain=OV, version=1, eps=0.001, across_spatial=1, channel_shared=0)
seed("ExperimentalDetectronGroupNorm", "f[1,4,3,3]", "f[4]", "f[4]", domain=OV, version=1, num_groups=2, eps=0.001)
seed("ExperimentalDetectronTopKROIs", "f[4,4]", "f[4]", domain=OV, version=1, max_rois=2)
seed("ExperimentalDetectronPriorGridGenerator", "f[3,4]", "f[1,3,4,4]", "f[1,3,32,32]", domain=OV, version=1, flatten=1, h=0, w=0, stride_x=8.0, stride_y=8.0)
seed("ExperimentalDetectronROIFeatureExtractor", "f[2,4]{0,0,8,8}", "f[1,3,8,8]", outputs=2, domain=OV, version=1, output_size=2, sampling_ratio=2, pyramid_scales=[4], aligned=0)
seed("ExperimentalDetectronDetectionOutput", "f[4,4]{0,0,8,8}", "f[4,8]", "f[4,2]", "f[1,3]{32,32,1}", outputs=3, domain=OV, version=1, num_classes=2,
     post_nms_count=4, max_detections_per_image=4, score_threshold=0.1, nms_threshold=0.5)
seed("ExperimentalDetectronGenerateProposalsSingleImage", "f[3]{32,32,1}", "f[12,4]", "f[12,2,2]", "f[3,2,2]", outputs=2, domain=OV, version=1, min_size=0.0,
     nms_threshold=0.5, pre_nms_count=6, post_nms_count=4)
seed("GenerateProposals", "f[1,3,2,2]", "f[1,12,2,2]", "f[1,3]{32,32,1}", "f[3,4]", outputs=3, domain=OV, version=1, min_size=0.0, nms_thresh=0.5,
     pre_nms_topN=6, post_nms_topN=4)
seed("ATen", "f[5,3]", "i[4]{0,1,2,3}", "i[2]{0,2}", outputs=4, operator="embedding_bag", mode=0)
seed("ATen", "f[5,3]", "i[4]{0,1,2,3}", "i[2]{0,2}", outputs=4, domain="org.pytorch.aten", version=1, operator="embedding_bag", mode=0)
seed("TreeEnsemble", V, domain=ML, version=5, n_targets=1, tree_roots=[0], nodes_featureids=[0], nodes_splits=weights("f", 0.5), nodes_modes=weights("u", 0),
     nodes_truenodeids=[0], nodes_trueleafs=[1], nodes_falsenodeids=[1], nodes_falseleafs=[1], leaf_targetids=[0, 0], leaf_weights=weights("f", 1.0, 2.0))
chain("Constant", [V], onnx.node("Constant", [], ["c"], value=weights("f", 1.0, 2.0, 3.0)), onnx.node("Add", ["i0", "c"], ["o0"]))
chain("Constant", [V], onnx.node("Constant", [], ["c"], value_ints=[3, 2]), onnx.node("Reshape", ["i0", "c"], ["o0"]))
chain("Optional OptionalGetElement", [V], onnx.node("Optional", ["i0"], ["p"]), onnx.node("OptionalGetElement", ["p"], ["o0"]), version=18)
chain("OptionalHasElement", [V], onnx.node("Optional", ["i0"], ["p"]), onnx.node("OptionalHasElement", ["p"], ["o0"]), version=18)
chain("SequenceConstruct SequenceErase SequenceLength", [V, V], onnx.node("SequenceConstruct", ["i0", "i1"], ["s"]), onnx.node("SequenceErase", ["s"], ["t"]),
      onnx.node("SequenceLength", ["t"], ["o0"]))
chain("SequenceInsert SequenceAt ConcatFromSequence", [V, V, "i[]{0}"], onnx.node("SequenceConstruct", ["i0"], ["s"]),
      onnx.node("SequenceInsert", ["s", "i1", "i2"], ["t"]), onnx.node("SequenceAt", ["t", "i2"], ["o0"]), onnx.node("ConcatFromSequence", ["t"], ["o1"], axis=1), outputs=2)
chain("SequenceMap", [V, V], onnx.node("SequenceConstruct", ["i0", "i1"], ["s"]),
      onnx.node("SequenceMap", ["s"], ["t"], body=body(["a"], ["b"], onnx.node("Relu", ["a"], ["b"]))), onnx.node("ConcatFromSequence", ["t"], ["o0"], axis=0))
chain("SplitToSequence", ["f[4,3]"], onnx.node("SplitToSequence", ["i0"], ["s"], axis=0), onnx.node("ConcatFromSequence", ["s"], ["o0"], axis=0, new_axis=1))
chain("If", ["b[]", V], onnx.node("If", ["i0"], ["o0"], then_branch=body([], ["t"], onnx.node("Relu", ["i1"], ["t"])),
                                  else_branch=body([], ["e"], onnx.node("Neg", ["i1"], ["e"]))))
chain("Loop", ["i[]{3}", "b[]{1}", V], onnx.node("Loop", ["i0", "i1", "i2"], ["o0", "o1"], body=body(
    ["n", "c", "v"], ["d", "w", "u"], onnx.node("Identity", ["c"], ["d"]), onnx.node("Add", ["v", "v"], ["w"]), onnx.node("Neg", ["v"], ["u"]))), outputs=2)
chain("Scan", ["f[3]", "f[4,3]"], onnx.node("Scan", ["i0", "i1"], ["o0", "o1"], num_scan_inputs=1, scan_input_axes=[0], scan_input_directions=[1], body=body(
    ["s", "x"], ["t", "y"], onnx.node("Add", ["s", "x"], ["t"]), onnx.node("Neg", ["x"], ["y"]))), outputs=2)
seed("DynamicQuantizeLSTM", "f[3,2,2]", "u[1,2,8]", "u[1,2,8]", "", "", "", "", "", "f[1]{0.01}", "u[1]{128}", "f[1]{0.01}", "u[1]{128}", outputs=3, domain=MS,
     version=1, hidden_size=2)
chain("SequenceEmpty", [V], onnx.node("SequenceEmpty", [], ["s"], dtype=1), onnx.node("SequenceInsert", ["s", "i0"], ["t"]),
      onnx.node("ConcatFromSequence", ["t"], ["o0"], axis=0))
chain("ZipMap", [V], onnx.node("ZipMap", ["i0"], ["o0"], domain=ML, classlabels_int64s=[1, 2, 3]), domain=ML, version=1)

seed("CastMap", "m[7,1]", domain=ML, version=1, cast_to="TO_FLOAT", map_form="DENSE")
seed("CastMap", "m[7,1]", domain=ML, version=1, cast_to="TO_INT64", map_form="SPARSE", max_map=5)
seed("DictVectorizer", "m[8,1]", domain=ML, version=1, string_vocabulary=["a", "b", "c"])
seed("DictVectorizer", "m[7,11]", domain=ML, version=1, int64_vocabulary=[0, 2, 1])

def model(kind, domain, inputs, nodes, outputs, version):
    parameters, constants = [], []
    for i, text in enumerate(inputs):
        if not text:
            continue
        letter, dims, values = parse(text)
        if letter == "m":
            parameters.append(onnx.mapping("i%d" % i, *dims))
            continue
        number = TYPES[letter][0]
        if values is None:
            parameters.append(onnx.value("i%d" % i, dims, number))
        else:
            constants.append(onnx.tensor("i%d" % i, dims, content(letter, dims, values), number))
    opsets = {"": version} if not domain else {"": 17, domain: version}
    return onnx.model("seed", nodes, constants, parameters, [onnx.data(1, "o%d" % i) for i in range(outputs)], opsets)


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for i, s in enumerate(SEEDS):
        with open(os.path.join(sys.argv[1], "%03d_%s" % (i, s[0])), "wb") as f:
            f.write(model(*s))
    print("%d models of %d types of layers" % (len(SEEDS), len({s[0] for s in SEEDS})))
    if len(sys.argv) > 2:
        rules = json.loads(subprocess.run([sys.argv[2], "ops", "--framework", "onnx", "--json"], stdout=subprocess.PIPE, check=True).stdout)
        missing = sorted({r["type"] for r in rules if r["origin"] == "built-in"} - {s[0] for s in SEEDS})
        if missing:
            sys.exit("no seed for " + ", ".join(missing))


if __name__ == "__main__":
    main()
