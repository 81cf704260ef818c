"""graft.cv: programs that were written for OpenCV's Python package."""
import os
import subprocess
import sys
import textwrap

import numpy as np
from support import Case

import graft
import graft.cv as cv

NET = """
input: "data" input_shape { dim: 1 dim: 3 dim: 8 dim: 8 }
layer { name: "wide" type: "Convolution" bottom: "data" top: "wide" convolution_param { num_output: 1 kernel_size: 1 pad: 3
  weight_filler { type: "constant" value: 0.01 } } }
layer { name: "crop" type: "Crop" bottom: "wide" bottom: "data" top: "crop" }
layer { name: "fuse" type: "Sigmoid" bottom: "crop" top: "edges" }
"""


def message(number, wire, content):
    """A field of a protobuf."""
    head = bytes([number << 3 | wire]) if number < 16 else bytes([(number << 3 | wire) & 127 | 128, number >> 4])
    if wire != 2:
        return head + content
    size, out = len(content), b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return head + out + bytes([size]) + content


def caffemodel():
    """The weights of the layer `wide`, 0.01 for blue, 0.02 for green, 0.03 for red, and its bias."""
    def blob(values, dims):
        return message(5, 2, np.float32(values).tobytes()) + message(7, 2, message(1, 2, bytes(dims)))
    layer = message(1, 2, b"wide") + message(2, 2, b"Convolution") + message(7, 2, blob([0.01, 0.02, 0.03], [1, 3, 1, 1])) + message(7, 2, blob([0.5], [1]))
    return message(100, 2, layer)


# Every call that a program for HED makes, in its order. The first line is the one that changes.
PROGRAM = """
import graft.cv as cv
import sys

picture, prototxt, weights, width, height = sys.argv[1:]


class Middle(object):
    def __init__(self, params, blobs):
        self.at = None

    def getMemoryShapes(self, inputs):
        whole, part = inputs
        self.at = [(w - p) // 2 for w, p in zip(whole[2:], part[2:])]
        return [whole[:2] + part[2:]]

    def forward(self, inputs):
        y, x = self.at
        h, w = inputs[1].shape[2:]
        return [inputs[0][:, :, y:y + h, x:x + w]]


cv.dnn_registerLayer('Crop', Middle)
net = cv.dnn.readNet(cv.samples.findFile(prototxt), cv.samples.findFile(weights))
cv.namedWindow('The input', cv.WINDOW_NORMAL)
cv.namedWindow('Edges', cv.WINDOW_NORMAL)
frames = cv.VideoCapture(picture if picture else 0)
while cv.waitKey(1) < 0:
    there, frame = frames.read()
    if not there:
        cv.waitKey()
        break
    cv.imshow('The input', frame)
    blob = cv.dnn.blobFromImage(frame, scalefactor=1.0, size=(int(width), int(height)), mean=(104.00698793, 116.66876762, 122.67891434),
                                swapRB=False, crop=False)
    net.setInput(blob)
    out = net.forward()
    out = out[0, 0]
    out = cv.resize(out, (frame.shape[1], frame.shape[0]))
    cv.imshow('Edges', out)
    print(out.shape, net.getLayerNames(), float(out.mean()))
"""


class Middle:
    def __init__(self, params, blobs):
        pass

    def getMemoryShapes(self, inputs):
        return [inputs[0][:2] + inputs[1][2:]]

    def forward(self, inputs):
        (h, w), (y, x) = inputs[1].shape[2:], inputs[0].shape[2:]
        y, x = (y - h) // 2, (x - w) // 2
        return [inputs[0][:, :, y:y + h, x:x + w]]


