"""Extension folders of the Model Optimizer: what they convert models of each framework to."""
import os
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np
from support import Case, onnx, onnx_model

import graft

TWIRL_OP = """
from mo.front.common.partial_infer.elemental import copy_shape_infer
from mo.ops.op import Op


class Twirl(Op):
    op = 'Twirl'

    def __init__(self, graph, attrs):
        super().__init__(graph, {'type': self.op, 'op': self.op, 'turns': 1, 'infer': copy_shape_infer,
                                 'in_ports_count': 1, 'out_ports_count': 1}, attrs)

    def supported_attrs(self):
        return ['turns', 'label']

    def backend_attrs(self):
        return ['turns', ('label', lambda node: node.label.upper() if node.has_valid('label') else None)]
"""


class FolderCase(Case):
    def extension(self, files, name="ext"):
        for path, text in files.items():
            place = self.path(os.path.join(name, path))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as f:
                f.write(text)
        return self.path(name)

    def layers(self, model):
        """The layers of the model's IR by name."""
        model.save_ir(self.path("ir.xml"))
        return {layer.get("name"): layer for layer in ElementTree.parse(self.path("ir.xml")).find("layers")}

    def dims(self, layer):
        return [[int(d.text) for d in port.findall("dim")] for port in layer.find("output")]

    def onnx(self, nodes, inputs, outputs, tensors=(), domains=()):
        return self.write("model.onnx", onnx_model(nodes, inputs, outputs, tensors, domains))


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


class Caffe(FolderCase):
    def test_fields_defaults_and_weights(self):
        self.core.add_extension(self.extension({"ops/Twist.py": """
from mo.front.caffe.extractors.utils import get_canonical_axis_index
from mo.ops.op import Op


class Twist(Op):
    op = 'Twist'

    def __init__(self, graph, attrs):
        super().__init__(graph, {'type': 'Twist', 'op': 'Twist', 'infer': Twist.infer, 'out_ports_count': 1}, attrs)

    def supported_attrs(self):
        return ['axis', 'offset', 'rate']

    @staticmethod
    def infer(node):
        shape = node.in_node(0).shape.copy()
        shape[get_canonical_axis_index(shape, node.axis)] -= 1
        node.out_node(0).shape = shape
""", "front/caffe/twist_ext.py": """
from ext.ops.Twist import Twist
from mo.front.caffe.collect_attributes import merge_attrs
from mo.front.extractor import FrontExtractorOp


class TwistExtractor(FrontExtractorOp):
    op = 'Twist'
    enabled = True

    @classmethod
    def extract(cls, node):
        param = node.pb.twist_param
        attrs = merge_attrs(param, {'axis': param.axis, 'offset': param.offset, 'missing': 1})
        attrs['rate'] = param.rate if hasattr(param, 'rate') else 0.25
        assert node.pb.crop_param.axis == 2  # of the schema
        Twist.update_node_stat(node, attrs)
        return cls.enabled
"""}))
        path = self.write("net.prototxt", """
name: "net" input: "data" input_shape { dim: 1 dim: 2 dim: 5 }
layer { name: "t" type: "Twist" bottom: "data" top: "t" twist_param { axis: -1 offset: 3 offset: 4 } }
""")
        layers = self.layers(self.core.read_model(path))
        self.assertEqual(layers["t"].find("data").attrib, {"axis": "-1", "offset": "3, 4", "rate": "0.25"})
        self.assertEqual(self.dims(layers["t"]), [[1, 2, 4]])

    def test_a_python_layer(self):
        self.core.add_extension(self.extension({"ops/rpn.py": TWIRL_OP.replace("Twirl", "Roi"),
                                                "front/caffe/roi_ext.py": """
from ...ops.rpn import Roi
from mo.front.extractor import CaffePythonFrontExtractorOp


class RoiExtractor(CaffePythonFrontExtractorOp):
    op = 'acme.layers.Roi'
    enabled = True

    @classmethod
    def extract(cls, node):
        Roi.update_node_stat(node, CaffePythonFrontExtractorOp.get_attrs(node.pb))
        return cls.enabled
"""}))
        path = self.write("net.prototxt", """
name: "net" input: "data" input_shape { dim: 1 dim: 5 }
layer { name: "r" type: "Python" bottom: "data" top: "r"
  python_param { module: "acme.layers" layer: "Roi" param_str: "'turns': 16, 'label': 'a'" } }
""")
        layers = self.layers(self.core.read_model(path))
        self.assertEqual(layers["r"].find("data").attrib, {"turns": "16", "label": "A"})


