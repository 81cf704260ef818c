#!/usr/bin/env python3
"""Pictures for the demo, with nothing but Python's standard library.

  picture.py draw FILE.png WIDTH HEIGHT             draws a landscape with edges of many kinds and some noise
  picture.py join FILE.png LEFT.png EDGES.npy...    puts a picture and edge maps (.npy, values 0..1) side by side
"""
import math
import random
import struct
import sys
import zlib


def write_png(path, width, height, rows):
    raw = b"".join(b"\0" + bytes(r) for r in rows)
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def read_png(path):
    """Only what write_png writes."""
    blob = open(path, "rb").read()
    at, body, width, height = 8, b"", 0, 0
    while at < len(blob):
        size, kind = struct.unpack(">I4s", blob[at:at + 8])
        if kind == b"IHDR":
            width, height = struct.unpack(">II", blob[at + 8:at + 16])
        if kind == b"IDAT":
            body += blob[at + 8:at + 8 + size]
        at += 12 + size
    raw = zlib.decompress(body)
    row = 3 * width + 1
    return width, height, [raw[y * row + 1:(y + 1) * row] for y in range(height)]


def read_npy(path):
    blob = open(path, "rb").read()
    size = struct.unpack("<H", blob[8:10])[0]
    header = eval(blob[10:10 + size].decode(), {})  # a literal that `graft run` wrote
    values = struct.unpack("<%df" % ((len(blob) - 10 - size) // 4), blob[10 + size:])
    return header["shape"], values


def draw(path, width, height):
    random.seed(4)
    rows = []
    for y in range(height):
        row = bytearray()
        for x in range(width):
            u, v = x / width, y / height
            r, g, b = 120 + 90 * v, 160 + 60 * v, 235 - 30 * v  # sky
            if (u - 0.75) ** 2 + (v - 0.25) ** 2 < 0.012:
                r, g, b = 250, 230, 120  # sun
            far = 0.55 + 0.10 * math.sin(5 * u) + 0.04 * math.sin(17 * u)
            near = 0.75 + 0.06 * math.sin(3 * u + 2) + 0.02 * math.sin(29 * u)
            if v > far:
                r, g, b = 90, 110, 130
            if v > near:
                t = math.sin(60 * u + 40 * v) * 8
                r, g, b = 60 + t, 120 + t, 60
            if 0.15 < u < 0.35 and 0.55 < v < 0.85:  # a house
                r, g, b = 190, 150, 120
                if 0.20 < u < 0.24 and 0.62 < v < 0.70 or 0.27 < u < 0.31 and 0.62 < v < 0.70:
                    r, g, b = 60, 70, 90
                if 0.235 < u < 0.265 and v > 0.74:
                    r, g, b = 90, 50, 30
            if 0.40 < v < 0.55 and abs(u - 0.25) < (v - 0.40) * 0.85:
                r, g, b = 150, 60, 50
            n = random.gauss(0, 3)
            row += bytes(max(0, min(255, int(c + n))) for c in (r, g, b))
        rows.append(row)
    write_png(path, width, height, rows)


def join(path, left, *edges):
    width, height, rows = read_png(left)
    out = [bytes(r) for r in rows]
    for name in edges:
        shape, values = read_npy(name)
        for y in range(height):
            line = bytearray()
            for x in range(width):
                v = 255 - max(0, min(255, int(255 * values[y * shape[3] + x])))
                line += bytes([v, v, v])
            out[y] += bytes([255] * 24) + bytes(line)
    write_png(path, len(out[0]) // 3, height, out)


if __name__ == "__main__":
    if sys.argv[1] == "draw":
        draw(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        join(*sys.argv[2:])
