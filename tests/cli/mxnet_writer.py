"""Writes MXNet symbols and .params files, as MXNet does."""
import json
import struct


def params(arrays):
    """The bytes of a .params file; arrays maps a name to (dimensions, values in f32: numbers or bytes)."""
    out = [struct.pack("<QQQ", 0x112, 0, len(arrays))]
    for dims, values in arrays.values():
        out.append(struct.pack("<IiI%dqiii" % len(dims), 0xF993FAC9, 0, len(dims), *dims, 1, 0, 0))
        out.append(values if isinstance(values, bytes) else struct.pack("<%df" % len(values), *values))
    out.append(struct.pack("<Q", len(arrays)))
    for name in arrays:
        out.append(struct.pack("<Q", len(name)) + name.encode())
    return b"".join(out)


def symbol(nodes, heads):
    variables = [i for i, n in enumerate(nodes) if n["op"] == "null"]
    return json.dumps({"nodes": nodes, "arg_nodes": variables, "heads": heads, "attrs": {"mxnet_version": ["int", 10901]}})


def variable(name, **attrs):
    return {"op": "null", "name": name, "attrs": attrs, "inputs": []}
