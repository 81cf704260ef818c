"""Core, Model, CompiledModel, InferRequest; arrays without copies; reports."""
import gc
import os
import re
import threading
import unittest

import numpy as np
from support import Case, onnx, onnx_model

import graft

GUIDE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guide", "results.md")


def documented(result):
    """The names of the fields in the table of a result."""
    with open(GUIDE, encoding="utf-8") as f:
        table = f.read().split("\n## %s\n" % result)[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.M))


RELU = "graph (data: f32[2,3]) { return Relu(data) }"
X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


class Structures(Case):
    """Sequences, optionals and maps of ONNX."""

    def model(self, nodes, inputs, outputs, tensors=(), **options):
        content = onnx.model("m", nodes, tensors, inputs, outputs, {"": 18, "ai.onnx.ml": 1})
        return self.core.read_model(self.write("m.onnx", content), **options)

    def squares(self, **options):
        body = onnx.graph("b", [onnx.node("Mul", ["i", "i"], ["o"])], [], [onnx.value("i", ["n"])], [onnx.value("o", ["n"])])
        return self.model([onnx.node("SequenceMap", ["x"], ["y"], body=onnx.Graph(body))], [onnx.sequence("x", ["n"])],
                          [onnx.sequence("y", ["n"])], **options)

    def test_a_sequence_is_a_list(self):
        items = [np.array([1, 2], np.float32), np.array([3], np.float32)]
        compiled = self.squares(items={"x": 2}).compile()
        self.assertEqual([g.kind for g in compiled.input_groups], ["sequence"])
        self.assertEqual(len(compiled.output_groups[0].parts), 2)
        for given in ({"x": items}, items, {0: tuple(items)}):
            results = compiled(given)
            self.assertEqual(list(results), ["y"])
            self.assertEqual([a.tolist() for a in results["y"]], [[1, 4], [9]])
        self.assertIs(results[0], results["y"])
        with self.assertRaisesRegex(graft.Error, "expected 2 items for the sequence input 'x', got 1"):
            compiled({"x": items[:1]})

    def test_a_model_is_fitted_to_its_values(self):
        model = self.squares()
        for count in (0, 1, 3):
            items = [np.full(k + 1, k + 2, np.float32) for k in range(count)]
            fitted, inputs = model.fit({"x": items})
            out = fitted.compile()(inputs)["y"]
            self.assertEqual([a.tolist() for a in out], [[(k + 2) ** 2] * (k + 1) for k in range(count)])

    def test_an_optional_is_its_value_or_none(self):
        model = self.model([onnx.node("OptionalHasElement", ["x"], ["y"])], [onnx.optional("x", [2])],
                           [onnx.value("y", [], 9)])
        for given, expected in (([None], False), ([np.ones(2, np.float32)], True)):
            fitted, inputs = model.fit(given)
            self.assertEqual(bool(fitted.compile()(inputs)["y"]), expected)

    def test_maps_are_dictionaries(self):
        kind = onnx.data(4, onnx.data(1, onnx.data(5, onnx.number(1, 7) + onnx.data(2, onnx.tensor_type([], 1)))))
        out = onnx.data(1, "y") + onnx.data(2, kind)
        model = self.model([onnx.node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[5, 7])],
                           [onnx.value("x", [2, 2])], [out])
        self.assertEqual(model.compile()(np.array([[1, 2], [3, 4]], np.float32))["y"], [{5: 1, 7: 2}, {5: 3, 7: 4}])
        kind = onnx.data(5, onnx.number(1, 8) + onnx.data(2, onnx.tensor_type([], 1)))
        model = self.model([onnx.node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["a", "b", "c"])],
                           [onnx.data(1, "x") + onnx.data(2, kind)], [onnx.value("y", [1, 3])])
        fitted, inputs = model.fit({"x": {"c": 3.0, "a": 1.0}})
        self.assertEqual(fitted.compile()(inputs)["y"].ravel().tolist(), [1, 0, 3])
        self.assertEqual(fitted.compile()({"x": {"c": 4.0, "b": 2.0}})["y"].ravel().tolist(), [0, 2, 4])


