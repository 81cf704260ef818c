#!/usr/bin/env python3
"""Kaldi models in chunks of an utterance: the results are those of whole utterances, with variables and with --remove_memory.

  tests/cli/test_kaldi_streaming.py --build build [unittest arguments]
"""
import json
import math
import os
import struct
import xml.etree.ElementTree as ET

from harness import graft, main, read_npy
from kaldi_writer import I, Ints, Pairs, archive, nnet1, nnet3, read_archive
from test_kaldi import GRADIENT, KaldiCase, matrix, vector

LINEAR = "LinearComponent"


def linear(name, rows, columns, seed):
    return (name, LINEAR, [("Params", matrix(rows, columns, seed))])


def tanh(name, dim):
    return (name, "TanhComponent", [("Dim", I(dim)), ("Count", 0.0)])


def lstm1(cells, out, columns):
    values = [matrix(4 * cells, columns, 1), matrix(4 * cells, out, 2), vector(4 * cells, 3), vector(cells, 4), vector(cells, 5), vector(cells, 6), matrix(out, cells, 7)]
    return ("LstmProjected", out, columns, [("CellDim", I(cells)), ("CellClip", 50.0)] + [(None, v) for v in values])


TDNN = [("t", "TdnnComponent", [("TimeOffsets", Ints([-2, 1])), ("LinearParams", matrix(3, 4, 1)), ("BiasParams", vector(3, 2))]),
        ("u", "TdnnComponent", [("TimeOffsets", Ints([-3, 0, 3])), ("LinearParams", matrix(2, 9, 3)), ("BiasParams", vector(2, 4))])]


def npy(type, dims, values):
    descr, code = {"f32": ("<f4", "f"), "i32": ("<i4", "i")}[type]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (descr, "".join("%d, " % d for d in dims))
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%d%s" % (len(values), code), *values)


INPUT = "input-node name=input dim=2"


def nets():
    """name -> a model for utterances of two columns."""
    models = {
        "tdnn": nnet3([INPUT, "component-node name=t component=t input=Offset(input, 1)", "component-node name=u component=u input=t",
                       "output-node name=output input=Append(u, Offset(t, -4), Offset(input, 2))"], TDNN, True),
        # Only earlier frames: nothing is delayed. Only later ones: the results lag, nothing is before the utterance.
        "earlier": nnet3([INPUT, "output-node name=output input=Append(Offset(input, -3), Offset(input, -1))"], [], True),
        "later": nnet3([INPUT, "component-node name=a component=a input=Offset(input, 2)", "output-node name=output input=Append(Offset(a, 1), Offset(input, 3))"], [linear("a", 3, 2, 1)], True),
        "two outputs": nnet3([INPUT, "output-node name=output input=Offset(input, -2)", "output-node name=other input=Append(input, Offset(input, 2))"], [], True),
        # An optional input is zero before its first frame, however the results before that look.
        "optional": nnet3([INPUT, "component-node name=t component=t input=input", "component-node name=n component=n input=t",
                           "output-node name=output input=Append(n, IfDefined(Offset(n, -2)), IfDefined(Offset(input, -6)))"],
                          [TDNN[0], ("n", "LengthNormComponent", [("Dim", I(3))])], True),
        "round": nnet3([INPUT, "component-node name=t component=t input=input",
                        "output-node name=output input=Append(Round(Offset(t, 1), 3), Round(input, 4), Switch(input, Scale(2.0, input), Offset(input, 1)))"], [TDNN[0]], True),
        "failover": nnet3([INPUT, "output-node name=output input=Failover(Offset(input, -2), Scale(0.5, input))"], [], True),
        "constant": nnet3([INPUT, "output-node name=output input=Append(Const(0.5, 2), Sum(input, Const(1.0, 2)), Offset(input, -1))"], [], True),
        # The recurrence starts with the first frame that it can be computed for, with a state of zeros.
        "recurrence": nnet3([INPUT, "component-node name=t component=t input=input", "component-node name=a component=a input=Append(t, IfDefined(Offset(h, -3)), IfDefined(Offset(h, -1)))",
                             "component-node name=h component=h input=a", "output-node name=output input=Append(Offset(h, -1), Offset(h, 2))"],
                            [TDNN[0], linear("a", 2, 7, 5), tanh("h", 2)], True),
        "two recurrences": nnet3([INPUT, "component-node name=a component=a input=Append(Offset(input, 1), IfDefined(Offset(a, -1)))",
                                  "component-node name=b component=b input=Append(Offset(a, -2), IfDefined(Offset(b, -2)))", "output-node name=output input=Append(a, Offset(b, 3))"],
                                 [linear("a", 2, 4, 5), linear("b", 2, 4, 6)], True),
        "nnet1 lstm": nnet1([("Splice", 6, 2, [(None, Ints([-2, 0, 1]))]), lstm1(3, 2, 6), ("Sigmoid", 2, 2, [])], True),
        "nnet1 lstm of streams": nnet1([("LstmProjectedStreams",) + lstm1(3, 2, 2)[1:]], True),
        "nnet1 recurrent": nnet1([("AddShift", 2, 2, [(None, vector(2, 1))]), ("Splice", 4, 2, [(None, Ints([0, 3]))]),
                                  ("RecurrentComponent", 3, 4, [(None, matrix(3, 4, 2), matrix(3, 3, 3), vector(3, 4))])], True),
        "convolution": nnet3([INPUT, "component-node name=c component=c input=input", "output-node name=output input=Offset(c, 1)"],
                             [("c", "TimeHeightConvolutionComponent", GRADIENT + [
                                 ("Model",), ("ConvolutionModel",), ("NumFiltersIn", I(1)), ("NumFiltersOut", I(2)), ("HeightIn", I(2)), ("HeightOut", I(2)), ("HeightSubsampleOut", I(1)),
                                 ("Offsets", Pairs([(-2, 0), (0, -1), (0, 0), (1, 1)])), ("RequiredTimeOffsets", Ints([0, 1])), ("/ConvolutionModel",), ("LinearParams", matrix(2, 4, 1)), ("BiasParams", vector(2, 2)), ("MaxMemoryMb", 200.0)])], True),
    }
    return models


