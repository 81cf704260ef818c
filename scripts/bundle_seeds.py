#!/usr/bin/env python3
"""Writes indices of small checkpoints (TensorFlow's .index files) as seeds for fuzzing.

  scripts/bundle_seeds.py FOLDER
"""
import os
import struct
import sys

from onnx_writer import data, number, varint


def block(entries):
    out, last = b"", b""
    for key, value in entries:
        shared = len(os.path.commonprefix([key, last]))
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return out + struct.pack("<II", 0, 1)


def packed(content):
    """Snappy, all bytes as new ones."""
    out = varint(len(content))
    for at in range(0, len(content), 60):
        piece = content[at:at + 60]
        out += bytes([(len(piece) - 1) << 2]) + piece
    return out


def table(entries, kind):
    content = packed(block(entries)) if kind else block(entries)
    out = content + bytes([kind]) + bytes(4)
    meta, empty = len(out), block([])
    out += empty + bytes(5)
    index, places = len(out), block([(b"z", varint(0) + varint(len(content)))])
    out += places + bytes(5)
    footer = varint(meta) + varint(len(empty)) + varint(index) + varint(len(places))
    return out + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def entry(kind, dims, offset, size):
    shape = b"".join(data(2, number(1, d)) for d in dims)
    return number(1, kind) + data(2, shape) + number(3, 0) + number(4, offset) + number(5, size)


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
header = (b"", number(1, 1) + number(2, 0))
tensors = [(b"dense/bias", entry(1, [2], 0, 8)), (b"dense/kernel", entry(1, [4, 2], 8, 32)), (b"steps", entry(9, [], 40, 8))]
for kind in (0, 1):
    for count in range(len(tensors) + 1):
        with open(os.path.join(folder, "%d-%d" % (kind, count)), "wb") as f:
            f.write(table([header] + tensors[:count], kind))
