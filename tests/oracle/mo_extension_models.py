"""Small models for scripts/mo_extensions.py, and the same command lines with the real `mo`. Runs in the environment that
has openvino-dev: `mo_extension_models.py make DIR` writes DIR/<case>/, `mo_extension_models.py compare DIR` converts and
compares."""
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.modules["openvino_telemetry"] = None  # mo has a stub for it, which needs no network

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402

CASES = {}


def case(name, framework, files, make):
    """`files`: of the wheel's folder `extensions`, used as an extension folder of their own."""
    CASES[name] = (framework, files.split(), make)


# ---- ONNX ----


def onnx_model(path, nodes, inputs, outputs, constants, opset):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    kinds = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}
    graph = helper.make_graph(
        [helper.make_node(*n[:3], **n[3]) for n in nodes], "g",
        [helper.make_tensor_value_info(n, kinds[k], s) for n, k, s in inputs],
        [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in outputs],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    for out, kind in zip(graph.output, outputs.values()):
        out.type.tensor_type.elem_type = kinds[kind]
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7), path)


def onnx_case(name, files, op, attributes=None, inputs=((2, 3, 4, 5),), constants=(), outputs="f", opset=11):
    """One layer; `constants` follow the inputs."""
    def make(folder):
        names = [f"x{i}" for i in range(len(inputs))]
        stored = {f"c{i}": np.asarray(c) for i, c in enumerate(constants)}
        made = {f"y{i}": k for i, k in enumerate(outputs)}
        node = (op, names + list(stored), list(made), attributes or {})
        path = os.path.join(folder, "model.onnx")
        onnx_model(path, [node], [(n, "f", s) for n, s in zip(names, inputs)], made, stored, opset)
        return ["--input_model", path]

    case(name, "onnx", files, make)


F = "front/onnx/"
onnx_case("elu", F + "activation_ext.py", "Elu", {"alpha": 0.7})
onnx_case("leaky_relu", F + "activation_ext.py", "LeakyRelu", {"alpha": 0.2})
onnx_case("argmax", F + "argmax_ext.py", "ArgMax", {"axis": 2, "keepdims": 1}, outputs="i")
onnx_case("cast", F + "cast_ext.py", "Cast", {"to": 7}, outputs="i")
onnx_case("clip", F + "clip_ext.py", "Clip", {"min": -0.5, "max": 0.5}, opset=6)
onnx_case("concat", F + "concat_ext.py", "Concat", {"axis": 1}, [(1, 2, 3), (1, 4, 3)])
onnx_case("cumsum", F + "cumsum_ext.py", "CumSum", {"reverse": 1}, constants=[np.array(1)])
onnx_case("depth_to_space", F + "depth_to_space_ext.py", "DepthToSpace", {"blocksize": 2}, [(1, 8, 3, 4)])
onnx_case("dropout", F + "dropout_ext.py", "Dropout", {})
onnx_case("einsum", F + "einsum_ext.py", "Einsum", {"equation": "bij,bjk->bik"}, [(2, 3, 4), (2, 4, 5)], opset=12)
onnx_case("add", F + "elementwise_ext.py", "Add", {}, [(2, 3, 4), (3, 1)])
onnx_case("sub", F + "elementwise_ext.py", "Sub", {}, [(2, 3, 4), (3, 1)])
onnx_case("max", F + "elementwise_ext.py", "Max", {}, [(2, 3), (2, 3), (3,)])
onnx_case("expand", F + "expand_ext.py", "Expand", {}, [(3, 1)], [np.array([2, 3, 4])])
onnx_case("flatten", F + "flatten_ext.py", "Flatten", {"axis": 2})
onnx_case("batch_norm", F + "fused_bn_ext.py", "BatchNormalization", {"epsilon": 0.01}, [(2, 3, 4, 5)],
          [np.float32([1, 2, 3]), np.float32([0, 1, 2]), np.float32([0.1, 0.2, 0.3]), np.float32([1, 1.5, 2])])
