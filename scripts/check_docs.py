#!/usr/bin/env python3
"""Tries the documentation out: runs the commands it shows, compares what they print, and looks up the paths it names.

  scripts/check_docs.py --bin build/bin [FILE.md ...]     all documents when none is named
  scripts/check_docs.py --self-test                       shows that it finds mistakes

A block marked ```console holds lines that begin with `$ ` and what they print, stdout and stderr together:

  ```console
  $ graft ops Elu
  Elu (opset1)
  ...
  $ graft run nothing.onnx
  error: file not found: 'nothing.onnx'
  [exit 1]
  ```

`...` stands for any text within a line, and, alone on a line, for any number of lines. A command must end with status 0 unless
`[exit N]` follows its output; `[exit ...]` is any other status. A line that ends in a backslash is continued by the next one.
A block of another kind whose mark has `file=NAME` (```cpp file=app.cpp) is written to that file first. One whose mark has
`source=PATH` shows consecutive lines of that file of the repository, and must be equal to them.

The commands of one document run one after the other in a folder of their own, each in a fresh shell. PATH begins with the
folder given as --bin, and GRAFT_SOURCE names the repository. `python3` is the interpreter given as --python, for which
the package beside the folder of --bin (../python) is built; without the package, the guides to Python are only read. Relative links, their headings, and paths of the repository in
`code marks` must exist.
"""
import argparse
import concurrent.futures
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from patience import patience  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON_GUIDES = tuple(os.path.join(ROOT, "docs", name) for name in
                      ("guide/cosh.md", "guide/crop-python.md", "guide/hetero.md", "guide/interp.md", "guide/mo-python-extensions.md", "guide/python.md",
                       "guide/resize-bilinear.md", "seeds.md"))
# Inline code that names a file of the repository; placeholders like <name> make it none.
PATH = re.compile(r"^(?:src|include|tests|cli|python|examples|scripts|cmake|docs|bench|\.ci)/[\w./*+-]*$")


class Block:
    def __init__(self, mark, line):
        self.mark, self.line, self.lines = mark, line, []


class Command:
    def __init__(self, line, text):
        self.line, self.text, self.output, self.status = line, text, [], "0"


def parse(text):
    """The fenced blocks of a document, and its other lines as (number, text)."""
    blocks, prose, block, fence = [], [], None, ""
    for number, line in enumerate(text.split("\n"), 1):
        opening = re.match(r"^(\s*)(`{3,})(.*)$", line)
        if block is None and opening:
            fence = opening.group(2)
            block = Block(opening.group(3).strip(), number)
        elif block is not None and line.strip() == fence:
            blocks.append(block)
            block = None
        elif block is not None:
            block.lines.append(line)
        else:
            prose.append((number, line))
    if block is not None:
        raise ValueError("%d: a block does not end" % block.line)
    return blocks, prose


def commands_of(block):
    out, open_line = [], False
    for number, line in enumerate(block.lines, block.line + 1):
        if open_line:
            out[-1].text += "\n" + line
            open_line = line.endswith("\\")
        elif line.startswith("$ "):
            out.append(Command(number, line[2:]))
            open_line = line.endswith("\\")
        elif not out:
            raise ValueError("%d: a console block begins with a line '$ command'" % number)
        elif re.match(r"^\[exit (\d+|\.\.\.)\]$", line):
            out[-1].status = line[6:-1]
        else:
            out[-1].output.append(line)
    return out


def line_fits(shown, got):
    return re.fullmatch(".*".join(re.escape(part) for part in shown.rstrip().split("...")), got.rstrip()) is not None


def fits(shown, got):
    """Whether the lines that a command gave are those that the document shows."""
    reachable = {0}  # how many lines of `got` may be used up so far
    for line in shown:
        if line.strip() == "...":
            reachable = set(range(min(reachable), len(got) + 1)) if reachable else set()
        else:
            reachable = {i + 1 for i in reachable if i < len(got) and line_fits(line, got[i])}
    return len(got) in reachable


