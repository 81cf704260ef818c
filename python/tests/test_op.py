"""graft.op: functions and classes as operations, attributes, shapes, import rules, tracing."""
import subprocess
import sys
import threading
import unittest
from typing import Annotated, List, Literal, Optional

import numpy as np
from support import Case, onnx, onnx_model

import graft


class Ops(Case):
    def op(self, *args, **kwargs):
        """graft.op that is taken back after the test."""
        def define(it):
            made = graft.op(*args, **kwargs)(it)
            self.addCleanup(graft.unregister, made)
            return made

        return define

    def run_text(self, graph, *inputs, device="CPU"):
        return self.compiled(graph, device)(list(inputs))[0]

    # ---- functions ----

    def test_a_function_with_attributes(self):
        @self.op(opset="acme")
        def Warp(x, gain: Annotated[float, graft.at_least(0), "factor"] = 1.0, shift: int = 0):
            """Hyperbolic cosine of the scaled input."""
            return np.cosh(gain * x) + shift

        x = np.linspace(-1, 1, 7, dtype=np.float32)
        for device in ("CPU", "REFERENCE"):
            out = self.run_text("graph (x: f32[7]) { return Warp@acme(x) {gain = 2.0, shift = 1} }", x, device=device)
            np.testing.assert_allclose(out, np.cosh(2 * x) + 1, rtol=1e-6)
        with self.assertRaisesRegex(graft.Error, "attribute 'gain': expected a value of at least 0, got -1"):
            self.text("graph (x: f32[7]) { return Warp@acme(x) {gain = -1.0} }")
        described = str(self.core.operations()["Warp"])
        self.assertIn("Hyperbolic cosine", described)
        self.assertIn("factor", described)
        self.assertEqual(Warp(np.float32(0), 1.0), 1)

    def test_every_kind_of_attribute(self):
        seen = {}

        @self.op(opset="acme", shape=lambda x, **_: x.shape)
        def Kinds(x, flag: bool, whole: int = 3, number: float = 0.5, word: Literal["a", "b"] = "a",
                  wholes: List[int] = [1], numbers: List[float] = [], words: List[str] = ["p, q"],
                  maybe: Optional[int] = None, kind: np.dtype = np.float16):
            seen.update(flag=flag, whole=whole, number=number, word=word, wholes=wholes, numbers=numbers, words=words,
                        maybe=maybe, kind=kind)
            return x

        graph = "graph (x: f32[1]) { return Kinds@acme(x) {flag = true%s} }"
        self.run_text(graph % "", np.zeros(1, np.float32))
        self.assertEqual(seen, dict(flag=True, whole=3, number=0.5, word="a", wholes=[1], numbers=[], words=["p, q"],
                                    maybe=None, kind="f16"))
        self.run_text(graph % ', word = "b", maybe = 7, numbers = [1.5]', np.zeros(1, np.float32))
        self.assertEqual((seen["word"], seen["maybe"], seen["numbers"]), ("b", 7, [1.5]))
        with self.assertRaisesRegex(graft.Error, "expected one of a, b"):
            self.text(graph % ', word = "c"')
        with self.assertRaisesRegex(graft.Error, "flag"):
            self.text("graph (x: f32[1]) { return Kinds@acme(x) }")

    def test_a_class_with_several_outputs_and_types(self):
        @self.op(opset="acme", outputs="values, indices")
        class Best:
            k: Annotated[int, graft.between(1, 4)] = 1

            def shape(self, x):
                shape = None if x.shape is None else x.shape[:-1] + (self.k,)
                return [shape, ("i64", shape)]

            def forward(self, x):
                order = np.argsort(-x, axis=-1, kind="stable")[..., :self.k]
                return np.take_along_axis(x, order, -1), order.astype(np.int64)

        compiled = self.compiled("graph (x: f32[?,3]) { v = Best@acme(x) {k = 2} return v, v.1 }")
        self.assertEqual(compiled.outputs[1].shape, (None, 2))
        out = compiled(np.array([[1, 3, 2]], np.float32))
        self.assertEqual(out[0].tolist(), [[3, 2]])
        self.assertEqual(out[1].tolist(), [[1, 2]])
        self.assertEqual(out[1].dtype, np.int64)

    def test_sizes_that_only_the_data_tells(self):
        @self.op(opset="acme", shape=lambda x: ("i64", (None,)))
        def Positive(x):
            return np.nonzero(x > 0)[0]

        compiled = self.compiled("graph (x: f32[4]) { return Relu(Convert(Positive@acme(x)) {destination_type = f32}) }")
        for x, expected in (([1, -1, 2, -2], [0, 2]), ([-1] * 4, []), ([1] * 4, [0, 1, 2, 3])):
            self.assertEqual(compiled(np.array(x, np.float32))[0].tolist(), expected)

    def test_optional_and_variadic_inputs(self):
        @self.op(opset="acme", shape=lambda a, b=None: a.shape)
        def Maybe(a, b=None):
            return a if b is None else a + b

        @self.op(opset="acme", shape=lambda *x: x[0].shape)
        def Total(*x):
            return sum(x[1:], x[0])

        one = np.ones(2, np.float32)
        self.assertEqual(self.run_text("graph (a: f32[2]) { return Maybe@acme(a) }", one).tolist(), [1, 1])
        self.assertEqual(self.run_text("graph (a: f32[2], b: f32[2]) { return Maybe@acme(a, b) }", one, one).tolist(), [2, 2])
        self.assertEqual(self.run_text("graph (a: f32[2]) { return Total@acme(a, a, a) }", one).tolist(), [3, 3])

    def test_any_element_type(self):
        @self.op(opset="acme", shape=lambda x: x)
        def Same(x):
            return x[::-1]

        for name in ("boolean", "f64", "f32", "f16", "bf16", "i64", "i8", "u8", "u16", "i4", "u4", "f8e4m3"):
            x = graft.Tensor(np.array([1, 0, 1, 1], np.float32)).to(name)
            self.assertEqual(self.run_text("graph (x: %s[4]) { return Same@acme(x) }" % name, x).tolist(), [1, 1, 0, 1])
        out = self.run_text("graph (x: string[2]) { return Same@acme(x) }", np.array(["a", "b"]))
        self.assertEqual(out.tolist(), ["b", "a"])

    def test_half_types_are_computed_in_f32_and_rounded_once(self):
        # NumPy rounds each step: 2049 is no f16, so (x + 1) + 1 would stay 2048.
        @self.op(opset="acme")
        def Traced(x):
            return (x + 1) + 1

        @self.op(opset="acme", shape=lambda x: x)
        def Called(x):
            assert x.dtype == np.float32
            return ((x.copy() + 1) + 1)

        x = np.full((3, 700), 2048, np.float32)
        for name in ("Traced", "Called"):
            for kind, result in (("f16", 2050), ("bf16", 2048)):
                out = self.run_text("graph (x: %s[3,700]) { return %s@acme(x) }" % (kind, name), graft.Tensor(x).to(kind))
                self.assertEqual(out.astype(np.float32).tolist(), [[result] * 700] * 3)
        half = np.array([1, 2, 3], np.float16)

        @self.op(opset="acme")
        def Weighted(x, w):
            return np.where(x > w, x * w + 0.25, x)

        compiled = self.text("graph (x: f16[2,3], w: f16[3]) { return Weighted@acme(x, w) }").compile()
        self.assertIn("traced", str(compiled.explain()))
        out = compiled([np.array([[3, 1, 5], [0.5, 4, 3]], np.float16), half])[0]
        self.assertEqual(out.dtype, np.float16)
        self.assertEqual(out.tolist(), [[3.25, 1, 15.25], [0.5, 8.25, 3]])

    def test_constant_inputs_in_shape_functions(self):
        def shape(x, size):
            return (None,) if size.value is None else tuple(int(v) for v in size.value)

        @self.op(opset="acme", shape=shape)
        def Fill(x, size):
            return np.full(size, x, np.float32)

        model = self.text("graph (x: f32[]) { s = i64[2] {2, 3} return Fill@acme(x, s) }")
        self.assertEqual(model.outputs[0].shape, (2, 3))
        self.assertEqual(model.compile()(np.float32(7))[0].tolist(), [[7] * 3] * 2)

    def test_traits(self):
        @self.op(opset="acme", shape=lambda x: x.shape, traits=["moves_data", "channelwise"])
        def Mirror(x):
            return np.ascontiguousarray(x[..., ::-1])

        @self.op(opset="acme")
        def Square(x):
            return x * x

        known = self.core.operations()
        self.assertEqual(known["Mirror"].traits, ["pure", "widens", "moves_data", "channelwise"])
        self.assertEqual(known["Square"].traits, ["pure", "in_place", "elementwise", "widens"])
        with self.assertRaisesRegex(ValueError, "expected a trait .*elementwise.*, got 'linear'"):
            graft.op("Wrong", traits=["linear"])(lambda x: x)

    def test_definitions_that_make_no_sense(self):
        with self.assertRaisesRegex(TypeError, "needs a shape function"):
            graft.op(name="Sorted")(lambda x: np.sort(x))
        with self.assertRaisesRegex(TypeError, "expected a name"):
            graft.op(lambda x: x)
        with self.assertRaisesRegex(TypeError, "attribute 'a': expected bool, int"):
            @graft.op
            def Wrong(x, a: dict):
                return x
        with self.assertRaisesRegex(TypeError, "no method 'forward'"):
            @graft.op
            class Empty:
                pass

    # ---- import, IR ----

    def test_import_rules_of_every_framework(self):
        @self.op(opset="acme", onnx=graft.rule("com.acme::Twist", attrs={"gain": "alpha"}), caffe="Twist",
                 tensorflow="Twist", mxnet="Twist", kaldi="Twist")
        def Twist(x, gain: float = 1.0):
            return x * gain

        frameworks = {r.framework for r in self.core.operations()["Twist"].rules}
        self.assertEqual(frameworks, {"onnx", "caffe", "tensorflow", "mxnet", "kaldi"})
        node = onnx.node("Twist", ["x"], ["y"], domain="com.acme", alpha=2.0)
        path = self.write("m.onnx", onnx_model([node], [("x", [2])], [("y", [2])], domains=["com.acme"]))
        one = np.ones(2, np.float32)
        self.assertEqual(self.core.read_model(path).compile()(one)[0].tolist(), [2, 2])
        path = self.write("m.prototxt", 'input: "x" input_shape { dim: 2 }\n'
                          'layer { name: "t" type: "Twist" bottom: "x" top: "y" twist_param { gain: 3 } }')
        self.core.convert(path, self.path("m.xml"))
        for file in (path, self.path("m.xml")):
            self.assertEqual(self.core.read_model(file).compile()(one)[0].tolist(), [3, 3])

    def test_by_name_where_no_rule_is_given(self):
        @self.op()
        def Twirl(x, gain: float = 1.0):
            return x * gain

        path = self.write("m.onnx", onnx_model([onnx.node("Twirl", ["x"], ["y"], gain=2.0)], [("x", [2])], [("y", [2])]))
        self.assertEqual(self.core.read_model(path).compile()(np.ones(2, np.float32))[0].tolist(), [2, 2])

    def test_an_unused_field_of_caffe_is_reported(self):
        self.op(opset="acme")(self._twist())
        seen = []
        graft.set_log("warning", lambda level, message: seen.append(message))
        self.addCleanup(graft.set_log)
        path = self.write("m.prototxt", 'input: "x" input_shape { dim: 2 }\n'
                          'layer { name: "t" type: "Twist" bottom: "x" top: "y" twist_param { gian: 3 } }')
        self.core.read_model(path)
        self.assertTrue(any("twist_param.gian" in m for m in seen), seen)

    @staticmethod
    def _twist():
        def Twist(x, gain: float = 1.0):
            return x * gain

        return Twist

    def test_it_takes_the_place_of_a_built_in_operation(self):
        @self.op(name="Relu", opset="opset1", shape=lambda x: x)
        def relu(x):
            return np.maximum(x, np.float32(10))

        self.assertEqual(self.run_text("graph (x: f32[1]) { return Relu(x) }", np.zeros(1, np.float32)).tolist(), [10])

    def test_a_file_of_operations_for_one_core(self):
        path = self.write("my_ops.py", "import graft\n@graft.op\ndef Twice(x):\n    return x + x\n")
        added = self.core.add_extension(path)
        graph = "graph (x: f32[1]) { return Twice@extension(x) }"
        self.assertEqual(self.run_text(graph, np.ones(1, np.float32)).tolist(), [2])
        with self.assertRaisesRegex(graft.Error, "Twice"):
            graft.Core().compile_model(self.write("m.graft", graph))
        self.core.remove_extension(added)
        with self.assertRaisesRegex(graft.Error, "Twice"):
            self.text(graph).compile()
        with self.assertRaisesRegex(ValueError, "defines no operation"):
            self.core.add_extension(self.write("none.py", "x = 1\n"))

    # ---- failures ----

    def test_an_exception_keeps_its_traceback_and_names_the_node(self):
        @self.op(opset="acme", shape=lambda x: x)
        def Fails(x):
            raise RuntimeError("no luck")

        request = self.compiled("graph (x: f32[1]) { bad = Fails@acme(x) return bad }").create_infer_request()
        for run in (lambda: request.infer(np.zeros(1, np.float32)), self.in_the_background(request)):
            with self.assertRaisesRegex(graft.Error, "RuntimeError: no luck") as e:
                run()
            self.assertIn("'bad' (Fails)", str(e.exception))
            self.assertIsInstance(e.exception.__cause__, RuntimeError)
            self.assertEqual(e.exception.__cause__.__traceback__.tb_frame.f_code.co_name, "Fails")

    def in_the_background(self, request):
        def run():
            request.start_async(np.zeros(1, np.float32))
            request.wait()

        return run

    def test_an_interrupt_stays_an_interrupt(self):
        @self.op(opset="acme", shape=lambda x: x)
        def Stops(x):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.run_text("graph (x: f32[1]) { return Stops@acme(x) }", np.zeros(1, np.float32))

    def test_wrong_results_are_said_plainly(self):
        results = {"Shape": lambda x: x[:1], "Type": lambda x: x.astype(np.int32), "Object": lambda x: object()}
        for name, function in results.items():
            self.op(name=name, opset="acme", shape=lambda x: x)(function)
        zero = np.zeros(2, np.float32)
        with self.assertRaisesRegex(graft.Error, r"Shape returned shape \[1\] for output 0, expected \[2\]"):
            self.run_text("graph (x: f32[2]) { return Shape@acme(x) }", zero)
        with self.assertRaisesRegex(graft.Error, "Type returned elements of type int32 for output 0, expected f32"):
            self.run_text("graph (x: f32[2]) { return Type@acme(x) }", zero)
        with self.assertRaises(graft.Error):
            self.run_text("graph (x: f32[2]) { return Object@acme(x) }", zero)
        self.op(name="Oops", opset="acme", shape=lambda x: "f32")(lambda x: x)
        with self.assertRaisesRegex(graft.Error, "the shape function returned 'f32', expected a shape"):
            self.text("graph (x: f32[2]) { return Oops@acme(x) }")

    def test_the_interpreter_ends_while_requests_run(self):
        code = """
import sys, time, numpy as np, graft
@graft.op(shape=lambda x: x)
def Slow(x):
    time.sleep(0.05)
    return x + 0
open(sys.argv[1], "w").write("graph (x: f32[2]) { a = Slow@extension(x) b = Slow@extension(a) return Slow@extension(b) }")
compiled = graft.compile_model(sys.argv[1], streams=2)
requests = [compiled.create_infer_request() for _ in range(4)]
for r in requests:
    r.start_async(np.zeros(2, np.float32))
compiled.create_infer_request().start_async(np.zeros(2, np.float32))  # dropped at once
time.sleep(0.02)
"""
        done = subprocess.run([sys.executable, "-c", code, self.path("slow.graft")], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_python_is_locked_inside_python_operations_only(self):
        inside = threading.Barrier(4)  # waiting unlocks Python itself

        @self.op(opset="acme", shape=lambda x: x)
        def Wait(x):
            inside.wait(60)
            return x

        compiled = self.compiled("graph (x: f32[1]) { return Wait@acme(x) }")
        threads = [threading.Thread(target=compiled, args=(np.zeros(1, np.float32),)) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertFalse(inside.broken)


class Traced(Case):
    X = np.array([-2.5, -1, -0.0, 0, 0.3, 1, 2.5], np.float32)

    def kernel(self, function, x=X, attrs=None, text="", **kwargs):
        """The kernel that runs the function, after comparing its result with NumPy's."""
        made = graft.op(name="Traced", opset="acme", attrs=attrs, **kwargs)(function)
        self.addCleanup(graft.unregister, made)
        compiled = self.compiled("graph (x: %s[%d]) { t = Traced@acme(x) %s return t }" %
                                 (graft.Tensor(x).dtype, x.size, text))
        with np.errstate(all="ignore"):
            expected = function(x, *([type("A", (), attrs)] if attrs else []))
        out = compiled(x)[0]
        self.assertEqual(out.dtype, expected.dtype)
        np.testing.assert_allclose(out, expected, rtol=2e-6 if x.dtype == np.float32 else 1e-14, atol=1e-7)
        return [c for c in compiled.explain().kernels if c.type == "Traced"][0]

    def test_an_expression_runs_natively_and_says_so(self):
        choice = self.kernel(lambda x, a: np.cosh(a.gain * x), attrs={"gain": 2.0})
        self.assertEqual(choice.kernel, "traced")
        self.assertEqual(self.kernel(lambda x: x * 2, self.X.astype(np.float64)).kernel, "traced")

    def test_expressions(self):
        for function in (
                lambda x: x, lambda x: x + 1, lambda x: 1 - x, lambda x: x / 3, lambda x: 1 / (x + 10), lambda x: -x,
                lambda x: abs(x), lambda x: x**2, lambda x: x**3, lambda x: 2**x, lambda x: x * x * x,
                lambda x: np.where(x > 0, x, 0.1 * x), lambda x: np.maximum(x, 0), lambda x: np.clip(x, -1, 1),
                lambda x: x.clip(0, 2), lambda x: np.tanh(np.log1p(np.exp(x))) * x, lambda x: x * (x > 0),
                lambda x: np.sqrt(np.abs(x)), lambda x: np.sign(x), lambda x: np.floor(x) + np.ceil(x) + np.rint(x),
                lambda x: np.sin(x) * np.cos(x) - np.arctan(x), lambda x: np.arctan2(x, 2), lambda x: np.hypot(x, x),
                lambda x: np.expm1(x) + np.square(x), lambda x: np.log(x), lambda x: np.sinh(x) + np.cbrt(x),
                lambda x: x > 0, lambda x: (x > 0) & (x < 2), lambda x: ~(x == 1), lambda x: np.isfinite(1 / x),
                lambda x: np.where((x > 0) | (x < -2), 1.5, x), lambda x: np.minimum(x, 3) // 2,
                lambda x: np.clip(x, a_min=-1, a_max=None), lambda x: np.clip(x, None, 0.5), lambda x: x.clip(min=0.25),
                lambda x: x.clip(max=1), lambda x: np.fabs(x) - np.fmin(x, 2), lambda x: np.round(x * 4),
                lambda x: np.select([x > 2, x > 0], [x * 2, np.float32(1.5)], -x)):
            self.assertEqual(self.kernel(function).kernel, "traced")

    def test_half_types_are_converted_at_the_border(self):
        made = graft.op(name="Soft", opset="acme")(lambda x: np.where(np.abs(x) > 1, np.clip(x, -60000, 100), x * x))
        self.addCleanup(graft.unregister, made)
        values = np.concatenate([np.arange(-1000, 1000) / 64, [6e-8, -6e-5, 65504, -65504, np.inf, -np.inf, np.nan, -0.0]])
        for kind in ("f16", "bf16"):
            compiled = self.compiled("graph (x: %s[%d]) { return Soft@acme(x) }" % (kind, len(values)))
            x = graft.Tensor(values.astype(np.float32)).to(kind)
            wide = np.array(x.to("f32"))
            expected = np.where(np.abs(wide) > 1, np.clip(wide, -60000, 100), wide * wide).astype(np.float32)
            request = compiled.create_infer_request()
            request.infer([x])
            got = np.array(request.get_output_tensor(0).to("f32"))
            np.testing.assert_array_equal(got, np.array(graft.Tensor(expected).to(kind).to("f32")))
            self.assertIn("traced", str(compiled.explain()))

    def test_a_branch_says_what_to_write_instead(self):
        with self.assertRaisesRegex(TypeError, "np.maximum and np.minimum replace max and min"):
            graft.op(name="Larger", opset="acme", register=False)(lambda x: max(x, 0.5))

    def test_branches_on_attributes(self):
        def Either(x, mode: Literal["up", "down"] = "up", by: float = 1.0):
            return x + by if mode == "up" else x - by

        made = graft.op(opset="acme")(Either)
        self.addCleanup(graft.unregister, made)
        for mode, expected in (("up", 3), ("down", -1)):
            compiled = self.compiled('graph (x: f32[1]) { return Either@acme(x) {mode = "%s", by = 2.0} }' % mode)
            self.assertEqual(compiled(np.ones(1, np.float32))[0].tolist(), [expected])
            self.assertIn("traced", str(compiled.explain()))

    def test_several_inputs_broadcast(self):
        made = graft.op(name="Mix", opset="acme")(lambda a, b, c: a * b + c)
        self.addCleanup(graft.unregister, made)
        compiled = self.compiled("graph (a: f32[2,1,3], b: f32[4,1], c: f32[]) { return Mix@acme(a, b, c) }")
        a, b = np.random.rand(2, 1, 3).astype(np.float32), np.random.rand(4, 1).astype(np.float32)
        np.testing.assert_allclose(compiled([a, b, np.float32(2)])[0], a * b + 2, rtol=1e-6)
        large = self.compiled("graph (a: f32[300,1,70], b: f32[4,1], c: f32[]) { return Mix@acme(a, b, c) }")
        a = np.random.rand(300, 1, 70).astype(np.float32)
        np.testing.assert_allclose(large([a, b, np.float32(2)])[0], a * b + 2, rtol=1e-6)

    def test_what_cannot_be_traced_runs_in_python_and_says_why(self):
        def loop(x):
            return np.array([v * 2 for v in x], x.dtype)

        choice = self.kernel(loop, elementwise=True)
        self.assertEqual(choice.kernel, "python")
        self.assertTrue(any("traced" in k and "not traced" in reason for k, reason in choice.declined), choice.declined)
        choice = self.kernel(lambda x: x * 2, np.array([1, 2], np.int32))
        self.assertEqual(choice.kernel, "python")
        self.assertTrue(any("expected f64, f32, f16 or bf16, got i32" in reason for _, reason in choice.declined), choice.declined)

    def test_traced_operations_run_in_parallel_without_python(self):
        made = graft.op(name="Heavy", opset="acme")(lambda x: np.tanh(np.sin(np.cosh(x * 0.5))))
        self.addCleanup(graft.unregister, made)
        compiled = self.compiled("graph (x: f32[200000]) { return Heavy@acme(x) }", threads=1)
        x = np.random.rand(200000).astype(np.float32)
        self.assert_unlocks_python(lambda: compiled(x))


if __name__ == "__main__":
    unittest.main()
