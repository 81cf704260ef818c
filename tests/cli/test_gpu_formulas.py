#!/usr/bin/env python3
"""Element-wise operations on the device GPU from their formulas in C++ and Python, and chains of them in one kernel.

  tests/cli/test_gpu_formulas.py --build build [unittest arguments]

Skipped, with the exit code 77, where there is no OpenCL: apt-get install pocl-opencl-icd.
"""
import json
import random
import re
import struct

import gpu_case
import harness
from harness import write_npy


def ulps(a, b):
    """The distance between two floats, in units of the last place."""
    def place(v):
        i = struct.unpack("<i", struct.pack("<f", v))[0]
        return i if i >= 0 else -(i & 0x7fffffff)
    if a != a or b != b:
        return 0 if a != a and b != b else 1 << 32
    return abs(place(a) - place(b))


class Near(gpu_case.Gpu):
    def setUp(self):
        super().setUp()
        self.library = harness.built("extensions", "formulas.so")

    def near(self, graph, *inputs, extension=None, most=2, devices=("CPU", "GPU")):
        """Both devices within `most` units of the last place; what `graft explain` says about the second."""
        extension = extension or self.library
        self.write("model.txt", graph)
        arguments = ["--extensions", extension]
        generator = random.Random(1)
        for name, dims in inputs:
            count = 1
            for d in dims:
                count *= d
            write_npy(self.path(name + ".npy"), dims, [generator.uniform(-3, 3) for _ in range(count)])
            arguments += ["--input", "%s=%s.npy" % (name, name)]
        expected, got = (self.results(d, *arguments) for d in devices)
        self.assertEqual([s for s, _ in got], [s for s, _ in expected])
        for (_, a), (_, b) in zip(got, expected):
            self.assertLessEqual(max(ulps(p, q) for p, q in zip(a, b)), most)
        return self.kernels(extension)

    def kernels(self, extension, device="GPU"):
        r = self.graft("explain", "model.txt", "-d", device, "--extensions", extension, "--json")
        self.assertEqual(r.status, 0, r.all)
        return {k["node"]: k for k in json.loads(r.out)["kernels"]}


class Formulas(Near):
    def test_a_formula_in_cpp(self):
        one = [("x", [5, 7])]
        for op, most in (("Leaky@formulas(x) {slope = 0.125}", 0), ("LeakySelect@formulas(x)", 0), ("Bent@formulas(x)", 2), ("Positive@formulas(x)", 0),
                         ("Outside@formulas(x)", 0), ("HalfInDouble@formulas(x)", 1), ("Absolute@formulas(x)", 0), ("PlainAbsolute@formulas(x)", 0),
                         ("AtLeast@formulas(x)", 0), ("AtMost@formulas(x)", 0), ("Between@formulas(x)", 0), ("Flipped@formulas(x) {flip = true}", 0),
                         ("Steps@formulas(x)", 0)):
            kernels = self.near("graph (x: f32[5,7]) { y = %s return y }" % op, *one, most=most)
            self.assertEqual(kernels["y"]["kernel"], "formula", op)
        for op, most in (("Gate@formulas(a, b)", 2), ("Larger@formulas(a, b)", 2), ("WithNumbers@formulas(a, b)", 2), ("Above@formulas(a, b)", 0)):
            self.near("graph (a: f32[2,3,4], b: f32[3,1]) { y = %s return y }" % op, ("a", [2, 3, 4]), ("b", [3, 1]), most=most)
        self.near("graph (a: f32[4,1], b: f32[1,5], c: f32[]) { y = Blend@formulas(a, b, c) return y }", ("a", [4, 1]), ("b", [1, 5]), ("c", []))

    def test_other_types(self):
        for kind in ("f16", "bf16", "f64"):
            self.write("model.txt", "graph (x: %s[41]) { y = Convert(Bent@formulas(x)) {destination_type = f32} return y }" % kind)
            expected, got = (self.results(d, "--extensions", self.library)[0][1] for d in ("REFERENCE", "GPU"))
            for p, q in zip(got, expected):
                self.assertLessEqual(abs(p - q), {"f16": 2e-3, "bf16": 2e-2, "f64": 1e-6}[kind])

    def test_what_cannot_be_translated_says_why(self):
        for op, reason in (("Series@formulas(x)", "formula declined with 'the formula uses its input as a plain number, so it cannot be translated: expected "),
                           ("Truncated@formulas(x)", "the formula uses its input as a plain number"), ("SoftPlusInDouble@formulas(x)", "the formula uses its input as a plain number"),
                           ("Whole@formulas(x)", "operation Whole has no GPU kernel; its formula takes plain numbers, so it cannot be translated")):
            self.write("model.txt", "graph (x: f32[5]) { return %s }" % op)
            r = self.graft("run", "model.txt", "-d", "GPU", "--extensions", self.library)
            self.assertEqual(r.status, 2, r.all)
            self.assertIn(reason, r.err)
        self.write("model.txt", "graph (x: i32[5]) { return Leaky@formulas(x) }")
        self.assertIn("expected floating-point numbers, got i32", self.graft("run", "model.txt", "-d", "GPU", "--extensions", self.library).err)

    def test_the_list_of_operations(self):
        r = self.graft("ops", "Gate", "--extensions", self.library)
        self.assertRegex(r.out, r"GPU\W+formula")

    def test_a_chain_is_one_kernel(self):
        graph = "graph (x: f32[2,3,8,8], c: f32[3,1,1]) {\n  a = Leaky@formulas(x) {slope = 0.125}\n  b = Multiply(a, c)\n  d = Gate@formulas(b, x)\n  e = Add(d, f32[] {0.5})\n  return %s\n}"
        kernels = self.near(graph % "e", ("x", [2, 3, 8, 8]), ("c", [3, 1, 1]))
        self.assertEqual(kernels["e"]["kernel"], "fused_elementwise")
        for name in "abd":
            self.assertEqual((kernels[name]["kernel"], kernels[name]["note"]), ("", "in the kernel of e"))
        fused = self.results("GPU", "--extensions", self.library, "--input", "x=x.npy", "--input", "c=c.npy")[0]
        # The same operations one by one, because each is a result: not a bit differs.
        kernels = self.near(graph % "a, b, d, e", ("x", [2, 3, 8, 8]), ("c", [3, 1, 1]))
        self.assertEqual([kernels[name]["kernel"] for name in "abde"], ["formula", "elementwise", "formula", "elementwise"])
        self.assertEqual(self.results("GPU", "--extensions", self.library, "--input", "x=x.npy", "--input", "c=c.npy")[3], fused)

    def test_the_profile_of_a_chain(self):
        self.write("model.txt", "graph (x: f32[2,3]) { a = Leaky@formulas(x) b = Exp(a) return b }")
        r = self.graft("bench", "model.txt", "-d", "GPU", "--extensions", self.library, "--niter", "2", "--pc", "--json")
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual([(o["name"], o["kernel"]) for o in json.loads(r.out)["operations"]], [("b", "fused_elementwise")])


