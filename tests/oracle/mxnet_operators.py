"""Writes tests/readers/mxnet_*.test: a case per operator and form of it, with the values that MXNet computes.

    scripts/mxnet.sh && build/oracle/mxnet/bin/python tests/oracle/mxnet_operators.py tests/readers

`make oracle` writes them elsewhere and runs those.

Inputs are few and short, so that a case can be read.
"""
import json
import sys

import mxnet as mx
import numpy as np

S, C, I = mx.sym, mx.sym.contrib, mx.sym._internal
CASES = []


def case(name, build, *inputs, **options):
    """`build` makes the symbol from one variable per input: a shape, or values."""
    CASES.append((name, build, inputs, options))


def number(v):
    if np.isnan(v):
        return "nan"
    if np.isinf(v):
        return "inf" if v > 0 else "-inf"
    return repr(round(float(v), 6)) if v != int(v) or abs(v) > 1e9 else str(int(v))


TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "int32": "i32", "int64": "i64", "uint8": "u8", "int8": "i8"}


def tensor(a):
    return "%s[%s] {%s}" % (TYPES[str(a.dtype)], ",".join(map(str, a.shape)), ", ".join(number(v) for v in a.reshape(-1)))


def values(rng, given):
    if isinstance(given, np.ndarray):
        return given
    return np.round(rng.uniform(-2, 2, size=given), 2).astype(np.float32)


def shortened(symbol):
    """Lists that are not needed are left out; variables share a line."""
    j = json.loads(symbol.tojson())
    def kept(node):
        out = {k: v for k, v in node.items() if k in ("op", "name", "attrs", "inputs") and v}
        if "attrs" in out and "__subgraph_name__" in out["attrs"]:
            out["attrs"].pop("__subgraph_name__")
        if "subgraphs" in node:
            out["subgraphs"] = [{"nodes": [kept(n) for n in g["nodes"]], "heads": g["heads"]} for g in node["subgraphs"]]
        return out

    nodes = [json.dumps(kept(n)) for n in j["nodes"]]
    lines = [""]
    for n in nodes:
        if len(lines[-1]) + len(n) > 150:
            lines.append("")
        lines[-1] += n + ", "
    return '{"nodes": [%s],\n "heads": %s, "attrs": %s}' % ("\n  ".join(lines)[:-2], json.dumps(j["heads"]), json.dumps(j["attrs"]))


def written(number_of_case, name, build, inputs, options):
    rng = np.random.RandomState(number_of_case)
    arrays = [values(rng, i) for i in inputs]
    names = ["x", "y", "z", "u", "v"][:len(arrays)]
    declared = options.get("declared", len(arrays))  # the others have no shape: a state that has one begins with zeros
    variables = [S.Variable(n, shape=a.shape if i < declared else None, dtype=a.dtype) for i, (n, a) in enumerate(zip(names, arrays))]
    with mx.name.NameManager():
        symbol = build(*variables)
    shapes = dict(zip(names, [a.shape for a in arrays]))
    known = {n: s for n, s in shapes.items() if n in symbol.list_inputs()}
    argument_shapes, _, state_shapes = symbol.infer_shape_partial(**known)  # the outputs of loops may stay unknown
    given, states, stored = {}, {}, []
    for n, s in zip(symbol.list_arguments(), argument_shapes):
        fixed = options.get("weights", {}).get(n)
        if n in names:
            given[n] = mx.nd.array(arrays[names.index(n)], dtype=arrays[names.index(n)].dtype)
        else:
            a = np.asarray(fixed, np.float32) if fixed is not None else values(rng, s)
            given[n] = mx.nd.array(a)
            stored.append('"arg:%s": %s' % (n, tensor(a)))
    for n, s in zip(symbol.list_auxiliary_states(), state_shapes):
        a = np.abs(values(rng, s)) + 0.5
        states[n] = mx.nd.array(a)
        stored.append('"aux:%s": %s' % (n, tensor(a.astype(np.float32))))
    run = symbol.bind(mx.cpu(), given, aux_states=states)
    results = [o.asnumpy() for o in run.forward(is_train=False)]
    out = "== %s\nmxnet <<<\n%s\n>>>\n" % (name, shortened(symbol))
    if stored:
        out += "weights {%s}\n" % ",\n  ".join(stored)
    for n, a in zip(names, arrays):
        if n in known:
            out += "%s = %s\n" % (n, tensor(a))
    for r in results:
        out += "-> %s\n" % tensor(r)
    return out + "tolerance %s\n\n" % options.get("tolerance", "1e-4")


def f(*v):
    return np.array(v, np.float32)