class Devices(Case):
    CHAIN = "graph (x: f32[2]) { a = Abs(x) b = Exp(a) c = Negative(b) return c }"

    def test_query_and_affinities(self):
        model = self.core.read_model(self.write("chain.graph", self.CHAIN))
        query = self.core.query_model(model, "HETERO:CPU,REFERENCE")
        self.assertTrue(query.supported)
        self.assertTrue(str(query).startswith("HETERO:CPU,REFERENCE supports 3 of 3 layers"))
        self.assertIn("<td>a</td>", query._repr_html_())
        self.assertEqual(query.assigned, {"a": "CPU", "b": "CPU", "c": "CPU"})
        compiled = self.core.compile_model(model, "HETERO:CPU,REFERENCE", affinities=dict(query.assigned, b="REFERENCE"))
        e = compiled.explain()
        self.assertEqual([p.device for p in e.parts], ["CPU", "REFERENCE", "CPU"])
        self.assertEqual([(c.value, c.bytes, c.copied) for c in e.crossings], [("a", 8, False), ("b", 8, False)])
        self.assertTrue(e.dot.startswith("digraph") and e.svg.startswith("<svg"))
        np.testing.assert_allclose(compiled(np.array([-1, 2], np.float32))[0], [-np.e, -np.exp(2)], rtol=1e-5)
        with self.assertRaisesRegex(graft.Error, "the model has no layer 'd'"):
            self.core.compile_model(model, "HETERO:CPU", affinities={"d": "CPU"})

    def test_properties(self):
        self.core.set_property({"NUM_STREAMS": 2})
        self.core.set_property("CPU", {"PERF_COUNT": True})
        self.assertEqual(self.core.get_property("CPU", "NUM_STREAMS"), "2")
        self.assertEqual(self.core.get_property("CPU", "PERF_COUNT"), "YES")
        with self.assertRaisesRegex(graft.Error, "unknown property 'SPEED' of CPU"):
            self.core.set_property("CPU", {"SPEED": 1})
        compiled = self.core.compile_model(self.write("chain.graph", self.CHAIN))
        request = compiled.create_infer_request()
        request(np.ones(2, np.float32))
        self.assertEqual(len(request.profile().nodes), 3)


class Stubs(unittest.TestCase):
    def test_the_stub_lists_what_the_module_has(self):
        import ast
        import os

        from graft import _native
        with open(os.path.join(os.path.dirname(graft.__file__), "_native.pyi")) as f:
            tree = ast.parse(f.read())
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        written = {c.name: {n.name for n in c.body if isinstance(n, functions)} for c in tree.body if isinstance(c, ast.ClassDef)}
        public = {n: v for n, v in vars(_native).items() if not n.startswith("_")}
        for name, members in written.items():
            self.assertIn(name, public)
            there = {m for m in vars(public[name]) if not m.startswith("_")}
            self.assertEqual({m for m in members if not m.startswith("_")}, there, name)
        values = {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and not n.target.id.startswith("_")}
        listed = {n.name for n in tree.body if isinstance(n, functions)} | written.keys() | values
        self.assertEqual(listed, public.keys())