def trimmed(lines):
    """Without the blank lines at the end."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def run(command, folder, environment, seconds):
    try:
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command.text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patience(seconds))
    except subprocess.TimeoutExpired:
        return "it takes too long: more than %d s on an idle machine" % seconds, []
    got = trimmed(done.stdout.decode(errors="replace").split("\n"))
    wrong_status = done.returncode == 0 if command.status == "..." else str(done.returncode) != command.status
    if wrong_status:
        return "it ends with status %d, %s is shown" % (done.returncode, "another than 0" if command.status == "..." else command.status), got
    if not fits(trimmed(command.output), got):
        return "it prints something else than is shown", got
    return "", got


def check_commands(path, blocks, environment, seconds):
    """Problems as text. The first command that fails ends the document: what follows may depend on it."""
    if not any(b.mark.split(" ")[0] == "console" for b in blocks):
        return [], 0
    count = 0
    with tempfile.TemporaryDirectory(prefix="graft-docs-") as folder:
        for block in blocks:
            name = re.search(r"(?:^|\s)file=(\S+)", block.mark)
            if name:
                target = os.path.join(folder, name.group(1))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "w") as f:
                    f.write("\n".join(block.lines) + "\n")
            if block.mark.split(" ")[0] != "console":
                continue
            for command in commands_of(block):
                count += 1
                why, got = run(command, folder, environment, seconds)
                if why:
                    report = ["%s:%d: %s" % (path, command.line, why), "    $ " + command.text.replace("\n", "\n      ")]
                    report += ["  shown: " + line for line in command.output] + ["  got:   " + line for line in got]
                    return ["\n".join(report)], count
    return [], count


def check_sources(path, blocks, root):
    """Code that a document shows is the code in the repository."""
    problems = []
    for block in blocks:
        name = re.search(r"(?:^|\s)source=(\S+)", block.mark)
        if not name:
            continue
        try:
            with open(os.path.join(root, name.group(1))) as f:
                lines = f.read().split("\n")
        except OSError:
            problems.append("%s:%d: there is no '%s'" % (path, block.line, name.group(1)))
            continue
        size = len(block.lines)
        if not any(lines[i:i + size] == block.lines for i in range(len(lines) - size + 1)):
            close = difflib.unified_diff(lines, block.lines, name.group(1), "the document", lineterm="", n=1)
            problems.append("%s:%d: these are not consecutive lines of '%s'\n%s" % (path, block.line, name.group(1), "\n".join(close)))
    return problems


def slug(heading):
    """The anchor that a heading gets."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


def headings(path):
    with open(path) as f:
        _, prose = parse(f.read())
    return {slug(line.lstrip("#")) for _, line in prose if line.startswith("#")}


def word(name, path):
    """Whether a file has a word; for a test, `tests/x.py::name`."""
    with open(path) as f:
        return re.search(r"(?<!\w)%s(?!\w)" % re.escape(name), f.read()) is not None


def check_paths(path, prose, root):
    problems = []
    for number, line in prose:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"^[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(full):
                problems.append("%s:%d: the link leads to '%s', which is not there" % (path, number, target))
            elif anchor and full.endswith(".md") and anchor not in headings(full):
                problems.append("%s:%d: '%s' has no heading '#%s'" % (path, number, os.path.relpath(full, root), anchor))
        for code in re.findall(r"`([^`]+)`", line):
            file, _, name = code.partition("::")
            if not PATH.match(file):
                continue
            found = glob.glob(os.path.join(root, file))
            if not found:
                problems.append("%s:%d: there is no '%s'" % (path, number, file))
            elif name and not any(word(name, f) for f in found):
                problems.append("%s:%d: '%s' has no '%s'" % (path, number, file, name))
    return problems


def environment_for(bin_folder, source):
    environment = dict(os.environ, PATH=bin_folder + os.pathsep + os.environ.get("PATH", ""), GRAFT_SOURCE=source, NO_COLOR="1", LC_ALL="C.UTF-8")
    if shutil.which("ninja"):
        environment.setdefault("CMAKE_GENERATOR", "Ninja")
    if shutil.which("ccache"):
        environment.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    return environment


def with_python(environment, folder, interpreter, package):
    """`python3` is this interpreter, and finds the package."""
    wrapper = os.path.join(folder, "python3")
    with open(wrapper, "w") as f:
        f.write('#!/bin/sh\nexec "%s" "$@"\n' % interpreter)
    os.chmod(wrapper, 0o755)
    return dict(environment, PATH=folder + os.pathsep + environment["PATH"], PYTHONPATH=package)


def check(documents, environment, root, jobs, with_commands=True, only_read=(), seconds=120):
    problems, count, lock = [], 0, threading.Lock()

    def one(path):
        nonlocal count
        with open(path) as f:
            text = f.read()
        try:
            blocks, prose = parse(text)
            found = check_paths(path, prose, root) + check_sources(path, blocks, root)
            runs = with_commands and os.path.abspath(path) not in only_read
            wrong, ran = check_commands(path, blocks, environment, seconds) if runs else ([], 0)
        except ValueError as e:
            found, wrong, ran = ["%s:%s" % (path, e)], [], 0
        with lock:
            count += ran
        return found + wrong

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(one, documents):
            problems += found
    return problems, count


