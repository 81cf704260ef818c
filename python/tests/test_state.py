"""State of operations in Python: an instance per node and request; and objects that the module must refuse."""
import unittest

import numpy as np
from support import Case

import graft
from graft import _native

GRAPH = "graph (x: f32[?]) { y = Ema@lab(x) z = Ema@lab(Negative(x)) return y, z }"
DEVICES = ("CPU", "REFERENCE", "HETERO:CPU,REFERENCE")


class State(Case):
    def op(self, cls, **options):
        made = graft.op(opset="lab", **options)(cls)
        self.addCleanup(graft.unregister, made)
        return made

    def check_average(self):
        """decay 0.5: the average of the new value and the old state."""
        x = np.array([1, 2], np.float32)
        for device in DEVICES:
            compiled = self.compiled(GRAPH, device)
            first, second = compiled.create_infer_request(), compiled.create_infer_request()
            for factor, expected in ((1, 1), (3, 2), (4, 3)):
                y, z = first.infer(factor * x).values()
                np.testing.assert_array_equal(y, expected * x, err_msg=device)
                np.testing.assert_array_equal(z, -expected * x, err_msg=device)
            np.testing.assert_array_equal(second.infer(x)[1], -x, err_msg=device)
            first.reset_state()
            np.testing.assert_array_equal(first.infer(5 * x)[0], 5 * x, err_msg=device)
            np.testing.assert_array_equal(second.infer(3 * x)[0], 2 * x, err_msg=device)
            # The state is that of the request, not of the shapes that it ran with.
            if device == "CPU":
                wide = np.ones(3, np.float32)
                with self.assertRaisesRegex(graft.Error, "Ema: ValueError"):
                    second.infer(wide)
                np.testing.assert_array_equal(second.infer(2 * x)[0], 2 * x)

    def test_members_that_forward_sets(self):
        class Ema:
            decay: float = 0.5
            old = None

            def shape(self, x):
                return x.shape

            def forward(self, x):
                self.old = x.copy() if self.old is None else self.decay * self.old + (1 - self.decay) * x
                return self.old.astype(x.dtype)

        self.op(Ema)
        self.check_average()

    def test_members_that_the_constructor_sets(self):
        def forward(self, x):
            self.old = x.copy() if self.old is None else self.decay * self.old + (1 - self.decay) * x
            return self.old.astype(x.dtype)

        def plain(self):
            self.old, self.seen = None, self.decay

        def taking(self, decay=0.1):
            self.old, self.decay = None, decay

        def any_of_them(self, **attributes):
            self.old, self.decay = None, attributes["decay"]

        for init in ({"__init__": plain}, {"__init__": taking}, {"__init__": any_of_them}, {"__post_init__": plain}):
            cls = type("Ema", (), {"__annotations__": {"decay": float}, "decay": 0.5, "shape": lambda self, x: x.shape,
                                   "forward": forward, **init})
            made = graft.op(opset="lab")(cls)
            try:
                self.check_average()
            finally:
                graft.unregister(made)

    def test_a_constructor_that_takes_something_else(self):
        with self.assertRaisesRegex(TypeError, "Ema: '__init__' takes 'size', which is not an attribute: annotate it"):
            @graft.op(opset="lab")
            class Ema:
                decay: float = 0.5

                def __init__(self, size, decay):
                    pass

                def shape(self, x):
                    return x.shape

                def forward(self, x):
                    return x

    def test_state_is_not_traced_and_not_computed_in_advance(self):
        class Count:
            calls = 0

            def forward(self, x):
                self.calls += 1
                return x + self.calls

        self.op(Count, elementwise=True)
        for device in DEVICES:
            compiled = self.compiled("graph (x: f32[1]) { return Add(Count@lab(f32[1] {10}), Count@lab(x)) }", device)
            request = compiled.create_infer_request()
            self.assertEqual([float(request.infer(np.zeros(1, np.float32))[0][0]) for _ in range(3)], [12, 14, 16])

    def test_a_pure_class_is_computed_in_advance(self):
        calls = []

        class Twice:
            def shape(self, x):
                return x.shape

            def forward(self, x):
                calls.append(1)
                return x + x

        self.op(Twice, pure=True)
        compiled = self.compiled("graph (x: f32[1]) { return Add(Twice@lab(f32[1] {10}), x) }")
        before = len(calls)
        self.assertEqual(compiled(np.zeros(1, np.float32))[0].tolist(), [20])
        self.assertEqual(len(calls), before)

    def test_layers_in_the_style_of_opencv(self):
        class Counted:
            def __init__(self, params, blobs):
                self.calls = 0

            def getMemoryShapes(self, inputs):
                return inputs

            def forward(self, inputs):
                self.calls += 1
                return [inputs[0] + self.calls]

        graft.register_layer("Counted", Counted)
        self.addCleanup(graft.unregister_layer, "Counted")
        model = self.core.read_model(self.write("n.prototxt", 'input: "x" input_shape { dim: 1 }\n'
                                                'layer { name: "y" type: "Counted" bottom: "x" top: "y" }'))
        x = np.zeros(1, np.float32)
        compiled = model.compile()
        first, second = compiled.create_infer_request(), compiled.create_infer_request()
        self.assertEqual([first.infer(x)[0][0] for _ in range(3)], [1, 2, 3])
        self.assertEqual(second.infer(x)[0][0], 1)
        first.reset_state()
        self.assertEqual(first.infer(x)[0][0], 1)

    def test_instances_end_with_their_request(self):
        alive = []

        class Held:
            def __init__(self):
                alive.append(1)

            def __del__(self):
                alive.pop()

            def shape(self, x):
                return x.shape

            def forward(self, x):
                return x

        self.op(Held)
        compiled = self.compiled("graph (x: f32[1]) { return Held@lab(x) }")
        before = len(alive)
        request = compiled.create_infer_request()
        for _ in range(3):
            request.infer(np.zeros(1, np.float32))
        self.assertEqual(len(alive), before + 1)
        request.reset_state()
        self.assertEqual(len(alive), before)
        request.infer(np.zeros(1, np.float32))
        del request
        self.assertEqual(len(alive), before)


