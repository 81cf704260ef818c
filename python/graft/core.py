"""Reading, converting, compiling and running models."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Any, Callable, List, Mapping, Sequence, Union


from . import _native
from .definition import Definition, Part, _collect, _registered
from .reports import ConvertReport, Explanation, Operation, Operations, Profile, Query, Record, Report, ports_html
from .results import Results

__all__ = ["CompiledModel", "Core", "Group", "InferRequest", "Model", "Port", "compile_model", "convert", "read_model"]

PathLike = Union[str, "os.PathLike[str]"]
Inputs = Union[Mapping[Any, Any], Sequence[Any], Any, None]


class Port(Record):
    """An input or output of a model. Unknown dimensions are None, or a pair of bounds."""

    name: str
    names: "list[str]"
    any_name: str
    dtype: str
    shape: "tuple[Any, ...] | None"

    def __repr__(self) -> str:
        return f"<{self.any_name}: {self._text}>"


class Group(Record):
    """An input or output as its framework sees it: a tensor, or a sequence, optional or map of ONNX.

    `port` is the position of a tensor among the ports, `parts` are what the others consist of.
    """

    name: str
    kind: str
    port: "int | None"
    parts: "list[Group]"

    def __init__(self, **fields: Any) -> None:
        super().__init__(**{**fields, "parts": [Group(**p) for p in fields["parts"]]})

    def __repr__(self) -> str:
        return f"<{self.name}: {self._text}>" if self.name else f"<{self._text}>"


def _groups(listed: "list[dict[str, Any]]") -> "list[Group]":
    return [Group(**g) for g in listed]


class _Ports(List[Port]):
    """Ports by position or by name."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return list.__getitem__(self, key)
        for port in self:
            if key == port.name or key in port.names:
                return port
        raise KeyError(f"'{key}': there is {', '.join(repr(p.any_name) for p in self)}")


class Streaming(Record):
    """How a model that takes utterances in chunks is used.

    Feed the first frame `left` times, the utterance, and the last frame `right` times; drop the first `left + right`
    results. The others are those of the whole utterance. Between utterances, `InferRequest.reset_state`.
    """

    left: int
    right: int


def _ports(listed: "list[dict[str, Any]]") -> _Ports:
    return _Ports(Port(**p) for p in listed)


class Model:
    """A model in memory: the graph as it was imported, before optimization for a device."""

    def __init__(self, native: Any, core: "Core") -> None:
        self._native, self._core = native, core

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def framework(self) -> str:
        """The name of a framework (`Core.frameworks`), "ir" or "text"."""
        return self._native.framework

    @property
    def path(self) -> str:
        return self._native.path

    @property
    def node_count(self) -> int:
        return self._native.node_count

    @property
    def streaming(self) -> "Streaming | None":
        """Only of models that take utterances in chunks (option `streaming` of `read_model`), and their IRs."""
        found = self._native.streaming()
        return None if found is None else Streaming(**found)

    @property
    def inputs(self) -> "list[Port]":
        return _ports(self._native.inputs())

    @property
    def outputs(self) -> "list[Port]":
        return _ports(self._native.outputs())

    @property
    def input_groups(self) -> "list[Group]":
        """The inputs as the framework sees them; sequences, optionals and maps of ONNX are one each."""
        return _groups(self._native.input_groups())

    @property
    def output_groups(self) -> "list[Group]":
        return _groups(self._native.output_groups())

    def fit(self, inputs: "Mapping[str, Any] | Sequence[Any]") -> "tuple[Model, dict[str, Any]]":
        """The model for these values of all its inputs, read again where their shapes or lengths differ.

        Sequences are lists, optionals None or a value, maps dictionaries. Returns the model and its inputs: values that
        decide how the model is imported have become constants of it and are left out.
        """
        values = [inputs[g.name] for g in self.input_groups] if isinstance(inputs, Mapping) else list(inputs)
        native, left, _ = self._native.fit(values)
        model = Model(native, self._core)
        return model, {g.name: v for g, v in zip(model.input_groups, left)}

    @property
    def unknown_layers(self) -> "list[str]":
        """Layers without a known operation, as "name (type)"; a model with such layers does not compile."""
        return self._native.unknown_layers()

    def report(self) -> Report:
        """Unknown layers and problems, and which rule imported each of the other layers."""
        return Report(**self._native.report())

    def require_complete(self) -> None:
        """Raises the report if a layer is unknown or could not be imported."""
        self._native.require_complete()

    def reshape(self, shapes: "Mapping[str, Sequence[int | None]]") -> None:
        """Changes the shapes of inputs, by name, and infers all others again."""
        self._native.reshape(dict(shapes))

    def add_output(self, name: str) -> int:
        """Makes any tensor of the model an output and returns its position."""
        return self._native.add_output(name)

    def save_ir(self, path: PathLike) -> None:
        """Writes the IR as it is; `convert` optimizes it first."""
        self._native.save_ir(os.fspath(path))

    def through_ir(self) -> "Model":
        """The model as it is read back from an IR."""
        return Model(self._native.through_ir(), self._core)

    def compile(self, device: str = "CPU", **options: Any) -> "CompiledModel":
        return self._core.compile_model(self, device, **options)

    def __str__(self) -> str:
        return self._native.to_text()

    def __repr__(self) -> str:
        return f"<graft.Model '{self.name}': inputs {list(self.inputs)}, outputs {list(self.outputs)}>"

    def _repr_html_(self) -> str:
        title = f"{self.name or 'model'}: {self.framework}, {self.node_count} nodes"
        missing = [("unknown layer", layer, "", "") for layer in self.unknown_layers]
        return ports_html(title, self.inputs, self.outputs, missing)


