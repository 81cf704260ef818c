"""Graft: convert and run models with operations of your own.

>>> import graft
>>> model = graft.Core().read_model("model.onnx")
>>> request = model.compile("CPU").create_infer_request()
>>> results = request.infer({"data": x})          # results["prob"], results[0]
"""

try:
    import numpy as _numpy  # noqa: F401  _native needs it, and could only say that it failed
except ImportError as _error:
    import sys as _sys

    _missing = ImportError(f"graft needs NumPy, which {_sys.executable or 'this Python'} does not have\n"
                           f"hint: {_sys.executable or 'python3'} -m pip install numpy, or apt-get install python3-numpy for the "
                           "system's Python; the program graft uses an active virtual environment of its Python version")
    _missing._graft_plain = True  # type: ignore[attr-defined]
    raise _missing from _error

from ._native import Tensor, __version__
from .attributes import at_least, at_most, attr, between, one_of
from .core import CompiledModel, Core, Group, InferRequest, Model, Port, Streaming, compile_model, convert, read_model
from .definition import Info, unregister
from .errors import Error
from .graph_pass import GraphRewrite, graph_pass
from .importing import import_rule
from .layer import register_layer, unregister_layer
from .logging import set_log
from .op import op, rule
from .raw import RawLayer, RawModel, RawPort, raw_pass
from .reports import ConvertReport, Explanation, Operation, Operations, Profile, Query, Report
from .results import Results

__all__ = [
    "CompiledModel", "ConvertReport", "Core", "Error", "Explanation", "GraphRewrite", "Group", "InferRequest", "Info", "Model",
    "Operation", "Operations", "Port", "Profile", "Query", "RawLayer", "RawModel", "RawPort", "Report", "Results", "Streaming", "Tensor",
    "at_least", "at_most", "attr", "between", "compile_model", "convert", "graph_pass", "import_rule", "one_of", "op",
    "raw_pass", "read_model", "register_layer", "rule", "set_log", "unregister", "unregister_layer",
]
