#!/usr/bin/env python3
"""Hostile files end with an exit code of 0, 1 or 2, within 10 seconds of processor time and within 256 MiB plus 40 times the file, in memory and
on the disk; and ten times as much of anything takes about ten times as long.

  tests/hostile/test_hostile.py --build build [--sanitized] [--data ../shared/data/hostile] [--only CLASS] [--keep DIR]

Time is processor time, so that it depends little on what else the machine does. Under the sanitizers memory is theirs and time a multiple; then only
the exit code and the absence of their reports count.
"""
import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "scripts"), os.path.dirname(os.path.abspath(__file__))]
import classes  # noqa: E402
import growth  # noqa: E402
from patience import patience  # noqa: E402

MIB = 1 << 20
SECONDS, MEMORY, PER_BYTE = 10, 256 * MIB, 40


class Ended:
    def __init__(self, program, arguments, folder, seconds, limit):
        def limits():
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        out = open(os.path.join(folder, ".out"), "wb")
        begin = time.time()
        p = subprocess.Popen([program, *arguments], cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL, preexec_fn=limits)
        deadline, self.late = begin + patience(10 * seconds), False  # for what hangs without doing anything
        while True:
            pid, status, usage = os.wait4(p.pid, os.WNOHANG)
            if pid:
                break
            if time.time() > deadline:
                self.late = True
                p.send_signal(signal.SIGKILL)
                deadline = float("inf")
            time.sleep(0.005)
        p.returncode = 0  # waited for above
        self.peak = usage.ru_maxrss * 1024
        self.user, self.cpu = usage.ru_utime, usage.ru_utime + usage.ru_stime
        self.code = os.waitstatus_to_exitcode(status)
        self.late = self.late or self.code == -signal.SIGXCPU
        out.close()
        with open(out.name, "rb") as f:
            self.text = f.read()


def problems(r, files, sanitized, expected):
    size = sum(len(c) for c in files.values())
    if r.late:
        yield "still running after %.0f s of processor time" % r.cpu
    elif r.code not in ((expected,) if expected is not None else (0, 1, 2)):
        yield "exit code %d" % r.code
    if b"Sanitizer" in r.text or b"runtime error" in r.text:
        yield "sanitizer report"
    if not sanitized and not r.late and r.peak > MEMORY + PER_BYTE * size:
        yield "%d MiB of memory for a file of %d bytes" % (r.peak // MIB, size)
    if any(c < 32 and c not in (9, 10) for c in r.text):
        yield "control bytes in the output"


# What a command takes that does nothing, in seconds of processor time.
_idle = {}


def calibration():
    """Seconds that a fixed amount of work takes here and now: 0.1 s on a machine of 2020."""
    begin = time.process_time()
    sum(i * i for i in range(1400000))
    return time.process_time() - begin


def grown(name, make, n, command, judge):
    """Why ten times as many take more than twelve times as long; empty: they do not."""
    def seconds(count):
        files = make(count)
        first = next(iter(files))
        arguments = {"convert": ["convert", first, "-o", "out"], "explain": ["explain", first], "new": ["new", "--from-model", first, "-o", "ext"]}[command]
        return judge("%s_%d" % (name, count), files, arguments).user
    # What is too short to be measured counts as this long.
    least = max(0.08, 0.6 * calibration())
    _idle.setdefault(command, seconds(1) if command != "new" else 0)
    # Programs on the other core share caches with this one: a quarter of the time that the least may take ten times.
    noise = 0.25 * 12 * least
    many = seconds(10 * n) - _idle[command] - noise
    if many <= 12 * least:
        return ""
    few = seconds(n) - _idle[command]
    for _ in range(2):  # other programs disturb: only what is slow every time is slow
        if many <= 12 * max(few, least):
            return ""
        many, few = min(many, seconds(10 * n) - _idle[command] - noise), max(few, seconds(n) - _idle[command])
    return "%.2f s for %d, %.2f s for ten times as many" % (few, n, many + noise) if many > 12 * max(few, least) else ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--sanitized", action="store_true")
    p.add_argument("--data", default="")
    p.add_argument("--only", default="")
    p.add_argument("--keep", default="")
    o = p.parse_args()
    program = os.path.abspath(os.path.join(o.build, "bin", "graft"))
    seconds, limit = (SECONDS * 18, 0) if o.sanitized else (SECONDS, 8 << 30)
    passed = failed = 0

    def judge(name, files, arguments, expected=None):
        nonlocal passed, failed
        folder = tempfile.mkdtemp(prefix="graft-hostile-")
        for file, content in files.items():
            with open(os.path.join(folder, file), "wb") as f:
                f.write(content)
        r = Ended(program, arguments, folder, seconds, limit)
        found = list(problems(r, files, o.sanitized, expected))
        written = sum(os.path.getsize(os.path.join(at, f)) for at, _, names in os.walk(folder) for f in names)
        given = sum(len(c) for c in files.values())
        if written - given > MEMORY + PER_BYTE * given:
            found.append("%d MiB written for a file of %d bytes" % (written // MIB, given))
        if os.path.exists(os.path.join(folder, "pwned")):
            found.append("the model ran a command")
        if found:
            print("FAILED %s: %s\n  graft %s\n%s" % (name, ", ".join(found), " ".join(arguments), r.text[-600:].decode(errors="replace")))
            if o.keep:
                shutil.copytree(folder, os.path.join(o.keep, name), dirs_exist_ok=True)
        failed += bool(found)
        passed += not found
        shutil.rmtree(folder)
        return r

    for group in classes.CLASSES:
        if o.only and o.only != group.__name__:
            continue
        begin = time.time()
        for name, files, arguments, *expected in group():
            judge(name, files, arguments, *expected)
        print("%-12s %.1f s" % (group.__name__, time.time() - begin))
    for name, make, n, command in growth.GROWTH:
        if o.only and o.only not in ("growth", name):
            continue
        why = grown(name, make, n // (10 if o.sanitized else 1), command, judge)
        if why and not o.sanitized:  # their own tables grow, too: what they report counts
            print("FAILED %s: %s" % (name, why))
            failed += 1
    if o.data and os.path.isdir(o.data) and not o.only:
        for file in sorted(os.listdir(o.data)):
            if not file.endswith((".onnx", ".xml", ".pb")):
                continue
            files = {file: open(os.path.join(o.data, file), "rb").read()}
            weights = os.path.join(o.data, file[:-4] + ".bin")
            if file.endswith(".xml") and os.path.exists(weights):
                files[file[:-4] + ".bin"] = open(weights, "rb").read()
            # How long a model runs is its own affair, but an IR must not lead outside of its memory.
            for command in (["convert", file, "-o", "out"], ["run", file])[:1 + file.endswith(".xml")]:
                judge("%s_%s" % (file, command[0]), files, command)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
