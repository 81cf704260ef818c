"""What a folder does to a model: extraction and front transformations on the framework's graph, then import."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import names
from .emit import Builder, emit
from .errors import FolderError
from .extractor import MXNetCustomFrontExtractorOp
from .folder import Folder, described
from .node import Node
from .op import Op
from .raw_graph import CUSTOM, DOMAIN, WITH_BLOBS, RawGraph, bodies_of, kept_node, new_graph, prepare_node

__all__ = ["run_front", "run_late", "import_kept", "import_layer"]


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
    if getattr(layer, "mapped", False):  # the mapping file goes before extractors
        return None
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
    custom = isinstance(handler, type) and issubclass(handler, MXNetCustomFrontExtractorOp)
    result = (handler() if custom else handler).extract(node)
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
    passes = _passes(folder, raw.framework, raw.replacements)
    if not passes and not any(_handler(folder, raw.framework, layer) for layer in raw.layers):
        return
    with _Registered(folder):
        state = RawGraph(raw)
        extracted = _extract_all(folder, state)
        for cls in passes:
            _guarded(folder, f"transformation {cls.__name__}", lambda: _run(cls, state.graph))
        if passes:
            state.graph.clean_up()
            _refuse_in_bodies(folder, passes, raw, "")
        if not state.graph.get_op_nodes(op="Result"):
            raise FolderError("the transformations removed all outputs of the model")
        _guarded(folder, f"folder '{folder.name}'", lambda: state.write(extracted, folder))


def _extract_all(folder: Folder, state: RawGraph) -> "set[str]":
    """The nodes that an extractor of the folder has read."""
    found = set()
    for node in state.untouched():
        layer = state.layer_of(node)
        handler = None if layer.domain == DOMAIN else _handler(folder, state.framework, layer)
        if handler is not None and _extract_in(folder, state, handler, node):
            found.add(node.id)
    return found


def _refuse_in_bodies(folder: Folder, passes: "list[Any]", raw: Any, place: str) -> None:
    """Bodies of loops and branches cannot be changed: a transformation that would do so is an error.

    Extractors of layers in bodies work: import rules call them.
    """
    for layer in raw.layers:
        for body in bodies_of(layer):
            where = f"{place}a body of the layer '{layer.name}' ({layer.type})"
            _refuse_in_body(folder, passes, body, where)
            _refuse_in_bodies(folder, passes, body, where + ", ")


def _refuse_in_body(folder: Folder, passes: "list[Any]", body: Any, where: str) -> None:
    from .replacement import FrontReplacementFromConfigFileGeneral, FrontReplacementFromConfigFileSubGraph

    configured = (FrontReplacementFromConfigFileGeneral, FrontReplacementFromConfigFileSubGraph)
    state = RawGraph(body)
    _extract_all(folder, state)
    before = _edges_of(state.graph)
    for cls in passes:
        if cls.run_not_recursively or issubclass(cls, configured):
            continue
        _guarded(folder, f"transformation {cls.__name__}, in {where}", lambda: _run(cls, state.graph))
        if _edges_of(state.graph) != before:
            raise FolderError(f"transformation {cls.__name__} would change {where}: transformations of the front phase do not "
                              "visit bodies of loops and branches",
                              "run_not_recursively = True of the class leaves bodies as they are; a middle "
                              "transformation visits the imported graph")


def _extract_in(folder: Folder, state: RawGraph, handler: Any, node: Node) -> bool:
    layer = state.layer_of(node)
    before = dict(node.attrs())
    title = f"layer '{node.id}' ({layer.type})"
    state.reset(node)
    if not _guarded(folder, title, lambda: _extract(handler, node)):
        node.attrs().clear()
        node.attrs().update(before)
        return False
    if layer.weights:
        state.drop_weights(node)
    state.embed(node)
    for port in range(node.soft_get("in_ports_count", None) or 0):  # those of the operation, for transformations to connect
        node.add_input_port(port, skip_if_exist=True)
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


# ---- middle and back ----

# Transformations into the form of the IR, which reading and writing the host's graph includes.
_DONE_BY_HOST = ("StridedSliceMasksNormalizer",)


def run_late(folder: Folder, phase: str, rewrite: Any) -> None:
    """Runs the transformations of a phase on the imported graph.

    What one of them changed is carried over when it ends, so that the next one sees types and shapes of new nodes. Where it
    leaves an input of a node that is still needed open, the next one goes on with the same graph; at the end of the phase
    that is an error.
    """
    from .graph_phase import GraphState

    marks: "dict[Any, dict[str, Any]]" = {}
    state: "GraphState | None" = None
    title, problem = "", ""
    with _Registered(folder):
        for cls in folder.late_order:
            if cls.phase != phase or cls.__name__ in _DONE_BY_HOST:
                continue
            title = f"transformation {cls.__name__}"
            current = GraphState(rewrite, marks) if state is None else state
            before = None if problem else _edges_of(current.graph)
            _guarded(folder, title, lambda: _run(cls, current.graph))
            problem = current.open_input()
            state = current if problem else None
            if not problem and _edges_of(current.graph) != before:
                _guarded(folder, title, current.write)
                marks = current.marks()
        if problem:
            raise FolderError(f"{title}: {problem}")


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
        self.name, self.type, self.fields = layer.name, layer.type, layer.fields
        self.domain, self.weights = domain, 0  # the inputs are those without weights
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
        blobs = [v.value for v in values[len(flows):]] if framework in WITH_BLOBS else []
        node = prepare_node(graph, layer.name or "layer", framework, record, blobs)
        for index in range(len(flows)):
            node.add_input_port(index, skip_if_exist=True)
        for index in range(layer.output_count):
            node.add_output_port(index, skip_if_exist=True)
        if not _guarded(folder, f"layer '{layer.name}' ({layer.type})", lambda: _extract(handler, node)):
            layer.decline(f"extractor {handler.__name__} does not handle this layer")
            return
        for port, value in _constants_of(node):
            flows += [None] * (port + 1 - len(flows))
            flows[port] = layer.constant(value)
        _emit(folder, layer, node, flows)


def _constants_of(node: Node) -> "list[tuple[int, np.ndarray]]":
    """(port, value) of inputs that an extractor embedded or connected."""
    found = [(port, np.asarray(node[name])) for port, name, _ in node.soft_get("embedded_inputs", None) or []]
    return found + [(i, np.asarray(n.value)) for i, n in node.in_nodes().items() if n.soft_get("op") == "Const"]


def _emit(folder: Folder, layer: Any, node: Node, inputs: "list[Any] | None" = None) -> None:
    builder = Builder(layer, node.graph.graph["layout"])
    if inputs is not None:
        builder.inputs = inputs
    title = f"'{node.soft_get('name', node.id)}' ({node.soft_get('op')})"
    outputs = _guarded(folder, title, lambda: emit(builder, node))
    for index, value in enumerate(outputs[:max(layer.output_count, 1)]):
        layer.set_output(index, value)
