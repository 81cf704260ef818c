#!/usr/bin/env python3
"""Kaldi models: components and descriptors against their arithmetic frame by frame, both encodings, options, broken files.

  tests/cli/test_kaldi.py --build build [unittest arguments]
"""
import math
import os
import random

from harness import Case, graft, main
from kaldi_writer import I, Ints, Matrix, Pairs, Vector, archive, nnet1, nnet2, nnet3, read_archive

FRAMES = 7


def numbers(count, seed):
    """Values that text and binary files hold exactly."""
    r = random.Random(seed)
    return [r.randint(-64, 64) / 32 for _ in range(count)]


def matrix(rows, columns, seed):
    flat = numbers(rows * columns, seed)
    return Matrix(flat[r * columns:(r + 1) * columns] for r in range(rows))


def vector(count, seed):
    return Vector(numbers(count, seed))


def times(w, x):
    return [sum(a * b for a, b in zip(row, x)) for row in w]


def add(*vectors):
    return [sum(v) for v in zip(*vectors)]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softmax(x):
    e = [math.exp(v - max(x)) for v in x]
    return [v / sum(e) for v in e]


class KaldiCase(Case):
    def features(self, columns, frames=FRAMES):
        return matrix(frames, columns, 5)

    def outputs(self, model, rows, outputs, *more, inputs=()):
        """Runs the model, and again by way of the IR; the matrices by name."""
        self.write("m.mdl", model)
        self.write("in.ark", archive([("utt", rows)]))
        results = []
        for way in ((), ("--through-ir", "--device", "REFERENCE")):
            targets = [a for o in outputs for a in ("--output", "%s=ark:%s" % (o, self.path(o + ".ark")))]
            r = graft("run", self.path("m.mdl"), "--input", "input=ark:" + self.path("in.ark"), *inputs, *targets, *way, *more)
            self.assertEqual(r.status, 0, r.all)
            results.append({o: read_archive(self.path(o + ".ark"))["utt"] for o in outputs})
        for o in outputs:
            self.close(results[0][o], results[1][o], o)
        return results[0]

    def close(self, got, expected, what=""):
        self.assertEqual((len(got), len(got[0])), (len(expected), len(expected[0])), what)
        for t, (a, b) in enumerate(zip(got, expected)):
            if not all(abs(x - y) <= 1e-4 + 1e-4 * abs(y) for x, y in zip(a, b)):
                self.fail("%s, frame %d: %s, expected %s" % (what, t, a, b))

    def same_graphs(self, make):
        """Text and binary of one model give the same IR."""
        found = []
        for binary in (False, True):
            self.write("m.mdl", make(binary))
            r = graft("convert", self.path("m.mdl"), "-o", self.path("ir%d" % binary))
            self.assertEqual(r.status, 0, r.all)
            with open(self.path("ir%d" % binary, "m.xml")) as f, open(self.path("ir%d" % binary, "m.bin"), "rb") as b:
                found.append((f.read().split("<meta_data")[0].split("<rt_info")[0], b.read()))
        self.assertEqual(found[0][1], found[1][1])
        self.assertEqual(found[0][0], found[1][0])


# Component, tokens, and what it makes of one frame.
D = 6
X = matrix(4, 3, 1)
SCALES, SHIFTS, COLUMNS = vector(3, 2), vector(3, 3), [5, 0, 3, 3, 1, 2]
VARIANCE = Vector([0.5, 1.25, 2])
GRADIENT = [("LearningRateFactor", 0.5), ("MaxChange", 0.75), ("LearningRate", 0.001)]


def normalized(x, rms=1.0):
    n = max(sum(v * v for v in x) / len(x) / rms ** 2, 2.0 ** -66)
    return [v / math.sqrt(n) for v in x]


