"""State between runs: graft convert --transform."""
import os
import subprocess
import unittest

import numpy as np
from support import Case, onnx, onnx_model

BIN = os.path.abspath(os.environ.get("GRAFT_BIN", "build/bin"))
I, H = 3, 2


def recurrent(kind, gates, states, direction="forward"):
    """One recurrent layer of ONNX over any number of steps, with the states of its beginning as inputs."""
    rng = np.random.default_rng(3)
    directions = 2 if direction == "bidirectional" else 1
    tensors = [onnx.tensor(n, d, list(rng.uniform(-1, 1, int(np.prod(d))))) for n, d in
               (("w", [directions, gates * H, I]), ("r", [directions, gates * H, H]), ("b", [directions, 2 * gates * H]))]
    begins = ["h", "c"][:states]
    node = onnx.node(kind, ["x", "w", "r", "b", "", *begins], ["y"], "layer", hidden_size=H, direction=direction)
    return onnx_model([node], [("x", ["steps", 1, I])] + [(n, [directions, 1, H]) for n in begins],
                      [("y", ["steps", directions, 1, H])], tensors)


class Transforms(Case):
    def convert(self, model, *transform):
        r = subprocess.run([os.path.join(BIN, "graft"), "convert", model, "-o", self.path("ir"), "-n", "net",
                            *(["--transform", *transform] if transform else [])], capture_output=True, text=True)
        self.said = r.stderr
        return r.returncode

    def request(self, model, *transform):
        self.assertEqual(self.convert(model, *transform), 0, getattr(self, "said", ""))
        return self.core.read_model(self.path("ir/net.xml")).compile("CPU").create_infer_request()

    def result(self, request, **inputs):
        return np.array(request.infer({k: np.float32(v) for k, v in inputs.items()})[0])

    def test_recurrent_layers_go_on_where_they_were(self):
        x = np.random.default_rng(4).uniform(-1, 1, (5, 1, I)).astype(np.float32)
        for kind, gates, states in (("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)):
            model = self.write(kind + ".onnx", recurrent(kind, gates, states))
            zeros = {n: np.zeros((1, 1, H)) for n in "hc"[:states]}
            begin = {n: np.full((1, 1, H), 0.5) for n in "hc"[:states]}
            plain = self.request(model)
            for transform, given in (("LowLatency2", zeros), ("LowLatency2[use_const_initializer=False]", begin),
                                     ("LowLatency2[use_const_initializer=True]", zeros)):
                whole = self.result(plain, x=x, **given)
                request = self.request(model, transform)
                # With the initializer, whatever is given as the state does not matter.
                given = begin if given is zeros else given
                for _ in range(2):
                    parts = [self.result(request, x=x[a:b], **given) for a, b in ((0, 1), (1, 2), (2, 5))]
                    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-6, err_msg=kind + transform)
                    request.reset_state()

    def test_iterators_go_on_where_they_were(self):
        body = """body (part <- 0 cut(0, 0, -1, 1, 1), sum <- 1) -> (each -> 0 cut(0, 0, -1, 1, 1){last}) feed (next -> sum)
            graph (part: f32[1,2], sum: f32[1,2]) {{ s = Add(part, sum) return each = s, next = s }}"""
        for last in ("", ", next -> 1"):
            text = "graph (x: f32[?,2], start: f32[1,2]) { y = TensorIterator@1(x, start) " + body.replace("{last}", last).replace(
                "{{", "{").replace("}}", "}") + " return y }"
            model = self.write("sum.graft", text)
            request = self.request(model, "LowLatency2")
            found = [self.result(request, x=x, start=[[7, 7]]) for x in ([[1, 2]], [[3, 4], [5, 6]], [[0, 1]])]
            self.assertEqual([f.tolist() for f in found], [[[1, 2]], [[4, 6], [9, 12]], [[9, 13]]])
            request = self.request(model, "LowLatency2[use_const_initializer=False]")
            self.assertEqual(self.result(request, x=[[1, 2]], start=[[7, 7]]).tolist(), [[8, 9]])
            self.assertEqual(self.result(request, x=[[1, 2]], start=[[0, 0]]).tolist(), [[9, 11]])

    def test_what_keeps_no_state(self):
        self.assertEqual(self.convert(self.write("b.onnx", recurrent("GRU", 3, 1, "bidirectional")), "LowLatency2"), 0)
        self.assertIn("keeps no state: it reads its input backwards", self.said)
        self.assertIn("no recurrent layer that could keep its state", self.said)
        self.assertEqual(self.convert(self.write("plain.onnx", recurrent("GRU", 3, 1)), "Pruning"), 0)
        self.assertIn("--transform Pruning has no effect", self.said)

    def test_inputs_and_outputs_become_state(self):
        text = "graph (x: f32[2], total: f32[2], n: f32[]) { sum = Add(x, total) m = Add(n, f32[] {1}) y = Multiply(sum, m) return y, sum, m }"
        model = self.write("sum.graft", text)
        request = self.request(model, "MakeStateful[param_res_names={'total':'sum'}]")
        self.assertEqual([p.any_name for p in self.core.read_model(self.path("ir/net.xml")).inputs], ["x", "n"])
        for expected in ([1, 2], [2, 4], [3, 6]):
            self.assertEqual(self.result(request, x=[1, 2], n=0).tolist(), expected)
        request = self.request(model, "MakeStateful[param_res_names={'total':'sum', 'n':'m'}],Pruning")
        for expected in ([1, 2], [4, 8], [9, 18]):
            self.assertEqual(self.result(request, x=[1, 2]).tolist(), expected)

    def test_refusals(self):
        model = self.write("m.graft", "graph (x: f32[2], s: f32[2], d: f32[?], i: i64[2]) { y = Add(x, s) z = Relu(d) w = Abs(i) return y, z, w }")
        for transform, said in (
                ("Other", "expected LowLatency2, MakeStateful or Pruning, got 'Other'"),
                ("LowLatency2[use=1]", "expected LowLatency2[use_const_initializer=...], got 'use'"),
                ("LowLatency2[use_const_initializer=maybe]", "expected use_const_initializer=True or False, got 'maybe'"),
                ("LowLatency2[", "expected matching brackets"), ("LowLatency2]", "expected matching brackets"),
                ("LowLatency2,", "expected the name of a transformation"), ("LowLatency2[x]y", "expected NAME[argument=value]"),
                ("MakeStateful", "expected MakeStateful[param_res_names=...]"),
                ("MakeStateful[param_res_names=s]", "expected {'input':'output'}, got 's'"),
                ("MakeStateful[param_res_names={'s'}]", "expected {'input':'output'}"),
                ("MakeStateful[param_res_names={s:'y'}]", "expected a name in quotes, got 's'"),
                ("MakeStateful[param_res_names={'q':'y'}]", "the model has no input 'q'"),
                ("MakeStateful[param_res_names={'s':'q'}]", "the model has no output 'q'"),
                ("MakeStateful[param_res_names={'d':'z'}]", "its shape is not fixed"),
                ("MakeStateful[param_res_names={'i':'y'}]", "cannot become state: output 'y' is f32[2]"),
                ("MakeStateful[param_res_names={'s':'y','s':'y'}]", "the model has no input 's'")):
            self.assertEqual(self.convert(model, transform), 1, transform)
            self.assertIn(said, self.said, transform)


if __name__ == "__main__":
    unittest.main()