class Scaffold(gpu_case.Gpu):
    """graft new --gpu, from the name of an operation to numbers on the device."""

    def test_from_a_name_to_numbers(self):
        r = self.graft("new", "Twist", "--domain", "acme", "--gpu")
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("twist_source in twist/twist.cpp", r.out)
        self.build()
        self.write("model.txt", "graph (x: f32[2,3]) { return Twist@acme(x) }")
        r = self.graft("run", "model.txt", "-d", "GPU", "--extensions", "twist/build/libtwist.so")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("twist_source is not implemented yet", r.err)
        with open(self.path("twist", "twist.cpp")) as f:
            source = f.read()
        source = re.sub(r"#error twist_source.*", "  y0[i] = 2 * x0[i] + 1;", source)
        source = re.sub(r"  graft::fail\(.*", "  std::vector<double> x = ctx.input(0).to<double>();\n  for (double& v : x) v = 2 * v + 1;\n  ctx.output(0).assign(x);", source)
        self.write("twist/twist.cpp", source)
        self.build()
        self.write("model.txt", "graph (x: f32[2,3]) { return Twist@acme(x) }")
        expected, got = (self.results(d, "--extensions", "twist/build/libtwist.so") for d in ("REFERENCE", "GPU"))
        self.assertEqual(got, expected)
        r = self.graft("check", "twist/build/libtwist.so", "--cases", "20")
        self.assertEqual(r.status, 0, r.all)
        self.assertRegex(r.out, r"GPU:twist_cl [1-9]")

    def test_check_finds_wrong_results(self):
        self.graft("new", "Twist", "--domain", "acme", "--gpu")
        with open(self.path("twist", "twist.cpp")) as f:
            source = f.read()
        # Every element but the last of a large tensor.
        source = re.sub(r"#error twist_source.*", "  y0[i] = i == 5 ? 0 : x0[i];", source)
        source = re.sub(r"  graft::fail\(.*", "  ctx.output(0).assign(ctx.input(0).to<double>());", source)
        self.write("twist/twist.cpp", source)
        self.build()
        r = self.graft("check", "twist/build/libtwist.so", "--cases", "30")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("kernel GPU:twist_cl: ", r.out)

    def build(self):
        r = self.graft("build", "twist")
        self.assertEqual(r.status, 0, r.all)


class Python(Near):
    def setUp(self):
        super().setUp()
        self.write("ops.py", """import graft
import numpy as np


@graft.op(opset="acme")
def Wave(x, gain: float = 2.0):
    return np.where(x > 0, np.sin(gain * x), np.maximum(x, -1.5)) + np.square(x) / 3


@graft.op(opset="acme", elementwise=True)
def Counted(x):
    return x + len(x)
""")

    def test_an_expression_in_python(self):
        kernels = self.near("graph (x: f32[4,9]) { y = Wave@acme(x) {gain = 1.5} return y }", ("x", [4, 9]), extension="ops.py")
        self.assertEqual(kernels["y"]["kernel"], "formula")
        kernels = self.near("graph (x: f32[4,9]) { a = Wave@acme(x) y = Relu(a) return y }", ("x", [4, 9]), extension="ops.py")
        self.assertEqual(kernels["y"]["kernel"], "fused_elementwise")

    def test_what_is_no_expression(self):
        self.write("model.txt", "graph (x: f32[5]) { return Counted@acme(x) }")
        r = self.graft("run", "model.txt", "-d", "GPU", "--extensions", "ops.py")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("not traced: the function asks for single elements of its input", r.err)


if __name__ == "__main__":
    gpu_case.main()
