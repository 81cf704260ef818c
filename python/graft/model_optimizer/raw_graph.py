"""A framework's model as a graph for extension files, and the changed graph back into the model."""

from __future__ import annotations

import collections
import itertools
from argparse import Namespace
from typing import Any

import numpy as np

from . import names
from .builtin import BY_OP, Const
from .errors import Error, FolderError
from .graph import Graph
from .kaldi import Parameters
from .node import Node
from .protobuf import caffe_model_pb, caffe_pb, onnx_pb, tensorflow_pb
from .shapes import dynamic_dimension, shape_array
from .subgraph import Replacements

__all__ = ["CUSTOM", "DOMAIN", "RawGraph", "bodies_of", "kept_node", "new_graph", "prepare_node"]

DOMAIN = "model_optimizer"
CUSTOM = "Custom"  # the domain of MXNet's Custom layers
_FW = {"tensorflow": "tf"}
WITH_BLOBS = ("caffe", "kaldi")  # frameworks whose layers have weights of their own
_keys = itertools.count(1)
_kept: "dict[int, Any]" = {}
_runs: "collections.deque[list[int]]" = collections.deque()  # keys by model, so that those of old models can go
_MODELS = 16


def kept_node(key: int) -> Any:
    """(node, folder) of a layer that `RawGraph.write` added."""
    if key not in _kept:
        raise FolderError(f"node {key} of an extension folder is not known any more")
    return _kept[key]


class _Options(Namespace):
    """Options of the Model Optimizer's command line; those that are not given are None."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def new_graph(framework: str, version: int = 0) -> Graph:
    layout = "NHWC" if framework == "tensorflow" else "NCHW"
    options = _Options(framework=_FW.get(framework, framework), data_type="float", static_shape=False,
                        keep_shape_ops=True,
                        disable_nhwc_to_nchw=False, generate_experimental_IR_V10=True, transformations_config=None,
                        tensorflow_custom_operations_config_update=None, output=None, input=None, batch=None,
                        counts=None,
                        enable_ssd_gluoncv=False, tensorflow_object_detection_api_pipeline_config=None,
                        placeholder_shapes=None,
                        remove_output_softmax=False, remove_memory=False, reverse_input_channels=False,
                        mean_scale_values={}, blobs_as_inputs=True, model_name="", silent=True, log_level="ERROR")
    graph = Graph(fw=_FW.get(framework, framework), layout=layout, cmd_params=options, ir_version=10,
                  fw_opset_version=version, is_cyclic=False, user_shapes=None, freeze_placeholder={}, tensor_mapping={})
    graph.stage = "front"
    return graph


def _symbol(layer: Any) -> "dict[str, Any]":
    """A node of an MXNet symbol: all attributes are strings."""
    attrs = {k: _mxnet_text(layer.fields[k]) for k in layer.fields}
    if layer.domain != CUSTOM:
        return {"op": layer.type, "name": layer.name, "attrs": attrs}
    return {"op": "Custom", "name": layer.name, "attrs": {"op_type": layer.type, **attrs}}


def prepare_node(graph: Graph, identity: str, framework: str, layer: Any, blobs: "list[np.ndarray]") -> Node:
    """Adds a node with the framework's record, as an extractor expects it."""
    graph.add_node(identity, kind="op", name=identity, op=layer.type,
                   type=layer.type if framework == "caffe" else None,
                   infer=None)
    node = Node(graph, identity)
    if framework == "caffe":
        node["pb"], node["model_pb"] = caffe_pb(layer), caffe_model_pb(layer, blobs) if blobs else None
    elif framework == "tensorflow":
        node["pb"] = tensorflow_pb(layer)
    elif framework == "onnx":
        node["pb"] = onnx_pb(layer)
    elif framework == "mxnet":
        node["symbol_dict"] = _symbol(layer)
    elif framework == "kaldi":
        fields = {k: layer.fields[k] for k in layer.fields if k != "weights"}
        titles = list(layer.fields["weights"]) if "weights" in layer.fields else [str(i) for i in range(len(blobs))]
        node["parameters"] = Parameters(layer.type, fields, list(zip(titles, blobs)))
    return node


def bodies_of(layer: Any) -> "list[Any]":
    """The sub-graphs of a layer: bodies of loops, branches."""
    return [body for path in layer.fields for body in _models(layer.fields[path])]


