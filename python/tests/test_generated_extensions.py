"""What `graft extgen` generates, loaded as it is: each part and each key, by the IR of a model of its framework."""
import json
import os
import subprocess
import sys
import types
import unittest

import numpy as np
from folder_case import FolderCase, tf_input, tf_node
from support import onnx
from test_model_optimizer_caffe import caffemodel

import graft
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "cli"))
import kaldi_writer  # noqa: E402
from graft.model_optimizer.folder import Folder
from graft.model_optimizer.phases import _extract, _handler
from graft.model_optimizer.raw_graph import new_graph, prepare_node

GRAFT = os.path.abspath(os.path.join(os.environ.get("GRAFT_BIN", "build/bin"), "graft"))


class GeneratedCase(FolderCase):
    def generated(self, arguments, answers=None):
        """Runs extgen; the folder of Model Optimizer extensions."""
        done = subprocess.run([GRAFT, "extgen", *arguments, "-o", self.path("out")], cwd=self.folder, capture_output=True,
                              text=True, input="".join(a + "\n" for a in answers or []))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.path("out/user_mo_extensions")

    def from_config(self, attrs=("angle",), op=None, **parts):
        """`attrs`: what the operation writes to the IR; `op`: further keys of mo_op."""
        parts = {k if k.startswith("mo_") else f"mo_{k}_extractor": {"op": "Twist", **v} for k, v in parts.items()}
        parts["mo_op"] = {"op": "Twist", "supported_attrs": list(attrs), **(op or {})}
        self.write("config.json", json.dumps(parts))
        return self.generated(["config.json", "--force"])

    def twist(self, folder, *files):
        """The layer Twist in the IR of a model."""
        core = graft.Core()
        core.add_extension(folder)
        self.model = core.read_model(*files)
        return next(l for l in self.layers(self.model).values() if l.get("type") == "Twist")

    def data(self, folder, *files):
        found = self.twist(folder, *files).find("data")
        return {} if found is None else dict(found.attrib)


class Caffe(GeneratedCase):
    def net(self, parameters, type="Twist"):
        return self.write("net.prototxt", 'name: "net" input: "data" input_shape { dim: 2 dim: 3 }\n'
                          f'layer {{ name: "t" type: "{type}" bottom: "data" top: "t" {parameters} }}\n')

    PARAM = "twist_param { angle: 3 inner { size: 5 } }"

    def caffe(self, attrs, parameters=PARAM, op=None, files=(), **keys):
        return self.data(self.from_config(attrs, op, caffe=keys), self.net(parameters), *files)

    def test_all_parameters(self):
        """allCopy, flatten, omitDefault, rename."""
        keys = dict(param_name="twist_param", allCopy=True)
        self.assertEqual(self.caffe(["angle", "size"], **keys), {"angle": "3", "size": "5"})
        self.assertEqual(self.caffe(["angle", "inner__size"], flatten=True, **keys), {"angle": "3", "inner__size": "5"})
        self.assertEqual(self.caffe(["angle"], omitDefault=True, **keys), {"angle": "3"})
        renames = [{"old_name": "angle", "new_name": "turn"}, {"old_name": "absent", "new_name": "more", "default": 4}]
        self.assertEqual(self.caffe(["turn", "more"], rename=True, params=renames, **keys), {"turn": "3", "more": "4"})

    def test_some_parameters(self):
        params = [{"old_name": "angle"}, {"old_name": "inner.size", "new_name": "length"}, {"old_name": "absent", "default": 2}]
        self.assertEqual(self.caffe(["angle", "length", "absent"], param_name="twist_param", params=params),
                         {"angle": "3", "length": "5", "absent": "2"})

    def test_weights(self):
        """One, two and three blobs become inputs."""
        for count in (1, 2, 3):
            with self.subTest(count):
                blobs = [np.float32([1, 2, 3]) * (i + 1) for i in range(count)]
                weights = self.write("net.caffemodel", caffemodel("t", "Twist", *blobs))
                folder = self.from_config(caffe=dict(param_name="twist_param", params=[{"old_name": "angle"}]))
                layer = self.twist(folder, self.net(self.PARAM), weights)
                self.assertEqual(len(layer.find("input")), 1 + count)

    def test_a_python_layer(self):
        net = self.net('python_param { module: "own.layers" layer: "Twist" param_str: "\'angle\': 3, \'mode\': \'x\'" }', "Python")
        folder = self.from_config(["angle", "mode"], caffe=dict(pythonic=True, module="own.layers", allCopy=True))
        self.assertEqual(self.data(folder, net), {"angle": "3", "mode": "x"})

    def test_a_python_layer_by_its_operation_alone(self):
        net = self.net('python_param { module: "own.layers" layer: "Twist" param_str: "\'angle\': 3" }', "Python")
        folder = self.from_config(["angle"], {"op": "own.layers.Twist", "pythonic": True})
        self.assertEqual(self.data(folder, net), {"angle": "3"})

    def test_the_flag(self):
        folder = self.generated(["new", "--mo-caffe-ext", "--mo-op"], ["n", "Twist", "twist_param", "n", "angle", "q", "n",
                                                                       "y", "1", "", "n", "n"])
        self.assertEqual(self.data(folder, self.net(self.PARAM)), {"angle": "3"})