BOXES = np.array([[[0, .9, .1, .1, .5, .5], [1, .8, .12, .1, .5, .52], [0, .7, .11, .12, .52, .5], [0, .05, .6, .6, .9, .9], [1, .6, .55, .6, .9, .95]]], np.float32)
ROIS = f(0, 0, 0, 4, 4, 0, 1, 2, 5, 5).reshape(2, 5)


def rnn(mode, inputs, layers=1, both=False, **more):
    def build(x, *states):
        named = dict(zip(["state", "state_cell"], states))
        return S.RNN(x, S.Variable("w"), mode=mode, state_size=2, num_layers=layers, bidirectional=both, name="r", **named, **more)
    case("RNN %s%s%s%s" % (mode, ", %d layers" % layers if layers > 1 else "", ", both directions" if both else "", ", states" if more.get("state_outputs") else ""), build, (3, 2, 2), *inputs, declared=1)


def layers():
    case("Convolution with groups and dilation", lambda x: S.Convolution(x, kernel=(2, 2), num_filter=4, num_group=2, dilate=(2, 1), pad=(1, 0), name="c"), (1, 2, 4, 4))
    case("Convolution in 3-D without bias", lambda x: S.Convolution(x, kernel=(2, 2, 2), num_filter=1, no_bias=True, name="c"), (1, 1, 3, 3, 3))
    case("Deconvolution with adj", lambda x: S.Deconvolution(x, kernel=(3, 3), num_filter=2, stride=(2, 2), pad=(1, 1), adj=(1, 1), name="d"), (1, 1, 2, 3))
    case("Deconvolution in 1-D", lambda x: S.Deconvolution(x, kernel=(3,), num_filter=1, stride=(2,), no_bias=False, name="d"), (1, 2, 3))
    case("DeformableConvolution", lambda x, y: C.DeformableConvolution(x, y, kernel=(2, 2), num_filter=2, name="d"), (1, 2, 4, 4), (1, 8, 3, 3))
    case("ModulatedDeformableConvolution", lambda x, y, z: C.ModulatedDeformableConvolution(x, y, z, kernel=(2, 2), num_filter=1, no_bias=True, name="d"), (1, 1, 3, 3), (1, 8, 2, 2), (1, 4, 2, 2))
    for convention in ("valid", "full"):
        case("Pooling max, " + convention, lambda x, c=convention: S.Pooling(x, kernel=(3, 2), stride=(2, 2), pad=(1, 1), pool_type="max", pooling_convention=c), (1, 1, 5, 6))
    for convention in ("valid", "full"):
        for include in (True, False):
            case("Pooling avg, %s%s" % (convention, "" if include else ", without padding"), lambda x, c=convention, i=include: S.Pooling(x, kernel=(3, 2), stride=(2, 3), pad=(1, 1), pool_type="avg", pooling_convention=c, count_include_pad=i), (1, 1, 5, 6))
    case("Pooling sum, full", lambda x: S.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="sum", pooling_convention="full"), (1, 1, 4, 6))
    case("Pooling lp", lambda x: S.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="lp", p_value=2), (1, 1, 4, 4))
    case("Pooling lp 3, global", lambda x: S.Pooling(x, kernel=(2, 2), global_pool=True, pool_type="lp", p_value=3), (1, 2, 2, 2))
    case("Pooling in 1-D", lambda x: S.Pooling(x, kernel=(2,), pool_type="avg"), (1, 2, 4))
    case("AdaptiveAvgPooling2D", lambda x: C.AdaptiveAvgPooling2D(x, output_size=(2, 3)), (1, 1, 5, 7))


