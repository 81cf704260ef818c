"""ONNX models written with nothing but Python's standard library: enough of the protobuf wire format for examples and benchmarks."""
import struct

FLOAT, UINT8, INT64 = 1, 2, 7


def varint(v):
    out = b""
    while v > 0x7F:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def number(field, v):
    return varint(field << 3) + varint(v & (1 << 64) - 1)


def data(field, v):
    if isinstance(v, str):
        v = v.encode()
    return varint(field << 3 | 2) + varint(len(v)) + v


def tensor(name, dims, values, kind=FLOAT):
    """`values`: bytes as they are, or a list of numbers."""
    if not isinstance(values, (bytes, bytearray)):
        values = struct.pack("<%d%s" % (len(values), {FLOAT: "f", UINT8: "B", INT64: "q"}[kind]), *values)
    return b"".join(number(1, d) for d in dims) + number(2, kind) + data(8, name) + data(9, values)


class Graph(bytes):
    """A graph as the value of an attribute."""


class Tensor(bytes):
    """A tensor as the value of an attribute."""


def attribute(name, v):
    out = data(1, name)
    if isinstance(v, Graph):
        return out + data(6, v) + number(20, 5)
    if isinstance(v, Tensor):
        return out + data(5, v) + number(20, 4)
    if isinstance(v, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", v) + number(20, 1)
    if isinstance(v, int):
        return out + number(3, v) + number(20, 2)
    if isinstance(v, str):
        return out + data(4, v) + number(20, 3)
    if v and isinstance(v[0], str):
        return out + b"".join(data(9, x) for x in v) + number(20, 8)
    if v and isinstance(v[0], float):
        return out + b"".join(varint(7 << 3 | 5) + struct.pack("<f", x) for x in v) + number(20, 6)
    return out + b"".join(number(8, x) for x in v) + number(20, 7)


def node(kind, inputs, outputs, name="", domain="", **attributes):
    out = b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs)
    out += data(3, name or outputs[0]) + data(4, kind)
    out += b"".join(data(5, attribute(k, v)) for k, v in attributes.items())
    return out + (data(7, domain) if domain else b"")


def tensor_type(dims, kind=FLOAT):
    """A dimension is a number, or a name for one that is not known."""
    shape = b"".join(data(1, number(1, d) if isinstance(d, int) else data(2, d)) for d in dims)
    return data(1, number(1, kind) + data(2, shape))


def value(name, dims, kind=FLOAT):
    return data(1, name) + data(2, tensor_type(dims, kind))


def sequence(name, dims, kind=FLOAT):
    return data(1, name) + data(2, data(4, data(1, tensor_type(dims, kind))))


def optional(name, dims, kind=FLOAT):
    return data(1, name) + data(2, data(9, data(1, tensor_type(dims, kind))))


def mapping(name, keys, values):
    """A map from elements of one type to scalars of another."""
    return data(1, name) + data(2, data(5, number(1, keys) + data(2, tensor_type([], values))))


def graph(name, nodes, tensors, inputs, outputs):
    out = b"".join(data(1, n) for n in nodes) + data(2, name) + b"".join(data(5, t) for t in tensors)
    return out + b"".join(data(11, v) for v in inputs) + b"".join(data(12, v) for v in outputs)


def model(name, nodes, tensors, inputs, outputs, opsets):
    """`opsets`: {"": 17, "acme": 1}."""
    whole = graph(name, nodes, tensors, inputs, outputs)
    return number(1, 8) + data(2, "graft example") + data(7, whole) + b"".join(data(8, data(1, d) + number(2, v)) for d, v in opsets.items())
