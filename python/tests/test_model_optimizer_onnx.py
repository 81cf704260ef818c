"""Extension folders of the Model Optimizer: what they convert ONNX models to."""
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np
from folder_case import TWIRL_OP, FolderCase
from support import onnx

import graft


class Onnx(FolderCase):
    EXTRACTOR = """
from mo.front.extractor import FrontExtractorOp
from mo.front.onnx.extractors.utils import onnx_attr, onnx_node_has_attr
from ...ops.Twirl import Twirl


class TwirlExtractor(FrontExtractorOp):
    op = 'Twirl'
    enabled = True

    @classmethod
    def extract(cls, node):
        attrs = {'turns': onnx_attr(node, 'turns', 'i', default=3)}
        if onnx_node_has_attr(node, 'label'):
            attrs['label'] = onnx_attr(node, 'label', 's', dst_type=lambda x: x.decode())
        Twirl.update_node_stat(node, attrs)
        return cls.enabled
"""

    def setUp(self):
        super().setUp()
        self.files = {"ops/Twirl.py": TWIRL_OP, "front/onnx/twirl_ext.py": self.EXTRACTOR}

    def test_an_extractor_and_its_operation(self):
        self.core.add_extension(self.extension(self.files))
        model = self.core.read_model(self.onnx(
            [onnx.node("Twirl", ["x"], ["a"], "t1", turns=5, label="fast"), onnx.node("Twirl", ["a"], ["y"], "t2")],
            [("x", [2, 3])], [("y", [2, 3])]))
        layers = self.layers(model)
        self.assertEqual(layers["t1"].get("version"), "extension")
        self.assertEqual(layers["t1"].find("data").attrib, {"turns": "5", "label": "FAST"})
        self.assertEqual(layers["t2"].find("data").attrib, {"turns": "3"})
        self.assertEqual(self.dims(layers["t2"]), [[2, 3]])

    def test_the_type_is_found_in_any_case_and_domain(self):
        self.core.add_extension(self.extension(self.files))
        model = self.core.read_model(self.onnx([onnx.node("TWIRL", ["x"], ["y"], "t", "com.acme", turns=2)],
                                               [("x", [4])],
                                               [("y", [4])], domains=["com.acme"]))
        self.assertEqual(self.layers(model)["t"].get("type"), "Twirl")

    def test_other_module_paths(self):
        for prefix in ("openvino.tools.mo", "extensions"):
            with self.subTest(prefix):
                files = {k: v.replace("from mo.", f"from {prefix}.") for k, v in self.files.items()}
                core = graft.Core()
                core.add_extension(self.extension(files, prefix.replace(".", "_")))

    def test_an_extractor_sees_the_layer_of_the_file(self):
        """Its own type and no attributes: the Model Optimizer's names are for transformations."""
        self.files["front/onnx/twirl_ext.py"] = self.EXTRACTOR.replace("op = 'Twirl'", "op = 'MaxPool'").replace(
            "        attrs = {", "        assert node.op == 'MaxPool' and not node.has('kernel_shape'), node.attrs()\n        attrs = {")
        self.core.add_extension(self.extension(self.files))
        model = self.core.read_model(self.onnx([onnx.node("MaxPool", ["x"], ["y"], "t", kernel_shape=[2])],
                                               [("x", [1, 1, 4])], [("y", [1, 1, 3])]))
        self.assertEqual(self.layers(model)["t"].get("type"), "Twirl")

    def test_a_kernel_from_another_extension_runs_it(self):
        self.core.add_extension(self.extension(self.files))

        @graft.op(name="Twirl", opset="extension", shape=lambda x, turns, label: x.shape, register=False)
        def twirl(x, turns: int = 1, label: str = ""):
            return x * np.float32(turns)

        self.core.add_extension(twirl)
        model = self.core.read_model(self.onnx([onnx.node("Twirl", ["x"], ["y"], "t", turns=5)], [("x", [3])],
                                               [("y", [3])]))
        out = model.compile("CPU")([np.float32([1, 2, 3])])[0]
        np.testing.assert_array_equal(out, [5, 10, 15])

    def test_an_operation_without_extractor_takes_layers_of_its_name(self):
        self.core.add_extension(self.extension({"ops/Twirl.py": TWIRL_OP}))
        model = self.core.read_model(self.onnx([onnx.node("Twirl", ["x"], ["y"], "t", turns=7)], [("x", [3])],
                                               [("y", [3])]))
        self.assertEqual(self.layers(model)["t"].find("data").attrib, {"turns": "1"})

    def test_infer_sees_shapes_and_values(self):
        self.files["ops/Twirl.py"] = TWIRL_OP.replace("'infer': copy_shape_infer", "'infer': Twirl.infer") + """
    @staticmethod
    def infer(node):
        sizes = node.in_port(1).data.get_value()
        node.out_port(0).data.set_shape([node.in_node(0).shape[0], *sizes])
"""
        self.core.add_extension(self.extension(self.files))
        model = self.core.read_model(self.onnx([onnx.node("Twirl", ["x", "sizes"], ["y"], "t")], [("x", [2, 3])],
                                               [("y", [2, 5, 6])],
                                               [onnx.tensor("sizes", [2], [5, 6], onnx.INT64)]))
        self.assertEqual(self.dims(self.layers(model)["t"]), [[2, 5, 6]])

    def test_a_front_transformation_of_a_pattern(self):
        """x * sigmoid(x) becomes one operation; what is around it stays the framework's."""
        folder = self.extension({"front/Fuse.py": """
from extensions.ops.activation_ops import Swish
from mo.front.common.replacement import FrontReplacementSubgraph
from mo.graph.graph import rename_nodes


class FuseSwish(FrontReplacementSubgraph):
    enabled = True

    def pattern(self):
        return dict(nodes=[('sigmoid', dict(op='Sigmoid')), ('mul', dict(op='Mul'))],
                    edges=[('sigmoid', 'mul', {'in': 1})])

    def replace_sub_graph(self, graph, match):
        mul, sigmoid = match['mul'], match['sigmoid']
        if mul.in_port(0).get_source() != sigmoid.in_port(0).get_source():
            return
        name = mul.soft_get('name', mul.id)
        swish = Swish(graph, {}).create_node()
        sigmoid.in_port(0).get_connection().set_destination(swish.in_port(0))
        mul.out_port(0).get_connection().set_source(swish.out_port(0))
        rename_nodes([(mul, name + '/old'), (swish, name)])
"""})
        self.core.add_extension(folder)
        path = self.onnx([onnx.node("Relu", ["x"], ["r"], "relu"), onnx.node("Sigmoid", ["r"], ["s"], "sigmoid"),
                          onnx.node("Mul", ["r", "s"], ["m"], "mul"), onnx.node("Abs", ["m"], ["y"], "abs")],
                         [("x", [2, 3])], [("y", [2, 3])])
        model = self.core.read_model(path)
        layers = self.layers(model)
        self.assertEqual({n: l.get("type") for n, l in layers.items() if n in ("relu", "sigmoid", "mul", "abs")},
                         {"relu": "ReLU", "mul": "Swish", "abs": "Abs"})
        x = np.float32([[-1, 0, 1], [2, 3, -4]])
        r = np.maximum(x, 0)
        np.testing.assert_allclose(model.compile("CPU")([x])[0], r / (1 + np.exp(-r)), rtol=1e-6)

    def test_replace_op_gives_outputs(self):
        self.core.add_extension(self.extension({"front/onnx/Cube.py": """
import numpy as np
from extensions.ops.elementwise import Mul
from mo.front.common.replacement import FrontReplacementOp
from mo.front.tf.graph_utils import create_op_with_const_inputs


class Cube(FrontReplacementOp):
    op = 'Cube'
    enabled = True

    def replace_op(self, graph, node):
        square = Mul(graph, {'name': node.id + '/square'}).create_node([node.in_node(0), node.in_node(0)])
        cube = Mul(graph, {'name': node.id + '/cube'}).create_node([square, node.in_node(0)])
        half = create_op_with_const_inputs(graph, Mul, {1: np.array(node.factor)}, {'name': node.id + '/scaled'}, cube)
        return [half.id]
"""}))
        model = self.core.read_model(self.onnx([onnx.node("Cube", ["x"], ["y"], "c", factor=0.5)], [("x", [3])],
                                               [("y", [3])]))
        np.testing.assert_allclose(model.compile("CPU")([np.float32([1, 2, -3])])[0], [0.5, 4, -13.5])
        self.assertEqual([o.any_name for o in model.outputs], ["y"])

    def test_order_and_conditions(self):
        text = """
from mo.front.common.replacement import FrontReplacementPattern
from extensions.front.Pack import Pack
from extensions.ops.elementwise import Add
from mo.front.tf.graph_utils import create_op_with_const_inputs
import numpy as np


class Step(FrontReplacementPattern):
    enabled = False
    letter = ''

    def find_and_replace_pattern(self, graph):
        result = graph.get_op_nodes(op='Result')[0]
        last = result.in_port(0).get_source()
        made = create_op_with_const_inputs(graph, Add, {1: np.float32(1)}, {'name': 'step_' + self.letter})
        result.in_port(0).get_connection().set_source(made.out_port(0))
        last.connect(made.in_port(0))


class A(Step):
    enabled = True
    letter = 'a'

    def run_after(self):
        return [Pack]


class Z(Step):
    enabled = True
    letter = 'z'

    def run_before(self):
        return [Pack]


class Other(Step):
    enabled = True
    letter = 'other'
    graph_condition = [lambda graph: graph.graph['fw'] == 'tf']
"""
        self.core.add_extension(self.extension({"front/steps.py": text}))
        model = self.core.read_model(self.onnx([onnx.node("Relu", ["x"], ["y"], "relu")], [("x", [3])], [("y", [3])]))
        names = [n for n, layer in self.layers(model).items() if layer.get("type") == "Add"]
        self.assertEqual(names, ["step_z", "step_a"])

    def test_a_changed_attribute_of_an_untouched_layer_is_refused(self):
        self.core.add_extension(self.extension({"front/Bad.py": """
from mo.front.common.replacement import FrontReplacementPattern


class Bad(FrontReplacementPattern):
    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='Elu'):
            node['alpha'] = 9.0
"""}))
        path = self.onnx([onnx.node("Elu", ["x"], ["y"], "elu", alpha=0.5)], [("x", [3])], [("y", [3])])
        with self.assertRaisesRegex(graft.Error, "attribute 'alpha' of the layer 'elu' was changed from 0.5 to 9.0"):
            self.core.read_model(path)

    def test_middle_and_back_transformations(self):
        """They see shapes and values; the pattern has data nodes between operations."""
        self.core.add_extension(self.extension({"middle/Fold.py": """
from mo.front.tf.graph_utils import create_op_with_const_inputs
from mo.middle.replacement import MiddleReplacementPattern
from extensions.ops.elementwise import Mul
import numpy as np


class TwiceToFour(MiddleReplacementPattern):
    enabled = True

    def pattern(self):
        return dict(nodes=[('first', dict(op='Mul')), ('data', dict(kind='data')), ('second', dict(op='Mul'))],
                    edges=[('first', 'data'), ('data', 'second')])

    def replace_pattern(self, graph, match):
        first, second = match['first'], match['second']
        factors = [n.in_port(1).data.get_value() for n in (first, second)]
        assert list(match['data'].shape) == [2, 3]
        both = create_op_with_const_inputs(graph, Mul, {1: np.array(factors[0] * factors[1])}, {'name': 'both'})
        first.in_port(0).get_connection().set_destination(both.in_port(0))
        second.out_port(0).get_connection().set_source(both.out_port(0))
""", "back/Elu.py": """
from mo.back.replacement import BackReplacementPattern


class SharperElu(BackReplacementPattern):
    enabled = True

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(type='Elu'):
            node['alpha'] = 2.0
"""}))
        path = self.onnx([onnx.node("Mul", ["x", "two"], ["a"], "m1"), onnx.node("Mul", ["a", "three"], ["b"], "m2"),
                          onnx.node("Elu", ["b"], ["y"], "elu", alpha=0.5)], [("x", [2, 3])], [("y", [2, 3])],
                         [onnx.tensor("two", [1], [2.0]), onnx.tensor("three", [1], [3.0])])
        model = self.core.read_model(path)
        graft.convert(model, self.path("c.xml"))
        layers = {l.get("name"): l for l in ElementTree.parse(self.path("c.xml")).find("layers")}
        self.assertEqual([l.get("type") for l in layers.values() if l.get("type") not in ("Const", "Parameter", "Result")],
                         ["Multiply", "Elu"])
        x = np.float32([[-1, 0, 1], [2, -3, 4]])
        np.testing.assert_allclose(self.core.read_model(self.path("c.xml")).compile("CPU")([x])[0],
                                   np.where(x > 0, 6 * x, 2 * np.expm1(6 * x)), rtol=1e-6)

    def test_nothing_leaks(self):
        import sys
        before = set(sys.modules)
        self.core.add_extension(self.extension(self.files))
        added = {m for m in set(sys.modules) - before if m.split(".")[0] in ("mo", "extensions", "openvino", "onnx",
                                                                             "ext")}
        self.assertEqual(added, set())
        self.assertNotIn("int", vars(np))


