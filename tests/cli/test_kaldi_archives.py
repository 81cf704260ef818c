#!/usr/bin/env python3
"""graft run over Kaldi archives and scripts: forms of matrices, pipes, ranges, and utterances that fail.

  tests/cli/test_kaldi_archives.py --build build [unittest arguments]
"""
import struct
import subprocess

from harness import built, graft, main
from kaldi_writer import Vector, archive, compressed, nnet3, read_archive
from test_kaldi import KaldiCase, matrix


class Archives(KaldiCase):
    def setUp(self):
        super().setUp()
        self.write("m.mdl", nnet3(["input-node name=input dim=2", "output-node name=output input=Append(Offset(input, -1), input)"], [], True))
        self.rows = {"a": matrix(4, 2, 1), "b": matrix(1, 2, 2), "c": matrix(6, 2, 3)}

    def expected(self, rows):
        return [rows[max(t - 1, 0)] + rows[t] for t in range(len(rows))]

    def run_model(self, table, *more, status=0):
        r = graft("run", self.path("m.mdl"), "--input", "input=" + table, "--output", "output=ark:" + self.path("out.ark"), *more)
        self.assertEqual(r.status, status, r.all)
        return r

    def test_binary_text_and_scripts(self):
        entries = list(self.rows.items())
        self.write("b.ark", archive(entries))
        self.write("t.ark", archive(entries, binary=False))
        at, lines = 0, []
        for key, value in entries:
            lines.append("%s %s:%d\n" % (key, self.path("b.ark"), at + len(key) + 1))
            at += len(archive([(key, value)]))
        self.write("b.scp", "".join(lines))
        for table in ("ark:" + self.path("b.ark"), "ark,t:" + self.path("t.ark"), "scp:" + self.path("b.scp"), "ark,s,cs:" + self.path("b.ark")):
            self.run_model(table)
            got = read_archive(self.path("out.ark"))
            self.assertEqual(list(got), ["a", "b", "c"])
            for key, rows in entries:
                self.close(got[key], self.expected(rows), key)

    def test_compressed(self):
        rows = self.rows["c"]
        for kind, most in (("CM", 0.05), ("CM2", 1e-4), ("CM3", 0.02)):
            # Behind one that is plain, and before another: an entry ends where the next one begins.
            self.write("c.ark", archive([("a", self.rows["a"])]) + b"utt " + compressed(rows, kind) + archive([("b", self.rows["b"])]))
            self.run_model("ark:" + self.path("c.ark"))
            got = read_archive(self.path("out.ark"))
            self.assertEqual(list(got), ["a", "utt", "b"])
            self.assertEqual(len(got["utt"]), len(rows))
            for a, b in zip(got["utt"], self.expected(rows)):
                for x, y in zip(a, b):
                    self.assertLess(abs(x - y), most, kind)
            self.close(got["b"], self.expected(self.rows["b"]), "behind " + kind)

    def test_percentiles_of_a_compressed_column(self):
        """Codes at the ends of the three parts, against their definition."""
        codes, points = [0, 1, 64, 65, 192, 193, 255], [-2.0, -1.0, 1.0, 2.0]
        heads = [round((p + 2) / 4 * 65535) for p in points]
        points = [-2 + 4 * h / 65535 for h in heads]
        content = b"utt \0BCM " + struct.pack("<ffii", -2, 4, len(codes), 2) + struct.pack("<4H", *heads) * 2 + bytes(codes) * 2
        self.run_model("ark:" + self.write("c.ark", content))

        def value(c):
            first, count, start = (0, 64, 0) if c <= 64 else (1, 128, 64) if c <= 192 else (2, 63, 192)
            return points[first] + (points[first + 1] - points[first]) * (c - start) / count
        self.close(read_archive(self.path("out.ark"))["utt"], self.expected([[value(c)] * 2 for c in codes]))

    def test_broken_entries(self):
        for content, message in ((b"utt \0BCM " + struct.pack("<ffii", 0, 1, 1 << 30, 2), "expected a compressed matrix of"), (b"utt \0BCM2 " + struct.pack("<ffii", 0, 1, -1, 2), "expected a size of at least 0"),
                                 (b"utt \0BCM3 \0\0", "expected 4 bytes of a compressed matrix"), (b"utt \0BCM4 " + b"\0" * 40, "expected"), (b"utt", "expected the name of an utterance")):
            r = self.run_model("ark:" + self.write("c.ark", content), status=2)
            self.assertIn(message, r.err)

    def test_pipes(self):
        """Archives and scripts on the standard input, results on the standard output."""
        entries = list(self.rows.items())
        path = self.write("b.ark", archive(entries))
        script = "".join("%s %s:%d\n" % (key, path, sum(len(archive([e])) for e in entries[:i]) + len(key) + 1) for i, (key, _) in enumerate(entries))
        for table, given in (("ark:-", archive(entries)), ("ark,t:-", archive(entries, binary=False)), ("scp:-", script.encode())):
            p = subprocess.run([built("bin", "graft"), "run", self.path("m.mdl"), "--input", "input=" + table, "--output", "output=ark:-"], input=given, capture_output=True)
            self.assertEqual(p.returncode, 0, p.stderr)
            self.write("out.ark", p.stdout)
            for key, rows in read_archive(self.path("out.ark")).items():
                self.close(rows, self.expected(self.rows[key]), table)
        p = subprocess.run([built("bin", "graft"), "run", self.path("m.mdl"), "--input", "input=ark:-"], input=b"", capture_output=True)
        self.assertEqual(p.returncode, 2)
        self.assertIn(b"the table has no utterances", p.stderr)

    def test_ranges_of_a_script(self):
        rows = matrix(8, 4, 3)
        path, start = self.write("b.ark", archive([("utt", rows)])), 4
        for range, expected in (("0:3", rows[:4]), ("2:2", rows[2:3]), ("5:9", rows[5:]), (":", rows), ("1:2,0:1", [r[:2] for r in rows[1:3]]), (":,1:2", [r[1:3] for r in rows])):
            width = len(expected[0])
            self.write("m.mdl", nnet3(["input-node name=input dim=%d" % width, "output-node name=output input=Append(Offset(input, -1), input)"], [], True))
            self.run_model("scp:" + self.write("b.scp", "utt %s:%d[%s]\n" % (path, start, range)))
            self.close(read_archive(self.path("out.ark"))["utt"], self.expected(expected), range)
        for range, message in (("3:1", "expected a range FIRST:LAST, got '3:1'"), ("a:b", "expected a range FIRST:LAST"), ("8:9", "expected a range within 0:7, got 8:9"), ("0:11", "expected a range within 0:7, got 0:11"),
                               ("0:1,0:4", "expected a range within 0:3"), ("0:1,0:1,0:1", "expected ranges of 2 dimensions")):
            r = self.run_model("scp:" + self.write("b.scp", "utt %s:%d[%s]\n" % (path, start, range)), status=2)
            self.assertIn("utterance 'utt' failed", r.err)
            self.assertIn(message, r.err)

    def test_to_text_on_the_standard_output(self):
        self.write("b.ark", archive([("a", self.rows["a"])]))
        r = graft("run", self.path("m.mdl"), "--input", "ark:" + self.path("b.ark"), "--output", "output=ark,t:-")
        self.assertEqual(r.status, 0, r.all)
        self.assertTrue(r.out.startswith("a  [\n  "), r.out)
        self.assertTrue(r.out.endswith(" ]\n"), r.out)
        self.close([[float(x) for x in line.strip(" ]").split()] for line in r.out.strip().split("\n")[1:]], self.expected(self.rows["a"]))

    def test_one_that_fails_is_named_and_the_rest_goes_on(self):
        self.write("b.ark", archive([("a", self.rows["a"]), ("wide", matrix(3, 5, 1)), ("c", self.rows["c"])]))
        r = self.run_model("ark:" + self.path("b.ark"), status=2)
        self.assertIn("utterance 'wide' failed: input 'input': expected shape", r.err)
        self.assertIn("1 of 3 utterances failed", r.err)
        self.assertEqual(list(read_archive(self.path("out.ark"))), ["a", "c"])
        lines = ["gone %s" % self.path("no.ark"), "far %s:99999" % self.path("b.ark"), "command cat b.ark |", "good %s:2" % self.path("b.ark")]
        self.write("x.scp", "\n".join(lines) + "\n")
        r = self.run_model("scp:" + self.path("x.scp"), status=2)
        for key, message in (("gone", "no.ark"), ("far", "the file has only"), ("command", "commands are not run")):
            self.assertRegex(r.err, "utterance '%s' failed: .*%s" % (key, message))
        self.assertIn("3 of 4 utterances failed", r.err)
        self.assertEqual(list(read_archive(self.path("out.ark"))), ["good"])

    def test_errors_do_not_quote_files_that_a_script_names(self):
        for content in (b"secret:x:0:0:root\n", b"[ secret ]\n", b"\0Bsecret \4\1\0\0\0"):
            secret = self.write("passwd", content)
            r = self.run_model("scp:" + self.write("s.scp", "utt %s\n" % secret), status=2)
            self.assertNotIn("secret", r.all)
            self.assertIn("got something else", r.err)

    def test_ivectors_by_name(self):
        self.write("m.mdl", nnet3(["input-node name=input dim=2", "input-node name=ivector dim=3", "output-node name=output input=Append(input, ReplaceIndex(ivector, t, 0))"], [], True))
        self.write("b.ark", archive([("a", self.rows["a"]), ("b", self.rows["b"])]))
        self.write("iv.ark", archive([("b", Vector([1, 2, 3])), ("a", Vector([4, 5, 6]))]))
        self.run_model("ark:" + self.path("b.ark"), "--input", "ivector=ark:" + self.path("iv.ark"))
        got = read_archive(self.path("out.ark"))
        self.close(got["a"], [r + [4, 5, 6] for r in self.rows["a"]])
        self.close(got["b"], [r + [1, 2, 3] for r in self.rows["b"]])

    def test_usage(self):
        self.write("b.ark", archive([("a", self.rows["a"])]))
        for arguments, message in ((["--input", "nothing=ark:" + self.path("b.ark")], "the model has no input 'nothing'"), (["--input", "input=ark:gunzip -c x |"], "commands are not run"),
                                   (["--input", "input=ark:" + self.path("b.ark"), "--output-dir", "x"], "do not apply to archives"),
                                   (["--output", "output=ark:x"], "requires an --input from an archive"),
                                   (["--input", "input=ark,q:x"], "unknown option 'q'")):
            r = graft("run", self.path("m.mdl"), *arguments)
            self.assertEqual(r.status, 1, r.all)
            self.assertIn(message, r.err)


if __name__ == "__main__":
    main()
