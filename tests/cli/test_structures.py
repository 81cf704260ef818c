#!/usr/bin/env python3
"""Sequences, optionals and maps of ONNX as inputs and outputs of a model.

  tests/cli/test_structures.py --build build [unittest arguments]
"""
import json
import os

from harness import Case, graft, main, npy, onnx, read_npy

INT64, STRING = onnx.INT64, 8


def map_type(key, value):
    return onnx.data(5, onnx.number(1, key) + onnx.data(2, onnx.tensor_type([], value)))


def of_type(name, kind):
    return onnx.data(1, name) + onnx.data(2, kind)


def sequence_file(path, items):
    with open(path, "wb") as f:
        f.write(onnx.number(2, 1) + b"".join(onnx.data(3, onnx.tensor("", [len(i)], i)) for i in items))


class Structures(Case):
    def model(self, nodes, inputs, outputs, tensors=(), opsets=None):
        path = self.path("m.onnx")
        with open(path, "wb") as f:
            f.write(onnx.model("m", nodes, tensors, inputs, outputs, opsets or {"": 18, "ai.onnx.ml": 1}))
        return path

    def squares(self):
        """Squares every item; sequences may have any length."""
        body = onnx.graph("b", [onnx.node("Mul", ["i", "i"], ["o"])], [], [onnx.value("i", ["n"])], [onnx.value("o", ["n"])])
        return self.model([onnx.node("SequenceMap", ["x"], ["y"], body=onnx.Graph(body))], [onnx.sequence("x", ["n"])], [onnx.sequence("y", ["n"])])

    def outputs(self, *arguments):
        r = graft("run", *arguments, "--output-dir", self.path("out"), "--quiet")
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("out/outputs.json")) as f:
            return json.load(f), r

    def values(self, entry):
        return [read_npy(self.path("out/" + f)) for f in entry["files"]]

    def refused(self, text, *arguments, status=2):
        r = graft(*arguments)
        self.assertEqual(r.status, status, r.all)
        self.assertIn(text, r.err)

    def test_a_sequence_as_a_file_as_arrays_and_item_by_item(self):
        m = self.squares()
        sequence_file(self.path("x.pb"), [[1, 2], [3]])
        npy(self.path("a.npy"), [1, 2])
        npy(self.path("b.npy"), [3])
        for given in (["x=" + self.path("x.pb")], ["x=" + self.path("a.npy"), "x=" + self.path("b.npy")]):
            for ways in ([], ["--through-ir"], ["-d", "REFERENCE"]):
                listed, _ = self.outputs(m, *[a for g in given for a in ("--input", g)], *ways)
                self.assertEqual([e["name"] for e in listed], ["y"])
                self.assertEqual(listed[0]["kind"], "sequence")
                self.assertEqual(listed[0]["shapes"], [[2], [1]])
                self.assertEqual(self.values(listed[0]), [[1, 4], [9]])

    def test_an_empty_sequence(self):
        listed, _ = self.outputs(self.squares(), "--input", "x=empty")
        self.assertEqual(listed[0]["files"], [])

    def test_the_ir_groups_its_tensors_again(self):
        m = self.squares()
        self.refused("the length of the sequence input 'x' is not given", "convert", m, "-o", self.folder)
        r = graft("convert", m, "-o", self.folder, "--items", "x=2", "--json")
        self.assertEqual(r.status, 0, r.all)
        report = json.loads(r.out)
        self.assertEqual([i["name"] for i in report["inputs"]], ["x.0", "x.1"])
        self.assertEqual(report["output_groups"][0]["kind"], "sequence")
        sequence_file(self.path("x.pb"), [[1, 2], [3]])
        listed, _ = self.outputs(self.path("m.xml"), "--input", "x=" + self.path("x.pb"))
        self.assertEqual(self.values(listed[0]), [[1, 4], [9]])
        r = graft("explain", self.path("m.xml"))
        self.assertIn("input   x  sequence [f32[?], f32[?]]", r.out)
        sequence_file(self.path("x.pb"), [[1]])
        self.refused("expected 2 items for the sequence input 'x', got 1", "run", self.path("m.xml"), "--input", "x=" + self.path("x.pb"))

    def test_names_of_items_that_the_model_has_already(self):
        nodes = [onnx.node("SequenceAt", ["x", "zero"], ["x.0"]), onnx.node("SequenceConstruct", ["x.0"], ["y"])]
        m = self.model(nodes, [onnx.sequence("x", ["n"])], [onnx.sequence("y", ["n"])], [onnx.tensor("zero", [], [0], INT64)])
        sequence_file(self.path("x.pb"), [[5]])
        listed, _ = self.outputs(m, "--input", "x=" + self.path("x.pb"))
        self.assertEqual(self.values(listed[0]), [[5]])

    def test_an_optional_with_and_without_a_value(self):
        branch = lambda name, node, *tensors: onnx.Graph(onnx.graph(name, [node], tensors, [], [onnx.value(name, ["n"])]))
        then = branch("t", onnx.node("OptionalGetElement", ["x"], ["t"]))
        other = branch("e", onnx.node("Neg", ["one"], ["e"]), onnx.tensor("one", [1], [1]))
        nodes = [onnx.node("OptionalHasElement", ["x"], ["has"]), onnx.node("If", ["has"], ["y"], then_branch=then, else_branch=other),
                 onnx.node("Identity", ["x"], ["z"])]
        m = self.model(nodes, [onnx.optional("x", ["n"])], [onnx.value("y", ["n"]), onnx.optional("z", ["n"])])
        npy(self.path("x.npy"), [7, 8])
        listed, _ = self.outputs(m, "--input", "x=" + self.path("x.npy"))
        self.assertEqual([read_npy(self.path("out/" + e["file"])) for e in listed], [[7, 8], [7, 8]])
        listed, _ = self.outputs(m, "--input", "x=none", "--through-ir")
        self.assertEqual(read_npy(self.path("out/" + listed[0]["file"])), [-1])
        self.assertEqual(listed[1], {"name": "z", "optional": True, "file": None})
        r = graft("explain", m, "--items", "x=none")
        self.assertIn("output  z  optional without a value", r.out)

    def test_a_value_that_decides_about_the_structure(self):
        m = self.model([onnx.node("SplitToSequence", ["x", "lengths"], ["y"])], [onnx.value("x", [3]), onnx.value("lengths", [], INT64)], [onnx.sequence("y", ["n"])])
        npy(self.path("x.npy"), [1, 2, 3])
        with open(self.path("lengths.pb"), "wb") as f:
            f.write(onnx.tensor("", [], [2], INT64))
        given = ["--input", "x=" + self.path("x.npy"), "--input", "lengths=" + self.path("lengths.pb")]
        listed, r = self.outputs(m, *given)
        self.assertEqual(self.values(listed[0]), [[1, 2], [3]])
        self.assertIn("input 'lengths' is a constant in this run", r.err)
        self.refused("--freeze_placeholder_with_value 'lengths->VALUE'", "convert", m, "-o", self.folder)
        r = graft("convert", m, "-o", self.folder, "--freeze_placeholder_with_value", "lengths->2")
        self.assertEqual(r.status, 0, r.all)
        listed, _ = self.outputs(self.path("m.xml"), "--input", "x=" + self.path("x.npy"))
        self.assertEqual(self.values(listed[0]), [[1, 2], [3]])

    def test_maps_of_scores(self):
        kind = onnx.data(4, onnx.data(1, map_type(STRING, onnx.FLOAT)))
        labels = onnx.data(1, "classlabels_strings") + onnx.data(9, "cat") + onnx.data(9, "dog") + onnx.number(20, 8)
        node = onnx.node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml") + onnx.data(5, labels)
        m = self.model([node], [onnx.value("x", ["n", 2])], [of_type("y", kind)])
        with open(self.path("x.pb"), "wb") as f:
            f.write(onnx.tensor("", [2, 2], [0.25, 0.75, 1, 0]))
        for ways in ([], ["--through-ir"]):
            listed, _ = self.outputs(m, "--input", "x=" + self.path("x.pb"), *ways)
            rows = [read_npy(self.path("out/" + item["values"]["file"])) for item in listed[0]["items"]]
            self.assertEqual(rows, [[0.25, 0.75], [1, 0]])
            self.assertEqual(listed[0]["items"][0]["keys"]["type"], "string")

    def test_a_map_as_input(self):
        words = onnx.data(1, "string_vocabulary") + b"".join(onnx.data(9, w) for w in ("b", "c", "a")) + onnx.number(20, 8)
        node = onnx.node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml") + onnx.data(5, words)
        m = self.model([node], [of_type("x", map_type(STRING, onnx.FLOAT))], [onnx.value("y", [1, 3])])
        values = b"".join(onnx.data(3, onnx.tensor("", [], [v])) for v in (1.5, 2.5))
        with open(self.path("x.pb"), "wb") as f:
            f.write(onnx.number(2, STRING) + onnx.data(4, "a") + onnx.data(4, "b") + onnx.data(5, values))
        for ways in ([], ["--through-ir"]):
            listed, _ = self.outputs(m, "--input", "x=" + self.path("x.pb"), *ways)
            self.assertEqual(read_npy(self.path("out/" + listed[0]["file"])), [2.5, 0, 1.5])

    def test_a_loop_of_known_length_may_change_a_sequence_in_any_way(self):
        body = onnx.graph("b", [onnx.node("Identity", ["go"], ["on"]), onnx.node("SequenceErase", ["s"], ["less"])], [],
                          [onnx.value("i", [], INT64), onnx.value("go", [], 9), onnx.sequence("s", ["n"])], [onnx.value("on", [], 9), onnx.sequence("less", ["n"])])
        m = self.model([onnx.node("Loop", ["trips", "", "x"], ["y"], body=onnx.Graph(body))], [onnx.sequence("x", ["n"])], [onnx.sequence("y", ["n"])],
                       [onnx.tensor("trips", [], [2], INT64)])
        sequence_file(self.path("x.pb"), [[1], [2], [3, 4], [5]])
        listed, _ = self.outputs(m, "--input", "x=" + self.path("x.pb"))
        self.assertEqual(self.values(listed[0]), [[1], [2]])

    def growing(self, trips, depth=0):
        """A loop that puts one item of two numbers behind a sequence every time; around it `depth` loops more."""
        def body(depth, name):
            inner = onnx.node("SequenceInsert", ["s" + name, "item"], ["r" + name])
            if depth:
                inner = onnx.node("Loop", ["trips", "", "s" + name], ["r" + name], body=onnx.Graph(body(depth - 1, name + "x")))
            return onnx.graph("b", [onnx.node("Identity", ["c" + name], ["d" + name]), inner], [],
                              [onnx.value("i" + name, [], INT64), onnx.value("c" + name, [], 9), onnx.sequence("s" + name, [2])],
                              [onnx.value("d" + name, [], 9), onnx.sequence("r" + name, [2])])
        nodes = [onnx.node("SequenceEmpty", [], ["none"]), onnx.node("Loop", ["trips", "", "none"], ["y"], body=onnx.Graph(body(depth, "a")))]
        inputs = [] if trips else [onnx.value("trips", [], INT64)]
        tensors = [onnx.tensor("item", [2], [1, 2])] + ([onnx.tensor("trips", [], [trips], INT64)] if trips else [])
        return self.model(nodes, inputs, [onnx.sequence("y", [2])], tensors)

    def test_a_length_that_only_the_run_tells(self):
        m = self.growing(None)
        r = graft("convert", m, "-o", self.folder)
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("any number of items along the first axis of f32[?,2]", graft("explain", m).out)
        for model in (m, self.path("m.xml")):
            for trips in (3, 1):
                with open(self.path("trips.pb"), "wb") as f:
                    f.write(onnx.tensor("", [], [trips], INT64))
                listed, r = self.outputs(model, "--input", "trips=" + self.path("trips.pb"))
                self.assertEqual(self.values(listed[0]), [[1, 2]] * trips)
                self.assertEqual(r.err, "")

    def test_loops_in_loops_are_not_written_out_without_end(self):
        self.assertEqual(len(self.outputs(self.growing(3, 2))[0][0]["files"]), 27)
        self.refused("items in all", "run", self.growing(200, 3))

    def test_refusals(self):
        m = self.squares()
        for content, message in ((b"\x1a\x7f", "SequenceProto"),  # a length that lies
                                 (onnx.data(3, onnx.tensor("", [1], [1])) + onnx.data(3, onnx.tensor("", [1], [1], INT64)), "items of f32 and of i64"),
                                 (onnx.data(3, onnx.tensor("", [1], [1])) + onnx.data(5, b""), "items of different kinds"),
                                 (onnx.data(3, onnx.tensor("", [1], [])) * 70000, "expected 4 bytes of data for shape [1] of f32, got 0"),
                                 (onnx.data(3, onnx.tensor("", [0], [])) * 70000, "has more than 65536 items")):
            with open(self.path("x.pb"), "wb") as f:
                f.write(content)
            self.refused(message, "run", m, "--input", "x=" + self.path("x.pb"))
        nested = b""
        for _ in range(100):
            nested = onnx.data(5, nested)
        with open(self.path("x.pb"), "wb") as f:
            f.write(nested)
        self.refused("is nested more than 64 deep", "run", m, "--input", "x=" + self.path("x.pb"))
        self.refused("--items: expected NAME=N or NAME=none, got 'x'", "explain", m, "--items", "x", status=1)
        self.refused("expected at most 65536 items for input 'x', got 70000", "explain", m, "--items", "x=70000")
        self.refused("expected an optional for the empty input 'x'", "explain", m, "--items", "x=none")
        self.refused("the length of the sequence input 'x' is not given", "run", m)
        body = onnx.graph("b", [onnx.node("Optional", [], ["o"])], [], [onnx.value("i", ["n"])], [onnx.optional("o", ["n"])])
        m = self.model([onnx.node("SequenceMap", ["x"], ["y"], body=onnx.Graph(body))], [onnx.sequence("x", ["n"])], [onnx.sequence("y", ["n"])])
        self.refused("a sequence cannot contain an empty optional", "explain", m, "--items", "x=1")
        npy(self.path("a.npy"), [1])
        self.refused("the model has no input 'z'", "run", m, "--input", "z=" + self.path("a.npy"), status=1)


if __name__ == "__main__":
    main()