GOOD = """# Title here
See [below](#part-two) and [this](other.md#title), `src/there.cpp`, `src/*.cpp`, `src/there.cpp::one` and `src/<name>.cpp`.
```cpp file=made/a.txt
one 1.5 ms
two
```
```cpp source=src/there.cpp
int one;
int two;
```
```console
$ cat made/a.txt
one ... ms
two
$ seq 9; echo x >&2 \\
  && false
1
...
9
x
[exit 1]
$ true
```
## Part `two`
"""
# Each turns GOOD into something that must be found.
MISTAKES = [("#part-two", "#part-three"), ("other.md#title", "gone.md"), ("other.md#title", "other.md#nothing"), ("`src/there.cpp`", "`src/gone.cpp`"),
            ("there.cpp::one", "there.cpp::on"), ("there.cpp::one", "gone.cpp::one"),
            ("one ... ms\ntwo\n$", "one ... s\ntwo\n$"), ("one ... ms\ntwo\n$", "one ... ms\n$"), ("one ... ms\ntwo\n$", "one ... ms\ntwo\nthree\n$"),
            ("9\nx", "8\nx"), ("[exit 1]", "[exit 2]"), ("[exit 1]\n", ""), ("$ true", "$ false"), ("$ true", "$ sleep 1; echo more"), ("## Part", "```\n## Part"),
            ("$ cat", "cat"), ("int one;\nint two", "int one;\n\nint two"), ("int two;\n```", "int two;\nint three;\n```"), ("source=src/there.cpp", "source=src/gone.cpp")]


def self_test():
    with tempfile.TemporaryDirectory(prefix="graft-docs-") as folder:
        os.mkdir(os.path.join(folder, "src"))
        for name, text in (("src/there.cpp", "int zero;\nint one;\nint two;\n"), ("other.md", "# Title\n")):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        document = os.path.join(folder, "good.md")

        def found(text):
            with open(document, "w") as f:
                f.write(text)
            return check([document], environment_for(folder, folder), folder, 1)[0]

        wrong = found(GOOD)
        for old, new in MISTAKES:
            assert old in GOOD, old
            if not found(GOOD.replace(old, new, 1)):
                wrong.append("not found: %r in place of %r" % (new, old))
    print("\n".join(wrong) if wrong else "finds %d mistakes of %d" % (len(MISTAKES), len(MISTAKES)))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description="tries the documentation out")
    parser.add_argument("documents", nargs="*", metavar="FILE.md")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="folder of the programs (build/bin)")
    parser.add_argument("--python", help="interpreter that the package in ../python beside the folder of programs is for, if it is not the one it was built for")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="documents at once")
    parser.add_argument("--seconds", type=int, default=120, help="time limit of a command on an idle machine (120)")
    parser.add_argument("--links-only", action="store_true", help="runs no commands")
    parser.add_argument("--self-test", action="store_true", help="shows that mistakes are found")
    o = parser.parse_args()
    if o.self_test:
        return self_test()
    documents = o.documents or sorted(glob.glob(os.path.join(ROOT, "*.md"))) + sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
    documents = [os.path.relpath(d) for d in documents]
    bin_folder = os.path.abspath(o.bin)
    if not o.links_only and not os.path.exists(os.path.join(bin_folder, "graft")):
        print("there is no graft in '%s': build it, or name its folder with --bin" % o.bin, file=sys.stderr)
        return 2
    environment = environment_for(bin_folder, ROOT)
    package = os.path.join(os.path.dirname(bin_folder), "python")
    with tempfile.TemporaryDirectory(prefix="graft-python-") as folder:
        built_for = os.path.join(package, "interpreter")
        if not o.python and os.path.exists(built_for):
            with open(built_for) as f:
                o.python = f.read().strip()
        if o.python:
            environment = with_python(environment, folder, o.python, package)
        else:
            print("without the package for Python, these are only read: %s" % ", ".join(map(os.path.relpath, PYTHON_GUIDES)))
        problems, count = check(documents, environment, ROOT, o.jobs, not o.links_only, () if o.python else PYTHON_GUIDES, o.seconds)
    for p in problems:
        print(p)
    print("%d documents, %d commands, %d problems" % (len(documents), count, len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
