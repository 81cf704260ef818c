"""Writes a checkpoint of TensorFlow: the .index, a table of sorted keys, and the one .data file beside it."""
import struct

from harness import onnx

DT_FLOAT = 1


def masked_crc(content):
    """CRC-32C, turned and shifted as tables have it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def block(entries):
    """Keys share nothing with the one before; one restart at the beginning. With its place in the table: what follows a block."""
    out = b""
    for key, value in entries:
        out += onnx.varint(0) + onnx.varint(len(key)) + onnx.varint(len(value)) + key + value
    return out + struct.pack("<II", 0, 1)


def table(entries):
    out, handles = b"", []
    for content in (block(entries), block([]), None):
        if content is None:
            content = block([(b"z", handles[0])])
        handles.append(onnx.varint(len(out)) + onnx.varint(len(content)))
        out += content + b"\0" + struct.pack("<I", masked_crc(content + b"\0"))
    return out + (handles[1] + handles[2]).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def write_checkpoint(prefix, variables):
    """`variables`: {name: (dims, values)}."""
    entries, data = [(b"", onnx.number(1, 1))], b""
    for name, (dims, values) in sorted(variables.items()):
        content = struct.pack("<%df" % len(values), *values)
        shape = b"".join(onnx.data(2, onnx.number(1, d)) for d in dims)
        entry = onnx.number(1, DT_FLOAT) + onnx.data(2, shape) + onnx.number(4, len(data)) + onnx.number(5, len(content))
        entries.append((name.encode(), entry + onnx.varint(6 << 3 | 5) + struct.pack("<I", masked_crc(content))))
        data += content
    with open(prefix + ".index", "wb") as f:
        f.write(table(entries))
    with open(prefix + ".data-00000-of-00001", "wb") as f:
        f.write(data)