class TensorFlow(GeneratedCase):
    GIVEN = dict(b="b: true", f="f: 1.5", i="i: 3", s='s: "word"', list_i="list { i: 1 i: 2 }", list_f="list { f: 0.5 f: 1 }",
                 list_s='list { s: "a" s: "b" }', type="type: DT_INT32", padding='s: "SAME"', batch='s: "NHWC"',
                 channel='s: "NHWC"', spatial='s: "NHWC"')

    def net(self, op="Twist", **attributes):
        return self.write("m.pbtxt", tf_input("x", [2, 3]) + tf_node("t", op, "x", **attributes))

    def test_types(self):
        params = [{"old_name": n, "new_name": "n_" + n, "type": n.replace("_", ".")} for n in self.GIVEN]
        found = self.data(self.from_config(["n_" + n for n in self.GIVEN], tf=dict(params=params)), self.net(**self.GIVEN))
        self.assertEqual(found, dict(n_b="true", n_f="1.5", n_i="3", n_s="word", n_list_i="1, 2", n_list_f="0.5, 1",
                                     n_list_s="a, b", n_type="i32", n_padding="same_upper", n_batch="0", n_channel="3",
                                     n_spatial="1, 2"))

    def test_all_attributes(self):
        """all_copy, and its other spelling."""
        for key in ("all_copy", "allCopy"):
            self.assertEqual(self.data(self.from_config(["i", "f", "s"], tf={key: True}), self.net(f="f: 1.5", i="i: 3", s='s: "word"')),
                             {"i": "3", "f": "1.5", "s": "word"})

    def test_another_layer(self):
        folder = self.from_config(["i"], tf=dict(layer="OwnTwist", all_copy=True))
        self.assertEqual(self.data(folder, self.net("OwnTwist", i="i: 3")), {"i": "3"})

    def test_the_class_of_the_operation(self):
        tf = dict(op_class_name="TwistOp", op_class_path="user_mo_extensions.ops.twist", all_copy=True)
        self.assertEqual(self.data(self.from_config(["i"], tf=tf), self.net(i="i: 3")), {"i": "3"})

    def test_a_parser_to_write(self):
        folder = self.from_config(tf=dict(params=[{"old_name": "angle"}]))
        with self.assertRaisesRegex(graft.Error, "twist_ext.py:.*NotImplementedError: .*read the attribute angle here"):
            self.data(folder, self.net(angle="i: 3"))

    def test_the_flag(self):
        folder = self.generated(["new", "--mo-tf-ext", "--mo-op"], ["Twist", "n", "angle angle i", "q", "n", "y", "1", "", "n",
                                                                    "n"])
        self.assertEqual(self.data(folder, self.net(angle="i: 3")), {"angle": "3"})


