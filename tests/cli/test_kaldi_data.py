#!/usr/bin/env python3
"""The recorded Kaldi models: text and binary give the same IR, and chunks of an utterance the results of Kaldi.

  tests/cli/test_kaldi_data.py --build build --data ../shared/data/kaldi [unittest arguments]
"""
import argparse
import json
import os
import sys

from harness import graft, main
from kaldi_text import as_text
from kaldi_writer import Matrix, archive, read_archive
from test_kaldi import KaldiCase

DATA = ""
# Models that need the end of an utterance, and why.
WHOLE = {
    "nnet1_blstm": "it runs from the end of the utterance", "nnet3_blstm": "it depends on its own later frames",
    "nnet3_stats_pooling": "it sums over all frames of a window",
}


def cases():
    path = os.path.join(DATA, "cases.json")
    if not DATA or not os.path.isfile(path):
        return []
    with open(path) as f:
        return json.load(f)


def table(case, entry):
    """The path of an archive with the value of an input; a text file has one row per line."""
    path = os.path.join(DATA, entry["file"])
    if path.endswith(".ark"):
        return path
    with open(path) as f:
        rows = [[float(v) for v in line.split() if v[0] in "-.0123456789"] for line in f]
    first, last = entry.get("rows", [0, len(rows)])
    return case.write(entry["name"] + ".ark", archive([("utt1", Matrix(r for r in rows[first:last] if r))]))


class Recorded(KaldiCase):
    def setUp(self):
        super().setUp()
        if not cases():
            self.skipTest("no recorded models")

    def test_text_and_binary_give_the_same_graph(self):
        compared = 0
        for c in cases():
            with open(os.path.join(DATA, c["model"][0]), "rb") as f:
                binary = f.read()
            if not binary.startswith(b"\0B"):
                continue
            with self.subTest(c["name"]):
                self.same_graphs(lambda wanted, b=binary: b if wanted else as_text(b))
            compared += 1
        self.assertGreaterEqual(compared, 24)

    def test_chunks_equal_whole_utterances(self):
        refused = set()
        for c in cases():
            with self.subTest(c["name"]):
                self.compare(c, refused)
        self.assertEqual(refused, set(WHOLE))

    def compare(self, c, refused):
        model = os.path.join(DATA, c["model"][0])
        inputs = []
        for i in c["inputs"]:
            inputs += ["--input", "%s=ark:%s" % (i["name"], table(self, i))]
        ways = [[], ["--chunk", "1"], ["--chunk", "7", "--device", "REFERENCE"], ["--chunk", "7", "--through-ir"]]
        results = []
        for way in ways:
            r = graft("run", model, *inputs, "--output", "output=ark:" + self.path("out.ark"), *way)
            if way and c["name"] in WHOLE:
                self.assertEqual(r.status, 2, r.all)
                self.assertIn(WHOLE[c["name"]], r.err)
                refused.add(c["name"])
                return
            self.assertEqual(r.status, 0, r.all)
            results.append(read_archive(self.path("out.ark")))
        for way, got in zip(ways[1:], results[1:]):
            self.assertEqual(list(got), list(results[0]))
            for key in got:
                self.close(got[key], results[0][key], "%s %s" % (c["name"], way))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="")
    known, rest = p.parse_known_args()
    DATA = known.data
    sys.argv[1:] = rest
    main()
