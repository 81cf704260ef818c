"""Extension folders of the Model Optimizer: what they convert Caffe models to."""
import unittest

from folder_case import TWIRL_OP, FolderCase


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


if __name__ == "__main__":
    unittest.main()
