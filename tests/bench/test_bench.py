#!/usr/bin/env python3
"""The parts of the benchmark that need no other engine: taking turns, comparing, ratios, the picture.

  tests/bench/test_bench.py
"""
import contextlib
import io
import os
import stat
import sys
import tempfile
import unittest
import xml.dom.minidom

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench"))
import draw  # noqa: E402
import networks  # noqa: E402
import report  # noqa: E402
import workers  # noqa: E402

# Stands for an interpreter with an engine: each answers as bench/engine.py would.
STUB = """#!%s
import json, os, sys
import numpy as np
ms, value, crash = %r
np.savez(sys.argv[6], np.full(4, value, np.float32))
if crash == "start":
    sys.exit("RuntimeError: no such operation")
print(json.dumps({"start": {"wall": ms / 10, "cpu": ms / 20}, "version": "1"}), flush=True)
for line in sys.stdin:
    if crash == "time":
        os.abort()
    print(json.dumps(ms if line.startswith("time") else 1000000), flush=True)
"""


def figures(**rounds):
    return {name: {"status": "ok", "rounds": list(r), "starts": [r[0]], "memory": r[0], "version": "1"} for name, r in rounds.items()}


class Racing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def engine(self, name, ms=1.0, value=1.0, crash=""):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as f:
            f.write(STUB % (sys.executable, (ms, value, crash)))
        os.chmod(path, stat.S_IRWXU)
        return workers.Engine(name, path, "", "")

    def race(self, *engines):
        race = workers.Race(engines, "m.onnx", "m.npz", 1, self.folder.name)
        race.restart(1)
        race.run(3, 0.01)
        race.close()
        return race.figures

    def test_the_best_peer_counts(self):
        found = self.race(self.engine("graft", 2.0), self.engine("onnxruntime", 3.0), self.engine("openvino", 5.0))
        self.assertEqual([f["rounds"] for f in found.values()], [[2.0] * 3, [3.0] * 3, [5.0] * 3])
        self.assertEqual([len(f["starts"]) for f in found.values()], [2] * 3)
        self.assertEqual(workers.ratio(found), (1.5, "onnxruntime"))

    def test_an_engine_that_computes_something_else_is_not_used(self):
        found = self.race(self.engine("graft", 2.0), self.engine("onnxruntime", 3.0), self.engine("openvino", 1.0, value=1.1))
        self.assertEqual(found["openvino"]["status"], "mismatch")
        self.assertIn("differ from those of onnxruntime by 0.1 of the largest value", found["openvino"]["why"])
        self.assertEqual(workers.ratio(found), (1.5, "onnxruntime"))

    def test_a_crash_is_reported(self):
        found = self.race(self.engine("graft"), self.engine("onnxruntime", crash="time"), self.engine("openvino", crash="start"))
        self.assertEqual((found["onnxruntime"]["status"], found["onnxruntime"]["why"]), ("failed", "crashed with SIGABRT"))
        self.assertEqual((found["openvino"]["status"], found["openvino"]["why"]), ("failed", "RuntimeError: no such operation"))
        self.assertIsNone(workers.ratio(found))


class Figures(unittest.TestCase):
    def test_the_ratio_is_the_median_within_rounds(self):
        self.assertEqual(workers.ratio(figures(graft=(1, 10, 1), openvino=(2, 20, 9))), (2, "openvino"))

    def test_differences(self):
        one = np.array([1.0, -2.0])
        self.assertEqual(workers.difference([one], [one]), 0)
        self.assertEqual(workers.difference([one + 0.5], [one]), 0.25)
        self.assertEqual(workers.difference([one, one], [one]), float("inf"))
        self.assertEqual(workers.difference([one[:1]], [one]), float("inf"))
        self.assertEqual(workers.difference([np.array([1.0, np.nan])], [one]), float("inf"))

    def test_infinities_and_not_a_number_must_be_the_same(self):
        inf, nan = np.array([1.0, np.inf]), np.array([1.0, np.nan])
        self.assertEqual(workers.difference([inf], [inf]), 0)
        self.assertEqual(workers.difference([nan], [nan]), 0)
        self.assertEqual(workers.difference([inf], [-inf]), float("inf"))
        self.assertEqual(workers.difference([inf], [nan]), float("inf"))

    def test_percentiles(self):
        self.assertEqual([networks.percentile([1.0, 2.0, 3.0], p) for p in (0, 0.25, 0.5, 1)], [1, 1.5, 2, 3])


class Reports(unittest.TestCase):
    def whole(self):
        model = lambda label, kind, **rounds: {"name": label, "label": label, "kind": kind, "threads": {"1": figures(**rounds), "2": figures(**rounds)}}
        return {"date": "2026-01-01", "machine": {"cpu": "some <cpu>", "cores": 2, "sets": []}, "load": [0.1, 0.2], "rounds": 1, "seconds": 1, "clock": "wall", "interfaces": {},
                "models": [model("fast", "f32", graft=(1,), openvino=(4,)), model("slow", "f32", graft=(4,), openvino=(1,)), model("alone", "int8", graft=(1,))]}

    def test_bars(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            report.tables(self.whole())
            report.bars(self.whole())
        self.assertRegex(out.getvalue(), r"geometric mean, f32 models +1\.00 +1\.00")
        self.assertRegex(out.getvalue(), r"f32 models, geometric mean, 1 thread +≥ 1\.05 +1\.00  missed by 0\.05")
        self.assertRegex(out.getvalue(), r"worst f32 model, 2 threads +≥ 0\.9 +0\.25  missed by 0\.65, slow")
        self.assertRegex(out.getvalue(), r"alone +\? +\? +\? +\?")

    def test_the_picture_is_well_formed(self):
        svg = xml.dom.minidom.parseString(draw.picture(self.whole()))
        words = [t.firstChild.data for t in svg.getElementsByTagName("text")]
        for expected in ("fast", "4.00", "slow", "0.25", "geometric mean, f32", "1", "1/2"):
            self.assertIn(expected, words)
        self.assertNotIn("alone", words)


if __name__ == "__main__":
    unittest.main()