FRAMEWISE = [
    ("affine", "AffineComponent", [("LearningRate", 0.01), ("LinearParams", matrix(4, D, 7)), ("BiasParams", vector(4, 8)), ("IsGradient", False)],
     lambda x: add(times(matrix(4, D, 7), x), vector(4, 8))),
    ("fixed-affine", "FixedAffineComponent", [("LinearParams", matrix(4, D, 7)), ("BiasParams", vector(4, 8))],
     lambda x: add(times(matrix(4, D, 7), x), vector(4, 8))),
    ("linear", "LinearComponent", GRADIENT + [("Params", matrix(2, D, 9)), ("OrthonormalConstraint", -1.0), ("UseNaturalGradient", True), ("RankInOut", I(20), I(80)), ("Alpha", 4.0)],
     lambda x: times(matrix(2, D, 9), x)),
    ("repeated", "RepeatedAffineComponent", GRADIENT + [("NumRepeats", I(2)), ("LinearParams", X), ("BiasParams", vector(4, 4))],
     lambda x: add(times(X, x[:3]), vector(4, 4)) + add(times(X, x[3:]), vector(4, 4))),
    ("block", "BlockAffineComponent", GRADIENT + [("NumBlocks", I(2)), ("LinearParams", X), ("BiasParams", vector(4, 4))],
     lambda x: add(times(X[:2], x[:3]) + times(X[2:], x[3:]), vector(4, 4))),
    ("permute", "PermuteComponent", [("ColumnMap", Ints(COLUMNS))], lambda x: [x[c] for c in COLUMNS]),
    ("fixed-scale", "FixedScaleComponent", [("Scales", vector(D, 2))], lambda x: [a * b for a, b in zip(x, vector(D, 2))]),
    ("fixed-bias", "FixedBiasComponent", [("Bias", vector(D, 2))], lambda x: add(x, vector(D, 2))),
    ("scale-offset", "ScaleAndOffsetComponent", GRADIENT + [("Dim", I(D)), ("Scales", SCALES), ("Offsets", SHIFTS), ("UseNaturalGradient", True), ("Rank", I(20))],
     lambda x: [v * SCALES[i % 3] + SHIFTS[i % 3] for i, v in enumerate(x)]),
    ("element-scale", "PerElementScaleComponent", GRADIENT + [("Params", vector(D, 2))], lambda x: [a * b for a, b in zip(x, vector(D, 2))]),
    ("element-offset", "PerElementOffsetComponent", GRADIENT + [("Offsets", SHIFTS), ("Dim", I(D)), ("UseNaturalGradient", True)],
     lambda x: [v + SHIFTS[i % 3] for i, v in enumerate(x)]),
    ("constant", "ConstantFunctionComponent", [("LearningRate", 0.5), ("InputDim", I(D)), ("Output", SHIFTS), ("IsUpdatable", True), ("UseNaturalGradient", False)], lambda x: SHIFTS),
    ("sum-group", "SumGroupComponent", [("Sizes", Ints([1, 3, 2]))], lambda x: [x[0], sum(x[1:4]), sum(x[4:])]),
    ("sum-block", "SumBlockComponent", [("InputDim", I(D)), ("OutputDim", I(2)), ("Scale", 0.5)],
     lambda x: [0.5 * (x[0] + x[2] + x[4]), 0.5 * (x[1] + x[3] + x[5])]),
    ("product", "ElementwiseProductComponent", [("InputDim", I(D)), ("OutputDim", I(2))], lambda x: [x[0] * x[2] * x[4], x[1] * x[3] * x[5]]),
    ("pnorm", "PnormComponent", [("InputDim", I(D)), ("OutputDim", I(3))], lambda x: [math.hypot(x[2 * i], x[2 * i + 1]) for i in range(3)]),
    ("normalize", "NormalizeComponent", [("InputDim", I(D)), ("TargetRms", 0.5), ("AddLogStddev", True)],
     lambda x: normalized(x, 0.5) + [math.log(math.sqrt(sum(v * v for v in x) / D))]),
    ("normalize-block", "NormalizeComponent", [("InputDim", I(D)), ("BlockDim", I(3)), ("TargetRms", 2.0), ("AddLogStddev", False)],
     lambda x: normalized(x[:3], 2) + normalized(x[3:], 2)),
    ("batch-norm", "BatchNormComponent", [("Dim", I(D)), ("BlockDim", I(3)), ("Epsilon", 0.25), ("TargetRms", 0.5), ("TestMode", False), ("Count", 10.0), ("StatsMean", SHIFTS), ("StatsVar", VARIANCE)],
     lambda x: [(v - SHIFTS[i % 3]) * 0.5 / math.sqrt(VARIANCE[i % 3] + 0.25) for i, v in enumerate(x)]),
    ("dropout", "DropoutComponent", [("Dim", I(D)), ("DropoutProportion", 0.25), ("DropoutPerFrame", True), ("TestMode", False)], lambda x: [0.75 * v for v in x]),
    ("general-dropout", "GeneralDropoutComponent", [("Dim", I(D)), ("BlockDim", I(D)), ("TimePeriod", I(0)), ("DropoutProportion", 0.5), ("Continuous",)], list),
    ("spec-augment", "SpecAugmentTimeMaskComponent", [("Dim", I(D)), ("ZeroedProportion", 0.5), ("TimeMaskMaxFrames", I(4))], list),
    ("clip-gradient", "ClipGradientComponent", [("Dim", I(D)), ("ClippingThreshold", 15.0), ("NormBasedClipping", True), ("NumElementsClipped", I(0)), ("NumElementsProcessed", I(0))], list),
    ("no-op", "NoOpComponent", [("Dim", I(D)), ("BackpropScale", 1.0)], list),
    ("truncation", "BackpropTruncationComponent", [("Dim", I(D)), ("Scale", 0.5), ("ClippingThreshold", 30.0), ("ZeroingThreshold", 15.0), ("ZeroingInterval", I(20)), ("RecurrenceInterval", I(1)),
                                                  ("NumElementsClipped", 0.0), ("NumElementsZeroed", 0.0), ("NumElementsProcessed", 0.0), ("NumZeroingBoundaries", 0.0)], lambda x: [0.5 * v for v in x]),
    ("sigmoid", "SigmoidComponent", [("Dim", I(D)), ("ValueAvg", Vector()), ("DerivAvg", Vector()), ("Count", 0.0)], lambda x: [sigmoid(v) for v in x]),
    ("tanh", "TanhComponent", [("Dim", I(D)), ("ValueAvg", Vector([1, 2])), ("DerivAvg", Vector([1])), ("Count", 3.0), ("SelfRepairScale", 0.00001)], lambda x: [math.tanh(v) for v in x]),
    ("relu", "RectifiedLinearComponent", [("Dim", I(D)), ("ValueAvg", Vector()), ("Count", 0.0)], lambda x: [max(v, 0) for v in x]),
    ("hidden-softmax", "HiddenSoftmax", [("Dim", I(D))], softmax),
    ("nnet1-relu", "Relu", [("Dim", I(D))], lambda x: [max(v, 0) for v in x]),
    ("nnet1-softsign", "Softsign", [("Dim", I(D))], lambda x: [v / (1 + abs(v)) for v in x]),
    ("nnet1-dropout", "Dropout", [("Dim", I(D)), ("DropoutRetention", 0.5)], list),
    ("softsign", "SoftsignComponent", [("Dim", I(D)), ("Count", 0.0)], lambda x: [v / (1 + abs(v)) for v in x]),
    ("soft-hinge", "SoftHingeComponent", [("Dim", I(D)), ("Count", 0.0)], lambda x: [math.log1p(math.exp(v)) for v in x]),
    ("noise", "AdditiveNoiseComponent", [("Dim", I(D)), ("Stddev", 0.5)], list),
    ("affine-preconditioned", "AffineComponentPreconditioned", [("LearningRate", 0.01), ("LinearParams", matrix(4, D, 7)), ("BiasParams", vector(4, 8)), ("Alpha", 4.0), ("MaxChange", 0.0)],
     lambda x: add(times(matrix(4, D, 7), x), vector(4, 8))),
    ("block-preconditioned", "BlockAffineComponentPreconditioned", [("LearningRate", 0.01), ("NumBlocks", I(2)), ("LinearParams", X), ("BiasParams", vector(4, 4)), ("IsGradient", False), ("Alpha", 4.0)],
     lambda x: add(times(X[:2], x[:3]) + times(X[2:], x[3:]), vector(4, 4))),
    ("natural-repeated", "NaturalGradientRepeatedAffineComponent", GRADIENT + [("NumRepeats", I(2)), ("LinearParams", X), ("BiasParams", vector(4, 4))],
     lambda x: add(times(X, x[:3]), vector(4, 4)) + add(times(X, x[3:]), vector(4, 4))),
    ("maxout", "MaxoutComponent", [("InputDim", I(D)), ("OutputDim", I(2))], lambda x: [max(x[:3]), max(x[3:])]),
    ("fixed-linear", "FixedLinearComponent", [("CuMatrix", matrix(2, D, 9))], lambda x: times(matrix(2, D, 9), x)),
    ("softmax", "SoftmaxComponent", [("Dim", I(D)), ("Count", 0.0)], softmax),
    ("log-softmax", "LogSoftmaxComponent", [("Dim", I(D)), ("Count", 0.0)], lambda x: [math.log(v) for v in softmax(x)]),
    ("gru", "GruNonlinearityComponent", GRADIENT + [("CellDim", I(1)), ("RecurrentDim", I(1)), ("w_h", Matrix([[0.5]])), ("SelfRepairTotal", 0.0), ("Count", 0.0)],
     lambda x: (lambda z, r, p, c: [(h := math.tanh(p + 0.5 * r * c)), (1 - z) * h + z * c])(*x[:4])),
    ("output-gru", "OutputGruNonlinearityComponent", GRADIENT + [("CellDim", I(2)), ("w_h", Vector([0.5, -0.25])), ("Count", 0.0)],
     lambda x: (lambda h: h + [(1 - z) * a + z * c for z, a, c in zip(x[:2], h, x[4:])])([math.tanh(p + w * c) for p, w, c in zip(x[2:4], [0.5, -0.25], x[4:])])),
    ("lstm", "LstmNonlinearityComponent", GRADIENT + [("Params", Matrix([[0.5], [-0.5], [0.25]])), ("UseDropout", False), ("Count", 0.0)],
     lambda x: (lambda i, f, g, o, c: [(n := sigmoid(f - 0.5 * c) * c + sigmoid(i + 0.5 * c) * math.tanh(g)), sigmoid(o + 0.25 * n) * math.tanh(n)])(*x[:5])),
    ("composite", "CompositeComponent", [("MaxRowsProcess", I(512)), ("NumComponents", I(2)),
                                         (("FixedScaleComponent", [("Scales", vector(D, 2))]),), (("FixedBiasComponent", [("Bias", vector(D, 3))]),)],
     lambda x: [a * b + c for a, b, c in zip(x, vector(D, 2), vector(D, 3))]),
    ("convolution", "ConvolutionComponent", [("LearningRate", 0.1), ("InputXDim", I(3)), ("InputYDim", I(2)), ("InputZDim", I(1)), ("FiltXDim", I(2)), ("FiltYDim", I(1)), ("FiltXStep", I(1)), ("FiltYStep", I(1)),
                                             ("InputVectorization", I(1)), ("FilterParams", matrix(2, 2, 11)), ("BiasParams", vector(2, 12)), ("IsGradient", False)],
     lambda x: [v for a in range(2) for b in range(2) for v in add(times(matrix(2, 2, 11), [x[2 * a + b], x[2 * (a + 1) + b]]), vector(2, 12))]),
    ("max-pool", "MaxpoolingComponent", [("InputXDim", I(3)), ("InputYDim", I(2)), ("InputZDim", I(1)), ("PoolXSize", I(2)), ("PoolYSize", I(1)), ("PoolZSize", I(1)), ("PoolXStep", I(1)), ("PoolYStep", I(1)), ("PoolZStep", I(1))],
     lambda x: [max(x[2 * a + b], x[2 * a + 2 + b]) for a in range(2) for b in range(2)]),
]
WIDTHS = {"gru": 4, "lstm": 5}  # of the input, where it is not D