class Requests(Case):
    def test_infer_gives_a_dictionary_by_name_and_by_position(self):
        compiled = self.compiled(RELU)
        request = compiled.create_infer_request()
        results = request.infer({"data": X})
        self.assertEqual(len(results), 1)
        np.testing.assert_array_equal(results[0], np.maximum(X, 0))
        name = compiled.outputs[0].any_name
        self.assertIs(results[name], results[0])
        self.assertIs(results[compiled.outputs[0]], results[0])
        self.assertEqual(list(results), [name])
        np.testing.assert_array_equal(request.infer([X])[0], results[0])
        np.testing.assert_array_equal(request.infer({0: X})[0], results[0])
        np.testing.assert_array_equal(request.infer(X)[0], results[0])
        np.testing.assert_array_equal(compiled(X)[0], results[0])
        with self.assertRaises(KeyError):
            results["other"]
        with self.assertRaises(IndexError):
            results[1]

    def test_results_stay_as_they_are_when_the_request_runs_again(self):
        request = self.compiled(RELU).create_infer_request()
        first = request.infer(X)[0]
        seen = first.copy()
        second = request.infer(-X)[0]
        np.testing.assert_array_equal(first, seen)
        np.testing.assert_array_equal(second, np.maximum(-X, 0))
        del request
        gc.collect()
        np.testing.assert_array_equal(first, seen)

    def test_arrays_are_used_without_a_copy(self):
        request = self.compiled(RELU).create_infer_request()
        x = np.ascontiguousarray(X)
        results = request.infer({"data": x})
        self.assertEqual(request.get_input_tensor(0).pointer, x.ctypes.data)
        self.assertEqual(request.get_output_tensor(0).pointer, results[0].ctypes.data)
        self.assertEqual(request.get_tensor("data").data.ctypes.data, x.ctypes.data)
        out = np.full((2, 3), 7, np.float32)
        request.set_output_tensor(0, out)
        self.assertEqual(request.infer(x)[0].ctypes.data, out.ctypes.data)
        np.testing.assert_array_equal(out, np.maximum(X, 0))

    def test_an_input_stays_alive_without_a_reference(self):
        request = self.compiled(RELU).create_infer_request()
        request.set_tensor("data", X * 2)
        gc.collect()
        np.testing.assert_array_equal(request.infer()[0], np.maximum(X * 2, 0))

    def test_dlpack_without_a_copy(self):
        class Foreign:  # knows DLPack alone
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **kwargs):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        x = np.ascontiguousarray(X)
        request = self.compiled(RELU).create_infer_request()
        np.testing.assert_array_equal(request.infer(Foreign(x))[0], np.maximum(X, 0))
        self.assertEqual(request.get_input_tensor(0).pointer, x.ctypes.data)
        tensor = request.get_output_tensor(0)
        back = np.from_dlpack(tensor)
        self.assertEqual(back.ctypes.data, tensor.pointer)

    def test_strided_arrays_lists_and_numbers(self):
        compiled = self.compiled(RELU)
        np.testing.assert_array_equal(compiled(np.asfortranarray(X))[0], np.maximum(X, 0))
        np.testing.assert_array_equal(compiled([X.tolist()])[0], np.maximum(X, 0))

    def test_nested_lists(self):
        """Of numbers: the value of the only input if they are as deep as it, otherwise one item per input."""
        compiled = self.compiled('graph (x: f32[2,2] "x") { return Negative(x) }')
        for given in ([[1, 2], [3, 4]], ((1.0, 2), (3, 4)), [[[1, 2], [3, 4]]], [np.float32([[1, 2], [3, 4]])]):
            np.testing.assert_array_equal(compiled(given)[0], [[-1, -2], [-3, -4]])
        one = self.compiled('graph (x: f32[1,3] "x") { return Negative(x) }')
        np.testing.assert_array_equal(one([[1, 2, 3]])[0], [[-1, -2, -3]])
        with self.assertRaisesRegex(graft.Error, "(?s)expected at most 1 inputs, got 2.*one item per input"):
            compiled([[[[1]]], [[[2]]]])
        two = self.compiled('graph (x: f32[2] "x", y: f32[2] "y") { return Add(x, y) }')
        np.testing.assert_array_equal(two([[1, 2], [3, 4]])[0], [4, 6])

    def test_a_wrong_type_or_shape_is_refused(self):
        compiled = self.compiled(RELU)
        with self.assertRaisesRegex(graft.Error, "expected a tensor of f32 for input 'data', got f64") as e:
            compiled(X.astype(np.float64))
        self.assertIn("astype('float32')", e.exception.hint)
        with self.assertRaisesRegex(graft.Error, r"expected a tensor of shape \[2,3\]"):
            compiled(X[:1])
        with self.assertRaisesRegex(graft.Error, "no input|input"):
            compiled({"nope": X})
        with self.assertRaisesRegex(graft.Error, "at most 1 inputs, got 2"):
            compiled([X, X])

    def test_every_element_type(self):
        for name in ("bool", "float64", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
                     "uint8"):
            x = np.array([1, 0, 1], name)
            kind = str(graft.Tensor(x).dtype)
            out = self.compiled("graph (x: %s[3]) { return Concat(x, x) {axis = 0} }" % kind)(x)[0]
            self.assertEqual(out.dtype, x.dtype)
            np.testing.assert_array_equal(out, [1, 0, 1, 1, 0, 1])

    def test_types_that_numpy_lacks(self):
        compiled = self.compiled("graph (x: bf16[3]) { return Concat(x, x) {axis = 0} }")
        x = graft.Tensor(np.array([1, 2.5, -3], np.float32)).to("bf16")
        request = compiled.create_infer_request()
        out = request.infer(x)[0]
        self.assertEqual(out.dtype, np.float32)
        np.testing.assert_array_equal(out, [1, 2.5, -3] * 2)
        self.assertEqual(request.get_output_tensor(0).dtype, "bf16")
        with self.assertRaisesRegex(graft.Error, "expected a tensor of bf16"):
            compiled(np.zeros(3, np.float32))

    def test_strings(self):
        compiled = self.compiled("graph (x: string[2]) { return Concat(x, x) {axis = 0} }")
        out = compiled(np.array(["a", "größe"]))[0]
        self.assertEqual(out.tolist(), ["a", "größe", "a", "größe"])

    def test_scalars_and_empty_arrays(self):
        self.assertEqual(self.compiled("graph (x: f32[]) { return Relu(x) }")(np.float32(3))[0].shape, ())
        out = self.compiled("graph (x: f32[0,3]) { return Relu(x) }")(np.zeros((0, 3), np.float32))[0]
        self.assertEqual(out.shape, (0, 3))

    def test_unknown_dimensions(self):
        compiled = self.compiled("graph (x: f32[?,3]) { return Relu(x) }")
        self.assertEqual(compiled.inputs[0].shape, (None, 3))
        kept = []
        for n in (1, 2, 2, 1):
            kept.append((n, compiled(np.full((n, 3), n, np.float32))[0]))
        for n, a in kept:
            np.testing.assert_array_equal(a, np.full((n, 3), n, np.float32))


