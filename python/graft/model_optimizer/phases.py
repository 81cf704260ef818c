"""What a folder does to a model: extraction and front transformations on the framework's graph, then import."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import names
from .emit import Builder, emit
from .errors import FolderError
from .folder import Folder, described
from .node import Node
from .op import Op
from .raw_graph import CUSTOM, DOMAIN, RawGraph, kept_node, new_graph, prepare_node

__all__ = ["run_front", "run_late", "rename_types", "import_kept", "import_layer"]


class _Registered:
    """The folder's operations among those that files find by name, for the time of a block."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.imports = folder, folder.imports.active()

    def __enter__(self) -> None:
        self.imports.__enter__()
        self.known = dict(Op.registered_ops)
        Op.registered_ops.update(self.folder.ops)

    def __exit__(self, *error: Any) -> None:
        Op.registered_ops.clear()
        Op.registered_ops.update(self.known)
        self.imports.__exit__(*error)


def _handler(folder: Folder, framework: str, layer: Any) -> Any:
    """What reads a layer: an extractor class, an operation with the layer's type as its name, or None."""
    front = folder.fronts[framework]
    if framework == "caffe" and "python_param.module" in layer.fields:
        key = f"{layer.fields['python_param.module']}.{layer.fields['python_param.layer']}"
        if key in front.custom:
            return front.custom[key]
    if framework == "mxnet" and layer.domain == CUSTOM:  # the type of a Custom layer is its op_type
        return front.custom.get(layer.type)
    found = folder.extractor_of(framework, layer.type)
    if found is None and not names.is_known(framework, layer.type):
        return folder.op_named(layer.type)
    return found


def _extract(handler: Any, node: Node) -> bool:
    """Fills in the attributes of a node; false: the extractor does not handle this layer."""
    if isinstance(handler, type) and issubclass(handler, Op):
        handler.update_node_stat(node, {})
        return True
    node["type"], node["op_class"] = None, None
    result = handler.extract(node)
    if isinstance(result, tuple) and len(result) == 2:  # MXNet Custom
        result, attributes = result
        for name, value in (attributes or {}).items():
            node[name] = value
    return bool(result)


def _guarded(folder: Folder, title: str, function: Any) -> Any:
    try:
        return function()
    except Exception as error:
        raise FolderError(f"{title}: {described(error, folder)}") from error


# ---- front ----


def run_front(folder: Folder, raw: Any) -> None:
    """Extracts the folder's layers, runs its front transformations, and writes the graph back."""
    framework = raw.framework
    with _Registered(folder):
        state = RawGraph(raw)
        graph = state.graph
        extracted = set()
        for node in state.untouched():
            handler = _handler(folder, framework, state.layer_of(node))
            if handler is not None and _extract_in(folder, state, handler, node):
                extracted.add(node.id)
        entries = graph.graph["replacements"].entries
        for cls in _passes(folder, framework, entries):
            _guarded(folder, f"transformation {cls.__name__}", lambda: _run(cls, graph))
        graph.clean_up()
        if not graph.get_op_nodes(op="Result"):
            raise FolderError("the transformations removed all outputs of the model")
        _guarded(folder, f"folder '{folder.name}'", lambda: state.write(extracted, folder))


def _extract_in(folder: Folder, state: RawGraph, handler: Any, node: Node) -> bool:
    layer = state.layer_of(node)
    before = dict(node.attrs())
    title = f"layer '{node.id}' ({layer.type})"
    if not _guarded(folder, title, lambda: _extract(handler, node)):
        node.attrs().clear()
        node.attrs().update(before)
        return False
    if layer.weights:
        state.drop_weights(node)
    state.embed(node)
    return True


def _passes(folder: Folder, framework: str, entries: "list[dict[str, Any]]") -> "list[Any]":
    """The folder's transformations, and one for each entry that names an operation of the folder."""
    from .replacement import FrontReplacementFromConfigFileOp

    order = list(folder.orders[framework])
    handled = {getattr(c, "replacement_id", "") for c in order}
    for entry in entries:
        if entry.get("op") in folder.ops and entry.get("id") not in handled:
            handled.add(entry.get("id"))
            order.append(type(f"{entry['op']}FromConfig", (FrontReplacementFromConfigFileOp,),
                              {"replacement_id": entry.get("id")}))
    return order


