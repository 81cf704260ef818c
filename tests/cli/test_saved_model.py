#!/usr/bin/env python3
"""SavedModels: their signatures, and lookup tables that are filled beside the graph.

  tests/cli/test_saved_model.py --build build [unittest arguments]
"""
import os
import struct

from harness import graft, main, onnx, read_npy, write_npy
from small_net import ConvertCase

FLOAT, INT64, STRING, RESOURCE = 1, 9, 7, 20


def attr(name, value):
    return onnx.data(5, onnx.data(1, name) + onnx.data(2, value))


def kind(name, number):
    return attr(name, onnx.number(6, number))


def fields(name, op, inputs, *attributes):
    """A NodeDef of TensorFlow."""
    return onnx.data(1, name) + onnx.data(2, op) + b"".join(onnx.data(3, i) for i in inputs) + b"".join(attributes)


def node(*arguments):
    """The same, as a field of a GraphDef."""
    return onnx.data(1, fields(*arguments))


def shape(*dims):
    return b"".join(onnx.data(2, onnx.number(1, d)) for d in dims)


def placeholder(name, number=FLOAT, dims=(2,)):
    return node(name, "Placeholder", [], kind("dtype", number), attr("shape", onnx.data(7, shape(*dims))))


def constant(name, number, dims, content):
    return node(name, "Const", [], kind("dtype", number), attr("value", onnx.data(8, onnx.number(1, number) + onnx.data(2, shape(*dims)) + content)))


def signature(name, inputs, outputs):
    port = lambda field, key, tensor: onnx.data(field, onnx.data(1, key) + onnx.data(2, onnx.data(1, tensor) + onnx.number(2, FLOAT) + onnx.data(3, shape(2))))
    ports = b"".join(port(1, *i) for i in inputs) + b"".join(port(2, *o) for o in outputs)
    return onnx.data(5, onnx.data(1, name) + onnx.data(2, ports))


class SavedModelCase(ConvertCase):
    def save(self, graph, *rest, name="saved"):
        os.makedirs(self.path(name), exist_ok=True)
        version = onnx.data(4, onnx.number(1, 100))
        self.write(name + "/saved_model.pb", onnx.number(1, 1) + onnx.data(2, onnx.data(1, onnx.data(4, "serve")) + onnx.data(2, graph + version) + b"".join(rest)))
        return self.path(name)

    def run_model(self, *arguments, x=(1, 2)):
        write_npy(self.path("x.npy"), [len(x)], x)
        r = graft("run", *arguments, "--input", "=" + self.path("x.npy"), "--output-dir", self.path("results"))
        self.assertEqual(r.status, 0, r.all)
        return read_npy(self.path("results", "0.npy"))


class Signatures(SavedModelCase):
    GRAPH = placeholder("a") + placeholder("b") + node("negative", "Neg", ["a"]) + node("double", "AddV2", ["b", "b"])
    NEGATE = signature("negate", [("x", "a:0")], [("y", "negative:0")])
    DOUBLE = signature("double", [("x", "b:0")], [("y", "double:0")])

    def test_one_is_chosen_in_every_command(self):
        m = self.save(self.GRAPH, self.NEGATE, self.DOUBLE)
        self.assertEqual(self.run_model(m, "--saved_model_signature", "double"), [2, 4])
        self.assertEqual(self.run_model(m, "--saved_model_signature", "negate"), [-1, -2])
        self.assertEqual(self.run_ir(self.convert(m, "--saved_model_signature", "double"), ([2], [1, 2]))[0], [2, 4])
        self.assertEqual(self.run_ir(self.convert("--saved_model_dir", m, "--saved_model_signature", "negate"), ([2], [1, 2]))[0], [-1, -2])
        for command in (["explain"], ["bench", "--niter", "1"]):
            r = graft(*command, m, "--saved_model_signature", "negate")
            self.assertEqual(r.status, 0, r.all)
        r = graft("run", m, "--saved_model_signature", "negate", "--input_shape", "x[3]", "--quiet")
        self.assertEqual(r.status, 0, r.all)

    def test_serving_default_or_the_only_one_is_taken(self):
        served = signature("serving_default", [("x", "b:0")], [("y", "double:0")])
        self.assertEqual(self.run_model(self.save(self.GRAPH, self.NEGATE, served)), [2, 4])
        starts = signature("__saved_model_init_op", [], [("__saved_model_init_op", "nothing")])
        self.assertEqual(self.run_model(self.save(self.GRAPH, starts, self.NEGATE)), [-1, -2])

    def test_refusals_list_what_there_is(self):
        m = self.save(self.GRAPH, self.NEGATE, self.DOUBLE)
        r = self.refused("the SavedModel has no signature 'treble'", m, "--saved_model_signature", "treble", hint="double: x f32[2] -> y f32[2]")
        self.assertIn("negate: x f32[2] -> y f32[2]", r.err)
        self.refused("the SavedModel has 2 signatures, but no serving_default", m, hint="choose one with --saved_model_signature")
        self.refused("the SavedModel has no signature 'x'", self.save(self.GRAPH), "--saved_model_signature", "x", hint="it has no signatures")
        self.write("graph.pb", self.GRAPH)
        self.refused("expected a SavedModel for the given signature", self.path("graph.pb"), "--saved_model_signature", "negate")