onnx_case("gather", F + "gather_ext.py", "Gather", {"axis": 1}, constants=[np.array([2, 0])])
onnx_case("gather_elements", F + "gatherelements_ext.py", "GatherElements", {"axis": 1}, [(2, 3)],
          [np.array([[0, 1], [2, 0]])])
onnx_case("gather_nd", F + "gathernd_ext.py", "GatherND", {}, [(2, 3, 4)], [np.array([[0, 1], [1, 2]])])
onnx_case("gemm", F + "gemm_ext.py", "Gemm", {"alpha": 0.5, "beta": 2.0, "transB": 1}, [(3, 4)],
          [np.arange(20, dtype=np.float32).reshape(5, 4) / 10, np.arange(5, dtype=np.float32)])
onnx_case("identity", F + "identity_ext.py", "Identity")
onnx_case("instance_norm", F + "instance_normalization_ext.py", "InstanceNormalization", {"epsilon": 0.02},
          [(2, 3, 4, 5)],
          [np.float32([1, 2, 3]), np.float32([0, 1, 2])])
onnx_case("lrn", F + "lrn_ext.py", "LRN", {"size": 3, "alpha": 0.1, "beta": 0.7, "bias": 1.5}, [(1, 6, 4, 4)])
onnx_case("matmul", F + "matmul_ext.py", "MatMul", {}, [(2, 3, 4), (2, 4, 5)])
onnx_case("mvn", F + "mean_variance_normalization_ext.py", "MeanVarianceNormalization", {"axes": [0, 2, 3]})
onnx_case("pad", F + "pad_ext.py", "Pad", {"pads": [0, 1, 0, 2, 1, 0], "value": 0.5}, [(2, 3, 4)], opset=9)
onnx_case("max_pool", F + "pooling_ext.py", "MaxPool", {"kernel_shape": [2, 3], "strides": [1, 2]}, [(1, 2, 6, 7)])
onnx_case("average_pool", F + "pooling_ext.py", "AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
          [(1, 2, 6, 7)])
onnx_case("global_pool", F + "pooling_ext.py", "GlobalAveragePool", {}, [(1, 2, 6, 7)])
onnx_case("reduce", F + "reduce_ext.py", "ReduceMean", {"axes": [1, 3], "keepdims": 0})
onnx_case("reshape", F + "reshape_ext.py", "Reshape", {}, constants=[np.array([0, -1, 10])])
onnx_case("shape", F + "shape_ext.py", "Shape", {}, outputs="i")
onnx_case("slice", F + "slice_ext.py", "Slice", {"starts": [1, 0], "ends": [3, -1], "axes": [1, 3]}, opset=9)
onnx_case("softmax", F + "softmax_ext.py", "Softmax", {"axis": 1})
onnx_case("log_softmax", F + "softmax_ext.py", "LogSoftmax", {"axis": 3})
onnx_case("softplus", F + "softplus_ext.py", "Softplus")
onnx_case("space_to_depth", F + "space_to_depth_ext.py", "SpaceToDepth", {"blocksize": 2}, [(1, 2, 4, 6)])
onnx_case("split", F + "split_ext.py", "Split", {"axis": 1, "split": [1, 2]}, outputs="ff")
onnx_case("squeeze", F + "squeeze_ext.py", "Squeeze", {"axes": [1]}, [(2, 1, 3)])
onnx_case("transpose", F + "transpose_ext.py", "Transpose", {"perm": [2, 0, 1, 3]})
onnx_case("unsqueeze", F + "unsqueeze_ext.py", "Unsqueeze", {"axes": [0, 2]}, [(2, 3)])
onnx_case("lp_norm", F + "lp_normalization_ext.py", "LpNormalization", {"axis": 1, "p": 2})
onnx_case("conv", F + "conv_ext.py", "Conv", {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 0, 1, 0]},
          [(1, 2, 7, 8)],
          [np.linspace(-1, 1, 4 * 2 * 9, dtype=np.float32).reshape(4, 2, 3, 3), np.float32([1, 2, 3, 4])])
