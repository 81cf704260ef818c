"""Small models for the Model Optimizer's command lines: every format it reads, random weights.

  mo_models.py OUT    writes them all
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import onnx
import tensorflow as tf
from onnx import TensorProto, helper, numpy_helper

from caffe_net import Net

v1 = tf.compat.v1
rng = np.random.default_rng(7)


def random(*shape, scale=0.3):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


# ---- ONNX ----

def save_onnx(path, nodes, inputs, outputs, weights):
    """`inputs` and `outputs`: name -> (type, shape); `nodes`: (type, name, inputs, outputs, attributes)."""
    value = lambda items: [helper.make_tensor_value_info(n, t, s) for n, (t, s) in items.items()]
    graph = helper.make_graph([helper.make_node(t, i, o, name=n, **a) for t, n, i, o, a in nodes], "small", value(inputs), value(outputs),
                              [numpy_helper.from_array(v, n) for n, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def classifier(path, batch, height, width):
    """Two convolutions, a pool that rounds up, a softmax."""
    nodes = [("Conv", "conv1", ["image", "w1", "b1"], ["c1"], dict(pads=[1, 1, 1, 1])), ("Relu", "relu1", ["c1"], ["r1"], {}),
             ("MaxPool", "pool1", ["r1"], ["p1"], dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
             ("Conv", "conv2", ["p1", "w2"], ["c2"], dict(pads=[1, 1, 1, 1])), ("Relu", "relu2", ["c2"], ["r2"], {}),
             ("GlobalAveragePool", "gap", ["r2"], ["g"], {}), ("Flatten", "flat", ["g"], ["f"], {}),
             ("Gemm", "fc", ["f", "w3", "b3"], ["logits"], dict(transB=1)), ("Softmax", "prob", ["logits"], ["probabilities"], {})]
    weights = dict(w1=random(4, 3, 3, 3), b1=random(4), w2=random(5, 4, 3, 3), w3=random(6, 5), b3=random(6))
    save_onnx(path, nodes, {"image": (TensorProto.FLOAT, [batch, 3, height, width])}, {"probabilities": (TensorProto.FLOAT, [batch, 6])}, weights)


def two_inputs(path):
    """An image, a vector, and a switch that picks one of two branches element by element."""
    nodes = [("Conv", "conv", ["image", "w"], ["c"], {}), ("GlobalMaxPool", "gmp", ["c"], ["m"], {}), ("Flatten", "flat", ["m"], ["f"], {}),
             ("Add", "sum", ["f", "info"], ["s"], {}), ("Mul", "product", ["f", "info"], ["t"], {}), ("Where", "pick", ["flag", "s", "t"], ["picked"], {}),
             ("Sigmoid", "gate", ["picked"], ["gated"], {}), ("Tanh", "bend", ["s"], ["bent"], {})]
    save_onnx(path, nodes, {"image": (TensorProto.FLOAT, [1, 3, 6, 6]), "info": (TensorProto.FLOAT, [1, 4]), "flag": (TensorProto.BOOL, [])},
              {"gated": (TensorProto.FLOAT, [1, 4]), "bent": (TensorProto.FLOAT, [1, 4])}, dict(w=random(4, 3, 3, 3)))


def embedding(path):
    nodes = [("Gather", "lookup", ["table", "ids"], ["e"], dict(axis=0)), ("ReduceMean", "mean", ["e"], ["m"], dict(axes=[1], keepdims=0)),
             ("MatMul", "project", ["m", "w"], ["p"], {}), ("Erf", "erf", ["p"], ["out"], {})]
    save_onnx(path, nodes, {"ids": (TensorProto.INT64, ["N", 4])}, {"out": (TensorProto.FLOAT, ["N", 3])}, dict(table=random(8, 5), w=random(5, 3)))


def many_operations(path):
    """Operations whose newest versions are newer than the last Model Optimizer."""
    i64 = lambda *v: np.array(v, np.int64)
    nodes = [("AveragePool", "avg", ["x"], ["a"], dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)),
             ("MaxPool", "max", ["x"], ["m"], dict(kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)),
             ("Resize", "resize", ["m", "", "", "sizes"], ["r"], dict(mode="linear", coordinate_transformation_mode="asymmetric")),
             ("Pad", "pad", ["r", "pads"], ["p"], dict(mode="reflect")), ("Softmax", "soft", ["p"], ["s"], dict(axis=-1)),
             ("ScatterND", "scatter", ["s", "where", "what"], ["n"], {}), ("GatherND", "pick", ["n", "where"], ["g"], {}),
             ("TopK", "top", ["g", "k"], ["values", "places"], {}), ("OneHot", "hot", ["places", "depth", "onoff"], ["h"], {}),
             ("Squeeze", "squeeze", ["h", "first"], ["hot_places"], {}), ("Expand", "expand", ["a", "shape"], ["wide"], {}),
             ("ScatterElements", "put", ["wide", "rows", "new"], ["put_in"], dict(axis=3))]
    weights = dict(sizes=i64(1, 2, 8, 8), pads=i64(0, 0, 1, 1, 0, 0, 1, 1), where=i64(0, 1, 2).reshape(1, 3), what=random(1, 10), k=i64(3), depth=i64(10),
                   onoff=np.array([0, 1], np.float32), first=i64(0), shape=i64(1, 2, 4, 4), rows=np.zeros((1, 1, 1, 1), np.int64), new=random(1, 1, 1, 1))
    save_onnx(path, nodes, {"x": (TensorProto.FLOAT, [1, 2, 7, 7])},
              {"values": (TensorProto.FLOAT, [1, 3]), "hot_places": (TensorProto.FLOAT, [3, 10]), "put_in": (TensorProto.FLOAT, [1, 2, 4, 4])}, weights)


# ---- TensorFlow ----

def graph_of_layers(variables):
    """x [?,8,8,3], and `training`, which switches between two branches."""
    make = (lambda name, value: v1.get_variable(name, initializer=value)) if variables else (lambda name, value: tf.constant(value, name=name))
    x = v1.placeholder(tf.float32, [None, 8, 8, 3], "x")
    training = v1.placeholder(tf.bool, [], "training")
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, make("w1", random(3, 3, 3, 4)), 2, "SAME", name="conv1"), make("b1", random(4))), name="relu1")
    y = tf.nn.max_pool2d(y, 2, 2, "VALID", name="pool1")
    y = tf.nn.conv2d(y, make("w2", random(1, 1, 4, 5)), 1, "VALID", name="conv2")
    y = tf.where(training, y * 2.0, y, name="pick")
    y = tf.reduce_mean(y, [1, 2], name="mean")
    return tf.nn.softmax(tf.matmul(y, make("w3", random(5, 6)), name="fc"), name="prob")


def tensorflow_graphs(out):
    with tf.Graph().as_default() as graph:
        graph_of_layers(False)
        v1.train.write_graph(graph.as_graph_def(), out, "frozen.pb", as_text=False)
        v1.train.write_graph(graph.as_graph_def(), out, "frozen.pbtxt", as_text=True)
    with tf.Graph().as_default() as graph:
        graph_of_layers(True)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.train.write_graph(graph.as_graph_def(), out, "variables.pb", as_text=False)
            os.makedirs(os.path.join(out, "meta"), exist_ok=True)
            v1.train.Saver().save(session, os.path.join(out, "meta", "model.ckpt"))


class Small(tf.Module):
    def __init__(self):
        super().__init__()
        self.w, self.v = tf.Variable(random(3, 3, 3, 4)), tf.Variable(random(4, 5))

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3], tf.float32, name="image")])
    def __call__(self, image):
        y = tf.nn.relu(tf.nn.conv2d(image, self.w, 1, "SAME"))
        y = tf.reduce_max(tf.nn.avg_pool2d(y, 3, 2, "SAME"), [1, 2])
        return {"scores": tf.matmul(y, self.v)}


# ---- Caffe ----

def caffe_net(path):
    net = Net("small", 3, [1, 3, 15, 15])
    y = net.relu("relu1", net.conv("conv1", "data", 4, 3, pad=1))
    y = net.pool("pool1", y, "MAX", 3, 2)
    y = net.batch_norm("bn", net.conv("conv2", y, 6, 3, pad=1, bias=False), "scale")
    y = net.pool("pool2", y, "AVE", 3, 2)
    y = net.lrn("norm", y)
    net.softmax("prob", net.dense("fc", y, 5))
    net.save(path)


def main(out):
    os.makedirs(out, exist_ok=True)
    at = lambda name: os.path.join(out, name)
    classifier(at("cls.onnx"), 1, 16, 16)
    classifier(at("open.onnx"), "N", "H", "W")
    two_inputs(at("two.onnx"))
    embedding(at("ids.onnx"))
    many_operations(at("ops.onnx"))
    tensorflow_graphs(out)
    tf.saved_model.save(Small(), at("saved"))
    caffe_net(at("net"))


if __name__ == "__main__":
    main(sys.argv[1])
