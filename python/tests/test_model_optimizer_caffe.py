"""Extension folders of the Model Optimizer: what they convert Caffe models to."""
import struct
import unittest

import numpy as np
from folder_case import TWIRL_OP, FolderCase
from support import onnx

import graft


def caffemodel(layer, type, *blobs):
    """The weights of one layer."""
    def blob(array):
        dims = b"".join(onnx.varint(d) for d in array.shape)
        return onnx.data(7, onnx.data(1, dims)) + onnx.data(5, struct.pack(f"<{array.size}f", *array.ravel()))

    return onnx.data(100, onnx.data(1, layer) + onnx.data(2, type) + b"".join(onnx.data(7, blob(b)) for b in blobs))


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


BLEND_OP = """
from mo.front.common.partial_infer.elemental import copy_shape_infer
from mo.ops.op import Op


class Blend(Op):
    op = 'Blend'

    def __init__(self, graph, attrs):
        super().__init__(graph, {'type': 'Blend', 'op': 'Blend', 'version': 'acme', 'infer': copy_shape_infer,
                                 'in_ports_count': 3, 'out_ports_count': 1}, attrs)

    def backend_attrs(self):
        return ['rate']
"""

EMBEDDING = """
from ...ops.Blend import Blend
from mo.front.caffe.extractors.utils import embed_input, weights_biases
from mo.front.extractor import {base}


class BlendExtractor({base}):
    op = '{op}'
    enabled = True

    @classmethod
    def extract(cls, node):
        attrs = {attrs}
        attrs.update({weights})
        Blend.update_node_stat(node, attrs)
        return cls.enabled
"""

IDENTITY_PASS = """
from mo.front.common.replacement import FrontReplacementPattern


class Nothing(FrontReplacementPattern):
    enabled = True

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='Blend'):
            assert node.in_port(1).get_source().node.value.size == 3, 'weights are inputs'
"""


class CaffeWeights(FolderCase):
    NET = """
name: "net" input: "data" input_shape { dim: 2 dim: 3 }
layer { name: "b" type: "%s" bottom: "data" top: "b" %s }
"""
    WEIGHTS, BIASES = np.float32([2, 3, 4]), np.float32([[10, 20, 30]])

    def run_net(self, files, type, parameters, blobs, more=()):
        """The output for an input of 0, 1, ...: input * weights + biases, if the kernel gets these."""
        self.core.add_extension(self.extension({"ops/Blend.py": BLEND_OP, **files}))

        @graft.op(name="Blend", opset="acme", shape=lambda x, *rest, **attributes: x.shape, register=False)
        def blend(x, weights, biases=None, rate: float = 0.0):
            assert weights.ndim == 1 and weights.dtype == np.float32, weights
            return x * weights + (0 if biases is None else biases) + np.float32(rate)

        self.core.add_extension(blend)
        path = self.write("net.prototxt", self.NET % (type, parameters))
        model = self.core.read_model(path, self.write("net.caffemodel", caffemodel("b", type, *blobs)))
        self.input = np.arange(6, dtype=np.float32).reshape(2, 3)
        return model.compile("CPU")([self.input])[0]

    def extractor(self, base="FrontExtractorOp", op="Blend", attrs="{'rate': 0.0}",
                  weights="weights_biases(True, node.model_pb)"):
        return EMBEDDING.format(base=base, op=op, attrs=attrs, weights=weights)

    def test_weights_and_biases(self):
        found = self.run_net({"front/caffe/blend_ext.py": self.extractor()}, "Blend", "", [self.WEIGHTS, self.BIASES])
        np.testing.assert_allclose(found, self.input * self.WEIGHTS + self.BIASES)

    def test_weights_alone(self):
        text = self.extractor(weights="weights_biases(node.pb.blend_param.bias_term, node.model_pb)")
        found = self.run_net({"front/caffe/blend_ext.py": text}, "Blend", "blend_param { bias_term: false }",
                             [self.WEIGHTS, self.BIASES])
        np.testing.assert_allclose(found, self.input * self.WEIGHTS)

    def test_embedded_one_by_one(self):
        """Ports in another order, and a value that the extractor computes."""
        text = self.extractor(weights="{}").replace(
            "        Blend.update", "        embed_input(attrs, 2, 'offset', [float(x) / 10 for x in node.model_pb.blobs[1].data])\n"
            "        embed_input(attrs, 1, 'gain', node.model_pb.blobs[0].data, 'weights')\n        Blend.update")
        found = self.run_net({"front/caffe/blend_ext.py": text}, "Blend", "", [self.WEIGHTS, self.BIASES])
        np.testing.assert_allclose(found, self.input * self.WEIGHTS + self.BIASES / 10)

    def test_with_front_transformations(self):
        """The same where the folder's transformations see the graph first."""
        found = self.run_net({"front/caffe/blend_ext.py": self.extractor(), "front/Nothing.py": IDENTITY_PASS}, "Blend",
                             "", [self.WEIGHTS, self.BIASES])
        np.testing.assert_allclose(found, self.input * self.WEIGHTS + self.BIASES)

    def test_a_python_layer_with_weights(self):
        text = self.extractor("CaffePythonFrontExtractorOp", "acme.layers.Blend",
                              "CaffePythonFrontExtractorOp.get_attrs(node.pb)")
        for name, more in {"alone": {}, "transformed": {"front/Nothing.py": IDENTITY_PASS}}.items():
            with self.subTest(name):
                self.core = graft.Core()
                found = self.run_net({"front/caffe/blend_ext.py": text, **more}, "Python",
                                     'python_param { module: "acme.layers" layer: "Blend" param_str: "{\'rate\': 0.5}" }',
                                     [self.WEIGHTS, self.BIASES])
                np.testing.assert_allclose(found, self.input * self.WEIGHTS + self.BIASES + 0.5)

    def test_attributes_of_a_python_layer_are_checked(self):
        text = self.extractor("CaffePythonFrontExtractorOp", "acme.layers.Blend",
                              "CaffePythonFrontExtractorOp.get_attrs(node.pb)").replace(
            "        Blend.update", "        CaffePythonFrontExtractorOp.check_param(Blend, attrs)\n        Blend.update")
        with self.assertLogs("graft.model_optimizer", "ERROR") as log:
            self.run_net({"front/caffe/blend_ext.py": text}, "Python",
                         'python_param { module: "acme.layers" layer: "Blend" param_str: "{\'speed\': 1}" }',
                         [self.WEIGHTS, self.BIASES])
        self.assertIn("attribute 'speed' is not a supported attribute of Blend, expected one of: none", log.output[0])

    def test_blobs_that_are_missing(self):
        text = self.extractor(weights="weights_biases(True, node.model_pb)")
        with self.assertRaisesRegex(graft.Error, "layer 'b' has 1 blob, blob 1 was read"):
            self.run_net({"front/caffe/blend_ext.py": text}, "Blend", "", [self.WEIGHTS])


if __name__ == "__main__":
    unittest.main()
