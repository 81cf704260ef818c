#!/usr/bin/env python3
"""Tables of the documentation that follow from the headers: docs/guide/options.md and docs/guide/results.md.

    scripts/describe.py [--bin build/bin] [--check]

The options are the rows of ReadOptions and ConvertOptions (include/graft/app/read.hpp, convert.hpp), the results are the
fields of the structs in include/graft. --check fails if a table is out of date.
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUIDE = os.path.join(ROOT, "docs", "guide")

OPTIONS = """# Options of reading and converting

A member of `graft::ReadOptions` or `graft::ConvertOptions` in C++, a keyword argument of `graft.read_model` or
`graft.convert` in Python, and an option of the command line are the same thing. Made by `scripts/describe.py`.

"""
RESULTS = """# Fields of results

What the toolkit returns has the same fields in JSON (`--json`) and as attributes in Python; in C++ they are members or
functions of the struct. Made by `scripts/describe.py`.

In JSON, an `Info` is an object with `type` and `shape`, and a `Port` also has `name`, `layer` and `names`; in Python,
the element type is called `dtype`. Objects of `Group` within others are its `parts`.

"""


def cell(text):
    return text.replace("|", "\\|")


def table(head, rows):
    lines = ["| %s |" % " | ".join(head), "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| %s |" % " | ".join(cell(c) for c in row) for row in rows]) + "\n"


def options(title, rows):
    cells = (("`%s`" % r["name"], r["type"], ", ".join("`%s`" % f for f in r["flags"]), r["framework"], r["doc"]) for r in rows)
    return "## %s\n\n%s\n" % (title, table(("option", "type", "command line", "only for", "meaning"), cells))


def results(name, rows):
    cells = (("`%s`" % r["name"], r["type"], r["doc"]) for r in rows)
    return "## %s\n\n%s\n" % (name, table(("field", "type", "meaning"), cells))


def pages(found):
    read = options("Reading", found["read"]) + options("Converting", found["convert"])
    fields = "".join(results(name, rows) for name, rows in found["results"].items())
    return {"options.md": OPTIONS + read.rstrip("\n") + "\n", "results.md": RESULTS + fields.rstrip("\n") + "\n"}


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    ap.add_argument("--check", action="store_true")
    opt = ap.parse_args()
    shown = subprocess.run([os.path.join(opt.bin, "graft"), "--describe"], check=True, stdout=subprocess.PIPE).stdout
    old = []
    for name, text in pages(json.loads(shown)).items():
        path = os.path.join(GUIDE, name)
        present = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                present = f.read()
        if present == text:
            continue
        old.append(name)
        if not opt.check:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    if old and opt.check:
        print("out of date: %s; run scripts/describe.py" % ", ".join(old))
    return 1 if old and opt.check else 0


if __name__ == "__main__":
    sys.exit(main())
