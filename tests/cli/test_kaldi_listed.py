#!/usr/bin/env python3
"""Every import rule for Kaldi has a case: the components of nnet1, those without an input, and the list itself.

  tests/cli/test_kaldi_listed.py --build build [unittest arguments]
"""
import json
import math
import re

import test_kaldi
import test_kaldi_streaming
from harness import graft, main
from kaldi_writer import I, Ints, Matrix, Writer, nnet1, nnet3
from test_kaldi import D, GRADIENT, KaldiCase, add, matrix, sigmoid, softmax, times, vector


def framewise(compute):
    return lambda rows: [compute(x) for x in rows]


def lstm(weights, clip=50):
    """Of nnet1: gates g, i, f, o with peepholes from the cell, and a projection of the output."""
    w_x, w_r, bias, peep_i, peep_f, peep_o, projection = weights
    cells, outputs = len(peep_i), len(projection)

    def run(rows):
        h, c, out = [0.0] * outputs, [0.0] * cells, []
        for x in rows:
            gates = add(times(w_x, x), times(w_r, h), bias)
            g, i, f, o = (gates[k * cells:(k + 1) * cells] for k in range(4))
            before = c
            c = []
            for k in range(cells):
                v = math.tanh(g[k]) * sigmoid(i[k] + before[k] * peep_i[k]) + before[k] * sigmoid(f[k] + before[k] * peep_f[k])
                c.append(min(max(v, -clip), clip))
            h = times(projection, [math.tanh(c[k]) * sigmoid(o[k] + c[k] * peep_o[k]) for k in range(cells)])
            out.append(h)
        return out
    return run


def lstm_weights(seed, cells=3, outputs=2, inputs=D):
    return [matrix(4 * cells, inputs, seed), matrix(4 * cells, outputs, seed + 1), vector(4 * cells, seed + 2), vector(cells, seed + 3), vector(cells, seed + 4),
            vector(cells, seed + 5), matrix(outputs, cells, seed + 6)]


def blstm(rows):
    forward, backward = lstm(lstm_weights(20))(rows), lstm(lstm_weights(40))(rows[::-1])[::-1]
    return [a + b for a, b in zip(forward, backward)]


def recurrent(rows):
    h, out = [0.0] * 3, []
    for x in rows:
        h = [math.tanh(v) for v in add(times(matrix(3, D, 1), x), times(matrix(3, 3, 2), h), vector(3, 3))]
        out.append(h)
    return out


def convolution(x):
    """Two spliced frames of three columns each, patches of two columns."""
    patches = [[x[p + s * 3 + d] for s in range(2) for d in range(2)] for p in range(2)]
    return [v for patch in patches for v in add(times(matrix(4, 4, 1), patch), vector(4, 2))]


def pools(x):
    """Three parts of two columns, two neighboring ones at a time."""
    return [[x[(q + r) * 2 + c] for r in range(2)] for q in range(2) for c in range(2)]


def norm(x):
    length = math.sqrt(sum(v * v for v in x))
    return [v / length for v in x]


def unnamed(*values):
    return [(None, v) for v in values]


PATCHES = [("PatchDim", I(2)), ("PatchStep", I(1)), ("PatchStride", I(3))]
POOLS = [("PoolSize", I(2)), ("PoolStep", I(1)), ("PoolStride", I(2))]
# Component of nnet1, its output dimension, tokens, and what it makes of an utterance.
NNET1 = [
    ("AffineTransform", 4, unnamed(matrix(4, D, 1), vector(4, 2)), framewise(lambda x: add(times(matrix(4, D, 1), x), vector(4, 2)))),
    ("LinearTransform", 4, [("LearnRateCoef", 0.5)] + unnamed(matrix(4, D, 1)), framewise(lambda x: times(matrix(4, D, 1), x))),
    ("AddShift", D, [("LearnRateCoef", 0.0)] + unnamed(vector(D, 1)), framewise(lambda x: add(x, vector(D, 1)))),
    ("Rescale", D, [("LearnRateCoef", 0.0)] + unnamed(vector(D, 1)), framewise(lambda x: [a * b for a, b in zip(x, vector(D, 1))])),
    ("Sigmoid", D, [], framewise(lambda x: [sigmoid(v) for v in x])),
    ("Tanh", D, [], framewise(lambda x: [math.tanh(v) for v in x])),
    ("Softmax", D, [], framewise(softmax)),
    ("BlockSoftmax", D, unnamed(Ints([2, 4])), framewise(lambda x: softmax(x[:2]) + softmax(x[2:]))),
    ("ParametricRelu", D, [("AlphaLearnRateCoef", 0.0), ("BetaLearnRateCoef", 1.0)] + unnamed(vector(D, 1), vector(D, 2)),
     framewise(lambda x: [v * (a if v > 0 else b) for v, a, b in zip(x, vector(D, 1), vector(D, 2))])),
    ("LengthNormComponent", D, [], framewise(norm)),
    ("ConvolutionalComponent", 8, PATCHES + [("LearnRateCoef", 1.0), ("Filters", matrix(4, 4, 1)), ("Bias", vector(4, 2))], framewise(convolution)),
    ("MaxPoolingComponent", 4, POOLS, framewise(lambda x: [max(p) for p in pools(x)])),
    ("AveragePoolingComponent", 4, POOLS, framewise(lambda x: [sum(p) / 2 for p in pools(x)])),
    ("LstmProjected", 2, [("CellDim", I(3)), ("CellClip", 0.5)] + unnamed(*lstm_weights(20)), lstm(lstm_weights(20), 0.5)),
    ("LstmProjectedStreams", 2, [("CellDim", I(3)), ("ClipGradient", 5.0)] + unnamed(*lstm_weights(20)), lstm(lstm_weights(20))),
    ("BlstmProjected", 4, [("CellDim", I(3))] + unnamed(*lstm_weights(20), *lstm_weights(40)), blstm),
    ("BlstmProjectedStreams", 4, [("CellDim", I(3))] + unnamed(*lstm_weights(20), *lstm_weights(40)), blstm),
    ("RecurrentComponent", 3, unnamed(matrix(3, D, 1), matrix(3, 3, 2), vector(3, 3)), recurrent),
]


