#!/usr/bin/env python3
"""Checks ARCHITECTURE.md: lines of at most 120 columns, and files and folders that exist.

    scripts/check_architecture.py
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`|\]\(([^)#]+)(?:#[^)]*)?\)")


def problems(lines):
    for number, line in enumerate(lines, 1):
        if len(line) > 120:
            yield "%d: %d columns, expected at most 120" % (number, len(line))
        for match in PATH.finditer(line):
            path = match[1] or match[2]
            if not os.path.exists(os.path.join(ROOT, path)):
                yield "%d: there is no '%s'" % (number, path)


def main():
    with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as f:
        found = ["ARCHITECTURE.md:" + p for p in problems(f.read().splitlines())]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    assert list(problems(["`src/no_such_folder/` and [x](no/such.md#part)", "x" * 121]))
    sys.exit(main())
