"""The same classes as layers of OpenCV and of Graft, in one process: the same results."""
import os
import tempfile

import cv2
import numpy as np

import graft


class Crop:
    def __init__(self, params, blobs):
        self.box = None

    def getMemoryShapes(self, inputs):
        (n, c, h, w), (_, _, height, width) = inputs
        y, x = (h - height) // 2, (w - width) // 2
        self.box = np.s_[:, :, y:y + height, x:x + width]
        return [[n, c, height, width]]

    def forward(self, inputs):
        return [np.ascontiguousarray(inputs[0][self.box])]


class Gain:
    def __init__(self, params, blobs):
        self.by = float(params["by"])  # OpenCV gives the text of an unknown field

    def getMemoryShapes(self, inputs):
        return [inputs[0]]

    def forward(self, inputs):
        return [inputs[0] * np.float32(self.by)]


NET = """
input: "x" input_shape { dim: 2 dim: 3 dim: 11 dim: 9 }
input: "like" input_shape { dim: 2 dim: 3 dim: 4 dim: 5 }
layer { name: "r" type: "ReLU" bottom: "x" top: "r" }
layer { name: "g" type: "OracleGain" bottom: "r" top: "g" oracle_gain_param { by: 2.5 } }
layer { name: "c" type: "Crop" bottom: "g" bottom: "like" top: "y" }
"""

for name, cls in (("Crop", Crop), ("OracleGain", Gain)):
    cv2.dnn_registerLayer(name, cls)
    graft.register_layer(name, cls)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.prototxt")
    with open(path, "w") as f:
        f.write(NET)
    x = np.random.default_rng(1).standard_normal((2, 3, 11, 9), np.float32)
    like = np.zeros((2, 3, 4, 5), np.float32)
    net = cv2.dnn.readNetFromCaffe(path)
    net.setInput(x, "x")
    net.setInput(like, "like")
    expected = net.forward()
    got = graft.read_model(path).compile()({"x": x, "like": like})["y"]
np.testing.assert_array_equal(got, expected)
print("OpenCV %s and graft %s agree" % (cv2.__version__, graft.__version__))