def activations():
    case("UpSampling of two inputs", lambda x, y: S.UpSampling(x, y, scale=2, sample_type="nearest", num_args=2), (1, 1, 2, 2), (1, 2, 1, 1))
    case("UpSampling of two inputs, summed", lambda x, y: S.UpSampling(x, y, scale=2, sample_type="nearest", num_args=2, multi_input_mode="sum"), (1, 1, 2, 2), (1, 1, 1, 1))
    case("UpSampling bilinear by 3", lambda x: S.UpSampling(x, S.Variable("w"), scale=3, sample_type="bilinear", num_filter=1, num_args=2), (1, 1, 2, 2))
    case("FullyConnected of 3-D data", lambda x: S.FullyConnected(x, num_hidden=2, name="f"), (2, 2, 2))
    for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
        case("Activation " + kind, lambda x, k=kind: S.Activation(x, act_type=k), (2, 3))
    for kind in ("leaky", "elu", "selu", "gelu", "rrelu"):
        case("LeakyReLU " + kind, lambda x, k=kind: S.LeakyReLU(x, act_type=k)[0], (2, 3))
    case("LeakyReLU prelu", lambda x: S.LeakyReLU(x, act_type="prelu", name="p"), (1, 2, 2, 2))
    case("hard_sigmoid", lambda x: S.hard_sigmoid(x, alpha=0.3, beta=0.4), (2, 3))
    case("softmax with temperature", lambda x: S.softmax(x, axis=0, temperature=2.0), (2, 3))
    case("softmax with lengths", lambda x, y: S.softmax(x, y, use_length=True, axis=1), (2, 3), np.array([1, 2], np.int32))
    case("softmin", lambda x: S.softmin(x), (2, 3))
    case("log_softmax", lambda x: S.log_softmax(x), (2, 3))
    case("SoftmaxActivation of samples", lambda x: S.SoftmaxActivation(x), (2, 2, 2))
    case("SoftmaxOutput of channels", lambda x: S.SoftmaxOutput(x, S.Variable("label"), multi_output=True, name="s"), (1, 2, 3), weights={"label": np.zeros((1, 3))})
    case("SoftmaxOutput of samples", lambda x: S.SoftmaxOutput(x, S.Variable("label"), name="s"), (2, 3), weights={"label": np.zeros(2)})
    case("MAERegressionOutput", lambda x: S.MAERegressionOutput(x, S.Variable("label")), (2, 3), weights={"label": np.zeros((2, 3))})
    case("MakeLoss", lambda x: S.MakeLoss(x), (3,))
    case("SVMOutput", lambda x: S.SVMOutput(x, S.Variable("label")), (2, 3), weights={"label": np.zeros(2)})
    case("BatchNorm along the last axis", lambda x: S.BatchNorm(x, axis=-1, fix_gamma=False, name="b"), (2, 3))
    case("InstanceNorm", lambda x: S.InstanceNorm(x, name="n"), (1, 2, 2, 2))
    case("LayerNorm", lambda x: S.LayerNorm(x, name="n"), (2, 3))
    case("LayerNorm along axis 1", lambda x: S.LayerNorm(x, axis=1, name="n"), (1, 3, 2))
    case("GroupNorm", lambda x: S.GroupNorm(x, num_groups=2, name="n"), (1, 4, 2))
    for mode in ("instance", "channel", "spatial"):
        case("L2Normalization " + mode, lambda x, m=mode: S.L2Normalization(x, mode=m), (1, 2, 2, 2))
    case("Embedding out of range", lambda x: S.Embedding(x, input_dim=3, output_dim=2, name="e"), f(0, 2, 7, -1))
    for mode, counts in (("lstm", 2), ("gru", 1), ("rnn_relu", 1), ("rnn_tanh", 1)):
        state = [(1, 2, 2)] * counts
        rnn(mode, state)
        rnn(mode, [(4, 2, 2)] * counts, layers=2, both=True, state_outputs=True)


def elements():
    for name in ("abs arccos arcsin arctanh erfinv".split()):
        case(name, lambda x, n=name: getattr(S, n)(x), f(-0.5, 0, 0.25, 0.9), tolerance="1e-3")
    for name in ("arccosh log log2 log10 log1p sqrt rsqrt reciprocal cbrt rcbrt".split()):
        case(name, lambda x, n=name: getattr(S, n)(x), f(1, 1.5, 2, 8))
    for name in ("arcsinh arctan ceil cos cosh degrees erf exp expm1 floor fix negative radians relu rint round sigmoid sign sin sinh "
                 "softsign square tan tanh trunc logical_not zeros_like ones_like".split()):
        case(name, lambda x, n=name: getattr(S, n)(x), f(-2.5, -1.2, -0.5, 0, 0.5, 1.5, 2.5))


def pairs():
    for name in ("add sub mul div mod maximum minimum hypot equal not_equal greater greater_equal lesser lesser_equal logical_and "
                 "logical_or logical_xor".split()):
        case("broadcast_" + name, lambda x, y, n=name: getattr(S, "broadcast_" + n)(x, y), f(-2, 0, 1, 3).reshape(2, 2), f(1, 2))
    case("broadcast_power", lambda x, y: S.broadcast_power(x, y), f(1, 2, 3, 4).reshape(2, 2), f(0.5, 2))
    for name in ("_maximum _minimum _mod _hypot _equal _not_equal _greater _greater_equal _lesser _lesser_equal _power _logical_and _logical_or _logical_xor".split()):
        case(name, lambda x, y, n=name: getattr(I, n)(x, y), f(1, 2, 3), f(2, 2, 1.5))


