#!/usr/bin/env python3
"""docs/seeds.md: each statement of the guides of OpenVINO and OpenCV has a state, and what shows it exists and runs.

  tests/cli/test_seeds.py --build build [unittest arguments]
"""
import ast
import collections
import os
import re
import sys

from harness import ROOT, Case, graft, main, npy

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import check_docs  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "seeds.md")
STATEMENTS = 92


def text_of(*names):
    with open(os.path.join(ROOT, *names)) as f:
        return f.read()


def table():
    """The rows: number, statement, state, what shows it."""
    section = text_of("docs", "seeds.md").split("\n## Statement by statement\n")[1].split("\n## ")[0]
    rows = [[c.strip() for c in line.strip("| ").split(" | ", 3)] for line in section.split("\n") if re.match(r"\| \d+ \|", line)]
    return section, [(int(number), *rest) for number, *rest in rows]


def with_commands(page, anchor):
    """Whether a section of a page has commands that check_docs.py runs."""
    with open(page) as f:
        lines = f.read().split("\n")
    inside, level, fenced = False, 0, False
    for line in lines:
        heading = None if fenced else re.match(r"(#+) (.*)", line)
        if line.startswith("```"):
            fenced = not fenced
        if heading:
            name = re.sub(r"[^\w\- ]", "", heading.group(2).lower()).replace(" ", "-")
            if inside and len(heading.group(1)) <= level:
                return False
            if name == anchor:
                inside, level = True, len(heading.group(1))
        elif inside and line.startswith("```console"):
            return True
    return False


def python_test(folder, reference):
    """What is wrong with "test_file", "test_file.Class" or "test_file.Class.test_method"."""
    name, *path = reference.split(".")
    file = {"cli": os.path.join("tests", "cli"), "python": os.path.join("python", "tests")}[folder] + "/" + name + ".py"
    if not os.path.isfile(os.path.join(ROOT, file)):
        return "there is no " + file
    if folder == "cli" and "/cli/" + name + ".py" not in text_of("tests", "CMakeLists.txt"):
        return file + " is not run"
    found = ast.parse(text_of(file)).body
    for part in path:
        inner = [n for n in found if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and n.name == part]
        if not inner:
            return "%s has no %s" % (file, part)
        found = inner[0].body
    if path and isinstance(inner[0], ast.ClassDef) and not any(isinstance(n, ast.FunctionDef) and n.name.startswith("test_") for n in found):
        return "%s of %s has no tests" % (path[-1], file)
    return ""


def unit_test(reference):
    suite, name = reference.split(".")
    wanted = re.compile(r"TEST(_F)?\(%s, %s\)" % (suite, name))
    folder = os.path.join(ROOT, "tests", "unit")
    return "" if any(wanted.search(text_of("tests", "unit", f)) for f in os.listdir(folder)) else "there is no unit test " + reference


def wrong(shown):
    """What is wrong with the references of a row, and how many there are."""
    problems, count = [], 0
    for folder, reference in re.findall(r"`(cli|python|unit|cases):([^`]+)`", shown):
        count += 1
        if folder == "cases":
            ok = os.path.isfile(os.path.join(ROOT, reference)) and os.path.basename(reference)[:-5] in text_of("tests", "CMakeLists.txt")
            problems.append("" if ok else "there are no cases " + reference)
        else:
            problems.append(unit_test(reference) if folder == "unit" else python_test(folder, reference))
    for target in re.findall(r"\]\(([^)]*)\)", shown):
        page, _, anchor = target.partition("#")
        if anchor == "what-is-not-here":
            continue
        count += 1
        page = os.path.join(ROOT, "docs", page) if page else PAGE
        problems.append("" if anchor and with_commands(page, anchor) else "no commands are shown at " + target)
    return [p for p in problems if p], count


class Table(Case):
    def test_every_statement_is_there_once(self):
        section, rows = table()
        self.assertEqual([r[0] for r in rows], list(range(1, STATEMENTS + 1)))
        states = collections.Counter(r[2] for r in rows)
        self.assertLessEqual(set(states), set("WOPM"))
        self.assertIn(" · ".join("%s %d" % (s, states[s]) for s in "WOPM"), section)
        self.assertGreaterEqual(states["W"], 86)

    def test_what_works_is_shown_and_what_does_not_has_a_reason(self):
        for number, statement, state, shown in table()[1]:
            with self.subTest(number=number, statement=statement):
                problems, count = wrong(shown)
                self.assertEqual(problems, [])
                if state == "W":
                    self.assertGreater(count, 0, "nothing shows it")
                else:
                    self.assertIn("(#what-is-not-here)", shown)

    def test_a_wrong_reference_is_found(self):
        for shown in ("`cli:test_none.A`", "`cli:test_cli.None`", "`cli:test_cli.Usage.test_none`", "`cli:small_net`", "`python:test_cv.Middle`",
                      "`unit:OpenCvNet.None`", "`cases:tests/extensions/none.test`", "[x](guide/cosh.md#compared)", "[x](guide/cosh.md#none)"):
            self.assertEqual((len(wrong(shown)[0]), wrong(shown)[1]), (1, 1), shown)

    def test_the_pages_are_run(self):
        for target in {t for r in table()[1] for t in re.findall(r"\]\(([^)#]+)#", r[3])}:
            blocks, _ = check_docs.parse(text_of("docs", target))
            self.assertTrue(any(b.mark == "console" for b in blocks), target)


class Commands(Case):
    """Statements that need no model but a small one."""

    def test_devices(self):
        r = graft("devices")
        self.assertEqual(r.status, 0, r.all)
        self.assertLessEqual({"CPU", "REFERENCE"}, {line.split()[0] for line in r.out.splitlines()})

    def test_samples(self):
        model = self.write("m.txt", "graph (x: f32[1,4]) { y = Softmax(x) {axis = 1} return y }")
        npy(self.path("x.npy"), [0, 3, 1, 2])
        self.write("labels.txt", "none\ncat\ndog\nbird\n")
        for count in (["-nt", "2"], ["-nt=2"], ["--top", "2"]):
            r = graft("run", "-m", model, "-i", self.path("x.npy"), "-d", "CPU", *count, "--labels", self.path("labels.txt"))
            self.assertEqual(r.status, 0, r.all)
            self.assertEqual(re.findall("cat|dog|bird|none", r.out), ["cat", "bird"], r.out)

    def test_what_is_refused_names_the_reason(self):
        """What the page says is not here."""
        model = self.plain_model()
        for arguments, said in (
                (["--generate_deprecated_IR_V7"], "--generate_deprecated_IR_V7 is not supported: only IR versions 10 and 11 can be written"),
                (["--offload_unsupported_operations_to_tf"], "--offload_unsupported_operations_to_tf is not supported: TensorFlow is not used for inference"),
                (["--tensorflow_subgraph_patterns", "x"], "--tensorflow_subgraph_patterns is not supported: TensorFlow is not used for inference"),
                (["-l", self.write("cpu_extension.dll", b"MZ" + bytes(200))], "expected a shared library for Linux, got one for Windows"),
                (["-l", self.write("cpu_extension.dylib", b"\xcf\xfa\xed\xfe" + bytes(200))], "expected a shared library for Linux, got one for macOS")):
            r = graft("convert", model, "-o", self.path("ir"), *arguments)
            self.assertNotEqual(r.status, 0, arguments)
            self.assertIn(said, r.err)
            self.assertIn("hint: ", r.err)
            self.assertFalse(os.path.exists(self.path("ir")))


if __name__ == "__main__":
    main()