onnx_case("thresholded_relu", F + "activation_ext.py front/ThresholdedReluDecomposition.py", "ThresholdedRelu",
          {"alpha": 0.3})
onnx_case("softmax_replacer", F + "softmax_ext.py " + F + "softmaxONNX_to_softmax.py", "Softmax", {"axis": 1})
onnx_case("flatten_replacer", F + "flatten_ext.py " + F + "flattenONNX_to_reshape.py", "Flatten", {"axis": 1})
onnx_case("hard_sigmoid", F + "hard_sigmoid_ext.py", "HardSigmoid", {"alpha": 0.3, "beta": 0.4})

# ---- TensorFlow ----


def tf_case(name, files, build, shapes=((2, 3, 4, 5),), config=None):
    """`config`: entries of --transformations_config."""
    def make(folder):
        import tensorflow as tf

        graph = tf.Graph()
        with graph.as_default():
            inputs = [tf.compat.v1.placeholder(tf.float32, s, name=f"x{i}") for i, s in enumerate(shapes)]
            found = build(tf, *inputs)
            if not isinstance(found, tuple):  # several outputs have names of their own
                tf.identity(found, name="y")
        path = os.path.join(folder, "model.pb")
        with open(path, "wb") as f:
            f.write(graph.as_graph_def().SerializeToString())
        if config is None:
            return ["--input_model", path]
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(config, f)
        return ["--input_model", path, "--transformations_config", f.name]

    case(name, "tf", files, make)


T = "front/tf/"
tf_case("tf_activation", T + "activation_ext.py", lambda tf, x: tf.nn.elu(tf.math.sinh(x)))
tf_case("tf_elementwise", T + "elementwise_ext.py", lambda tf, x: tf.raw_ops.AddV2(x=tf.raw_ops.Mul(x=x, y=2.0), y=x))
tf_case("tf_reduce", T + "reduce_ext.py", lambda tf, x: tf.reduce_sum(x, axis=[1, 2], keepdims=True))
tf_case("tf_matmul", T + "matmul_ext.py", lambda tf, x, y: tf.raw_ops.MatMul(a=x, b=y, transpose_b=True),
        [(3, 4), (5, 4)])
tf_case("tf_transpose", T + "transpose_ext.py", lambda tf, x: tf.transpose(x, [1, 0, 2]), [(2, 3, 4)])
tf_case("tf_log1p", "front/Log1p.py", lambda tf, x: tf.math.log1p(tf.math.abs(x)))
tf_case("tf_softsign", "front/softsign_replacer.py", lambda tf, x: tf.nn.softsign(x))
tf_case("tf_split", T + "split_ext.py", lambda tf, x: tf.add(*tf.split(x, 2, axis=1)), [(2, 4, 3)])
tf_case("tf_slice", T + "slice_ext.py", lambda tf, x: tf.slice(x, [0, 1, 0], [2, 2, -1]), [(2, 4, 3)])
tf_case("tf_pad", T + "pad_ext.py", lambda tf, x: tf.pad(x, [[0, 0], [1, 2], [0, 1]]), [(2, 4, 3)])
tf_case("tf_softmax", T + "softmax_ext.py", lambda tf, x: tf.nn.softmax(x), [(2, 4)])
tf_case("tf_tile", T + "tile_ext.py", lambda tf, x: tf.tile(x, [1, 2, 3]), [(2, 4, 3)])
tf_case("tf_reshape", T + "reshape_related_ext.py", lambda tf, x: tf.squeeze(tf.reshape(x, [2, 1, 12]), [1]),
        [(2, 4, 3)])
tf_case("tf_conv", T + "conv_ext.py", lambda tf,
        x: tf.nn.conv2d(x, np.linspace(-1, 1, 3 * 3 * 2 * 4, dtype=np.float32).reshape(3, 3, 2, 4), 2, "SAME"),
        [(1, 7, 8, 2)])
tf_case("tf_pooling", T + "pooling_ext.py", lambda tf, x: tf.nn.max_pool2d(x, 3, 2, "SAME"), [(1, 7, 8, 2)])


