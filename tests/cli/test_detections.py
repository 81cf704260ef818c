#!/usr/bin/env python3
"""Detections as one output [1,1,N,7], where a replacement file asks for it: a published one, or an entry of our own.

  tests/cli/test_detections.py --build build [unittest arguments]
"""
import json

from harness import Case, graft, main, read_npy, write_npy

FLOAT = 'attr { key: "dtype" value { type: DT_FLOAT } } '
HEADS = {"detection_boxes": [1, 3, 4], "detection_classes": [1, 3], "detection_scores": [1, 3], "num_detections": [1], "more": [2]}
BOXES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0, 0, 0, 0]  # y_min, x_min, y_max, x_max
ROWS = [0, 5, 0.9, 0.2, 0.1, 0.4, 0.3, 0, 7, 0.8, 0.6, 0.5, 0.8, 0.7, -1, 0, 0, 0, 0, 0, 0]
SSD = [{"id": "ObjectDetectionAPIPreprocessorReplacement", "match_kind": "general", "custom_attributes": {"preprocessed_image_height": 300}},
       {"id": "ObjectDetectionAPISSDPostprocessorReplacement", "match_kind": "scope", "instances": ["Postprocessor"],
        "inputs": [[{"node": "Shape$", "port": 0}]], "outputs": [{"node": "concat$", "port": 0}],
        "custom_attributes": {"pad_mode": "caffe.ResizeParameter.CONSTANT"}}]
MULTIBOX = {"nodes": [{"op": "null", "name": n, "attrs": {"__dtype__": "0", "__shape__": s}, "inputs": []}
                      for n, s in (("x", "(1, 3, 4)"), ("y", "(1, 16)"), ("z", "(1, 4, 4)"))] +
            [{"op": "_contrib_MultiBoxDetection", "name": "det", "attrs": {"threshold": "0.45"}, "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}],
            "heads": [[3, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}


class Detections(Case):
    def setUp(self):
        super().setUp()
        text = "".join('node { name: "%s/in" op: "Placeholder" %s attr { key: "shape" value { shape { %s } } } }\n'
                       'node { name: "%s" op: "Identity" input: "%s/in" attr { key: "T" value { type: DT_FLOAT } } }\n'
                       % (n, FLOAT, " ".join("dim { size: %d }" % d for d in s), n, n) for n, s in HEADS.items())
        self.tf = self.write("model.pbtxt", text)
        self.json = self.write("ssd_v2_support.json", json.dumps(SSD))
        self.own = self.write("detections.json", json.dumps([{"id": "DetectionOutput", "match_kind": "general"}]))
        self.mxnet = self.write("m-symbol.json", json.dumps(MULTIBOX))
        values = {"detection_boxes": BOXES, "detection_classes": [5, 7, 1], "detection_scores": [0.9, 0.8, 0], "num_detections": [2], "more": [3, 4]}
        self.inputs = []
        for name, dims in HEADS.items():
            write_npy(self.path(name + ".npy"), dims, values[name])
            self.inputs += ["--input", "%s/in=%s" % (name, self.path(name + ".npy"))]

    def outputs(self, *arguments):
        r = graft("run", *arguments, "--output-dir", self.path("out"), "--json")
        self.assertEqual(r.status, 0, r.all)
        return {o["name"]: (o["shape"], read_npy(self.path("out", o["file"]))) for o in json.loads(r.out)}, r.err

    def close(self, got, want):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertAlmostEqual(a, b, delta=1e-5)

    def check(self, found):
        self.assertEqual(list(found), ["DetectionOutput", "more"])
        self.assertEqual(found["DetectionOutput"][0], [1, 1, 3, 7])
        self.close(found["DetectionOutput"][1], ROWS)
        self.assertEqual(found["more"][1], [3, 4])

    def test_a_published_file_asks_for_it(self):
        found, said = self.outputs(self.tf, *self.inputs, "--transformations_config", self.json)
        self.check(found)
        r = graft("convert", self.tf, "--transformations_config", self.json, "-o", self.path("ir"))
        self.assertEqual(r.status, 0, r.all)
        self.assertIn("the outputs detection_boxes, detection_classes, detection_scores, num_detections become one output 'DetectionOutput' "
                      "of the form [1,1,N,7]", r.all)
        self.check(self.outputs(self.path("ir", "model.xml"), *self.inputs)[0])

    def test_an_entry_of_our_own_asks_for_it(self):
        self.check(self.outputs(self.tf, *self.inputs, "--transformations_config", self.own)[0])

    def test_without_a_request_the_outputs_stay(self):
        self.assertEqual(sorted(self.outputs(self.tf, *self.inputs)[0]), sorted(HEADS))

    def test_other_outputs_are_left_alone(self):
        """A published entry is a note then; ours is an error."""
        for config, status in ((self.json, 0), (self.own, 2)):
            r = graft("convert", self.tf, "--transformations_config", config, "--output", "more", "-o", self.path("ir"))
            self.assertEqual(r.status, status, r.all)
            self.assertIn("is not needed: the detection postprocessing" if status == 0 else
                          "replacement 'DetectionOutput' of %s: the model does not have outputs that it could join" % config, r.all)

    def test_mxnet(self):
        """The second valid row has the class 0, and what is suppressed ends the rows."""
        values = {"x": ([1, 3, 4], [0.1, 0.2, 0.1, 0.3, 0.6, 0.5, 0.2, 0.3, 0.3, 0.3, 0.7, 0.4]),
                  "y": ([1, 16], [1.49, 1.87, 1.48, 0.12, -1.07, -1.95, -0.28, -0.39, 0.09, -0.09, 0.22, 0.17, 1.04, 0.85, 0.48, -0.3]),
                  "z": ([1, 4, 4], [0.1, 0.1, 0.4, 0.4, 0.12, 0.1, 0.42, 0.4, 0.5, 0.5, 0.9, 0.9, 0.52, 0.5, 0.9, 0.92])}
        arguments = []
        for name, (dims, numbers) in values.items():
            write_npy(self.path(name + ".npy"), dims, numbers)
            arguments += ["--input", "%s=%s" % (name, self.path(name + ".npy"))]
        plain = list(self.outputs(self.mxnet, *arguments)[0].values())[0]
        shape, rows = self.outputs(self.mxnet, *arguments, "--transformations_config", self.own)[0]["DetectionOutput"]
        self.assertEqual((plain[0], shape), ([1, 4, 6], [1, 1, 4, 7]))
        valid = [plain[1][i:i + 6] for i in range(0, 24, 6) if plain[1][i] >= 0]
        self.assertGreater(len(valid), 1)
        want = [v for row in valid for v in [0, *row]] + [-1, 0, 0, 0, 0, 0, 0] * (4 - len(valid))
        self.close(rows, want)


if __name__ == "__main__":
    main()
