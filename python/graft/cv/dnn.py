"""Networks with the names of OpenCV's dnn module."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ..core import CompiledModel, Core, Model
from ..errors import Error
from .pictures import resize

__all__ = ["Net", "blobFromImage", "blobFromImages", "readNet", "readNetFromCaffe", "readNetFromModelOptimizer", "readNetFromONNX",
           "readNetFromTensorflow"]

DNN_BACKEND_DEFAULT, DNN_BACKEND_INFERENCE_ENGINE, DNN_BACKEND_OPENCV = 0, 2, 3
DNN_TARGET_CPU, DNN_TARGET_OPENCL, DNN_TARGET_OPENCL_FP16, DNN_TARGET_MYRIAD = 0, 1, 2, 3
_DEVICES = {DNN_TARGET_CPU: "CPU", DNN_TARGET_OPENCL: "GPU", DNN_TARGET_OPENCL_FP16: "GPU", DNN_TARGET_MYRIAD: "VPU"}


class Net:
    """A network: `readNet` reads it, `setInput` and `forward` run it. It keeps the layers that were registered when it was read.

    As in OpenCV, blobs of four dimensions are [n, c, h, w], also for TensorFlow.
    """

    def __init__(self, model: "Model | None" = None) -> None:
        self._model = model
        self._compiled: "CompiledModel | None" = None
        self._device = "CPU"
        self._inputs: "dict[int, np.ndarray]" = {}
        self._outputs = list(model.outputs) if model is not None else []

    @property
    def _read(self) -> Model:
        if self._model is None:
            raise Error("the network is empty: read it with readNet")
        return self._model

    def empty(self) -> bool:
        return self._model is None

    def _is_image(self, rank: int) -> bool:
        return rank == 4 and self._read.framework == "tensorflow"

    def setInput(self, blob: Any, name: str = "", scalefactor: float = 1.0, mean: Sequence[float] = ()) -> None:
        """The value of an input, by name, or of the first one: (blob - mean) * scalefactor."""
        ports = self._read.inputs
        names = [p.any_name for p in ports]
        if name and not any(name == p.name or name in p.names for p in ports):
            raise Error(f"there is no input '{name}': there is {', '.join(map(repr, names))}", "request")
        if not ports:
            raise Error("the network has no inputs")
        at = next((i for i, p in enumerate(ports) if name == p.name or name in p.names), 0)
        value = np.asarray(blob)
        offsets = _scalar(mean)
        if offsets.any() or scalefactor != 1.0:
            value = value.astype(np.float32)
            if offsets.any():
                channels = value.shape[1] if value.ndim > 1 else 1
                value = value - np.resize(offsets, channels).reshape([-1] + [1] * (value.ndim - 2))
            value = value * np.float32(scalefactor)
        if self._is_image(value.ndim):
            value = value.transpose(0, 2, 3, 1)
        wanted = {"f32": np.float32, "f64": np.float64, "f16": np.float16}.get(ports[at].dtype, ports[at].dtype)
        self._inputs[at] = np.array(value, dtype=wanted if isinstance(wanted, type) else _integer(wanted), order="C")

    def forward(self, outputName: "str | Sequence[str] | None" = None) -> Any:
        """The output of a layer, or a list of outputs for a list of names; without a name, the last output of the network."""
        several = outputName is not None and not isinstance(outputName, str)
        names = list(outputName) if several else [outputName or ""]  # type: ignore[arg-type]
        model = self._read
        ports = model.inputs
        shapes = {ports[i].any_name: list(v.shape) for i, v in self._inputs.items() if not _takes(ports[i].shape, v.shape)}
        if shapes:
            model.reshape(shapes)
            self._compiled = None
        before = len(model.outputs)
        wanted = [model.add_output(n) if n else len(self._outputs) - 1 for n in names]
        if len(model.outputs) != before:
            self._compiled = None
        missing = [p.any_name for i, p in enumerate(ports) if i not in self._inputs]
        if missing:
            raise Error(f"the input '{missing[0]}' is not set: call setInput")
        if self._compiled is None:
            self._compiled = model.compile(self._device)
        results = self._compiled({i: v for i, v in self._inputs.items()}).to_tuple()
        out = [results[i] for i in wanted]
        out = [np.ascontiguousarray(o.transpose(0, 3, 1, 2)) if self._is_image(o.ndim) else o for o in out]
        return out if several else out[0]

    def getLayerNames(self) -> "tuple[str, ...]":
        names = [c.layer for c in self._read.report().claims]
        if not names:  # an IR
            names = [layer.layer for layer in self._read._core.query_model(self._read).layers]
        return tuple(names)

    def getUnconnectedOutLayersNames(self) -> "tuple[str, ...]":
        """By the names of the tensors, where they differ from those of the layers."""
        return tuple(p.any_name for p in self._outputs)

    def setPreferableBackend(self, backendId: int) -> None:
        """Graft is the only backend: the default and OpenCV's names of it are accepted."""
        if backendId not in (DNN_BACKEND_DEFAULT, DNN_BACKEND_INFERENCE_ENGINE, DNN_BACKEND_OPENCV):
            raise Error(f"there is no backend {backendId} here", "unsupported")

    def setPreferableTarget(self, targetId: int) -> None:
        """CPU; OPENCL and OPENCL_FP16 are Graft's device GPU, MYRIAD its VPU."""
        if targetId not in _DEVICES:
            raise Error(f"there is no target {targetId} here", "unsupported")
        if _DEVICES[targetId] != self._device:
            self._device, self._compiled = _DEVICES[targetId], None