def _models(value: Any) -> "list[Any]":
    from ..raw import RawModel

    return [v for v in value if isinstance(v, RawModel)] if isinstance(value, list) else []


def _captures(body: Any) -> "list[str]":
    """Names of values that a body uses and does not make."""
    layers = body.layers
    made = {name for layer in layers for name in layer.outputs} | {p.name for p in body.inputs}
    used = [name for layer in layers for name in layer.inputs]
    used += [c for layer in layers for inner in bodies_of(layer) for c in _captures(inner)]
    used += [p.name for p in body.outputs]
    return [name for name in used if name and name not in made and name not in body.constants]


def _mxnet_text(value: Any) -> str:
    """The text that a symbol file has for a value: "(3, 3)", "True", "0.5"."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_mxnet_text(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return np.dtype(value).name if isinstance(value, (np.dtype, type)) else str(value)


def _numpy_type(dtype: Any) -> Any:
    """The type of NumPy's elements; None for one that NumPy lacks."""
    try:
        return None if dtype is None else np.dtype(dtype).type
    except TypeError:
        return None


class RawGraph:
    """The model as a graph: which node is which layer, and which port is which value."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.framework = raw, raw.framework
        self.layers = list(raw.layers)
        version = max((l.version for l in self.layers if not l.domain), default=0) if self.layers else 0
        self.graph = new_graph(self.framework, version)
        self.graph.graph["replacements"] = Replacements(raw)
        self._made: "dict[str, tuple[str, int]]" = {}  # value -> (node, port)
        self._value: "dict[tuple[str, int], str]" = {}
        self._stored: "set[str]" = set()  # inputs of the model and constants of the file
        self._layer: "dict[str, Any]" = {}
        self._inputs: "dict[str, list[str]]" = {}
        self._captured: "dict[str, list[str]]" = {}  # values that bodies refer to by name; inputs behind the others
        self._snapshot: "dict[str, dict[str, Any]]" = {}
        self._record: "dict[str, dict[str, Any]]" = {}  # attributes that an extractor finds
        self._add_inputs()
        for layer in self.layers:
            self._add_layer(layer)
        for identity in list(self._layer):
            self._connect(identity)
        self.outputs = [p.name for p in raw.outputs]
        for name in self.outputs:
            self._add_result(name)
        for identity in self._layer:
            self._snapshot[identity] = dict(self.graph.nodes[identity])

    # ---- from the model ----

    def _name(self, value: str, identity: str, port: int) -> None:
        self._made[value] = (identity, port)
        self._value[(identity, port)] = value

    def _add_inputs(self) -> None:
        for port in self.raw.inputs:
            shape = None if port.shape is None else shape_array([dynamic_dimension if d is None else d for d in port.shape])
            identity = self.graph.unique_id(port.name)
            self.graph.add_node(identity, kind="op", name=port.name, op="Parameter", type="Parameter", shape=shape,
                                data_type=_numpy_type(port.dtype), is_input=True,
                                out_ports_count=1)
            self._stored.add(identity)
            self._name(port.name, identity, 0)

    def _constant(self, value: str) -> "tuple[str, int] | None":
        """The node of a value that is stored in the file; made when it is needed first."""
        if value not in self.raw.constants:
            return None
        array = self.raw.constants[value]
        identity = self.graph.unique_id(value)
        self.graph.add_node(identity, kind="op", name=value, op="Const", type="Const", version="opset1", value=array,
                            shape=np.array(array.shape, dtype=np.int64), data_type=array.dtype.type, out_ports_count=1)
        self._stored.add(identity)
        self._name(value, identity, 0)
        return identity, 0

    def _add_layer(self, layer: Any) -> None:
        identity = self.graph.unique_id(layer.name or (layer.outputs[0] if layer.outputs else "layer_"))
        self._layer[identity] = layer
        self._inputs[identity] = list(layer.inputs)
        self._captured[identity] = list(dict.fromkeys(c for body in bodies_of(layer) for c in _captures(body)))
        blobs: "list[np.ndarray]" = []
        if self.framework in WITH_BLOBS and layer.weights:
            blobs = [self.raw.constants[n] for n in self._inputs[identity][-layer.weights:]]
        node = prepare_node(self.graph, identity, self.framework, layer, blobs)
        for port, value in enumerate(layer.outputs):
            node.add_output_port(port, skip_if_exist=True)
            if value:
                self._name(value, identity, port)
        self._record[identity] = dict(self.graph.nodes[identity])
        node["op"] = names.op_name(self.framework, layer.type)
        for name, value in names.attributes_of(self.framework, layer).items():
            node[name] = value
        if layer.type in ("Const", "Constant") and not layer.inputs:
            value = layer.fields["value"] if "value" in layer.fields else None
            if isinstance(value, np.ndarray):
                node["value"], node["shape"] = value, np.array(value.shape, dtype=np.int64)
                node["data_type"] = value.dtype.type

    def _connect(self, identity: str) -> None:
        for index, value in enumerate(self._inputs[identity] + self._captured[identity]):
            Node(self.graph, identity).add_input_port(index, skip_if_exist=True)
            if value:
                source = self._made.get(value) or self._constant(value) or self._outer(value)
                self.graph.create_edge(Node(self.graph, source[0]), Node(self.graph, identity), source[1], index)

    def _outer(self, value: str) -> "tuple[str, int]":
        """A node for what a body takes from the graph around it."""
        identity = self.graph.unique_id(value)
        self.graph.add_node(identity, kind="op", name=value, op="Parameter", type="Parameter", out_ports_count=1)
        self._stored.add(identity)
        self._name(value, identity, 0)
        return identity, 0

    def _add_result(self, value: str) -> None:
        source = self._made.get(value) or self._constant(value)
        if source is None:
            return
        identity = self.graph.unique_id(f"{source[0]}/sink_port_{source[1]}")
        self.graph.add_node(identity, kind="op", name=identity, op="Result", type="Result", in_ports_count=1,
                            output=value)
        self.graph.create_edge(Node(self.graph, source[0]), Node(self.graph, identity), source[1], 0)

    def untouched(self) -> "list[Node]":
        """Nodes that are layers of the file, in its order."""
        return [Node(self.graph, i) for i in self._layer if i in self.graph]

    def layer_of(self, node: Node) -> Any:
        return self._layer.get(node.id)

    def reset(self, node: Node) -> None:
        """Leaves the framework's record alone: its type, without the names that the Model Optimizer gives to it."""
        node.attrs().clear()
        node.attrs().update(self._record[node.id])

    def drop_weights(self, node: Node) -> None:
        """Disconnects the blobs of a Caffe layer; its extractor embeds those that it needs."""
        count = len(self._inputs[node.id])
        for index in range(count - self._layer[node.id].weights, count):
            node.delete_input_port(index, skip_if_absent=True)

    def embed(self, node: Node) -> None:
        """Makes constants of the inputs that an extractor embedded."""
        for port, name, _ in node.soft_get("embedded_inputs", None) or []:
            constant = Const(self.graph, {"name": f"{node.id}/{name}", "value": np.asarray(node[name])}).create_node()
            node.add_input_port(port, skip_if_exist=True)
            constant.out_port(0).connect(node.in_port(port))

    # ---- back into the model ----

    def write(self, extracted: "set[str]", folder: Any) -> None:
        """Layers that no extension touched stay; removed ones go; others become layers that our import rule knows."""
        graph = self.graph
        _runs.append([])
        while len(_runs) > _MODELS:
            for key in _runs.popleft():
                _kept.pop(key, None)
        own = [i for i in self._layer if i in graph and i not in extracted]
        for identity in own:
            self._check_untouched(identity)
        for identity, layer in self._layer.items():
            if identity not in graph or identity in extracted:
                self.raw.remove(layer)
        self._name_outputs(set(own))
        made = [n for n in graph.nodes() if self._is_new(n, set(own))]
        for identity in made:
            self._write_node(Node(graph, identity), folder)
        for identity in own:
            inputs = self._sources(Node(graph, identity), len(self._inputs[identity]))
            inputs = self._without_captured(identity, inputs)
            if inputs != self._inputs[identity]:
                self._layer[identity].inputs = inputs
        results = graph.get_op_nodes(op="Result")
        outputs = [self._source(r, 0) for r in results]
        if outputs != self.outputs:
            self.raw.set_outputs(outputs)

    def _is_new(self, identity: str, own: "set[str]") -> bool:
        attributes = self.graph.nodes[identity]
        if identity in own or attributes.get("op") == "Result":
            return False
        if attributes.get("op") == "Parameter":
            if identity not in self._stored:
                raise Error(f"'{identity}' is a new input of the model, which a transformation cannot add here")
            return False
        return identity not in self._stored

    def _check_untouched(self, identity: str) -> None:
        """An attribute of the framework's own layer that was changed would be lost: refuse it."""
        before, after = self._snapshot[identity], self.graph.nodes[identity]
        for name, value in before.items():
            if name in ("_in_ports", "_out_ports", "pb", "model_pb", "IE", "infer", "need_shape_inference"):
                continue
            now = after.get(name)
            same = now is value or (np.array_equal(np.asarray(now), value) if isinstance(value, np.ndarray) else now == value)
            if name == "name" and not same:
                self._layer[identity].name = now
            elif not same:
                self._refuse_change(identity, name, f"changed from {value!r} to {now!r}")
        operation = BY_OP.get(after.get("op"))
        for name in operation.row.attributes if operation is not None and operation.row is not None else ():
            if name in after and name not in before:
                self._refuse_change(identity, name, f"set to {after[name]!r}")

    @staticmethod
    def _refuse_change(identity: str, name: str, what: str) -> None:
        raise Error(f"attribute '{name}' of the layer '{identity}' was {what}: a layer without an extractor of the folder keeps what "
                    "the file says; replace it by a new node")

    def _name_outputs(self, own: "set[str]") -> None:
        """New producers of model outputs, and of values that bodies refer to, take over the names of these."""
        taken = {v for k, v in self._value.items() if k[0] in own or k[0] in self._stored}
        named = [(r, 0, r.soft_get("output", None)) for r in self.graph.get_op_nodes(op="Result")]
        named += [(Node(self.graph, i), len(self._inputs[i]) + n, value) for i in sorted(own)
                  for n, value in enumerate(self._captured[i])]
        for node, port, name in named:
            source = node.in_port(port).get_source() if node.is_in_port_connected(port) else None
            if source is None or name is None or source.node.id in own | self._stored or name in taken:
                continue
            key = (source.node.id, source.idx)
            for other in [k for k, v in self._value.items() if v == name and k != key]:
                del self._value[other]  # a layer that was extracted made it before, and gets another name
            self._value[key] = name
            taken.add(name)
        self._taken = taken | {p.name for p in self.raw.inputs}

    def _value_name(self, identity: str, port: int) -> str:
        key = (identity, port)
        if key not in self._value:
            node = Node(self.graph, identity)
            stem = str(node.soft_get("name", identity)) + (f":{port}" if port else "")
            found, number = stem, 0
            while found in self._taken or found in self._value.values():
                number += 1
                found = f"{stem}_{number}"
            self._value[key] = found
        return self._value[key]

    def _source(self, node: Node, index: int) -> str:
        if not node.is_in_port_connected(index):
            return ""
        source = node.in_port(index).get_source()
        return "" if source is None else self._value_name(source.node.id, source.idx)

    def _sources(self, node: Node, least: int = 0) -> "list[str]":
        ports = [i for i in node.in_ports() if node.is_in_port_connected(i)]
        found = [self._source(node, i) for i in range(max(ports, default=-1) + 1)]
        return found + [""] * (least - len(found))

    def _without_captured(self, identity: str, inputs: "list[str]") -> "list[str]":
        """The layer's own inputs; what its bodies refer to must still have the name that they use."""
        count, names = len(self._inputs[identity]), self._captured[identity]
        if names and inputs[count:] != names:
            raise Error(f"the bodies of '{identity}' use the values {names}, which would become {inputs[count:]}: bodies of loops "
                        "and branches cannot be changed here")
        return inputs[:count] if names else inputs

    def _write_node(self, node: Node, folder: Any) -> None:
        if node.op == "Const":
            value = np.asarray(node.soft_get("value", None))
            if value.dtype == object and any(v is None for v in value.ravel()):
                raise Error(f"the constant '{node.id}' has no value")
            if value.dtype == np.float64:  # Python's numbers; the Model Optimizer stores them as --data_type
                value = value.astype(np.float32)
            self.raw.add_constant(self._value_name(node.id, 0), value)
            return
        key = next(_keys)
        _kept[key] = (node, folder)
        _runs[-1].append(key)
        ports = sorted(node.out_ports()) or [0]
        outputs = [self._value_name(node.id, p) for p in range(ports[-1] + 1)]
        self.raw.add_layer(node.soft_get("op"), str(node.soft_get("name", node.id)), self._sources(node), outputs,
                           {"node": key}, domain=DOMAIN)
