"""The 77 Keras layers that the documentation of the Model Optimizer lists, each as a small SavedModel, and TensorFlow's results.

  keras_layers.py OUT [NAME...]    OUT/KERAS.NAME gets a SavedModel, inputs.npz, expected.npz, network.json

Every layer is made with Keras 3 and with the Keras 2 of tf_keras, as far as the version has it.
"""
import os
import sys

import numpy as np

import tensorflow_models as models  # quietens TensorFlow before it is loaded
import keras
import tensorflow as tf
import tf_keras

Roll = lambda k: k.layers.Lambda(lambda x: tf.roll(x, [1, -2], [1, 2]))


def leaky(k):
    return k.layers.LeakyReLU(0.2)


def relu(k):
    return k.layers.ReLU(max_value=0.9, negative_slope=0.1, threshold=0.2)


def recurrent(cell):
    """A cell on its own, unrolled over the steps by the layer RNN, with its states given back."""
    return lambda k: k.layers.RNN(cell(k), return_sequences=True, return_state=True)


class Decaying:
    """A cell of one's own: h' = tanh(dense(x)) + h / 2."""

    def __new__(cls, k):
        class Cell(k.layers.Layer):
            def __init__(self):
                super().__init__()
                self.state_size = self.output_size = 5
                self.dense = k.layers.Dense(5, activation="tanh")

            def build(self, shape):
                self.dense.build(shape)
                self.built = True

            def call(self, x, states):
                h = self.dense(x) + states[0] * 0.5
                return h, [h]

        return Cell()


IMAGE, SERIES, VOLUME, ROWS = [(9, 8, 4)], [(10, 4)], [(6, 7, 5, 4)], [(6,)]
TWO, THREE = [(5, 4)] * 2, [(5, 4)] * 3