class Networks(Case):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NET)
        self.write("net.caffemodel", caffemodel())
        rng = np.random.default_rng(1)
        self.picture = rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)
        cv.imwrite(self.path("picture.png"), self.picture)

    def test_a_whole_program(self):
        self.write("program.py", PROGRAM)
        os.mkdir(self.path("shown"))
        r = subprocess.run([sys.executable, "program.py", "picture.png", "net.prototxt", "net.caffemodel", "10", "6"], cwd=self.folder,
                           capture_output=True, text=True, env=dict(os.environ, GRAFT_CV_SHOW="shown"))
        self.assertEqual(r.returncode, 0, r.stderr)
        blob = cv.dnn.blobFromImage(self.picture, 1.0, (10, 6), (104.00698793, 116.66876762, 122.67891434))
        expected = 1 / (1 + np.exp(-(np.tensordot(np.float32([0.01, 0.02, 0.03]), blob[0], 1) + 0.5)))
        expected = cv.resize(np.float32(expected), (12, 9))
        self.assertEqual(r.stdout.rsplit(" ", 1)[0], "(9, 12) ('wide', 'crop', 'fuse')")
        self.assertAlmostEqual(float(r.stdout.rsplit(" ", 1)[1]), float(expected.mean()), places=5)
        self.assertIn("there are no windows here; 'The input' is written to shown/The_input.png", r.stderr)
        np.testing.assert_array_equal(cv.imread(self.path("shown/The_input.png")), self.picture)
        edges = cv.imread(self.path("shown/Edges.png"), cv.IMREAD_GRAYSCALE)
        self.assertLessEqual(np.abs(edges - np.rint(expected * 255)).max(), 1)

    def test_layers_stack(self):
        class Corner(Middle):
            def forward(self, inputs):
                return [inputs[0][:, :, :8, :8]]
        data = np.arange(192, dtype=np.float32).reshape(1, 3, 8, 8)

        def crop():
            net = cv.dnn.readNetFromCaffe(self.path("net.prototxt"), self.path("net.caffemodel"))
            net.setInput(data)
            whole, part = net.forward(["wide", "crop"])
            return next(i for i in range(7) if np.array_equal(part, whole[:, :, i:i + 8, i:i + 8]))
        self.assertEqual(crop(), 0)
        cv.dnn_registerLayer("Crop", Middle)
        self.assertEqual(crop(), 3)
        cv.dnn_registerLayer("Crop", Corner)
        self.assertEqual(crop(), 0)
        cv.dnn_unregisterLayer("Crop")
        self.assertEqual(crop(), 3)
        cv.dnn_unregisterLayer("Crop")
        self.assertEqual(crop(), 0)
        with self.assertRaisesRegex(TypeError, "class must be callable"):
            cv.dnn_registerLayer("Crop", 5)

    def test_an_unknown_layer_in_the_words_of_opencv(self):
        self.write("unknown.prototxt", NET.replace('"Crop"', '"MyType"'))
        with self.assertRaises(cv.error) as raised:
            cv.dnn.readNet(self.path("unknown.prototxt"), self.path("net.caffemodel"))
        first, rest = str(raised.exception).split("\n", 1)
        self.assertEqual(first, 'Unspecified error: Can\'t create layer "crop" of type "MyType" in function getLayerInstance')
        self.assertIn("1 layer type is unknown", rest)

    def test_inputs_and_outputs(self):
        net = cv.dnn.readNet(self.path("net.caffemodel"), self.path("net.prototxt"), "caffe")
        self.assertFalse(net.empty())
        self.assertTrue(cv.dnn.Net().empty())
        self.assertEqual(net.getUnconnectedOutLayersNames(), ("edges",))
        with self.assertRaisesRegex(cv.error, "the input 'data' is not set"):
            net.forward()
        with self.assertRaisesRegex(cv.error, "there is no input 'other': there is 'data'"):
            net.setInput(np.zeros((1, 3, 8, 8)), "other")
        data = np.random.default_rng(2).random((1, 3, 5, 7))
        net.setInput(data.astype(np.uint8) + 7, "data", scalefactor=2, mean=(1, 2, 3))
        net.setPreferableBackend(cv.dnn.DNN_BACKEND_OPENCV)
        net.setPreferableTarget(cv.dnn.DNN_TARGET_CPU)
        wide = net.forward("wide")
        self.assertEqual(wide.shape, (1, 1, 11, 13))
        self.assertAlmostEqual(float(wide[0, 0, 5, 5]), 2 * (6 * 0.01 + 5 * 0.02 + 4 * 0.03) + 0.5, places=5)
        with self.assertRaisesRegex(cv.error, "there is no target 9 here"):
            net.setPreferableTarget(9)
        with self.assertRaisesRegex(cv.error, "the network is empty"):
            cv.dnn.Net().forward()

    def test_formats(self):
        model = graft.read_model(self.path("net.prototxt"), self.path("net.caffemodel"))
        graft.convert(model, self.path("ir.xml"))
        data = np.ones((1, 3, 8, 8), np.float32)
        results = []
        for net in (cv.dnn.readNetFromCaffe(self.path("net.prototxt"), self.path("net.caffemodel")),
                    cv.dnn.readNetFromModelOptimizer(self.path("ir.xml"), self.path("ir.bin")), cv.dnn.readNet(self.path("ir.xml"))):
            net.setInput(data)
            results.append(net.forward())
            self.assertTrue(net.getLayerNames())
        for other in results[1:]:
            np.testing.assert_allclose(other, results[0], rtol=1e-6)
        with self.assertRaisesRegex(cv.error, "is for OpenCV alone"):
            cv.dnn.readNetFromTensorflow("net.pb", "net.pbtxt")
        self.write("strange.prototxt", 'input: "x" input_shape { dim: 1 }\nlayer { name: "s" type: "Strange" bottom: "x" top: "y" }\n')
        with self.assertRaisesRegex(cv.error, "Strange"):
            cv.dnn.readNetFromCaffe(self.path("strange.prototxt"))

    def test_images_of_tensorflow(self):
        self.write("net.pbtxt", textwrap.dedent("""
            node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
              attr { key: "shape" value { shape { dim { size: 1 } dim { size: 1 } dim { size: 2 } dim { size: 3 } } } } }
            node { name: "b" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor {
              dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 10 float_val: 20 float_val: 30 } } } }
            node { name: "y" op: "BiasAdd" input: "x" input: "b" }"""))
        net = cv.dnn.readNetFromTensorflow(self.path("net.pbtxt"))
        net.setInput(np.float32([[[[1, 2]], [[3, 4]], [[5, 6]]]]))
        np.testing.assert_array_equal(net.forward(), [[[[11, 12]], [[23, 24]], [[35, 36]]]])


