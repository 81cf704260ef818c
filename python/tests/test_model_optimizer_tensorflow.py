"""Extension folders of the Model Optimizer: what they convert TensorFlow models to."""
import os
import subprocess
import unittest

import numpy as np
from folder_case import FolderCase, tf_input, tf_ints, tf_node


def part(name, index):
    """One of the numbers that the last dimension of the image has."""
    masks = dict(begin_mask=7, end_mask=7, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=8)
    ends = (("begin", [0, 0, 0, index]), ("end", [0, 0, 0, index + 1]), ("strides", [1, 1, 1, 1]))
    return ("".join(tf_ints(f"{name}/{end}", values) for end, values in ends) +
            tf_node(name, "StridedSlice", "scaled", *(f"{name}/{end}" for end, _ in ends), Index="type: DT_INT32",
                    **{k: f"i: {v}" for k, v in masks.items()}))


COMPLEX = "type: DT_COMPLEX64"
# The end of the network for magnetic resonance images: complex numbers, from a real tensor and back.
MRI = (tf_input("image", [-1, 4, 6, 2]) + tf_node("scaled", "Neg", "image") + part("real", 0) + part("imag", 1) +
       tf_node("Complex", "Complex", "real", "imag", Tout=COMPLEX) +
       tf_node("IFFT2D", "IFFT2D", "Complex", T=COMPLEX, Tcomplex=COMPLEX) +
       tf_node("Abs", "ComplexAbs", "IFFT2D", T=COMPLEX, Tout="type: DT_FLOAT") + tf_node("out", "Relu", "Abs"))


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

    KERNEL = """
import numpy as np

import graft


@graft.op(opset="custom_opset", shape=lambda x, inverse: x.shape)
def FFT(x, inverse: int = 0):
    z = (np.fft.ifft2 if inverse else np.fft.fft2)(x[..., 0] + 1j * x[..., 1])
    return np.stack([z.real, z.imag], -1).astype(np.float32)
"""

    def setUp(self):
        super().setUp()
        self.folder_of_guide = self.extension(self.FFT, "mo_extensions")
        self.kernel = self.write("fft_kernel.py", self.KERNEL)
        self.model = self.write("mri.pbtxt", MRI)
        self.image = np.random.RandomState(2).randn(1, 4, 6, 2).astype(np.float32)
        self.expected = np.abs(np.fft.ifft2(self.image[..., 0] + 1j * self.image[..., 1]))

    def test_the_guide_of_2021(self):
        """FFT: an operation of a custom opset, two extractors, and two transformations, on the graph of the MRI demo."""
        self.core.add_extension(self.folder_of_guide)
        layers = self.layers(self.core.read_model(self.model, batch=1))
        self.assertEqual([l.get("type") for l in layers.values() if l.get("type") != "Const"],
                         ["Parameter", "Negative", "FFT", "Power", "ReduceSum", "Power", "ReLU", "Result"])
        self.assertEqual(layers["IFFT2D"].get("version"), "custom_opset")
        self.assertEqual(layers["IFFT2D"].find("data").attrib, {"inverse": "1"})
        self.assertEqual(self.dims(layers["IFFT2D"]), [[1, 4, 6, 2]])
        self.core.add_extension(self.kernel)
        found = self.core.read_model(self.model).compile("CPU")([self.image])[0]
        np.testing.assert_allclose(found, self.expected, rtol=1e-5, atol=1e-6)

    def test_the_command_of_the_guide(self):
        program = os.path.join(os.environ.get("GRAFT_BIN", "build/bin"), "mo")
        done = subprocess.run([os.path.abspath(program), "--input_model", self.model, "--input_model_is_text", "-b", "1",
                               "--extensions", self.folder_of_guide, "--output_dir", self.path("ir")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.core.add_extension(self.kernel)
        found = self.core.read_model(self.path("ir/mri.xml")).compile("CPU")([self.image])[0]
        np.testing.assert_allclose(found, self.expected, rtol=1e-5, atol=1e-6)


class Channels(FolderCase):
    def test_operations_with_channels_as_the_second_dimension(self):
        """The opset defines DepthToSpace for NCHW; the model has channels last."""
        self.core.add_extension(self.extension({"front/tf/depth_ext.py": """
from extensions.ops.depth_to_space import DepthToSpaceOp
from mo.front.extractor import FrontExtractorOp


class DepthExtractor(FrontExtractorOp):
    op = 'DepthToSpace'
    enabled = True

    @classmethod
    def extract(cls, node):
        DepthToSpaceOp.update_node_stat(node, {'block_size': node.pb.attr['block_size'].i,
                                               'data_format': node.pb.attr['data_format'].s.decode('ascii')})
        return cls.enabled
"""}))
        model = self.core.read_model(self.write("m.pbtxt", tf_input("x", [1, 2, 3, 8]) + tf_node(
            "y", "DepthToSpace", "x", block_size="i: 2", data_format='s: "NHWC"')))
        x = np.arange(48, dtype=np.float32).reshape(1, 2, 3, 8)
        expected = x.reshape(1, 2, 3, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 6, 2)
        np.testing.assert_array_equal(model.compile("CPU")([x])[0], expected)


if __name__ == "__main__":
    unittest.main()