def functions():
    for name in ("plus minus rminus mul div rdiv mod rmod maximum minimum power rpower hypot equal not_equal greater greater_equal lesser "
                 "lesser_equal logical_and logical_or logical_xor".split()):
        case("_%s_scalar" % name, lambda x, n=name: getattr(I, "_%s_scalar" % n)(x, scalar=2), f(1, 2, 3))
    case("smooth_l1", lambda x: S.smooth_l1(x, scalar=1.5), f(-2, -0.2, 0, 0.3, 1))
    case("add_n of one", lambda x: S.add_n(x), (3,))
    case("Cast to int32", lambda x: S.Cast(x, dtype="int32"), f(-1.7, 2.9))
    case("Cast of int32", lambda x: S.Cast(x, dtype="float32"), np.array([3, -4], np.int32))
    case("identity, BlockGrad and Dropout", lambda x: S.Dropout(S.BlockGrad(S.identity(x))), (3,))


def reductions():
    for name in "sum mean prod max min nansum nanprod".split():
        case(name + " of all", lambda x, n=name: getattr(S, n)(x), (2, 3))
        case(name + " along an axis", lambda x, n=name: getattr(S, n)(x, axis=-1), (2, 3))
    case("sum with keepdims", lambda x: S.sum(x, keepdims=True), (2, 3))
    case("sum over all axes by number", lambda x: S.sum(x, axis=(0, 1)), (2, 3))
    case("nansum of nan", lambda x: S.nansum(x, axis=0), f(1, np.nan, 2, 3).reshape(2, 2))
    for order in (1, 2):
        case("norm %d" % order, lambda x, o=order: S.norm(x, ord=o, axis=1), (2, 3))
    for name in ("argmax", "argmin"):
        case(name + " of all", lambda x, n=name: getattr(S, n)(x), f(3, 1, 4, 1))
    case("argmax_channel", lambda x: S.argmax_channel(x), (2, 3))
    for kind in ("indices", "value", "both", "mask"):
        case("topk " + kind, lambda x, k=kind: S.Group(list(S.topk(x, k=2, ret_typ=k, axis=0))) if k == "both" else S.topk(x, k=2, ret_typ=k, axis=0), f(1, 5, 3, 2, 4, 6).reshape(3, 2))
    case("topk ascending of all", lambda x: S.topk(x, axis=None, k=2, is_ascend=True), f(4, 1, 3, 2).reshape(2, 2))
    case("sort", lambda x: S.sort(x, axis=1), f(3, 1, 2, 6, 5, 4).reshape(2, 3))
    case("argsort descending", lambda x: S.argsort(x, is_ascend=False), f(3, 1, 2, 6, 5, 4).reshape(2, 3))
    case("cumsum", lambda x: S.cumsum(x, axis=1), (2, 3))
    case("cumsum of all", lambda x: S.cumsum(x), (2, 2))


