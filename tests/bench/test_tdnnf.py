#!/usr/bin/env python3
"""The network of bench/realtime.py, small: the Kaldi model and both forms in ONNX give the same results.

  tests/bench/test_tdnnf.py --build build [unittest arguments]
"""
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "tests", "cli")]
import tdnnf  # noqa: E402
from harness import Case, graft, main  # noqa: E402


class Forms(Case):
    def test_same_results(self):
        files, inputs, count = tdnnf.write(self.folder, 9, width=8, bottleneck=3, small=5, outputs=7, strides=(1, 0, 3))
        self.assertEqual(count, 50912)
        arguments = []
        for name, value in inputs.items():
            np.save(self.path(name + ".npy"), value)
            arguments += ["--input", "%s=%s" % (name, self.path(name + ".npy"))]
        results = {}
        for form, path in files.items():
            r = graft("run", path, *arguments, "--output-dir", self.path("out"), "--quiet")
            self.assertEqual(r.status, 0, r.all)
            results[form] = np.load(self.path("out", "0.npy"))
            self.assertEqual(results[form].shape, (9, 7))
        for form, values in results.items():
            np.testing.assert_allclose(values, results["kaldi"], rtol=1e-4, atol=1e-4, err_msg=form)


if __name__ == "__main__":
    main()