class Pictures(Case):
    def test_files(self):
        rng = np.random.default_rng(3)
        for shape, name in (((5, 7, 3), "c.png"), ((5, 7, 3), "c.ppm"), ((4, 6), "g.png")):
            a = rng.integers(0, 256, shape, dtype=np.uint8)
            self.assertTrue(cv.imwrite(self.path(name), a))
            back = cv.imread(self.path(name))
            np.testing.assert_array_equal(back, a if a.ndim == 3 else np.repeat(a[:, :, None], 3, axis=2))
        self.assertIsNone(cv.imread(self.path("none.png")))
        with self.assertRaisesRegex(cv.error, "ends in .png, .ppm or .pgm, got 'x.jpg'"):
            cv.imwrite("x.jpg", a)

    def test_resize(self):
        row = np.float32([[0, 1, 2, 3]])
        np.testing.assert_allclose(cv.resize(row, (8, 1)), [[0, .25, .75, 1.25, 1.75, 2.25, 2.75, 3]])
        np.testing.assert_allclose(cv.resize(row, (2, 1)), [[0.5, 2.5]])
        np.testing.assert_array_equal(cv.resize(np.uint8(row), None, fx=2, fy=3, interpolation=cv.INTER_NEAREST), [[0, 0, 1, 1, 2, 2, 3, 3]] * 3)
        # Bytes are within one of the exact result.
        a = np.random.default_rng(4).integers(0, 256, (13, 17, 3), dtype=np.uint8)
        exact = cv.resize(a.astype(np.float64), (29, 7))
        self.assertLessEqual(np.abs(cv.resize(a, (29, 7)) - exact).max(), 1.01)
        with self.assertRaisesRegex(cv.error, "expected a positive size"):
            cv.resize(a, (0, 5))

    def test_blobs(self):
        a = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
        blob = cv.dnn.blobFromImage(a, 0.5, mean=(1, 2, 3), swapRB=True)
        self.assertEqual(blob.shape, (1, 3, 2, 4))
        np.testing.assert_allclose(blob[0, :, 1, 2], [(20 - 1) / 2, (19 - 2) / 2, (18 - 3) / 2])
        self.assertEqual(cv.dnn.blobFromImage(a, size=(2, 2), crop=True).shape, (1, 3, 2, 2))
        np.testing.assert_array_equal(cv.dnn.blobFromImage(a, size=(2, 2), crop=True)[0, 0], [[3, 6], [15, 18]])
        self.assertEqual(cv.dnn.blobFromImages([a, a], ddepth=cv.CV_8U).dtype, np.uint8)
        with self.assertRaisesRegex(cv.error, "expected pictures of one size"):
            cv.dnn.blobFromImages([a, a[:1]])

    def test_frames(self):
        a = np.zeros((3, 4, 3), np.uint8)
        for i in (1, 2):
            cv.imwrite(self.path("f_%02d.png" % i), a + i)
        frames = cv.VideoCapture(self.path("f_%02d.png"))
        seen = [frames.read() for _ in range(3)]
        self.assertEqual([(ok, None if f is None else int(f[0, 0, 0])) for ok, f in seen], [(True, 1), (True, 2), (False, None)])
        with self.assertRaisesRegex(cv.error, "there is no camera 0 here"):
            cv.VideoCapture(0)
        self.write("film.avi", b"RIFF" + bytes(100))
        with self.assertRaises(cv.error):
            cv.VideoCapture(self.path("film.avi"))
        with self.assertRaisesRegex(cv.error, "cannot find the file 'none.bin'"):
            cv.samples.findFile("none.bin")


if __name__ == "__main__":
    import unittest
    unittest.main()