def parallel(binary):
    """A ParallelComponent: each network has its part of the columns."""
    w = Writer(binary).token("Nnet").token("ParallelComponent").value(I(5)).value(I(D)).token("NestedNnetCount").value(I(2))
    chains = [[("AffineTransform", 3, 2, unnamed(matrix(3, 2, 1), vector(3, 2))), ("Tanh", 3, 3, [])], [("Copy", 2, 4, unnamed(Ints([4, 1])))]]
    for i, chain in enumerate(chains):
        w.token("NestedNnet").value(I(i + 1)).raw(nnet1(chain, binary)[2 if binary else 0:])
    return w.raw("</ParallelComponent> <!EndOfComponent> </Nnet> ").out


# ---- nnet2 and nnet3 ----

def appended(x):
    """The columns of the two spliced frames alternate."""
    patches = [[x[(p + d) * 2 + s] for s in range(2) for d in range(2)] for p in range(2)]
    return [v for patch in patches for v in add(times(matrix(4, 4, 1), patch), vector(4, 2))]


AFFINE = [("LinearParams", matrix(4, D, 7)), ("BiasParams", vector(4, 8))]
FRAMEWISE = [
    ("natural-affine", "NaturalGradientAffineComponent", GRADIENT + AFFINE + [("RankIn", I(20)), ("RankOut", I(80)), ("UpdatePeriod", I(4)), ("NumSamplesHistory", 2000.0), ("Alpha", 4.0)],
     lambda x: add(times(matrix(4, D, 7), x), vector(4, 8))),
    ("online-affine", "AffineComponentPreconditionedOnline", [("LearningRate", 0.01)] + AFFINE + [("RankIn", I(20)), ("MaxChangePerSample", 0.1)],
     lambda x: add(times(matrix(4, D, 7), x), vector(4, 8))),
    ("natural-scale", "NaturalGradientPerElementScaleComponent", GRADIENT + [("Params", vector(D, 2)), ("Rank", I(2)), ("UpdatePeriod", I(4))], lambda x: [a * b for a, b in zip(x, vector(D, 2))]),
    ("convolution-1d", "Convolutional1dComponent", [("LearningRate", 0.1)] + PATCHES + [("AppendedConv", True), ("FilterParams", matrix(4, 4, 1)), ("BiasParams", vector(4, 2)), ("IsGradient", False)], appended),
    ("max-pool-2", "MaxpoolingComponent", [("InputDim", I(D)), ("OutputDim", I(2)), ("PoolSize", I(3)), ("PoolStride", I(2))], lambda x: [max(x[0::2]), max(x[1::2])]),
    # Without an input: the descriptor is the node itself, as in the configurations of Kaldi's scripts.
    ("constant", "ConstantComponent", GRADIENT + [("Output", vector(3, 5)), ("IsUpdatable", True), ("UseNaturalGradient", True)], lambda x: vector(3, 5)),
    ("mask", "DropoutMaskComponent", [("OutputDim", I(3)), ("DropoutProportion", 0.25), ("TestMode", True)], lambda x: [0.75] * 3),
    ("continuous-mask", "DropoutMaskComponent", [("OutputDim", I(2)), ("DropoutProportion", 0.25), ("Continuous",), ("TestMode", True)], lambda x: [1.0] * 2),
]
CONSTANTS = {"constant", "mask", "continuous-mask"}


