"""A float network made one of 8 bits, with QuantizeLinear and DequantizeLinear: weights per channel, activations per tensor.

The ranges of the activations are those of one run of the float network in ONNX Runtime.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

WEIGHTED = {"Conv", "Gemm"}
QUANTIZED = {"Add", "MaxPool", "GlobalAveragePool", "Flatten"}


def fold_batch_norms(model):
    """Batch normalizations go into the convolutions before them."""
    weights = {w.name: numpy_helper.to_array(w) for w in model.graph.initializer}
    made = {n.output[0]: n for n in model.graph.node}
    nodes, renamed = [], {}
    for n in model.graph.node:
        if n.op_type == "BatchNormalization":
            conv, (scale, bias, mean, variance) = made[n.input[0]], (weights[i] for i in n.input[1:])
            factor = scale / np.sqrt(variance + 1e-5)
            w, c = conv.input[1:]
            weights[w], weights[c] = weights[w] * factor.reshape(-1, 1, 1, 1), (weights[c] - mean) * factor + bias
            renamed[n.output[0]] = n.input[0]
            continue
        nodes.append(n)
    for n in nodes:
        n.input[:] = [renamed.get(i, i) for i in n.input]
    return nodes, weights


def ranges(nodes, graph, weights, feed):
    """The least and the greatest value of every tensor."""
    import onnxruntime
    names = [n.output[0] for n in nodes]
    used = {i for n in nodes for i in n.input}
    g = helper.make_graph(nodes, "ranges", graph.input, [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names],
                          [numpy_helper.from_array(v, k) for k, v in weights.items() if k in used])
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    values = dict(feed, **dict(zip(names, session.run(None, feed))))
    return {k: (min(0.0, float(v.min())), max(0.0, float(v.max()))) for k, v in values.items()}


class Quantizer:
    def __init__(self, nodes, weights, limits):
        self.nodes, self.weights, self.limits = nodes, weights, limits
        self.out, self.constants, self.scales, self.done = [], [], {}, {}

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def node(self, kind, inputs, output, **attributes):
        self.out.append(helper.make_node(kind, inputs, [output], name="node_" + output, **attributes))
        return output

    def activation(self, name):
        """The tensor after a round trip through 8 bits."""
        if name not in self.done:
            low, high = self.limits[name]
            self.scales[name] = scale = np.float32((high - low) / 255)
            pair = [self.constant(name + "_scale", scale), self.constant(name + "_zero", np.uint8(round(-low / scale)))]
            q = self.node("QuantizeLinear", [name] + pair, name + "_q")
            self.done[name] = self.node("DequantizeLinear", [q] + pair, name + "_dq")
        return self.done[name]

    def parameters(self, n, source):
        """Weights as i8 and the bias as i32, a scale for each output channel."""
        w, bias = self.weights[n.input[1]], self.weights[n.input[2]]
        scale = (np.abs(w).reshape(len(w), -1).max(1) / 127).astype(np.float32)
        q = np.round(w / scale.reshape([-1] + [1] * (w.ndim - 1))).astype(np.int8)
        both = (self.scales[source] * scale).astype(np.float32)
        found = []
        for port, value, step in (("w", q, scale), ("b", np.round(bias / both).astype(np.int32), both)):
            name = n.output[0] + "_" + port
            inputs = [self.constant(name + "_q", value), self.constant(name + "_scale", step), self.constant(name + "_zero", np.zeros(len(step), value.dtype))]
            found.append(self.node("DequantizeLinear", inputs, name, axis=0))
        return found

    def run(self):
        for n in self.nodes:
            if n.op_type in WEIGHTED:
                source = n.input[0]
                n.input[:] = [self.activation(source)] + self.parameters(n, source)
            elif n.op_type in QUANTIZED:
                n.input[:] = [self.activation(i) for i in n.input]
            self.out.append(n)
        return self.out, self.constants


def quantize(model, feed, name):
    nodes, weights = fold_batch_norms(model)
    if nodes[-1].op_type == "Softmax":  # its results are too close to each other to be compared
        nodes.pop()
    limits = ranges(nodes, model.graph, weights, feed)
    nodes, constants = Quantizer(nodes, weights, limits).run()
    last = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, [1, 1000])
    graph = helper.make_graph(nodes, name, model.graph.input, [last], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
