#!/usr/bin/env python3
"""Compiles every extension of the examples and tests with each compiler that is installed, loads it and runs its cases.

    scripts/compilers.py --bin build/bin
    scripts/compilers.py --bin build/bin --compilers clang++-14 --sources extension-cosh/cosh,formulas

Without --compilers: all of KNOWN that are installed, with a line for each that is not. `scripts/setup.sh compilers` installs those
that Debian has. The library and the program are built by one compiler; what it loads may come from any of these.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KNOWN = [f"g++-{v}" for v in range(11, 15)] + [f"clang++-{v}" for v in range(14, 20)]
ENTRY = re.compile(r"GRAFT_EXTENSION\(|OPENVINO_CREATE_EXTENSIONS\(|graft/inference_engine|graft_extension_entry")
FLAGS = ["-std=c++20", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]


class Extension:
    def __init__(self, source):
        self.source = source
        example = source.is_relative_to(ROOT / "examples")
        self.name = f"{source.parent.name}/{source.stem}" if example else source.stem
        cases = source.with_suffix(".test")
        self.cases = cases if cases.exists() else None


def extensions():
    """All but the one that needs OpenCV itself."""
    found = sorted((ROOT / "tests/extensions").glob("*.cpp")) + sorted((ROOT / "examples").rglob("*.cpp"))
    return [Extension(s) for s in found if s.stem != "real_opencv" and ENTRY.search(s.read_text())]


def tool(*command):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900)
    return r.returncode, r.stdout + r.stderr


def try_one(compiler, extension, folder, programs):
    """What went wrong, or an empty string."""
    library = folder / compiler / f"{extension.name.replace('/', '-')}.so"  # messages have the name of the file
    library.parent.mkdir(exist_ok=True)
    status, out = tool(compiler, *FLAGS, f"-I{ROOT / 'include'}", f'-DLAYERS_FOLDER="{ROOT / "tests/extensions/layers"}"',
                       extension.source, "-o", library)
    if status:
        errors = [line for line in out.splitlines() if "error" in line]
        return "does not compile:\n" + "\n".join(errors[:5] or out.splitlines()[:5])
    if extension.cases:
        status, out = tool(programs / "graft_tests", "--extensions", library, extension.cases)
        return "" if status == 0 else "its cases fail:\n" + out
    status, out = tool(programs / "graft", "ops", "--extensions", library)
    return "" if status == 0 else "does not load:\n" + out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of graft and graft_tests")
    parser.add_argument("--compilers", help="names, separated by commas; each must be installed")
    parser.add_argument("--sources", help="names of extensions, separated by commas; default: all")
    args = parser.parse_args()

    compilers = args.compilers.split(",") if args.compilers else [c for c in KNOWN if shutil.which(c)]
    absent = [c for c in (compilers if args.compilers else KNOWN) if not shutil.which(c)]
    if absent and args.compilers:
        sys.exit(f"compilers: {', '.join(absent)} not found: scripts/setup.sh compilers installs what Debian has")
    if not compilers:
        sys.exit(f"compilers: none of {', '.join(KNOWN)} found: scripts/setup.sh compilers installs what Debian has")
    chosen = extensions()
    if args.sources:
        names = args.sources.split(",")
        unknown = set(names) - {e.name for e in chosen}
        if unknown:
            sys.exit(f"compilers: expected names of extensions, got {', '.join(sorted(unknown))}; there are "
                     + ", ".join(sorted(e.name for e in chosen)))
        chosen = [e for e in chosen if e.name in names]

    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for compiler in compilers:
            results = pool.map(lambda e: try_one(compiler, e, pathlib.Path(folder), args.bin.resolve()), chosen)
            bad = [(e.name, why) for e, why in zip(chosen, results) if why]
            print(f"{compiler:12} {len(chosen) - len(bad)} of {len(chosen)} extensions", flush=True)
            for name, why in bad:
                print(f"  {name} {why}", flush=True)
            failed += len(bad)
    if absent:
        print("not installed:", ", ".join(absent))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