class Refused(Case):
    def setUp(self):
        super().setUp()
        self.request = self.compiled("graph (x: f32[2,4]) { return Relu(x) }").create_infer_request()

    def test_memory_that_cannot_be_written(self):
        x = np.arange(8, dtype=np.float32).reshape(2, 4) - 4
        fixed = b"hello wo" * 4
        frozen = np.zeros((2, 4), np.float32)
        frozen.flags.writeable = False
        self.write("ro.dat", bytes(32))
        for out in (np.frombuffer(fixed, np.float32).reshape(2, 4), frozen,
                    np.memmap(self.path("ro.dat"), np.float32, "r", shape=(2, 4))):
            for key in (0, None):
                with self.assertRaisesRegex(graft.Error, "expected an array that can be written for output '.*', got a read-only one"):
                    self.request.set_output_tensor(0, out) if key == 0 else self.request.set_tensor(
                        self.request.compiled_model.outputs[0].any_name, out)
        for out in ([0.0] * 8, 1.0, "text"):
            with self.assertRaisesRegex(graft.Error, "expected an array or a tensor for output '.*', got an object of type"):
                self.request.set_output_tensor(0, out)
        # A tensor has memory of its own instead.
        tensor = graft.Tensor(np.frombuffer(fixed, np.float32).reshape(2, 4))
        self.request.set_output_tensor(0, tensor)
        self.request.infer(x)
        self.assertEqual(fixed, b"hello wo" * 4)
        np.testing.assert_array_equal(tensor.numpy(), np.maximum(x, 0))
        for out in (np.empty((2, 4), np.float32), np.memmap(self.path("ro.dat"), np.float32, "c", shape=(2, 4))):
            self.request.set_output_tensor(0, out)
            self.request.infer(x)
            np.testing.assert_array_equal(out, np.maximum(x, 0))

    def test_what_is_no_callback(self):
        for wrong in (5, "f", object()):
            with self.assertRaisesRegex(TypeError, "expected a function or None as the callback, got an object of type"):
                self.request.set_callback(wrong)
        self.request.set_callback(None)

    def test_numbers_of_threads(self):
        model = self.text("graph (x: f32[2]) { return Relu(x) }")
        for option in ("threads", "streams"):
            with self.assertRaisesRegex(graft.Error, f"expected a number of {option} of at least 0, got -3"):
                model.compile(**{option: -3})

    def test_objects_that_were_not_initialized(self):
        classes = [c for c in vars(_native).values() if isinstance(c, type)]
        self.assertGreater(len(classes), 5)
        for cls in classes:
            made = cls.__new__(cls)
            for name in dir(cls):
                if name in ("__init__", "__class__", "__new__") or name in dir(object):
                    continue
                for arguments in ((), (0,), (0, 0)):
                    with self.assertRaises(TypeError, msg=f"{cls.__name__}.{name}"):
                        got = getattr(made, name)
                        got(*arguments)


if __name__ == "__main__":
    unittest.main()