class InferRequest:
    """One inference at a time: its inputs, outputs and memory. Create one request per concurrent inference.

    Arrays are used where they are: inputs must stay unchanged while the request runs. Arrays that are not dense are
    copied, an element type other than the model's is an error. Besides NumPy arrays, everything with ``__dlpack__`` (a
    tensor of PyTorch) and `graft.Tensor` are accepted.
    """

    def __init__(self, compiled: "CompiledModel") -> None:
        self._native = _native.InferRequest(compiled._native)
        self.compiled_model = compiled

    def infer(self, inputs: Inputs = None) -> Results:
        """Runs and returns the results. Inputs: a dictionary by name or position, a list, or the only input.

        A sequence of ONNX is a list of arrays, an optional is its value or None, a map is a dictionary.
        """
        return self._native.infer(inputs)

    __call__ = infer

    def start_async(self, inputs: Inputs = None) -> None:
        """Starts a run and returns at once; `wait` returns when it is over."""
        self._native.start_async(inputs)
        _started.add(self)

    def wait(self, timeout: "float | None" = None) -> bool:
        """Waits for the run and raises what it raised. False: it takes longer than `timeout` seconds."""
        if timeout is not None:
            return self._native.wait_for(timeout)
        self._native.wait()
        return True

    def cancel(self) -> None:
        """Stops before the next operation; `wait` then raises an Error of kind "cancelled"."""
        self._native.cancel()

    def set_callback(self, callback: "Callable[[Exception | None], None] | None") -> None:
        """Called when an asynchronous run is over, on another thread, with its error or None."""
        self._native.set_callback(callback)

    @property
    def results(self) -> Results:
        """The results of the last run."""
        return self._native.results()

    def set_tensor(self, name: "str | int | Port", value: Any) -> None:
        """Sets an input, or the memory that receives an output."""
        self._native.set(name, value)

    def get_tensor(self, name: "str | int | Port") -> "_native.Tensor":
        return self._native.get(name)

    def set_input_tensor(self, index: int, value: Any) -> None:
        self._native.set_input(index, value)

    def set_output_tensor(self, index: int, value: Any) -> None:
        """The results are written into this array."""
        self._native.set_output(index, value)

    def get_input_tensor(self, index: int = 0) -> "_native.Tensor":
        return self._native.input(index)

    def get_output_tensor(self, index: int = 0) -> "_native.Tensor":
        return self._native.output(index)

    def reset_state(self) -> None:
        """Resets the variables of stateful models to their initial values."""
        self._native.reset_state()

    def profile(self) -> Profile:
        """The time per node; the model must be compiled with ``profile=True``."""
        nodes, text = self._native.profile()
        return Profile(nodes=nodes, text=text)


_started: "weakref.WeakSet[InferRequest]" = weakref.WeakSet()


@atexit.register
def _stop() -> None:
    """Runs end before the interpreter does, because operations and callbacks need it."""
    for request in list(_started):
        request.cancel()
    for request in list(_started):
        try:
            request.wait()
        except Exception:
            pass


