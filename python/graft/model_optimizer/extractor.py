"""Base classes of extractors, and the helpers that extractors call, by framework."""

from __future__ import annotations

import ast
import logging
from typing import Any, Callable

import numpy as np

from .datatypes import mxnet_str_dtype_to_np, tf_dtype
from .errors import Error
from .node import Node
from .protobuf import Message
from .shapes import int64_array

__all__ = ["FrontExtractorOp", "CaffePythonFrontExtractorOp", "MXNetCustomFrontExtractorOp", "attr_getter",
           "bool_to_str",
           "spatial_getter", "spatial_attr_getter", "kernel_getter", "add_attrs_props", "update_attrs",
           "update_ie_fields",
           "layout_attrs", "onnx_attr", "onnx_node_has_attr", "onnx_get_num_outputs", "get_backend_pad",
           "get_onnx_autopad",
           "get_onnx_opset_version", "tf_dtype_extractor", "tf_tensor_shape", "tf_int_list", "tf_data_format_spatial",
           "tf_data_format_channel", "tf_data_format_batch", "tf_tensor_content", "check_attr_type",
           "collect_tf_attrs",
           "collect_attributes", "collect_optional_attributes", "merge_attrs", "dim_to_shape", "embed_input",
           "input_as_const", "weights_biases", "get_list_from_container", "get_spatial_attr",
           "register_caffe_python_extractor", "AttrDictionary", "get_mxnet_layer_attrs", "get_json_layer_attrs",
           "scalar_ops_replacer", "StrTo", "to_array"]

log = logging.getLogger("graft.model_optimizer")


class FrontExtractorOp:
    """Reads a framework's layer of type `op` and fills in the attributes of a node."""

    op: "str | None" = None
    enabled = True
    registered_ops: "dict[str, Any]" = {}

    @classmethod
    def extract(cls, node: Node) -> Any:
        raise Error(f"{cls.__name__} has no method 'extract'")

    @classmethod
    def class_type(cls) -> str:
        return "extractor"


class CaffePythonFrontExtractorOp:
    """The same for a Python layer of Caffe; `op` is "module.layer"."""

    op: "str | None" = None
    enabled = True
    registered_ops: "dict[str, Any]" = {}

    @classmethod
    def class_type(cls) -> str:
        return "extractor"

    @staticmethod
    def get_attrs(pb: Any) -> "dict[str, Any]":
        return CaffePythonFrontExtractorOp.parse_param_str(pb.python_param.param_str)

    @staticmethod
    def parse_param_str(param_str: str) -> "dict[str, Any]":
        text = param_str.strip()
        try:
            found = ast.literal_eval(text if text.startswith("{") else "{" + text + "}")
        except (ValueError, SyntaxError) as error:
            raise Error(f"param_str: expected a Python dictionary, got {param_str!r}") from error
        if not isinstance(found, dict):
            raise Error(f"param_str: expected a Python dictionary, got {param_str!r}")
        return found

    @staticmethod
    def check_param(op_cls: Any, attrs: "dict[str, Any]") -> None:
        known = {a if isinstance(a, str) else a[0] for a in op_cls(None, attrs).supported_attrs()}
        for name in attrs:
            if name not in known:
                log.error("attribute '%s' is not a supported attribute of %s, expected one of: %s", name, op_cls.__name__,
                          ", ".join(sorted(known)) or "none")


class MXNetCustomFrontExtractorOp:
    """The same for MXNet's `Custom`; `op` is the `op_type`. `extract` returns (bool, attributes)."""

    op: "str | None" = None
    enabled = True
    registered_ops: "dict[str, Any]" = {}

    @classmethod
    def class_type(cls) -> str:
        return "extractor"


def register_caffe_python_extractor(op: Any, name: "str | None" = None) -> None:
    """Makes an operation class the extractor of a Caffe Python layer: its `param_str` becomes the attributes."""
    name = name or getattr(op, "op", None)
    if not name:
        raise Error("expected a name 'module.layer' for a Caffe Python layer")

    def extract(node: Node) -> bool:
        attrs = CaffePythonFrontExtractorOp.get_attrs(node.pb)
        op.update_node_stat(node, attrs)
        return True

    CaffePythonFrontExtractorOp.registered_ops[name] = type(
        f"{op.__name__}PythonExtractor", (), {"op": name, "enabled": True, "extract": staticmethod(extract)})


