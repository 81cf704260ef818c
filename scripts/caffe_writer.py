"""Weights of Caffe models written with nothing but Python's standard library: enough of the protobuf wire format for examples and tests."""
import struct

import onnx_writer as wire


def blob(dims, values):
    """A BlobProto of Caffe."""
    return wire.data(7, wire.data(1, b"".join(wire.varint(d) for d in dims))) + wire.data(5, struct.pack("<%df" % len(values), *values))


def caffemodel(layers):
    """`layers`: {name: (type, [(dims, values), ...])}."""
    return b"".join(wire.data(100, wire.data(1, name) + wire.data(2, kind) + b"".join(wire.data(7, blob(*b)) for b in blobs))
                    for name, (kind, blobs) in layers.items())