# name -> inputs without the batch, then one or several ways to make the layer. An input is f32 unless it says i32.
LAYERS = {
    "ActivityRegularization": (ROWS, lambda k: k.layers.ActivityRegularization(l1=0.1)),
    "Add": (THREE, lambda k: k.layers.Add()),
    "AdditiveAttention": ([(5, 4), (7, 4)], lambda k: k.layers.AdditiveAttention()),
    "AlphaDropout": (ROWS, lambda k: k.layers.AlphaDropout(0.3)),
    "Attention": ([(5, 4), (7, 4)], lambda k: k.layers.Attention(), lambda k: k.layers.Attention(use_scale=True)),
    "Average": (THREE, lambda k: k.layers.Average()),
    "AveragePooling1D": (SERIES, lambda k: k.layers.AveragePooling1D(3), lambda k: k.layers.AveragePooling1D(3, 2, "same")),
    "AveragePooling2D": (IMAGE, lambda k: k.layers.AveragePooling2D(2), lambda k: k.layers.AveragePooling2D(3, 2, "same")),
    "AveragePooling3D": (VOLUME, lambda k: k.layers.AveragePooling3D(2), lambda k: k.layers.AveragePooling3D(3, 2, "same")),
    "BatchNormalization": (IMAGE, lambda k: k.layers.BatchNormalization(), lambda k: k.layers.BatchNormalization(axis=1, scale=False)),
    "Bidirectional": (SERIES, lambda k: k.layers.Bidirectional(k.layers.LSTM(3, return_sequences=True)), lambda k: k.layers.Bidirectional(k.layers.GRU(3), merge_mode="sum")),
    "Concatenate": (THREE, lambda k: k.layers.Concatenate(), lambda k: k.layers.Concatenate(1)),
    "Conv1D": (SERIES, lambda k: k.layers.Conv1D(5, 3), lambda k: k.layers.Conv1D(5, 3, 1, "causal", dilation_rate=2), lambda k: k.layers.Conv1D(6, 3, 2, "same", groups=2)),
    "Conv1DTranspose": (SERIES, lambda k: k.layers.Conv1DTranspose(5, 3, 2), lambda k: k.layers.Conv1DTranspose(5, 3, 2, "same")),
    "Conv2D": (IMAGE, lambda k: k.layers.Conv2D(5, 3), lambda k: k.layers.Conv2D(5, (3, 2), 2, "same", activation="relu"), lambda k: k.layers.Conv2D(6, 3, padding="same", dilation_rate=2),
               lambda k: k.layers.Conv2D(6, 3, groups=2)),
    "Conv2DTranspose": (IMAGE, lambda k: k.layers.Conv2DTranspose(5, 3, 2), lambda k: k.layers.Conv2DTranspose(5, 3, 2, "same")),
    "Conv3D": (VOLUME, lambda k: k.layers.Conv3D(5, 3), lambda k: k.layers.Conv3D(5, 3, 2, "same")),
    "Conv3DTranspose": (VOLUME, lambda k: k.layers.Conv3DTranspose(3, 2, 2), lambda k: k.layers.Conv3DTranspose(3, 3, 2, "same")),
    "Cropping1D": (SERIES, lambda k: k.layers.Cropping1D((1, 2))),
    "Cropping2D": (IMAGE, lambda k: k.layers.Cropping2D(((1, 2), (0, 3)))),
    "Cropping3D": (VOLUME, lambda k: k.layers.Cropping3D(((1, 2), (0, 3), (1, 1)))),
    "Dense": (ROWS, lambda k: k.layers.Dense(5, activation="softmax"), lambda k: k.layers.Dense(3, use_bias=False)),
    "DenseFeatures": (None, None),
    "DepthwiseConv2D": (IMAGE, lambda k: k.layers.DepthwiseConv2D(3, 2, "same"), lambda k: k.layers.DepthwiseConv2D(3, depth_multiplier=2)),
    "Dot": ([(5, 4), (5, 3)], lambda k: k.layers.Dot(1)),
    "Dropout": (ROWS, lambda k: k.layers.Dropout(0.5)),
    "ELU": (ROWS, lambda k: k.layers.ELU(0.7)),
    "Embedding": ([(7, "i32")], lambda k: k.layers.Embedding(11, 5)),
    "Flatten": (IMAGE, lambda k: k.layers.Flatten(), lambda k: k.layers.Flatten("channels_first")),
    "GRU": (SERIES, lambda k: k.layers.GRU(5), lambda k: k.layers.GRU(5, return_sequences=True, reset_after=False), lambda k: k.layers.GRU(5, go_backwards=True, return_state=True)),
    "GRUCell": (SERIES, recurrent(lambda k: k.layers.GRUCell(5))),
    "GaussianDropout": (ROWS, lambda k: k.layers.GaussianDropout(0.5)),
    "GaussianNoise": (ROWS, lambda k: k.layers.GaussianNoise(0.5)),
    "GlobalAveragePooling1D": (SERIES, lambda k: k.layers.GlobalAveragePooling1D()),
    "GlobalAveragePooling2D": (IMAGE, lambda k: k.layers.GlobalAveragePooling2D(), lambda k: k.layers.GlobalAveragePooling2D(keepdims=True)),
    "GlobalAveragePooling3D": (VOLUME, lambda k: k.layers.GlobalAveragePooling3D()),
    "GlobalMaxPool1D": (SERIES, lambda k: k.layers.GlobalMaxPool1D()),
    "GlobalMaxPool2D": (IMAGE, lambda k: k.layers.GlobalMaxPool2D()),
    "GlobalMaxPool3D": (VOLUME, lambda k: k.layers.GlobalMaxPool3D()),
    "LSTM": (SERIES, lambda k: k.layers.LSTM(5), lambda k: k.layers.LSTM(5, return_sequences=True, return_state=True), lambda k: k.layers.LSTM(5, go_backwards=True), lambda k: k.layers.LSTM(5, unroll=True)),
    "LSTMCell": (SERIES, recurrent(lambda k: k.layers.LSTMCell(5))),
    "Lambda": (ROWS, lambda k: k.layers.Lambda(lambda x: x * 2.0 + tf.abs(x))),
    "LayerNormalization": (IMAGE, lambda k: k.layers.LayerNormalization(), lambda k: k.layers.LayerNormalization(axis=[1, 2])),
    "LeakyReLU": (ROWS, leaky),
    "LocallyConnected1D": (SERIES, lambda k: k.layers.LocallyConnected1D(5, 3), lambda k: k.layers.LocallyConnected1D(5, 3, implementation=2)),
    "LocallyConnected2D": (IMAGE, lambda k: k.layers.LocallyConnected2D(3, 3), lambda k: k.layers.LocallyConnected2D(3, 3, implementation=2)),
    "MaxPool1D": (SERIES, lambda k: k.layers.MaxPool1D(3), lambda k: k.layers.MaxPool1D(3, 2, "same")),
    "MaxPool2D": (IMAGE, lambda k: k.layers.MaxPool2D(2), lambda k: k.layers.MaxPool2D(3, 2, "same")),
    "MaxPool3D": (VOLUME, lambda k: k.layers.MaxPool3D(2), lambda k: k.layers.MaxPool3D(3, 2, "same")),
    "Maximum": (THREE, lambda k: k.layers.Maximum()),
    "Minimum": (THREE, lambda k: k.layers.Minimum()),
    "Multiply": (THREE, lambda k: k.layers.Multiply()),
    "PReLU": (IMAGE, lambda k: k.layers.PReLU("uniform"), lambda k: k.layers.PReLU("uniform", shared_axes=[1, 2])),
    "Permute": (IMAGE, lambda k: k.layers.Permute((3, 1, 2))),
    "RNN": (SERIES, lambda k: k.layers.RNN(Decaying(k))),
    "ReLU": (ROWS, lambda k: k.layers.ReLU(), relu),
    "RepeatVector": (ROWS, lambda k: k.layers.RepeatVector(3)),
    "Reshape": (IMAGE, lambda k: k.layers.Reshape((6, -1))),
    "Roll": (IMAGE, Roll),
    "SeparableConv1D": (SERIES, lambda k: k.layers.SeparableConv1D(5, 3), lambda k: k.layers.SeparableConv1D(5, 3, 2, "same", depth_multiplier=2)),
    "SeparableConv2D": (IMAGE, lambda k: k.layers.SeparableConv2D(5, 3), lambda k: k.layers.SeparableConv2D(5, 3, 2, "same", depth_multiplier=2)),
    "SimpleRNN": (SERIES, lambda k: k.layers.SimpleRNN(5), lambda k: k.layers.SimpleRNN(5, return_sequences=True)),
    "SimpleRNNCell": (SERIES, recurrent(lambda k: k.layers.SimpleRNNCell(5))),
    "Softmax": (IMAGE, lambda k: k.layers.Softmax(), lambda k: k.layers.Softmax(1), lambda k: k.layers.Softmax([1, 2])),
    "SpatialDropout1D": (SERIES, lambda k: k.layers.SpatialDropout1D(0.5)),
    "SpatialDropout2D": (IMAGE, lambda k: k.layers.SpatialDropout2D(0.5)),
    "SpatialDropout3D": (VOLUME, lambda k: k.layers.SpatialDropout3D(0.5)),
    "StackedRNNCells": (SERIES, lambda k: k.layers.RNN(k.layers.StackedRNNCells([k.layers.LSTMCell(5), k.layers.GRUCell(3)]), return_sequences=True)),
    "Subtract": (TWO, lambda k: k.layers.Subtract()),
    "ThresholdedReLU": (ROWS, lambda k: k.layers.ThresholdedReLU(0.3)),
    "TimeDistributed": ([(3, 9, 8, 4)], lambda k: k.layers.TimeDistributed(k.layers.Conv2D(5, 3)), lambda k: k.layers.TimeDistributed(k.layers.Flatten())),
    "UpSampling1D": (SERIES, lambda k: k.layers.UpSampling1D(2)),
    "UpSampling2D": (IMAGE, lambda k: k.layers.UpSampling2D((2, 3)), lambda k: k.layers.UpSampling2D(2, interpolation="bilinear")),
    "UpSampling3D": (VOLUME, lambda k: k.layers.UpSampling3D(2)),
    "ZeroPadding1D": (SERIES, lambda k: k.layers.ZeroPadding1D((1, 2))),
    "ZeroPadding2D": (IMAGE, lambda k: k.layers.ZeroPadding2D(((1, 2), (0, 3)))),
    "ZeroPadding3D": (VOLUME, lambda k: k.layers.ZeroPadding3D(((1, 2), (0, 3), (1, 1)))),
}


