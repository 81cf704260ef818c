#!/usr/bin/env python3
"""Writes the files of tests/readers/tflite.test: small TensorFlow Lite models, right and wrong.

  tests/readers/tflite_cases.py tests/readers/tflite.test      renews the bytes; what each case expects stays
  tests/readers/tflite_cases.py --seeds FOLDER                 every file alone, for the fuzz target
"""
import os
import struct
import sys


class Table:
    """Fields by number: ("I", 3) a number of this struct format, text, bytes, a Table, a list of Tables or of texts,
    ("i", [1, 2]) a vector of numbers."""

    def __init__(self, fields, name=None):
        self.fields, self.name = fields, name


class Writer:
    def __init__(self):
        self.out, self.places = bytearray(8), {}

    def align(self, n):
        while len(self.out) % n:
            self.out.append(0)

    def table(self, t):
        fields = {k: v for k, v in t.fields.items() if v is not None}
        count = max(fields, default=-1) + 1
        inline, at = {}, 4
        size = lambda v: struct.calcsize(v[0]) if isinstance(v, tuple) and not isinstance(v[1], list) else 4
        for k in sorted(fields, key=lambda k: -size(fields[k])):
            n = size(fields[k])
            at += -at % n
            inline[k] = at
            at += n
        self.align(2)
        vtable = len(self.out)
        # The table begins at a multiple of 8, so that all fields are aligned.
        self.out += struct.pack("<HH", 4 + 2 * count, at)
        for k in range(count):
            self.out += struct.pack("<H", inline.get(k, 0))
        self.align(8)
        place = len(self.out)
        self.out += bytes(at)
        struct.pack_into("<i", self.out, place, place - vtable)
        if t.name:
            self.places[t.name] = place
        for k, v in fields.items():
            if isinstance(v, tuple) and not isinstance(v[1], list):
                struct.pack_into("<" + v[0], self.out, place + inline[k], v[1])
            else:
                self.point(place + inline[k], v)
        return place

    def point(self, at, v):
        place = self.value(v)
        struct.pack_into("<I", self.out, at, place - at)

    def value(self, v):
        if isinstance(v, Table):
            return self.table(v)
        if isinstance(v, str):
            v = v.encode()
        if isinstance(v, bytes):
            while len(self.out) % 16 != 12:
                self.out.append(0)
            place = len(self.out)
            self.out += struct.pack("<I", len(v)) + v + b"\0"
            return place
        if isinstance(v, tuple):
            while len(self.out) % 8 != 4:
                self.out.append(0)
            place = len(self.out)
            self.out += struct.pack("<I", len(v[1])) + b"".join(struct.pack("<" + v[0], x) for x in v[1])
            return place
        self.align(4)
        place = len(self.out)
        self.out += struct.pack("<I", len(v)) + bytes(4 * len(v))
        for i, x in enumerate(v):
            self.point(place + 4 + 4 * i, x)
        return place

    def file(self, root):
        struct.pack_into("<I", self.out, 0, self.table(root))
        self.out[4:8] = b"TFL3"
        self.align(16)
        return bytes(self.out)


# ---- the schema, as far as the cases need it ----

F32, I32, STRING, BOOL, COMPLEX64, I8, RESOURCE = 0, 2, 5, 6, 8, 9, 13


def tensor(name, shape=(2,), type=F32, buffer=0, **more):
    numbers = {"quantization": 4, "variable": 5, "sparsity": 6, "signature": 7}
    t = {0: ("i", list(shape)), 1: ("b", type), 2: ("I", buffer), 3: name}
    t.update({numbers[k]: v for k, v in more.items()})
    return Table(t, "tensor " + name)


def op(code, inputs, outputs, options=None, kind=0, custom=None, more=None):
    f = {0: ("I", code), 1: ("i", list(inputs)), 2: ("i", list(outputs)), 3: ("B", kind) if kind else None, 4: options, 5: custom}
    f.update(more or {})
    return Table(f, "operator")


