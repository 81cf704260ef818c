"""Calls of the program that several stages make."""
import subprocess
import sys


# A process counts the memory of the one that started it, and this one has the arrays of a whole network.
_TRAMPOLINE = """
import os, subprocess, sys, time
start = time.monotonic()
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(p.pid, 0)
print(time.monotonic() - start, used.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status) and 1)
"""


def measured(command):
    """Runs it; wall seconds and peak resident bytes."""
    p = subprocess.run([sys.executable, "-S", "-c", _TRAMPOLINE, *command], capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip() or "it ended without a word")
    seconds, peak = p.stdout.split()
    return float(seconds), int(peak)