def has(k, name):
    """Roll is no class of Keras. Keras 3 has dropped a few that Keras 2 has."""
    return name == "Roll" or hasattr(k.layers, name)


def randomize(model, rng):
    model.set_weights([rng.uniform(0.5, 1.5, w.shape).astype(w.dtype) if "variance" in name else (rng.standard_normal(w.shape) * 0.4).astype(w.dtype)
                       for w, name in zip(model.get_weights(), (getattr(w, "path", w.name) for w in model.weights))])


def dense_features(k):
    """Columns of numbers and of buckets, by name."""
    columns = [tf.feature_column.numeric_column("height", (2,)), tf.feature_column.bucketized_column(tf.feature_column.numeric_column("width"), [-0.5, 0.0, 0.5])]
    inputs = {"height": k.Input((2,), name="height"), "width": k.Input((1,), name="width")}
    return k.Model(inputs, k.layers.DenseFeatures(columns)(inputs)), [(2,), (1,)]


def save(k, version, out, name, inputs, make, rng):
    if name.startswith("DenseFeatures"):
        model, inputs = dense_features(k)
    else:
        tensors = [k.Input([d for d in s if d != "i32"], dtype="int32" if "i32" in s else "float32", name="x%d" % i) for i, s in enumerate(inputs)]
        y = make(k)(tensors if len(tensors) > 1 else tensors[0])
        model = k.Model(tensors, y)
    randomize(model, rng)
    values = [rng.integers(0, 11, (2, s[0])).astype(np.int32) if "i32" in s else rng.standard_normal((2, *s)).astype(np.float32) for s in inputs]
    names = list(model.input) if isinstance(model.input, dict) else [t.name.split(":")[0] for t in model.inputs]
    folder = os.path.join(out, "%s.%s" % (version, name), "model")
    if version == "keras3":
        model.export(folder, verbose=False)
    else:
        model.save(folder, save_format="tf")
    loaded = tf.saved_model.load(folder)
    served = loaded.signatures["serving_default"]
    feeds = dict(zip(names, values))
    results = {n: v.numpy() for n, v in served(**{n: tf.constant(v) for n, v in feeds.items()}).items()}
    models.leave(out, "%s.%s" % (version, name), ["model"], feeds, results, sorted(results), models.size_of(model.weights))


def main(out, names):
    assert len(LAYERS) == 77, len(LAYERS)
    for name, (inputs, *ways) in LAYERS.items():
        for version, k in (("keras3", keras), ("keras2", tf_keras)):
            for i, make in enumerate(ways if has(k, name) else []):
                full = name if i == 0 else "%s_%d" % (name, i + 1)
                if names and full not in names:
                    continue
                k.backend.clear_session()
                save(k, version, out, full, inputs, make, np.random.default_rng(200 + i))
        assert has(keras, name) or has(tf_keras, name), name


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
