#!/usr/bin/env python3
"""How much memory and time `graft convert` needs: models of 400 MB and chains of 10,000 and 100,000 nodes, of ONNX, MXNet and
Kaldi, and ResNet-50 of Caffe.

  bench/convert.py --graft build/bin/graft [--work build/bench] [--peers build/oracle/venv/bin/python] [--only mxnet,kaldi] [--clock cpu]

With --clock cpu the times are those of the processor, which depend less on the load of the machine.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

from convert_models import FORMATS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

OPENVINO = """
import sys, openvino as ov
ov.save_model(ov.convert_model(sys.argv[1]), sys.argv[2], compress_to_fp16=False)
"""


CLOCK = "wall"


def measure(command):
    """Seconds of the clock and peak resident bytes of a command."""
    start = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = p.stderr.read()
    _, status, used = os.wait4(p.pid, 0)
    if status:
        raise SystemExit("%s\n%s" % (" ".join(command), said.decode()))
    return time.monotonic() - start if CLOCK == "wall" else used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def resnet50(o, out):
    """A net of Caffe that people convert, with weights from tests/oracle: under 1 s. True when that holds."""
    net = os.path.join(o.work, "resnet50", "model")
    subprocess.run([o.peers, os.path.join(ROOT, "tests", "oracle", "caffe_models.py"), "--model-only", o.work, "resnet50"], check=True)
    weights = os.path.getsize(net + ".caffemodel")
    runs = [measure([o.graft, "convert", net + ".prototxt", net + ".caffemodel", "-o", out, "--silent"]) for _ in range(5)]
    seconds, peak, allowed = statistics.median(r[0] for r in runs), max(r[1] for r in runs), 1.15 * weights + 150e6
    ok = seconds < 1 and peak < allowed
    print("Caffe  ResNet-50         %6.2f s (allowed 1), peak %6.1f MB, weights %.1f MB, allowed %.1f MB   %s" %
          (seconds, peak / 1e6, weights / 1e6, allowed / 1e6, "ok" if ok else "MISSED"))
    shutil.rmtree(os.path.dirname(net))
    return ok


def in_files(folder, make, size):
    """The files of a model, made by another process: a command's peak counts the memory of the process that starts it."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    child = os.fork()
    if child == 0:
        with open(os.path.join(folder, "files"), "w") as f:
            f.write("\n".join(make(folder, size)))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the model could not be written")
    with open(os.path.join(folder, "files")) as f:
        return f.read().split("\n")


def peer(o, files, out, note=""):
    if o.peers and files[0].endswith(".onnx"):
        s, m = measure([o.peers, "-c", OPENVINO, files[0], os.path.join(out, "peer.xml")])
        print("  OpenVINO               %6.2f s, peak %6.1f MB%s" % (s, m / 1e6, note))


def sizes(o, out, name, large, chain):
    """The large model and the chains of one format. True when the bars hold."""
    folder = os.path.join(o.work, "model")
    files = in_files(folder, large, 400)
    seconds, peak = measure([o.graft, "convert", *files, "-o", out, "--silent"])
    weights, allowed = 400e6, 1.15 * 400e6 + 150e6
    print("%-6s 400 MB model      %6.2f s, peak %6.1f MB, weights %.1f MB, allowed %.1f MB   %s" %
          (name, seconds, peak / 1e6, weights / 1e6, allowed / 1e6, "ok" if peak < allowed else "MISSED"), flush=True)
    peer(o, files, out, " (Python and the library included)")
    times = {}
    for length in (10000, 100000):
        files = in_files(folder, chain, length)
        runs = [measure([o.graft, "convert", *files, "-o", out, "--silent"]) for _ in range(3)]
        times[length] = statistics.median(r[0] for r in runs)
        print("%-6s chain of %6d   %6.2f s, peak %6.1f MB" % (name, length, times[length], max(r[1] for r in runs) / 1e6))
        peer(o, files, out)
    shutil.rmtree(folder)
    ratio = times[100000] / times[10000]
    ok = times[100000] < 10 and ratio < 12
    print("%-6s ten times the nodes take %.1f times the time (allowed 12), 100,000 take %.2f s (allowed 10)   %s" %
          (name, ratio, times[100000], "ok" if ok else "MISSED"), flush=True)
    return ok and peak < allowed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--graft", required=True)
    p.add_argument("--work", default="build/bench")
    p.add_argument("--peers", default="", help="a Python that has openvino and numpy")
    p.add_argument("--only", default="", help="formats, separated by commas: onnx, mxnet, kaldi, caffe")
    p.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    o = p.parse_args()
    global CLOCK
    CLOCK = o.clock
    only = o.only.lower().split(",") if o.only else []
    os.makedirs(o.work, exist_ok=True)
    out = os.path.join(o.work, "out")
    missed = not all([sizes(o, out, name, *makers) for name, makers in FORMATS.items() if not only or name.lower() in only])
    if o.peers and (not only or "caffe" in only):
        missed |= not resnet50(o, out)
    for f in os.listdir(out):
        os.remove(os.path.join(out, f))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
