"""Extension folders in the style of the Model Optimizer: ``ops/ front/<framework>/ middle/ back/``.

`load` gives the definitions of a folder: a pass over the framework's model that runs the folder's extractors and front
transformations, import rules for the layers that it adds, and passes over the imported graph. The files import their base
classes and helpers under the module paths that they have in the Model Optimizer; `modules` is the table of these.
"""

from __future__ import annotations

from typing import Any

from .errors import FolderError
from .folder import Folder
from .phases import import_kept, import_layer, run_front, run_late
from .raw_graph import CUSTOM, DOMAIN

__all__ = ["FolderError", "definitions", "load"]


def _types(folder: Folder, framework: str) -> "list[str]":
    """The types of layers that the folder handles without a transformation."""
    from . import names

    front = folder.fronts[framework]
    types = [cls.op for cls in front.extractors.values()]
    types += [op for op in folder.ops if op.lower() not in front.extractors and not names.is_known(framework, op)]
    if framework == "caffe":  # a Python layer has its class as the type
        types += [name.rpartition(".")[2] for name in front.custom]
    return list(dict.fromkeys(types))


def load(path: str) -> "list[Any]":
    """The definitions of a folder: raw passes, import rules, and passes over the imported graph."""
    return definitions(Folder(path))


def definitions(folder: Folder) -> "list[Any]":
    """The same of a folder that is loaded."""
    from ..graph_pass import GraphPassDefinition
    from ..importing import ImportRuleDefinition
    from ..raw import RawPassDefinition

    made: "list[Any]" = []
    for framework in folder.fronts:
        types = [(kind, "") for kind in _types(folder, framework)]
        if framework == "mxnet":
            types += [(kind, CUSTOM) for kind in folder.fronts[framework].custom]
        if not folder.orders[framework] and not types:
            continue
        made.append(RawPassDefinition(f"{folder.name}/{framework}", [framework], _bind(run_front, folder), folder.name,
                                      "extractors and transformations of an extension folder"))
        made.append(ImportRuleDefinition(framework, "*", import_kept, folder.name, DOMAIN))
        for kind, domain in types:  # in bodies of loops and branches, which the raw pass does not change
            for place in (domain, "*") if framework == "onnx" else (domain,):
                made.append(ImportRuleDefinition(framework, kind, _bind(import_layer, folder, framework, domain), folder.name,
                                                 place))
    for phase in ("middle", "back"):
        if any(cls.phase == phase for cls in folder.late_order):
            made.append(GraphPassDefinition(f"{folder.name}/{phase}", phase, _bind(run_late, folder, phase),
                                            folder.name,
                                            "transformations of an extension folder"))
    return made


def _bind(function: Any, *first: Any) -> Any:
    def call(last: Any) -> None:
        function(*first, last)

    return call
