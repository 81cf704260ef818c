#!/usr/bin/env python3
"""The .xml and the .bin of an IR belong together: whatever happens while they are written, reading gives one of the pairs or refuses."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import unittest

import harness
from harness import built, graft, onnx

# Two models whose weights have the same size: mixing them gives other numbers. x is 10.
MODELS = {"a": ("Add", 2, 12.0), "m": ("Multiply", 5, 50.0)}
RIGHT = {value for _, _, value in MODELS.values()}


class Pair(harness.Case):
    def setUp(self):
        super().setUp()
        for name, (kind, constant, _) in MODELS.items():
            with open(self.path(name + ".graph"), "w") as f:
                f.write('graph (x: f32[1] "x") { y = %s(x, f32[1] {%d}) : f32[1] "y" return y }\n' % (kind, constant))
        harness.npy(self.path("x.npy"), [10])

    def command(self, model):
        return [built("bin", "graft"), "convert", self.path(model + ".graph"), "-o", self.path("out"), "-n", "n", "--silent"]

    def convert(self, model, interfere=""):
        env = dict(os.environ)
        if interfere:
            env.update(LD_PRELOAD=built("lib", "libinterfere.so"), INTERFERE=interfere)
        return harness.Ended(subprocess.run(self.command(model), env=env, capture_output=True, text=True))

    def read(self):
        """The result of the pair; None: refused."""
        r = graft("run", self.path("out", "n.xml"), "-i", "x=" + self.path("x.npy"), "--output-dir", self.path("y"), "--quiet")
        if r.status:
            self.assertIn(r.status, (1, 2), r.all)
            return None
        return harness.read_npy(self.path("y", "0.npy"))[0]

    def content(self, file):
        with open(self.path("out", file), "rb") as f:
            return f.read()

    def left_overs(self):
        return [f for f in os.listdir(self.path("out")) if f not in ("n.xml", "n.bin")]

    def start_from(self, recorded):
        """The pair of "a", as Graft or as another program writes it."""
        shutil.rmtree(self.path("out"), ignore_errors=True)
        self.assertEqual(self.convert("a").status, 0)
        if not recorded:
            plain = re.sub(rb"\t<graft>.*?</graft>\n", b"", self.content("n.xml"), flags=re.S)
            with open(self.path("out", "n.xml"), "wb") as f:
                f.write(plain)


class Interrupted(Pair):
    def test_killed_between_renames(self):
        for recorded in (True, False):
            for at in range(1, 5):
                with self.subTest(recorded=recorded, at=at):
                    self.start_from(recorded)
                    self.assertEqual(self.convert("m", "rename %d kill" % at).status, -signal.SIGKILL)
                    self.assertIn(self.read(), {None, *RIGHT})
                    self.assertEqual(self.convert("m").status, 0)
                    self.assertEqual(self.read(), 50)
                    self.assertEqual(self.left_overs(), [])

    def test_killed_while_writing(self):
        self.start_from(True)
        self.assertEqual(self.convert("m", "fsync 1 kill").status, -signal.SIGKILL)
        self.assertEqual(self.read(), 12)
        self.assertEqual(self.convert("m").status, 0)
        self.assertEqual(self.left_overs(), [])

    def test_signals(self):
        for call, count in (("rename", 4), ("fsync", 2)):
            for name, number in (("term", signal.SIGTERM), ("int", signal.SIGINT)):
                for at in range(1, count + 1):
                    with self.subTest(call=call, signal=name, at=at):
                        self.start_from(True)
                        self.assertEqual(self.convert("m", "%s %d %s" % (call, at, name)).status, -number)
                        self.assertEqual(self.read(), 50 if call == "rename" else 12)
                        self.assertEqual(self.left_overs(), [])

    def test_limits_of_the_process(self):
        """A file that may not get larger is an error like a full disk."""
        def shell(limit):
            command = " ".join(shlex.quote(w) for w in self.command("m"))
            return harness.Ended(subprocess.run(["bash", "-c", limit + "; exec " + command], capture_output=True, text=True))
        self.start_from(True)
        before = self.content("n.xml"), self.content("n.bin")
        r = shell("ulimit -f 0")
        self.assertEqual(r.status, 2, r.all)
        self.assertIn("cannot write", r.err)
        self.assertEqual((self.content("n.xml"), self.content("n.bin")), before)
        self.assertEqual(self.left_overs(), [])

    def test_failing_renames(self):
        for at in range(1, 5):
            with self.subTest(at=at):
                self.start_from(True)
                before = self.content("n.xml"), self.content("n.bin")
                r = self.convert("m", "rename %d fail" % at)
                self.assertEqual(r.status, 2, r.all)
                self.assertIn("cannot write", r.err)
                self.assertEqual((self.content("n.xml"), self.content("n.bin")), before)
                self.assertEqual(self.left_overs(), [])

    def test_a_model_that_is_cut_while_it_is_mapped(self):
        model = self.path("cut.onnx")
        weights = onnx.number(1, 1 << 18) + onnx.number(2, 1) + onnx.data(8, "w") + onnx.data(9, os.urandom(1 << 20))
        harness.save(model, [onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", [1 << 18])], [onnx.value("y", [1 << 18])], [weights])
        env = dict(os.environ, LD_PRELOAD=built("lib", "libinterfere.so"), INTERFERE="create 1 cut", INTERFERE_FILE=model)
        r = subprocess.run([built("bin", "graft"), "convert", model, "-o", self.path("out")], env=env, capture_output=True, text=True)
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertIn("became shorter while it was being read", r.stderr)
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_nothing_was_there_before(self):
        os.mkdir(self.path("out"))
        self.assertEqual(self.convert("m", "rename 2 fail").status, 2)
        self.assertEqual(os.listdir(self.path("out")), [])


class Concurrent(Pair):
    def test_two_writers_and_a_reader(self):
        for recorded in (True, False):
            self.start_from(recorded)
            for _ in range(30):
                writers = [subprocess.Popen(self.command(m)) for m in MODELS]
                self.assertIn(self.read(), {None, *RIGHT})
                for w in writers:
                    self.assertEqual(w.wait(), 0)
                self.assertIn(self.read(), RIGHT)
            self.assertEqual(self.left_overs(), [])


class Record(Pair):
    def test_weights_of_another_model(self):
        self.start_from(True)
        shutil.copy(self.path("out", "n.bin"), self.path("a.bin"))
        self.convert("m")
        r = graft("run", self.path("out", "n.xml"), self.path("a.bin"))
        self.assertEqual(r.status, 2)
        self.assertRegex(r.err, r"expected weights of 4 bytes with hash [0-9a-f]{16}, got 4 bytes with hash [0-9a-f]{16}\n")
        self.assertIn("hint: convert the model again, or pass the .bin that belongs to this .xml", r.err)
        with open(self.path("a.bin"), "ab") as f:
            f.write(b"more")
        r = graft("run", self.path("out", "n.xml"), self.path("a.bin"))
        self.assertRegex(r.err, r"expected weights of 4 bytes with hash [0-9a-f]{16}, got 8 bytes\n")

    def test_an_ir_without_a_record_comes_back_as_it_is(self):
        self.start_from(False)
        before = self.content("n.xml"), self.content("n.bin")
        r = graft("convert", self.path("out", "n.xml"), "-o", self.path("out"), "--disable-pass", "all")
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual((self.content("n.xml"), self.content("n.bin")), before)

    def test_layers_of_one_name_are_written(self):
        with open(self.path("a.graph"), "w") as f:
            f.write("graph (x: f32[1]) { y = Add(x, f32[1] {2}) return y = y }")
        self.assertEqual(self.convert("a").status, 0)
        self.assertEqual(self.read(), 12)

    def test_what_cannot_be_read_back_replaces_nothing(self):
        self.start_from(True)
        before = self.content("n.xml"), self.content("n.bin")
        r = self.convert("m", "reopen 1 spoil")
        self.assertEqual(r.status, 3, r.all)
        self.assertRegex(r.err, "internal error: the IR (cannot be read back|reads back differently)")
        self.assertEqual((self.content("n.xml"), self.content("n.bin")), before)
        self.assertEqual(self.left_overs(), [])


class Overlaps(Pair):
    def net(self, ranges):
        layers = edges = ""
        for i, (offset, size) in enumerate(ranges):
            layers += ('<layer id="%d" name="c%d" type="Const" version="opset1"><data element_type="u8" shape="%d" offset="%d" size="%d"/>'
                       '<output><port id="0" precision="U8"/></output></layer><layer id="%d" name="r%d" type="Result" version="opset1"><input>'
                       '<port id="0"/></input></layer>' % (2 * i, i, size, offset, size, 2 * i + 1, i))
            edges += '<edge from-layer="%d" from-port="0" to-layer="%d" to-port="0"/>' % (2 * i, 2 * i + 1)
        with open(self.path("o.xml"), "w") as f:
            f.write('<?xml version="1.0"?><net name="n" version="11"><layers>%s</layers><edges>%s</edges></net>' % (layers, edges))
        with open(self.path("o.bin"), "wb") as f:
            f.write(os.urandom(1_000_300))
        return graft("convert", self.path("o.xml"), "-o", self.path("out"))

    def test_partial_overlaps(self):
        for second in ((1, 1_000_000), (0, 10), (999_999, 2), (500, 100)):
            r = self.net([(0, 1_000_000), second])
            self.assertEqual(r.status, 2, r.all)
            self.assertRegex(r.err, "constants 'c[01]' and 'c[01]' partly overlap in the weights")

    def test_external_data_of_onnx(self):
        def tensor(name, offset):
            entry = lambda key, value: onnx.data(13, onnx.data(1, key) + onnx.data(2, value))
            return onnx.number(1, 2) + onnx.number(2, 1) + onnx.data(8, name) + entry("location", "w.bin") + entry("offset", str(offset)) + onnx.number(14, 1)
        self.write("w.bin", bytes(16))
        for offset, status in ((0, 0), (8, 0), (4, 2)):
            harness.save(self.path("e.onnx"), [onnx.node("Add", ["a", "b"], ["c"]), onnx.node("Add", ["x", "c"], ["y"])], [onnx.value("x", [2])],
                         [onnx.value("y", [2])], [tensor("a", 0), tensor("b", offset)])
            r = graft("convert", self.path("e.onnx"), "-o", self.path("out"))
            self.assertEqual(r.status, status, r.all)
        self.assertIn("tensors 'a' and 'b' partly overlap in 'w.bin'", r.err)

    def test_the_same_range_is_written_once(self):
        r = self.net([(0, 1_000_000)] * 300 + [(1_000_000, 300)])
        self.assertEqual(r.status, 0, r.all)
        self.assertEqual(os.path.getsize(self.path("out", "o.bin")), 1_000_300)


if __name__ == "__main__":
    harness.main()