class StreamingCase(KaldiCase):
    def setUp(self):
        super().setUp()
        self.rows = {"long": matrix(23, 2, 1), "one": matrix(1, 2, 2), "short": matrix(5, 2, 3)}
        self.feats = self.write("in.ark", archive(list(self.rows.items())))

    def run_model(self, model, *more, outputs=("output",), inputs=()):
        targets = [a for i, o in enumerate(outputs) for a in ("--output", "%s=ark:%s" % (o, self.path("out%d.ark" % i)))]
        r = graft("run", model, "--input", "input=ark:" + self.feats, *inputs, *targets, *more)
        self.assertEqual(r.status, 0, r.all)
        return [read_archive(self.path("out%d.ark" % i)) for i in range(len(outputs))]

    def same(self, got, expected, what):
        for a, b in zip(got, expected):
            self.assertEqual(list(a), list(b))
            for key in b:
                self.close(a[key], b[key], "%s, utterance %s" % (what, key))

    def convert(self, model, *options):
        r = graft("convert", model, "-o", self.path("ir"), *options)
        self.assertEqual(r.status, 0, r.all)
        return os.path.join(self.path("ir"), os.path.splitext(os.path.basename(model))[0] + ".xml"), r


class Streaming(StreamingCase):
    def test_chunks_equal_whole_utterances(self):
        for name, content in nets().items():
            model = self.write("m.mdl", content)
            outputs = ("output", "other") if name == "two outputs" else ("output",)
            whole = self.run_model(model, "--device", "REFERENCE", outputs=outputs)
            for chunk in (1, 4, 100):
                self.same(self.run_model(model, "--chunk", str(chunk), outputs=outputs), whole, "%s, chunks of %d" % (name, chunk))
            for way in (["--device", "REFERENCE"], ["--through-ir"]):
                self.same(self.run_model(model, "--chunk", "3", *way, outputs=outputs), whole, "%s, %s" % (name, way))

    def test_ir(self):
        model = self.write("m.mdl", nets()["recurrence"])
        whole = self.run_model(model)
        ir, r = self.convert(model, "--streaming")
        self.assertIn("repeat its first frame 3 times before it and its last frame 3 times behind it, and drop the first 6 results", r.all)
        for more in ([], ["--chunk", "1"], ["--chunk", "7", "--device", "REFERENCE"]):
            self.same(self.run_model(ir, *more), whole, more)
        info = ET.parse(ir).getroot().find("rt_info/streaming")
        self.assertEqual([(c.tag, c.get("value")) for c in info], [("left_context", "3"), ("right_context", "3")])
        # A fixed number of frames, as for a runtime without dynamic shapes.
        ir, _ = self.convert(model, "--streaming", "--input_shape", "[4,2]")
        self.same(self.run_model(ir), whole, "four frames")
        r = graft("run", ir, "--input", "input=ark:" + self.feats, "--chunk", "5")
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("--chunk 5: input 'input' takes 4 frames", r.err)

    def test_ivectors(self):
        config = [INPUT, "input-node name=ivector dim=3", "component-node name=a component=a input=Append(Offset(input, -1), input, ReplaceIndex(ivector, t, 0))",
                  "output-node name=output input=Append(a, Offset(a, 2), Round(ReplaceIndex(ivector, t, 0), 5))"]
        model = self.write("m.mdl", nnet3(config, [linear("a", 2, 7, 1)], True))
        self.write("iv.ark", archive([(key, vector(3, i)) for i, key in enumerate(self.rows)]))
        inputs = ["--input", "ivector=ark:" + self.path("iv.ark")]
        whole = self.run_model(model, inputs=inputs)
        for chunk in (1, 6):
            self.same(self.run_model(model, "--chunk", str(chunk), inputs=inputs), whole, chunk)

    def test_what_depends_on_the_end_is_refused(self):
        pooling = [("e", "StatisticsExtractionComponent", [("InputDim", I(2)), ("InputPeriod", I(1)), ("OutputPeriod", I(2)), ("IncludeVarinance", True)]),
                   ("p", "StatisticsPoolingComponent", [("InputDim", I(5)), ("InputPeriod", I(2)), ("LeftContext", I(2)), ("RightContext", I(2)), ("NumLogCountFeatures", I(0)), ("OutputStddevs", True), ("VarianceFloor", 1e-5)])]
        blstm = [matrix(12, 2, 1), matrix(12, 2, 2), vector(12, 3), vector(3, 4), vector(3, 5), vector(3, 6), matrix(2, 3, 7)]
        for content, message in (
                (nnet3([INPUT, "component-node name=e component=e input=input", "component-node name=p component=p input=e", "output-node name=output input=p"], pooling, True),
                 "node 'e' (StatisticsExtractionComponent) cannot be computed in chunks of an utterance: it sums over all frames of a window"),
                (nnet3([INPUT, "component-node name=a component=a input=Append(input, IfDefined(Offset(a, 1)))", "output-node name=output input=a"], [linear("a", 2, 4, 1)], True), "it depends on its own later frames"),
                (nnet3([INPUT, "output-node name=output input=IfDefined(Offset(input, 2))"], [], True), "only where the utterance has them"),
                (nnet3([INPUT, "output-node name=output input=Failover(Offset(input, 2), input)"], [], True), "only where the utterance has them"),
                (nnet3([INPUT, "output-node name=output input=Sum(input, ReplaceIndex(input, t, 0))"], [], True), "(ReplaceIndex) cannot be computed in chunks of an utterance: it uses frame 0 for all frames"),
                (nnet1([("BlstmProjected", 4, 2, [("CellDim", I(3))] + [(None, v) for v in blstm + blstm])], True), "node 'BlstmProjected_0' (BlstmProjected)"),
                (nnet1([("Splice", 4, 2, [(None, Ints([0, 1]))]), ("Splice", 8, 4, [(None, Ints([0, 1]))])], True), "it repeats the last row of its input, and 'Splice_0' depends on several frames")):
            model = self.write("m.mdl", content)
            for arguments in (["convert", model, "-o", self.path("ir"), "--streaming"], ["convert", model, "-o", self.path("ir"), "--remove_memory"], ["run", model, "--input", "ark:" + self.feats, "--chunk", "2"]):
                r = graft(*arguments)
                self.assertEqual(r.status, 2, r.all)
                self.assertIn(message, r.err)
                self.assertIn("convert the model for whole utterances", r.err)

    def test_usage(self):
        model = self.write("m.mdl", nets()["tdnn"])
        ir, _ = self.convert(model)
        x = self.write("x.onnx", b"")
        for arguments, status, message in (
                (["run", ir, "--input", "input=ark:" + self.feats, "--chunk", "2"], 1, "--chunk: the model is not for streaming"),
                (["run", model, "--chunk", "2"], 1, "--chunk requires an --input from an archive"),
                (["run", model, "--input", "input=ark:" + self.feats, "--chunk", "0"], 1, "--chunk"),
                (["run", model, "--input", "input=ark:" + self.feats, "--chunk", "2", "--output", "t"], 1, "not available for streaming: their delay differs"),
                (["convert", model, "--streaming", "--output", "t", "-o", self.path("ir")], 1, "not available for streaming: their delay differs")):
            r = graft(*arguments)
            self.assertEqual(r.status, status, r.all)
            self.assertIn(message, r.err, x)
        for damaged, message in (('left_context value="-1"', "expected left_context of 0 to"), ('right_context value="x"', "expected right_context of 0 to"), ("else", "has no left_context")):
            ir, _ = self.convert(model, "--streaming")
            with open(ir) as f:
                content = f.read()
            word = damaged.split()[0] if " " in damaged else "left_context"
            self.write("ir/m.xml", "".join(line.replace(line.strip(), "<%s/>" % damaged) if word in line else line for line in content.splitlines(True)))
            r = graft("run", ir, "--input", "input=ark:" + self.feats)
            self.assertEqual(r.status, 2, r.all)
            self.assertIn(message, r.err)