class Onnx(GeneratedCase):
    GIVEN = dict(f=1.5, i=3, s="word", floats=[1.5, 2.0], ints=[1, 2], strings=["a", "b"])
    IR = dict(f="1.5", i="3", s="word", floats="1.5, 2", ints="1, 2", strings="a, b")

    def net(self, **attributes):
        return self.onnx([onnx.node("Twist", ["x"], ["y"], "t", **attributes)], [("x", [2, 3])], [("y", [2, 3])])

    def test_all_attributes(self):
        self.assertEqual(self.data(self.from_config(list(self.GIVEN), onnx=dict(allCopy=True)), self.net(**self.GIVEN)), self.IR)

    def test_types_and_defaults(self):
        params = [{"old_name": n, "new_name": "n_" + n, "type": n} for n in self.GIVEN]
        params.append({"old_name": "absent", "type": "f", "default": 0.25})
        found = self.data(self.from_config(["n_" + n for n in self.GIVEN] + ["absent"], onnx=dict(params=params)),
                          self.net(**self.GIVEN))
        self.assertEqual(found, {**{"n_" + k: v for k, v in self.IR.items()}, "absent": "0.25"})

    def test_the_flag(self):
        folder = self.generated(["new", "--mo-onnx-ext", "--mo-op"], ["Twist", "n", "angle angle f 0.5", "q", "n", "y", "1", "",
                                                                      "n", "n"])
        self.assertEqual(self.data(folder, self.net()), {"angle": "0.5"})


class OtherFrameworks(GeneratedCase):
    """MXNet and Kaldi: what the extractors read of a layer."""

    def attributes(self, folder, framework, type, blobs=(), domain="", **fields):
        layer = types.SimpleNamespace(name="t", type=type, fields=fields, inputs=[], outputs=["t"], domain=domain, weights=0)
        loaded = Folder(folder)
        handler = _handler(loaded, framework, layer)
        self.assertIsNotNone(handler)
        with loaded.imports.active():
            from graft.model_optimizer.op import Op
            known = dict(Op.registered_ops)
            Op.registered_ops.update(loaded.ops)
            try:
                node = prepare_node(new_graph(framework), "t", framework, layer, list(blobs))
                self.assertTrue(_extract(handler, node))
            finally:
                Op.registered_ops.clear()
                Op.registered_ops.update(known)
        return node

    def test_mxnet(self):
        """allCopy, rename, params, omitDefault, custom."""
        node = self.attributes(self.from_config(mxnet=dict(allCopy=True)), "mxnet", "Twist", angle="3", mode="x")
        self.assertEqual((node.angle, node.mode, node.type), ("3", "x", "Twist"))
        renames = [{"old_name": "angle", "new_name": "turn"}, {"old_name": "more", "default": "1"}]
        node = self.attributes(self.from_config(mxnet=dict(allCopy=True, rename=True, params=renames)), "mxnet", "Twist",
                               angle="3")
        self.assertEqual((node.turn, node.more), ("3", "1"))
        node = self.attributes(self.from_config(mxnet=dict(params=renames + [{"old_name": "absent"}], omitDefault=True)), "mxnet",
                               "Twist", angle="3")
        self.assertEqual((node.turn, node.more, node.has("absent")), ("3", "1", False))
        node = self.attributes(self.from_config(mxnet=dict(custom=True, allCopy=True)), "mxnet", "Twist", domain="Custom",
                               angle="3")
        self.assertEqual(node.angle, "3")

    def test_the_flag_of_mxnet(self):
        folder = self.generated(["new", "--mo-mxnet-ext", "--mo-op"], ["n", "Twist", "y", "n", "n", "y", "", "", "n", "n"])
        self.assertEqual(self.attributes(folder, "mxnet", "Twist", angle="3").angle, "3")

    def test_kaldi(self):
        kinds = {"Dim": "int", "Scale": "float", "On": "bool", "Bias": "vector", "W": "matrix"}
        params = [{"old_name": n, "new_name": n.lower(), "type": k} for n, k in kinds.items()]
        folder = self.from_config(kaldi=dict(layer="twistcomponent", params=params))
        node = self.attributes(folder, "kaldi", "TwistComponent", [np.float32([1, 2]), np.float32([[1, 2, 3], [4, 5, 6]])],
                               Dim=7, Scale=0.5, On=True, weights=["Bias", "W"])
        self.assertEqual((node.dim, node.scale, node.on), (7, 0.5, True))
        np.testing.assert_array_equal(node.bias, [1, 2])
        np.testing.assert_array_equal(np.reshape(node.w, (2, 3)), [[1, 2, 3], [4, 5, 6]])

    def test_the_flag_of_kaldi(self):
        folder = self.generated(["new", "--mo-kaldi-ext", "--mo-op"], ["twistcomponent", "Dim dim int", "q", "n", "n", "Twist",
                                                                       "1", "", "n", "n"])
        self.assertEqual(self.attributes(folder, "kaldi", "TwistComponent", Dim=7).dim, 7)

    def test_a_kaldi_model_from_its_file_to_numbers(self):
        bias = [1.0, -2.0, 3.0, 0.5]
        config = ["input-node name=input dim=2", "component-node name=t component=t input=Append(Offset(input, -1), input)",
                  "component-node name=s component=s input=t", "output-node name=output input=s"]
        components = [("t", "TwistComponent", [("Dim", kaldi_writer.I(4)), ("Scale", 0.5), ("On", True),
                                               ("Bias", kaldi_writer.Vector(bias))]),
                      ("s", "FixedScaleComponent", [("Scales", kaldi_writer.Vector([1, 2, 3, 4]))])]
        kinds = {"Dim": "int", "Scale": "float", "On": "bool", "Bias": "vector"}
        params = [{"old_name": n, "new_name": n.lower(), "type": k} for n, k in kinds.items()]
        folder = self.from_config([p["new_name"] for p in params], kaldi=dict(layer="twistcomponent", params=params))

        def twist(x, *, dim: int, scale: float, on: bool, bias: "list[float]"):
            return x * np.float32(scale) + np.float32(bias)
        core = graft.Core()
        core.add_extension(folder)
        operation = graft.op(name="Twist", opset="extension", shape=lambda x, **_: x)(twist)
        self.addCleanup(graft.unregister, operation)
        core.add_extension(operation)
        x = np.arange(6, dtype=np.float32).reshape(3, 2)
        spliced = np.concatenate([x[[0, 0, 1]], x], 1)
        for binary in (True, False):
            path = self.path("net.mdl")
            with open(path, "wb") as f:
                f.write(kaldi_writer.nnet3(config, components, binary))
            model = core.read_model(path)
            layer = self.layers(model)["t"]
            self.assertEqual((layer.get("type"), layer.find("data").get("dim"), layer.find("data").get("on")), ("Twist", "4", "true"))
            result = core.compile_model(model).create_infer_request().infer({"input": x})
            np.testing.assert_allclose(result["output"], (spliced * 0.5 + np.float32(bias)) * [1, 2, 3, 4], rtol=1e-6)