class CompiledModel:
    """A model prepared for a device. Immutable, and safe to use from several threads.

    ``compiled(inputs)`` runs it with a request of the calling thread.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self._requests = threading.local()

    def create_infer_request(self) -> InferRequest:
        return InferRequest(self)

    def __call__(self, inputs: Inputs = None) -> Results:
        request = getattr(self._requests, "native", None)
        if request is None:
            request = self._requests.native = _native.InferRequest(self._native)
        return request.infer(inputs)

    @property
    def device(self) -> str:
        return self._native.device

    @property
    def inputs(self) -> "list[Port]":
        return _ports(self._native.inputs())

    @property
    def outputs(self) -> "list[Port]":
        return _ports(self._native.outputs())

    @property
    def input_groups(self) -> "list[Group]":
        return _groups(self._native.input_groups())

    @property
    def output_groups(self) -> "list[Group]":
        return _groups(self._native.output_groups())

    def explain(self, input_shapes: "Sequence[Sequence[int]]" = ()) -> Explanation:
        """Kernels and memory for inputs of these shapes; by default the smallest that fit."""
        return Explanation(**self._native.explain([list(s) for s in input_shapes]))

    def __repr__(self) -> str:
        return f"<graft.CompiledModel for {self.device}: inputs {list(self.inputs)}, outputs {list(self.outputs)}>"

    def _repr_html_(self) -> str:
        return ports_html(f"compiled for {self.device}", self.inputs, self.outputs)


class Core:
    """The entry point: knows operations, file formats and devices.

    Operations that are registered with `graft.op` and `graft.register_layer` are known to every Core.
    """

    def __init__(self) -> None:
        self._native = _native.Core()
        self._applied: "dict[int, int]" = {}  # definition -> id of the extension
        self._own: "dict[int, Definition | Part]" = {}
        self._lock = threading.Lock()

    def _sync(self) -> Any:
        """Adds what was registered since the last call, removes what is no longer registered."""
        with self._lock:
            current = _registered()
            alive = {id(d) for d in current} | self._own.keys()
            for key in [k for k in self._applied if k not in alive]:
                self._native.remove(self._applied.pop(key))
            self._apply(current)
        return self._native

    def _apply(self, definitions: "Sequence[Definition | Part]") -> None:
        """Adds those that are not there yet, all at once."""
        fresh = list({id(d): d for d in definitions if id(d) not in self._applied}.values())
        ids = self._native.add_definitions([d.native for d in fresh]) if fresh else []
        self._applied.update((id(d), added) for d, added in zip(fresh, ids))

    def add_extension(self, extension: "PathLike | Definition | Any") -> Any:
        """Adds an extension to this Core alone: what the option --extensions takes (a shared library, a Python file that
        defines operations, a folder with CMakeLists.txt, custom layers in an .xml, a folder of Python extensions for the
        Model Optimizer with ops/, front/, middle/ or back/), or an operation.

        Returns what `remove_extension` takes.
        """
        if isinstance(extension, (str, os.PathLike)):
            path = os.fspath(extension)
            if not _native.is_python_extension(path):
                return self._native.add_extension(path)
            return self._add_own(_collect(path))
        definition = extension if isinstance(extension, (Definition, Part)) else getattr(extension, "definition", None)
        if definition is None:
            raise TypeError("expected a path, or an operation that graft.op made")
        return self._add_own([definition])[0]

    def _add_own(self, definitions: "Sequence[Definition | Part]") -> "list[Definition | Part]":
        with self._lock:
            self._apply(definitions)
            self._own.update((id(d), d) for d in definitions)
        return list(definitions)

    def remove_extension(self, extension: Any) -> None:
        """Takes back what `add_extension` returned. Models that were read before keep it."""
        if isinstance(extension, list):
            for part in extension:
                self.remove_extension(part)
            return
        if not isinstance(extension, (Definition, Part)):
            self._native.remove(extension)
            return
        with self._lock:
            if self._own.pop(id(extension), None) is None:
                raise ValueError("this Core does not have this extension")
            if extension not in _registered():
                self._native.remove(self._applied.pop(id(extension)))

    @property
    def extensions(self) -> "list[Record]":
        return [Record(**e) for e in self._sync().extensions()]

    def read_model(self, path: "PathLike | Sequence[PathLike]", weights: "PathLike | None" = None,
                   **options: Any) -> Model:
        """Reads a model file; the format is recognized by its content.

        Options are those of docs/guide/options.md. An entry of `inputs` is a name or a dictionary with `name`,
        `shape`, `dtype`; `shapes`, `types`, `items`, `constants` and `limits` are dictionaries.
        """
        files = [os.fspath(path)] if isinstance(path, (str, os.PathLike)) else [os.fspath(p) for p in path]
        if weights is not None:
            files.append(os.fspath(weights))
        return Model(self._sync().read_model(files, options), self)

    def compile_model(self, model: "Model | PathLike", device: str = "CPU", **options: Any) -> CompiledModel:
        """Prepares a model for a device. Options: `streams`, `threads`, `hint` ("latency" or "throughput"),
        `hyper_threads`, `profile`, `passes`, `disabled_passes`; for "HETERO:A,B" also `affinities`, a dictionary from
        layers to devices."""
        if not isinstance(model, Model):
            model = self.read_model(model)
        return CompiledModel(self._native.compile_model(model._native, device, options))

    def query_model(self, model: "Model | PathLike", device: str = "CPU", **options: Any) -> Query:
        """Which layers a device supports, and why not the others; for "HETERO:A,B", on which device each would run."""
        if not isinstance(model, Model):
            model = self.read_model(model)
        return Query(**self._native.query_model(model._native, device, options))

    def set_property(self, *arguments: Any) -> None:
        """``set_property({"NUM_STREAMS": 2})`` for all devices, ``set_property("CPU", {...})`` for one."""
        *device, properties = arguments
        values = {k: ("YES" if v else "NO") if isinstance(v, bool) else str(v) for k, v in properties.items()}
        self._native.set_property(device[0] if device else "", values)

    def get_property(self, device: str, name: str) -> str:
        """The current value of a property, as text; `device` may be empty for those of all devices."""
        return self._native.get_property(device, name)

    def convert(self, model: "Model | PathLike | Sequence[PathLike]", output: "PathLike | None" = None,
                read: "Mapping[str, Any] | None" = None, **options: Any) -> ConvertReport:
        """Optimizes a model and writes it as IR: `output` (.xml) and the weights beside it (.bin).

        Options are those of docs/guide/options.md; `mean` and `scale` are a list, a dictionary by input or, for
        `scale`, a number. `read` has the options of `read_model`.
        """
        if not isinstance(model, Model):
            model = self.read_model(model, **(read or {}))
        elif read:
            raise TypeError("options for reading were given, but the model is read already")
        if output is None:
            output = (os.path.splitext(os.path.basename(model.path))[0] or "model") + ".xml"
        return ConvertReport(**self._native.convert_model(model._native, os.fspath(output), options))

    def operations(self) -> Operations:
        return Operations(Operation(**o) for o in self._sync().operations())

    def rules(self) -> "list[Record]":
        return [Record(**r) for r in self._sync().rules()]

    def frameworks(self) -> "list[Record]":
        """Those whose models can be read: `name`, `title`, `aliases`, `files`, `origin`."""
        return [Record(**f) for f in self._sync().frameworks()]

    def recognize_format(self, path: PathLike) -> str:
        """The format of a model file or folder, by its content: the name of a framework, "ir" or "text"."""
        return self._sync().recognize_format(os.fspath(path))

    def passes(self) -> "list[Record]":
        return [Record(**p) for p in self._native.passes()]

    @property
    def available_devices(self) -> "list[str]":
        return self._native.devices()

    @property
    def threads(self) -> "tuple[int, str, list[str]]":
        """How many threads a model gets by default, why, and notes on settings that are ignored."""
        return self._native.threads()

    def device_description(self, device: str) -> str:
        return self._native.device_description(device)


_core: "Core | None" = None


def _default() -> Core:
    global _core
    if _core is None:
        _core = Core()
    return _core


def read_model(path: "PathLike | Sequence[PathLike]", weights: "PathLike | None" = None, **options: Any) -> Model:
    """`Core.read_model` of a Core for the whole process."""
    return _default().read_model(path, weights, **options)


def compile_model(model: "Model | PathLike", device: str = "CPU", **options: Any) -> CompiledModel:
    """`Core.compile_model` of a Core for the whole process."""
    return _default().compile_model(model, device, **options)


def convert(model: "Model | PathLike | Sequence[PathLike]", output: "PathLike | None" = None,
            read: "Mapping[str, Any] | None" = None, **options: Any) -> ConvertReport:
    """`Core.convert` of a Core for the whole process."""
    return _default().convert(model, output, read, **options)
