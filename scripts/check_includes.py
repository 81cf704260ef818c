#!/usr/bin/env python3
"""Checks every #include against the folder table of ARCHITECTURE.md.

    scripts/check_includes.py [--quiet] [--self-test]

A folder of src may include its own headers and those of the folders that its CMake target links, directly or not
(src/CMakeLists.txt); these must stand before it in the table. include/graft, src/ops, src/rewrites and the CPU's
kernels see include/graft and their own headers only; so does cli, besides the headers of CLI11 and JSON.
"""
import argparse
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
# Libraries that a folder may use besides the standard one.
LIBRARIES = {
    "src/devices/cpu/kernels": ["hwy/"],
    "src/import": ["pugixml.hpp", "nlohmann/"],
    "src/extensions": ["nlohmann/"],
    "src/ir": ["pugixml.hpp", "nlohmann/"],
    "src/codecs": ["png.h", "jpeglib.h", "openjpeg.h", "tiffio.h", "webp/"],
    "src/ops": ["re2/"],
    "src/readers": ["pugixml.hpp", "zlib.h", "nlohmann/"],
    "cli": ["CLI/", "nlohmann/"],
    "include/graft": ["opencv2/"],  # opencv.hpp alone, for those who have OpenCV
}
SYSTEM = ["dlfcn.h", "fcntl.h", "unistd.h", "sys/", "linux/", "sched.h", "signal.h", "stdlib.h", "malloc.h", "cxxabi.h"]
MISSING = ["graft_requires_cxx20"]  # included to end a compilation by another standard
PLAIN = {"src/ops": ["codecs/"]}  # folders of src that know nothing of Graft: libraries in all but name
ALONE = ["include/graft", "src/ops", "src/rewrites", "src/devices/cpu/kernels", "src/devices/cpu/passes",
         "src/devices/gpu/kernels", "cli"]  # see include/graft and themselves


def linked_folders(cmake):
    """The folders that each folder of src may include: what its target links, transitively."""
    direct = {}
    for body in re.findall(r"graft_part\(([^)]*)\)", cmake):
        words = body.split()
        links = words[words.index("LINKS") + 1:] if "LINKS" in words else []
        direct[words[0]] = [w.removeprefix("graft_") for w in links if w.startswith("graft_")]
    folders = {folder.replace("/", "_"): folder for folder in direct}
    direct = {folder: [folders.get(w, w) for w in links] for folder, links in direct.items()}
    def closure(name, seen):
        for other in direct.get(name, []):
            if other not in seen:
                seen.add(other)
                closure(other, seen)
        return seen
    return {name: closure(name, set()) for name in direct}


def table_order(architecture):
    """The folders of the table, in order."""
    return re.findall(r"^\| `((?:src/|include/|cli)[^`]*)` \|", architecture, re.M)


def folder_of(path):
    for alone in ALONE:
        if path.startswith(alone + "/"):
            return alone
    parts = path.split("/")
    depth = 3 if parts[:2] == ["src", "devices"] else 2
    return "/".join(parts[:depth]) if parts[0] == "src" and len(parts) > depth else None


class Rules:
    def __init__(self, links, order):
        self.links = links
        self.order = order

    def order_problems(self):
        """Links that contradict the order of the table."""
        for name, others in sorted(self.links.items()):
            folder = f"src/{name}"
            if folder not in self.order:
                yield f"ARCHITECTURE.md: the folder table lacks {folder}"
                continue
            for other in sorted(others):
                at = f"src/{other}"
                if at in self.order and self.order.index(at) > self.order.index(folder):
                    yield f"src/CMakeLists.txt: {folder} links {at}, which stands after it in ARCHITECTURE.md"

    def refusal(self, folder, include, quoted, own_headers):
        """Why a file of this folder may not include this; None: it may."""
        if not quoted:
            if include.startswith("graft/") or re.fullmatch(r"[a-z0-9_]+", include):
                return None  # ours, or the standard library's
            if any(include.startswith(p) for p in SYSTEM + LIBRARIES.get(folder, [])):
                return None
            if re.fullmatch(r"[a-z0-9_]+\.h", include) and include not in ("png.h", "jpeglib.h", "openjpeg.h", "tiffio.h", "zlib.h"):
                return None  # C
            return f"{folder} may not use <{include}>"
        if folder in ALONE:
            if include in MISSING or any(include.startswith(p) for p in PLAIN.get(folder, [])):
                return None
            return None if include in own_headers else f'{folder} sees include/graft and its own headers only, not "{include}"'
        target = folder_of(f"src/{include}").removeprefix("src/")
        if f"src/{target}" == folder or target in self.links[folder.removeprefix("src/")]:
            return None
        return f"{folder} may not use src/{target}: its target does not link it"


