"""Import rules and passes over the graph that are written in Python."""
import numpy as np
from support import Case, onnx, onnx_model

import graft

CAFFE = """
input: "x" input_shape { dim: 1 dim: 2 }
layer { name: "fc" type: "Mix" bottom: "x" top: "y" mix_param { gain: 3 } }
"""
TENSORFLOW = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
node { name: "mixed" op: "Mix" input: "x" attr { key: "gain" value { f: 3 } } attr { key: "T" value { type: DT_FLOAT } } }
"""


class RuleCase(Case):
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)

    def rule(self, function, framework="onnx", type="acme::Mix", **named):
        made = graft.import_rule(framework, type, register=False, **named)(function)
        return self.core.add_extension(made)

    def mix(self, **fields):
        return self.write("model.onnx", onnx_model(
            [onnx.node("Mix", ["x", "w"], ["y"], domain="acme", name="mixed", **fields)], [("x", [2, 3])], [("y", [2, 3])],
            [onnx.tensor("w", [3], [1.0, 2.0, 3.0])], ["acme"]))

    def problem(self, function, message, **fields):
        added = self.rule(function)
        with self.assertRaisesRegex(graft.Error, message) as caught:
            self.core.read_model(self.mix(**fields)).require_complete()
        self.core.remove_extension(added)
        return str(caught.exception)


class Rules(RuleCase):
    def test_known_operations(self):
        seen = {}

        def mix(layer):
            x, w = layer.inputs
            seen.update(name=layer.name, type=layer.type, version=layer.version, gain=layer.fields["gain"],
                        missing="other" in layer.fields, shapes=(x.shape, w.shape), dtype=x.dtype, w=w.value, x=x.value,
                        weights=layer.weights, outputs=layer.output_count)
            scaled = layer.add_operation("Multiply", [x, np.float32(layer.fields["gain"])], opset="opset1")[0]
            seen["inferred"] = (scaled.dtype, scaled.shape)
            layer.set_output(0, layer.add_operation("Add", [scaled, w], opset=None)[0])

        self.rule(mix)
        model = self.core.read_model(self.mix(gain=2.0))
        np.testing.assert_allclose(model.compile("CPU")([self.x])[0], self.x * 2 + [1, 2, 3])
        np.testing.assert_array_equal(seen.pop("w"), [1, 2, 3])
        self.assertEqual(seen, dict(name="mixed", type="Mix", version=1, gain=2.0, missing=False, shapes=((2, 3), (3,)),
                                    dtype=np.dtype("f4"), x=None, weights=0, outputs=1, inferred=(np.dtype("f4"), (2, 3))))
        claim = model.report().claims[0]
        self.assertEqual((claim.by, claim.extension, claim.operations), ("test_importing.py", True, ["Multiply", "Add"]))

    def test_a_value_instead_of_nodes(self):
        self.rule(lambda layer: layer.set_output(0, np.full((2, 3), layer.fields["gain"], np.float32)))
        out = self.core.read_model(self.mix(gain=7)).compile("CPU")([self.x])[0]
        np.testing.assert_array_equal(out, np.full((2, 3), 7))

    def test_an_unknown_operation(self):
        def opaque(layer):
            x = layer.inputs[0]
            out = layer.add_operation("Swirl", layer.inputs, {"order": np.array([1, 0]), "gain": layer.fields["gain"],
                                                              "text": "1,2", "unset": None, "kind": np.dtype("f2")},
                                      outputs=[(x.dtype, (x.shape[0], None)), (np.int64, ())])
            layer.set_output(0, out[0])

        self.rule(opaque)
        model = self.core.read_model(self.mix(gain=2.0))
        report = model.report()
        self.assertEqual([u.type for u in report.passed_on], ["Swirl"])
        self.assertTrue(report.complete)
        model.save_ir(self.path("out.xml"))
        with open(self.path("out.xml")) as f:
            xml = f.read()
        self.assertIn('name="mixed" type="Swirl" version="extension"', xml)
        self.assertIn('<data order="1, 0" gain="2" text="1,2" kind="f16" />', xml)
        self.assertEqual([n.type for n in graft.Core().read_model(self.path("out.xml")).report().unknown], ["Swirl"])

    def test_an_operation_that_another_extension_defines(self):
        @graft.op(name="Swirl", opset="acme", register=False, outputs=1, shape=lambda x, w, **_: x.shape)
        def Swirl(x, w, order: "list[int]", gain: float = 1.0):
            return x * gain + order[0]

        self.core.add_extension(Swirl)

        def rule(attributes, outputs=[("f32", (2, 3))]):
            return lambda layer: layer.set_output(0, layer.add_operation("Swirl", layer.inputs, attributes, outputs=outputs)[0])

        # Lists may be in the textual form of an IR.
        added = self.rule(rule({"order": "5,6", "gain": "2"}))
        np.testing.assert_allclose(self.core.read_model(self.mix()).compile("CPU")([self.x])[0], self.x * 2 + 5)
        self.core.remove_extension(added)
        self.problem(rule({"order": "5,x"}), "Swirl: attribute 'order': expected a list of integers, got '5,x'")
        self.problem(rule({"order": [1], "more": 1}), "unknown attribute 'more'")
        added = self.rule(rule({"order": [1]}, [("f32", (5, 3))]))
        warnings = self.core.read_model(self.mix()).report().warnings
        self.assertTrue(any("infers f32[2,3], the extension gave f32[5,3]" in w for w in warnings), warnings)
        self.core.remove_extension(added)

    def test_all_layers_of_a_domain(self):
        types = []
        self.rule(lambda layer: types.append(layer.type) or layer.set_output(0, layer.inputs[0]), type="acme::*")
        self.core.read_model(self.mix()).require_complete()
        self.assertEqual(types, ["Mix"])

    def test_caffe_and_tensorflow(self):
        def mix(layer):
            gain = layer.fields["mix_param.gain" if "mix_param.gain" in layer.fields else "gain"]
            layer.set_output(0, layer.add_operation("Multiply", [layer.inputs[0], np.float32(gain)], opset="opset1")[0])

        self.rule(mix, "caffe", "Mix")
        self.rule(mix, "tensorflow", "Mix")
        for path, x in ((self.write("net.prototxt", CAFFE), self.x[:1, :2]), (self.write("net.pbtxt", TENSORFLOW), self.x)):
            np.testing.assert_allclose(self.core.read_model(path).compile("CPU")([x])[0], x * 3)

    def test_unused_fields_are_reported(self):
        added = self.rule(lambda layer: layer.set_output(0, layer.inputs[0]))
        self.assertIn("attribute 'gain' of layer 'mixed' (Mix) is not used", self.core.read_model(self.mix(gain=1)).report().warnings)
        self.core.remove_extension(added)
        self.rule(lambda layer: (dict(layer.fields), layer.set_output(0, layer.inputs[0])))
        self.assertEqual(self.core.read_model(self.mix(gain=1)).report().warnings, [])

    def test_wrong_rules(self):
        def broken(layer):
            raise KeyError("gain")

        self.problem(lambda layer: layer.decline("only for odd sizes"), "only for odd sizes")
        said = self.problem(broken, "the import rule: KeyError: 'gain' \\(.*test_importing.py:\\d+, in broken\\)")
        self.assertIn("importing layer 'mixed' (acme::Mix)", said)
        self.problem(lambda layer: None, "did not produce output 0|has no output 0")
        self.problem(lambda layer: layer.add_operation("Relu", [None]), "")
        self.problem(lambda layer: layer.add_operation("Nope", [layer.inputs[0]], opset="opset1"), "unknown operation Nope")
        self.problem(lambda layer: layer.add_operation("Nope", layer.inputs, outputs=[]), "expected types and shapes")
        self.problem(lambda layer: layer.add_operation("Nope", layer.inputs, outputs=[("f32", [-3])]), "at least 0")
        self.problem(lambda layer: layer.add_operation("Nope", layer.inputs, {"a": object()}, outputs=[("f32", [1])]),
                     "attribute 'a' of Nope: expected a number")
        self.problem(lambda layer: layer.add_operation("Nope", layer.inputs, {"a": 1}, outputs=["f32"]), "expected a pair")
        self.problem(lambda layer: layer.set_output(99, layer.inputs[0]), "there is no output 99")

    def test_layers_are_valid_in_their_rule_only(self):
        kept = []
        self.rule(lambda layer: kept.append(layer) or layer.set_output(0, layer.inputs[0]))
        self.core.read_model(self.mix())
        for use in (lambda: kept[0].name, lambda: kept[0].inputs, lambda: kept[0].fields["a"]):
            with self.assertRaisesRegex(graft.Error, "only valid while its import rule runs"):
                use()


class GraphPasses(Case):
    x = np.array([[-1, 2], [3, -4]], np.float32)
    graph = "graph (x: f32[2,2]) { a = Relu(x)\n b = Relu(a)\n return Add(b, f32[2] {1, 2}) }"

    def add(self, function, **named):
        return self.core.add_extension(graft.graph_pass(function, register=False, **named))

    def test_look_and_replace(self):
        seen = []

        def merge(graph):
            for node in graph.nodes:
                seen.append((node.type, node.opset))
                if node.type == "Relu" and node.inputs[0].producer.type == "Relu":
                    self.assertEqual((node.outputs[0].shape, node.outputs[0].dtype), ((2, 2), np.dtype("f4")))
                    self.assertEqual([(n.type, i) for n, i in node.outputs[0].consumers], [("Add", 0)])
                    np.testing.assert_array_equal(node.outputs[0].consumers[0][0].inputs[1].value, [1, 2])
                    graph.replace(node.outputs[0], node.inputs[0])

        self.add(merge, before=["remove_dead"])  # the first of the phase
        compiled = self.compiled(self.graph)
        np.testing.assert_allclose(compiled([self.x])[0], np.maximum(self.x, 0) + [1, 2])
        self.assertEqual(sorted(t for t, _ in seen), ["Add", "Constant", "Parameter", "Relu", "Relu", "Result"])
        self.assertIn(("merge", 1), [(p.name, p.changes) for p in compiled.explain().passes])

    def test_add_nodes_and_change_inputs(self):
        def change(graph):
            for node in graph.nodes:
                if node.type == "Add" and node.name != "mine":
                    out = graph.add_operation("Multiply", [node.inputs[0], np.float32([10, 100])], opset="opset1")[0]
                    node.set_input(0, out)
                    node.name = "mine"

        self.add(change, phase="back", doc="scale")
        model = self.text(self.graph)
        np.testing.assert_allclose(model.compile("CPU")([self.x])[0], np.maximum(self.x, 0) * [10, 100] + [1, 2])
        self.assertIn(("change", "back", "scale"), [(p.name, p.phase, p.doc) for p in self.core.passes()])
        report = self.core.convert(model, self.path("out.xml"))
        with open(report.xml) as f:
            self.assertIn('name="mine"', f.read())

    def test_unknown_operations(self):
        def opaque(graph):
            for node in graph.nodes:
                if node.type == "Add":
                    made = graph.add_operation("Swirl", node.inputs, {"axes": [0, 1]}, outputs=[(np.float32, (2, 2))],
                                               name="swirl")[0]
                    self.assertEqual((made.shape, made.producer.type), ((2, 2), "Swirl"))
                    graph.replace(node.outputs[0], made)

        self.add(opaque, phase="back")
        report = self.core.convert(self.text(self.graph), self.path("out.xml"))
        with open(report.xml) as f:
            xml = f.read()
        self.assertIn('type="Swirl" version="extension"', xml)
        self.assertIn('axes="0, 1"', xml)

    def test_wrong_passes(self):
        def fails(function, message):
            added = self.add(function, name="wrong")
            with self.assertRaisesRegex(graft.Error, message) as caught:
                self.compiled(self.graph)
            self.core.remove_extension(added)
            return str(caught.exception)

        def node(graph, type):
            return next(n for n in graph.nodes if n.type == type)

        said = fails(lambda g: 1 / 0, "the pass: ZeroDivisionError")
        self.assertIn("running the pass 'wrong'", said)
        fails(lambda g: g.replace(node(g, "Add").outputs[0], np.zeros(3, np.float32)), "expected a replacement of type")
        fails(lambda g: node(g, "Relu").set_input(7, node(g, "Parameter").outputs[0]), "the node has no input 7")
        fails(lambda g: node(g, "Relu").set_input(0, node(g, "Add").outputs[0]), "would depend on its own outputs")
        fails(lambda g: node(g, "Add").set_input(1, g.constant(np.zeros((3, 5), np.float32))), "")
        fails(lambda g: g.add_operation("Nope", [], opset="opset1"), "unknown operation Nope")
        with self.assertRaisesRegex(ValueError, "expected front, middle, back or write as the phase of 'p', got 'late'"):
            graft.graph_pass(lambda g: None, name="p", phase="late", register=False)


if __name__ == "__main__":
    import unittest
    unittest.main()
