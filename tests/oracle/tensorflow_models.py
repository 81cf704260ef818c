"""Whole TensorFlow architectures with random weights, and what TensorFlow computes for every tensor of them.

  tensorflow_models.py OUT [NAME...]    OUT/NAME gets the model, inputs.npz, expected.npz, network.json
"""
import json
import os
import shutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tensorflow.python.saved_model import loader_impl

v1 = tf.compat.v1
keras = tf.keras


# ---- what TensorFlow computes ----

def behind(graph, kind, end=None):
    """Names of the operations that what `kind` makes flows into, those of `kind` among them; not beyond `end`."""
    found, ends = set(), [op for op in graph.get_operations() if op.type == kind]
    while ends:
        op = ends.pop()
        if op.type != end and op.name not in found:
            found.add(op.name)
            ends += [c for t in op.outputs for c in t.consumers()]
    return found


def tensors_of(graph):
    """What the inputs decide: no weights, no handles, nothing inside the frame of a loop, no flows of tensor arrays."""
    live, inside = behind(graph, "Placeholder"), behind(graph, "Enter", "Exit")
    arrays = [op for op in graph.get_operations() if op.type.startswith("TensorArray")]
    flows = {op.inputs[-1].name for op in arrays if op.inputs} | {op.outputs[-1].name for op in arrays if op.type in ("TensorArrayV3", "TensorArrayScatterV3", "TensorArrayWriteV3")}
    numbers = lambda t: t.dtype.is_floating or t.dtype.is_integer or t.dtype.is_bool
    return [t for op in graph.get_operations() if op.name in live - inside and op.type != "Placeholder" for t in op.outputs if numbers(t) and t.name not in flows]


def short(tensor):
    return tensor.name[:-2] if tensor.name.endswith(":0") else tensor.name


