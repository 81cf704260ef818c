#!/usr/bin/env python3
"""Devices: HETERO and affinities, queries, pictures, operations that a device lacks.

  tests/cli/test_hetero.py --build build [unittest arguments]
"""
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

import harness
from harness import graft

BRANCHES = """graph (x: f32[1,4] "x") {
  a = Abs(x) : f32[1,4] "a"
  b = Exp(a) : f32[1,4] "b"
  c = Negative(a) : f32[1,4] "c"
  y = Add(b, c) : f32[1,4] "y"
  return y
}"""


class Hetero(harness.Case):
    def setUp(self):
        super().setUp()
        self.model = self.write("branches.graph", BRANCHES)

    def good(self, *arguments):
        r = graft(*arguments)
        self.assertEqual(r.status, 0, r.all)
        return r.out

    def test_run_equals_the_single_device(self):
        harness.write_npy(self.path("x.npy"), [1, 4], [-1, 2, 0, 3])
        results = []
        for device, more in (("REFERENCE", []), ("HETERO:CPU,REFERENCE", ["--affinity", "b=REFERENCE", "--affinity", "y=REFERENCE"])):
            folder = self.path(device.replace(":", "_"))
            self.good("run", self.model, "-d", device, "--input", "x=" + self.path("x.npy"), "--output-dir", folder, *more)
            with open(os.path.join(folder, "outputs.json")) as f:
                results.append(harness.read_npy(os.path.join(folder, json.load(f)[0]["file"])))
        for a, b in zip(*results):
            self.assertAlmostEqual(a, b, places=4)

    def test_explain_lists_parts_and_crossings(self):
        out = self.good("explain", self.model, "-d", "HETERO:CPU,REFERENCE", "--affinity", "b=REFERENCE")
        self.assertIn("Kernels on HETERO:CPU,REFERENCE\n Part 0 on CPU\n", out)
        self.assertIn(" Part 1 on REFERENCE, after phase 0\n", out)
        self.assertRegex(out, r"  a +0 \(CPU\) -> 1 \(REFERENCE\) +f32\[1,4\] +16 bytes, not copied\n")
        self.assertRegex(out, r"\n  \d values, \d+ bytes, 0 copied\n")
        data = json.loads(self.good("explain", self.model, "-d", "HETERO:CPU,REFERENCE", "--affinity", "b=REFERENCE", "--json"))
        self.assertEqual([p["device"] for p in data["parts"]], ["CPU", "REFERENCE", "CPU"])
        self.assertEqual({k["node"]: k["part"] for k in data["kernels"]}["b"], 1)
        self.assertEqual(sum(c["bytes"] for c in data["crossings"]), 16 * len(data["crossings"]))

    def test_query(self):
        out = self.good("explain", self.model, "--query", "-d", "REFERENCE")
        self.assertEqual(out.splitlines()[0], "REFERENCE supports 4 of 4 layers")
        data = json.loads(self.good("explain", self.model, "--query", "-d", "HETERO:REFERENCE,CPU", "--json"))
        self.assertEqual((data["supported"], data["layers"][0]["device"]), (True, "REFERENCE"))
        self.assertIn("supports 4 of 4 layers of the model", self.good("devices", self.model))

    def test_wrong_requests(self):
        for arguments, message in (
                (["-d", "HETERO:CPU,TPU"], "unknown device 'TPU'"), (["-d", "HETERO"], "expected devices after HETERO"),
                (["-d", "HETERO:CPU", "--affinity", "b"], "--affinity: expected LAYER=DEVICE, got 'b'"),
                (["-d", "HETERO:CPU", "--affinity", "z=CPU"], "the model has no layer 'z', which has an affinity"),
                (["-d", "HETERO:CPU", "--affinity", "b=REFERENCE"], "is REFERENCE, which is not among the devices of HETERO:CPU"),
                (["--affinity", "b=CPU"], "affinities were given, but the model is compiled for CPU alone")):
            r = graft("run", self.model, *arguments)
            self.assertEqual((r.status, message in r.err), (1, True), r.all)

    def test_pictures(self):
        model = self.model
        dot = self.good("explain", model, "-d", "HETERO:CPU,REFERENCE", "--affinity", "b=REFERENCE", "--dot")
        self.assertTrue(dot.startswith("digraph model {\n") and dot.endswith("}\n"))
        self.assertEqual(len(set(re.findall(r'fillcolor="(#\w+)"', dot))), 3, "two devices, and the border")
        self.assertEqual(len(re.findall(r"n\d+ -> n\d+", dot)), 6)
        self.assertIn('label="f32[1,4]"', dot)
        # The color of a device is its place in the list, not the order in which devices are used.
        key = re.search(r'device1 .*label="REFERENCE".*\n', dot).group()
        self.assertIn(key, self.good("explain", model, "-d", "HETERO:CPU,REFERENCE", "--affinity", "a=REFERENCE", "--dot"))
        if shutil.which("dot"):
            p = subprocess.run(["dot", "-Tplain"], input=dot, capture_output=True, text=True)
            self.assertEqual(p.returncode, 0, p.stderr)
        path = self.path("picture.svg")
        self.assertEqual(self.good("explain", model, "-d", "HETERO:CPU,REFERENCE", "--affinity", "b=REFERENCE", "--svg", path), "")
        texts = [e.text for e in xml.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")]
        for expected in ("CPU", "REFERENCE", "from device to device", "a", "Exp", "x", "input", "output", "f32[1,4]"):
            self.assertIn(expected, texts)
        # Every layer is drawn inside of the picture.
        root = xml.parse(path).getroot()
        for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
            if rect.get("x"):
                self.assertGreaterEqual(float(rect.get("x")), 0)
                self.assertLessEqual(float(rect.get("x")) + float(rect.get("width")), float(root.get("width")))
        r = graft("explain", model, "--dot", "--query")
        self.assertEqual(r.status, 1)

    def test_names_are_escaped_in_pictures(self):
        path = self.path("names.onnx")
        harness.save(path, [harness.onnx.node("Relu", ["x"], ["a\"<&>\\\n\x07b"]), harness.onnx.node("Exp", ["a\"<&>\\\n\x07b"], ["y"])],
                     [harness.onnx.value("x", [3])], [harness.onnx.value("y", [3])])
        svg = self.path("names.svg")
        self.good("explain", path, "--svg", svg)
        texts = [e.text for e in xml.parse(svg).getroot().iter("{http://www.w3.org/2000/svg}text")]
        self.assertTrue(any(t.startswith('a"<&>\\ \\x07b') for t in texts), texts)
        dot = self.good("explain", path, "--dot")
        self.assertIn('a\\"<&>\\\\ \\\\x07b', dot)

    def test_missing_kernels_of_a_device(self):
        self.assertIn("every known operation has a kernel", self.good("ops", "--missing"))
        out = self.good("ops", "--missing", "-d", "CPU")
        self.assertRegex(out, r"\d+ operations without a kernel for CPU\n$")
        r = graft("ops", "--missing", "-d", "TPU")
        self.assertEqual((r.status, "unknown device 'TPU'" in r.err), (1, True), r.all)
        self.assertEqual(graft("ops", "-d", "CPU").status, 1)


if __name__ == "__main__":
    harness.main()