def framewise_model(binary):
    config, components = ["input-node name=input dim=%d" % D], []
    for name, type, items, _ in FRAMEWISE:
        source = "input"
        if name in WIDTHS:
            source = name + ".part"
            config.append("dim-range-node name=%s input-node=input dim-offset=0 dim=%d" % (source, WIDTHS[name]))
        config.append("component-node name=%s component=%s input=%s" % (name, name, source))
        config.append("output-node name=out-%s input=%s objective=linear" % (name, name))
        components.append((name, type, items))
    return nnet3(config, components, binary)


def splice_model(binary, ends=True):
    return nnet1([("Splice", 9, 3, [(None, Ints([-1, 0, 2]))]), ("Rescale", 9, 9, [("LearnRateCoef", 0.0), (None, vector(9, 2))]),
                  ("AffineTransform", 4, 9, [("LearnRateCoef", 1.0), ("BiasLearnRateCoef", 1.0), ("MaxNorm", 0.0), (None, matrix(4, 9, 3), vector(4, 4))]),
                  ("Copy", 3, 4, [(None, Ints([4, 1, 1]))]), ("Softmax", 3, 3, [])], binary, ends)


def nnet2_model(binary):
    return nnet2([("SpliceComponent", [("InputDim", I(4)), ("LeftContext", I(1)), ("RightContext", I(2)), ("ConstComponentDim", I(1))]),
                  ("FixedScaleComponent", [("Scales", vector(13, 3))]), ("PermuteComponent", [("Reorder", Ints([12] + list(range(12))))]),
                  ("PowerComponent", [("InputDim", I(13)), ("OutputDim", I(13)), ("Power", 2.0)]), ("ScaleComponent", [("Dim", I(13)), ("Scale", 0.5)])], binary)


