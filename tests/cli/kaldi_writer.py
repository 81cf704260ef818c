"""Writes Kaldi models and archives, text or binary, as Kaldi's own programs do."""
import struct


class I(int):
    """An integer; plain Python numbers are floats."""


class Ints(list):
    pass


class Pairs(list):
    pass


class Vector(list):
    pass


class Matrix(list):
    pass


class Writer:
    def __init__(self, binary):
        self.binary = binary
        self.out = b"\0B" if binary else b""

    def raw(self, content):
        self.out += content if isinstance(content, bytes) else content.encode()
        return self

    def token(self, name):
        return self.raw("<%s> " % name)

    def value(self, v):
        if v is None:
            return self
        return self.binary_value(v) if self.binary else self.text_value(v)

    def binary_value(self, v):
        if isinstance(v, bool):
            return self.raw(b"T" if v else b"F")
        if isinstance(v, I):
            return self.raw(struct.pack("<bi", 4, v))
        if isinstance(v, Ints):
            return self.raw(struct.pack("<bi%di" % len(v), 4, len(v), *v))
        if isinstance(v, Pairs):
            return self.raw(struct.pack("<bi%di" % (2 * len(v)), 4, len(v), *[i for p in v for i in p]))
        if isinstance(v, Vector):
            return self.raw(b"FV " + struct.pack("<bi%df" % len(v), 4, len(v), *v))
        if isinstance(v, Matrix):
            flat = [x for row in v for x in row]
            return self.raw(b"FM " + struct.pack("<bibi%df" % len(flat), 4, len(v), 4, len(v[0]), *flat))
        return self.raw(struct.pack("<bf", 4, v))

    def text_value(self, v):
        if isinstance(v, bool):
            return self.raw("T " if v else "F ")
        if isinstance(v, I):
            return self.raw("%d " % v)
        if isinstance(v, Pairs):
            return self.raw("[ %s ]\n" % " ".join("%d,%d" % p for p in v))
        if isinstance(v, (Ints, Vector)):
            return self.raw(" [ %s ]\n" % " ".join("%g" % x for x in v))
        if isinstance(v, Matrix):
            return self.raw(" [" + "".join("\n  " + " ".join("%.9g" % x for x in row) for row in v) + " ]\n")
        return self.raw("%.9g " % v)

    def component(self, type, items, name=None):
        if name:
            self.token("ComponentName").raw(name + " ")
        self.token(type)
        for token, *values in items:
            if isinstance(token, tuple):  # a component inside
                self.component(*token)
                continue
            self.token(token)
            for v in values:
                self.value(v)
        return self.raw("</%s> " % type)


def nnet3(config, components, binary, transitions=False):
    """components: (name, type, [(token, value...)...])."""
    w = Writer(binary)
    if transitions:
        w.token("TransitionModel").token("Topology").raw("<1> ").raw("</Topology> ").raw("</TransitionModel> ")
    w.raw("<Nnet3> \n").raw("\n".join(config) + "\n\n")
    w.token("NumComponents").value(I(len(components)))
    for name, type, items in components:
        w.component(type, items, name)
    return w.raw("</Nnet3> ").out


def nnet1(components, binary, ends=True):
    """components: (type, output, input, [(token, value...)...]); a token None stands for values without one."""
    w = Writer(binary).token("Nnet")
    for type, rows, columns, items in components:
        w.token(type).value(I(rows)).value(I(columns))
        for token, *values in items:
            if token:
                w.token(token)
            for v in values:
                w.value(v)
        if ends:
            w.token("!EndOfComponent")
    return w.raw("</Nnet> ").out


def nnet2(components, binary):
    w = Writer(binary).token("TransitionModel").raw("</TransitionModel> ").token("Nnet")
    w.token("NumComponents").value(I(len(components))).token("Components")
    for type, items in components:
        w.component(type, items)
    return w.raw("</Components> </Nnet> ").out


def archive(entries, binary=True):
    out = b""
    for key, value in entries:
        if binary:
            out += key.encode() + b" " + Writer(True).value(value).out
        else:
            out += key.encode() + b" " + Writer(False).value(value).out
    return out


def compressed(rows, kind):
    """A matrix as CM, with percentiles per column, or as CM2 or CM3: values between the smallest and the largest, in steps."""
    flat = [x for r in rows for x in r]
    low, span = min(flat), max(flat) - min(flat)
    head = b"\0B" + kind.encode() + b" " + struct.pack("<ffii", low, span, len(rows), len(rows[0]))
    if kind == "CM":
        columns = [compressed_column([r[c] for r in rows], low, span) for c in range(len(rows[0]))]
        return head + b"".join(h for h, _ in columns) + b"".join(codes for _, codes in columns)
    most, code = (65535, "H") if kind == "CM2" else (255, "B")
    return head + struct.pack("<%d%s" % (len(flat), code), *[round((x - low) / span * most) for x in flat])


def compressed_column(values, low, span):
    """Four percentiles in 16 bits each, and a byte per value: 64, 128 and 63 steps between them."""
    order = sorted(values)
    points = [order[0], order[len(order) // 4], order[3 * len(order) // 4], order[-1]]
    heads = [round((p - low) / span * 65535) for p in points]
    heads[0] = min(heads[0], 65532)
    for i in range(1, 4):
        heads[i] = min(max(heads[i], heads[i - 1] + 1), 65532 + i)
    points = [low + span * h / 65535 for h in heads]

    def code(v):
        first, count = next(((i, n) for i, n in enumerate((64, 128, 63)) if v <= points[i + 1]), (2, 63))
        part = (v - points[first]) / (points[first + 1] - points[first])
        return min(max((0, 64, 192)[first] + round(part * count), 0), 255)
    return struct.pack("<4H", *heads), bytes(code(v) for v in values)


def read_archive(path):
    """The matrices of a binary archive."""
    with open(path, "rb") as f:
        content = f.read()
    out, at = {}, 0
    while at < len(content):
        blank = content.index(b" ", at)
        key, at = content[at:blank].decode(), blank + 1
        assert content[at:at + 5] == b"\0BFM ", content[at:at + 5]
        _, rows, _, columns = struct.unpack("<bibi", content[at + 5:at + 15])
        flat = struct.unpack("<%df" % (rows * columns), content[at + 15:at + 15 + 4 * rows * columns])
        out[key] = [list(flat[r * columns:(r + 1) * columns]) for r in range(rows)]
        at += 15 + 4 * rows * columns
    return out
