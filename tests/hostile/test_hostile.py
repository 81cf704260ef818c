#!/usr/bin/env python3
"""Hostile files end with an exit code of 0, 1 or 2, within 10 seconds and within 256 MiB plus three times the file, in memory and on the disk.

  tests/hostile/test_hostile.py --build build [--sanitized] [--data ../shared/data/hostile] [--only CLASS] [--keep DIR]

Under the sanitizers memory is theirs and time a multiple; then only the exit code and the absence of their reports count.
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

MIB = 1 << 20
SECONDS, MEMORY = 10, 256 * MIB


class Ended:
    def __init__(self, program, arguments, folder, seconds, limit):
        def limits():
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        out = open(os.path.join(folder, ".out"), "wb")
        begin = time.time()
        p = subprocess.Popen([program, *arguments], cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL, preexec_fn=limits)
        deadline, self.late = begin + seconds, False
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
        self.seconds, self.peak = time.time() - begin, usage.ru_maxrss * 1024
        self.cpu = usage.ru_utime + usage.ru_stime  # depends less on the load of the machine
        self.code = os.waitstatus_to_exitcode(status)
        out.close()
        with open(out.name, "rb") as f:
            self.text = f.read()


def problems(r, files, sanitized, expected):
    size = sum(len(c) for c in files.values())
    if r.late:
        yield "still running after %.0f s" % r.seconds
    elif r.code not in ((expected,) if expected is not None else (0, 1, 2)):
        yield "exit code %d" % r.code
    if b"Sanitizer" in r.text or b"runtime error" in r.text:
        yield "sanitizer report"
    if not sanitized and not r.late and r.peak > MEMORY + 3 * size:
        yield "%d MiB of memory for a file of %d bytes" % (r.peak // MIB, size)
    if any(c < 32 and c not in (9, 10) for c in r.text):
        yield "control bytes in the output"


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
        if written - given > MEMORY + 3 * given:
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
    for make, n in classes.GROWTH:
        if o.only and o.only != make.__name__:
            continue
        # The larger one is to take at most three times as long, once what is fixed is taken off.
        times = []
        for count in (1, n // (10 if o.sanitized else 1), 2 * n // (10 if o.sanitized else 1)):
            files = make(count)
            times.append(judge("%s_%d" % (make.__name__, count), files, ["convert", next(iter(files)), "-o", "out"]).cpu)
        if times[2] - times[0] > 0.5 + 3 * (times[1] - times[0]):
            print("FAILED %s: %.2f s for %d, %.2f s for twice as many" % (make.__name__, times[1], n, times[2]))
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
