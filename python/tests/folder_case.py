"""What the tests of extension folders share: folders in a temporary place, the IR, and TensorFlow models as text."""
import os
import xml.etree.ElementTree as ElementTree

from support import Case, onnx_model

TWIRL_OP = """
from mo.front.common.partial_infer.elemental import copy_shape_infer
from mo.ops.op import Op


class Twirl(Op):
    op = 'Twirl'

    def __init__(self, graph, attrs):
        super().__init__(graph, {'type': self.op, 'op': self.op, 'turns': 1, 'infer': copy_shape_infer,
                                 'in_ports_count': 1, 'out_ports_count': 1}, attrs)

    def supported_attrs(self):
        return ['turns', 'label']

    def backend_attrs(self):
        return ['turns', ('label', lambda node: node.label.upper() if node.has_valid('label') else None)]
"""


class FolderCase(Case):
    def extension(self, files, name="ext"):
        for path, text in files.items():
            place = self.path(os.path.join(name, path))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as f:
                f.write(text)
        return self.path(name)

    def layers(self, model):
        """The layers of the model's IR by name."""
        model.save_ir(self.path("ir.xml"))
        return {layer.get("name"): layer for layer in ElementTree.parse(self.path("ir.xml")).find("layers")}

    def dims(self, layer):
        return [[int(d.text) for d in port.findall("dim")] for port in layer.find("output")]

    def onnx(self, nodes, inputs, outputs, tensors=(), domains=()):
        return self.write("model.onnx", onnx_model(nodes, inputs, outputs, tensors, domains))


# ---- TensorFlow models in text form ----


def tf_attr(name, value):
    return f'attr {{ key: "{name}" value {{ {value} }} }} '


def tf_input(name, dims):
    shape = " ".join(f"dim {{ size: {d} }}" for d in dims)
    return (f'node {{ name: "{name}" op: "Placeholder" ' + tf_attr("dtype", "type: DT_FLOAT") +
            tf_attr("shape", f"shape {{ {shape} }}") + "}\n")


def tf_ints(name, values):
    items = " ".join(f"int_val: {v}" for v in values)
    return (f'node {{ name: "{name}" op: "Const" ' + tf_attr("dtype", "type: DT_INT32") +
            tf_attr("value", f"tensor {{ dtype: DT_INT32 tensor_shape {{ dim {{ size: {len(values)} }} }} {items} }}") +
            "}\n")


def tf_node(name, op, *inputs, **attributes):
    """Attributes are text of their value: T="type: DT_FLOAT"; that is the default of T."""
    given = "".join(f'input: "{i}" ' for i in inputs)
    fields = "".join(tf_attr(n, v) for n, v in {"T": "type: DT_FLOAT", **attributes}.items())
    return f'node {{ name: "{name}" op: "{op}" {given}{fields}}}\n'