DT = 'attr { key: "%s" value { type: %s } }'
MRI = ('node { name: "image" op: "Placeholder" ' + DT % ("dtype", "DT_FLOAT") + ' attr { key: "shape" value { shape { '
       'dim { size: 1 } dim { size: 4 } dim { size: 6 } dim { size: 2 } } } } }\n')


def tf_const(name, values, shape=""):
    items = " ".join(f"int_val: {v}" for v in values)
    return (f'node {{ name: "{name}" op: "Const" {DT % ("dtype", "DT_INT32")} attr {{ key: "value" value {{ tensor {{ '
            f'dtype: DT_INT32 tensor_shape {{ dim {{ size: {len(values)} }} }} {items} }} }} }} }}\n')


def part(name, index):
    masks = "".join(f'attr {{ key: "{k}" value {{ i: {v} }} }} ' for k, v in (
        ("begin_mask", 7), ("end_mask", 7), ("ellipsis_mask", 0), ("new_axis_mask", 0), ("shrink_axis_mask", 8)))
    return (tf_const(f"{name}/begin", [0, 0, 0, index]) + tf_const(f"{name}/end", [0, 0, 0, index + 1]) +
            tf_const(f"{name}/strides", [1, 1, 1, 1]) +
            f'node {{ name: "{name}" op: "StridedSlice" input: "image" input: "{name}/begin" input: "{name}/end" '
            f'input: "{name}/strides" {DT % ("T", "DT_FLOAT")} {DT % ("Index", "DT_INT32")} {masks} }}\n')


MRI += part("real", 0) + part("imag", 1)
MRI += ('node { name: "Complex" op: "Complex" input: "real" input: "imag" ' + DT % ("T", "DT_FLOAT") +
        DT % ("Tout", "DT_COMPLEX64") + ' }\nnode { name: "IFFT2D" op: "IFFT2D" input: "Complex" ' +
        DT % ("Tcomplex", "DT_COMPLEX64") + ' }\nnode { name: "Abs" op: "ComplexAbs" input: "IFFT2D" ' +
        DT % ("T", "DT_COMPLEX64") + DT % ("Tout", "DT_FLOAT") + " }\n")