# ---- text of attributes ----


def attr_getter(node: Node, name: str) -> "str | None":
    if not node.has(name) or node[name] is None:
        return None
    value = node[name]
    return ",".join(map(str, value)) if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) else str(value)


def bool_to_str(node: Node, attr: str) -> "str | None":
    value = node.soft_get(attr, None)
    if value is None:
        return None
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower()
    if value in (0, 1, "0", "1"):
        return "true" if int(value) else "false"
    raise Error(f"attribute '{attr}' of '{node.soft_get('name')}': expected a boolean, got {value!r}")


def spatial_attr_getter(node: Node, field: "str | None" = None, dim: int = 0, post: Any = None) -> Any:
    if field is None or not isinstance(node.soft_get(field, None), np.ndarray) or not node.has_valid("spatial_dims"):
        return None
    value = node[field][node.spatial_dims[dim]]
    return post(value) if post else value


def spatial_getter(name: str, field: str, dim: int, post: Any = None) -> "tuple[str, Any]":
    return name, lambda node: spatial_attr_getter(node, field, dim, post)


def kernel_getter(node: Node, dim: int) -> Any:
    return node.kernel_spatial[dim] if node.has_valid("kernel_spatial") else None


def update_attrs(attrs: Any, attr: str, new: Any) -> None:
    known = list(attrs[attr]) if attr in attrs else []
    attrs[attr] = known + [n for n in ([new] if isinstance(new, str) else new) if n not in known]


def add_attrs_props(attrs: "dict[str, Any]") -> "dict[str, Any]":
    return attrs


def update_ie_fields(attrs: "dict[str, Any]", ir_version: Any = None) -> None:
    """The emission schema is made by `Op`."""


def layout_attrs() -> "dict[str, Any]":
    return {"spatial_dims": int64_array([2, 3]), "channel_dims": int64_array([1]), "batch_dims": int64_array([0]),
            "layout": "NCHW"}


# ---- ONNX ----


def _onnx_attribute(node: Node, name: str) -> Any:
    return next((a for a in node.pb.attribute if a.name == name), None)


def onnx_node_has_attr(node: Node, name: str) -> bool:
    return _onnx_attribute(node, name) is not None


def onnx_attr(node: Node, name: str, field: str, default: Any = None, dst_type: Any = None) -> Any:
    found = _onnx_attribute(node, name)
    if found is None:
        return default
    value = getattr(found, field)
    return value if dst_type is None else dst_type(value)


def onnx_get_num_outputs(node: Node) -> int:
    return len(node.pb.output)


def get_backend_pad(pads: Any, spatial_dims: Any, axis: int) -> "list[Any]":
    return [p[axis] for p in pads[spatial_dims]]


def get_onnx_autopad(auto_pad: Any) -> "str | None":
    text = (auto_pad.decode() if isinstance(auto_pad, bytes) else auto_pad).lower()
    return None if text == "notset" else text


def get_onnx_opset_version(node: Node) -> int:
    return int(node.graph.graph.get("fw_opset_version", 0))


def to_array(tensor: Any) -> np.ndarray:
    """``onnx.numpy_helper.to_array`` for the tensors of ``node.pb``."""
    return np.array(getattr(tensor, "array", tensor))


# ---- TensorFlow ----


def tf_dtype_extractor(pb_dtype: Any, default: Any = None) -> Any:
    return tf_dtype(pb_dtype, default)


def tf_tensor_shape(pb: Any) -> Any:
    from .shapes import dynamic_dimension_value, shape_array

    return shape_array([d.size if d.size >= 0 else dynamic_dimension_value for d in pb.dim])


def tf_int_list(pb: Any) -> np.ndarray:
    return int64_array(pb.i)


def _format(pb: Any) -> str:
    text = pb.s if hasattr(pb, "s") else pb
    return text.decode() if isinstance(text, bytes) else str(text)


def tf_data_format_spatial(pb: Any) -> "list[int]":
    return [i for i, c in enumerate(_format(pb)) if c in "DHW"]


