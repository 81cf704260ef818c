"""Kaldi models: options for reading, and utterances in chunks."""
import os
import sys
import unittest

import numpy as np
from support import Case

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cli"))
from kaldi_writer import I, Ints, Matrix, Vector, nnet1, nnet3  # noqa: E402

import graft  # noqa: E402

X = np.random.RandomState(1).uniform(-1, 1, (11, 2)).astype(np.float32)
TDNN = [("t", "TdnnComponent", [("TimeOffsets", Ints([-2, 1])), ("LinearParams", Matrix([[1, -2, 0.5, 1], [0, 1, 2, -1]])), ("BiasParams", Vector([0.5, -1]))]),
        ("a", "LinearComponent", [("Params", Matrix([[0.5, 0, 1, -0.5], [0, 0.25, 0.5, 1]]))]), ("h", "TanhComponent", [("Dim", I(2)), ("Count", 0.0)])]
CONFIG = ["input-node name=input dim=2", "component-node name=t component=t input=input", "component-node name=a component=a input=Append(t, IfDefined(Offset(h, -1)))",
          "component-node name=h component=h input=a", "output-node name=output input=Append(Offset(h, -1), Offset(h, 2))"]


def in_chunks(request, streaming, rows, size):
    fed = np.concatenate([rows[:1].repeat(streaming.left, 0), rows, rows[-1:].repeat(streaming.right, 0)])
    request.reset_state()
    found = [np.array(request.infer({"input": fed[at:at + size]})["output"]) for at in range(0, len(fed), size)]
    return np.concatenate(found)[streaming.left + streaming.right:]


class Chunks(Case):
    def setUp(self):
        super().setUp()
        self.model = self.write("m.mdl", nnet3(CONFIG, TDNN, True))

    def test_chunks_equal_the_whole_utterance(self):
        whole = self.core.read_model(self.model)
        self.assertIsNone(whole.streaming)
        self.assertEqual(whole.framework, "kaldi")
        expected = np.array(whole.compile("CPU")({"input": X})["output"])
        model = self.core.read_model(self.model, streaming=True)
        self.assertEqual((model.streaming.left, model.streaming.right), (3, 3))
        self.assertEqual(repr(model.streaming), "Streaming(left=3, right=3)")
        self.assertIsInstance(model.streaming, graft.Streaming)
        request = model.compile("CPU").create_infer_request()
        for size in (1, 4, 100):
            np.testing.assert_allclose(in_chunks(request, model.streaming, X, size), expected, atol=1e-5)

    def test_ir(self):
        expected = np.array(self.core.read_model(self.model).compile("CPU")({"input": X})["output"])
        self.core.convert(self.model, self.path("m.xml"), read={"streaming": True})
        model = self.core.read_model(self.path("m.xml"))
        request = model.compile("CPU").create_infer_request()
        np.testing.assert_allclose(in_chunks(request, model.streaming, X, 4), expected, atol=1e-5)

    def test_state_as_inputs(self):
        model = self.core.read_model(self.model, remove_memory=True)
        self.assertTrue(all("_for_" in p.any_name for p in model.inputs[1:]))
        self.assertGreater(len(model.inputs), 1)

    def test_other_options(self):
        softmax = self.write("s.nnet", nnet1([("AffineTransform", 2, 2, [(None, Matrix([[1, 0], [0, 1]]), Vector([0, 0]))]), ("Softmax", 2, 2, [])], True))
        plain = self.core.read_model(softmax, remove_output_softmax=True).compile("CPU")({"input": X})[0]
        np.testing.assert_allclose(plain, X)
        counts = self.core.read_model(softmax, remove_output_softmax=True, counts=self.write("counts", "[ 1 3 ]")).compile("CPU")({"input": X})[0]
        np.testing.assert_allclose(counts, X - np.log([0.25, 0.75]), rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
