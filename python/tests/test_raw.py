"""Raw passes, import rules and passes over the graph in Python."""
import gc
import os
import subprocess
import sys

import numpy as np
from support import Case, onnx, onnx_model

import graft
from graft.definition import Part

TF_MODEL = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 1 } dim { size: 3 } } } } }
node { name: "scale" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 float_val: 2 float_val: 3 } } } }
node { name: "mul" op: "Mul" input: "x" input: "scale" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "relu" op: "Relu" input: "mul" attr { key: "T" value { type: DT_FLOAT } } }
"""
CAFFE_MODEL = """
name: "net"
input: "x" input_shape { dim: 1 dim: 2 }
layer { name: "first" type: "ReLU" bottom: "x" top: "a" relu_param { negative_slope: 0.5 } }
layer { name: "fc" type: "InnerProduct" bottom: "a" top: "b" inner_product_param { num_output: 2 bias_term: false } }
layer { name: "twist" type: "Twist" bottom: "b" top: "y" twist_param { gain: 3 mode: "soft" sizes: 1 sizes: 2 } }
"""


class RawCase(Case):
    def onnx(self, nodes, tensors=(), inputs=(("x", [2, 3]),), outputs=(("y", [2, 3]),), domains=("acme",)):
        return self.write("model.onnx", onnx_model(nodes, list(inputs), list(outputs), list(tensors), list(domains)))

    def chain(self):
        return self.onnx([onnx.node("Relu", ["x"], ["a"], name="first"), onnx.node("Tanh", ["a"], ["b"], name="second"),
                          onnx.node("Add", ["b", "w"], ["y"], name="last")],
                         [onnx.tensor("w", [3], [1.0, 2.0, 3.0])])

    def raw(self, function, **named):
        """A raw pass of this Core alone."""
        made = graft.raw_pass(function, register=False, **named)
        return self.core.add_extension(made)

    def seen(self, path, function, *more, **options):
        """What `function` returns for the raw model."""
        out = []
        added = self.raw(lambda model: out.append(function(model)), name="look")
        try:
            self.core.read_model([path, *more], **options)
        finally:
            self.core.remove_extension(added)
        return out[0]

    def fails(self, path, function, message, kind=graft.Error, **options):
        added = self.raw(function, name="wrong")
        with self.assertRaisesRegex(kind, message) as caught:
            self.core.read_model(path, **options)
        self.core.remove_extension(added)
        return str(caught.exception)

    def run_model(self, path, x, **options):
        return self.core.read_model(path, **options).compile("CPU")([x])[0]


class Reading(RawCase):
    def test_onnx(self):
        def look(m):
            add = m.layers[2]
            return dict(framework=m.framework, path=m.path, layers=[(l.name, l.type, l.inputs, l.outputs) for l in m.layers],
                        version=add.version, inputs=[(i.name, i.dtype, i.shape) for i in m.inputs],
                        outputs=[o.name for o in m.outputs], constants=list(m.constants), w=m.constants["w"],
                        producer=m.producer("b"), users=[l.name for l in m.consumers("b")], text=repr(m.layers[0]))

        path = self.chain()
        got = self.seen(path, look)
        self.assertEqual(got["framework"], "onnx")
        self.assertEqual(got["path"], path)
        self.assertEqual(got["layers"], [("first", "Relu", ["x"], ["a"]), ("second", "Tanh", ["a"], ["b"]),
                                         ("last", "Add", ["b", "w"], ["y"])])
        self.assertEqual(got["version"], 17)
        self.assertEqual(got["inputs"], [("x", np.dtype("f4"), (2, 3))])
        self.assertEqual((got["outputs"], got["constants"], got["users"]), (["y"], ["w"], ["last"]))
        self.assertIn("(Relu)", got["text"])
        gc.collect()
        np.testing.assert_array_equal(got["w"], [1, 2, 3])  # arrays outlive the pass
        self.assertFalse(got["w"].flags.writeable)

    def test_fields_of_every_kind(self):
        path = self.onnx([onnx.node("Kinds", ["x"], ["y"], domain="acme", i=3, f=0.5, s="text", ints=[1, 2],
                                    floats=[0.5, 1.5], strings=["p", "q"], t=onnx.Tensor(onnx.tensor("", [2], [1.0, 2.0])),
                                    g=onnx.Graph(onnx.graph("body", [onnx.node("Relu", ["x"], ["z"])], [], [],
                                                            [onnx.value("z", [2, 3])])))])

        def look(m):
            fields = m.layers[0].fields
            body = fields["g"][0]
            with self.assertRaisesRegex(graft.Error, "a sub-graph of a layer cannot be changed"):
                body.layers[0].name = "other"
            self.assertEqual([l.name for l in m.consumers("x")], [m.layers[0].name])
            return {k: fields[k] for k in fields if k != "g"}, [l.type for l in body.layers], "nope" in fields

        fields, body, nope = self.seen(path, look)
        t = fields.pop("t")
        np.testing.assert_array_equal(t, [1, 2])
        self.assertEqual(fields, dict(i=3, f=0.5, s="text", ints=[1, 2], floats=[0.5, 1.5], strings=["p", "q"]))
        self.assertEqual((body, nope), (["Relu"], False))

    def test_caffe(self):
        blob = onnx.data(7, onnx.data(1, b"\2\2")) + onnx.data(5, np.float32([1, 2, 3, 4]).tobytes())
        layer = onnx.data(1, "fc") + onnx.data(2, "InnerProduct") + onnx.data(7, blob)
        weights = self.write("net.caffemodel", onnx.data(100, layer))

        def look(m):
            fc, twist = m.layers[1], m.layers[2]
            return fc.weights, m.constants[fc.inputs[-1]], dict(twist.fields), dict(m.layers[0].fields)

        count, blob, twist, relu = self.seen(self.write("net.prototxt", CAFFE_MODEL), look, weights)
        self.assertEqual(count, 1)
        np.testing.assert_array_equal(blob.reshape(-1), [1, 2, 3, 4])
        self.assertEqual(twist, {"twist_param.gain": 3, "twist_param.mode": "soft", "twist_param.sizes": [1, 2]})
        self.assertEqual(relu["relu_param.negative_slope"], 0.5)

    def test_tensorflow(self):
        def look(m):
            by_name = {l.name: l for l in m.layers}
            values = {**m.constants, **{n: l.fields["value"] for n, l in by_name.items() if l.type == "Const"}}
            return m.framework, [l.type for l in m.layers], by_name["mul"].fields["T"], values["scale"]

        framework, types, kind, scale = self.seen(self.write("model.pbtxt", TF_MODEL), look)
        self.assertEqual((framework, kind), ("tensorflow", np.dtype("f4")))
        self.assertEqual([t for t in types if t not in ("Const", "Placeholder")], ["Mul", "Relu"])
        np.testing.assert_array_equal(scale, [1, 2, 3])

    def test_nothing_is_valid_after_the_pass(self):
        model, layer = self.seen(self.chain(), lambda m: (m, m.layers[0]))
        for use in (lambda: model.layers, lambda: layer.name, lambda: layer.fields["axis"], lambda: model.constants["w"]):
            with self.assertRaisesRegex(graft.Error, "only valid while the pass runs"):
                use()

    def test_only_for_its_framework(self):
        calls = []
        self.raw(lambda m: calls.append(m.framework), name="onnx_only", frameworks=["onnx"])
        self.core.read_model(self.write("model.pbtxt", TF_MODEL))
        self.core.read_model(self.chain())
        self.assertEqual(calls, ["onnx"])

    def test_listed_and_disabled(self):
        calls = []
        self.raw(lambda m: calls.append(1), name="counted", doc="count")
        self.assertIn(("counted", "raw", "count"), [(p.name, p.phase, p.doc) for p in self.core.passes()])
        self.core.read_model(self.chain(), disabled_passes=["counted"])
        self.assertEqual(calls, [])


class Changing(RawCase):
    x = np.array([[-1, 0.5, 2], [3, -4, 0]], np.float32)

    def test_replace_a_layer_by_one_of_the_framework(self):
        def relu_to_abs(m):
            for l in m.layers:
                if l.type == "Relu":
                    l.type = "Abs"

        self.raw(relu_to_abs)
        np.testing.assert_allclose(self.run_model(self.chain(), self.x), np.tanh(abs(self.x)) + [1, 2, 3], rtol=1e-5)

    def test_fuse_two_layers_into_an_operation(self):
        def fuse(m):
            for tanh in m.layers:
                relu = m.producer(tanh.inputs[0])
                if tanh.type == "Tanh" and relu is not None and relu.type == "Relu":
                    m.add_layer("Elu", "fused", relu.inputs, tanh.outputs, {"alpha": 2.0}, operation=True, opset="opset1")
                    m.remove(tanh)
                    m.remove(relu)

        self.raw(fuse)
        model = self.core.read_model(self.chain())
        expected = np.where(self.x > 0, self.x, 2 * np.expm1(self.x)) + [1, 2, 3]
        np.testing.assert_allclose(model.compile("CPU")([self.x])[0], expected, rtol=1e-5)
        report = model.report()
        self.assertEqual([(p.name, p.removed, p.added) for p in report.raw_passes],
                         [("fuse", ["'first' (Relu)", "'second' (Tanh)"], ["'fused' (Elu@opset1)"])])
        claims = {c.layer: (c.by, c.added_by) for c in report.claims}
        self.assertEqual(claims["fused"], ("raw pass 'fuse' of test_raw.py",) * 2)
        self.assertEqual(claims["last"][1], "")
        self.assertIn("raw pass fuse (test_raw.py)\n    removed 'first' (Relu), 'second' (Tanh)\n    added 'fused' (Elu@opset1)",
                      report.claims_text)

    def test_constants_and_values(self):
        def rewire(m):
            m.add_constant("tens", np.full(3, 10, np.float32))
            last = m.layers[2]
            last.inputs = [last.inputs[0], "tens"]
            m.replace_value("b", "a")

        self.raw(rewire)
        np.testing.assert_allclose(self.run_model(self.chain(), self.x), np.maximum(self.x, 0) + 10)

    def test_an_output_keeps_its_name(self):
        def insert(m):
            m.add_layer("Neg", "behind", ["y"], ["negated"])
            m.replace_value("y", "negated")

        self.raw(insert)
        model = self.core.read_model(self.chain())
        self.assertEqual(model.outputs[0].any_name, "y")
        np.testing.assert_allclose(model.compile("CPU")([self.x])[0], -(np.tanh(np.maximum(self.x, 0)) + [1, 2, 3]),
                                   rtol=1e-5)

    def test_an_output_becomes_an_input(self):
        self.raw(lambda m: m.replace_value("y", "x"), name="shortcut")
        model = self.core.read_model(self.chain())
        self.assertEqual(model.outputs[0].any_name, "y")
        np.testing.assert_array_equal(model.compile("CPU")([self.x])[0], self.x)

    def test_outputs_and_inputs_of_the_model(self):
        def cut(m):
            m.set_outputs(["b"])
            m.set_inputs([graft.RawPort("x", np.float32, (None, 3))])

        self.raw(cut)
        model = self.core.read_model(self.chain())
        self.assertEqual((model.outputs[0].any_name, model.inputs[0].shape), ("b", (None, 3)))

    def test_fields(self):
        def soften(m):
            softmax = m.layers[0]
            softmax.fields["axis"] = np.int64(0)
            softmax.fields["extra"] = "gone"
            del softmax.fields["extra"]

        self.raw(soften)
        path = self.onnx([onnx.node("Softmax", ["x"], ["y"], axis=1)])
        e = np.exp(self.x)
        np.testing.assert_allclose(self.run_model(path, self.x), e / e.sum(0), rtol=1e-5)

    def test_caffe_and_tensorflow(self):
        def known(m):
            for l in m.layers:
                if l.type == "Twist":
                    m.add_layer("Power", l.name, l.inputs, l.outputs, {"power_param.scale": float(l.fields["twist_param.gain"])})
                    m.remove(l)
                elif l.type == "InnerProduct":
                    m.replace_value(l.outputs[0], l.inputs[0])
                    m.remove(l)
                elif l.type == "Relu":
                    l.type = "Neg"

        self.raw(known)
        out = self.run_model(self.write("net.prototxt", CAFFE_MODEL), np.array([[-2, 4]], np.float32))
        np.testing.assert_allclose(out, [[-3, 12]])
        out = self.run_model(self.write("model.pbtxt", TF_MODEL), np.array([[1, 1, 1]], np.float32))
        np.testing.assert_allclose(out, [[-1, -2, -3]])

    def test_values_used_in_a_sub_graph(self):
        then = onnx.Graph(onnx.graph("then", [onnx.node("Neg", ["a"], ["t"])], [], [], [onnx.value("t", [2, 3])]))
        other = onnx.Graph(onnx.graph("other", [onnx.node("Abs", ["a"], ["o"])], [], [], [onnx.value("o", [2, 3])]))
        path = self.onnx([onnx.node("Relu", ["x"], ["a"], name="relu"),
                          onnx.node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                         [onnx.tensor("c", [], b"\1", 9)])

        def skip(m):
            m.replace_value("a", "x")
            m.remove(m.layers[0])

        self.fails(path, lambda m: m.remove(m.layers[0]), "input 'a' of the layer 'y' \\(If\\) is not produced by any layer, nor an input or constant of the model")
        self.raw(skip)
        np.testing.assert_allclose(self.run_model(path, self.x), -self.x)

    def test_replacements_can_be_taken(self):
        config = self.write("config.json", """[
            {"id": "Tail", "match_kind": "general", "custom_attributes": {"classes": 7, "nested": {"deep": [1, 2]}}},
            {"id": "Other", "match_kind": "scope", "instances": ["fir"], "inputs": [[{"node": "st$", "port": 0}]],
             "outputs": [{"node": "st$", "port": 0}]}]""")
        with self.assertRaisesRegex(graft.Error, "'Tail'|'Other'"):
            self.core.read_model(self.chain(), replacements=config)
        seen = []

        def take(m):
            seen.extend(m.replacements)
            m.take("Tail")
            m.take("Other")
            self.assertEqual(m.replacements, [])
            with self.assertRaisesRegex(KeyError, "no entry 'Nope'"):
                m.take("Nope")

        self.raw(take)
        model = self.core.read_model(self.chain(), replacements=config)
        self.assertEqual(seen[0]["custom_attributes"], {"classes": 7, "nested": {"deep": [1, 2]}})
        self.assertEqual([p.replacements for p in model.report().raw_passes], [["Tail", "Other"]])

    def test_after_the_replacements(self):
        config = self.write("config.json", """[{"id": "Fold", "match_kind": "points", "op": "Elu@1",
            "instances": {"start_points": ["first"], "end_points": ["second"]}}]""")
        seen = {}
        self.raw(lambda m: seen.update(before=[l.type for l in m.layers]), name="before")
        self.raw(lambda m: seen.update(after=[l.type for l in m.layers]), name="after", after_replacements=True)
        self.core.read_model(self.chain(), replacements=config)
        self.assertEqual(seen, dict(before=["Relu", "Tanh", "Add"], after=["Elu@1", "Add"]))


class UnknownOperations(RawCase):
    x = np.ones((2, 3), np.float32)

    def unknown(self, m):
        l = m.layers[1]
        m.add_layer("Swirl", l.name, l.inputs, l.outputs, {"gain": 2.5, "sizes": [1, 2], "mode": "soft", "on": True},
                    operation=True, infos=[(np.float32, (2, None))])
        m.remove(l)

    def test_written_to_the_ir(self):
        self.raw(lambda m: self.unknown(m), name="unknown")
        model = self.core.read_model(self.chain())
        self.assertEqual([u.type for u in model.report().passed_on], ["Swirl"])
        with self.assertRaisesRegex(graft.Error, "no loaded operation can run: 'second' \\(Swirl\\)"):
            model.compile("CPU")
        self.core.convert(model, self.path("out.xml"))
        with open(self.path("out.xml")) as f:
            xml = f.read()
        self.assertRegex(xml, 'name="second" type="Swirl" version="extension"')
        self.assertRegex(xml, 'gain="2.5" sizes="1, 2" mode="soft" on="true"')

        @graft.op(name="Swirl", register=False, shape=lambda x, **_: x.shape)
        def Swirl(x, gain: float, sizes: "list[int]", mode: str, on: bool):
            return x * gain

        core = graft.Core()
        core.add_extension(Swirl)
        out = core.read_model(self.path("out.xml")).compile("CPU")([self.x])[0]
        np.testing.assert_allclose(out, self.x * 2.5 + [1, 2, 3])

    def test_becomes_a_known_operation(self):
        @graft.op(name="Swirl", opset="acme", register=False, shape=lambda x, **_: x.shape)
        def Swirl(x, gain: float, sizes: "list[int]", mode: str, on: bool):
            return x * gain

        self.core.add_extension(Swirl)
        self.raw(lambda m: self.unknown(m), name="unknown")
        np.testing.assert_allclose(self.run_model(self.chain(), self.x), self.x * 2.5 + [1, 2, 3])

        def wrong(m):
            self.unknown(m)
            m.producer(m.layers[1].inputs[0]).fields["more"] = 1

        core = graft.Core()
        core.add_extension(Swirl)
        core.add_extension(graft.raw_pass(wrong, register=False))
        with self.assertRaisesRegex(graft.Error, "unknown attribute 'more'"):
            core.read_model(self.chain()).require_complete()

    def test_unknown_without_outputs_is_reported(self):
        def unknown(m):
            m.layers[1].outputs = ["unused"]
            m.add_layer("Swirl", "made", ["a"], ["b"], operation=True)

        self.raw(unknown)
        report = self.core.read_model(self.chain()).report()
        self.assertEqual([u.type for u in report.unknown], ["Swirl"])
        self.assertIn("added by raw pass 'unknown' of test_raw.py", report.unknown[0].note)


class Hostile(RawCase):
    def test_a_dangling_input(self):
        said = self.fails(self.chain(), lambda m: m.remove(m.layers[0]),
                          "input 'a' of the layer 'second' \\(Tanh\\) is not produced by any layer, nor an input or constant of the model")
        self.assertIn("running the raw pass 'wrong' of 'test_raw.py'", said)

    def test_a_missing_output(self):
        self.fails(self.chain(), lambda m: m.set_outputs(["nope"]), "output 'nope' of the model is not produced by any layer, nor an input or constant of the model")
        self.fails(self.chain(), lambda m: m.set_outputs([]), "expected at least one output of the model, got none")

    def test_a_cycle(self):
        def cycle(m):
            m.layers[0].inputs = ["b"]

        self.fails(self.chain(), cycle, "the layers form a cycle through")

    def test_duplicate_names(self):
        self.fails(self.chain(), lambda m: m.add_layer("Relu", "more", ["x"], ["a"]),
                   "duplicate value name 'a': an output of the layer 'first' \\(Relu\\) and an output of the layer 'more'")
        self.fails(self.chain(), lambda m: m.add_layer("Relu", "more", ["x"], ["w"]), "duplicate value name 'w'")
        self.fails(self.chain(), lambda m: m.add_layer("Relu", "first", ["x"], ["c"]), "duplicate layer name 'first'")
        self.fails(self.chain(), lambda m: m.add_constant("w", [1]), "duplicate constant name 'w'")
        self.fails(self.chain(), lambda m: m.add_constant("a", np.ones(1)), "duplicate value name 'a'")

        def rename(m):
            m.layers[1].name = "first"

        self.fails(self.chain(), rename, "duplicate layer name 'first'")

    def test_wrong_types(self):
        def assign(path, value):
            def change(m):
                m.layers[0].fields[path] = value
            return change

        self.fails(self.chain(), assign("f", {"a": 1}), "field 'f' of layer 'first': expected a number")
        self.fails(self.chain(), assign("f", [1, "a"]), "a list of other or mixed kinds")
        self.fails(self.chain(), assign("f", 1 << 70), "does not fit into 64 bits")
        self.fails(self.chain(), assign("f", None), "expected a value, got None")
        self.fails(self.chain(), assign("", 1), "expected a name of a field")
        self.fails(self.chain(), assign("f", np.array([object()])), "")
        self.fails(self.chain(), lambda m: m.add_layer("", "n", [], []), "expected a type of the layer 'n'")
        self.fails(self.chain(), lambda m: m.add_layer("A", "n", [], ["q"], infos=[("f32", [1])]), "only for an operation")
        self.fails(self.chain(), lambda m: m.add_layer("A", "n", [], ["q"], operation=True, infos=[]) and
                   m.add_layer("A", "k", [], ["p"], operation=True, infos=[("f32", [1]), ("f32", [1])]),
                   "expected types and shapes of 1 outputs of 'k', got 2")
        self.raw(lambda m: m.add_layer("A", "n", ["x"], ["q"], operation=True, infos=[(None, [1])]), name="untyped")
        with self.assertRaisesRegex(graft.Error, "A: the element type of output 0 is unknown"):
            self.core.read_model(self.chain()).require_complete()

    def test_removed_layers_and_unknown_values(self):
        def twice(m):
            l = m.layers[0]
            m.remove(l)
            m.remove(l)

        self.fails(self.chain(), twice, "the layer 'first' \\(Relu\\) was removed")
        self.fails(self.chain(), lambda m: m.remove_constant("q"), "the model has no constant 'q'")
        self.fails(self.chain(), lambda m: m.constants["q"], "KeyError: 'q'")
        self.fails(self.chain(), lambda m: m.replace_value("a", "nope"), "input 'nope' of the layer 'second'")

    def test_an_exception(self):
        def broken(m):
            raise RuntimeError("out of ideas")

        said = self.fails(self.chain(), broken, "the raw pass: RuntimeError: out of ideas \\(.*test_raw.py:\\d+, in broken\\)")
        self.assertIn("running the raw pass 'wrong'", said)

    def test_a_failure_can_be_handled(self):
        def careful(m):
            try:
                m.remove_constant("q")
            except graft.Error as error:
                self.assertIn("no constant 'q'", str(error))
            m.layers[0].type = "Abs"

        self.raw(careful)
        self.core.read_model(self.chain()).require_complete()

    def test_two_passes_of_a_name(self):
        self.raw(lambda m: None, name="same")
        with self.assertRaisesRegex(graft.Error, "duplicate pass 'same'"):
            self.raw(lambda m: None, name="same")


if __name__ == "__main__":
    import unittest
    unittest.main()