def shapes():
    for name, codes, dims in (("0", (0, -1), (2, 3, 2)), ("-2", (-2,), (2, 3)), ("-2 behind", (0, -2), (2, 3, 1)), ("-3", (-3, -2), (2, 3, 2)), ("-4", (-4, 2, -1, 0), (4, 3)), ("-4 first", (0, -4, -1, 2), (1, 4))):
        case("Reshape " + name, lambda x, c=codes: S.Reshape(x, shape=c), dims)
    case("Reshape reversed", lambda x: S.Reshape(x, shape=(-1, 0), reverse=True), (2, 3, 4))
    case("Reshape reversed with a split", lambda x: S.Reshape(x, shape=(0, -1, 2, -4), reverse=True), (3, 4))
    case("reshape_like", lambda x, y: S.reshape_like(x, y), (2, 3), (3, 2))
    case("expand_dims", lambda x: S.expand_dims(x, axis=-1), (2, 2))
    case("squeeze", lambda x: S.squeeze(x), (1, 2, 1))
    case("squeeze an axis", lambda x: S.squeeze(x, axis=0), (1, 2, 1))
    case("shape_array", lambda x: S.shape_array(x), (2, 3))
    case("size_array", lambda x: S.size_array(x), (2, 3))
    case("transpose", lambda x: S.transpose(x, axes=(1, 0, 2)), (2, 2, 2))
    case("swapaxes", lambda x: S.swapaxes(x, dim1=0, dim2=1), (2, 3))
    case("flip", lambda x: S.flip(x, axis=1), (2, 3))
    case("concat", lambda x, y: S.concat(x, y, dim=0), (1, 2), (2, 2))
    case("stack at the end", lambda x, y: S.stack(x, y, axis=-1), (2,), (2,))
    case("tile with fewer numbers", lambda x: S.tile(x, reps=(2,)), (2, 2))
    case("repeat of all", lambda x: S.repeat(x, repeats=2), (2, 2))
    case("repeat along the last axis", lambda x: S.repeat(x, repeats=2, axis=-1), (2, 2))
    case("broadcast_to", lambda x: S.broadcast_to(x, shape=(2, 0, 3)), (1, 2, 1))
    case("broadcast_like", lambda x, y: S.broadcast_like(x, y), (1, 2), (3, 2))
    case("broadcast_like along axes", lambda x, y: S.broadcast_like(x, y, lhs_axes=(0,), rhs_axes=(-1,)), (1, 2), (5, 3))
    for mode in ("constant", "edge", "reflect"):
        case("Pad " + mode, lambda x, m=mode: S.Pad(x, mode=m, pad_width=(0, 0, 0, 0, 1, 1, 0, 2), constant_value=7 if m == "constant" else 0), (1, 1, 2, 3))
    case("depth_to_space", lambda x: S.depth_to_space(x, block_size=2), (1, 8, 1, 2))
    case("space_to_depth", lambda x: S.space_to_depth(x, block_size=2), (1, 2, 2, 4))
    case("slice with steps", lambda x: S.slice(x, begin=(None, 3), end=(None, None), step=(1, -2)), (2, 4))
    case("slice_axis", lambda x: S.slice_axis(x, axis=0, begin=-2, end=None), (3, 2))
    case("slice_like", lambda x, y: S.slice_like(x, y), (3, 3), (2, 1))
    case("slice_like along an axis", lambda x, y: S.slice_like(x, y, axes=(-1,)), (2, 3), (1, 2))
    case("split", lambda x: S.Group(list(S.split(x, num_outputs=2, axis=0, squeeze_axis=True))), (2, 3))
    case("split_v2", lambda x: S.Group(list(S.split_v2(x, (1, 3), axis=1))), (2, 4))
    case("split_v2 in sections", lambda x: S.Group(list(S.split_v2(x, 2, axis=0))), (4, 2))
    case("Crop to a size", lambda x: S.Crop(x, h_w=(2, 2), offset=(1, 0), num_args=1), (1, 1, 3, 3))
    case("Crop at the center", lambda x: S.Crop(x, h_w=(1, 2), center_crop=True, num_args=1), (1, 1, 3, 4))


def indexing():
    case("take with wrap", lambda x, y: S.take(x, y, axis=1, mode="wrap"), (2, 3), f(0, -1, 4))
    case("take out of range", lambda x, y: S.take(x, y), (3, 2), f(5, -2, 1))
    case("batch_take", lambda x, y: S.batch_take(x, y), (3, 2), np.array([1, 0, 1], np.int32))
    case("pick", lambda x, y: S.pick(x, y), (3, 2), f(1, 0, 1))
    case("pick with keepdims", lambda x, y: S.pick(x, y, axis=0, keepdims=True), (3, 2), f(2, 0))
    case("gather_nd of rows", lambda x, y: S.gather_nd(x, y), (2, 3), f(1, 0).reshape(1, 2))
    case("scatter_nd", lambda x, y: S.scatter_nd(x, y, shape=(2, 2)), f(1, 2), f(0, 1, 1, 0).reshape(2, 2))
    case("one_hot", lambda x: S.one_hot(x, depth=3), f(2, 0, 5))
    case("where of rows", lambda x, y, z: S.where(x, y, z), f(1, 0), (2, 2), (2, 2))
    case("SequenceReverse with lengths", lambda x, y: S.SequenceReverse(x, y, use_sequence_length=True), (3, 2), f(2, 3))
    case("SequenceLast", lambda x: S.SequenceLast(x), (3, 2, 2))
    case("SequenceLast with lengths", lambda x, y: S.SequenceLast(x, y, use_sequence_length=True), (3, 2, 2), f(2, 3))
    case("SequenceLast along axis 1", lambda x, y: S.SequenceLast(x, y, use_sequence_length=True, axis=1), (2, 3, 2), f(1, 3))
    case("SequenceMask", lambda x, y: S.SequenceMask(x, y, use_sequence_length=True, value=-1), (3, 2), f(1, 2))
    case("SequenceMask along axis 1", lambda x, y: S.SequenceMask(x, y, use_sequence_length=True, axis=1), (2, 3, 1), f(1, 2))


