#!/usr/bin/env python3
"""IRs for older runtimes: versions of the IR, limits on the opset, and what the report says about them.

  tests/cli/test_ir_versions.py --build build [unittest arguments]
"""
import json
import os
import re

from harness import graft, main
from small_net import ConvertCase

POOL = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 dim: 4 dim: 4 } } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: %s kernel_size: 3 stride: 2 } }
"""
LATE = """graph (x: f32[6]) {
  a = TopK@11(x, i64[] {2}) {axis = 0, mode = "max", sort = "value", stable = true}
  b = TopK@11(x, i64[] {3}) {axis = 0, mode = "max", sort = "value", stable = true}
  return a.1, b.1, SoftSign(x)
}"""


class Opsets(ConvertCase):
    def versions(self, report):
        return dict(re.findall(r'type="(\w+)" version="(\w+)"', self.xml(report)))

    def test_pools_of_caffe_load_in_old_runtimes(self):
        for kind, type in (("MAX", "MaxPool"), ("AVE", "AvgPool")):
            r = self.convert(self.write("pool.prototxt", POOL % kind))
            self.assertEqual(self.versions(r)[type], "opset1")
            self.assertEqual((r["opset"], r["ir_version"]), (1, 11))
            self.assertIn("lower_opsets", [p["name"] for p in r["passes"] if p["changes"]])
            # Layers keep their names, also where a version has fewer outputs.
            self.assertIn('name="pool" type="%s"' % type, self.xml(r))
            self.assertEqual(len(self.run_ir(r, ([1, 1, 4, 4], list(range(16))))[0]), 4)

    def test_without_the_pass_the_version_is_that_of_the_import(self):
        r = self.convert(self.write("pool.prototxt", POOL % "MAX"), "--disable-pass", "lower_opsets")
        self.assertEqual(self.versions(r)["MaxPool"], "opset14")
        self.assertEqual(r["opset"], 14)

    def test_nodes_that_are_kept_from_fusing_are_restated_all_the_same(self):
        r = self.convert(self.write("pool.prototxt", POOL % "MAX"), "--finegrain_fusing", "pool")
        self.assertEqual(self.versions(r)["MaxPool"], "opset1")

    def test_the_pass_is_listed_once_and_last(self):
        lines = graft("convert", "--list-passes", self.write("pool.prototxt", POOL % "MAX")).out.splitlines()
        written = [line for line in lines if " write " in line[:34]]
        self.assertEqual([line.split()[0] for line in written], ["lower_opsets"])
        self.assertEqual(sum("lower_opsets" in l for l in lines), 1)

    def test_a_limit_lists_all_that_is_beyond_it(self):
        m = self.write("late.txt", LATE)
        self.assertEqual(self.convert(m)["opset"], 11)
        self.assertEqual(self.convert(m, "--max_opset", "11")["opset"], 11)
        r = self.refused("nothing was written: layers that opset8 cannot express\n", m, "--max_opset", "8", "-n", "none", status=2)
        self.assertIn("\n  TopK of opset11, 2 layers: a, b\n  SoftSign of opset9, 1 layer: ", r.err)
        self.assertFalse(os.path.exists(self.path("out", "none.xml")))

    def test_operations_of_no_opset_are_beyond_any_limit(self):
        m = self.write("det.txt", "graph (x: f32[2,2]) { return Det@graft(x) }")
        self.convert(m)
        self.refused("Det of graft, 1 layer: ", m, "--max_opset", "16", status=2)

    def test_the_report(self):
        r = graft("convert", self.write("late.txt", LATE), "-o", self.path("out"))
        self.assertRegex(r.out, r"IR version 11, opsets up to opset11, converted in ")

    def test_numbers_that_are_none(self):
        m = self.write("late.txt", LATE)
        for option, value, said in (("--max_opset", "0", "--max_opset: expected 1 to "), ("--max_opset", "99", "--max_opset: expected 1 to "),
                                    ("--ir_version", "9", "--ir_version: expected 10 or 11, got 9"), ("--ir_version", "12", "--ir_version: expected 10 or 11, got 12")):
            self.refused(said, m, option, value)


ATTENTION = """graph (q: f32[2,1,16], k: f32[2,1,8], v: f32[2,1,8], pk: f32[2,2,7,4], pv: f32[2,2,7,4], ends: i32[2]) {
  y = GroupQueryAttention@graft(q, k, v, pk, pv, ends, i32[] {5}, f32[9,2] random(1, -1, 1), f32[9,2] random(2, -1, 1))
    {num_heads = 4, kv_num_heads = 2, do_rotary = true}
  return y, y.1, y.2
}"""


class TargetOpenVino(ConvertCase):
    def test_attention_is_expressed_by_other_operations(self):
        m = self.write("attention.txt", ATTENTION)
        self.assertIn('version="graft"', self.xml(self.convert(m)))
        self.assertNotIn('version="graft"', self.xml(self.convert(m, "--target", "openvino")))

    def test_what_cannot_be_expressed_is_listed(self):
        m = self.write("det.txt", "graph (x: f32[2,2]) { a = Det@graft(x) return a, Cholesky@graft(x) }")
        r = self.refused("nothing was written: layers that OpenVINO does not have and that cannot be expressed by others\n", m, "--target", "openvino",
                         "-n", "none", hint="without --target", status=2)
        self.assertIn("\n  Det of graft, 1 layer: a\n  Cholesky of graft, 1 layer: ", r.err)
        self.assertFalse(os.path.exists(self.path("out", "none.xml")))

    def test_another_runtime(self):
        self.refused("--target: expected openvino, got 'tensorrt'", self.write("a.txt", ATTENTION), "--target", "tensorrt")


class VersionTen(ConvertCase):
    def test_it_is_written_read_and_run(self):
        eleven, ten = self.convert(*self.net(), out="a"), self.convert(*self.net(), "--ir_version", "10", out="b")
        self.assertEqual(ten["ir_version"], 10)
        xml = self.xml(ten)
        self.assertIn('version="10"', xml)
        for later in ("rt_info", "output_names"):
            self.assertNotIn(later, xml)
        self.assertIn('names="data"', xml)  # of tensors: since 2021.3
        x = ([1, 3, 1, 2], [1, 2, 3, 4, 5, 6])
        self.assertEqual(self.run_ir(ten, x), self.run_ir(eleven, x))

    def test_reading_and_writing_it_gives_the_same_bytes(self):
        ten = self.convert(*self.net(), "--ir_version", "10", out="a")
        again = self.convert(ten["xml"], "--ir_version", "10", out="b")
        for part in ("xml", "bin"):
            with open(ten[part], "rb") as f, open(again[part], "rb") as g:
                self.assertEqual(f.read(), g.read())

    def test_runtime_information_is_lost_with_a_warning(self):
        said = "IR version 10 cannot store runtime information"
        self.assertIn(said, self.convert(*self.net(), "--ir_version", "10", "--layout", "data(nchw)")["notes"])
        self.assertNotIn(said, self.convert(*self.net(), "--ir_version", "10")["notes"])
        self.assertNotIn(said, self.convert(*self.net(), "--layout", "data(nchw)")["notes"])

    def test_dynamic_shapes_are_refused(self):
        m = self.write("open.txt", "graph (x: f32[?,3]) { y = Relu(x) return y }")
        r = self.refused("nothing was written: IR version 10 has no dynamic shapes\n", m, "--ir_version", "10", hint="--input_shape", status=2)
        self.assertIn("\n  Parameter with a result f32[?,3], 1 layer: x\n  Relu with a result f32[?,3], 1 layer: y", r.err)
        self.assertIn('version="10"', self.xml(self.convert(m, "--ir_version", "10", "--input_shape", "[2,3]")))


if __name__ == "__main__":
    main()
