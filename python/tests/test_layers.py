"""register_layer: classes in the style of OpenCV."""
import threading
import unittest

import numpy as np
from support import Case, onnx, onnx_model

import graft


# As in OpenCV's documentation of custom layers in Python.
class CropLayer:
    def __init__(self, params, blobs):
        self.xstart = self.xend = self.ystart = self.yend = 0

    def getMemoryShapes(self, inputs):
        inputShape, targetShape = inputs[0], inputs[1]
        batchSize, numChannels = inputShape[0], inputShape[1]
        height, width = targetShape[2], targetShape[3]
        self.ystart = (inputShape[2] - targetShape[2]) // 2
        self.xstart = (inputShape[3] - targetShape[3]) // 2
        self.yend = self.ystart + height
        self.xend = self.xstart + width
        return [[batchSize, numChannels, height, width]]

    def forward(self, inputs):
        return [inputs[0][:, :, self.ystart:self.yend, self.xstart:self.xend]]


class Seen:
    """Notes what it is given."""
    last = None

    def __init__(self, params, blobs):
        self.params, self.blobs = params, blobs
        Seen.last = self

    def getMemoryShapes(self, inputs):
        return [inputs[0]]

    def forward(self, inputs):
        return [inputs[0] * np.float32(2)]


CROP = """
input: "x" input_shape { dim: 1 dim: 1 dim: 7 dim: 7 }
input: "like" input_shape { dim: 1 dim: 1 dim: 4 dim: 4 }
layer { name: "crop" type: "Crop" bottom: "x" bottom: "like" top: "y" }
"""


class Layers(Case):
    def register(self, type, cls):
        graft.register_layer(type, cls)
        self.addCleanup(self.forget, type)

    def forget(self, type):
        try:
            graft.unregister_layer(type)
        except ValueError:
            pass

    def crop(self, model):
        x = np.arange(49, dtype=np.float32).reshape(1, 1, 7, 7)
        return x, model.compile()({"x": x, "like": np.zeros((1, 1, 4, 4), np.float32)})[0]

    def test_the_example_of_opencv_takes_the_place_of_the_built_in_layer(self):
        path = self.write("net.prototxt", CROP)
        before = self.core.read_model(path)
        self.register("Crop", CropLayer)
        during = self.core.read_model(path)
        compiled = during.compile()
        graft.unregister_layer("Crop")
        after = self.core.read_model(path)
        x, corner = self.crop(before)
        np.testing.assert_array_equal(corner, x[:, :, :4, :4])
        np.testing.assert_array_equal(self.crop(during)[1], x[:, :, 1:5, 1:5])
        np.testing.assert_array_equal(self.crop(after)[1], x[:, :, :4, :4])
        # What is compiled stays as it was.
        out = compiled({"x": x, "like": np.zeros((1, 1, 4, 4), np.float32)})[0]
        np.testing.assert_array_equal(out, x[:, :, 1:5, 1:5])
        with self.assertRaises(ValueError):
            graft.unregister_layer("Crop")

    def test_a_model_goes_through_the_ir(self):
        self.register("Crop", CropLayer)
        path = self.write("net.prototxt", CROP)
        self.core.convert(path, self.path("net.xml"))
        x, out = self.crop(self.core.read_model(self.path("net.xml")))
        np.testing.assert_array_equal(out, x[:, :, 1:5, 1:5])

    def test_registrations_are_a_stack(self):
        class Three(Seen):
            def forward(self, inputs):
                return [inputs[0] * np.float32(3)]

        path = self.write("n.prototxt", 'input: "x" input_shape { dim: 2 }\n'
                                        'layer { name: "a" type: "Novel" bottom: "x" top: "y" }')
        self.register("Novel", Seen)
        self.register("Novel", Three)
        run = lambda: self.core.read_model(path).compile()(np.ones(2, np.float32))[0].tolist()
        self.assertEqual(run(), [3, 3])
        graft.unregister_layer("Novel")
        self.assertEqual(run(), [2, 2])
        graft.unregister_layer("Novel")
        self.assertFalse(self.core.read_model(path).report().complete)

    def test_parameters_of_caffe(self):
        self.register("Novel", Seen)
        path = self.write("n.prototxt", """input: "x" input_shape { dim: 2 }
layer { name: "a" type: "Novel" bottom: "x" top: "y"
  novel_param { height: 9 shift: -2 ratio: 0.5 mode: "a=\\"b\\", c" on: true sizes: [1, 2, 3] inner { deep: 4 } } }""")
        self.core.convert(path, self.path("n.xml"))
        for file in (path, self.path("n.xml")):
            self.core.compile_model(self.core.read_model(file))(np.ones(2, np.float32))
            self.assertEqual(Seen.last.params["height"], 9)
            self.assertEqual(Seen.last.params["shift"], -2)
            self.assertEqual(Seen.last.params["ratio"], 0.5)
            self.assertEqual(Seen.last.params["mode"], 'a="b", c')
            self.assertEqual(Seen.last.params["on"], True)
            self.assertEqual(Seen.last.params["sizes"], [1, 2, 3])
            self.assertEqual(Seen.last.params["deep"], 4)

    def test_onnx_with_and_without_a_domain(self):
        nodes = [onnx.node("Novel", ["x", "w"], ["y"], scale=2.5, kernel_shape=[3, 3]),
                 onnx.node("Other", ["y"], ["z"], domain="my.space")]
        weights = [onnx.tensor("w", [2, 2], [1.0, 2.0, 3.0, 4.0])]
        path = self.write("n.onnx", onnx_model(nodes, [("x", [2])], [("z", [2])], weights, ["my.space"]))
        self.register("Novel", Seen)
        self.register("my.space.Other", Seen)
        model = self.core.read_model(path)
        self.assertTrue(model.report().complete, str(model.report()))
        self.assertEqual(model.compile()(np.ones(2, np.float32))[0].tolist(), [4, 4])
        novel = [c for c in model.report().claims if c.type == "Novel"][0]
        self.assertTrue(novel.extension)

        class Weighted(Seen):
            def forward(self, inputs):
                assert len(inputs) == 1
                return [inputs[0] * self.blobs[0].sum() * np.float32(self.params["scale"])]

        self.register("Novel", Weighted)
        self.assertEqual(self.core.read_model(path).compile()(np.ones(2, np.float32))[0].tolist(), [50, 50])
        self.assertEqual(Seen.last.params.get("kernel_size", [3, 3]), [3, 3])

    def test_tensorflow_with_constants_as_blobs(self):
        class Resized(Seen):
            def getMemoryShapes(self, inputs):
                return [self.blobs[0].tolist()]

            def forward(self, inputs):
                return [np.full(self.blobs[0], self.params["scale"], np.float32)]

        self.register("Novel", Resized)
        path = self.write("n.pbtxt", """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 4 } } } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value {
  tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 2 int_val: 3 } } } }
node { name: "y" op: "Novel" input: "x" input: "c" attr { key: "scale" value { f: 2.5 } }
  attr { key: "T" value { type: DT_FLOAT } } }
""")
        self.assertEqual(self.core.read_model(path).compile()(np.zeros(4, np.float32))[0].tolist(), [[2.5] * 3] * 2)

    def test_tensorflow_images_are_planes(self):
        class Flip(Seen):
            def forward(self, inputs):
                self.__class__.shape = inputs[0].shape
                return [inputs[0][:, :, :, ::-1]]

        self.register("Novel", Flip)
        graph = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: %d } dim { size: 2 } dim { size: 3 } dim { size: 4 } } } } }
