#!/usr/bin/env python3
"""The library speaks of causes, the command line of options.

    scripts/check_texts.py

Fails if a string of src or include names an option of the command line ("--input_shape"), or if code decides by the
words of an error (message().find(...)): errors have a code and remedies for that (include/graft/error.hpp).
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
OPTION = re.compile(r'(?<![\w-])--[A-Za-z]')
DECISION = re.compile(r'(?:what|message|hint|report)\(\)\s*\.\s*(?:find|rfind|starts_with|ends_with|contains|substr|compare)\(')


def problems(path, lines):
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0] if line.lstrip().startswith("//") else line
        if any(OPTION.search(s) for s in STRING.findall(code)) and '"cmake"' not in code:  # not the arguments of cmake
            yield "%s:%d: an option of the command line in a text: name the member, as a Remedy does" % (path, number)
        if DECISION.search(code):
            yield "%s:%d: a decision by the text of an error: use its code or its remedies" % (path, number)


def main():
    found = []
    for top in ("src", "include"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in sorted(files):
                if name.endswith((".cpp", ".hpp", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as f:
                        found += problems(os.path.relpath(path, ROOT), f)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
