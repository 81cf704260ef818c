#!/usr/bin/env python3
"""Writes gain.caffemodel: the weights of gain.prototxt, a gain of 1 for the first channel and of 10 for the second."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from caffe_writer import caffemodel

if __name__ == "__main__":
    with open(sys.argv[1], "wb") as f:
        f.write(caffemodel({"larger": ("GainInterp", [([2], [1, 10])])}))
