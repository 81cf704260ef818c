#!/usr/bin/env python3
"""Writes Kaldi models as seeds of the fuzz target: all components, text and binary, models with time offsets and recurrences,
and the broken files of the tests.

  tests/fuzz/kaldi_seeds.py DIR
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from kaldi_writer import archive  # noqa: E402
from test_kaldi import broken_files, framewise_model, matrix  # noqa: E402
from test_kaldi_listed import cases  # noqa: E402

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
seeds = [framewise_model(False), framewise_model(True), archive([("a", matrix(3, 2, 1))]), archive([("a", matrix(3, 2, 1))], binary=False)]
for i, content in enumerate(seeds + [model for model, _ in cases()] + [content for content, _ in broken_files()]):
    with open(os.path.join(folder, "%03d" % i), "wb") as f:
        f.write(content)