def products():
    case("dot of vectors", lambda x, y: S.dot(x, y), (3,), (3,))
    case("dot of three axes", lambda x, y: S.dot(x, y), (2, 2, 3), (3, 2))
    case("batch_dot transposed", lambda x, y: S.batch_dot(x, y, transpose_a=True, transpose_b=True), (2, 3, 2), (2, 2, 3))
    case("linalg_gemm", lambda x, y, z: S.linalg.gemm(x, y, z, alpha=2.0, beta=0.5, transpose_b=True), (2, 3), (2, 3), (2, 2))
    case("linalg_gemm2", lambda x, y: S.linalg.gemm2(x, y, alpha=0.5), (1, 2, 3), (1, 3, 2))
    case("interleaved_matmul_selfatt_qk", lambda x: C.interleaved_matmul_selfatt_qk(x, heads=2), (2, 1, 12))
    case("interleaved_matmul_selfatt_valatt", lambda x, y: C.interleaved_matmul_selfatt_valatt(x, y, heads=2), (2, 1, 12), (2, 2, 2))
    case("interleaved_matmul_encdec_qk", lambda x, y: C.interleaved_matmul_encdec_qk(x, y, heads=2), (2, 1, 4), (3, 1, 8))
    case("interleaved_matmul_encdec_valatt", lambda x, y: C.interleaved_matmul_encdec_valatt(x, y, heads=2), (3, 1, 8), (2, 2, 3))
    case("div_sqrt_dim", lambda x: C.div_sqrt_dim(x), (2, 4))


def created():
    case("zeros, ones and full", lambda x: S.broadcast_add(x, S.zeros((1, 2)) + S.ones((1, 2)) + S.full((1, 2), 3)), (2, 2))
    case("arange", lambda x: S.broadcast_add(x, S.arange(1, 7, 2, repeat=2)), (1, 6))
    case("arange_like", lambda x: C.arange_like(x, start=1, step=2), (2, 3))
    case("arange_like along an axis", lambda x: C.arange_like(x, axis=1), (2, 3))
    case("eye", lambda x: S.broadcast_add(x, S.eye(2, 3, 1)), (2, 3))
    case("linspace", lambda x: S.broadcast_add(x, S.linspace(0, 1, 5)), (1, 5))


def images():
    case("GridGenerator warp", lambda x: S.GridGenerator(x, transform_type="warp"), (1, 2, 2, 3))
    case("Correlation of distances", lambda x, y: S.Correlation(x, y, kernel_size=1, max_displacement=1, stride1=2, stride2=1, pad_size=1, is_multiply=False), (1, 2, 3, 3), (1, 2, 3, 3))
    case("BilinearResize2D", lambda x: C.BilinearResize2D(x, height=3, width=5), (1, 1, 2, 3))
    case("BilinearResize2D by half pixels", lambda x: C.BilinearResize2D(x, height=3, width=5, align_corners=False), (1, 1, 2, 3))
    case("BilinearResize2D like another", lambda x, y: C.BilinearResize2D(x, y, mode="like"), (1, 1, 2, 2), (1, 1, 4, 3))
    case("ROIAlign", lambda x, y: C.ROIAlign(x, y, pooled_size=(2, 2), spatial_scale=0.5, sample_ratio=2), (1, 1, 4, 4), ROIS)
    case("ROIAlign aligned", lambda x, y: C.ROIAlign(x, y, pooled_size=(2, 1), spatial_scale=1.0, aligned=True), (1, 1, 4, 4), ROIS * f(1, .5, .5, .5, .5))
    case("MultiBoxPrior with steps", lambda x: C.MultiBoxPrior(x, sizes=(0.5, 0.25), ratios=(2, 1, 0.5), steps=(0.4, 0.5), offsets=(0.25, 0.5)), (1, 1, 2, 2))
    anchors = f(.1, .1, .4, .4, .12, .1, .42, .4, .5, .5, .9, .9, .52, .5, .9, .92).reshape(1, 4, 4)
    scores = f(.1, .2, .1, .3, .6, .5, .2, .3, .3, .3, .7, .4).reshape(1, 3, 4)
    for name, more in (("", {}), (" with force_suppress", {"force_suppress": True}), (" with nms_topk", {"nms_topk": 2}), (" without suppression", {"nms_threshold": -1}), (" with threshold", {"threshold": 0.55, "clip": False})):
        case("MultiBoxDetection" + name, lambda x, y, z, m=more: C.MultiBoxDetection(x, y, z, **m), scores, (1, 16), anchors)
    for name, more in (("", {}), (" by class", {"id_index": 0}), (" forced", {"id_index": 0, "force_suppress": True}), (" of the best", {"topk": 2}), (" above a score", {"valid_thresh": 0.65}), (" with a background", {"id_index": 0, "background_id": 0}), (" to centers", {"out_format": "center"}), (" from centers", {"in_format": "center", "overlap_thresh": 0.3})):
        case("box_nms" + name, lambda x, m=more: C.box_nms(x, **m), BOXES)
    case("box_nms of a matrix", lambda x: C.box_nms(x, overlap_thresh=0.6), BOXES[0])
    case("box_iou", lambda x, y: C.box_iou(x, y), BOXES[0, :2, 2:], BOXES[0, 2:, 2:])
    case("box_decode", lambda x, y: C.box_decode(x, y, 0.1, 0.1, 0.2, 0.2), (1, 2, 4), f(.1, .1, .2, .3, .5, .5, .2, .2).reshape(1, 2, 4))
    case("ROIAlign of channels by position", lambda x, y: C.ROIAlign(x, y, pooled_size=(2, 1), spatial_scale=0.5, sample_ratio=2, position_sensitive=True), (1, 4, 4, 4), ROIS)
    objects = f(1, .1, .1, .4, .45, 0, .5, .5, .8, .9, -1, -1, -1, -1, -1).reshape(1, 3, 5)
    more_anchors = np.concatenate([anchors, f(.05, .05, .3, .3, .6, .6, .95, .95).reshape(1, 2, 4)], 1)
    for name, more in (("", {}), (" of the best alone", {"overlap_threshold": 0}), (" with negative mining", {"negative_mining_ratio": 1, "negative_mining_thresh": 0.5}),
                       (" with variances", {"variances": (0.2, 0.2, 0.5, 0.5), "ignore_label": -2, "overlap_threshold": 0.8, "negative_mining_ratio": 0.5}),
                       (" with a minimum of negatives", {"negative_mining_ratio": 0.25, "minimum_negative_samples": 2})):
        case("MultiBoxTarget" + name, lambda x, y, z, m=more: S.Group(list(C.MultiBoxTarget(x, y, z, **m))), more_anchors, objects, (1, 3, 6))
    case("MultiBoxTarget without objects", lambda x, y, z: S.Group(list(C.MultiBoxTarget(x, y, z))), anchors, -np.ones((2, 2, 5), np.float32), (2, 2, 4))
    case("ROIPooling", lambda x, y: S.ROIPooling(x, y, pooled_size=(2, 2), spatial_scale=0.5), (1, 1, 4, 4), ROIS)


