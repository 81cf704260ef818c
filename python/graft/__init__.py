"""Graft: convert and run models with operations of your own.

>>> import graft
>>> model = graft.Core().read_model("model.onnx")
>>> request = model.compile("CPU").create_infer_request()
>>> results = request.infer({"data": x})          # results["prob"], results[0]
"""

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