class Tables(SavedModelCase):
    TABLE = node("table", "HashTableV2", [], kind("key_dtype", INT64), kind("value_dtype", FLOAT))
    USE = (placeholder("x") + node("key", "Cast", ["x"], kind("SrcT", FLOAT), kind("DstT", INT64)) + constant("none", FLOAT, (), onnx.data(4, struct.pack("<f", -1))) +
           node("y", "LookupTableFindV2", ["table", "key", "none"], kind("Tin", INT64), kind("Tout", FLOAT)))
    SIGNATURE = signature("serving_default", [("x", "x:0")], [("y", "y:0")])
    FILE = placeholder("path", STRING, ())

    def by_file(self, *attributes):
        """An initializer in a function, as TensorFlow 2 writes it."""
        arguments = b"".join(onnx.data(2, onnx.data(1, a) + onnx.number(3, t)) for a, t in (("t", RESOURCE), ("f", STRING)))
        inside = onnx.data(3, fields("fill", "InitializeTableFromTextFileV2", ["t", "f"], attr("key_index", onnx.number(3, 0)), attr("value_index", onnx.number(3, 1)),
                                     attr("delimiter", onnx.data(2, ",")), *attributes))
        function = onnx.data(2, onnx.data(1, onnx.data(1, onnx.data(1, "init") + arguments) + inside))
        return node("call", "StatefulPartitionedCall", ["table", "path"], attr("f", onnx.data(10, onnx.data(1, "init")))) + function

    def asset(self, name):
        return onnx.data(6, onnx.data(1, onnx.data(1, "path:0")) + onnx.data(2, name))

    def with_file(self, content, *attributes, name="prices.txt", said="prices.txt"):
        os.makedirs(self.path("saved", "assets"), exist_ok=True)
        self.write("saved/assets/" + name, content)
        return self.save(self.TABLE + self.USE + self.FILE + self.by_file(*attributes), self.SIGNATURE, self.asset(said))

    def test_keys_and_values_are_constants(self):
        keys = constant("keys", INT64, (2,), onnx.data(4, struct.pack("<2q", 7, 9)))
        values = constant("values", FLOAT, (2,), onnx.data(4, struct.pack("<2f", 0.5, 1.5)))
        m = self.save(self.TABLE + self.USE + keys + values + node("fill", "LookupTableImportV2", ["table", "keys", "values"]), self.SIGNATURE)
        self.assertEqual(self.run_model(m, x=(9, 8)), [1.5, -1])

    def test_a_frozen_graph_has_them_too(self):
        keys = constant("keys", INT64, (2,), onnx.data(4, struct.pack("<2q", 7, 9)))
        values = constant("values", FLOAT, (2,), onnx.data(4, struct.pack("<2f", 0.5, 1.5)))
        self.write("g.pb", self.TABLE + self.USE + keys + values + node("fill", "InitializeTableV2", ["table", "keys", "values"]) + onnx.data(4, onnx.number(1, 100)))
        self.assertEqual(self.run_model(self.path("g.pb"), x=(9, 8)), [1.5, -1])

    def test_an_asset_file(self):
        self.assertEqual(self.run_model(self.with_file("7,0.5\n9,2.5\r\n"), x=(9, 8)), [2.5, -1])
        first = attr("vocab_size", onnx.number(3, 1))
        self.assertEqual(self.run_model(self.with_file("7,0.5\n9,2.5\n", first), x=(9, 7)), [-1, 0.5])

    def test_refusals(self):
        self.refused("line 2 is empty", self.with_file("7,1\n\n8,2\n"), status=2)
        self.refused("line 1: expected at least 2 columns, got 1", self.with_file("7;1\n"), status=2)
        self.refused("expected a number of type i64, got 'x'", self.with_file("x,1\n"), status=2)
        self.refused("expected 5 lines, got 1", self.with_file("7,1\n", attr("vocab_size", onnx.number(3, 5))), status=2)
        self.refused("leads outside the model's folder", self.with_file("7,1\n", said="../../secret"), status=2)
        self.refused("next to the model", self.with_file("7,1\n", said="other.txt"), status=2)
        self.refused("expected a table initialized from constants, an asset file or the checkpoint", self.save(self.TABLE + self.USE, self.SIGNATURE), status=2)
        keys = constant("keys", INT64, (2,), onnx.data(4, struct.pack("<2q", 7, 9)))
        value = constant("values", FLOAT, (1,), onnx.data(4, struct.pack("<f", 0.5)))
        graph = self.TABLE + self.USE + keys + value + node("fill", "InitializeTableV2", ["table", "keys", "values"])
        self.refused("expected as many values as keys (2), got 1", self.save(graph, self.SIGNATURE), status=2)


class Placeholders(SavedModelCase):
    GRAPH = placeholder("x") + placeholder("spare", FLOAT, (3,)) + node("y", "Neg", ["x"]) + onnx.data(4, onnx.number(1, 100))

    def test_one_that_nothing_consumes_is_an_input_where_it_is_named(self):
        m = self.write("g.pb", self.GRAPH)
        self.assertEqual(self.names(self.convert(m)), ["x"])
        self.assertEqual(self.names(self.convert(m, "--input_shape", "[4]")), ["x"])
        self.assertEqual(sorted(self.names(self.convert(m, "--input", "x,spare"))), ["spare", "x"])


if __name__ == "__main__":
    main()