def tf_data_format_channel(pb: Any) -> "list[int]":
    return [i for i, c in enumerate(_format(pb)) if c == "C"]


def tf_data_format_batch(pb: Any) -> "list[int]":
    return [i for i, c in enumerate(_format(pb)) if c == "N"]


def tf_tensor_content(tf_dtype_number: Any, shape: Any, pb_tensor: Any) -> np.ndarray:
    value = np.array(pb_tensor)
    return value.reshape([int(d) for d in shape]) if shape is not None else value


def check_attr_type(a: Any) -> "str | None":
    from .protobuf import _kind

    value = getattr(a, "_value", None)
    return None if value is None else _kind(value)


def collect_tf_attrs(attrs: Any) -> "dict[str, Any]":
    """All attributes of a TensorFlow layer as Python values."""
    read: "dict[str, Callable[[Any], Any]]" = {
        "s": lambda a: a.s, "i": lambda a: a.i, "f": lambda a: a.f, "b": lambda a: a.b,
        "type": lambda a: tf_dtype(a.type), "shape": lambda a: tf_tensor_shape(a.shape),
        "tensor": lambda a: np.array(a.tensor), "list": lambda a: list(a.list._items)}
    return {name: read[check_attr_type(attrs[name]) or "s"](attrs[name]) for name in attrs}


# ---- Caffe ----


def _as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def collect_optional_attributes(obj: Any, prefix: str = "", disable_omitting_optional: bool = False,
                                enable_flattening_nested_params: bool = False) -> "dict[str, str]":
    return collect_attributes(obj, prefix, disable_omitting_optional, enable_flattening_nested_params)


def collect_attributes(obj: Any, prefix: str = "", disable_omitting_optional: bool = False,
                       enable_flattening_nested_params: bool = False) -> "dict[str, str]":
    """The fields of a message as text; lists are joined with commas, those of nested messages are included."""
    found: "dict[str, str]" = {}
    for name, value in obj.known().items():
        title = f"{prefix}__{name}" if enable_flattening_nested_params and prefix else name
        if isinstance(value, Message):
            found.update(collect_attributes(value, title, disable_omitting_optional, enable_flattening_nested_params))
        elif isinstance(value, (list, tuple)):
            found[title] = ",".join(str(v) for v in value)
        else:
            found[title] = _as_text(value)
    return found


def merge_attrs(param: Any, update_attrs: "dict[str, Any]") -> "dict[str, Any]":
    """Those of the given attributes that the message has."""
    known = collect_attributes(param)
    return {name: value for name, value in update_attrs.items() if name in known}


def dim_to_shape(dim: Any) -> np.ndarray:
    return int64_array(dim)


def embed_input(attrs: "dict[str, Any]", port: int, name: str, value: Any, bin_name: "str | None" = None) -> None:
    """Adds a constant that becomes input `port` of the layer."""
    attrs[name] = np.asarray(value, dtype=np.float32).reshape(-1)
    attrs.setdefault("embedded_inputs", []).append((port, name, {"bin": bin_name or name}))


def input_as_const(node: Node, attrs: "dict[str, Any]", port: int, bin: str, value: Any) -> None:
    from .builtin import Const

    constant = Const(node.graph, {"value": np.asarray(value), **attrs}).create_node()
    node.add_input_port(port, skip_if_exist=True)
    constant.out_port(0).connect(node.in_port(port))


def weights_biases(bias_term: bool, model_layer: Any, start_index: int = 1, proto: Any = None) -> "dict[str, Any]":
    attrs: "dict[str, Any]" = {}
    if not model_layer:
        return attrs
    embed_input(attrs, start_index, "weights", model_layer.blobs[0].data)
    if bias_term:
        embed_input(attrs, start_index + 1, "biases", model_layer.blobs[1].data)
    return attrs


def get_list_from_container(param: Any, prop: str, t: Any) -> "list[Any]":
    value = getattr(param, prop, None) if param else None
    if isinstance(value, t):
        return [value] if value else []
    return list(value) if value else []


