"""A binary Kaldi model as text, token by token, as Kaldi's own programs write it with --binary=false."""
import re
import struct

TOKEN = re.compile(rb"</?[A-Za-z!][^<> \n]{0,63}> ")
PAIRS = {"Offsets"}  # of a TimeHeightConvolutionComponent
LISTS = {"TimeOffsets", "Context", "Sizes", "ColumnMap", "Reorder", "RequiredTimeOffsets"}
NNET1_LISTS = {"Copy", "Splice", "BlockSoftmax"}  # behind the two dimensions of the component


class Converter:
    def __init__(self, content):
        assert content[:2] == b"\0B"
        self.content, self.at, self.out = content, 2, []

    def take(self, form):
        size = struct.calcsize("<" + form)
        values = struct.unpack("<" + form, self.content[self.at:self.at + size])
        self.at += size
        return values

    def array(self):
        """FM, DM, FV or DV."""
        kind = self.content[self.at:self.at + 2].decode()
        self.at += 3
        sizes = [self.take("bi")[1] for _ in range(2 if kind[1] == "M" else 1)]
        count = 1
        for s in sizes:
            count *= s
        values = self.take("%d%s" % (count, "f" if kind[0] == "F" else "d"))
        text = ["%.9g" % v if kind[0] == "F" else repr(v) for v in values]
        if kind[1] == "V":
            return " [ %s ]\n" % " ".join(text)
        columns = sizes[1]
        return " [" + "".join("\n  " + " ".join(text[r * columns:(r + 1) * columns]) for r in range(sizes[0])) + " ]\n"

    def ends_at(self, at):
        """Whether something else begins there: a token, an array, or the next number or flag."""
        rest = self.content[at:at + 80]
        return not rest or TOKEN.match(rest) or rest[:3] in (b"FM ", b"FV ", b"DM ", b"DV ")

    def integers(self, count):
        return self.take("bi%di" % count)[2:]

    def value(self, token, number):
        rest = self.content[self.at:self.at + 5]
        if rest[:3] in (b"FM ", b"FV ", b"DM ", b"DV "):
            return self.array()
        if rest[:1] in (b"T", b"F"):
            self.at += 1
            return rest[:1].decode() + " "
        if rest[0] == 4:
            count = struct.unpack("<i", rest[1:])[0]
            if token in PAIRS and count >= 0 and self.ends_at(self.at + 5 + 8 * count):
                v = self.integers(2 * count)
                return "[ %s ]\n" % " ".join("%d,%d" % p for p in zip(v[::2], v[1::2]))
            if (token in LISTS or (token in NNET1_LISTS and number == 2)) and 0 <= count < 1 << 16 and self.ends_at(self.at + 5 + 4 * count):
                return "[ %s ]\n" % " ".join(map(str, self.integers(count)))
            self.at += 1
            i = self.take("i")[0]
            return "%d " % i if abs(i) < 1 << 24 else "%.9g " % struct.unpack("<f", struct.pack("<i", i))[0]
        assert rest[0] == 8, (token, rest, self.at)
        self.at += 1
        return "%r " % self.take("d")[0]

    def run(self):
        token, number = "", 0
        while self.at < len(self.content):
            m = TOKEN.match(self.content, self.at)
            if not m:
                if self.content[self.at] in b" \n":
                    self.at += 1
                else:
                    self.out.append(self.value(token, number))
                    number += 1
                continue
            token, number = m.group()[1:-2].decode(), 0
            self.at = m.end()
            self.out.append("<%s> " % token)
            if token == "TransitionModel":
                self.at = self.content.index(b"</TransitionModel> ", self.at)
            elif token == "Nnet3":  # its configuration is text
                end = self.content.index(b"\n\n", self.at) + 2
                self.out.append(self.content[self.at:end].decode())
                self.at = end
            elif token == "ComponentName":
                end = self.content.index(b" ", self.at) + 1
                self.out.append(self.content[self.at:end].decode())
                self.at = end
        return "".join(self.out).encode()


def as_text(content):
    return Converter(content).run()
