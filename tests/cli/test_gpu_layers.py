#!/usr/bin/env python3
"""Ten custom layers on the device GPU, described by .xml and in the definition of an extension, with static and dynamic shapes.

  tests/cli/test_gpu_layers.py --build build [unittest arguments]

The operations, their references and kernels are in tests/extensions/custom_layers.cpp and tests/extensions/layers. Skipped, with the
exit code 77, where there is no OpenCL.
"""
import os

import gpu_case
import harness

FOLDER = os.path.join(harness.ROOT, "tests", "extensions", "layers")
IMAGES = ([2, 3, 4, 6], [1, 4, 6, 2])

# operation, attributes, shapes of the inputs in two runs, type of the elements, tolerance
LAYERS = [
    ("NegRelu", "negative_slope = 0.3", [[s] for s in IMAGES], "f32", 1e-6),
    ("Reorg", "stride = 2", [[s] for s in IMAGES], "f32", 0),
    ("Grn", "bias = 0.25", [[s] for s in IMAGES], "f32", 1e-5),
    ("PriorGrid", "sizes = [4.0, 10.5]", [[[1, 2, 3, 5], [1, 3, 30, 40]], [[1, 8, 2, 2], [1, 3, 16, 64]]], "f32", 1e-5),
    ("Blend", "weight = 0.75", [[s, s] for s in IMAGES], "f32", 1e-6),
    ("Range2", "", [[s] for s in IMAGES], "f32", 0),
    ("PickChannels", "order = [2, 0, 1, 1, 2]", [[s] for s in IMAGES], "f32", 0),
    ("HalfSwish", "", [[s] for s in IMAGES], "f16", 2e-3),
    ("ChannelPeak", "", [[s] for s in IMAGES], "f32", 0),
    ("RowMean", "", [[[2, 3, 4, 21]], [[1, 4, 6, 2]]], "f32", 1e-5),
]


def model(op, opset, attributes, shapes, kind):
    """The inputs are f32, around 0."""
    inputs = ", ".join("x%d: f32[%s]" % (i, ",".join(str(d) for d in s)) for i, s in enumerate(shapes))
    lines = []
    for i in range(len(shapes)):
        lines.append("a%d = Subtract(x%d, f32[] {0.5})" % (i, i))
        if kind != "f32":
            lines.append('a%d_ = Convert(a%d) {destination_type = "%s"}' % (i, i, kind))
    ends = "" if kind == "f32" else "_"
    outputs = 2 if op == "Range2" else 1
    lines.append("y = %s@%s(%s) {%s}" % (op, opset, ", ".join("a%d%s" % (i, ends) for i in range(len(shapes))), attributes))
    return "graph (%s) {\n  %s\n  return %s\n}" % (inputs, "\n  ".join(lines), ", ".join(["y", "y.1"][:outputs]))


class Layers(gpu_case.Gpu):
    def check(self, dynamic):
        library = harness.built("extensions", "custom_layers.so")
        for op, attributes, runs, kind, tolerance in LAYERS:
            for shapes in runs:
                declared, arguments = shapes, []
                if dynamic:
                    declared = [["?"] * len(s) for s in shapes]
                    for i, s in enumerate(shapes):
                        count = gpu_case.product(s)
                        harness.write_npy(self.path("x%d.npy" % i), s, [(j * 7 % count) / count for j in range(count)])
                        arguments += ["--input", "x%d=x%d.npy" % (i, i)]
                with self.subTest(op=op, shapes=shapes):
                    self.write("model.txt", model(op, "plain", attributes, declared, kind))
                    expected = self.results("REFERENCE", "--extensions", library, *arguments)
                    described = self.results("GPU", "--extensions", library, "-c", os.path.join(FOLDER, "layers.xml"), *arguments)
                    self.close(described, expected, tolerance)
                    if not dynamic:
                        self.used("custom_layer", "--extensions", library, "-c", os.path.join(FOLDER, "layers.xml"))
                    self.write("model.txt", model(op, "cl", attributes, declared, kind))
                    self.close(self.results("GPU", "--extensions", library, *arguments), expected, tolerance)
                    if not dynamic:
                        self.used("_cl", "--extensions", library)

    def used(self, kernel, *arguments):
        r = self.graft("explain", "model.txt", "-d", "GPU", *arguments)
        self.assertRegex(r.out, r"(?m)^ +y .*%s " % kernel)

    def test_static_shapes(self):
        self.check(dynamic=False)

    def test_dynamic_shapes(self):
        self.check(dynamic=True)


if __name__ == "__main__":
    gpu_case.main()
