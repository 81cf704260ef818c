#!/usr/bin/env python3
"""Time limits against programs that hang. They are not about speed: on a busy machine everything takes many times as long.

  scripts/patience.py 900      prints the limit in seconds for what takes up to 900 s on an idle machine
"""
import os
import sys


def patience(seconds):
    """The limit for what takes up to `seconds` on an idle machine."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * max(5, 3 * busy)


if __name__ == "__main__":
    print(int(patience(float(sys.argv[1]))))