def framewise_model(binary):
    config, components = ["input-node name=input dim=%d" % D], []
    for name, type, items, _ in FRAMEWISE:
        config.append("component-node name=%s component=%s input=%s" % (name, name, name if name in CONSTANTS else "input"))
        config.append("output-node name=out-%s input=%s" % (name, name))
        components.append((name, type, items))
    return nnet3(config, components, binary)


def masked_lstm(binary):
    """Scales of the gates i, f and o from a mask, in a recurrence, and a constant at another time beside it."""
    config = ["input-node name=input dim=4", "component-node name=mask component=mask input=mask", "component-node name=zero component=zero input=zero",
              "component-node name=n component=n input=Append(Offset(input, 1), IfDefined(Offset(c, -1)), mask)",
              "dim-range-node name=c input-node=n dim-offset=0 dim=1", "output-node name=output input=Append(Offset(n, -1), Offset(zero, 2))"]
    components = [("mask", "DropoutMaskComponent", [("OutputDim", I(3)), ("DropoutProportion", 0.5), ("TestMode", True)]),
                  ("zero", "ConstantComponent", [("LearningRate", 0.0), ("Output", vector(2, 1)), ("IsUpdatable", False), ("UseNaturalGradient", False)]),
                  ("n", "LstmNonlinearityComponent", GRADIENT + [("Params", Matrix([[0.5], [-0.5], [0.25]])), ("UseDropout", True), ("Count", 0.0)])]
    return nnet3(config, components, binary)


def masked_values(rows):
    c, values = 0.0, []
    for i, f, g, o in rows:
        before = c
        c = 0.5 * sigmoid(f - 0.5 * before) * before + 0.5 * sigmoid(i + 0.5 * before) * math.tanh(g)
        values.append([c, 0.5 * sigmoid(o + 0.25 * c) * math.tanh(c)])
    return values


def time_models():
    """Those of the tests with time offsets, which are not run here."""
    models = []

    class Collected(test_kaldi.Time):
        def check(self, config, components, dims, *rest, **more):
            models.append(nnet3(["input-node name=input dim=%d" % dims] + config, components, True))
    for name in dir(Collected):
        if name.startswith("test_"):
            getattr(Collected(name), name)()
    return models


def cases():
    """Models whose results the tests compare with another computation, and options."""
    models = [test_kaldi.framewise_model(True), test_kaldi.splice_model(True), test_kaldi.nnet2_model(True), framewise_model(True), parallel(True), masked_lstm(True)]
    models += [nnet1([(type, outputs, D, items)], True) for type, outputs, items, _ in NNET1] + time_models()
    yield from ((m, []) for m in models)
    yield from ((m, ["--streaming"]) for m in test_kaldi_streaming.nets().values())


class Listed(KaldiCase):
    def test_nnet1(self):
        rows = self.features(D)
        for type, outputs, items, compute in NNET1:
            with self.subTest(type):
                def model(binary, type=type, outputs=outputs, items=items):
                    return nnet1([(type, outputs, D, items)], binary)
                self.close(self.outputs(model(True), rows, ["output"])["output"], compute(rows), type)
                self.same_graphs(model)

    def test_parallel(self):
        rows = self.features(D)
        expected = [[math.tanh(v) for v in add(times(matrix(3, 2, 1), x[:2]), vector(3, 2))] + [x[5], x[2]] for x in rows]
        self.close(self.outputs(parallel(True), rows, ["output"])["output"], expected)
        self.same_graphs(parallel)

    def test_nnet3(self):
        rows = self.features(D)
        got = self.outputs(framewise_model(True), rows, ["out-" + name for name, *_ in FRAMEWISE])
        for name, _, _, compute in FRAMEWISE:
            self.close(got["out-" + name], [compute(x) for x in rows], name)
        self.same_graphs(framewise_model)

    def test_masked_lstm(self):
        rows = matrix(7, 4, 5)
        expected = [v + vector(2, 1) for v in masked_values(rows)]
        self.close(self.outputs(masked_lstm(True), rows, ["output"])["output"], expected)
        self.close(self.outputs(masked_lstm(True), rows, ["output"], "--chunk", "3")["output"], expected)

    def test_every_rule_has_a_case(self):
        r = graft("ops", "--framework", "kaldi", "--json")
        self.assertEqual(r.status, 0, r.all)
        missing = {rule["type"] for rule in json.loads(r.out)}
        self.assertGreaterEqual(len(missing), 99)
        for content, options in cases():
            r = graft("convert", self.write("m.mdl", content), "-o", self.path("ir"), "--log_level", "DEBUG", *options)
            self.assertEqual(r.status, 0, r.all)
            missing -= set(re.findall(r"^debug: layer '[^']*' \(([^()]*)\)", r.all, re.M))
        self.assertEqual(sorted(missing), [], "rules without a case")


if __name__ == "__main__":
    main()
