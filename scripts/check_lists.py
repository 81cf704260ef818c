#!/usr/bin/env python3
"""Finds lists of operation names where a trait should be asked for, outside src/ops.

A list is a run of more than three names with nothing between them but punctuation and `is`: what the names have in
common belongs into the definitions (include/graft/traits.hpp). A table whose rows say something different about each
name (a function, a formula) is no list. Files that spell out activation functions are limited to those named below.
"""
import argparse
import re
import sys
from pathlib import Path

MOST = 3
ROOTS = ["include", "src", "cli"]

# File -> why its list of names cannot be a trait.
LISTS: "dict[str, str]" = {}

# Files that may name more than three activation functions -> why.
ACTIVATIONS = {
    "src/rewrites/activations.cpp": "replaces the formula of each by the operation",
    "src/rewrites/clamps.cpp": "replaces the formula of each by the operation",
    "src/devices/cpu/kernels/unary.cpp": "hand-written vector functions, one row each",
    "src/devices/gpu/kernels/elementwise.cpp": "hand-written OpenCL formulas, one row each",
}
SAMPLES = ["Elu", "Gelu", "HSigmoid", "HSwish", "Mish", "PRelu", "Relu", "Selu", "Sigmoid", "SoftPlus", "Swish", "Tanh"]

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\w+|\S', re.S)
GLUE = {"is", "if", "return", "true", "false", "case", "std", "pair"}
DEFINITION = re.compile(r'(?<![.\w])(?:op(?:<[^"()]*>)?|[a-z_]\w*(?:<[^"();]*>)?)\(\s*"([A-Z]\w*)",\s*(?:\d+|"graft")')


def operation_names(root: Path) -> "set[str]":
    names = set()
    for path in (root / "src/ops").rglob("*.[ch]pp"):
        names.update(DEFINITION.findall(path.read_text()))
    return names


def is_glue(tokens: "list[str]") -> bool:
    for i, token in enumerate(tokens):
        following = tokens[i + 1 : i + 3]
        subject = following in ([".", "is"], ["(", ")"])
        if re.match(r"\w", token) and token not in GLUE and not subject:
            return False
        if token.startswith('"') and not re.fullmatch(r'"(opset\d+|graft)?"', token):
            return False
    return True


def lists(text: str, names: "set[str]"):
    """Yields (line, names) for each run of names."""
    run, start, between = [], 0, []
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith(("//", "/*")):
            continue
        name = token[1:-1].split("@")[0] if token.startswith('"') else ""
        if name not in names:
            between.append(token)
            continue
        if run and not is_glue(between):
            yield text.count("\n", 0, start) + 1, run
            run = []
        start = start if run else match.start()
        run, between = run + [name], []
    yield text.count("\n", 0, start) + 1, run


def undocumented_traits(root: Path):
    """Yields a problem for each trait whose row of the guide says something else than traits.hpp."""
    rows = re.findall(r'\{Trait::\w+,\s*"(\w+)",\s*"([^"]*)"\}', (root / "include/graft/traits.hpp").read_text())
    guide = (root / "docs/guide/extension.md").read_text()
    for word, promise in rows:
        if f"| `{word}` | {promise} |" not in guide:
            yield f"docs/guide/extension.md: expected a row '| `{word}` | {promise} |'"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    names = operation_names(root)
    if len(names) < 150:
        print(f"expected the definitions of at least 150 operations in src/ops, found {len(names)}")
        return 1
    problems, used = list(undocumented_traits(root)), set()
    for folder in ROOTS:
        for path in sorted((root / folder).rglob("*.[ch]*")):
            where = str(path.relative_to(root))
            if where.startswith("src/ops/") or path.suffix not in (".cpp", ".hpp", ".h"):
                continue
            text = path.read_text()
            for line, run in lists(text, names):
                if len(set(run)) <= MOST:
                    continue
                if where in LISTS:
                    used.add(where)
                else:
                    problems.append(f"{where}:{line}: a list of operations, ask for a trait instead: {', '.join(run)}")
            found = [a for a in SAMPLES if f'"{a}"' in text]
            if len(found) <= MOST:
                continue
            if where in ACTIVATIONS:
                used.add(where)
            else:
                problems.append(f"{where}: names activation functions one by one: {', '.join(found)}")
    problems += [f"{where}: allowed in scripts/check_lists.py, but has no list" for where in {*LISTS, *ACTIVATIONS} - used]
    print("\n".join(problems) if problems else f"no lists of operations ({len(names)} names)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