class Components(KaldiCase):
    def test_frame_by_frame(self):
        rows = self.features(D)
        got = self.outputs(framewise_model(True), rows, ["out-" + name for name, *_ in FRAMEWISE])
        for name, _, _, compute in FRAMEWISE:
            self.close(got["out-" + name], [compute(x[:WIDTHS.get(name, D)]) for x in rows], name)

    def test_text_and_binary_give_the_same_graph(self):
        self.same_graphs(framewise_model)

    def test_nnet1_with_and_without_end_marks(self):
        rows = self.features(3)
        spliced = [[v for o in (-1, 0, 2) for v in rows[min(max(t + o, 0), FRAMES - 1)]] for t in range(FRAMES)]
        expected = []
        for x in spliced:
            y = add(times(matrix(4, 9, 3), [a * b for a, b in zip(x, vector(9, 2))]), vector(4, 4))
            expected.append(softmax([y[3], y[0], y[0]]))
        for ends in (True, False):
            self.close(self.outputs(splice_model(True, ends), rows, ["output"])["output"], expected, "ends %s" % ends)
        self.same_graphs(splice_model)

    def test_nnet2(self):
        rows = self.features(4)
        expected = []
        for t in range(FRAMES):
            frames = [rows[min(max(t + o, 0), FRAMES - 1)] for o in (-1, 0, 1, 2)]
            x = [v for f in frames for v in f[:3]] + [rows[max(t - 1, 0)][3]]
            x = [a * b for a, b in zip(x, vector(13, 3))]
            expected.append([0.5 * v * v for v in x[1:] + x[:1]])
        self.close(self.outputs(nnet2_model(True), rows, ["output"])["output"], expected)
        self.same_graphs(nnet2_model)