def get_spatial_attr(default: "list[int]", single_name: str, name: str, param: Any) -> "tuple[int, int]":
    """(width, height) of a parameter that is stated once, or once per direction."""
    width, height = default[0], default[1]
    stated = get_list_from_container(param, single_name, int)
    if stated:
        height, width = stated[0], stated[-1]
    width = getattr(param, f"{name}_w", 0) or width
    height = getattr(param, f"{name}_h", 0) or height
    return width, height


# ---- MXNet ----


class StrTo:
    """Text of an attribute to a value."""

    @staticmethod
    def bool(val: str) -> bool:
        if val.lower() in ("true", "1"):
            return True
        if val.lower() in ("false", "0"):
            return False
        raise ValueError(f"expected a boolean, got '{val}'")

    @staticmethod
    def tuple(type_of: Any, string: str, *delimiters: str) -> Any:
        body = string.strip()
        if body[:1] in "([" and body[-1:] in ")]":
            body = body[1:-1]
        return tuple(type_of(x.strip()) for x in body.split(",") if x.strip())

    @staticmethod
    def list(string: str, type_of: Any, delimiter: str) -> Any:
        return [type_of(x) for x in string.strip().strip("[]()").split(delimiter) if x.strip()]


_Text = str  # a method of AttrDictionary has the name

class AttrDictionary:
    """Typed access to the text attributes of an MXNet symbol."""

    def __init__(self, dict: "dict[str, Any]") -> None:
        self._dict = dict

    def is_valid(self) -> bool:
        return self._dict is not None

    def dict(self) -> Any:
        return self._dict

    def add_dict(self, dict: Any) -> None:
        self._dict.update(dict)

    def set(self, key: str, value: Any) -> None:
        self._dict[key] = value

    def remove(self, key: str) -> None:
        self._dict.pop(key, None)

    def has(self, key: str) -> "bool":
        return key in self._dict

    def str(self, key: _Text, default: Any = None) -> Any:
        return self._dict.get(key, default)

    def dtype(self, key: _Text, default: Any = None) -> Any:
        return mxnet_str_dtype_to_np(self._dict[key]) if key in self._dict else default

    def bool(self, key: _Text, default: Any = None) -> Any:
        value = self.str(key, default)
        return StrTo.bool(value) if isinstance(value, type("")) else value

    def val(self, key: _Text, valtype: Any, default: Any = None) -> Any:
        value = self.str(key, default)
        if value is None or value == "None":
            return None
        return value if valtype is None or isinstance(value, valtype) else valtype(value)

    def float(self, key: _Text, default: Any = None) -> Any:
        return self.val(key, float, default)

    def int(self, key: _Text, default: Any = None) -> Any:
        return self.val(key, int, default)

    def tuple(self, key: _Text, valtype: Any = type(""), default: Any = None) -> Any:
        value = self.str(key, default)
        if value is None:
            return default
        found = StrTo.tuple(valtype, value) if isinstance(value, type("")) else tuple(valtype(x) for x in value)
        return found if found or default is None else tuple(valtype(x) for x in default)

    def list(self, key: _Text, valtype: Any, default: Any = None, sep: "Any" = ",") -> Any:
        value = self.str(key, default)
        return StrTo.list(value, valtype, sep) if isinstance(value, type("")) else [valtype(x) for x in value or []]


def get_json_layer_attrs(json_dic: "dict[str, Any]") -> Any:
    return next((json_dic[k] for k in ("attr", "attrs", "param") if k in json_dic), {})


def get_mxnet_layer_attrs(json_dic: "dict[str, Any]") -> AttrDictionary:
    return AttrDictionary(get_json_layer_attrs(json_dic))


def scalar_ops_replacer(graph: Any, node: Node, elementwise_op_type: Any) -> Node:
    """Replaces an operation with a scalar attribute by one with a constant input."""
    from .builtin import Const

    constant = Const(graph, {"name": f"{node.id}/const", "value": np.array(node.scalar)}).create_node()
    made = elementwise_op_type(graph, {"name": f"{node.id}/lin_"}).create_node()
    node.in_port(0).get_connection().set_destination(made.in_port(0))
    constant.out_port(0).connect(made.in_port(1))
    node.out_port(0).get_connection().set_source(made.out_port(0))
    return made
