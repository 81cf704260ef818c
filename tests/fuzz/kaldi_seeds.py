#!/usr/bin/env python3
"""Writes Kaldi models as seeds of the fuzz targets: all components, models with time offsets and recurrences, and the broken files of the
tests, each binary and as text. The executing target reads the text only.

  tests/fuzz/kaldi_seeds.py DIR
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import kaldi_writer  # noqa: E402
from test_kaldi import broken_files, framewise_model, matrix  # noqa: E402
from test_kaldi_listed import cases  # noqa: E402


def seeds():
    yield framewise_model(True)
    yield kaldi_writer.archive([("a", matrix(3, 2, 1))])
    yield from (model for model, _ in cases())
    yield from (content for content, _ in broken_files())


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
contents = list(seeds())
start = kaldi_writer.Writer.__init__
kaldi_writer.Writer.__init__ = lambda self, binary: start(self, False)
contents += [c for c in seeds() if not c.startswith(b"\0B")]
for i, content in enumerate(contents):
    with open(os.path.join(folder, "%03d" % i), "wb") as f:
        f.write(content)
