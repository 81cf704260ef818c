"""The operations of bench/custom for the other engines, each through its own interface for operations in Python, with NumPy.

These come with the packages. Of the interfaces for C++, only OpenVINO's does (bench/custom/openvino); the packages of ONNX Runtime
and OpenCV have no headers.
"""
import numpy as np

DOMAIN = "ai.onnx.contrib"  # onnxruntime-extensions takes operations in Python in this domain only


def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


def channel_norm(x, gain):
    length = np.sqrt(np.einsum("nchw,nchw->nhw", x, x))[:, None]
    return x * (1 / (length + np.float32(1e-6))) * gain.reshape(1, -1, 1, 1)


def warp(x, flow):
    out = np.empty_like(x)
    rows, columns = x.shape[2:]
    for n in range(len(x)):
        at_x = np.clip(np.arange(columns, dtype=np.float32)[None, :] + flow[n, 0], 0, columns - 1)
        at_y = np.clip(np.arange(rows, dtype=np.float32)[:, None] + flow[n, 1], 0, rows - 1)
        x0, y0 = at_x.astype(np.int64), at_y.astype(np.int64)
        x1, y1 = np.minimum(x0 + 1, columns - 1), np.minimum(y0 + 1, rows - 1)
        u, v = at_x - x0.astype(np.float32), at_y - y0.astype(np.float32)
        flat = x[n].reshape(x.shape[1], -1)
        at = lambda row, column: np.take(flat, row * columns + column, axis=1)
        out[n] = at(y0, x0) * ((1 - v) * (1 - u)) + at(y0, x1) * ((1 - v) * u) + at(y1, x0) * (v * (1 - u)) + at(y1, x1) * (v * u)
    return out


OPERATIONS = {"BenchMish": (mish, 1), "BenchCosh": (np.cosh, 1), "BenchChannelNorm": (channel_norm, 2), "BenchWarp": (warp, 2)}

INTERFACES = {"graft": "C++, bench/custom", "openvino": "Python, ov.Op with evaluate", "openvino_cpp": "C++, ov::op::Op with evaluate",
              "onnxruntime": "Python, onnx_op of onnxruntime-extensions",
              "opencv": "Python, cv2.dnn_registerLayer"}


def for_openvino(core):
    import openvino as ov
    from openvino.frontend.onnx import ConversionExtension

    def operation(kind, formula):
        class Custom(ov.Op):
            def __init__(self, inputs=None):
                super().__init__(self, inputs)

            def validate_and_infer_types(self):
                self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

            def clone_with_new_inputs(self, inputs):
                return Custom(inputs)

            def evaluate(self, outputs, inputs):
                outputs[0].data[:] = formula(*(i.data for i in inputs))
                return True

            def has_evaluate(self):
                return True

        Custom.__name__ = Custom.__qualname__ = kind
        return Custom

    def extension(kind, formula, count):
        made = operation(kind, formula)
        return ConversionExtension(kind, DOMAIN, lambda node: made([node.get_input(i) for i in range(count)]).outputs())

    for kind, (formula, count) in OPERATIONS.items():
        core.add_extension(extension(kind, formula, count))


def for_onnxruntime(options):
    import onnxruntime_extensions as extensions
    floats = extensions.PyCustomOpDef.dt_float
    for kind, (formula, count) in OPERATIONS.items():
        extensions.onnx_op(op_type=kind, inputs=[floats] * count, outputs=[floats])(formula)
    options.register_custom_ops_library(extensions.get_library_path())


def for_opencv():
    import cv2

    def layer(formula):
        class Layer:
            def __init__(self, params, blobs):
                self.blobs, self.asked = blobs, False

            def getMemoryShapes(self, inputs):
                self.asked = True
                return [inputs[0]]

            def forward(self, inputs):
                """OpenCV 5.0 does not ask for shapes and expects as many outputs as inputs, all of the first one's shape."""
                return [formula(*inputs, *self.blobs)] * (1 if self.asked else len(inputs))

        return Layer

    for kind, (formula, _) in OPERATIONS.items():
        cv2.dnn_registerLayer(DOMAIN + "." + kind, layer(formula))
