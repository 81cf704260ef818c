"""OpenVINO in a process of its own: it may crash or hang on a model, and the comparison goes on."""
import multiprocessing


class Crash(RuntimeError):
    pass


def _serve(pipe):
    import openvino as ov
    core = ov.Core()

    def run(path, inputs):
        compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        if len(compiled.inputs) != len(inputs):
            raise RuntimeError("%d inputs, %d given" % (len(compiled.inputs), len(inputs)))
        result = compiled.create_infer_request().infer({i: v for i, v in enumerate(inputs)})
        return [result[o] for o in compiled.outputs]

    def run_named(path, inputs, outputs):
        model = core.read_model(path)
        # Compiled, an input that is a result too has only the result's name.
        place = {name: i for i, port in enumerate(model.inputs) for name in port.get_names()}
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        result = compiled.create_infer_request().infer({place[n]: v for n, v in inputs.items()})
        return [result[compiled.output(o)] for o in outputs]

    def run_sequence(path, feeds, outputs):
        model = core.read_model(path)
        place = {name: i for i, port in enumerate(model.inputs) for name in port.get_names()}
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        request, results = compiled.create_infer_request(), []
        for feed in feeds:
            if feed is None:
                request.reset_state()
                continue
            found = request.infer({place[n]: v for n, v in feed.items()})
            results.append([found[compiled.output(o)].copy() for o in outputs])
        return results

    def read(path):
        core.read_model(path)

    def save(path, to):
        ov.save_model(core.read_model(path), to, compress_to_fp16=False)

    calls = {"run": run, "run_named": run_named, "run_sequence": run_sequence, "read": read, "save": save}
    while True:
        try:
            what, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((None, calls[what](*arguments)))
        except Exception as e:
            pipe.send((str(e).replace("\n", " "), None))


class OpenVino:
    """run(path, inputs) -> results in f32; run_named(path, inputs by name, names of outputs); run_sequence(path, inputs by name for each run, or None to reset
    the state, names of outputs) -> results of each run; read(path); save(path, to). RuntimeError with its words, Crash when it died."""

    def __init__(self, seconds=120):
        self._seconds, self._process = seconds, None

    def _call(self, what, *arguments):
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        try:
            self._pipe.send((what, arguments))
            if not self._pipe.poll(self._seconds):
                raise EOFError
            error, value = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.kill()
            self._process.join()
            self._process = None
            raise Crash("OpenVINO crashed or did not end") from None
        if error is not None:
            raise RuntimeError(error)
        return value

    def run(self, path, inputs):
        return self._call("run", path, inputs)

    def run_named(self, path, inputs, outputs):
        return self._call("run_named", path, inputs, outputs)

    def run_sequence(self, path, feeds, outputs):
        return self._call("run_sequence", path, feeds, outputs)

    def read(self, path):
        return self._call("read", path)

    def save(self, path, to):
        return self._call("save", path, to)