def code(number, custom=None):
    return Table({0: ("b", min(number, 127)), 1: custom, 3: ("i", number)})


def graph(tensors, inputs, outputs, operators, name="main"):
    return Table({0: tensors, 1: ("i", list(inputs)), 2: ("i", list(outputs)), 3: operators, 4: name}, "graph " + name)


def model(codes, graphs, buffers=(), signatures=None, version=3):
    buffers = [Table({})] + [b if isinstance(b, Table) else Table({0: b}) for b in buffers]
    return Table({0: ("I", version), 1: [code(*c) if isinstance(c, tuple) else code(c) for c in codes], 2: list(graphs), 3: "made",
                  4: buffers, 7: signatures}, "model")


ADD, CONCATENATION, RELU, FULLY_CONNECTED, CONV_2D, CUSTOM = 0, 2, 19, 9, 3, 32
STRIDED_SLICE, IF, WHILE, CALL_ONCE, LESS, QUANTIZE, DEQUANTIZE = 45, 118, 119, 129, 58, 114, 6
VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, HASHTABLE, HASHTABLE_IMPORT = 142, 143, 144, 136, 138
x, y = tensor("x"), tensor("y")
numbers = lambda *v: struct.pack("<%df" % len(v), *v)
integers = lambda *v: struct.pack("<%di" % len(v), *v)


def one(number, options=None, kind=0, tensors=None, inputs=(0,), outputs=(1,), buffers=(), into=(0,), out=(1,), **more):
    """A model of one operator from x to y."""
    return model([number], [graph(tensors or [x, y], into, out, [op(0, inputs, outputs, options, kind, **more)])], buffers)


def constant(t, *buffers):
    """x + a constant."""
    return one(ADD, tensors=[x, y, t], inputs=(0, 2), buffers=buffers)


def behind():
    """The same with the data at the end of the file, as files of more than 2 GB have them."""
    at = len(Writer().file(constant(tensor("w", buffer=1), Table({1: ("Q", 16), 2: ("Q", 8)}))))
    return Writer().file(constant(tensor("w", buffer=1), Table({1: ("Q", at), 2: ("Q", 8)}))) + numbers(1, 2)


def quantized(**fields):
    names = {"scale": 2, "zero": 3, "kind": 4, "axis": 6}
    q = Table({names[k]: v for k, v in fields.items()}, "quantization")
    return one(DEQUANTIZE, tensors=[tensor("x", type=I8, quantization=q), y])


def sparse(order, segments, indices, data, block=None, levels=None):
    vector = lambda v: Table({0: ("i", v)})
    levels = levels or [Table({0: ("b", 0), 1: ("i", 2)}),
                        Table({0: ("b", 1), 2: ("B", 1), 3: vector(segments), 4: ("B", 1), 5: vector(indices)})]
    s = Table({0: ("i", order), 1: ("i", block) if block else None, 2: levels}, "sparsity")
    return one(ADD, tensors=[tensor("x", (2, 3)), tensor("y", (2, 3)), tensor("w", (2, 3), buffer=1, sparsity=s)], inputs=(0, 2), buffers=[data])


def branch(name="then", outputs=(0,)):
    return graph([tensor("a")], [0], outputs, [], name)


def condition(then=1, other=2, inputs=(1, 0), graphs=None):
    main = graph([x, tensor("c", (), BOOL), y], [0, 1], [2], [op(0, inputs, [2], Table({0: ("i", then), 1: ("i", other)}), 92)])
    return model([IF, RELU], [main] + (graphs or [graph([tensor("a"), tensor("b")], [0], [1], [op(1, [0], [1])], "then"), branch("else")]))