def _run(cls: Any, graph: Any) -> None:
    conditions = getattr(cls, "graph_condition", None) or []
    if all(condition(graph) for condition in conditions):
        cls().find_and_replace_pattern(graph)
        if cls.force_clean_up:
            graph.clean_up()


def rename_types(folder: Folder, raw: Any) -> None:
    """Gives layers the type and domain that the folder's import rules are registered for.

    The Model Optimizer finds extractors without regard to case and domain.
    """
    for layer in raw.layers:
        if layer.domain == DOMAIN:
            continue
        handler = _handler(folder, raw.framework, layer)
        if handler is None or handler in folder.fronts[raw.framework].custom.values():
            continue
        if layer.type != handler.op:
            layer.type = handler.op
        if layer.domain:
            layer.domain = ""


# ---- middle and back ----


def run_late(folder: Folder, phase: str, rewrite: Any) -> None:
    """Runs the transformations of a phase on the imported graph."""
    from .graph_phase import GraphState

    with _Registered(folder):
        for cls in folder.late_order:
            if cls.phase != phase:
                continue
            state = GraphState(rewrite)
            before = _edges_of(state.graph)
            _guarded(folder, f"transformation {cls.__name__}", lambda: _run(cls, state.graph))
            if _edges_of(state.graph) != before:
                _guarded(folder, f"transformation {cls.__name__}", state.write)


def _edges_of(graph: Any) -> Any:
    """What tells whether a transformation did anything: edges, names and attributes."""
    edges = sorted((str(u), str(v), d.get("in", -1), d.get("out", -1)) for u, v, d in graph.edges(data=True))
    return edges, {n: {k: repr(v) for k, v in a.items() if k not in ("value", "_in_ports", "_out_ports")}
                   for n, a in graph.nodes(data=True)}


# ---- import ----


def import_kept(layer: Any) -> None:
    """The rule for layers that `RawGraph.write` added."""
    node, folder = kept_node(int(layer.fields["node"]))
    with _Registered(folder):
        _emit(folder, layer, node)


class _Record:
    """A layer under import, with what a framework's record has."""

    def __init__(self, layer: Any, domain: str = "") -> None:
        self.name, self.type, self.fields, self.weights = layer.name, layer.type, layer.fields, layer.weights
        self.domain = domain
        count = len(layer.inputs) - layer.weights
        self.inputs = [f"{layer.name}:input_{i}" for i in range(count)]
        self.outputs = [f"{layer.name}:{i}" for i in range(layer.output_count)]


def import_layer(folder: Folder, framework: str, domain: str, layer: Any) -> None:
    """The rule for a type that the folder has an extractor or an operation for."""
    record = _Record(layer, domain)
    handler = _handler(folder, framework, record)
    if handler is None:
        layer.decline(f"the folder '{folder.name}' has no extractor for it")
        return
    with _Registered(folder):
        graph = new_graph(framework, layer.version)
        values = list(layer.inputs)
        flows = values[:len(values) - layer.weights]
        blobs = [v.value for v in values[len(flows):]] if framework == "caffe" else []
        node = prepare_node(graph, layer.name or "layer", framework, record, blobs)
        for index in range(len(flows)):
            node.add_input_port(index, skip_if_exist=True)
        for index in range(layer.output_count):
            node.add_output_port(index, skip_if_exist=True)
        if not _guarded(folder, f"layer '{layer.name}' ({layer.type})", lambda: _extract(handler, node)):
            layer.decline(f"extractor {handler.__name__} does not handle this layer")
            return
        for port, name, _ in node.soft_get("embedded_inputs", None) or []:
            flows += [None] * (port + 1 - len(flows))
            flows[port] = layer.constant(np.asarray(node[name]))
        _emit(folder, layer, node, flows)


def _emit(folder: Folder, layer: Any, node: Node, inputs: "list[Any] | None" = None) -> None:
    builder = Builder(layer, node.graph.graph["layout"])
    if inputs is not None:
        builder.inputs = inputs
    title = f"'{node.soft_get('name', node.id)}' ({node.soft_get('op')})"
    outputs = _guarded(folder, title, lambda: emit(builder, node))
    for index, value in enumerate(outputs[:max(layer.output_count, 1)]):
        layer.set_output(index, value)
