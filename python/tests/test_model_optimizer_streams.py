"""Extractors of MXNet and Kaldi: which layers they are found for, and what they read."""
import types
import unittest

import numpy as np
from folder_case import TWIRL_OP, FolderCase

from graft.model_optimizer.errors import Error
from graft.model_optimizer.folder import Folder
from graft.model_optimizer.kaldi import Parameters, collect_until_token, find_next_tag, get_args_for_specifier
from graft.model_optimizer.phases import _extract, _handler
from graft.model_optimizer.raw_graph import new_graph, prepare_node

MXNET = """
from mo.front.extractor import FrontExtractorOp, MXNetCustomFrontExtractorOp
from mo.front.mxnet.extractors.utils import get_mxnet_layer_attrs
from ...ops.Twirl import Twirl


class TwirlExtractor(FrontExtractorOp):
    op = 'Twirl'
    enabled = True

    @classmethod
    def extract(cls, node):
        attrs = get_mxnet_layer_attrs(node.symbol_dict)
        Twirl.update_node_stat(node, {'turns': attrs.int('turns', 3), 'kernel': attrs.tuple('kernel', int, None),
                                      'rate': attrs.float('rate', 0.5), 'fast': attrs.bool('fast', False),
                                      'label': attrs.str('label', 'none')})
        return cls.enabled


class CustomTwirl(MXNetCustomFrontExtractorOp):
    op = 'acme_twirl'
    enabled = True

    def extract(self, node):
        return True, dict(op='Twirl', type='Twirl', turns=get_mxnet_layer_attrs(node.symbol_dict).int('turns'))
"""

KALDI = """
import numpy as np
from mo.front.extractor import FrontExtractorOp
from mo.front.kaldi.loader.utils import (collect_until_token, read_binary_bool_token, read_binary_float_token,
                                         read_binary_integer32_token, read_token_value)
from mo.front.kaldi.utils import read_binary_matrix, read_binary_vector, read_learning_info
from ...ops.Twirl import Twirl


class TwirlComponent(FrontExtractorOp):
    op = 'twirlcomponent'
    enabled = True

    @classmethod
    def extract(cls, node):
        pb = node.parameters
        read_learning_info(pb)
        dimension = read_token_value(pb, b'<Dim>')
        collect_until_token(pb, b'<TimeOffsets>')
        offsets = read_binary_vector(pb, False, np.int32)
        collect_until_token(pb, b'<LinearParams>')
        weights, shape = read_binary_matrix(pb)
        collect_until_token(pb, b'<BiasParams>')
        biases = read_binary_vector(pb)
        collect_until_token(pb, b'<MaxChange>')
        change = read_binary_float_token(pb)
        collect_until_token(pb, b'<Fast>')
        Twirl.update_node_stat(node, {'turns': dimension, 'offsets': offsets, 'weights': weights.reshape(shape),
                                      'biases': biases, 'change': change, 'fast': read_binary_bool_token(pb)})
        return cls.enabled
"""


def layer(type, domain="", **fields):
    return types.SimpleNamespace(name="t", type=type, fields=fields, inputs=[], outputs=["t"], domain=domain, weights=0)


class Streams(FolderCase):
    def extracted(self, framework, text, given, blobs=()):
        """The attributes that the folder's extractor gives to a layer."""
        folder = Folder(self.extension({"ops/Twirl.py": TWIRL_OP, f"front/{framework}/twirl_ext.py": text}, framework))
        handler = _handler(folder, framework, given)
        with folder.imports.active():
            node = prepare_node(new_graph(framework), "t", framework, given, list(blobs))
            self.assertTrue(_extract(handler, node))
        return node

    def test_attributes_of_mxnet(self):
        """They are text in the file; a reader may have read them."""
        for kernel, fast in (((3, 3), True), ("(3, 3)", "True")):
            node = self.extracted("mxnet", MXNET, layer("twirl", kernel=kernel, fast=fast, turns="7", label="a"))
            self.assertEqual((node.turns, node.kernel, node.fast, node.rate, node.label), (7, (3, 3), True, 0.5, "a"))

    def test_custom_operators_of_mxnet(self):
        node = self.extracted("mxnet", MXNET, layer("acme_twirl", "Custom", turns=4))
        self.assertEqual((node.op, node.turns), ("Twirl", 4))

    def test_a_custom_operator_without_extractor(self):
        folder = Folder(self.extension({"ops/Twirl.py": TWIRL_OP, "front/mxnet/twirl_ext.py": MXNET}))
        self.assertEqual(set(folder.fronts["mxnet"].custom), {"acme_twirl"})
        self.assertEqual(set(folder.fronts["mxnet"].extractors), {"twirl"})
        self.assertIsNone(_handler(folder, "mxnet", layer("other", "Custom")))

    def test_a_component_of_kaldi(self):
        """Fields first, weights behind them: tokens are found in the whole component."""
        given = layer("TwirlComponent", LearningRate=0.001, Dim=5, MaxChange=0.75, TimeOffsets=[-1, 0, 1], Fast=True,
                      weights=["LinearParams", "BiasParams"])
        matrix, vector = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32([1, 2])
        node = self.extracted("kaldi", KALDI, given, [matrix, vector])
        self.assertEqual((node.turns, node.change, node.fast), (5, 0.75, True))
        np.testing.assert_array_equal(node.offsets, [-1, 0, 1])
        np.testing.assert_array_equal(node.weights, matrix)
        np.testing.assert_array_equal(node.biases, vector)

    def test_a_number_is_what_the_reader_says(self):
        """Kaldi stores whole and real numbers alike."""
        stream = Parameters("C", {"MaxChange": 2}, [])
        collect_until_token(stream, b"<MaxChange>")
        from graft.model_optimizer.kaldi import read_binary_float_token
        self.assertEqual(read_binary_float_token(stream), 2.0)

    def test_a_token_that_is_missing(self):
        with self.assertRaisesRegex(Error, "the Kaldi component 'C' has no token <Rate>; it has <Dim>, <Params>"):
            collect_until_token(Parameters("C", {"Dim": 2}, [("Params", np.zeros(2))]), b"<Rate>")

    def test_tags_and_specifiers(self):
        stream = Parameters("C", {"Dim": 2, "Name": "x"}, [("0", np.zeros(2))])
        self.assertEqual([find_next_tag(stream) for _ in range(3)], ["<Dim>", "<Name>", "<!EndOfComponent>"])
        with self.assertRaisesRegex(Error, "unexpected end of the Kaldi component"):
            find_next_tag(stream)
        self.assertEqual(get_args_for_specifier(b"(a, Offset(b, -1), Sum(c, d))"), [b"a", b"Offset(b, -1)", b"Sum(c, d)"])


if __name__ == "__main__":
    unittest.main()
