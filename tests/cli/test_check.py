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
import pty
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
    "ReadsPastTheEnd": "read past the end",
    "ReadsBeforeTheStart": "read before the start",
    "AssumesAlignment": "crash",
    "ScratchTakenAsZero": "depends on other memory",
    "ScratchOverrun": "write past the end",
    "Accumulates": "depends on other memory",
    "CountsCalls": "not repeatable",
    "Allocates": "allocation",
    "RacingSum": "race",
    "SharesABuffer": "race",
    "OverlappingPieces": "race",
    "OverlappingWithTheSameValue": "race",
    "EveryPieceWritesAll": "race",
    "PiecesShareABuffer": "race",
    "PiecesShareScratch": "race",
    "AddsToALocal": "race",
    "LeaksInPrepare": "leak",
    "LeaksInReference": "leak",
    "LeaksInInfer": "leak",
    "HangsWhenEmpty": "hangs",
    "FirstOfNone": "read past the end",
    "NanLost": "NaN lost",
    "InfinityClamped": "differs from the reference",
    "WrongTail": "differs from the reference",
    "TruncatesBf16": "wrong rounding",
    "TruncatesF16": "wrong rounding",
    "KernelFails": "fails",
    "Crashes": "crash",
    "Reversed": "in-place",
    "NotAView": "broken trait",
    "NotElementwise": "broken trait",
    "NotChannelwise": "broken trait",
    "NotOnlyMoved": "broken trait",
    "MixesChannels": "broken trait",
    "MixesElements": "broken trait",
    "Sorts": "broken trait",
    "SlopeOfOneDimension": "broken trait",
    "NotWidening": "broken trait",
    "InvalidBoolean": "invalid boolean",
    "AtMostTwo": "wrong shape",
    "OneMore": "wrong shape",
    "NotAllocated": "output not allocated",
    "AllocatedTwice": "allocated twice",
    "NeedsRank": "shape function",
    "GuessesDimensions": "shape function",
    "WrongExample": "example fails",
}

# What may be found as well, depending on the values.
ALSO = {
    "NotAView": {"differs from the reference"},  # the GPU copies, where there is one
    "Accumulates": {"element not written"},  # x = 0 leaves the element as it was
    "Stencil": {"read past the end"},
}
SOUND = ["Sound", "LockedBuffer", "ScratchPerThread", "AddsAtomically", "AllocatesInPrepare", "DividesByTheSize"]

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAIL", what)


def run(*args, **environment):
    return subprocess.run([str(GRAFT), *map(str, args)], capture_output=True, text=True, env=dict(os.environ, **environment))


def check_faults(library):
    done = run("check", library, "--json", "--cases", "150", "--patience", "3")
    expect(done.returncode == 2, f"findings: exit status {done.returncode}, expected 2: {done.stderr}")
    report = json.loads(done.stdout)
    found = {}
    for f in report["findings"]:
        found.setdefault(f["operation"].split("@")[0], set()).add(f["kind"])
        expect(f["operation"] == "" or f["test"] or f["kind"] == "case fails", f"{f['operation']}: no case")
        expect(f["kind"] not in ("crash", "hangs") or f["kernel"] == "CPU:planted", f"{f['operation']}: no kernel: {f}")
    for name, kind in FAULTS.items():
        others = ALSO.get(name, set())
        expect(found.get(name, set()) - others == {kind}, f"{name}: found {sorted(found.get(name, []))}, expected '{kind}'")
    for name in SOUND:
        expect(name not in found, f"{name}: {found.get(name)}")
    expect(not report["not_checked"], f"not checked: {report['not_checked']}")
    expect(done.stderr.count("\n") <= 3, f"progress where there is no terminal: {done.stderr}")
    expect(found.get("") == {"definition"}, f"definitions: {found.get('')}")
    sizes = [f["test"] for f in report["findings"] if f["operation"] == "BeforeTheStart@faults"]
    expect(len(sizes) == 1 and len(sizes[0]) < 150, f"the case of BeforeTheStart is not small: {sizes}")
    replay = [f["replay"] for f in report["findings"] if f["operation"] == "PastTheEnd@faults"][0].split()
    again = run(*replay[1:])
    expect(again.returncode == 2 and "write past the end" in again.stdout, f"replay: {again.stdout}{again.stderr}")