class Time(KaldiCase):
    """Each model against its value at a frame, computed by recursion; None where it cannot be computed."""

    def check(self, config, components, dims, compute, left=0, right=0, frames=FRAMES):
        rows = self.features(dims, frames)

        def frame(t):
            return rows[min(max(t, 0), frames - 1)] if -left <= t < frames + right else None
        config = ["input-node name=input dim=%d" % dims] + config
        for binary in (True, False):
            model = nnet3(config, components, binary, transitions=binary)
            got = self.outputs(model, rows, ["output"])["output"]
            self.close(got, [compute(frame, t) for t in range(frames)], "binary %s" % binary)

    def test_offsets_of_a_tdnn(self):
        w, b = matrix(3, 4, 1), vector(3, 2)
        tdnn = [("t", "TdnnComponent", [("TimeOffsets", Ints([-2, 1])), ("LinearParams", w), ("BiasParams", b), ("OrthonormalConstraint", 0.0), ("UseNaturalGradient", True), ("NumSamplesHistory", 2000.0),
                                        ("AlphaInOut", 4.0, 4.0), ("RankInOut", I(20), I(80))])]
        self.check(["component-node name=t component=t input=Offset(input, 1)", "output-node name=output input=Sum(t, Offset(t, -1))"], tdnn, 2,
                   lambda x, t: add(times(w, x(t - 1) + x(t + 2)), b, times(w, x(t - 2) + x(t + 1)), b), 2, 2)

    def test_short_utterances(self):
        for frames in (1, 2, 3):
            self.check(["output-node name=output input=Append(Offset(input, -4), IfDefined(Offset(input, -6)), Offset(input, 3))"], [], 2,
                       lambda x, t: x(t - 4) + (x(t - 6) or [0, 0]) + x(t + 3), 4, 3, frames)

    def test_descriptors(self):
        self.check(["output-node name=output input=Append(Round(input, 3), Switch(input, Scale(2.0, input)), Const(0.5, 2), ReplaceIndex(input, t, 0))"], [], 2,
                   lambda x, t: x(t - t % 3) + [v * (1 + t % 2) for v in x(t)] + [0.5, 0.5] + x(0), 2)

    def test_splice_max(self):
        self.check(["component-node name=s component=s input=input", "output-node name=output input=s"], [("s", "SpliceMaxComponent", [("Dim", I(2)), ("Context", Ints([-1, 0, 2]))])], 2,
                   lambda x, t: [max(v) for v in zip(x(t - 1), x(t), x(t + 2))], 1, 2)

    def test_failover(self):
        self.check(["output-node name=output input=Failover(Offset(input, 2), input)"], [], 2, lambda x, t: x(t + 2) or x(t))

    def test_recurrence_with_a_delay_and_context(self):
        w = matrix(3, 5, 1)

        def compute(x, t, known={}):
            def r(t):
                if x(t) is None:
                    return None
                before = r(t - 3) or [0, 0, 0]
                return [math.tanh(v) for v in times(w, x(t) + before)]
            return add(r(t - 1), r(t + 1))
        self.check(["component-node name=a component=a input=Append(input, IfDefined(Offset(h, -3)))", "component-node name=h component=h input=a",
                    "output-node name=output input=Sum(Offset(h, -1), Offset(h, 1))"],
                   [("a", "LinearComponent", [("Params", w)]), ("h", "TanhComponent", [("Dim", I(3)), ("Count", 0.0)])], 2, compute, 1, 1)

    def test_statistics_with_periods(self):
        def compute(x, t):
            t -= t % 2
            block = [s for s in range(t - 2, t + 3, 2)]
            used = [x(s + k - 1) for s in block for k in range(2) if x(s + k - 1) is not None]
            n = len(used)
            mean = [sum(c) / n for c in zip(*used)]
            square = [sum(v * v for v in c) / n for c in zip(*used)]
            return [math.log(n)] + mean + [math.sqrt(max(s - m * m, 1e-5)) for s, m in zip(square, mean)]
        self.check(["component-node name=e component=e input=Offset(input, -1)", "component-node name=p component=p input=e", "output-node name=output input=Round(p, 2)"],
                   [("e", "StatisticsExtractionComponent", [("InputDim", I(2)), ("InputPeriod", I(1)), ("OutputPeriod", I(2)), ("IncludeVarinance", True)]),
                    ("p", "StatisticsPoolingComponent", [("InputDim", I(5)), ("InputPeriod", I(2)), ("LeftContext", I(2)), ("RightContext", I(2)), ("NumLogCountFeatures", I(1)), ("OutputStddevs", True), ("VarianceFloor", 1e-5)])],
                   2, compute)

    def test_time_height_convolution_with_zero_padding(self):
        w, b = matrix(3, 12, 1), vector(3, 2)
        offsets = [(t, h) for t in (-1, 0, 1) for h in (-1, 1)]

        def compute(x, t):
            out = []
            for h in range(2):
                patch = []
                for dt, dh in offsets:
                    row, at = x(t + dt), 2 * h + dh
                    patch += row[2 * at:2 * at + 2] if row is not None and 0 <= at < 4 else [0, 0]
                out += add(times(w, patch), b)
            return out
        self.check(["component-node name=c component=c input=input", "output-node name=output input=c"],
                   [("c", "TimeHeightConvolutionComponent", GRADIENT + [("Model",), ("ConvolutionModel",), ("NumFiltersIn", I(2)), ("NumFiltersOut", I(3)), ("HeightIn", I(4)), ("HeightOut", I(2)), ("HeightSubsampleOut", I(2)),
                                                                        ("Offsets", Pairs(offsets)), ("RequiredTimeOffsets", Ints([0])), ("/ConvolutionModel",), ("LinearParams", w), ("BiasParams", b), ("MaxMemoryMb", 200.0)])], 8, compute)

    def test_attention_over_missing_frames(self):
        key, value, context = 1, 2, 3

        def compute(x, t):
            out = []
            for head in range(2):
                part = [(x(t + o) or [0] * 14)[7 * head:7 * head + 7] for o in (-2, 0, 2)]
                query = part[1][3:]
                weights = softmax([0.5 * query[0] * p[0] + c for p, c in zip(part, query[1:])])
                out += [sum(w * p[1 + i] for w, p in zip(weights, part)) for i in range(value)] + weights
            return out
        self.check(["component-node name=c component=c input=input", "output-node name=output input=c"],
                   [("c", "RestrictedAttentionComponent", [("NumHeads", I(2)), ("KeyDim", I(key)), ("ValueDim", I(value)), ("NumLeftInputs", I(1)), ("NumRightInputs", I(1)), ("TimeStride", I(2)), ("NumLeftInputsRequired", I(0)),
                                                           ("NumRightInputsRequired", I(0)), ("OutputContext", True), ("KeyScale", 0.5), ("StatsCount", 0.0), ("EntropyStats", Vector()), ("PosteriorStats", Matrix([[1.0]]))])], 14, compute)