def loop(test=1, body=2, graphs=None):
    """y = x doubled while its first element is below 10."""
    main = graph([x, y], [0], [1], [op(0, [0], [1], Table({0: ("i", test), 1: ("i", body)}), 93)])
    first = graph([tensor("a"), tensor("s", (), BOOL), tensor("ten", (), buffer=1), tensor("first", ()), tensor("b", (1,), I32, 2),
                   tensor("e", (1,), I32, 3), tensor("d", (1,), I32, 3)], [0], [1],
                  [op(3, [0, 4, 5, 6], [3], Table({4: ("i", 1)}), 32), op(2, [3, 2], [1])], "test")
    twice = graph([tensor("a"), tensor("b")], [0], [1], [op(1, [0, 0], [1])], "body")
    return model([WHILE, ADD, LESS, STRIDED_SLICE], [main] + (graphs or [first, twice]), [numbers(10), integers(0), integers(1)])


def handle(name):
    return tensor(name, (), RESOURCE)


def state(start=True, graphs=None, assign=None):
    """y = v + x, then v = y; v begins as 1, 2."""
    named = lambda: Table({1: "v"})
    main = graph([x, y, handle("h"), tensor("r")], [0], [1],
                 [op(0, [], [], Table({0: ("i", 1)}), 103), op(1, [], [2], named(), 111), op(2, [2], [3]), op(3, [3, 0], [1])] +
                 (assign or [op(4, [2, 1], [])]))
    init = graph([handle("g"), tensor("first", buffer=1)], [], [], [op(1, [], [0], named(), 111), op(4, [0, 1], [])] if start else [], "init")
    return model([CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ADD, ASSIGN_VARIABLE, IF], [main, init] + (graphs or []), [numbers(1, 2)])


def recurrent(number, kind, options, shapes, weights, state, result, absent=0):
    """Data, weights, absent inputs, a state that the file does not have."""
    tensors = [tensor("x", shapes[0]), tensor("y", result)]
    tensors += [tensor("w%d" % i, s, buffer=i + 1) for i, s in enumerate(shapes[1:])]
    tensors.append(tensor("state", state, variable=("B", 1)))
    inputs = [0] + [2 + i for i in range(len(shapes) - 1)] + [-1] * absent + [len(tensors) - 1]
    return one(number, Table(options), kind, tensors=tensors, inputs=inputs, buffers=[numbers(*w) for w in weights])


def memory(also=None):
    """Two steps of one unit, with the weights of the data 0.5, 0.6, 0.7 and 0.8, of the state 0.1."""
    tensors = [tensor("x", (1, 2, 1)), tensor("y", (1, 2, 1))] + [tensor("w%d" % i, (1, 1), buffer=i + 1) for i in range(4)]
    tensors += [tensor("r", (1, 1), buffer=5), tensor("b", (1,), buffer=6)]
    tensors += [tensor("h", (1, 1), variable=("B", 1)), tensor("c", (1, 1), variable=("B", 1))]
    inputs = [0, 2, 3, 4, 5] + [6] * 4 + [-1] * 3 + [7] * 4 + [-1, -1, 8, 9]
    if also is not None:
        inputs[also] = 7
    return one(44, Table({0: ("b", 4)}), 71, tensors=tensors, inputs=inputs,
               buffers=[numbers(v) for v in (0.5, 0.6, 0.7, 0.8, 0.1, 0)])


def flex_map(entries):
    """A FlexBuffer map of one byte per number: key -> int 0..100."""
    out, keys = b"", []
    for k in sorted(entries):
        keys.append(len(out))
        out += k.encode() + b"\0"
    table = len(out) + 1
    out += bytes([len(keys)])
    out += bytes(table + i - k for i, k in enumerate(keys))
    values = len(out)
    out += bytes([values - table, 1, len(keys)])
    first = len(out)
    out += bytes(entries[k] for k in sorted(entries)) + bytes([1 << 2] * len(keys))
    return out + bytes([len(out) - first, 9 << 2, 1])


def signature(name, inputs, outputs, graph=0):
    list_of = lambda pairs: [Table({0: n, 1: ("I", t)}) for n, t in pairs]
    return Table({0: list_of(inputs), 1: list_of(outputs), 2: name, 4: ("I", graph)}, "signature")


def patched(root, place, format, value, offset=0):
    """The file with other bytes at a named table."""
    w = Writer()
    data = bytearray(w.file(root))
    at = (w.places[place] if place else 0) + offset
    struct.pack_into("<" + format, data, at, value)
    return bytes(data)