class Bodies(FolderCase):
    """Layers inside the branches of an If."""

    PASS = """
from extensions.ops.activation_ops import ReLU
from mo.front.common.replacement import FrontReplacementOp


class NoElu(FrontReplacementOp):
    op = 'Elu'
    enabled = True
    run_not_recursively = %s

    def replace_op(self, graph, node):
        return [ReLU(graph, {'name': node.id + '/relu'}).create_node([node.in_node(0)]).id]
"""

    def model(self, inside, domain=""):
        def branch(kind, domain=""):
            node = onnx.node(kind, ["a"], [kind.lower()], kind.lower() + "_inside", domain)
            return onnx.Graph(onnx.graph("branch", [node], (), (), [onnx.value(kind.lower(), [3])]))

        return self.onnx([onnx.node("Elu", ["x"], ["a"], "outside"), onnx.node("Abs", ["a"], ["b"], "abs"),
                          onnx.node("If", ["flag"], ["y"], "if", then_branch=branch(inside, domain),
                                    else_branch=branch("Abs"))], [("x", [3])], [("y", [3])],
                         [onnx.tensor("flag", [1], b"\1", 9)], [domain] if domain else [])

    def test_extractors_read_layers_in_bodies(self):
        for name, more in {"alone": {}, "with_passes": {"front/NoElu.py": self.PASS % True}}.items():
            with self.subTest(name):
                core = graft.Core()
                core.add_extension(self.extension({"ops/Twirl.py": TWIRL_OP, "front/onnx/twirl_ext.py": Onnx.EXTRACTOR,
                                                   **more}, name))
                for domain in ("", "com.acme"):
                    self.assertIn("Twirl", self.types(core.read_model(self.model("Twirl", domain))))

    def types(self, model):
        model.save_ir(self.path("ir.xml"))
        return [layer.get("type") for layer in ElementTree.parse(self.path("ir.xml")).iter("layer")]

    def test_a_transformation_that_would_change_a_body_is_refused(self):
        self.core.add_extension(self.extension({"front/NoElu.py": self.PASS % False}))
        with self.assertRaisesRegex(graft.Error, "transformation NoElu would change a body of the layer 'if' "
                                                 r"\(If\): transformations of the front phase do not visit bodies"):
            self.core.read_model(self.model("Elu"))

    def test_one_that_asks_not_to_recurse_leaves_it(self):
        self.core.add_extension(self.extension({"front/NoElu.py": self.PASS % True}))
        types = self.types(self.core.read_model(self.model("Elu")))
        self.assertEqual([t for t in types if t in ("Elu", "ReLU")], ["ReLU", "Elu"])


if __name__ == "__main__":
    unittest.main()