def listed():
    case("Flatten", lambda x: S.Flatten(x), (2, 2, 2))
    case("LRN", lambda x: S.LRN(x, nsize=3, alpha=0.1, beta=0.5, knorm=1.5), (1, 4, 1, 2))
    case("clip", lambda x: S.clip(x, a_min=-1, a_max=0.5), (2, 3))
    case("elemwise_sub", lambda x, y: S.elemwise_sub(x, y), (2,), (2,))
    case("elemwise_div", lambda x, y: S.elemwise_div(x, y), (2,), (2,))
    case("_rnn_param_concat", lambda x, y: I._rnn_param_concat(x, y, dim=0), (2,), (3,))
    case("PSROIPooling", lambda x, y: C.PSROIPooling(x, y, spatial_scale=0.5, output_dim=2, pooled_size=2), (1, 8, 4, 4), ROIS)
    case("DeformablePSROIPooling", lambda x, y, z: C.DeformablePSROIPooling(x, y, z, spatial_scale=0.5, output_dim=1, pooled_size=2, group_size=2, part_size=2, sample_per_part=2, trans_std=0.1),
         (1, 4, 6, 6), ROIS, (2, 2, 2, 2))
    case("DeformablePSROIPooling without offsets", lambda x, y: C.DeformablePSROIPooling(x, y, spatial_scale=0.5, output_dim=2, pooled_size=2, group_size=2, sample_per_part=3, no_trans=True),
         (1, 8, 6, 6), ROIS)
    scores = np.array([.9, .2, .6, .4, .1, .8, .4, .6], np.float32).reshape(1, 2, 2, 2)
    case("Proposal", lambda x, y, z: C.Proposal(x, y, z, feature_stride=16, scales=(1,), ratios=(1,), rpn_pre_nms_top_n=4, rpn_post_nms_top_n=3, threshold=0.7, rpn_min_size=1),
         scores, np.zeros((1, 4, 2, 2), np.float32), f(32, 32, 1).reshape(1, 3))