def vtable_patched(root, place, offset, value):
    w = Writer()
    data = bytearray(w.file(root))
    table = w.places[place]
    vtable = table - struct.unpack_from("<i", data, table)[0]
    struct.pack_into("<H", data, vtable + offset, value)
    return bytes(data)


relu = one(RELU)
strings = lambda data, count=2: one(ADD, tensors=[x, y, tensor("s", (count,), STRING, 1)], inputs=(0, 2), buffers=[data])
conv = lambda options: one(CONV_2D, options, 1, tensors=[tensor("x", (1, 2, 2, 1)), tensor("y", (1, 2, 2, 1)), tensor("w", (1, 1, 1, 1), buffer=1)],
                           inputs=(0, 2), buffers=[numbers(2)])
full = lambda options: one(FULLY_CONNECTED, options, 8, tensors=[tensor("x", (1, 2)), tensor("y", (1, 1)), tensor("w", (1, 2), buffer=1)],
                           inputs=(0, 2), buffers=[numbers(2, 3)])
scales = lambda *v: ("f", list(v))
zeros = lambda *v: ("q", list(v))

CASES = [
    ("valid", relu),
    ("a constant", constant(tensor("w", buffer=1), numbers(1, 2))),
    ("a constant behind the tables", behind()),
    ("two outputs are one tensor", one(RELU, out=(1, 1))),
    ("an output is an input", one(RELU, out=(0, 1))),
    ("no operator", model([RELU], [graph([x], [0], [0], [])])),
    ("bytes along an axis", one(DEQUANTIZE, tensors=[tensor("x", (2, 2), I8, quantization=Table({2: scales(0.5, 2), 3: zeros(0, 1), 6: ("i", 1)})), tensor("y", (2, 2))])),
    ("rounding twice", one(QUANTIZE, tensors=[tensor("x", (3,), I8, quantization=Table({2: scales(1), 3: zeros(0)})),
                                              tensor("y", (3,), I8, quantization=Table({2: scales(2.9), 3: zeros(1)}))])),
    ("a branch", condition()),
    ("a loop", loop()),
    ("a variable", state()),
    ("a sparse constant", sparse([0, 1], [0, 1, 3], [2, 0, 1], numbers(1, 2, 3))),
    ("fully connected", full(Table({0: ("b", 1)}))),
    ("a recurrent layer", recurrent(24, 7, {0: ("b", 1)}, [(1, 2), (1, 2), (1, 1), (1,)], [(1, 2), (0.5,), (0.25,)], (1, 1), (1, 1))),
    ("a filter over time", recurrent(27, 6, {0: ("i", 1)}, [(1, 2), (2, 2), (2, 2)], [(1, 0, 0, 1), (0.5, 1, 0.5, 2)], (1, 4), (1, 2), absent=1)),
    ("a long short-term memory", memory()),
    ("peephole weights", memory(9)),
    ("custom options", one(CUSTOM, custom=flex_map({"k": 3, "size": 7}))),
    ("the name of a custom operator", model([(CUSTOM, "Acme")], [graph([x, y], [0], [1], [op(0, [0], [1], custom=b"\1\2\3")])])),
    # ---- wrong ----
    ("no model", b"TFL3"),
    ("another identifier", patched(relu, None, "4s", b"ABCD", 4)),
    ("the root is nowhere", patched(relu, None, "I", 0)),
    ("the root is outside", patched(relu, None, "I", 1 << 20)),
    ("the root is not aligned", patched(relu, None, "I", 17)),
    ("truncated", Writer().file(relu)[:60]),
    ("a vtable outside", patched(relu, "model", "i", 1 << 20)),
    ("a vtable before the file", patched(relu, "model", "i", 1 << 29)),
    ("a vtable that is not aligned", patched(relu, "model", "i", 9)),
    ("a vtable of an odd length", vtable_patched(relu, "model", 0, 7)),
    ("a vtable that is too long", vtable_patched(relu, "model", 0, 60000)),
    ("a table that is too long", vtable_patched(relu, "model", 2, 60000)),
    ("a table that is too short", vtable_patched(relu, "model", 2, 2)),
    ("a field outside its table", vtable_patched(relu, "model", 6, 200)),
    ("a field on its vtable", vtable_patched(relu, "model", 6, 2)),
    ("another version", model([RELU], [graph([x, y], [0], [1], [op(0, [0], [1])])], version=2)),
    ("no sub-graphs", model([RELU], [])),
    ("an unknown operator code", model([], [graph([x, y], [0], [1], [op(0, [0], [1])])])),
    ("an unknown builtin operator", one(1000)),
    ("an operator input outside", one(RELU, inputs=(5,))),
    ("an operator output outside", one(RELU, outputs=(-2,))),
    ("a graph input outside", one(RELU, into=(7,))),
    ("an absent graph output", one(RELU, out=(-1,))),
    ("the same graph input twice", one(RELU, into=(0, 0))),
    ("a tensor that is computed twice", model([RELU], [graph([x, y], [0], [1], [op(0, [0], [1]), op(0, [0], [1])])])),
    ("an operator computes an input", one(RELU, outputs=(0,))),
    ("a tensor that no operator computes", one(RELU, inputs=(1,), outputs=())),
    ("a cycle", model([ADD], [graph([x, y, tensor("z")], [0], [1], [op(0, [0, 2], [1]), op(0, [1, 1], [2])])])),
    ("a buffer outside", constant(tensor("w", buffer=9), numbers(1, 2))),
    ("a constant that is too short", constant(tensor("w", buffer=1), numbers(1))),
    ("a constant that is too long", constant(tensor("w", buffer=1), numbers(1, 2, 3))),
    ("a constant of unknown size", constant(tensor("w", (-1,), buffer=1), numbers(1))),
    ("a constant of a huge size", constant(tensor("w", (1 << 30, 1 << 30, 1 << 30), buffer=1), numbers(1))),
    ("data outside the file", constant(tensor("w", buffer=1), Table({1: ("Q", 1 << 40), 2: ("Q", 8)}, "buffer"))),
    ("data beyond the file", constant(tensor("w", buffer=1), Table({1: ("Q", 16), 2: ("Q", (1 << 64) - 8)}, "buffer"))),
    ("a negative dimension", constant(tensor("w", (-5,), buffer=1), numbers(1))),
    ("a shape signature of another rank", one(RELU, tensors=[tensor("x", signature=("i", [-1, 2])), y])),
    ("a complex input", one(RELU, tensors=[tensor("x", type=COMPLEX64), y])),
    ("an unknown element type", one(RELU, tensors=[tensor("x", type=99), y])),
    ("zero points without their scales", quantized(scale=scales(1, 2, 3), zero=zeros(0, 0), axis=("i", 0))),
    ("steps along an axis that is not there", quantized(scale=scales(1, 2), zero=zeros(0, 0), axis=("i", 4))),
    ("a custom quantization", quantized(scale=scales(1), kind=("B", 7))),
    ("options of another operator", one(FULLY_CONNECTED, Table({}), 5)),
    ("an unknown activation", full(Table({0: ("b", 77)}))),
    ("the activation SIGN_BIT", full(Table({0: ("b", 5)}))),
    ("shuffled weights", full(Table({1: ("b", 1)}))),
    ("an unknown padding", conv(Table({0: ("b", 4), 1: ("i", 1), 2: ("i", 1)}))),
    ("a stride of zero", conv(Table({0: ("b", 0), 1: ("i", 0), 2: ("i", 1)}))),
    ("strings without their number", strings(b"\1\0")),
    ("another number of strings", strings(integers(1, 12, 13) + b"a")),
    ("strings outside", strings(integers(2, 16, 17, 400) + b"ab")),
    ("strings that run backwards", strings(integers(2, 17, 16, 18) + b"ab")),
    ("a sparse order that is no permutation", sparse([0, 0], [0, 1, 3], [2, 0, 1], numbers(1, 2, 3))),
    ("sparse dimensions that are missing", sparse([0, 1], [], [], numbers(1), levels=[Table({0: ("b", 0), 1: ("i", 2)})])),
    ("a sparse segment outside", sparse([0, 1], [0, 1, 9], [2, 0, 1], numbers(1, 2, 3))),
    ("too few sparse segments", sparse([0, 1], [0, 1], [2, 0, 1], numbers(1, 2, 3))),
    ("a sparse index outside", sparse([0, 1], [0, 1, 3], [2, 0, 8], numbers(1, 2, 3))),
    ("too few sparse values", sparse([0, 1], [0, 1, 3], [2, 0, 1], numbers(1, 2))),
    ("too many sparse values", sparse([0, 1], [0, 1, 3], [2, 0, 1], numbers(1, 2, 3, 4))),
    ("a branch that is not there", condition(then=9)),
    ("a branch that is the model", condition(then=0)),
    ("a branch without a condition", condition(inputs=())),
    ("branches with other inputs", condition(inputs=(1,))),
    ("branches with other outputs", condition(graphs=[branch("then", (0, 0)), branch("else")])),
    ("a loop that calls itself", loop(body=0)),
    ("a loop with another body", loop(graphs=[branch("test"), graph([tensor("a")], [0], [], [], "body")])),
    ("a loop with two conditions", loop(graphs=[branch("test", (0, 0)), branch("body")])),
    ("a variable without a handle", state(assign=[op(4, [0, 1], [])])),
    ("an assignment in a branch", state(graphs=[graph([handle("h"), tensor("a")], [0, 1], [1], [op(4, [0, 1], [])], "then"),
                                                graph([handle("h"), tensor("a")], [0, 1], [1], [], "else")],
                                        assign=[op(5, [0, 2, 1], [], Table({0: ("i", 2), 1: ("i", 3)}), 92)])),
    ("a table that changes", model([HASHTABLE, HASHTABLE_IMPORT], [graph([x, handle("t"), y], [0], [0], [op(0, [], [1], Table({}), 107), op(1, [1, 0, 0], [])])])),
    ("a signature of another sub-graph", model([RELU], [graph([x, y], [0], [1], [op(0, [0], [1])])], signatures=[signature("s", [("a", 0)], [("b", 1)], 4)])),
    ("a signature of another tensor", model([RELU], [graph([x, y], [0], [1], [op(0, [0], [1])])], signatures=[signature("s", [("a", 9)], [("b", 1)])])),
    ("custom options outside the file", one(CUSTOM, more={9: ("Q", 1 << 40), 10: ("Q", 8)})),
    ("a name that is too long", one(RELU, tensors=[tensor("n" * 5000), y])),
]


def content(root):
    return root if isinstance(root, bytes) else Writer().file(root)


def block(data):
    lines = [data[i:i + 32].hex() for i in range(0, len(data), 32)]
    return "tflite <<<\n%s\n>>>\n" % "\n".join(lines)


def main():
    if sys.argv[1] == "--seeds":
        os.makedirs(sys.argv[2], exist_ok=True)
        for i, (_, root) in enumerate(CASES):
            with open(os.path.join(sys.argv[2], "case%d" % i), "wb") as f:
                f.write(content(root))
        return
    head, expected, name = [], {}, None
    if os.path.exists(sys.argv[1]):
        inside = False
        for line in open(sys.argv[1]):
            if line.startswith("== "):
                name = line[3:].strip()
                expected[name] = []
            elif line.startswith("tflite <<<"):
                inside = True
            elif line.startswith(">>>"):
                inside = False
            elif name is None:
                head.append(line)
            elif not inside and line.strip():
                expected[name].append(line)
    out = "".join(head)
    for name, root in CASES:
        out += "== %s\n%s%s\n" % (name, block(content(root)), "".join(expected.get(name, ["error: ?\n"])))
    with open(sys.argv[1], "w") as f:
        f.write(out)


main()