class Async(Case):
    def test_wait_and_callback(self):
        request = self.compiled(RELU).create_infer_request()
        seen = []
        request.set_callback(seen.append)
        request.start_async({"data": X})
        self.assertTrue(request.wait())
        self.assertEqual(seen, [None])
        np.testing.assert_array_equal(request.results[0], np.maximum(X, 0))
        self.assertTrue(request.wait(1.0))

    def test_a_callback_may_start_the_next_run(self):
        request = self.compiled(RELU).create_infer_request()
        left = [5]
        done = threading.Event()

        def again(error):
            left[0] -= 1
            if left[0]:
                request.start_async(X)
            else:
                done.set()

        request.set_callback(again)
        request.start_async(X)
        self.assertTrue(done.wait(10))
        request.wait()

    def test_an_exception_of_a_callback_reaches_wait(self):
        request = self.compiled(RELU).create_infer_request()

        def broken(error):
            raise ValueError("from the callback")

        request.set_callback(broken)
        request.start_async(X)
        with self.assertRaisesRegex(graft.Error, "from the callback") as e:
            request.wait()
        self.assertIsInstance(e.exception.__cause__, ValueError)

    def test_many_requests_on_streams(self):
        compiled = self.compiled(RELU, streams=2)
        requests = [compiled.create_infer_request() for _ in range(8)]
        for i, r in enumerate(requests):
            r.start_async(X * i)
        for i, r in enumerate(requests):
            r.wait()
            np.testing.assert_array_equal(r.results[0], np.maximum(X * i, 0))

    def test_threads_run_while_python_does_something_else(self):
        compiled = self.compiled("graph (x: f32[256,256]) { return MatMul(MatMul(x, x), MatMul(x, x)) }", threads=1)
        x = np.eye(256, dtype=np.float32)
        self.assert_unlocks_python(lambda: compiled(x))


