#!/usr/bin/env python3
"""One part asks the machine how many threads it has: src/base/machine.cpp.

    scripts/check_machine.py

Fails if anything else in src, include, cli or python does: it would not see containers, affinity masks or the options
of the user. Kernels divide by Prepare::threads().
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ASKS = re.compile(r"hardware_concurrency|get_nprocs|_SC_NPROCESSORS|sched_getaffinity|omp_get_|os\.cpu_count|multiprocessing\.cpu_count")
ALLOWED = {"src/base/machine.cpp"}


def main():
    found, looked_at = [], 0
    for top in ("src", "include", "cli", "python"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in sorted(files):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if not name.endswith((".cpp", ".hpp", ".h", ".py")) or path in ALLOWED:
                    continue
                looked_at += 1
                with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                    found += ["%s:%d: asks the machine: use Prepare::threads, or default_threads of base/machine.hpp" % (path, n)
                              for n, line in enumerate(f, 1) if ASKS.search(line)]
    for line in found:
        print(line)
    return 1 if found or looked_at < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