def conv(tf, x, channels):
    weights = np.linspace(-1, 1, int(x.shape[-1]) * channels, dtype=np.float32).reshape(1, 1, -1, channels)
    return tf.nn.conv2d(x, weights, 1, "SAME")


REGION = {"classes": 3, "coords": 4, "num": 5, "anchors": [0.5, 0.6, 1.8, 2.1, 3.3, 5.4, 7.8, 3.5, 9.7, 9.1]}
tf_case("tf_yolo_v2", "front/YOLO.py", lambda tf, x: conv(tf, x, 40), [(1, 6, 6, 2)],
        [{"id": "TFYOLO", "match_kind": "general", "custom_attributes": {**REGION, "do_softmax": 1}}])
tf_case("tf_yolo_v3", "front/YOLO.py",
        lambda tf, x: (tf.reshape(conv(tf, x, 16), [1, -1, 8], name="small"),
                       tf.reshape(conv(tf, x[:, ::2, ::2], 24), [1, -1, 8], name="large")), [(1, 6, 6, 2)],
        [{"id": "TFYOLOV3", "match_kind": "general",
          "custom_attributes": {**REGION, "masks": [[3, 4], [0, 1, 2]], "entry_points": ["small", "large"]}}])
BOXES = ["boxes/locations", "boxes/scores", "boxes/priors"]
tf_case("tf_ssd_toolbox", T + "SSDToolboxDetectionOutput.py",
        lambda tf, x, y, z: (tf.math.tanh(x, name=BOXES[0]), tf.nn.softmax(y, name=BOXES[1]),
                             tf.math.sigmoid(tf.reshape(z, [16]), name=BOXES[2])), [(1, 2, 4), (1, 2, 3), (4, 4)],
        [{"id": "SSDToolboxDetectionOutput", "match_kind": "points",
          "include_inputs_to_sub_graph": True, "include_outputs_to_sub_graph": True,
          "instances": {"start_points": BOXES, "end_points": BOXES},
          "custom_attributes": {"code_type": "caffe.PriorBoxParameter.CENTER_SIZE", "confidence_threshold": 0.01,
                                "keep_top_k": 4, "nms_threshold": 0.45, "num_classes": 3, "top_k": 4}}])


# ---- Caffe ----


def caffe_case(name, files, build, shape=(1, 4, 7, 6)):
    """`build` adds layers to a net, with weights."""
    def make(folder):
        from caffe_net import Net

        net = Net("model", 5, shape)
        build(net)
        path = os.path.join(folder, "model")
        net.save(path)
        return ["--input_model", path + ".caffemodel", "--input_proto", path + ".prototxt"]

    case(name, "caffe", " ".join("front/caffe/" + f for f in files.split()), make)


def plain(kind, inputs=1, **messages):
    """One layer without weights, behind one with weights: mo expects some in the file."""
    return lambda net: net.layer(kind, "y", [net.conv("c", "data", 4, 1)] * inputs, "y", net.shapes["data"], **messages)


caffe_case("caffe_conv", "conv_ext.py", lambda net: net.conv("y", "data", 6, 3, stride=2, pad=1))
caffe_case("caffe_conv_groups", "conv_ext.py", lambda net: net.conv("y", "data", 6, 3, group=2, bias=False))
caffe_case("caffe_deconv", "conv_ext.py", lambda net: net.deconv("y", "data", 6, 4, 2, group=2))
caffe_case("caffe_inner_product", "inner_product_ext.py", lambda net: net.dense("y", "data", 5))
caffe_case("caffe_batch_norm", "batchnorm_ext.py scale_ext.py", lambda net: net.batch_norm(
    "y", net.pool("p", "data", "MAX", 2), "s"))
caffe_case("caffe_prelu", "prelu_ext.py", lambda net: net.layer("PReLU", "y", "data", "y", net.shapes["data"],
                                                                [net.random(4)]))
