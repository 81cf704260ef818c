#!/usr/bin/env python3
"""Whole MXNet models against the outputs that MXNet computed: on both devices, directly and through the IR.

  tests/cli/test_mxnet_networks.py --build build --custom libapi_tour.so [unittest arguments]

--custom is a library that imports the Custom layer "affine". Requires NumPy.
"""
import argparse
import json
import os
import sys

import numpy as np
from harness import Case, graft, main
from mxnet_networks import NETWORKS

HERE = os.path.dirname(os.path.abspath(__file__))
CUSTOM = ""


class Networks(Case):
    def results(self, name, net, *options):
        files = net.write(self.folder, name)
        arguments = []
        for key, value in net.inputs.items():
            np.save(self.path(key + ".npy"), value)
            arguments += ["--input", "%s=%s" % (key, self.path(key + ".npy"))]
        r = graft("run", *files, *arguments, "--output-dir", self.path("out"), "--quiet", *options)
        self.assertEqual(r.status, 0, r.all)
        return np.load(self.path("out", "0.npy"))

    def test_outputs(self):
        with open(os.path.join(HERE, "mxnet_networks.json")) as f:
            recorded = json.load(f)
        self.assertEqual(sorted(recorded), sorted(NETWORKS))
        for name, make in NETWORKS.items():
            if name == "custom" and not CUSTOM:
                continue
            expected = np.array(recorded[name]["values"], np.float32).reshape(recorded[name]["shape"])
            for way in ([], ["--through-ir"], ["--device", "REFERENCE"]):
                with self.subTest("%s %s" % (name, way)):
                    got = self.results(name, make(), *way, *(["--extensions", CUSTOM] if name == "custom" else []))
                    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

    def test_the_custom_layer_is_reported_without_an_extension(self):
        r = graft("convert", *NETWORKS["custom"]().write(self.folder, "custom"), "-o", self.path("ir"))
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("Custom::affine", r.err)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--custom", default="")
    known, rest = p.parse_known_args()
    CUSTOM = known.custom
    sys.argv[1:] = rest
    main()
