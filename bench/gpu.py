#!/usr/bin/env python3
"""ResNet-50 and BERT-base on a GPU: Graft's device GPU beside PyTorch, and where Graft's time goes; element-wise chains beside a copy.

  bench/gpu.py [--graft build/bin/graft] [--only resnet50,bert,elementwise] [--rounds 5] [--work DIR]

Needs a machine with an OpenCL driver of the GPU, and a Python with torch, torchvision, transformers, onnx and numpy. Both engines run
the same networks with the same random weights in f32, taking turns; PyTorch without TF32, as Graft computes. The outputs are
compared first. Latencies contain the copies of inputs and outputs.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--graft", default=os.path.join(ROOT, "build/bin/graft"))
    p.add_argument("--device", default="GPU")
    p.add_argument("--only", default="resnet50,bert,elementwise")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--extension", default=os.path.join(ROOT, "build/extensions/formulas.so"), help="with the custom operations of the chains")
    p.add_argument("--work", default=os.path.join(ROOT, "build/bench/gpu"))
    return p.parse_args()


def resnet50():
    import torchvision
    return torchvision.models.resnet50(weights=None), [torch.rand(1, 3, 224, 224)]


def bert():
    import transformers
    config = transformers.BertConfig(attn_implementation="eager")

    class LastState(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(config)

        def forward(self, tokens, mask):
            return self.bert(tokens, attention_mask=mask, return_dict=False)[0]

    return LastState(), [torch.randint(0, config.vocab_size, (1, 128)), torch.ones(1, 128, dtype=torch.int64)]


def export(name, network, inputs, work):
    path = os.path.join(work, name + ".onnx")
    names = ["x%d" % i for i in range(len(inputs))]
    torch.onnx.export(network, tuple(inputs), path, input_names=names, output_names=["y"], opset_version=17, dynamo=False)
    files = []
    for n, x in zip(names, inputs):
        files += ["-i", "%s=%s" % (n, os.path.join(work, "%s_%s.npy" % (name, n)))]
        np.save(files[-1].split("=", 1)[1], x.numpy())
    return path, files


def graft(o, command, *arguments):
    r = subprocess.run([o.graft, command, *arguments], capture_output=True, text=True)
    if r.returncode:
        sys.exit("graft %s %s: exit code %d\n%s" % (command, " ".join(arguments), r.returncode, r.stderr))
    return r.stdout


def torch_ms(network, inputs, seconds=0.5):
    """The median of a whole call, with inputs and output in host memory."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        network(*[x.cuda() for x in inputs]).cpu()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def compare(o, name, network, inputs):
    network = network.eval()
    path, files = export(name, network, inputs, o.work)
    with torch.no_grad():
        expected = network(*inputs).numpy()
        network = network.cuda()
        graft(o, "run", path, "-d", o.device, "--output-dir", o.work, *files)
        with open(os.path.join(o.work, "outputs.json")) as f:
            got = np.load(os.path.join(o.work, json.load(f)[0]["file"]))
        error = float(np.abs(got - expected).max() / np.abs(expected).max())
        ours, theirs = [], []
        for _ in range(o.rounds):
            theirs.append(torch_ms(network, inputs))
            report = json.loads(graft(o, "bench", path, "-d", o.device, "--hint", "latency", "-t", "1", "--json", *files))
            ours.append(report["latency_ms"]["median"])
    ratio = statistics.median(t / g for t, g in zip(theirs, ours))
    print("%-10s Graft %8.2f ms   PyTorch %8.2f ms   ratio %.2f   largest difference %.1e" %
          (name, statistics.median(ours), statistics.median(theirs), ratio, error))
    profiled = json.loads(graft(o, "bench", path, "-d", o.device, "--hint", "latency", "-t", "1", "--pc", "--json", *files))
    sums = {}
    for r in profiled["operations"]:
        key = "%s by %s" % (r["type"], r["kernel"])
        sums[key] = sums.get(key, 0) + r["microseconds"] / max(1, r["calls"])
    for key, us in sorted(sums.items(), key=lambda kv: -kv[1])[:8]:
        print("           %5.1f %%  %8.0f us  %s" % (100 * us / sum(sums.values()), us, key))


def copy_us(count):
    """The time of a copy of `count` floats on the device."""
    x, y = torch.rand(count, device="cuda"), torch.empty(count, device="cuda")
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    y.copy_(x)
    start.record()
    for _ in range(20):
        y.copy_(x)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 20 * 1000


# Formulas over the same bytes as a copy; those of the extension are custom operations without a line of OpenCL.
CHAINS = {
    "swish": "a = Sigmoid(x) y = Multiply(a, x)",
    "custom": "y = Leaky@formulas(x) {slope = 0.125}",
    "chain": "a = Leaky@formulas(x) {slope = 0.125} b = Multiply(a, f32[] {0.5}) y = Gate@formulas(b, x)",
}


def elementwise(o, count=1 << 26):
    """Formulas over 256 MiB against a copy of the same bytes, by the device's own clock."""
    copy = copy_us(count)
    for name, chain in CHAINS.items():
        extension = ["--extensions", o.extension] if "@formulas" in chain else []
        if extension and not os.path.exists(o.extension):
            print("%-10s skipped: there is no %s; build the target `formulas`" % (name, o.extension))
            continue
        path = os.path.join(o.work, name + ".graph")
        with open(path, "w") as f:
            f.write("graph (x: f32[%d] \"x\") { %s return y }" % (count, chain))
        profiled = json.loads(graft(o, "bench", path, "-d", o.device, "--hint", "latency", "--niter", "20", "--pc", "--json", *extension))
        operations = profiled["operations"]
        ours = sum(r["microseconds"] / max(1, r["calls"]) for r in operations)
        print("%-10s Graft %8.0f us in %d kernel%s   a copy %8.0f us   %.0f %% of the copy's bandwidth" %
              (name, ours, len(operations), "" if len(operations) == 1 else "s", copy, 100 * copy / ours))


def main():
    o = options()
    os.makedirs(o.work, exist_ok=True)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print(graft(o, "devices").strip())
    for name in o.only.split(","):
        if name == "elementwise":
            elementwise(o)
        else:
            compare(o, name, *{"resnet50": resnet50, "bert": bert}[name]())


if __name__ == "__main__":
    main()