caffe_case("caffe_scale", "scale_ext.py", lambda net: net.layer("Scale", "y", "data", "y", net.shapes["data"],
                                                                [net.random(4)]))
caffe_case("caffe_normalize", "normalize_ext.py", lambda net: net.layer(
    "Normalize", "y", "data", "y", net.shapes["data"], [net.random(4)],
    norm_param=dict(across_spatial=False, channel_shared=False)))
caffe_case("caffe_relu", "relu_ext.py", plain("ReLU", relu_param=dict(negative_slope=0.1)))
caffe_case("caffe_elu", "elu.py", plain("ELU", elu_param=dict(alpha=0.5)))
caffe_case("caffe_sigmoid", "sigmoid.py", plain("Sigmoid"))
caffe_case("caffe_tanh", "tanh.py", plain("TanH"))
caffe_case("caffe_pooling", "pooling_ext.py", plain("Pooling", pooling_param=dict(pool="AVE", kernel_size=3, stride=2, pad=1)))
caffe_case("caffe_lrn", "lrn_ext.py", plain("LRN", lrn_param=dict(local_size=3, alpha=0.1, beta=0.7)))
caffe_case("caffe_mvn", "mvn_ext.py MVNCaffeToMVN.py", plain("MVN"))
caffe_case("caffe_flatten", "flatten_ext.py", plain("Flatten", flatten_param=dict(axis=2)))
caffe_case("caffe_permute", "permute_ext.py", plain("Permute", permute_param=dict(order=[0, 2, 3, 1])))
caffe_case("caffe_reshape", "reshape.py", plain("Reshape", reshape_param=dict(shape=dict(dim=[0, 2, -1]))))
caffe_case("caffe_softmax", "softmax_ext.py", plain("Softmax", softmax_param=dict(axis=2)))
caffe_case("caffe_concat", "concat_ext.py", plain("Concat", 2, concat_param=dict(axis=2)))
caffe_case("caffe_eltwise", "elementwise_ext.py", plain("Eltwise", 2, eltwise_param=dict(operation="MAX")))


# ---- with the real mo ----


def make(folder, *names):
    made = {}
    for name, (framework, files, build) in CASES.items():
        if names and name not in names:
            continue
        place = os.path.join(folder, name)
        os.makedirs(place, exist_ok=True)
        made[name] = {"files": files, "arguments": build(place)}
    with open(os.path.join(folder, "cases.json"), "w") as f:
        json.dump(made, f, indent=1)


KERNEL = """
import numpy as np

import graft


@graft.op(opset="custom_opset", shape=lambda x, inverse: x.shape)
def FFT(x, inverse: int = 0):
    z = (np.fft.ifft2 if inverse else np.fft.fft2)(x[..., 0] + 1j * x[..., 1])
    return np.stack([z.real, z.imag], -1).astype(np.float32)
"""


def guide(folder):
    """The kind of network that the guide of 2021 enables: convolutions on both sides of an inverse Fourier transform."""
    import tensorflow as tf

    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 8, 10, 2], name="image")
        spectrum = tf.add(tf.nn.relu(conv(tf, x, 2)), x)
        image = tf.abs(tf.signal.ifft2d(tf.complex(spectrum[:, :, :, 0], spectrum[:, :, :, 1])))
        y = tf.nn.relu(conv(tf, image[..., tf.newaxis], 3), name="y")
    with open(os.path.join(folder, "model.pb"), "wb") as f:
        f.write(graph.as_graph_def().SerializeToString())
    with open(os.path.join(folder, "kernel.py"), "w") as f:
        f.write(KERNEL)
    given = np.random.RandomState(3).randn(1, 8, 10, 2).astype(np.float32)
    with tf.compat.v1.Session(graph=graph) as session:
        np.save(os.path.join(folder, "y.npy"), session.run(y, {x: given}))
    np.save(os.path.join(folder, "x.npy"), given)


