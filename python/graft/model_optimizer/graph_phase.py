"""Middle and back transformations: they run on the imported graph, with shapes.

Each operation is a node with the names of the Model Optimizer and the attributes of its IR, and each value is a data
node with `shape` and, if it is known, `value`. What a transformation changes is carried over to the host's graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .builtin import BUILTIN
from .datatypes import destination_type_to_np_data_type, ir_name
from .emit import _HOST_NAMES, Builder, emit
from .errors import Error
from .graph import Graph
from .node import Node
from .raw_graph import new_graph
from .shapes import dynamic_dimension, shape_array

__all__ = ["GraphState"]

_ALIASES = {"Convert": {"destination_type": "dst_type"}}  # the IR's name: that in the Model Optimizer, a type of NumPy
# Masks that say which bounds are used in the Model Optimizer, and which are ignored in the IR.
_TURNED = {"StridedSlice": ("begin_mask", "end_mask")}
_STATES = ["Assign"]  # nodes that are needed without a consumer
_SMALL = 64  # values of more elements are only read if a constant holds them
_IR_NAMES = {host: name for name, host in _HOST_NAMES.items() if name in ("ReLU", "PReLU", "SoftMax")}
_IR_NAMES["Constant"] = "Const"
_OPS = {"MaxPool": "Pooling", "AvgPool": "Pooling", "GroupConvolution": "Convolution"}
for _cls in BUILTIN.values():
    if _cls.row is not None and _cls.row.type and _cls.op and _cls.row.version.startswith("opset"):
        _OPS.setdefault(_cls.row.type, _cls.op)


def _numpy_of(name: Any) -> Any:
    try:
        return destination_type_to_np_data_type(name)
    except Exception:  # a type that NumPy lacks
        return None


class GraphState:
    """A host's graph while transformations of a folder edit it."""

    def __init__(self, rewrite: Any, marks: "dict[Any, dict[str, Any]] | None" = None,
                 framework: str = "onnx") -> None:
        """`marks` are attributes that earlier transformations gave to nodes."""
        self.rewrite = rewrite
        self.graph: Graph = new_graph(framework)
        self.graph.graph["layout"] = "NCHW"
        self.graph.stage = "middle"
        self._host: "dict[str, Any]" = {}  # node -> the host's node
        self._sources: "dict[str, list[Any]]" = {}  # node -> (producer, port) of each input
        self._values: "dict[tuple[str, int], Any]" = {}
        self._alias_values: "dict[tuple[str, str], Any]" = {}  # of attributes with another name there
        self._attributes: "dict[str, dict[str, Any]]" = {}
        places: "dict[int, tuple[str, int]]" = {}
        for node in rewrite.nodes:
            self._add(node, places)
        self.graph.clean_up(_STATES)
        self._own = {identity: set(attributes) for identity, attributes in self.graph.nodes(data=True)}
        for identity, node in self._host.items():
            for name, value in (marks or {}).get(node, {}).items():
                self.graph.nodes[identity].setdefault(name, value)

    # ---- from the host's graph ----

    def _add(self, node: Any, places: "dict[int, tuple[str, int]]") -> None:
        identity = self.graph.unique_id(node.name)
        kind = _IR_NAMES.get(node.type, node.type)
        attributes = {k: np.array(v) if isinstance(v, list) and v and not isinstance(v[0], str) else v
                      for k, v in node.attributes.items()}
        for name in _TURNED.get(kind, ()):
            attributes[name] = 1 - np.asarray(attributes[name], dtype=np.int64)
        value = attributes.pop("value", None) if kind == "Const" else None
        extra = {"pool_method": "max" if kind == "MaxPool" else "avg"} if kind in ("MaxPool", "AvgPool") else {}
        for name, alias in _ALIASES.get(kind, {}).items():
            extra[alias] = self._alias_values.setdefault((identity, name), _numpy_of(attributes.get(name)))
        shape = attributes.pop("shape", None)
        self._attributes[identity] = dict(attributes)
        self.graph.add_node(identity, **{**attributes, **extra, "kind": "op", "name": node.name, "type": kind,
                                         "op": _OPS.get(kind, kind), "version": node.opset, "infer": None})
        if shape is not None:
            self.graph.nodes[identity]["shape"] = self._shape(shape)
        self._host[identity], self._sources[identity] = node, []
        for index, given in enumerate(node.inputs):
            source = None if given is None else places.get(given.ref)
            self._sources[identity].append(source)
            Node(self.graph, identity).add_input_port(index, skip_if_exist=True)
            if source is not None:
                self.graph.add_edge(self._data(*source), identity, **{"in": index})
        for port, made in enumerate([] if kind == "Result" else node.outputs):
            places[made.ref] = (identity, port)
            self._values[(identity, port)] = made
            self._add_data(identity, port, made, value)

    @staticmethod
    def _shape(dims: Any) -> Any:
        return None if dims is None else shape_array([dynamic_dimension if d is None else d for d in dims])

    def _add_data(self, identity: str, port: int, made: Any, value: Any) -> None:
        dims = made.shape
        known = dims is not None and all(d is not None for d in dims)
        if value is None and known and int(np.prod(dims or (1,))) <= _SMALL:
            value = made.value
        data = self.graph.unique_id(f"{identity}/{port}_data")
        self.graph.add_node(data, kind="data", name=data, shape=self._shape(dims), value=value, infer=None,
                            data_type=None if made.dtype is None or isinstance(made.dtype,
                                                                               str) else np.dtype(made.dtype).type)
        self.graph.add_edge(identity, data, out=port)

    def _data(self, identity: str, port: int) -> str:
        return next(v for _, v, d in self.graph.out_edges(identity, data=True) if d.get("out", 0) == port)

    # ---- back ----

    def open_input(self) -> str:
        """What is wrong with the graph: an input that was disconnected, of a node that an output depends on."""
        alive = self.graph.alive(_STATES)
        for identity, sources in self._sources.items():
            for index, source in enumerate(sources if identity in alive else []):
                if source is not None and self._is_open(Node(self.graph, identity), index):
                    return f"input {index} of '{identity}' is not connected any more"
        return ""

    @staticmethod
    def _is_open(node: Node, index: int) -> bool:
        last = max((i for i in node.in_ports() if node.is_in_port_connected(i)), default=-1)
        return not node.is_in_port_connected(index) and (index < last or index == 0)

    def marks(self) -> "dict[Any, dict[str, Any]]":
        """Attributes that transformations added to nodes which the host still has."""
        return {self._host[identity]: {k: v for k, v in attributes.items() if k not in self._own[identity]}
                for identity, attributes in self.graph.nodes(data=True)
                if identity in self._host and identity not in self._emitted}

    def write(self) -> None:
        self.graph.clean_up(_STATES)
        order = self.graph.pseudo_topological_sort()
        nodes = [n for n in order if n.soft_get("kind", "op") == "op"]
        for node in nodes:
            if node.id not in self._host or self._changed(node) or self._has_fewer(node):
                self._emit(node)
        for node in nodes:
            host = self._host.get(node.id)
            if host is None or node.id in self._emitted:
                continue
            for index, before in enumerate(self._sources[node.id]):
                now = self._source(node, index)
                if now != before or now is not None and now[0] in self._emitted:
                    if now is None:
                        raise Error(f"input {index} of '{node.id}' is not connected any more")
                    host.set_input(index, self._values[now])
            if node.soft_get("name") != host.name:
                host.name = node.name

    _emitted: "frozenset[str]" = frozenset()

    def _source(self, node: Node, index: int) -> "tuple[str, int] | None":
        if not node.is_in_port_connected(index):
            return None
        source = node.in_port(index).get_source()
        if source is None:  # a data node with a value and no producer
            data = node.in_node(index)
            self._values.setdefault((data.id, 0), self.rewrite.constant(np.asarray(data.value)))
            return data.id, 0
        return source.node.id, source.idx

    def _has_fewer(self, node: Node) -> bool:
        """Whether its last inputs were disconnected."""
        return any(s is not None and not node.is_in_port_connected(i) for i, s in enumerate(self._sources[node.id]))

    def _changed(self, node: Node) -> bool:
        before = self._attributes[node.id]
        if any(node.attrs().get(_ALIASES[node.type][name]) is not value for (identity, name), value in self._alias_values.items()
               if identity == node.id and node.type in _ALIASES):
            return True
        now = {k: node.attrs().get(k) for k in before}
        return any(not (now[k] is v or np.array_equal(np.asarray(now[k]), np.asarray(v))) for k, v in before.items())

    def _emit(self, node: Node) -> None:
        if node.op in ("Parameter", "Result"):
            raise Error(f"'{node.id}': a middle or back transformation cannot add "
                        "or change inputs and outputs of the model")
        builder = Builder(self.rewrite, "NCHW")
        last = max((i for i in node.in_ports() if node.is_in_port_connected(i)), default=-1)
        sources = [self._source(node, i) for i in range(last + 1)]
        builder.inputs = [None if s is None else self._values[s] for s in sources]
        if node.id in self._host:
            attributes = {k: node.attrs().get(k) for k in self._attributes[node.id]}
            for name, alias in _ALIASES.get(node.type, {}).items():
                if node.attrs().get(alias) is not self._alias_values[(node.id, name)]:
                    attributes[name] = ir_name(node.attrs()[alias])
            for name in _TURNED.get(node.type, ()):
                attributes[name] = 1 - np.asarray(attributes[name], dtype=np.int64)
            plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in attributes.items() if v is not None}
            made = builder.op(self._host[node.id].type, builder.inputs, plain, node.version,
                              max(1, len(node.out_ports())))
            outputs = made if isinstance(made, list) else [made]
        else:
            outputs = emit(builder, node)
            producer = outputs[0].producer if outputs and hasattr(outputs[0], "producer") else None
            if producer is not None and node.has_valid("name") and not any(o in builder.inputs for o in outputs):
                producer.name = str(node.name)
        for port, value in enumerate(outputs):
            self._values[(node.id, port)] = value
        self._emitted = self._emitted | {node.id}
