"""One engine with one model in a process of its own, steered by lines on its standard input (bench/workers.py is the other end).

  engine.py ENGINE MODEL.onnx INPUTS.npz THREADS OUTPUTS.npz [EXTENSION]

EXTENSION is for models with custom operations: a library, or `python` for those of bench/custom_ops.py.

It loads, compiles and runs the model once, writes the outputs, and answers with a line of JSON. Then `time SECONDS CLOCK` runs it
again and again and answers with the median in milliseconds of the clock (wall or cpu), `memory` answers with the peak, `profile COUNT` with the
slowest operations (Graft only).
"""
import json
import os
import statistics
import sys
import time

import numpy as np


class Graft:
    def __init__(self, path, threads, extension, profile=False):
        import graft
        self.graft, self.path, self.threads, self.extension, self.profiled = graft, path, threads, extension, profile
        self.version = graft.__version__

    def load(self, feed):
        core = self.graft.Core()
        if self.extension:
            core.add_extension(self.extension)
        model = core.read_model(self.path)
        self.request = request = model.compile(threads=self.threads, profile=self.profiled).create_infer_request()
        self.outputs = lambda found: [np.asarray(found[i]) for i in range(len(model.outputs))]
        return lambda: request.infer(feed)

    def profile(self, count):
        """The slowest kinds of operations with their kernel and their share of the time."""
        sums = {}
        for r in self.request.profile().nodes:
            key = "%s by %s" % (r.type, r.kernel)
            sums[key] = sums.get(key, 0) + r.microseconds
        total = sum(sums.values()) or 1
        return [[k, v / total] for k, v in sorted(sums.items(), key=lambda kv: -kv[1])[:count]]


class OpenVINO:
    def __init__(self, path, threads, extension):
        import openvino
        self.openvino, self.path, self.threads, self.extension = openvino, path, threads, extension
        self.version = openvino.__version__.split("-")[0]

    def load(self, feed):
        core = self.openvino.Core()
        if self.extension == "python":
            import custom_ops
            custom_ops.for_openvino(core)
        elif self.extension:
            core.add_extension(self.extension)
        compiled = core.compile_model(core.read_model(self.path), "CPU", {"INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
                                                                          "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
        request = compiled.create_infer_request()
        self.outputs = lambda found: [np.array(found[i]) for i in range(len(compiled.outputs))]
        return lambda: request.infer(feed, share_inputs=True, share_outputs=True)


class OnnxRuntime:
    def __init__(self, path, threads, extension):
        import onnxruntime
        self.onnxruntime, self.path, self.threads, self.extension = onnxruntime, path, threads, extension
        self.version = onnxruntime.__version__

    def load(self, feed):
        options = self.onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = self.threads, 1, 3
        if self.extension:
            import custom_ops
            custom_ops.for_onnxruntime(options)
        session = self.onnxruntime.InferenceSession(self.path, options, providers=["CPUExecutionProvider"])
        self.outputs = lambda found: found
        return lambda: session.run(None, feed)


class OpenCV:
    def __init__(self, path, threads, extension):
        import cv2
        self.cv2, self.path, self.threads, self.extension = cv2, path, threads, extension
        self.version = cv2.__version__

    def load(self, feed):
        self.cv2.setNumThreads(self.threads)
        if self.extension:
            import custom_ops
            custom_ops.for_opencv()
        net = self.cv2.dnn.readNetFromONNX(self.path)
        names = net.getUnconnectedOutLayersNames()
        self.outputs = lambda found: [np.asarray(f) for f in found]

        def run():
            for name, value in feed.items():
                net.setInput(value, name)
            return net.forward(names)

        return run


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
GROUP = 5e-4  # seconds
ENGINES = {"graft": Graft, "openvino": OpenVINO, "openvino_cpp": OpenVINO, "onnxruntime": OnnxRuntime, "opencv": OpenCV}


def peak():
    """The most bytes of memory that this process had."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def timed(call, seconds, clock):
    """The median of a call; short ones are measured in groups, so that the clock's own cost does not count."""
    now = CLOCKS[clock]
    start = time.perf_counter()
    call()
    group = max(1, int(GROUP / max(time.perf_counter() - start, 1e-9)))
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = now()
        for _ in range(group):
            call()
        times.append((now() - start) / group)
    return statistics.median(times) * 1000


def main():
    name, path, inputs, threads, outputs = sys.argv[1:6]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an engine prints is no answer
    say = lambda value: (answers.write(json.dumps(value) + "\n"), answers.flush())
    with np.load(inputs) as f:
        feed = {k: f[k] for k in f.files}
    extra = {"profile": True} if name == "graft" and os.environ.get("BENCH_PROFILE") else {}
    engine = ENGINES[name](path, int(threads), sys.argv[6] if len(sys.argv) > 6 else "", **extra)
    start = {name: now() for name, now in CLOCKS.items()}
    call = engine.load(feed)
    found = call()
    start = {name: now() - start[name] for name, now in CLOCKS.items()}
    np.savez(outputs, *engine.outputs(found))
    del found
    say({"start": start, "version": engine.version})
    for line in sys.stdin:
        word, *values = line.split()
        if word == "time":
            say(timed(call, float(values[0]), values[1]))
        elif word == "memory":
            say(peak())
        elif word == "profile":
            say(engine.profile(int(values[0])))


if __name__ == "__main__":
    main()