class Options(KaldiCase):
    def model(self):
        return nnet1([("AffineTransform", 3, 2, [(None, matrix(3, 2, 1), vector(3, 2))]), ("Softmax", 3, 3, [])], True)

    def logits(self, rows):
        return [add(times(matrix(3, 2, 1), x), vector(3, 2)) for x in rows]

    def converted(self, *options):
        self.write("m.nnet", self.model())
        r = graft("convert", self.path("m.nnet"), "-o", self.path("ir"), *options)
        self.assertEqual(r.status, 0, r.all)
        rows = self.features(2)
        self.write("in.ark", archive([("utt", rows)]))
        r = graft("run", self.path("ir", "m.xml"), "--input", "input=ark:" + self.path("in.ark"), "--output", "output=ark:" + self.path("out.ark"))
        self.assertEqual(r.status, 0, r.all)
        return rows, read_archive(self.path("out.ark"))["utt"]

    def test_without_softmax(self):
        rows, got = self.converted("--remove_output_softmax", "--framework", "kaldi")
        self.close(got, self.logits(rows))

    def test_counts(self):
        counts = self.write("counts", "[ 10 0 30 ]\n")
        prior = [math.log(10 / 40), math.log(1e-10 / 40) + 3.4028234e38 / 2, math.log(30 / 40)]
        rows, got = self.converted("--remove_output_softmax", "--counts", counts)
        for a, b in zip(got, self.logits(rows)):
            for i in (0, 2):
                self.assertAlmostEqual(a[i], b[i] - prior[i], 4)
            self.assertLess(a[1], -1e38)
        # A softmax at the end sees the values without the priors.
        rows, got = self.converted("--counts", self.write("counts", " [ 10 20 10 ]"))
        prior = [math.log(0.25), math.log(0.5), math.log(0.25)]
        self.close(got, [softmax([v - p for v, p in zip(x, prior)]) for x in self.logits(rows)])

    def test_errors(self):
        self.write("m.nnet", self.model())
        two = nnet3(["input-node name=input dim=2", "output-node name=a input=input", "output-node name=b input=input"], [], True)
        self.write("two.mdl", two)
        for files, options, message in ((["m.nnet"], ["--counts", "missing"], "file not found"), (["m.nnet"], ["--counts", self.write("c", "[ 1 2 ] 3")], "expected one line"),
                                        (["two.mdl"], ["--remove_output_softmax"], "requires a model with one output, got 2: a, b"),
                                        (["m.nnet"], ["--framework", "caffe"], "--framework: expected caffe, got the kaldi model")):
            r = graft("convert", *[self.path(f) for f in files], "-o", self.path("ir"), *options)
            self.assertNotEqual(r.status, 0, r.all)
            self.assertIn(message, r.err)