def converted(arguments, log):
    """Runs mo with these arguments in a child process that has everything imported already."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code = 1
    try:
        from openvino.tools.mo.main import main
        from openvino.tools.mo.utils.cli_parser import get_all_cli_parser

        sys.argv = ["mo"] + arguments
        code = main(get_all_cli_parser(), None) or 0
    except BaseException as error:
        print("failed:", repr(error))
    finally:
        sys.stdout.flush()
        os._exit(int(code) if isinstance(code, int) else 1)


def preload():
    """Imports the hundreds of files of mo once, not in every child process."""
    import importlib
    import pkgutil

    import openvino.tools.mo as mo

    for part in ("ops", "load", "front", "front/onnx", "front/tf", "front/caffe", "middle", "back"):
        folder = os.path.join(os.path.dirname(mo.__file__), part)
        for module in pkgutil.iter_modules([folder]):
            try:
                importlib.import_module(f"openvino.tools.mo.{part.replace('/', '.')}.{module.name}")
            except Exception:
                continue  # of another framework


def by_mo(place, line):
    """(exit code, whether mo took the files); a conversion of an earlier run is used again."""
    done = os.path.join(place, "mo.json")
    if os.path.exists(done):
        with open(done) as f:
            return json.load(f)
    translated = ["--extensions", os.path.join(place, "extensions_2023")]
    code, with_files = converted(line + translated, os.path.join(place, "mo.log")), True
    if code:  # the files of 2021 do not fit the classes of 2023: mo has its own version of them
        code, with_files = converted(line + ["--use_legacy_frontend"], os.path.join(place, "mo.log")), False
    with open(done, "w") as f:
        json.dump([code, with_files], f)
    return code, with_files


def outputs(core, path, inputs):
    model = core.read_model(path)
    found = core.compile_model(model, "CPU")(inputs(model))
    return [found[i] for i in range(len(model.outputs))]


def difference(core, ours, theirs):
    random = np.random.RandomState(1)
    values = {}

    def inputs(model):
        found = {}
        for p in model.inputs:
            # TensorFlow's names may end in ":0"; of a single input they do not matter.
            name = min(n.split(":")[0] for n in p.get_names()) if len(model.inputs) > 1 else ""
            if name not in values:
                values[name] = random.uniform(-1, 1, list(p.shape)).astype(np.float32)
            found[p.get_any_name()] = values[name]
        return found

    a, b = outputs(core, ours, inputs), outputs(core, theirs, inputs)
    if [x.shape for x in a] != [x.shape for x in b]:
        return f"shapes {[x.shape for x in a]}, mo has {[x.shape for x in b]}"
    return max(float(np.abs(x.astype(np.float64) - y).max()) for x, y in zip(a, b))


def compare(folder):
    import onnx  # noqa: F401
    import openvino.runtime
    import openvino.tools.mo.main  # noqa: F401
    import tensorflow  # noqa: F401

    preload()
    with open(os.path.join(folder, "cases.json")) as f:
        cases = json.load(f)
    by = {}
    for name, given in cases.items():  # all of them before the runtime starts threads, which do not survive a fork
        place = os.path.join(folder, name)
        by[name] = by_mo(place, given["arguments"] + ["--output_dir", os.path.join(place, "mo"),
                                                      "--compress_to_fp16=False", "--silent"])
    core = openvino.runtime.Core()
    result = {}
    for name, (code, with_files) in by.items():
        place = os.path.join(folder, name)
        ours = os.path.join(place, "ours", "model.xml")
        if not os.path.exists(ours):
            result[name] = {"problem": "not converted by graft"}
        elif code:
            result[name] = {"problem": "not converted by mo"}
        else:
            try:
                found = difference(core, ours, os.path.join(place, "mo", "model.xml"))
                result[name] = {"with_files": with_files,
                                "difference" if isinstance(found, float) else "problem": found}
            except Exception as error:
                result[name] = {"problem": " ".join(str(error).split())[:200]}
    with open(os.path.join(folder, "result.json"), "w") as f:
        json.dump(result, f, indent=1)


if __name__ == "__main__":
    {"make": make, "compare": compare, "guide": guide}[sys.argv[1]](*sys.argv[2:])