class RemoveMemory(StreamingCase):
    def ports(self, ir, kind):
        return [layer.get("name") for layer in ET.parse(ir).getroot().iter("layer") if layer.get("type") == kind]

    def test_state_as_inputs_and_outputs(self):
        for name in ("recurrence", "nnet1 lstm"):
            model = self.write("m.mdl", nets()[name])
            ir, r = self.convert(model, "--remove_memory")
            self.assertFalse(self.ports(ir, "ReadValue") + self.ports(ir, "Assign"))
            states = [(p, "Result_for_" + p.split("_for_", 1)[1]) for p in self.ports(ir, "Parameter") if p.startswith("Parameter_")]
            self.assertTrue(states)
            for a, b in states:
                self.assertIn(b, self.ports(ir, "Result"))
                self.assertIn("feed zeros to input '%s' first, then output '%s' of the run before" % (a, b), r.err)
            self.assertEqual(sorted(int(a.split("_")[1]) for a, _ in states), list(range(len(states))))
            info = ET.parse(ir).getroot().find("rt_info/streaming")
            left, right = (int(c.get("value")) for c in info)
            values = {}
            for layer in ET.parse(ir).getroot().iter("layer"):
                if layer.get("name") in dict(states):
                    dims = [int(d) for d in layer.find("data").get("shape").split(",")]
                    values[layer.get("name")] = npy(layer.find("data").get("element_type"), dims, [0] * math.prod(dims))
            rows = self.rows["short"]
            fed = [rows[0]] * left + rows + [rows[-1]] * right
            got = []
            for at in range(0, len(fed), 4):
                values["input"] = npy("f32", [len(fed[at:at + 4]), 2], [v for r in fed[at:at + 4] for v in r])
                arguments = [a for i, (port, value) in enumerate(values.items()) for a in ("--input", "%s=%s" % (port, self.write("v%d.npy" % i, value)))]
                r = graft("run", ir, *arguments, "--output-dir", self.path("out"))
                self.assertEqual(r.status, 0, r.all)
                with open(self.path("out", "outputs.json")) as f:
                    files = {o["name"]: (self.path("out", o["file"]), o["shape"]) for o in json.load(f)}
                path, (count, columns) = files["output"]
                flat = read_npy(path)
                got += [flat[i * columns:(i + 1) * columns] for i in range(count)]
                for a, b in states:
                    with open(files[b][0], "rb") as f:
                        values[a] = f.read()
            self.close(got[left + right:], self.run_model(model)[0]["short"], name)

    def test_only_of_kaldi(self):
        net = self.write("m.prototxt", 'input: "x" input_dim: 1 input_dim: 2 layer { name: "r" type: "ReLU" bottom: "x" top: "y" }')
        for option in ("--remove_memory", "--streaming"):
            r = graft("convert", net, "-o", self.path("ir"), option)
            self.assertEqual(r.status, 1, r.all)
            self.assertIn("applies only to models of Kaldi, got a model of Caffe", r.err)


if __name__ == "__main__":
    main()