def _scalar(value: Any) -> np.ndarray:
    """The four numbers of a Scalar; those that are not given are 0."""
    given = np.atleast_1d(np.asarray(value, np.float32)).reshape(-1)
    if given.size > 4:
        raise Error(f"expected at most 4 numbers, got {given.size}")
    return np.concatenate([given, np.zeros(4 - given.size, np.float32)])


def _integer(dtype: str) -> str:
    return {"boolean": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8"}.get(
        dtype, "f4")


def _takes(shape: Any, dims: "tuple[int, ...]") -> bool:
    def fits(d: Any, n: int) -> bool:
        return d is None or d == n or (isinstance(d, tuple) and d[0] <= n and (d[1] is None or n <= d[1]))
    return shape is None or (len(shape) == len(dims) and all(fits(d, n) for d, n in zip(shape, dims)))


def _net(*files: str) -> Net:
    model = Core().read_model([f for f in files if f])
    try:
        model.require_complete()
    except Error as e:
        unknown = model.report().unknown
        if not unknown:
            raise
        # With the words of OpenCV, which names the first unknown layer, before the report, which has all of them.
        raise Error(f'Unspecified error: Can\'t create layer "{unknown[0].layers[0].name}" of type "{unknown[0].type}" in function '
                    f"getLayerInstance\n{e}", e.kind) from None
    return Net(model)


def readNet(model: str, config: str = "", framework: str = "") -> Net:
    """Reads a network; the order of the files does not matter, and the format is recognized by their content."""
    return _net(model, config)


def readNetFromCaffe(prototxt: str, caffeModel: str = "") -> Net:
    return _net(prototxt, caffeModel)


def readNetFromTensorflow(model: str, config: str = "") -> Net:
    if config:
        raise Error(f"the text graph '{config}' is for OpenCV alone: the network is read from '{model}'", "request", "leave it out")
    return _net(model)


def readNetFromONNX(onnxFile: str) -> Net:
    return _net(onnxFile)


def readNetFromModelOptimizer(xml: str, bin: str = "") -> Net:
    return _net(xml, bin)


def blobFromImages(images: "Sequence[Any]", scalefactor: float = 1.0, size: Sequence[int] = (0, 0), mean: Any = (),
                   swapRB: bool = False, crop: bool = False, ddepth: int = 5) -> np.ndarray:
    """Pictures of one size as a blob [n, c, h, w]: (pixel - mean) * scalefactor.

    `size` is (width, height); with `crop`, the shorter side is resized and the middle is taken. With `swapRB`, blue and red change places;
    `mean` is in the order of the result.
    """
    if ddepth not in (0, 5):
        raise Error(f"blobFromImage: expected the depth CV_32F or CV_8U, got {ddepth}", "unsupported")
    offsets = _scalar(mean)
    if ddepth == 0 and (offsets.any() or scalefactor != 1.0):
        raise Error("blobFromImage: mean and scalefactor need the depth CV_32F")
    blobs = []
    for image in images:
        a = np.asarray(image)
        if a.ndim == 2:
            a = a[:, :, None]
        if a.ndim != 3 or 0 in a.shape:
            raise Error(f"blobFromImage: expected a picture [height, width, channels], got shape {list(a.shape)}")
        width, height = (int(d) for d in size) if tuple(size) != (0, 0) else (a.shape[1], a.shape[0])
        if (height, width) != a.shape[:2] and crop:
            factor = max(width / a.shape[1], height / a.shape[0])
            a = resize(a, (0, 0), fx=factor, fy=factor)
            top, left = (a.shape[0] - height) // 2, (a.shape[1] - width) // 2
            a = a[top:top + height, left:left + width]
        elif (height, width) != a.shape[:2]:
            a = resize(a, (width, height))
        if swapRB and a.shape[2] >= 3:
            a = a[:, :, [2, 1, 0] + list(range(3, a.shape[2]))]
        if ddepth == 5:
            a = (a.astype(np.float32) - np.resize(offsets, a.shape[2])) * np.float32(scalefactor)
        blobs.append(a.transpose(2, 0, 1))
    if len({b.shape for b in blobs}) != 1:
        raise Error(f"blobFromImages: expected pictures of one size, got {len(blobs)} of {len({b.shape for b in blobs})} sizes")
    return np.ascontiguousarray(np.stack(blobs))


def blobFromImage(image: Any, scalefactor: float = 1.0, size: Sequence[int] = (0, 0), mean: Any = (), swapRB: bool = False,
                  crop: bool = False, ddepth: int = 5) -> np.ndarray:
    """One picture as a blob [1, c, h, w]: see `blobFromImages`."""
    return blobFromImages([image], scalefactor, size, mean, swapRB, crop, ddepth)