class Operations(GeneratedCase):
    def net(self):
        return self.onnx([onnx.node("Twist", ["x"], ["y"], "t", angle=3, secret=4)], [("x", [2, 3])], [("y", [2, 3])])

    def test_attributes(self):
        """supported_attrs reach the IR, internal_attrs do not; the shape is that of the input."""
        folder = self.from_config(["angle"], {"internal_attrs": ["secret"]}, onnx=dict(allCopy=True))
        layer = self.twist(folder, self.net())
        self.assertEqual((layer.find("data").attrib, layer.get("version")), ({"angle": "3"}, "extension"))
        self.assertEqual(self.dims(layer), [[2, 3]])

    def test_a_shape_to_write(self):
        """change_shape: the function says where it is to be written; then its result is the shape."""
        folder = self.from_config(["angle"], {"change_shape": True}, onnx=dict(allCopy=True))
        with self.assertRaisesRegex(graft.Error, "ops/twist.py: compute the shape"):
            self.twist(folder, self.net())
        place = os.path.join(folder, "ops/twist.py")
        with open(place) as f:
            text = f.read()
        line = next(l for l in text.split("\n") if "raise NotImplementedError" in l)
        with open(place, "w") as f:
            f.write(text.replace(line, line[:line.index("raise")] + "node.out_port(0).data.set_shape([7, node.angle])"))
        self.assertEqual(self.dims(self.twist(folder, self.net())), [[7, 3]])

    def test_no_shape(self):
        """has_infer = false: the framework would have computed it."""
        folder = self.from_config(["angle"], {"change_shape": True, "has_infer": False}, onnx=dict(allCopy=True))
        with self.assertRaisesRegex(graft.Error, "operation 'Twist' of 't' has no 'infer': its output shapes are unknown"):
            self.twist(folder, self.net())

    def test_the_flag(self):
        folder = self.generated(["new", "--mo-op"], ["n", "Twist", "", "", "n", "n"])
        self.assertEqual(self.data(folder, self.net()), {})


if __name__ == "__main__":
    unittest.main()
