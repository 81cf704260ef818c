#!/usr/bin/env python3
"""Small pictures for the fuzz target `image`: image_seeds.py FOLDER. The first byte selects the channels."""
import os
import struct
import sys
import zlib


def png(kind, rows):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", 1, len(rows), 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + r for r in rows))) + chunk(b"IEND", b"")


def tiff(width, height, samples):
    tags = [(256, 3, width), (257, 3, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 3, height),
            (279, 4, len(samples))]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8 + len(samples)) + samples + directory


def bmp(width, height, rows):
    head = struct.pack("<IHHIIiiHHIIiiII", 54 + len(rows), 0, 0, 54, 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    return b"BM" + head + rows


def main():
    seeds = {"png_rgba": png(6, [bytes(4), bytes(range(4))]), "png_gray": png(0, [b"\1", b"\2"]), "tiff": tiff(2, 2, b"\1\2\3\4"),
             "bmp": bmp(1, 2, bytes(8)), "pnm_text": b"P3\n# x\n1 1 255\n1 2 3\n", "pnm": b"P5 2 1 15\n\1\2",
             "webp": b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0"}
    os.makedirs(sys.argv[1], exist_ok=True)
    for channels in range(4):
        for name, content in seeds.items():
            with open(os.path.join(sys.argv[1], "%s_%d" % (name, channels)), "wb") as f:
                f.write(bytes([channels]) + content)


main()
