#!/usr/bin/env python3
"""graft check: what it finds in tests/extensions/faults.cpp, what it prints, and that the built-ins have no findings.

    tests/cli/test_check.py --build BUILD [--thorough]

--thorough checks every built-in operation with many cases, instead of few within a minute.
"""
import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The kind of finding for each planted fault: exactly this, and no other.
FAULTS = {
    "PastTheEnd": "write past the end",
    "BeforeTheStart": "write before the start",
    "PastTheInput": "write past the end",
    "Unwritten": "element not written",
    "NoScalars": "element not written",
    "InputModified": "input modified",
    "InputRestoredWrongly": "input modified",
    "Stencil": "depends on other memory",
    "ScratchTakenAsZero": "depends on other memory",
    "ScratchOverrun": "write past the end",
    "Accumulates": "depends on other memory",
    "CountsCalls": "not repeatable",
    "Allocates": "allocation",
    "RacingSum": "race",
    "SharesABuffer": "race",
    "OverlappingPieces": "race",
    "NanLost": "NaN lost",
    "InfinityClamped": "differs from the reference",
    "WrongTail": "differs from the reference",
    "TruncatesBf16": "wrong rounding",
    "TruncatesF16": "wrong rounding",
    "KernelFails": "fails",
    "Crashes": "crash",
    "Reversed": "in-place",
    "InvalidBoolean": "invalid boolean",
    "AtMostTwo": "wrong shape",
    "OneMore": "wrong shape",
    "NotAllocated": "output not allocated",
    "NeedsRank": "shape function",
    "GuessesDimensions": "shape function",
    "WrongExample": "example fails",
}

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAIL", what)


def run(*args, **environment):
    return subprocess.run([str(GRAFT), *map(str, args)], capture_output=True, text=True, env=dict(os.environ, **environment))


def check_faults(library):
    done = run("check", library, "--json", "--cases", "150", "--patience", "5")
    expect(done.returncode == 2, f"findings: exit status {done.returncode}, expected 2: {done.stderr}")
    report = json.loads(done.stdout)
    found = {}
    for f in report["findings"]:
        found.setdefault(f["operation"].split("@")[0], set()).add(f["kind"])
        expect(f["operation"] == "" or f["test"] or f["kind"] == "case fails", f"{f['operation']}: no case")
    for name, kind in FAULTS.items():
        # x = 0 leaves the element of Accumulates as it was.
        others = {"element not written"} if name == "Accumulates" else set()
        expect(found.get(name, set()) - others == {kind}, f"{name}: found {sorted(found.get(name, []))}, expected '{kind}'")
    expect("Sound" not in found, f"Sound: {found.get('Sound')}")
    expect(found.get("") == {"definition"}, f"definitions: {found.get('')}")
    sizes = [f["test"] for f in report["findings"] if f["operation"] == "BeforeTheStart@faults"]
    expect(len(sizes) == 1 and len(sizes[0]) < 150, f"the case of BeforeTheStart is not small: {sizes}")
    replay = [f["replay"] for f in report["findings"] if f["operation"] == "PastTheEnd@faults"][0].split()
    again = run(*replay[1:])
    expect(again.returncode == 2 and "write past the end" in again.stdout, f"replay: {again.stdout}{again.stderr}")


def check_files(library):
    with tempfile.TemporaryDirectory() as folder:
        test = pathlib.Path(folder) / "a.test"
        test.write_text("== right\ngraph (x: f32[1]) { return Sound@faults(x) }\nx = {1}\n-> {2}\n"
                        "== wrong\ngraph (x: f32[1]) { return Sound@faults(x) }\nx = {1}\n-> {3}\n")
        done = run("check", test, "--extensions", library)
        expect(done.returncode == 2 and "1 of 2 cases of .test files passed" in done.stdout and "expected 3" in done.stdout,
               f".test file: {done.stdout}{done.stderr}")
        done = run("check", library, "--op", "Sound")
        expect(done.returncode == 0 and "no findings" in done.stdout, f"Sound: {done.stdout}{done.stderr}")
    for args, message in (((), "nothing to check"), (("a.onnx",), "expected a library"), ((library, "--op", "Sond"), "did you mean Sound"),
                          ((library, "--case", "3"), "--case requires --op")):
        done = run("check", *args)
        expect(done.returncode == 1 and message in done.stderr, f"graft check {args}: {done.returncode} {done.stderr}")


def check_built_ins(thorough):
    tests = sorted(glob.glob(str(ROOT / "tests/ops/*.test")))
    limits = ("--cases", "400", "--seconds", "20") if thorough else ("--cases", "12", "--seconds", "0.15")
    # GPU kernels are compiled for each case, and have tests of their own (tests/devices, recorded cases).
    done = run("check", "--built-ins", "--json", *limits, *tests, **({} if thorough else {"OCL_ICD_VENDORS": "/nowhere"}))
    report = json.loads(done.stdout)
    for f in report["findings"]:
        expect(False, f"{f['operation']} {f['kernel']}: {f['kind']}: {f['detail']}\n{f['test']}\n{f['replay'][:200]}")
    idle = [o["operation"] for o in report["operations"] if not o["cases"]]
    expect(not idle, f"without a case: {', '.join(idle)}")
    print(f"{len(report['operations'])} built-in operations, {sum(o['cases'] for o in report['operations'])} cases")


def main():
    global GRAFT
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True, type=pathlib.Path)
    p.add_argument("--thorough", action="store_true")
    p.add_argument("--only", choices=["faults", "files", "built-ins"])
    args = p.parse_args()
    GRAFT = args.build.resolve() / "bin/graft"
    library = args.build.resolve() / "extensions/faults.so"
    if args.only in (None, "faults"):
        check_faults(library)
    if args.only in (None, "files"):
        check_files(library)
    if args.only in (None, "built-ins"):
        check_built_ins(args.thorough)
    print(f"{len(failures)} failures" if failures else "graft check works")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
