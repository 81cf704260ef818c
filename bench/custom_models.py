"""Networks with an operation that no engine has in the middle; bench/custom and bench/custom_ops.py define the operations."""
import numpy as np
from onnx import TensorProto, helper, shape_inference

from custom_ops import DOMAIN
from models import Builder



class CustomBuilder(Builder):
    def custom(self, kind, *inputs):
        out = self.name(kind.lower())
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=self.name("node"), domain=DOMAIN))
        return out

    def finish(self, name, inputs, output, shape):
        """Shapes behind a custom operation are unknown to ONNX, so that of the output is given."""
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)], self.weights)
        m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)], ir_version=8)
        return shape_inference.infer_shapes(m)


def network(name, middle, flow=False):
    """A small ResNet at 224 x 224; `middle` gets the builder and the feature map [1, 64, 56, 56]."""
    b = CustomBuilder(11)
    y = b.op("MaxPool", b.conv("x", 3, 64, 7, 2), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for i, (cout, stride) in enumerate(((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1))):
        left = b.conv(b.conv(y, channels, cout, 3, stride), cout, cout, relu=False)
        right = y if channels == cout else b.conv(y, channels, cout, 1, stride, relu=False)
        y, channels = b.op("Relu", b.op("Add", left, right)), cout
        y = middle(b, y) if i == 1 else y
    y = b.op("Flatten", b.op("GlobalAveragePool", y))
    y = b.op("Gemm", y, b.weight(1000, channels), b.weight(1000, scale=0.1), transB=1)
    return b.finish(name, [("x", [1, 3, 224, 224])] + [("flow", [1, 2, 56, 56])] * flow, y, [1, 1000])


def cnn_elementwise():
    return network("cnn_elementwise", lambda b, y: b.custom("BenchMish", y))


def cnn_norm():
    return network("cnn_norm", lambda b, y: b.custom("BenchChannelNorm", y, b.constant(b.rng.uniform(4, 12, 64).astype(np.float32))))


def cnn_warp():
    return network("cnn_warp", lambda b, y: b.custom("BenchWarp", y, "flow"), flow=True)


def cosh_custom(size=1 << 20):
    b = CustomBuilder(12)
    return b.finish("cosh_custom", [("x", [1, size])], b.custom("BenchCosh", "x"), [1, size])