class Models(Case):
    def test_ports_and_properties(self):
        model = self.text("graph (a: f32[1,?], b: i64[2..5]) { return Relu(a), b }")
        self.assertEqual([p.any_name for p in model.inputs], ["a", "b"])
        self.assertEqual(model.inputs["a"].shape, (1, None))
        self.assertEqual(model.inputs[1].shape, ((2, 5),))
        self.assertEqual(model.inputs[1].dtype, "i64")
        self.assertEqual(model.framework, "text")
        self.assertIn("Relu", str(model))
        self.assertIn("a: f32[1,?]", repr(model))

    def test_reshape_and_add_output(self):
        model = self.text("graph (x: f32[?]) { y = Relu(x) return Exp(y) }")
        model.reshape({"x": [4]})
        self.assertEqual(model.inputs[0].shape, (4,))
        position = model.add_output("y")
        self.assertEqual(model.compile()(np.ones(4, np.float32))[position].tolist(), [1, 1, 1, 1])

    def test_onnx_with_options(self):
        path = self.write("m.onnx", onnx_model([onnx.node("Relu", ["x"], ["y"]), onnx.node("Exp", ["y"], ["z"])],
                                               [("x", ["n", 3])], [("z", ["n", 3])]))
        model = self.core.read_model(path, outputs=["y"], shapes={"x": [2, 3]})
        self.assertEqual(model.outputs[0].any_name, "y")
        self.assertEqual(model.outputs[0].shape, (2, 3))
        with self.assertRaisesRegex(graft.Error, "unknown option 'outputz'") as e:
            self.core.read_model(path, outputz=[])
        self.assertEqual(e.exception.kind, "request")

    def test_convert(self):
        path = self.write("m.onnx", onnx_model([onnx.node("Relu", ["x"], ["y"])], [("x", [1, 3, 4, 4])],
                                               [("y", [1, 3, 4, 4])]))
        report = graft.convert(path, self.path("m.xml"), mean=[1, 2, 3])
        self.assertIn("m.xml", str(report))
        self.assertIn("<table>", report._repr_html_())
        x = np.random.rand(1, 3, 4, 4).astype(np.float32) * 4
        out = graft.compile_model(self.path("m.xml"))(x)[0]
        np.testing.assert_allclose(out, np.maximum(x - np.array([1, 2, 3]).reshape(1, 3, 1, 1), 0), rtol=1e-6)

    def test_layouts_are_written_as_in_hints(self):
        path = self.write("m.onnx", onnx_model([onnx.node("Relu", ["x"], ["y"])], [("x", [1, 4, 4, 3])], [("y", [1, 4, 4, 3])]))
        with self.assertRaises(graft.Error) as e:
            graft.convert(path, self.path("m.xml"), mean=[1, 2, 3])
        self.assertIn("add layouts='nhwc'", e.exception.hint)
        x = np.random.rand(1, 4, 4, 3).astype(np.float32) * 4
        graft.convert(path, self.path("m.xml"), mean=[1, 2, 3], layouts="nhwc")
        want = np.maximum(x - np.array([1, 2, 3]), 0)
        np.testing.assert_allclose(graft.compile_model(self.path("m.xml"))(x)[0], want, rtol=1e-6)
        for layouts in ("nhwc->nchw", {"x": "nhwc->nchw"}, [{"name": "x", "source": "nhwc", "target": list("NCHW")}], ["nhwc->nchw"]):
            graft.convert(path, self.path("m.xml"), mean=[1, 2, 3], layouts=layouts)
            np.testing.assert_allclose(graft.compile_model(self.path("m.xml"))(x.transpose(0, 3, 1, 2))[0], want, rtol=1e-6)
        for layouts, message in (("nhnc", "has 'N' twice"), ({"x": ""}, "is empty"), ({"z": "nhwc"}, "no input 'z'"),
                                 (7, "option 'layouts': unexpected value 7"), (["nhwc", 7], "unexpected value"), ({"x": 7}, "unexpected value"),
                                 ([{"source": "n1wc"}], "expected a letter, got '1'")):
            with self.assertRaisesRegex(graft.Error, message):
                graft.convert(path, self.path("m.xml"), layouts=layouts)

    def test_names_that_are_not_utf_8(self):
        """Bytes are lone surrogates, as in names of files; texts for people are printable."""
        model = onnx_model([onnx.node("Relu", ["xXx"], ["yXy"])], [("xXx", [2])], [("yXy", [2])])
        path = os.fsdecode(self.write("m.onnx", model.replace(b"xXx", b"x\xffx").replace(b"yXy", b"y\xfey")))
        read = self.core.read_model(path)
        self.assertEqual([p.any_name for p in read.inputs + read.outputs], ["x\udcffx", "y\udcfey"])
        self.assertEqual(read.inputs["x\udcffx"].shape, (2,))
        str(read).encode(), str(read.report()).encode()
        compiled = read.compile()
        self.assertEqual(compiled({"x\udcffx": np.array([-1, 2], np.float32)})["y\udcfey"].tolist(), [0, 2])
        with self.assertRaises(graft.Error) as e:
            compiled({"nothing": np.zeros(2, np.float32)})
        str(e.exception).encode()
        self.assertIn("\\xff", str(e.exception))
        with self.assertRaisesRegex(graft.Error, "expected UTF-8 in a name or value, got"):  # an IR is XML
            graft.convert(read, self.path("m.xml"))
        self.core.read_model(path, shapes={"x\udcffx": [2]})
        graft.convert(self.text(RELU), os.fsdecode(os.fsencode(self.folder) + b"/\xff.xml"), name="m")
        self.assertIn(b"\xff.xml", os.listdir(os.fsencode(self.folder)))
        with self.assertRaises(graft.Error) as e:
            self.core.read_model(os.fsdecode(os.fsencode(self.folder) + b"/\xfe.onnx"))
        self.assertEqual(e.exception.kind, "io")
        for name in ("\ud800", "x\udcffx\ud800"):  # surrogates that are no byte
            with self.assertRaisesRegex(graft.Error, "expected text, got a str with surrogates that stand for no byte"):
                compiled({name: np.zeros(2, np.float32)})
            with self.assertRaisesRegex(graft.Error, "surrogates that stand for no byte"):
                self.core.read_model(name)

    def test_errors_have_kind_context_and_hint(self):
        with self.assertRaises(graft.Error) as e:
            self.core.read_model(self.path("absent.onnx"))
        self.assertEqual(e.exception.kind, "io")
        with self.assertRaises(graft.Error) as e:
            self.compiled(RELU, device="TOASTER")
        self.assertIn("available devices", e.exception.hint)

    def test_explanation_and_profile(self):
        compiled = self.compiled(RELU, profile=True)
        explanation = compiled.explain()
        self.assertEqual(explanation.device, "CPU")
        self.assertEqual([c.type for c in explanation.kernels if c.kernel], ["Relu"])
        self.assertIn("Relu", str(explanation))
        self.assertIn("<td>Relu</td>", explanation._repr_html_())
        shown = compiled._repr_html_()
        self.assertIn("compiled for CPU", shown)
        self.assertRegex(shown, r"<td>output</td><td>[^<]+</td><td>f32</td>")
        request = compiled.create_infer_request()
        request.infer(X)
        self.assertEqual(request.profile().nodes[0].calls, 1)
        self.assertIn("<table>", request.profile()._repr_html_())

    def test_report_of_unknown_layers(self):
        path = self.write("m.onnx", onnx_model([onnx.node("Mystery", ["x"], ["y"], alpha=2.0)], [("x", [2])],
                                               [("y", [2])]))
        model = self.core.read_model(path)
        report = model.report()
        self.assertFalse(report.complete)
        self.assertEqual(report.unknown[0].type, "Mystery")
        self.assertIn("Mystery", str(report))
        self.assertIn("<td>Mystery</td>", report._repr_html_())
        self.assertIn("<td>input</td><td>x</td><td>f32</td><td>(2,)</td>", model._repr_html_())
        self.assertRegex(model._repr_html_(), "<td>unknown layer</td><td>.*Mystery")
        with self.assertRaisesRegex(graft.Error, "Mystery"):
            model.compile()

    def test_results_have_the_fields_that_are_documented(self):
        model = self.core.read_model(self.write("m.onnx", onnx_model([onnx.node("Relu", ["x"], ["y"])], [("x", [2])], [("y", [2])])))
        explanation = model.compile().explain()
        for value, name, more in ((model.report(), "Report", {"claims_text"}), (model.report().claims[0], "Claim", set()),
                                  (explanation, "Explanation", {"dot", "svg"}), (explanation.kernels[0], "Choice", set()),
                                  (explanation.unfolded, "Unfolded", set()), (self.core.query_model(model), "QueryResult", set()),
                                  (graft.convert(model, self.path("m.xml")), "ConvertReport", set()),
                                  (self.core.operations()["Softmax"], "OpInfo", set()), (self.core.passes()[0], "PassInfo", set())):
            self.assertEqual({k for k in vars(value) if not k.startswith("_")}, documented(name) | more, name)

    def test_options_are_named_as_keywords(self):
        text = "graph (data: u8[1,3,2,2]) { return Relu(Convert(data) {destination_type = f32}) }"
        with self.assertRaises(graft.Error) as e:
            graft.convert(self.core.read_model(self.write("m.graph", text)), self.path("m.xml"), mean=[1, 2, 3])
        self.assertIn("mean: expected a floating-point type of input 'data', got u8", e.exception.message)
        self.assertEqual(e.exception.hint, "change its type: types={'data': 'f32'}")
        self.assertEqual(e.exception.remedies, [("types", "data", "f32")])
        with self.assertRaises(graft.Error) as e:
            self.core.read_model(self.path("m.graph"), shape={})
        self.assertEqual((e.exception.message, e.exception.hint), ("unknown option 'shape'", "did you mean shapes?"))
        with self.assertRaisesRegex(graft.Error, "option 'batch': unexpected value 'many'"):
            self.core.read_model(self.path("m.graph"), batch="many")
        layers = "".join('layer { name: "%s" type: "ReLU" bottom: "x" top: "%s" }' % (n, n) for n in "ab")
        net = self.write("net.prototxt", 'layer { name: "x" type: "Input" top: "x" }' + layers)
        with self.assertRaises(graft.Error) as e:
            self.core.read_model(net, limits={"nodes": 1})
        self.assertEqual(e.exception.code, "limit_reached")

    def test_what_a_core_knows(self):
        self.assertIn("CPU", self.core.available_devices)
        self.assertIn("axis", str(self.core.operations()["Softmax"]))
        self.assertIn("<table>", self.core.operations()._repr_html_())
        self.assertTrue(any(r.framework == "caffe" for r in self.core.rules()))
        self.assertTrue(self.core.passes())

    def test_log_messages(self):
        seen = []
        graft.set_log("info", lambda level, message: seen.append(message))
        try:
            self.compiled(RELU)
        finally:
            graft.set_log()
        self.assertTrue(any("compiled for CPU" in m for m in seen))


if __name__ == "__main__":
    unittest.main()
