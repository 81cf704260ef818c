#!/usr/bin/env python3
"""Limits on what a model may ask for: each refusal names the option that raises it, and the option does.

  tests/cli/test_limits.py --build build [unittest arguments]
"""
import json
import os
import re
import struct
import zlib

import harness
from harness import graft, onnx

LIMITS = ("nodes depth rank dimension attributes files items sequence-items expanded-bytes inlined unrolled body-nodes fold-value fold-bytes "
          "fold-work value-bytes npz-bytes pixels").split()


class Limits(harness.Case):
    def relus(self, count):
        path = self.path("relus.onnx")
        names = ["x"] + ["v%d" % i for i in range(count - 1)] + ["y"]
        harness.save(path, [onnx.node("Relu", [a], [b]) for a, b in zip(names, names[1:])], [onnx.value("x", [3])], [onnx.value("y", [3])])
        return path

    def folded(self):
        """y = x + sum of a large constant."""
        path = self.path("folded.onnx")
        harness.save(path, [onnx.node("ConstantOfShape", ["d"], ["c"]), onnx.node("ReduceSum", ["c"], ["s"], keepdims=0),
                            onnx.node("Add", ["x", "s"], ["y"])],
                     [onnx.value("x", [3])], [onnx.value("y", [3])], [onnx.tensor("d", [2], [1000, 1000], onnx.INT64)])
        return path

    def array(self, name, kind, dims, content):
        header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (kind, ",".join(map(str, dims)))
        header += " " * (-(len(header) + 11) % 64) + "\n"
        self.write(name, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content)

    def test_help_lists_all(self):
        for command in ("convert", "run", "explain", "bench", "new"):
            shown = " ".join(graft(command, "--help").out.split())
            for name in LIMITS:
                self.assertRegex(shown, r"[ ,]%s\b" % name)

    def test_the_guide_lists_all(self):
        with open(os.path.join(harness.ROOT, "docs", "guide", "errors.md")) as f:
            self.assertEqual(re.findall(r"(?m)^\| `([\w-]+)` \| [\d,^]+", f.read()), LIMITS)

    def test_a_refusal_names_the_option(self):
        model = self.relus(20)
        for command in (["convert", model, "-o", self.path("out")], ["run", model], ["explain", model], ["bench", model, "-t", "1"]):
            r = graft(*command, "--limit", "nodes=10")
            self.assertEqual(r.status, 2, r.all)
            self.assertIn("error: the model has more than 10 nodes", r.err)
            self.assertIn("hint: if you trust the file, raise the limit with --limit nodes=VALUE", r.err)
        self.assertEqual(graft("convert", model, "-o", self.path("out"), "--limit", "nodes=20").status, 0)

    def test_the_last_value_counts_and_units(self):
        self.assertEqual(graft("explain", self.relus(20), "--limit", "nodes=10", "--limit", "nodes=1K").status, 0)

    def test_wrong_values(self):
        for given, message in (("nodes", "expected NAME=VALUE with a positive integer as a limit, got 'nodes'"), ("nodes=0", "expected NAME=VALUE"),
                               ("nodes=-1", "expected NAME=VALUE"), ("nodes=99999999999G", "expected NAME=VALUE"), ("node=5", "unknown limit 'node'"),
                               ("depth=1000", "limit 'depth': expected a value from 1 to 256, got 1000")):
            r = graft("explain", self.relus(1), "--limit", given)
            self.assertEqual(r.status, 1, r.all)
            self.assertIn(message, r.err)

    def test_rank(self):
        path = self.path("rank.onnx")
        harness.save(path, [onnx.node("Unsqueeze", ["x", "a"], ["y"])], [onnx.value("x", [3])], [onnx.data(1, "y")],
                     [onnx.tensor("a", [35], list(range(35)), onnx.INT64)])
        r = graft("convert", path, "-o", self.path("out"))
        self.assertEqual(r.status, 2)
        self.assertIn("expected a rank of at most 32, got 36", r.err)
        self.assertIn("--limit rank=VALUE", r.err)
        self.assertEqual(graft("convert", path, "-o", self.path("out"), "--limit", "rank=40").status, 0)
        self.assertIn("--limit rank=VALUE", graft("explain", self.path("out", "rank.xml")).err)
        self.assertEqual(graft("explain", self.path("out", "rank.xml"), "--limit", "rank=40").status, 0)

    def test_rank_of_text_and_values(self):
        ones = ",".join(["1"] * 35)
        self.write("rank.graph", 'graph (x: f32[%s] "x") { y = Relu(x) : f32[%s] "y" return y }' % (ones, ones))
        self.array("x.npy", "<f4", [1] * 35, struct.pack("<f", 2))
        command = ["run", self.path("rank.graph"), "-i", "x=" + self.path("x.npy")]
        r = graft(*command)
        self.assertEqual(r.status, 2)
        self.assertIn("a shape has more than 32 dimensions", r.err)
        self.assertIn("--limit rank=VALUE", r.err)
        self.assertEqual(graft(*command, "--limit", "rank=35").status, 0)

    def test_values_with_data_dependent_shapes(self):
        """Every way to allocate one: inferred at run time, by a kernel, inside a body, and collected by a loop."""
        graphs = {
            "random": "return RandomUniform(s, f32[] {0}, f32[] {1}) {output_type = f32, op_seed = 1}",
            "range": "n = Squeeze(s, i64[1] {0}) return Range@4(i64[] {0}, n, i64[] {1}) {output_type = f32}",
            "nonzero": "return NonZero(Broadcast(i64[] {1}, s)) {output_type = i64}",
            "body": "n = Squeeze(s, i64[1] {0}) y = Loop@5(n, boolean[] {1}, f32[1] {1}) body (a <- 2) -> (b -> 0, go -> condition) feed (b -> a) "
                    "graph (a: f32[?]) { return b = Concat(a, a) {axis = 0}, go = boolean[] {1} } return y",
        }
        for name, body in graphs.items():
            with self.subTest(name):
                self.write(name + ".graph", 'graph (s: i64[1] "s") { %s }' % body)
                self.array("s.npy", "<i8", [1], struct.pack("<q", 60 if name == "body" else 5000))
                for device in ("CPU", "REFERENCE"):
                    command = ["run", self.path(name + ".graph"), "-i", "s=" + self.path("s.npy"), "-d", device, "--quiet"]
                    r = graft(*command, "--limit", "value-bytes=10K")
                    self.assertEqual(r.status, 2, r.all)
                    self.assertIn("error: expected at most 10240 bytes for a value with a data-dependent shape, got ", r.err)
                    self.assertIn("--limit value-bytes=VALUE", r.err)
                    if name != "body":
                        self.assertEqual(graft(*command, "--limit", "value-bytes=100K").status, 0)

    def test_text_that_a_run_makes(self):
        """Stored by a kernel, and copied for the caller."""
        graphs = {"made": 'a = StringConcat(s, s) b = StringConcat(a, a) c = StringConcat(b, b) return StringConcat(c, c)',
                  "copied": "return Tile(s, i64[1] {100})"}
        for name, body in graphs.items():
            self.write(name + ".graph", 'graph (s: string[1] "s") { %s }' % body)
            self.array("s.npy", "<U1000", [1], ("a" * 1000).encode("utf-32-le"))
            for device in ("CPU", "REFERENCE"):
                with self.subTest(name, device=device):
                    command = ["run", self.path(name + ".graph"), "-i", "s=" + self.path("s.npy"), "-d", device, "--quiet"]
                    r = graft(*command, "--limit", "value-bytes=10K")
                    self.assertEqual(r.status, 2, r.all)
                    self.assertIn("error: expected at most 10240 bytes of text, got ", r.err)
                    self.assertIn("--limit value-bytes=VALUE", r.err)
                    self.assertEqual(graft(*command, "--limit", "value-bytes=1M").status, 0)

    def test_nodes_by_the_size_of_the_file(self):
        """Without a limit of their own, tiny nodes are as many as is in proportion to the file."""
        path = self.path("many.onnx")
        nodes = [onnx.node("Relu", ["x" if i == 0 else "v%d" % (i - 1)], ["v%d" % i]) for i in range(300000)]
        harness.save(path, nodes, [onnx.value("x", [3])], [onnx.value("v299999", [3])])
        most = 70000 + os.path.getsize(path) // 96
        self.assertLess(most, 300000)
        r = graft("explain", path)
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("error: the model has more than %d nodes" % most, r.err)
        self.assertIn("--limit nodes=VALUE", r.err)
        r = graft("explain", path, "--limit", "nodes=140000")
        self.assertIn("error: the model has more than 140000 nodes", r.err)

    def test_what_is_not_folded_is_told(self):
        model = self.folded()
        self.assertNotIn("unfolded", graft("explain", model).out)
        limit = ["--limit", "fold-work=1000"]
        expected = r"left \d+ nodes? unfolded for lack of budget \('[^)]*\); --limit fold-work=VALUE raises it"
        self.assertRegex(graft("explain", model, *limit).out, "\nFolding " + expected)
        report = json.loads(graft("explain", "--json", model, *limit).out)["unfolded"]
        self.assertEqual(report["limit"], "fold-work")
        self.assertTrue(report["nodes"])
        convert = ["convert", model, "-o", self.path("out"), *limit]
        self.assertRegex(graft(*convert, "--log_level", "info").err, expected)
        self.assertNotIn("unfolded", graft(*convert).all)
        # Results do not depend on it.
        for more in ([], limit):
            self.assertEqual(graft("run", model, "--output-dir", self.path("o" + "".join(more[1:])), *more).status, 0)
        self.assertEqual(harness.read_npy(self.path("o", "0.npy")), harness.read_npy(self.path("ofold-work=1000", "0.npy")))

    def test_pixels(self):
        side = 4000
        row = zlib.compress(bytes((side // 8 + 1) * side), 9)
        chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        self.write("x.png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)) + chunk(b"IDAT", row) + chunk(b"IEND", b""))
        self.write("m.graph", 'graph (x: f32[1,1,?,?] "x") { y = ReduceMax(x, i64[2] {2, 3}) {keep_dims = false} : f32[1,1] "y" return y }')
        command = ["run", self.path("m.graph"), "-i", "x=" + self.path("x.png")]
        r = graft(*command)
        self.assertEqual(r.status, 2)
        self.assertRegex(r.err, r"expected an image of at most \d+ pixels, got 4000 x 4000")
        self.assertIn("--limit pixels=VALUE", r.err)
        self.assertEqual(graft(*command, "--limit", "pixels=16M").status, 0)


if __name__ == "__main__":
    harness.main()