def check(root):
    rules = Rules(linked_folders((root / "src/CMakeLists.txt").read_text()),
                  table_order((root / "ARCHITECTURE.md").read_text()))
    problems = list(rules.order_problems())
    files = [p for top in ("include", "src", "cli") for p in sorted((root / top).rglob("*")) if p.suffix in (".cpp", ".hpp", ".h")]
    for path in files:
        name = path.relative_to(root).as_posix()
        folder = folder_of(name)
        if folder is None:
            problems.append(f"{name}: belongs to no folder of the table")
            continue
        top = root / folder
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not (m := INCLUDE.match(line)):
                continue
            include, quoted = (m[1], True) if m[1] else (m[2], False)
            places = [(base / include).resolve() for base in (path.parent, top)]
            own = {include} if quoted and any(p.is_file() and p.is_relative_to(top) for p in places) else set()
            if why := rules.refusal(folder, include, quoted, own):
                problems.append(f"{name}:{number}: {why}")
    return files, problems


def self_test():
    links = linked_folders("graft_part(base SOURCES a.cpp)\ngraft_part(graph SOURCES b.cpp LINKS graft_base)\n"
                           "graft_part(schema SOURCES c.cpp LINKS graft_graph x::y)")
    assert links == {"base": set(), "graph": {"base"}, "schema": {"graph", "base"}}, links
    order = table_order("| `src/base` | x |\n| `src/schema` | x |\n| `src/graph` | x |\n| `cli` | x |")
    assert order == ["src/base", "src/schema", "src/graph", "cli"], order
    rules = Rules(links, order)
    assert list(rules.order_problems()) == ["src/CMakeLists.txt: src/schema links src/graph, which stands after it in ARCHITECTURE.md"]
    refused = lambda *a: rules.refusal(*a, set()) is not None
    assert not refused("src/schema", "base/text.hpp", True) and refused("src/graph", "schema/registry.hpp", True)
    assert refused("cli", "base/text.hpp", True) and not refused("cli", "graft/text.hpp", False)
    assert not refused("cli", "CLI/CLI.hpp", False) and refused("src/ops", "nlohmann/json.hpp", False)
    assert not refused("src/ops", "codecs/image.hpp", True) and refused("src/ops", "base/text.hpp", True)
    assert not rules.refusal("src/ops", "moves.hpp", True, {"moves.hpp"})
    links = linked_folders("graft_part(devices/opencl SOURCES a.cpp)\ngraft_part(devices/gpu SOURCES b.cpp LINKS graft_devices_opencl)")
    assert links == {"devices/opencl": set(), "devices/gpu": {"devices/opencl"}}, links
    assert folder_of("src/devices/gpu/layer.cpp") == "src/devices/gpu"
    assert folder_of("src/devices/cpu/kernels/gemm.hpp") == "src/devices/cpu/kernels" and folder_of("src/ops/onnx/a.cpp") == "src/ops"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--self-test", action="store_true", help="check the checker")
    p.add_argument("--quiet", action="store_true", help="print problems only")
    args = p.parse_args()
    if args.self_test:
        self_test()
        print("check_includes: works")
        return 0
    files, problems = check(pathlib.Path(__file__).resolve().parent.parent)
    for line in problems:
        print(line, file=sys.stderr)
    if problems:
        print(f"{len(problems)} includes against the folder table of ARCHITECTURE.md", file=sys.stderr)
    elif not args.quiet:
        print(f"{len(files)} files include only what the folder table allows")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