GOOD = ["input-node name=input dim=2", "component-node name=a component=a input=input", "output-node name=output input=a"]
SCALE = ("a", "FixedScaleComponent", [("Scales", Vector([1, 2]))])


def broken_files():
    """Files and a part of the message."""
    good = nnet3(GOOD, [SCALE], True)
    config = [
        (["nonsense name=x"], "expected input-node, component-node, dim-range-node or output-node, got 'nonsense'"), (["component-node name=a"], "expected a value for 'component'"),
        (["component-node name=a component=b input=input"], "uses component 'b', which the file does not have"), (["component-node name=a component=a input=nothing"], "unknown node 'nothing'"),
        (["component-node name=a component=a input=Append(input"], "expected ')', got 'its end'"), (["component-node name=a component=a input=Offset(input)"], "expected ',', got ')'"),
        (["component-node name=a component=a input=Offset(input, x)"], "expected an integer"), (["component-node name=a component=a input=Offset(input, 99999999)"], "expected an integer"),
        (["component-node name=a component=a input=Offset(input, 1, 1)"], "an offset of the index x"), (["component-node name=a component=a input=Scale(x, input)"], "expected a number, got 'x'"),
        (["component-node name=a component=a input=Round(input, 0)"], "expected an integer of 1"), (["component-node name=a component=a input=ReplaceIndex(input, n, 0)"], "expected the index t or x, got 'n'"),
        (["component-node name=a component=a input=Twist(input)"], "unknown expression 'Twist'"), (["component-node name=a component=a input=input)"], "expected the end of the descriptor"),
        (["component-node name=a component=a input=" + "Sum(" * 100], "nested more than"), (["component-node name=input component=a input=input"], "duplicate node 'input'"),
        (["component-node name=a component=a input=a"], "depend on each other without IfDefined"), (["component-node name=a component=a input=Offset(a, -1)"], "depend on each other without IfDefined"),
        (["dim-range-node name=a input-node=input dim-offset=-1 dim=2"], "expected 'dim-offset'"), (["dim-range-node name=a input-node=input dim-offset=0 dim=0"], "expected 'dim'"),
        (["dim-range-node name=a input-node=nothing dim-offset=0 dim=1"], "unknown node 'nothing'"), (["input-node name=a dim=0"], "expected 'dim'"), (["input-node name"], "expected NAME=VALUE"),
    ]
    files = [(nnet3([GOOD[0]] + lines + [GOOD[2]], [SCALE], True), message) for lines, message in config]
    files += [
        (nnet3(GOOD[:2], [SCALE], True), "the model has no output-node"), (nnet3(GOOD, [SCALE, SCALE], True), "duplicate component 'a'"), (good[:-20], "expected"), (good[:60], "expected"),
        (good.replace(b"<Nnet3>", b"<Nnet4>"), "expected the token <Nnet>, <Nnet3> or <TransitionModel>, got <Nnet4>"), (good.replace(b"</Nnet3>", b"</Nnet4>"), "expected the token </Nnet3>"),
        (good.replace(b"<NumComponents>", b"<NumComponent>"), "expected the token <NumComponents>, got <NumComponent>"), (good.replace(b"FV ", b"FX "), "expected a value of <Scales>"),
        (good.replace(b"FV \4\2\0\0\0", b"FV \4\xff\xff\xff\x7f"), "expected a vector of 2147483647 values"), (good.replace(b"FV \4\2\0\0\0", b"FV \4\xff\xff\xff\xff"), "expected a size of at least 0"),
        (good.replace(b"FV \4\2", b"FV \3\2"), "expected an integer of 4 bytes"), (b"\0B<TransitionModel> ", "expected the token </TransitionModel>"), (b"\0B<Nnet> </Nnet> ", "the network has no components"),
        (b"\0B<Nnet> <Sigmoid> ", "expected"), (b"<Nnet> <Sigmoid> 3 x </Nnet> ", "expected"), (b"<Nnet> <AffineTransform> 2 2 [ 1 2\n 3 ] </Nnet> ", "expected"),
        (b"<Nnet> <AffineTransform> 2 2 [\n 1 2\n 3 ]\n [ 1 2 ] </Nnet> ", "expected a row of 2 values, got 1"), (b"<Nnet> <AffineTransform> 2 2 [ 1 2", "expected ']'"),
        (b"<Nnet> <ParallelComponent> 2 2 <NestedNnetCount> 1 <NestedNnet> 1 <Nnet> </Nnet> </ParallelComponent> </Nnet> ", "the network has no components"),
        (nnet3(GOOD, [("a", "TdnnComponent", [("TimeOffsets", Ints([])), ("LinearParams", matrix(2, 2, 1))])], True), "expected 1 to 4096 time offsets, got 0"),
        (nnet3(GOOD, [("a", "StatisticsPoolingComponent", [("InputDim", I(3)), ("InputPeriod", I(0)), ("LeftContext", I(1)), ("RightContext", I(1))])], True), "expected <InputPeriod> of at least 1, got 0"),
        (nnet3(GOOD, [("a", "RestrictedAttentionComponent", [("NumLeftInputs", I(-1)), ("NumRightInputs", I(1))])], True), "expected 0 to"),
        (nnet3(GOOD, [("a", "FixedScaleComponent", [("Scales", Vector([1, 2, 3]))])], True), "while importing layer 'a'"),
        (nnet3(GOOD, [("a", "CompositeComponent", [("NumComponents", I(0))])], True), "expected at least one component in <CompositeComponent>, got <NumComponents> 0"),
        (nnet3(GOOD, [("a", "FooComponent", [("NumComponents", I(-1))])], True), "expected at least one component in <FooComponent>, got <NumComponents> -1"),
        (nnet3(GOOD, [("a", "SumGroupComponent", [("Sizes", Ints([1, 0]))])], True), "expected sizes of 1"),
        # A layer without weights, whose list of columns would take 128 MB.
        (b"<Nnet> <MaxPoolingComponent> 16777216 16777216 <PoolSize> 1 <PoolStep> 1 <PoolStride> 1 </Nnet> ", "expected patches of 1 to 1048576 values"),
    ]
    return files


class Broken(KaldiCase):
    def test_broken_files(self):
        files = broken_files()
        self.assertGreaterEqual(len(files), 40)
        for i, (content, message) in enumerate(files):
            path = self.write("b%d.mdl" % i, content)
            r = graft("explain", path)
            self.assertEqual(r.status, 2, (i, message, r.all))
            self.assertIn(message, r.all, i)

    def test_an_unknown_component_is_reported(self):
        self.write("m.mdl", nnet3(GOOD, [("a", "TwistComponent", [("Angle", 0.5), ("Params", Vector([1, 2]))])], True))
        r = graft("convert", self.path("m.mdl"), "-o", self.path("ir"))
        self.assertEqual(r.status, 2, r.all)
        for word in ("TwistComponent", "Angle", "graft new"):
            self.assertIn(word, r.all)


if __name__ == "__main__":
    main()