node { name: "y" op: "Novel" input: "x" attr { key: "data_format" value { s: "%s" } } }
"""
        x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
        for batch in (1, -1):
            out = self.core.read_model(self.write("n.pbtxt", graph % (batch, "NHWC"))).compile()(x)[0]
            self.assertEqual(Flip.shape, (1, 4, 2, 3))
            np.testing.assert_array_equal(out, x[:, :, ::-1])
        out = self.core.read_model(self.write("n.pbtxt", graph % (1, "NCHW"))).compile()(x)[0]
        self.assertEqual(Flip.shape, (1, 2, 3, 4))
        np.testing.assert_array_equal(out, x[:, :, :, ::-1])

    def test_several_outputs(self):
        class Halves:
            def __init__(self, params, blobs):
                pass

            def getMemoryShapes(self, inputs):
                n = inputs[0][0] // 2
                return [[n], [n]]

            def forward(self, inputs):
                n = len(inputs[0]) // 2
                return [inputs[0][:n], inputs[0][n:]]

        self.register("Halves", Halves)
        path = self.write("n.prototxt", 'input: "x" input_shape { dim: 4 }\n'
                                        'layer { name: "a" type: "Halves" bottom: "x" top: "p" top: "q" }')
        out = self.core.read_model(path).compile()(np.arange(4, dtype=np.float32))
        self.assertEqual([out["p"].tolist(), out["q"].tolist()], [[0, 1], [2, 3]])

    def test_unknown_dimensions(self):
        self.register("Novel", Seen)
        path = self.write("n.onnx", onnx_model([onnx.node("Novel", ["x"], ["y"])], [("x", ["n", 2])],
                                               [("y", ["n", 2])]))
        compiled = self.core.read_model(path).compile()
        for n in (1, 3, 2):
            self.assertEqual(compiled(np.ones((n, 2), np.float32))[0].tolist(), [[2, 2]] * n)

    def broken(self, **methods):
        cls = type("Broken", (Seen,), methods)
        self.register("Novel", cls)
        path = self.write("n.prototxt", 'input: "x" input_shape { dim: 2 }\n'
                                        'layer { name: "my_layer" type: "Novel" bottom: "x" top: "y" }')
        with self.assertRaises(graft.Error) as e:
            self.core.read_model(path).compile()(np.ones(2, np.float32))
        self.assertIn("my_layer", str(e.exception))
        return e.exception

    def test_an_exception_keeps_its_traceback_and_names_the_node(self):
        def forward(self, inputs):
            raise ZeroDivisionError("deep inside")

        error = self.broken(forward=forward)
        self.assertIn("ZeroDivisionError: deep inside", error.message)
        self.assertIn("test_layers.py", error.message)
        self.assertIsInstance(error.__cause__, ZeroDivisionError)
        frames = []
        tb = error.__cause__.__traceback__
        while tb:
            frames.append(tb.tb_frame.f_code.co_name)
            tb = tb.tb_next
        self.assertIn("forward", frames)

    def test_so_does_one_of_the_shape_function_and_of_the_constructor(self):
        def getMemoryShapes(self, inputs):
            raise KeyError("height")

        error = self.broken(getMemoryShapes=getMemoryShapes)
        self.assertIn("KeyError", str(error))

        def init(self, params, blobs):
            raise ValueError("bad parameters")

        error = self.broken(__init__=init)
        self.assertIn("bad parameters", str(error))

    def test_wrong_results_are_said_plainly(self):
        error = self.broken(forward=lambda self, inputs: [inputs[0][:1]])
        self.assertIn("returned shape [1] for output 0, expected [2]", str(error))
        error = self.broken(forward=lambda self, inputs: [inputs[0].astype(np.float64)])
        self.assertIn("returned elements of type float64 for output 0, expected f32", str(error))
        error = self.broken(forward=lambda self, inputs: inputs[0])
        self.assertIn("expected a list of arrays", str(error))
        error = self.broken(forward=lambda self, inputs: [])
        self.assertIn("returned 0 outputs, expected 1", str(error))
        error = self.broken(getMemoryShapes=lambda self, inputs: 5)
        self.assertIn("expected a list", str(error))

    def test_not_callable(self):
        with self.assertRaisesRegex(TypeError, "class must be callable"):
            graft.register_layer("Novel", 5)

    def kept_by(self, keep):
        kept = []

        class Keeper(Seen):
            def forward(self, inputs):
                kept.append(keep(inputs, len(kept)))
                return [inputs[0] + 0]

        self.register("Novel", Keeper)
        path = self.write("n.prototxt", 'input: "x" input_shape { dim: 2 }\n'
                          'layer { name: "r" type: "ReLU" bottom: "x" top: "r" }\n'
                          'layer { name: "a" type: "Novel" bottom: "r" top: "y" }\n'
                          'layer { name: "s" type: "ReLU" bottom: "y" top: "s" }')
        compiled = self.core.read_model(path).compile()
        for i in range(6):
            self.assertEqual(compiled(np.full(2, i, np.float32))[0].tolist(), [i, i])
        del compiled
        return kept

    def test_inputs_that_are_kept_stay_as_they_were_seen(self):
        expected = [[i, i] for i in range(6)]
        self.assertEqual([k.tolist() for k in self.kept_by(lambda inputs, i: inputs[0])], expected)
        self.assertEqual([k[0].tolist() for k in self.kept_by(lambda inputs, i: inputs)], expected)
        self.assertEqual([k.tolist() for k in self.kept_by(lambda inputs, i: inputs[0][:])], expected)
        late = self.kept_by(lambda inputs, i: inputs[0] if i > 2 else None)
        self.assertEqual([k.tolist() for k in late[3:]], expected[3:])

    def test_inputs_cannot_be_changed(self):
        def forward(self, inputs):
            inputs[0][0] = 5
            return [inputs[0]]

        self.assertIn("read-only", str(self.broken(forward=forward)))

    def test_requests_on_many_threads(self):
        self.register("Novel", Seen)
        path = self.write("n.prototxt", 'input: "x" input_shape { dim: 8 }\n'
                          'layer { name: "a" type: "Novel" bottom: "x" top: "y" }\n'
                          'layer { name: "b" type: "Novel" bottom: "y" top: "z" }')
        compiled = self.core.read_model(path).compile(streams=2)
        wrong = []

        def work(n):
            request = compiled.create_infer_request()
            for i in range(100):
                if request.infer(np.full(8, n * i, np.float32))[0][0] != 4 * n * i:
                    wrong.append((n, i))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        requests = [compiled.create_infer_request() for _ in range(4)]
        for i, r in enumerate(requests):
            r.start_async(np.full(8, i, np.float32))
        for i, r in enumerate(requests):
            r.wait()
            self.assertEqual(r.results[0][0], 4 * i)


if __name__ == "__main__":
    unittest.main()
