"""The matrices of recorded Kaldi models."""
import os

import numpy as np


def case_rows(base, entry):
    """The value of an input or output in a manifest."""
    rows = read_rows(os.path.join(base, entry["file"]))
    if "rows" in entry:
        rows = rows[entry["rows"][0]:entry["rows"][1]]
    return rows.astype(np.float32)


def read_rows(path):
    """A text file, or an archive with one matrix or vector."""
    with open(path, "rb") as f:
        data = f.read()
    zero = data.find(b"\0B")
    if zero < 0:
        text = data.decode()
        body = text[text.find("[") + 1:].split("]")[0]  # rows, with or without a key and brackets
        lines = [l.split() for l in body.splitlines()]
        return np.array([l for l in lines if l], np.float32)
    at = zero + 2
    kind = data[at:at + 3]
    size = {b"FM ": 4, b"DM ": 8, b"FV ": 4, b"DV ": 8}[kind]
    rows = int.from_bytes(data[at + 4:at + 8], "little")
    if kind[1:2] == b"V":
        return np.frombuffer(data, "<f%d" % size, rows, at + 8).reshape(1, -1)
    columns = int.from_bytes(data[at + 9:at + 13], "little")
    return np.frombuffer(data, "<f%d" % size, rows * columns, at + 13).reshape(rows, columns)