def check_files(library):
    with tempfile.TemporaryDirectory() as folder:
        test = pathlib.Path(folder) / "a.test"
        right = "== right\ngraph (x: f32[1]) { return Sound@faults(x) }\nx = {1}\n-> {2}\n"
        wrong = "== wrong\ngraph (x: f32[1]) { return Sound@faults(x) }\nx = {1}\n-> {3}\n"
        test.write_text(right + wrong)
        done = run("check", test, "--extensions", library)
        expect(done.returncode == 2 and "1 of 2 cases of .test files passed" in done.stdout and "expected 3" in done.stdout,
               f".test file: {done.stdout}{done.stderr}")
        done = run("check", library, "--op", "Sound")
        expect(done.returncode == 0 and "no findings" in done.stdout, f"Sound: {done.stdout}{done.stderr}")
        # A case that ends the process is named, and the next ones run.
        values = ", ".join(["1"] * 40)
        test.write_text("== bad\ngraph (x: f32[40]) { return Crashes@faults(x) }\nx = {%s}\n" % values + right)
        done = run("check", folder, "--extensions", library, "-v")
        expect(done.returncode == 2 and "1 of 2 cases" in done.stdout and f"FAIL {test}:1: bad: crash" in done.stdout
               and f"ok   {test}:4: right" in done.stdout, f"a case that crashes: {done.stdout}{done.stderr}")
        test.write_text("# nothing\n")
        done = run("check", test)
        expect(done.returncode == 2 and "have no cases" in done.stderr, f"no cases: {done.stdout}{done.stderr}")
        done = run("check", library, "--op", "Sound", "--seconds", "0.2", "--cases", "100000", "--json")
        cases = json.loads(done.stdout)["operations"][0]["cases"]
        expect(done.returncode == 0 and 0 < cases < 50000, f"--seconds: {cases} cases")
    for args, message in (((), "nothing to check"), (("a.onnx",), "expected a library"), (("nothing.test",), "file not found: 'nothing.test'"), ((library, "--op", "Sond"), "did you mean Sound"),
                          ((library, "--case", "3"), "--case requires --op")):
        done = run("check", *args)
        expect(done.returncode == 1 and message in done.stderr, f"graft check {args}: {done.returncode} {done.stderr}")


def check_unguessable(library):
    """Operations that a schema says little about: checked, or reported as not checked."""
    done = run("check", library, "--json", "--cases", "60")
    report = json.loads(done.stdout)
    expect(done.returncode == 2 and not report["findings"], f"unguessable: {done.returncode} {report['findings']}")
    missing = {m["operation"].split("@")[0]: m["reason"] for m in report["not_checked"]}
    expect(set(missing) == {"Refuses", "HasABody"}, f"not checked: {missing}")
    expect("expected something else" in missing.get("Refuses", "") and "bodies" in missing.get("HasABody", ""), f"reasons: {missing}")
    for o in report["operations"]:
        expect(o["operation"].split("@")[0] in missing or o["cases"] > 10, f"{o['operation']}: {o['cases']} cases")
    done = run("check", library, "--op", "Refuses", "--cases", "5")
    expect(done.returncode == 2 and "not checked" in done.stdout and ".test file" in done.stdout and "1 operation is not checked" in done.stderr,
           f"Refuses: {done.stdout}{done.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        test = pathlib.Path(folder) / "body.test"
        test.write_text("== a body\ngraph (x: f32[2]) {\n"
                        "  y = HasABody@unguessable(x)\n    body (a <- 0) -> (b -> 0)\n"
                        "    graph (a: f32[2]) { b1 = Abs(a) return b = b1 }\n"
                        "  return y\n}\nx = {1, 2}\n-> {1, 2}\n")
        done = run("check", library, test, "--op", "HasABody")
        expect(done.returncode == 0 and "1 cases of .test files" in done.stdout, f"a body: {done.stdout}{done.stderr}")


def check_progress(library):
    """A line about what is being checked, on a terminal."""
    terminal, other = pty.openpty()
    process = subprocess.Popen([str(GRAFT), "check", str(library), "--op", "Sound", "--cases", "20"], stdout=subprocess.PIPE, stderr=other)
    output, _ = process.communicate()
    os.close(other)
    shown = b""
    try:
        while part := os.read(terminal, 1 << 16):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    shown = shown.decode()
    expect("[1/1] Sound@faults: case " in shown and shown.endswith("\r\x1b[K"), f"progress: {shown!r}")
    expect(process.returncode == 0 and b"\x1b" not in output, f"progress in the output: {output!r}")


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
    p.add_argument("--only", choices=["faults", "files", "unguessable", "built-ins"])
    args = p.parse_args()
    GRAFT = args.build.resolve() / "bin/graft"
    library = args.build.resolve() / "extensions/faults.so"
    if args.only in (None, "faults"):
        check_faults(library)
    if args.only in (None, "files"):
        check_files(library)
        check_progress(library)
    if args.only in (None, "unguessable"):
        check_unguessable(args.build.resolve() / "extensions/unguessable.so")
    if args.only in (None, "built-ins"):
        check_built_ins(args.thorough)
    print(f"{len(failures)} failures" if failures else "graft check works")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
