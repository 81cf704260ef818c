#!/usr/bin/env python3
"""A framework whose reader is in an extension, at every place where the program names a framework.

  tests/toy/test_toy.py --build build [unittest arguments]
"""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import built, graft, main, read_npy, write_npy  # noqa: E402

NET = """toy 1
input x 2 3
Elu first x -> y slope=0.5   # the weights are beside
Sum second y w -> z
output z
"""


class Toy(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name
        self.write("net.toy", NET)
        self.write("net.weights", "w 3 = 10 20 30\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "w") as f:
            f.write(content)

    def toy(self, *arguments):
        return graft(*arguments, "--extensions", built("extensions", "toy.so"), cwd=self.folder)

    def good(self, *arguments):
        r = self.toy(*arguments)
        self.assertEqual(r.status, 0, r.all)
        return r

    def refused(self, net, *messages):
        self.write("bad.toy", net)
        r = self.toy("convert", "bad.toy", "-o", "out")
        self.assertEqual(r.status, 2, r.all)
        for message in messages:
            self.assertIn(message, r.err)
        self.assertFalse(os.path.exists(self.path("out/bad.xml")))

    def results(self, *arguments):
        write_npy(self.path("x.npy"), [2, 3], [-1, 0, 1, 2, 3, 4])
        self.good("run", *arguments, "--input", "=x.npy", "--output-dir", "out")
        return read_npy(self.path("out/0.npy"))

    def test_from_the_file_to_numbers(self):
        want = [0.5 * (2.718281828 ** -1 - 1) + 10, 20, 31, 12, 23, 34]
        for files in (["net.toy"], ["net.toy", "net.weights"]):
            for got, expected in zip(self.results(*files), want):
                self.assertAlmostEqual(got, expected, places=5)
        self.write("other.weights", "w 3 = 0 0 0\n")
        self.assertEqual(self.results("net.toy", "other.weights")[1:], [0, 1, 2, 3, 4])
        self.good("convert", "net.toy", "-o", "ir")
        for got, expected in zip(self.results("ir/net.xml"), want):
            self.assertAlmostEqual(got, expected, places=5)

    def test_the_option_framework(self):
        self.good("convert", "net.toy", "-o", "a", "--framework", "toy")
        self.good("convert", "net.toy", "-o", "b", "--framework", "TOYS")
        r = self.toy("convert", "net.toy", "-o", "c", "--framework", "onnx")
        self.assertIn("--framework: expected onnx, got the toy model 'net.toy'", r.err)
        self.assertEqual(r.status, 1)
        r = graft("convert", "net.toy", "-o", "c", "--framework", "toy", cwd=self.folder)
        self.assertIn("unknown framework 'toy'\nhint: the frameworks are caffe, kaldi, ", r.err)
        self.assertEqual(r.status, 1)

    def test_lists(self):
        r = self.good("ops", "--framework", "toy")
        self.assertRegex(r.out, r"Elu +Elu \(opset1\), from .*toy\.so")
        self.assertRegex(r.out, r"Origin +expanded by a rule, from .*toy\.so")
        self.assertIn("3 toy layers", r.out)
        self.assertIn("Origin", self.good("ops", "--framework", "caffe").out)  # for every framework
        listed = json.loads(self.good("ops", "--frameworks", "--json").out)
        built_in = json.loads(graft("ops", "--frameworks", "--json").out)
        self.assertEqual([f["name"] for f in listed], [f["name"] for f in built_in] + ["toy"])
        self.assertEqual({**listed[-1], "origin": os.path.basename(listed[-1]["origin"])},
                         {"name": "toy", "title": "Toy", "aliases": ["toys"], "files": ".toy with .weights", "origin": "toy.so"})
        self.assertRegex(self.good("ops", "--frameworks").out, r"Toy +toy, toys +\.toy with \.weights, from .*toy\.so")

    def test_a_rule_for_every_framework(self):
        self.write("net.toy", "toy 1\ninput x 2 3\nOrigin o x -> y\noutput y\n")
        self.assertEqual(self.results("net.toy"), [-10, 0, 10, 20, 30, 40])
        self.write("net.prototxt", 'input: "x" input_shape { dim: 2 dim: 3 }\nlayer { name: "o" type: "Origin" bottom: "x" top: "y" }')
        self.assertEqual(self.results("net.prototxt"), [-1, 0, 1, 2, 3, 4])

    def test_unknown_layers(self):
        self.write("odd.toy", NET.replace("Sum second", "Frob second"))
        self.write("odd.weights", "w 3 = 10 20 30\n")
        r = self.toy("convert", "odd.toy", "-o", "out")
        self.assertEqual(r.status, 2)
        self.assertIn("Frob   1 layer: second", r.err)
        r = self.good("new", "--from-model", "odd.toy", "-o", "made")
        with open(self.path("made/frob.cpp")) as f:
            self.assertIn('.import(graft::Rule("toy", "Frob")', f.read())
        if not os.path.exists(built("lib", "libgraft_python.so")):
            return  # built without Python
        self.good("new", "--from-model", "odd.toy", "--python", "-o", "python")
        r = graft("convert", "odd.toy", "-o", "out", "--extensions", ",".join((built("extensions", "toy.so"), self.path("python/frob.py"))), cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)

    def test_places_of_layers(self):
        self.write("one.toy", NET.replace("Sum second y w", "Sum second y"))
        r = self.toy("convert", "one.toy", "-o", "out")
        self.assertIn("while importing layer 'second' (Sum) at one.toy, line 4", r.err)

    def test_cutting(self):
        """By names of tensors, of layers, of their first outputs and of edges."""
        for output in ("y", "first", "first:0"):
            self.good("convert", "net.toy", "-o", "cut", "--output", output)
        self.assertEqual(self.results("net.toy", "--output", "y")[1:], [0, 1, 2, 3, 4])
        self.good("convert", "net.toy", "-o", "cut", "--input", "0:second")

    def test_recognition(self):
        r = graft("convert", "net.toy", "-o", "out", cwd=self.folder)  # without the extension
        self.assertEqual(r.status, 2)
        self.assertIn("'net.toy' is not in a supported model format", r.err)
        self.write("empty.toy", "what")  # the name decides who reports what is wrong with it
        r = self.toy("convert", "empty.toy", "-o", "out")
        self.assertRegex(r.err, "error: expected a net of version 1\n  while reading the Toy model with '.*toy.so'")
        self.write("thing", "what")
        self.assertIn(", Toy (.toy with .weights) and IR", self.toy("convert", "thing", "-o", "out").err)
        self.write("unsure.toy", NET)
        self.assertRegex(self.toy("convert", "unsure.toy", "-o", "out").err, "error: cannot decide\n  while asking the reader of toy of '.*toy.so'")
        os.mkdir(self.path("nothing"))
        self.assertIn("the folder 'nothing' is not in a supported model format", self.toy("convert", "nothing", "-o", "out").err)

    def test_what_the_reader_hands_over_is_verified(self):
        layer = "Elu first x -> y slope=0.5"
        for net, message in (
                ("toy 1\ninput x 2\n%s\n" % layer, "expected at least one output of the model, got none"),
                ("toy 1\ninput x 2\nElu first q -> y\noutput y\n", "input 'q' of the layer 'first' (Elu) at bad.toy, line 3 is not produced by any layer, nor an input or constant of the model"),
                ("toy 1\ninput data 2\nElu first dta -> y\noutput y\n", "hint: did you mean 'data'?"),
                ("toy 1\ninput x 2\nElu first zzzzz -> y\noutput y\n", "hint: inputs are declared with set_inputs, constants with add_constant"),
                ("toy 1\ninput x 2\n%s\noutput q\n" % layer, "output 'q' of the model is not produced by any layer"),
                ("toy 1\ninput x 2\nSum a x z -> y\nSum b x y -> z\noutput y\n", "the layers form a cycle"),
                ("toy 1\ninput x 2\n%s\n%s\noutput y\n" % (layer, layer.replace("first", "other")), "duplicate value name 'y'"),
                ("toy 1\ninput x 2\n%s\n%s\noutput y\n" % (layer, layer.replace("-> y", "-> z")), "duplicate layer name 'first'"),
                ("toy 1\ninput x 2\ninput x 2\noutput x\n", "duplicate input 'x' of the model")):
            self.refused(net, message, "while reading the Toy model with '")
        self.refused("toy 1\ninput x two\noutput x\n", "line 2: expected a number, got 'two'")
        self.refused("toy 2\n", "expected a net of version 1")
        self.refused("toy 1\ninput x -7\nElu first x -> y\noutput y\n", "-7")
        r = self.toy("convert", "net.toy", "-o", "out", "--limit", "nodes=1")
        self.assertEqual(r.status, 2)
        self.assertIn("the model has more than 1 layers", r.err)


if __name__ == "__main__":
    main()