class TensorFlow(FolderCase):
    FFT = {"ops/FFT.py": """
from mo.front.common.partial_infer.elemental import copy_shape_infer
from mo.graph.graph import Graph
from mo.ops.op import Op


class FFT(Op):
    op = 'FFT'
    enabled = False

    def __init__(self, graph: Graph, attrs: dict):
        defaults = dict(type=self.op, op=self.op, version='custom_opset', inverse=None, infer=copy_shape_infer)
        super().__init__(graph, {**defaults, 'in_ports_count': 1, 'out_ports_count': 1}, attrs)

    def backend_attrs(self):
        return ['inverse']
""", "front/tf/FFT_ext.py": """
from ...ops.FFT import FFT
from mo.front.extractor import FrontExtractorOp
from mo.utils.error import Error


class ForwardExtractor(FrontExtractorOp):
    op = 'FFT2D'
    enabled = True

    @classmethod
    def extract(cls, node):
        FFT.update_node_stat(node, {'inverse': 0})
        return cls.enabled


class InverseExtractor(FrontExtractorOp):
    op = 'IFFT2D'
    enabled = True

    @classmethod
    def extract(cls, node):
        FFT.update_node_stat(node, {'inverse': 1})
        return cls.enabled
""", "front/tf/Complex.py": """
import logging as log

from mo.front.common.replacement import FrontReplacementSubgraph
from mo.graph.graph import Graph


class Complex(FrontReplacementSubgraph):
    enabled = True

    def pattern(self):
        log.debug('slices that make a complex number')
        parts = ('re', 'im')
        return {'nodes': [(p, {'op': 'StridedSlice'}) for p in parts] + [('both', {'op': 'Complex'})],
                'edges': [(p, 'both', {'in': i}) for i, p in enumerate(parts)]}

    @staticmethod
    def replace_sub_graph(graph: Graph, match: dict):
        source = match['re'].in_port(0).get_source()
        assert source == match['im'].in_port(0).get_source()
        source.disconnect()
        match['both'].out_port(0).get_connection().set_source(source)
""", "front/tf/ComplexAbs.py": """
import numpy as np

from extensions.ops.elementwise import Pow
from extensions.ops.ReduceOps import ReduceSum
from mo.front.common.replacement import FrontReplacementOp
from mo.graph.graph import Graph, Node
from mo.ops.const import Const


class ComplexAbs(FrontReplacementOp):
    op = 'ComplexAbs'
    enabled = True

    def replace_op(self, graph: Graph, node: Node):
        def constant(value):
            return Const(graph, {'value': value}).create_node()

        source = node.in_node(0)
        squares = Pow(graph, dict(name=source.name + '/squares')).create_node([source, constant(np.float32(2.0))])
        total = ReduceSum(graph, dict(name=squares.name + '/total')).create_node([squares, constant(np.int32(-1))])
        root = Pow(graph, dict(name=total.name + '/root')).create_node([total, constant(np.float32(0.5))])
        return [root.id]
"""}

    def test_the_guide_of_2021(self):
        """FFT: an operation of a custom opset, two extractors, and two transformations, on the graph of the MRI demo."""
        self.core.add_extension(self.extension(self.FFT))

        @graft.op(name="FFT", opset="custom_opset", shape=lambda x, inverse: x.shape, register=False)
        def fft(x, inverse: int = 0):
            z = (np.fft.ifft2 if inverse else np.fft.fft2)(x[..., 0] + 1j * x[..., 1])
            return np.stack([z.real, z.imag], -1).astype(np.float32)

        model = self.core.read_model(self.write("mri.pbtxt", MRI))
        layers = self.layers(model)
        self.assertEqual([l.get("type") for l in layers.values() if l.get("type") != "Const"],
                         ["Parameter", "FFT", "Power", "ReduceSum", "Power", "Result"])
        self.assertEqual(layers["IFFT2D"].get("version"), "custom_opset")
        self.assertEqual(layers["IFFT2D"].find("data").attrib, {"inverse": "1"})
        self.core.add_extension(fft)
        model = self.core.read_model(self.path("mri.pbtxt"))
        x = np.random.RandomState(2).randn(1, 4, 6, 2).astype(np.float32)
        expected = np.abs(np.fft.ifft2(x[..., 0] + 1j * x[..., 1]))
        np.testing.assert_allclose(model.compile("CPU")([x])[0], expected, rtol=1e-5, atol=1e-6)

    def test_entries_of_a_config(self):
        """general: transform_graph gets the attributes; points: an operation of the folder takes the place."""
        self.core.add_extension(self.extension({"ops/Twirl.py": TWIRL_OP, "front/tf/General.py": """
import numpy as np
from extensions.ops.elementwise import Mul
from mo.front.tf.graph_utils import create_op_with_const_inputs
from mo.front.tf.replacement import FrontReplacementFromConfigFileGeneral


class Scale(FrontReplacementFromConfigFileGeneral):
    replacement_id = 'ScaleOutput'

    def transform_graph(self, graph, replacement_descriptions):
        result = graph.get_op_nodes(op='Result')[0]
        source = result.in_port(0).get_source()
        made = create_op_with_const_inputs(graph, Mul, {1: np.float32(replacement_descriptions['factor'])}, {'name': 'scaled'})
        result.in_port(0).get_connection().set_source(made.out_port(0))
        source.connect(made.in_port(0))
"""}))
        config = self.write("config.json", """[
  {"id": "ScaleOutput", "match_kind": "general", "custom_attributes": {"factor": 4.0}},
  {"id": "Region", "match_kind": "points", "op": "Twirl", "custom_attributes": {"turns": 6},
   "instances": {"start_points": ["a"], "end_points": ["b"]}}]""")
        node = 'node { name: "%s" op: "%s" input: "%s" ' + DT % ("T", "DT_FLOAT") + " }\n"
        path = self.write("m.pbtxt", MRI.split("\n")[0] + "\n" + node % ("a", "Relu",
                                                                         "image") + node % ("b", "Tanh", "a") +
                          node % ("c", "Abs", "b"))
        layers = self.layers(self.core.read_model(path, replacements=config))
        kinds = [l.get("type") for l in layers.values() if l.get("type") not in ("Const", "Parameter", "Result")]
        self.assertEqual(kinds, ["Twirl", "Abs", "Multiply"])
        twirl = next(l for l in layers.values() if l.get("type") == "Twirl")
        self.assertEqual(twirl.find("data").get("turns"), "6")


if __name__ == "__main__":
    unittest.main()
