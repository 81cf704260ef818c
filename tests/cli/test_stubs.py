#!/usr/bin/env python3
"""`graft convert --stub-unknown`: an IR that was written without an extension runs with it as if it had been there.

  tests/cli/test_stubs.py --build build [unittest arguments]
"""
import struct

from harness import Case, built, graft, main, onnx, read_npy, save, write_npy
from caffe_writer import caffemodel
from test_scaffold import DT_FLOAT, tf_input, tf_node, tf_shape, tf_tensor


class Stubs(Case):
    def results(self, model, inputs, *options):
        """The outputs of a model as a list of lists; `inputs`: {name: (dims, values)}."""
        arguments = []
        for name, (dims, values) in inputs.items():
            write_npy(self.path(name + ".npy"), dims, values)
            arguments += ["--input", "%s=%s" % (name, self.path(name + ".npy"))]
        r = graft("run", *model, *arguments, *options, "--output-dir", "out", "--extensions", built("extensions", "stubs.so"), cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        return read_npy(self.path("out", "0.npy"))

    def later(self, model, inputs, expected):
        """Converts without the extension, and once more from the IR; both run with it as the model does."""
        self.assertEqual(self.results(model, inputs), expected)
        r = graft("convert", *model, "-o", "one", "-n", "net", cwd=self.folder)
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("hint: use --stub-unknown", r.err)
        for source, folder in ((model, "one"), (["one/net.xml"], "two")):
            r = graft("convert", *source, "-o", folder, "-n", "net", "--stub-unknown", cwd=self.folder)
            self.assertEqual(r.status, 0, r.all)
            self.assertEqual(self.results([folder + "/net.xml"], inputs), expected)
        with open(self.path("one", "net.xml")) as a, open(self.path("two", "net.xml")) as b:
            one, two = a.read(), b.read()
        self.assertEqual(one, two)
        r = graft("convert", "one/net.xml", "-o", "done", "--extensions", built("extensions", "stubs.so"), cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("done", "net.xml")) as f:
            self.assertNotIn("<stub", f.read())
        self.assertEqual(self.results(["done/net.xml"], inputs), expected)
        return one

    def body(self, domain=""):
        """y = x + w * 2, with w from the model around it."""
        nodes = [onnx.node("Mul", ["w", "two"], ["t"]), onnx.node("Add", ["bx", "t"], ["by"])]
        return onnx.Graph(onnx.graph("body", nodes, [onnx.tensor("two", [], [2])], [onnx.value("bx", [3])], [onnx.value("by", [3])]))

    def test_onnx_with_a_body(self):
        nodes = [onnx.node("Abs", ["v"], ["w"]), onnx.node("Repeat", ["x"], ["y"], name="rep", domain="acme", times=2, body=self.body()),
                 onnx.node("Relu", ["y"], ["z"])]
        save(self.path("m.onnx"), nodes, [onnx.value("x", [3]), onnx.value("v", [3])], [onnx.value("z", [3])])
        self.later(["m.onnx"], {"x": ([3], [1, -2, -30]), "v": ([3], [-1, 2, 3])}, [5, 6, 0])

    def test_unknown_layers_in_a_branch_of_a_known_one(self):
        branch = onnx.Graph(onnx.graph("then", [onnx.node("Repeat", ["x"], ["a"], name="rep", domain="acme", times=1, body=self.body())], [], [],
                                       [onnx.value("a", [3])]))
        other = onnx.Graph(onnx.graph("else", [onnx.node("Neg", ["x"], ["b"])], [], [], [onnx.value("b", [3])]))
        nodes = [onnx.node("ReduceSum", ["x"], ["s"], keepdims=0), onnx.node("Greater", ["s", "zero"], ["c"]),
                 onnx.node("If", ["c"], ["y"], then_branch=branch, else_branch=other), onnx.node("Abs", ["y"], ["z"])]
        save(self.path("m.onnx"), nodes, [onnx.value("x", [3]), onnx.value("w", [3])], [onnx.value("z", [3])], [onnx.tensor("zero", [], [0])])
        self.later(["m.onnx"], {"x": ([3], [1, 2, 3]), "w": ([3], [1, 1, 1])}, [3, 4, 5])
        self.assertEqual(self.results(["one/net.xml"], {"x": ([3], [-1, -2, 1]), "w": ([3], [1, 1, 1])}), [1, 2, 1])

    def test_layers_behind_need_no_shape(self):
        # Import rules of Size and Flatten and the one of the extension want the rank, which only the first layer knows.
        nodes = [onnx.node("Pass", ["x"], ["a"], name="first", domain="acme"), onnx.node("Flatten", ["a"], ["b"], axis=1),
                 onnx.node("Softmax", ["b"], ["c"], axis=-1), onnx.node("DepthToSpace", ["a"], ["d"], blocksize=1), onnx.node("Flatten", ["d"], ["e"]),
                 onnx.node("Repeat", ["e"], ["f"], name="rep", domain="acme", times=1, body=onnx.Graph(
                     onnx.graph("body", [onnx.node("Add", ["bx", "c"], ["by"])], [], [onnx.value("bx", ["n", "m"])], [onnx.value("by", ["n", "m"])])))]
        save(self.path("m.onnx"), nodes, [onnx.value("x", [1, 1, 1, 2])], [onnx.value("f", [1, 2])])
        xml = self.later(["m.onnx"], {"x": ([1, 1, 1, 2], [3, 3])}, [3.5, 3.5])
        self.assertIn('type="Pass"', xml)
        r = graft("explain", "one/net.xml", cwd=self.folder)
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("acme::Pass", r.err)

    def test_a_mistake_that_does_not_follow_from_an_unknown_layer_is_still_one(self):
        nodes = [onnx.node("Pass", ["x"], ["a"], domain="acme"), onnx.node("Concat", ["x", "x"], ["b"], axis=9), onnx.node("Add", ["a", "b"], ["c"])]
        save(self.path("m.onnx"), nodes, [onnx.value("x", [3])], [onnx.value("c", ["n"])])
        r = graft("convert", "m.onnx", "-o", "one", "--stub-unknown", cwd=self.folder)
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("axis", r.err)
        self.assertNotIn("hint: use --stub-unknown", r.err)

    def test_caffe_with_weights(self):
        self.write("net.prototxt", r"""input: "x" input_shape { dim: 1 dim: 3 }
            layer { name: "s" type: "AcmeScale" bottom: "x" top: "s" acme_scale_param { inner { gain: 0.5 word: "a, b & \"c\"" } taps: 1 taps: 2 } }
            layer { name: "p" type: "InnerProduct" bottom: "s" top: "p" inner_product_param { num_output: 1 bias_term: false } }""")
        self.write("net.caffemodel", caffemodel({"s": ("AcmeScale", [([3], [2, 4, 6]), ([2], [10, 20])]), "p": ("InnerProduct", [([1, 3], [1, 1, 1])])}))
        self.later(["net.prototxt", "net.caffemodel"], {"x": ([1, 3], [1, 2, 3])}, [1 + 4 + 9 + 90])

    def test_tensorflow_with_attributes(self):
        table = dict(T=onnx.number(6, DT_FLOAT), size=onnx.data(7, tf_shape([1, 3])), taps=onnx.data(1, onnx.number(3, 2) + onnx.number(3, 5)),
                     code=onnx.data(2, b"\xff\0\x01"), table=onnx.data(8, tf_tensor([1, 3], [1, 2, 3])), gain=onnx.varint(4 << 3 | 5) + struct.pack("<f", 0.5))
        self.write("net.pb", tf_input("x", [1, 3]) + tf_node("t", "AcmeTable", ["x"], **table) + tf_node("y", "Relu", ["t"], T=onnx.number(6, DT_FLOAT)))
        self.later(["net.pb"], {"x": ([1, 3], [5, -5, 2])}, [5, 0, 6])

    def test_damaged_stubs_are_refused(self):
        self.write("net.pb", tf_input("x", [1, 3]) + tf_node("t", "AcmeTable", ["x"], T=onnx.number(6, DT_FLOAT), table=onnx.data(8, tf_tensor([1, 3], [1, 2, 3]))))
        r = graft("convert", "net.pb", "-o", ".", "--stub-unknown", cwd=self.folder)
        self.assertEqual(r.status, 0, r.all)
        with open(self.path("net.xml")) as f:
            good = f.read()
        for old, new, said in (('kind="tensor"', 'kind="tenser"', "unknown kind 'tenser' of a field"), ('offset="0" size="12" />\n\t\t\t\t</stub>', 'offset="8" size="12" />\n\t\t\t\t</stub>', "the constant lies at bytes"),
                               ('<value name="x" />', '<value name="x" items="7" />', "expected 7 items of the sequence 'x', got fewer inputs"),
                               ('framework="tensorflow"', 'frame="tensorflow"', "<stub> has no attribute 'framework'")):
            if old not in good:
                old = old.split("\n")[0]
            self.assertIn(old, good)
            head, _, tail = good.rpartition(old)
            self.write("net.xml", head + new.split("\n")[0] + tail if "\n" not in new else good.replace(old, new.split("\n")[0]))
            r = graft("explain", "net.xml", "--extensions", built("extensions", "stubs.so"), cwd=self.folder)
            self.assertNotEqual(r.status, 0, r.all)
            self.assertIn(said, r.err)


if __name__ == "__main__":
    main()