def control():
    def total(x, y):
        outputs, state = C.foreach(lambda d, s: (d + s, d + s), x, y)
        return S.Group([outputs, state])
    case("_foreach", total, (3, 2), (2,))

    def weighted(x, y, z):
        def step(d, s):
            mixed = S.broadcast_add(S.FullyConnected(d[0], num_hidden=2, name="f"), S.expand_dims(d[1], 1))
            return [mixed, S.tanh(s[0])], [mixed + s[0], s[1] + 1]
        outputs, states = C.foreach(step, [x, y], [z, S.zeros((1,))])
        return S.Group(outputs + states)
    case("_foreach with weights, two inputs and two states", weighted, (2, 2, 3), (2, 2), (2, 2))
    case("_foreach without states", lambda x: C.foreach(lambda d, s: (d * 2, s), x, [])[0], (3, 2))

    def inner(x, y):
        return C.foreach(lambda d, s: C.foreach(lambda e, t: (e * t, e + t), d, s), x, y)
    case("_foreach in _foreach", lambda x, y: S.Group(list(inner(x, y))), (2, 3, 2), (2,))

    def rows(x, y, limit):
        outputs, variables = C.while_loop(lambda i, s: i < limit, lambda i, s: ([S.broadcast_add(s, i)], [i + 1, s * 2]), (x, y), max_iterations=5)
        return S.Group([S.slice_axis(outputs[0], axis=0, begin=0, end=3)] + list(variables))
    case("_while_loop", lambda x, y: rows(x, y, 3), f(0), f(1, 2))
    case("_while_loop up to the limit of iterations", lambda x, y: rows(x, y, 100), f(0), f(1, 2))

    def until(x, y, z):
        outputs, variables = C.while_loop(lambda i, s: S.sum(s * z) < 10, lambda i, s: ([], [i + 1, s + S.broadcast_mul(z, i)]), (x, y), max_iterations=8)
        return S.Group(list(variables))
    case("_while_loop with values from outside", until, f(1), f(0, 1), f(1, 2))
    for name, low in (("then", 5), ("else", -5)):
        case("_cond, " + name, lambda x, y, l=low: C.cond(S.sum(x) < l, lambda: x + y, lambda: S.broadcast_mul(x, y) - 1), f(1, 2), f(3, 4))


def further():
    case("BilinearSampler", lambda x, y: S.BilinearSampler(x, y), (1, 2, 3, 4), (1, 2, 2, 2))
    case("SpatialTransformer", lambda x, y: S.SpatialTransformer(x, y, target_shape=(2, 3), transform_type="affine", sampler_type="bilinear"), (1, 1, 4, 4),
         f(0.5, 0.1, 0.2, -0.1, 0.6, 0).reshape(1, 6))
    case("LogisticRegressionOutput", lambda x: S.LogisticRegressionOutput(x, S.Variable("label")), (2, 2))
    case("_contrib_BatchNormWithReLU", lambda x: C.BatchNormWithReLU(x, fix_gamma=False, name="b"), (1, 2, 2, 2))
    case("broadcast_axis", lambda x: S.broadcast_axis(x, axis=(0, 2), size=(2, 3)), (1, 2, 1))
    case("_np_reshape", lambda x: x.as_np_ndarray().reshape((3, -1)).as_nd_ndarray(), (2, 3))
    for codes in ((3, -1), (-5, -4), (-2, -3, -4), (-2, -6, 1, -1, -5), (-6, 2, -1, -2)):
        shape = (2, 1, 2, 3) if len(codes) < 5 else (2, 3, 2, 2)
        shape = (4, 3) if codes[0] == -6 else shape
        case("_npx_reshape %s" % (codes,), lambda x, c=codes: mx.sym.npx.reshape(x.as_np_ndarray(), c).as_nd_ndarray(), shape)
    case("_npx_reshape reversed", lambda x: mx.sym.npx.reshape(x.as_np_ndarray(), (-1, -5), reverse=True).as_nd_ndarray(), (2, 1, 2, 3))
    case("_npi_full_like", lambda x: mx.sym.np.full_like(x.as_np_ndarray(), 2.5).as_nd_ndarray(), (2, 3))


failed = 0
for part in (layers, activations, elements, pairs, functions, reductions, shapes, indexing, products, created, images, listed, control, further):
    CASES.clear()
    part()
    with open("%s/mxnet_%s.test" % (sys.argv[1], part.__name__), "w") as file:
        print("# Operators of MXNet, with the values that MXNet 1.9.1 computes. Made by tests/oracle/mxnet_operators.py.\n", file=file)
        for i, (name, build, inputs, options) in enumerate(CASES):
            try:
                file.write(written(i, name, build, inputs, options))
            except Exception as e:  # a form that this version does not take
                failed += 1
                print("%s: %s" % (name, str(e).split("\n")[0]), file=sys.stderr)
sys.exit(1 if failed else 0)
