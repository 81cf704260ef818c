"""Custom layers of MXNet from the file to results: `Custom` with an op_type, and operators under their own names."""
import json
import unittest

import numpy as np
from folder_case import FolderCase

import graft


def symbol(op, **attrs):
    nodes = [{"op": "null", "name": "x", "attrs": {"__shape__": "(2, 3)"}, "inputs": []},
             {"op": op, "name": "t", "attrs": attrs, "inputs": [[0, 0, 0]]}, {"op": "negative", "name": "n", "inputs": [[1, 0, 0]]}]
    return json.dumps({"nodes": nodes, "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}})


X = np.arange(6, dtype=np.float32).reshape(2, 3)

OPERATION = """
from mo.front.common.partial_infer.elemental import copy_shape_infer
from mo.ops.op import Op


class Turn(Op):
    op = 'Turn'

    def __init__(self, graph, attrs):
        super().__init__(graph, {'type': self.op, 'op': self.op, 'version': 'acme', 'infer': copy_shape_infer,
                                 'in_ports_count': 1, 'out_ports_count': 1}, attrs)

    def backend_attrs(self):
        return ['by']
"""
EXTRACTORS = """
from mo.front.extractor import FrontExtractorOp, MXNetCustomFrontExtractorOp
from mo.front.mxnet.extractors.utils import get_mxnet_layer_attrs
from ...ops.turn import Turn


class OwnName(FrontExtractorOp):
    op = 'turn'
    enabled = True

    @classmethod
    def extract(cls, node):
        Turn.update_node_stat(node, {'by': get_mxnet_layer_attrs(node.symbol_dict).float('by', 2)})
        return cls.enabled


class OpType(MXNetCustomFrontExtractorOp):
    op = 'turn'
    enabled = True

    def extract(self, node):
        attrs = {'by': get_mxnet_layer_attrs(node.symbol_dict).float('by', 0) + 100}
        Turn.update_node_stat(node, attrs)
        return self.enabled, attrs
"""


class CustomLayers(FolderCase):
    def run_model(self, op, **attrs):
        path = self.write("m-symbol.json", symbol(op, **attrs))
        model = self.core.read_model(path)
        direct = model.compile("CPU")([X])[0]
        model.save_ir(self.path("m.xml"))
        through_ir = self.core.read_model(self.path("m.xml")).compile("CPU")([X])[0]
        np.testing.assert_array_equal(direct, through_ir)
        return direct

    def test_operations(self):
        @graft.op(opset="acme", mxnet="turn", shape=lambda x, by: x.shape)
        def OwnTurn(x, by: float = 2.0):
            return np.asarray(x) * by

        @graft.op(opset="acme", mxnet="Custom::turn", shape=lambda x, by: x.shape)
        def CustomTurn(x, by: float = 1.0):
            return np.asarray(x) + by

        self.core.add_extension(OwnTurn)
        self.core.add_extension(CustomTurn)
        np.testing.assert_allclose(self.run_model("turn", by="3"), -3 * X)
        np.testing.assert_allclose(self.run_model("turn"), -2 * X)
        np.testing.assert_allclose(self.run_model("Custom", op_type="turn", by="0.5"), -(X + 0.5))

    def test_an_operation_by_its_op_type_alone(self):
        """`mxnet="tanhplus"` is the Custom layer of that name, unless something names the domain; a built-in operator is not."""
        @graft.op(opset="acme", mxnet="tanhplus", shape=lambda x, by: x.shape)
        def TanhPlus(x, by: float = 1.0):
            return np.tanh(x) + by

        self.core.add_extension(TanhPlus)
        np.testing.assert_allclose(self.run_model("Custom", op_type="tanhplus", by="0.5"), -(np.tanh(X) + 0.5), rtol=1e-6)
        np.testing.assert_allclose(self.run_model("tanhplus"), -(np.tanh(X) + 1), rtol=1e-6)
        model = self.core.read_model(self.write("m-symbol.json", symbol("Custom", op_type="relu")))
        self.assertEqual([u.type for u in model.report().unknown], ["relu"])

    def test_rules(self):
        @graft.import_rule("mxnet", "turn")
        def own(layer):
            return layer.input(0) * layer.get("by")

        @graft.import_rule("mxnet", "Custom::turn")
        def custom(layer):
            return layer.input(0) + layer.get("by")

        self.core.add_extension(own)
        self.core.add_extension(custom)
        np.testing.assert_allclose(self.run_model("turn", by="3"), -3 * X)
        np.testing.assert_allclose(self.run_model("Custom", op_type="turn", by="0.5"), -(X + 0.5))

    def test_extractors(self):
        """Of an extension folder, with the kernel in Python."""
        @graft.op(opset="acme", shape=lambda x, by: x.shape)
        def Turn(x, by: float = 1.0):
            return np.asarray(x) * by

        self.core.add_extension(self.extension({"ops/turn.py": OPERATION, "front/mxnet/turn_ext.py": EXTRACTORS}))
        self.core.add_extension(Turn)
        np.testing.assert_allclose(self.run_model("turn", by="3"), -3 * X)
        np.testing.assert_allclose(self.run_model("Custom", op_type="turn", by="3"), -103 * X)


if __name__ == "__main__":
    unittest.main()