def evaluate(graph_def, feeds):
    """Every tensor of a frozen graph by name, without the :0 of first outputs."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
        tensors = tensors_of(graph)
        options = v1.ConfigProto(intra_op_parallelism_threads=0)
        options.graph_options.rewrite_options.disable_meta_optimizer = True  # each operation as it stands
        with v1.Session(graph=graph, config=options) as s:
            values = s.run(tensors, feeds)
    return dict(zip((short(t) for t in tensors), values))


def leave(out, name, files, inputs, results, outputs, weights):
    np.savez(os.path.join(out, name, "inputs.npz"), **inputs)
    np.savez(os.path.join(out, name, "expected.npz"), **{"t%d" % i: v for i, v in enumerate(results.values())})
    with open(os.path.join(out, name, "network.json"), "w") as f:
        json.dump({"framework": "tensorflow", "files": files, "inputs": list(inputs), "outputs": outputs, "tensors": list(results), "weights": weights}, f, indent=1)


def size_of(variables):
    return int(sum(np.prod(v.shape) * 4 for v in variables))


def save_frozen(out, name, function, inputs, variables=(), lower=False):
    """A frozen GraphDef of a function of tensors. `lower` writes loops as those of TensorFlow 1."""
    specs = [tf.TensorSpec(v.shape, v.dtype, n) for n, v in inputs.items()]
    frozen = convert_variables_to_constants_v2(tf.function(function).get_concrete_function(*specs), lower_control_flow=lower)
    graph_def = frozen.graph.as_graph_def()
    os.makedirs(os.path.join(out, name), exist_ok=True)
    with open(os.path.join(out, name, "model.pb"), "wb") as f:
        f.write(graph_def.SerializeToString())
    results = evaluate(graph_def, {n + ":0": v for n, v in inputs.items()})
    leave(out, name, ["model.pb"], inputs, results, [short(t) for t in frozen.outputs], size_of(variables))


def save_saved_model(out, name, save, inputs, variables):
    """A SavedModel; its tensors are those of the function it serves, frozen with everything called inlined."""
    folder = os.path.join(out, name, "model")
    shutil.rmtree(folder, ignore_errors=True)
    save(folder)
    loaded = tf.saved_model.load(folder)
    function = loaded.signatures["serving_default"]
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    feeds = {t.name: inputs[t.name[:-2].split("/")[-1]] for t in frozen.inputs}
    # The file's graph calls the function; what inlining adds has no counterpart there.
    signature = loader_impl.parse_saved_model(folder).meta_graphs[0].signature_def["serving_default"]
    call = next(iter(signature.outputs.values())).name.split(":")[0]
    results = {"%s/%s" % (call, n): v for n, v in evaluate(frozen.graph.as_graph_def(), feeds).items() if not n.startswith("Func/")}
    served = {n: v.numpy() for n, v in function(**{n: tf.constant(v) for n, v in inputs.items()}).items()}
    results.update(served)
    leave(out, name, ["model"], inputs, results, sorted(served), size_of(variables))


# ---- weights ----

def randomize(model, seed):
    """Weights that keep the size of what flows through, and statistics that are not those of a fresh layer."""
    rng = np.random.default_rng(seed)
    for layer in model.layers:
        for w in layer.weights:
            kind, shape = w.path.split("/")[-1], tuple(w.shape)
            if kind in ("moving_variance", "variance"):
                value = rng.uniform(0.6, 1.4, shape)
            elif kind == "gamma":
                value = rng.uniform(0.8, 1.2, shape)
            elif kind in ("beta", "bias", "moving_mean", "mean"):
                value = rng.standard_normal(shape) * 0.1
            elif kind in ("kernel", "depthwise_kernel") and len(shape) > 1:
                depthwise = "depthwise" in w.path or "dwconv" in w.path
                gain = 0.1 if layer.name.startswith(("box", "class")) else 1.0  # not all anchors shall find something
                value = rng.standard_normal(shape) * gain * (2.0 / np.prod(shape[:2] if depthwise else shape[:-1])) ** 0.5
            else:
                continue  # counters
            w.assign(value.astype(np.float32))
    return model


def picture(size, seed=100, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, (1, size, size, 3)).astype(np.float32)


# ---- classifiers ----

def application(out, name, model, seed, inputs):
    randomize(model, seed)
    save_frozen(out, name, lambda x: model(x, training=False), {"x": inputs}, model.weights)


def inception_v3(out):
    application(out, "inception_v3", keras.applications.InceptionV3(weights=None, input_shape=(139, 139, 3)), 11, picture(139))


def mobilenet_v2(out):
    application(out, "mobilenet_v2", keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3)), 12, picture(96))


def efficientnet_b0(out):
    application(out, "efficientnet_b0", keras.applications.EfficientNetB0(weights=None, input_shape=(96, 96, 3)), 13, picture(96, low=0.0, high=255.0))


# ---- a detector ----

def detector_model(classes, size):
    """MobileNet v2 with heads on four maps: codes of boxes and scores of classes for each anchor, and the anchors."""
    body = keras.applications.MobileNetV2(weights=None, input_shape=(size, size, 3), include_top=False)
    maps = [body.get_layer("block_13_expand_relu").output, body.output]
    for i, width in enumerate((256, 128)):
        x = keras.layers.Conv2D(width // 2, 1, activation="relu6", name="extra%d_1" % i)(maps[-1])
        maps.append(keras.layers.Conv2D(width, 3, 2, "same", activation="relu6", name="extra%d_2" % i)(x))
    anchors_each = 3
    flat = lambda x, width: keras.layers.Reshape((-1, width))(x)
    boxes = keras.layers.Concatenate(1, name="boxes")([flat(keras.layers.Conv2D(anchors_each * 4, 3, padding="same", name="box%d" % i)(m), 4) for i, m in enumerate(maps)])
    scores = keras.layers.Concatenate(1, name="scores")([flat(keras.layers.Conv2D(anchors_each * (classes + 1), 3, padding="same", name="class%d" % i)(m), classes + 1)
                                                         for i, m in enumerate(maps)])
    model = randomize(keras.Model(body.input, [boxes, scores]), 14)
    anchors = []
    for i, m in enumerate(maps):
        h, w = m.shape[1:3]
        cy, cx = np.meshgrid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w, indexing="ij")
        for ratio in (1.0, 2.0, 0.5):
            s = 0.2 + 0.2 * i
            anchors.append(np.stack([cy, cx, np.full_like(cy, s / ratio ** 0.5), np.full_like(cx, s * ratio ** 0.5)], -1).reshape(h * w, 1, 4))
    return model, np.concatenate([np.concatenate(anchors[3 * i:3 * i + 3], 1).reshape(-1, 4) for i in range(len(maps))]).astype(np.float32)


def detector(model, anchors, classes):
    """Boxes and probabilities of each image, and for each class the best boxes of those that overlap."""
    def decode(x):
        codes, logits = model((x - 127.5) / 127.5, training=False)
        a = tf.constant(anchors)
        centre = codes[..., :2] / 10.0 * a[:, 2:] + a[:, :2]
        extent = tf.exp(codes[..., 2:] / 5.0) * a[:, 2:]
        return tf.clip_by_value(tf.concat([centre - extent / 2.0, centre + extent / 2.0], -1), 0.0, 1.0), tf.sigmoid(logits)[..., 1:]

    def pick(corners, probabilities):
        found = []
        for c in range(classes):
            of_class = probabilities[:, c]
            picked = tf.image.non_max_suppression(corners, of_class, 20, 0.5, 0.4)
            found.append((tf.gather(corners, picked), tf.gather(of_class, picked), tf.fill(tf.shape(picked), float(c + 1))))
        all_boxes, all_scores, all_classes = (tf.concat([f[i] for f in found], 0) for i in range(3))
        count = tf.minimum(tf.shape(all_scores)[0], 30)
        best, order = tf.math.top_k(all_scores, count)
        pad = 30 - count
        return (tf.pad(tf.gather(all_boxes, order), [[0, pad], [0, 0]], name="detection_boxes"), tf.pad(best, [[0, pad]], name="detection_scores"),
                tf.pad(tf.gather(all_classes, order), [[0, pad]], name="detection_classes"), tf.cast(count, tf.float32, name="num_detections"))

    return decode, pick


def ssd_detector(out):
    model, anchors = detector_model(6, 128)
    decode, pick = detector(model, anchors, 6)

    def detect(x):
        corners, probabilities = decode(x)
        return pick(corners[0], probabilities[0])

    save_frozen(out, "ssd_detector", detect, {"image": picture(128, low=0.0, high=255.0)}, model.weights)


def ssd_detector_batch(out):
    """The same for several images, which a loop goes over."""
    model, anchors = detector_model(6, 128)
    decode, pick = detector(model, anchors, 6)
    images = np.concatenate([picture(128, seed, 0.0, 255.0) for seed in (100, 103)])
    save_frozen(out, "ssd_detector_batch", lambda x: tf.map_fn(lambda both: pick(*both), decode(x), fn_output_signature=(tf.float32,) * 4), {"image": images}, model.weights)


# ---- sequences ----

def lstm_function(rng, inputs, hidden):
    """An LSTM written as a while loop over tensor arrays, and a dense layer over its last state."""
    kernel = tf.constant((rng.standard_normal((inputs + hidden, 4 * hidden)) * (1.0 / (inputs + hidden)) ** 0.5).astype(np.float32))
    bias = tf.constant((rng.standard_normal(4 * hidden) * 0.1).astype(np.float32))
    last = tf.constant((rng.standard_normal((hidden, 10)) * hidden ** -0.5).astype(np.float32))

    def function(x):
        time = tf.transpose(x, [1, 0, 2])
        steps, batch = tf.shape(time)[0], tf.shape(time)[1]
        source = tf.TensorArray(tf.float32, steps, element_shape=[None, inputs]).unstack(time)
        result = tf.TensorArray(tf.float32, steps, element_shape=[None, hidden])
        zero = tf.zeros([batch, hidden])

        def body(i, h, c, result):
            z = tf.matmul(tf.concat([source.read(i), h], 1), kernel) + bias
            gate_in, new, forget, gate_out = tf.split(z, 4, 1)
            c = c * tf.sigmoid(forget + 1.0) + tf.sigmoid(gate_in) * tf.tanh(new)
            h = tf.tanh(c) * tf.sigmoid(gate_out)
            return i + 1, h, c, result.write(i, h)

        _, h, c, result = tf.while_loop(lambda i, *_: i < steps, body, (0, zero, zero, result))
        every = tf.transpose(result.stack(), [1, 0, 2])
        return tf.identity(every, "every"), tf.identity(c, "state"), tf.nn.softmax(tf.matmul(h, last), name="classes")

    return function


def lstm_loop(out):
    """The loop as a While with functions for its condition and body."""
    x = np.random.default_rng(101).standard_normal((2, 9, 24)).astype(np.float32)
    save_frozen(out, "lstm_loop", lstm_function(np.random.default_rng(15), 24, 48), {"x": x})


def lstm_loop_v1(out):
    """The same loop as Enter, Merge, Switch, NextIteration and Exit."""
    x = np.random.default_rng(101).standard_normal((2, 9, 24)).astype(np.float32)
    name = "lstm_loop_v1"
    v1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        outputs = lstm_function(np.random.default_rng(15), 24, 48)(v1.placeholder(tf.float32, x.shape, "x"))
    v1.enable_control_flow_v2()
    graph_def = v1.graph_util.extract_sub_graph(graph.as_graph_def(), [o.op.name for o in outputs])
    os.makedirs(os.path.join(out, name), exist_ok=True)
    with open(os.path.join(out, name, "model.pb"), "wb") as f:
        f.write(graph_def.SerializeToString())
    leave(out, name, ["model.pb"], {"x": x}, evaluate(graph_def, {"x:0": x}), [o.op.name for o in outputs], 0)


def lstm_keras(out):
    """Two LSTM layers of Keras over sequences of any length, as a SavedModel."""
    model = keras.Sequential([keras.Input((None, 24)), keras.layers.LSTM(48, return_sequences=True), keras.layers.LSTM(32), keras.layers.Dense(10, activation="softmax")])
    rng = np.random.default_rng(16)
    model.set_weights([(rng.standard_normal(w.shape) * (1.0 / w.shape[0]) ** 0.5).astype(np.float32) if w.ndim > 1 else (rng.standard_normal(w.shape) * 0.1).astype(np.float32)
                       for w in model.get_weights()])
    x = rng.standard_normal((2, 9, 24)).astype(np.float32)

    def save(folder):
        function = tf.function(lambda sequence: {"classes": model(sequence)}).get_concrete_function(tf.TensorSpec((None, None, 24), tf.float32, "sequence"))
        tf.saved_model.save(model, folder, signatures=function)

    save_saved_model(out, "lstm_keras", save, {"sequence": x}, model.weights)


# ---- an encoder ----

class Bert(tf.Module):
    """Embeddings, layers of self-attention with a mask, a pooler; any batch and length."""

    def __init__(self, layers=4, width=256, heads=8, vocabulary=1000, positions=64, seed=17):
        super().__init__()
        self.heads, self.depth = heads, layers
        rng = np.random.default_rng(seed)
        new = lambda shape, scale: tf.Variable((rng.standard_normal(shape) * scale).astype(np.float32))
        dense = lambda a, b: (new((a, b), a ** -0.5), new((b,), 0.05))
        norm = lambda: (tf.Variable(rng.uniform(0.8, 1.2, width).astype(np.float32)), new((width,), 0.1))
        self.words, self.positions, self.types = new((vocabulary, width), 0.5), new((positions, width), 0.5), new((2, width), 0.5)
        self.first = norm()
        self.blocks = [dict(q=dense(width, width), k=dense(width, width), v=dense(width, width), o=dense(width, width), a=norm(), up=dense(width, 4 * width), down=dense(4 * width, width), b=norm())
                       for _ in range(layers)]
        self.pooler = dense(width, width)

    def normed(self, x, w):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, w[1], w[0], 1e-12)

    def dense(self, x, w):
        return tf.nn.bias_add(tf.matmul(x, w[0]), w[1])

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32, n) for n in ("input_word_ids", "input_mask", "input_type_ids")])
    def serve(self, input_word_ids, input_mask, input_type_ids):
        shape = tf.shape(input_word_ids)
        x = tf.gather(self.words, input_word_ids) + self.positions[:shape[1]] + tf.matmul(tf.one_hot(input_type_ids, 2), self.types)
        x = self.normed(x, self.first)
        width = self.words.shape[1]
        mask = (1.0 - tf.cast(input_mask, tf.float32)[:, tf.newaxis, tf.newaxis, :]) * -10000.0
        split = lambda y: tf.transpose(tf.reshape(y, [shape[0], shape[1], self.heads, width // self.heads]), [0, 2, 1, 3])
        for b in self.blocks:
            q, k, v = (split(self.dense(x, b[n])) for n in "qkv")
            weights = tf.nn.softmax(tf.einsum("bhid,bhjd->bhij", q, k) / (width / self.heads) ** 0.5 + mask)
            y = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [shape[0], shape[1], width])
            x = self.normed(x + self.dense(y, b["o"]), b["a"])
            x = self.normed(x + self.dense(tf.nn.gelu(self.dense(x, b["up"]), approximate=False), b["down"]), b["b"])
        return {"sequence_output": x, "pooled_output": tf.tanh(self.dense(x[:, 0], self.pooler))}


def bert(out):
    model, rng = Bert(), np.random.default_rng(102)
    mask = np.ones((2, 23), np.int32)
    mask[1, 15:] = 0
    inputs = {"input_word_ids": rng.integers(0, 1000, (2, 23)).astype(np.int32), "input_mask": mask, "input_type_ids": (np.arange(23) > 11).astype(np.int32)[None].repeat(2, 0)}
    save_saved_model(out, "bert", lambda folder: tf.saved_model.save(model, folder, signatures=model.serve), inputs, model.variables)


NETWORKS = [inception_v3, mobilenet_v2, efficientnet_b0, ssd_detector, ssd_detector_batch, lstm_loop, lstm_loop_v1, lstm_keras, bert]


def main(out, names):
    for make in NETWORKS:
        if not names or make.__name__ in names:
            make(out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
