#!/usr/bin/env python3
"""`graft capture`, and `graft run --check` on models with custom operations.

  tests/cli/test_capture.py --build build [unittest arguments]
"""
import re

from harness import Case, built, graft, main, onnx, read_npy, save, write_npy

def faults():
    return "--extensions", built("extensions", "faults.so")


class Capture(Case):
    def model(self):
        """A convolution, its positive places, and a sum."""
        nodes = [onnx.node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]), onnx.node("Relu", ["c"], ["r"], name="relu"),
                 onnx.node("NonZero", ["r"], ["places"], name="where"), onnx.node("ReduceSum", ["r"], ["sum"], name="total", keepdims=0)]
        path = self.path("m.onnx")
        save(path, nodes, [onnx.value("x", [1, 2, 4, 5])], [onnx.value("places", [4, "n"], onnx.INT64), onnx.value("sum", [])],
             [onnx.tensor("w", [3, 2, 3, 3], [(i * 7 % 11 - 5) / 4 for i in range(54)])])
        write_npy(self.path("x.npy"), [1, 2, 4, 5], [(i * 5 % 13 - 6) / 2 for i in range(40)])
        return path

    def capture(self, *arguments):
        return graft("capture", self.model(), "--input", "x=" + self.path("x.npy"), *arguments)

    def test_a_layer_that_is_called_like_an_output(self):
        path = self.path("y.onnx")
        save(path, [onnx.node("Abs", ["x"], ["a"]), onnx.node("Neg", ["a"], ["y"], name="y")], [onnx.value("x", [2])], [onnx.value("y", [2])])
        write_npy(self.path("two.npy"), [2], [1, -2])
        for name in ("y", "a"):
            r = graft("capture", path, "--input", self.path("two.npy"), "--node", name)
            self.assertEqual(r.status, 0, r.all)
            self.assertIn({"y": "Negative", "a": "Abs"}[name], r.out)
        self.assertIn("-> f32[2] {-1, -2}", graft("capture", path, "--input", self.path("two.npy"), "--node", "y").out)

    def replayed(self, cases):
        r = graft("check", self.path("n.test"))
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("%d of %d cases of .test files passed" % (cases, cases), r.out)

    def test_a_case_replays_by_node_and_by_tensor(self):
        for name in ("conv", "c"):
            r = self.capture("--node", name, "-o", self.path("n.test"))
            self.assertEqual(r.status, 0, r.all)
            self.replayed(1)
        with open(self.path("n.test")) as f:
            case = f.read()
        self.assertIn("Convolution@1", case)
        self.assertIn("-> f32[1,3,4,5]", case)
        # A wrong expectation fails, so the values are really compared.
        self.write("n.test", re.sub(r"(-> f32\[1,3,4,5\] \{)[^,]*", r"\g<1>77", case))
        r = graft("check", self.path("n.test"))
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("expected 77", r.out)

    def test_several_nodes(self):
        r = self.capture("--node", "conv", "--node", "relu", "--node", "total", "-o", self.path("n.test"))
        self.assertEqual(r.status, 0, r.all)
        self.replayed(3)

    def test_a_data_dependent_shape(self):
        r = self.capture("--node", "where", "-o", self.path("n.test"))
        self.assertEqual(r.status, 0, r.all)
        self.replayed(1)

    def test_a_case_of_a_custom_operation_shows_its_fault(self):
        self.write("m.graph", 'graph (x: f32[3] "x") { a = Abs(x) y = PastTheEnd@faults(a) return y }')
        r = graft("capture", self.path("m.graph"), "--node", "y", *faults(), "-o", self.path("n.test"))
        self.assertEqual(r.status, 0, r.all)
        r = graft("check", built("extensions", "faults.so"), self.path("n.test"), "--op", "PastTheEnd")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("write past the end", r.out)

    def test_near_names_are_suggested(self):
        for wrong, near in (("conc", "conv"), ("plases", "places"), ("totl", "total")):
            r = self.capture("--node", wrong)
            self.assertEqual(r.status, 1, r.all)
            self.assertIn("the model has no node '%s'" % wrong, r.err)
            self.assertIn("did you mean %s?" % near, r.err)
        r = self.capture("--node", "x")
        self.assertEqual(r.status, 1, r.all)
        self.assertIn("expected a node that computes on its own", r.err)


class RunCheck(Case):
    def network(self, operation):
        """A small network with an operation of an extension in the middle."""
        self.write("net.graph", """graph (x: f32[1,2,5,5] "x") {
          w = f32[3,2,3,3] random(1, -1, 1)
          c = Convolution@1(x, w) {strides = [1,1], pads_begin = [1,1], pads_end = [1,1], dilations = [1,1]}
          r = Relu(c)
          m = %s@faults(r)
          f = Reshape@1(m, i64[2] {1, 75}) {special_zero = false}
          y = MatMul@1(f, f32[75,4] random(2, -1, 1)) {transpose_a = false, transpose_b = false} : f32[1,4] "y"
          return y
        }""" % operation)
        return self.path("net.graph")

    def test_a_faulty_kernel_is_found(self):
        for operation, fault in (("PastTheEnd", "write past the end"), ("InputModified", "input modified"), ("Unwritten", "element not written"),
                                 ("WrongTail", "differs from the reference")):
            r = graft("run", self.network(operation), *faults(), "--quiet", "--check")
            self.assertEqual(r.status, 2, r.all)
            self.assertRegex(r.out, "FAIL m, kernel .*: " + fault)
            self.assertIn("1 finding", r.err)

    def test_a_clean_run_is_silent_and_gives_the_same(self):
        found = []
        for check in ([], ["--check"]):
            r = graft("run", self.network("Sound"), *faults(), "--quiet", "--output-dir", self.path("out"), *check)
            self.assertEqual(r.status, 0, r.all)
            self.assertNotIn("FAIL", r.all)
            found.append((read_npy(self.path("out", "0.npy")), r.out))
        self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    main()
