"""The modules of the Model Optimizer that generated extensions import, as far as they need them: enough to load an extractor and
an operation, give the extractor a node, and look at the attributes that it stores."""
import ast
import importlib.util
import io
import os
import struct
import sys
import types


class Op:
    classes = {}

    def __init_subclass__(cls):
        Op.classes[cls.op] = cls

    def __init__(self, graph, props, attrs):
        self.attrs = dict(props, **(attrs or {}))

    def supported_attrs(self):
        return []

    def backend_attrs(self):
        return self.supported_attrs()

    @classmethod
    def get_op_class_by_name(cls, name):
        return Op.classes[name]

    @classmethod
    def update_node_stat(cls, node, attrs):
        made = cls(None, attrs)
        node.attrs, node.written, node.supported = made.attrs, made.backend_attrs(), made.supported_attrs()


class FrontExtractorOp:
    pass


class MXNetCustomFrontExtractorOp:
    pass


class CaffePythonFrontExtractorOp:
    registered = {}

    @staticmethod
    def parse_param_str(text):
        return ast.literal_eval(text if text.startswith("{") else "{" + text + "}")


class Message:
    """A protobuf message: fields that are set, and fields with a default."""

    def __init__(self, defaults=None, **fields):
        self._set, self._defaults = fields, defaults or {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._set or name in self._defaults:
            return self._set.get(name, self._defaults.get(name))
        raise AttributeError(name)

    def ListFields(self):
        return [(types.SimpleNamespace(name=k), v) for k, v in self._set.items()]


def collect_attributes(message, prefix="", disable_omitting_optional=False, enable_flattening_nested_params=False):
    out = {}
    fields = dict(message._set, **({k: v for k, v in message._defaults.items() if k not in message._set} if disable_omitting_optional else {}))
    for name, value in fields.items():
        if isinstance(value, Message):
            out.update(collect_attributes(value, name if enable_flattening_nested_params else "", disable_omitting_optional,
                                          enable_flattening_nested_params))
        else:
            out[prefix + "__" + name if prefix else name] = str(value)
    return out


def embed_input(attrs, port, name, value, bin_name=None):
    attrs.setdefault("embedded_inputs", []).append((port, name, list(value)))


class MxnetAttributes:
    def __init__(self, values):
        self.values = values

    def dict(self):
        return self.values

    def str(self, name, default=None):
        return self.values.get(name, default)


def onnx_attr(node, name, field, default=None, dst_type=None):
    for a in node.pb.attribute:
        if a.name == name:
            return dst_type(getattr(a, field)) if dst_type else getattr(a, field)
    return default


def collect_until_token(stream, token):
    while True:
        word = b""
        while True:
            c = stream.read(1)
            if c in (b"", b" "):
                break
            word += c
        if word.endswith(token):
            return
        assert c, token


def number(stream, form):
    size = stream.read(1)[0]
    return struct.unpack("<" + form, stream.read(size))[0]


MODULES = {
    "mo.ops.op": dict(Op=Op),
    "mo.graph.graph": dict(Graph=object, Node=object),
    "mo.front.extractor": dict(FrontExtractorOp=FrontExtractorOp, MXNetCustomFrontExtractorOp=MXNetCustomFrontExtractorOp,
                               CaffePythonFrontExtractorOp=CaffePythonFrontExtractorOp),
    "mo.front.common.partial_infer.elemental": dict(copy_shape_infer=lambda node: "copied"),
    "mo.front.caffe.collect_attributes": dict(collect_attributes=collect_attributes),
    "mo.front.caffe.extractors.utils": dict(embed_input=embed_input),
    "mo.front.caffe.extractor": dict(register_caffe_python_extractor=lambda op, name: CaffePythonFrontExtractorOp.registered.update({name: op})),
    "mo.front.mxnet.extractors.utils": dict(get_mxnet_layer_attrs=lambda d: MxnetAttributes(d["attrs"])),
    "mo.front.onnx.extractors.utils": dict(onnx_attr=onnx_attr),
    "mo.front.tf.extractors.utils": dict(collect_tf_attrs=lambda attrs: {k: ("all", k) for k in attrs}, tf_tensor_shape=lambda s: ("shape", s),
                                         tf_dtype_extractor=lambda t: ("type", t), tf_data_format_batch=lambda a: ("batch", a.s),
                                         tf_data_format_channel=lambda a: ("channel", a.s), tf_data_format_spatial=lambda a: ("spatial", a.s)),
    "mo.front.kaldi.loader.utils": dict(collect_until_token=collect_until_token, read_binary_integer32_token=lambda s: number(s, "I"),
                                        read_binary_float_token=lambda s: number(s, "f"), read_binary_bool_token=lambda s: s.read(1) == b"T"),
    "mo.front.kaldi.utils": dict(read_binary_vector=lambda s: "vector", read_binary_matrix=lambda s: (Shaped(), (2, 3))),
    "onnx.numpy_helper": dict(to_array=lambda t: ("array", t)),
    "own.ops.twist": dict(),
}


class Shaped:
    def reshape(self, shape):
        return ("matrix", shape)


def load(*path):
    """Executes a file with these modules; its namespace."""
    saved = dict(sys.modules)
    try:
        for name, content in MODULES.items():
            parts = name.split(".")
            for i in range(1, len(parts)):
                sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(parts[i - 1])).__path__ = []
            module = types.ModuleType(name)
            module.__dict__.update(content)
            sys.modules[name] = module
        spec = importlib.util.spec_from_file_location("generated", os.path.join(*path))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        for name in set(sys.modules) - set(saved):
            del sys.modules[name]


def node(**fields):
    return types.SimpleNamespace(**fields)


def stream(data):
    return io.BytesIO(data)
