#!/usr/bin/env python3
"""How much memory and time `graft convert` needs: a model of 400 MB, ResNet-50 of Caffe, and chains of 10,000 and
100,000 nodes.

  bench/convert.py --graft build/bin/graft [--work build/bench] [--peers build/oracle/venv/bin/python]
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import onnx_writer as onnx  # noqa: E402

OPENVINO = """
import sys, openvino as ov
ov.save_model(ov.convert_model(sys.argv[1]), sys.argv[2], compress_to_fp16=False)
"""


def in_a_child(function, *arguments):
    """Runs it in another process: a command's peak counts the memory of the process that starts it."""
    child = os.fork()
    if child == 0:
        function(*arguments)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the model could not be written")


def measure(command):
    """Wall seconds and peak resident bytes of a command."""
    start = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = p.stderr.read()
    _, status, used = os.wait4(p.pid, 0)
    if status:
        raise SystemExit("%s\n%s" % (" ".join(command), said.decode()))
    return time.monotonic() - start, used.ru_maxrss * 1024


def write_large(path, megabytes):
    side = 5000  # 100 MB a matrix
    count = megabytes * 1000000 // (4 * side * side)
    block = os.urandom(1 << 20)
    weights = (block * (4 * side * side // len(block) + 1))[:4 * side * side]
    tensors = [onnx.tensor("w%d" % i, [side, side], weights) for i in range(count)]
    nodes = [onnx.node("MatMul", ["x%d" % i, "w%d" % i], ["x%d" % (i + 1)]) for i in range(count)]
    with open(path, "wb") as f:
        f.write(onnx.model("large", nodes, tensors, [onnx.value("x0", [1, side])], [onnx.value("x%d" % count, [1, side])], {"": 17}))


def write_chain(path, length):
    nodes = [onnx.node(("Relu", "Abs", "Sigmoid")[i % 3], ["x%d" % i], ["x%d" % (i + 1)]) for i in range(length)]
    with open(path, "wb") as f:
        f.write(onnx.model("chain", nodes, [], [onnx.value("x0", [1, 8])], [onnx.value("x%d" % length, [1, 8])], {"": 17}))


def resnet50(o, out):
    """A net of Caffe that people convert, with weights from tests/oracle: under 1 s. True when that holds."""
    net = os.path.join(o.work, "resnet50", "model")
    subprocess.run([o.peers, os.path.join(ROOT, "tests", "oracle", "caffe_models.py"), "--model-only", o.work, "resnet50"], check=True)
    weights = os.path.getsize(net + ".caffemodel")
    runs = [measure([o.graft, "convert", net + ".prototxt", net + ".caffemodel", "-o", out, "--silent"]) for _ in range(5)]
    seconds, peak, allowed = statistics.median(r[0] for r in runs), max(r[1] for r in runs), 1.15 * weights + 150e6
    ok = seconds < 1 and peak < allowed
    print("ResNet-50, Caffe  %6.2f s (allowed 1), peak %6.1f MB, weights %.1f MB, allowed %.1f MB   %s" %
          (seconds, peak / 1e6, weights / 1e6, allowed / 1e6, "ok" if ok else "MISSED"))
    shutil.rmtree(os.path.dirname(net))
    return ok


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--graft", required=True)
    p.add_argument("--work", default="build/bench")
    p.add_argument("--peers", default="", help="a Python that has openvino and numpy")
    o = p.parse_args()
    os.makedirs(o.work, exist_ok=True)
    out = os.path.join(o.work, "out")
    path = os.path.join(o.work, "large.onnx")
    in_a_child(write_large, path, 400)
    weights = 400e6
    seconds, peak = measure([o.graft, "convert", path, "-o", out, "--silent"])
    allowed = 1.15 * weights + 150e6
    print("400 MB model      %6.2f s, peak %6.1f MB, weights %.1f MB, allowed %.1f MB   %s" %
          (seconds, peak / 1e6, weights / 1e6, allowed / 1e6, "ok" if peak < allowed else "MISSED"))
    missed = peak >= allowed
    if o.peers:
        s, m = measure([o.peers, "-c", OPENVINO, path, os.path.join(out, "peer.xml")])
        print("  OpenVINO        %6.2f s, peak %6.1f MB (Python and the library included)" % (s, m / 1e6))
    os.remove(path)
    if o.peers:
        missed |= not resnet50(o, out)

    times = {}
    for length in (10000, 100000):
        path = os.path.join(o.work, "chain.onnx")
        in_a_child(write_chain, path, length)
        runs = [measure([o.graft, "convert", path, "-o", out, "--silent"]) for _ in range(3)]
        times[length] = statistics.median(r[0] for r in runs)
        print("chain of %6d   %6.2f s, peak %6.1f MB" % (length, times[length], max(r[1] for r in runs) / 1e6))
        if o.peers:
            s, m = measure([o.peers, "-c", OPENVINO, path, os.path.join(out, "peer.xml")])
            print("  OpenVINO        %6.2f s, peak %6.1f MB" % (s, m / 1e6))
    ratio = times[100000] / times[10000]
    ok = times[100000] < 10 and ratio < 12
    print("ten times the nodes take %.1f times the time (allowed 12), 100,000 take %.2f s (allowed 10)   %s" % (ratio, times[100000], "ok" if ok else "MISSED"))
    for f in os.listdir(out):
        os.remove(os.path.join(out, f))
    return 1 if missed or not ok else 0


if __name__ == "__main__":
    sys.exit(main())
