#!/usr/bin/env python3
"""Draws the edges of a picture with a HED network: the picture and its edges, side by side.

  edge_detection.py --input picture.png --prototxt deploy.prototxt --caffemodel hed.caffemodel --output edges.png
"""
import argparse
import os
import sys

import numpy as np
import graft

import crop_layer  # replaces the layer Crop

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "edges"))
import picture

MEAN = np.array([104.00698793, 116.66876762, 122.67891434], np.float32)  # of blue, green, red


def main():
    parser = argparse.ArgumentParser()
    for name in ("input", "prototxt", "caffemodel", "output"):
        parser.add_argument("--" + name, required=True)
    o = parser.parse_args()
    width, height, rows = picture.read_png(o.input)
    rgb = np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, 3)
    data = (rgb[:, :, ::-1] - MEAN).transpose(2, 0, 1)[None].copy()

    model = graft.read_model(o.prototxt, o.caffemodel, shapes={"data": data.shape})
    edges = model.compile()({"data": data})["edges"]
    print("edges", edges.shape, "mean %.4f" % edges.mean())
    dark = np.repeat(255 - (255 * edges[0, 0, :, :, None]).astype(np.uint8), 3, axis=2)
    picture.write_png(o.output, 2 * width, height, np.concatenate([rgb, dark], axis=1).reshape(height, -1))


if __name__ == "__main__":
    main()
