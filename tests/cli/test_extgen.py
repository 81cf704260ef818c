#!/usr/bin/env python3
"""The extension generator: every flag, question and key of a configuration file, and what the generated files do.

  tests/cli/test_extgen.py --build build [unittest arguments]
"""
import json
import os
import struct
import types

import fake_mo
from extgen_case import ExtgenCase
from fake_mo import Message, node
from harness import main

MARKERS = ["", "front", "front/caffe", "front/kaldi", "front/mxnet", "front/onnx", "front/tf", "ops"]


class Flags(ExtgenCase):
    """Each flag of `extgen new` alone: its questions, its files, its folder."""

    def only(self, flag, answers, files, what):
        r = self.made("new", flag, "--output_dir", "out", answers=answers)
        self.assertEqual(self.files("out"), sorted(files))
        self.assertIn("yes", [line for line in r.stdout.split("\n") if what in line][0])
        self.assertEqual(sum(line.endswith(" yes") for line in r.stdout.split("\n")[:10]), 1)
        return r.stdout

    def test_mo_caffe_ext(self):
        out = self.only("--mo-caffe-ext", ["n", "Twist", "twist_param", "n", "a b 3", "inner.c", "q", "Twist", "n"],
                        ["user_mo_extensions/front/caffe/twist_ext.py"], "Caffe extractor")
        for m in MARKERS:
            self.assertTrue(os.path.exists(self.path("out", "user_mo_extensions", m, "__init__.py")))
        self.assertIn("  5. parameters: a -> b = 3, inner.c -> c\n", out)

    def test_mo_mxnet_ext(self):
        self.only("--mo-mxnet-ext", ["n", "Twist", "y", "n", "Twist", "n"], ["user_mo_extensions/front/mxnet/twist_ext.py"], "MXNet extractor")

    def test_mo_tf_ext(self):
        # Without --mo-op the class of the operation is asked for.
        self.only("--mo-tf-ext", ["Twist", "y", "Twist", "TwistOp", "own.ops.twist", "n"], ["user_mo_extensions/front/tf/twist_ext.py"], "TensorFlow extractor")
        self.assertIn("from own.ops.twist import TwistOp\n", self.read("out/user_mo_extensions/front/tf/twist_ext.py"))

    def test_mo_onnx_ext(self):
        self.only("--mo-onnx-ext", ["Twist", "n", "alpha angle f 0.5", "q", "Twist", "n"], ["user_mo_extensions/front/onnx/twist_ext.py"], "ONNX extractor")

    def test_mo_kaldi_ext(self):
        self.only("--mo-kaldi-ext", ["twistcomponent", "Dim dim", "q", "Twist", "n"], ["user_mo_extensions/front/kaldi/twistcomponent_ext.py"], "Kaldi extractor")

    def test_mo_op(self):
        self.only("--mo-op", ["n", "Twist", "angle", "secret", "n", "n"], ["user_mo_extensions/ops/twist.py"], "operation")

    def test_ie_cpu_ext(self):
        self.only("--ie-cpu-ext", ["Twist", "angle float", "q", "n"],
                  ["user_ie_extensions/cpu/" + f for f in ("CMakeLists.txt", "common/ie_parallel.hpp", "ext_base.hpp", "ext_list.hpp", "ext_twist.cpp")], "CPU extension")
        for device in ("cpu", "gpu", "vpu"):
            self.assertTrue(os.path.isdir(self.path("out/user_ie_extensions", device)))

    def test_ie_gpu_ext(self):
        self.only("--ie-gpu-ext", ["Twist", "angle float 0.5", "q", "n"],
                  ["user_ie_extensions/gpu/twist_kernel.cl", "user_ie_extensions/gpu/twist_kernel.xml"], "GPU extension")
        self.assertIn('<Define name="angle" param="angle" type="float" default="0.5"/>', self.read("out/user_ie_extensions/gpu/twist_kernel.xml"))

    def test_ie_vpu_ext(self):
        self.only("--ie-vpu-ext", ["Twist", "angle float", "q", "n"],
                  ["user_ie_extensions/vpu/twist_kernel.cl", "user_ie_extensions/vpu/twist_kernel.xml"], "VPU extension")
        self.assertIn('<Scalar arg-name="angle" type="float" source="angle"/>', self.read("out/user_ie_extensions/vpu/twist_kernel.xml"))

    def test_output_dir(self):
        self.made("new", "--mo-op", answers=["n", "Twist", "", "", "n", "n"])  # the current directory
        self.made("new", "--mo-op", "--output_dir=a/b/c", answers=["n", "Twist", "", "", "n", "n"])
        self.made("new", "--mo-op", "-o", self.path("d"), answers=["n", "Twist", "", "", "n", "n"])
        for top in (".", "a/b/c", "d"):
            self.assertTrue(os.path.exists(self.path(top, "user_mo_extensions/ops/twist.py")))

    def test_all_flags_at_once(self):
        flags = "--mo-caffe-ext --mo-mxnet-ext --mo-tf-ext --mo-onnx-ext --mo-kaldi-ext --mo-op --ie-cpu-ext --ie-gpu-ext --ie-vpu-ext".split()
        answers = (["n", "Twist", "twist_param", "n", "angle", "q", "n"] + ["y", "Twist", "n", "angle", "q", "n"] + ["Twist", "n", "angle angle f", "q", "n"] +
                   ["Twist", "y", "n"] + ["twistcomponent", "q", "n"] + ["y", "1", "", "n", "n"] + ["angle float", "q", "n"] + ["angle float 1", "q", "n"] +
                   ["angle float", "q", "n"])
        r = self.made("new", *flags, "-o", "out", answers=answers)
        self.assertEqual(len(self.files("out")), 15)
        self.assertEqual(r.stdout.count(" is in out/user_"), 9)

    def test_help(self):
        r = self.made("new", "--help")
        for flag in "--mo-caffe-ext --mo-mxnet-ext --mo-tf-ext --mo-op --ie-cpu-ext --ie-gpu-ext --output_dir --mo-onnx-ext --mo-kaldi-ext --ie-vpu-ext".split():
            self.assertIn(flag, r.stdout)
        self.assertEqual(self.made("new", "--help", program="extgen.py").stdout, r.stdout)

    def test_extgen_py(self):
        self.config(mo_op={"op": "Twist"})
        self.made("config.json", program="extgen.py")
        self.made("new", "--mo-op", "--output_dir", "out", answers=["n", "Twist", "", "", "n", "n"], program="extgen.py")
        self.assertEqual(self.read("user_mo_extensions/ops/twist.py"), self.read("out/user_mo_extensions/ops/twist.py"))


class Questions(ExtgenCase):
    def test_the_tutorial(self):
        # The answers of the published cosh tutorial, in its order.
        r = self.made("new", "--mo-tf-ext", "--mo-op", "--ie-cpu-ext", "--ie-gpu-ext", "--output_dir=cl_cosh", answers="cosh n q n y n n".split())
        self.assertEqual(self.files("cl_cosh"), sorted(
            ["user_mo_extensions/front/tf/cosh_ext.py", "user_mo_extensions/ops/cosh.py", "user_ie_extensions/gpu/cosh_kernel.cl",
             "user_ie_extensions/gpu/cosh_kernel.xml"] + ["user_ie_extensions/cpu/" + f for f in ("CMakeLists.txt", "common/ie_parallel.hpp", "ext_base.hpp", "ext_cosh.cpp", "ext_list.hpp")]))
        self.assertIn("class coshFrontExtractor(FrontExtractorOp):\n    op = 'cosh'\n    enabled = True\n", self.read("cl_cosh/user_mo_extensions/front/tf/cosh_ext.py"))
        self.assertIn("class coshOp(Op):\n    op = 'cosh'\n", self.read("cl_cosh/user_mo_extensions/ops/cosh.py"))
        self.assertIn("The CPU extension is in cl_cosh/user_ie_extensions/cpu\n", r.stdout)

    def test_answers_are_shown_and_changed(self):
        # The layer name, then whether all parameters are read: its list is asked for again.
        answers = ["Twsit", "y", "y", "1", "Twist", "y", "2", "n", "angle angle f", "q", "n", "y", "1", "", "n", "n"]
        r = self.made("new", "--mo-tf-ext", "--mo-op", answers=answers)
        self.assertIn("  1. layer name: Twsit\n  2. read all parameters: yes\n", r.stdout)
        self.assertIn("  1. layer name: Twist\n  2. read all parameters: no\n  3. parameters: angle (f)\n", r.stdout)
        self.assertIn("  4. layer name as operation name: yes\n  5. attributes in the IR: angle\n  6. internal attributes: none\n", r.stdout)
        self.assertEqual(self.files("user_mo_extensions"), ["front/tf/twist_ext.py", "ops/twist.py"])
        self.assertIn("'angle': param['angle'].f,", self.read("user_mo_extensions/front/tf/twist_ext.py"))

    def test_answers_that_no_longer_apply(self):
        # A rename list, then no renames after all.
        answers = ["n", "Twist", "twist_param", "y", "y", "y", "y", "old new 1", "q", "Twist", "y", "7", "n", "n"]
        r = self.made("new", "--mo-caffe-ext", answers=answers)
        self.assertIn("8. parameters: old -> new = 1", r.stdout)
        self.assertNotIn("new", self.read("user_mo_extensions/front/caffe/twist_ext.py").replace("'new'", "new").split("extract")[-1])

    def test_name_of_the_operation_is_asked_for_once(self):
        r = self.made("new", "--mo-caffe-ext", "--mo-mxnet-ext", "--ie-cpu-ext", answers=["y", "my.module", "Twist", "q", "TwistOp", "n", "y", "twist", "y", "q", "n"])
        self.assertEqual(r.stdout.count("Operation name:"), 1)
        self.assertIn("get_op_class_by_name('TwistOp')", self.read("user_mo_extensions/front/mxnet/twist_ext.py"))
        self.assertIn("REG_FACTORY_FOR(ImplFactory<TwistOpImpl>, TwistOp);", self.read("user_ie_extensions/cpu/ext_twistop.cpp"))

    def test_shape_questions(self):
        self.made("new", "--mo-op", answers=["n", "Twist", "", "", "y", "y", "n"])
        self.assertIn("raise NotImplementedError('TwistOp.infer in ops/twist.py", self.read("user_mo_extensions/ops/twist.py"))
        self.made("new", "--mo-op", "--force", answers=["n", "Twist", "", "", "y", "n", "n"])
        self.assertIn("infer=None", self.read("user_mo_extensions/ops/twist.py"))

    def test_terminal(self):
        # An invalid answer is asked for again.
        status, shown = self.terminal("new", "--mo-op", "-o", "out", answers=["n", "no name", "Twist", "1angle", "angle", "", "n", "n"])
        self.assertEqual(status, 0, shown)
        self.assertIn("expected an operation name of letters, digits and _, got 'no name'", shown)
        self.assertEqual(shown.count("Operation name:"), 2)
        self.assertIn("return ['angle']", self.read("out/user_mo_extensions/ops/twist.py"))

    def test_existing_files(self):
        answers = ["n", "Twist", "", "", "n", "n"]
        self.made("new", "--mo-op", answers=answers)
        self.assertNotIn("already exists", self.made("new", "--mo-op", answers=answers).stdout)  # equal ones
        path = "user_mo_extensions/ops/twist.py"
        for answer, kept in (("n", True), ("", True), ("y", False)):
            self.write(path, "mine\n")
            r = self.made("new", "--mo-op", answers=answers + [answer])
            self.assertIn("'%s' already exists. Do you want to overwrite it?" % path, r.stdout)
            self.assertEqual(self.read(path) == "mine\n", kept)
        self.write(path, "mine\n")
        self.made("new", "--mo-op", "--force", answers=answers)
        self.assertNotEqual(self.read(path), "mine\n")

    def test_existing_files_of_a_config(self):
        self.config(mo_op={"op": "Twist"}, ie_op={"op": "Twist", "plugin": "cpu"})
        self.made("config.json")
        path = "user_mo_extensions/ops/twist.py"
        self.write(path, "mine\n")
        r = self.made("config.json")
        self.assertEqual(r.stderr, "warning: '%s' already exists and is kept; --force overwrites it\n" % path)
        self.assertEqual(self.read(path), "mine\n")
        self.assertEqual(json.loads(self.made("config.json", "--json").stdout)["kept"], [path])
        self.made("config.json", "--force")
        self.assertNotEqual(self.read(path), "mine\n")

    def test_second_operation_in_the_same_folder(self):
        self.from_config(mo_op={"op": "Twist"}, ie_op={"op": "Twist", "plugin": ["cpu", "cldnn"]})
        r = self.from_config(mo_op={"op": "Swirl"}, ie_op={"op": "Swirl", "plugin": ["cpu", "cldnn"]})
        self.assertEqual(r.stderr, "")
        self.assertEqual(len(self.files("user_ie_extensions/cpu")), 6)


class Extractors(ExtgenCase):
    """Every key of the extractors, by what the generated class does with a node."""

    def extract(self, framework, given, **keys):
        """Generates an extractor and its operation, runs it on the node; the node."""
        op = keys.pop("operation", "Twist")
        keys.setdefault("op", "Twist")
        self.from_config(**{"mo_%s_extractor" % framework: keys, "mo_op": {"op": op}})
        fake_mo.load(self.path("user_mo_extensions/ops", op.lower() + ".py"))
        stem = keys.get("layer", keys["op"]).lower()
        module = fake_mo.load(self.path("user_mo_extensions/front", framework, stem + "_ext.py"))
        self.extractor = [c for n, c in vars(module).items() if n.endswith("FrontExtractor")][0]
        self.assertTrue(self.extractor.enabled)
        self.result = self.extractor.extract(given)
        return {k: v for k, v in given.attrs.items() if k not in ("type", "op", "version", "infer")}

    def caffe(self, blobs=(), **fields):
        model = Message(blobs=[Message(data=b) for b in blobs]) if blobs else None
        return node(pb=Message(bottom=["x"], **fields), model_pb=model)

    PARAM = dict(twist_param=Message({"mode": 7, "angle": 0}, angle=3, inner=Message(size=5)))

    def test_caffe_copy_all(self):
        keys = dict(param_name="twist_param", allCopy=True)
        self.assertEqual(self.extract("caffe", self.caffe(**self.PARAM), **keys), {"angle": "3", "size": "5", "mode": "7"})
        self.assertEqual(self.extractor.op, "Twist")
        self.assertIs(self.result, True)
        self.assertEqual(self.extract("caffe", self.caffe(**self.PARAM), omitDefault=True, **keys), {"angle": "3", "size": "5"})
        self.assertEqual(self.extract("caffe", self.caffe(**self.PARAM), omitDefault=True, flatten=True, **keys), {"angle": "3", "inner__size": "5"})
        renames = [{"old_name": "angle", "new_name": "turn"}, {"old_name": "absent", "new_name": "there", "default": 4}]
        self.assertEqual(self.extract("caffe", self.caffe(**self.PARAM), omitDefault=True, rename=True, params=renames, **keys),
                         {"turn": "3", "size": "5", "there": 4})
        nested = [{"old_name": "inner.size", "new_name": "length"}]
        for flatten in (False, True):
            self.assertEqual(self.extract("caffe", self.caffe(**self.PARAM), omitDefault=True, flatten=flatten, rename=True, params=nested, **keys),
                             {"angle": "3", "length": "5"})

    def test_caffe_copy_some(self):
        params = [{"old_name": "angle"}, {"old_name": "inner.size"}, {"old_name": "mode", "new_name": "kind", "default": 2},
                  {"old_name": "mode", "new_name": "plain"}, {"old_name": "absent", "default": "word"}]
        self.assertEqual(self.extract("caffe", self.caffe(**self.PARAM), param_name="twist_param", params=params),
                         {"angle": 3, "size": 5, "kind": 2, "plain": 7, "absent": "word"})

    def test_caffe_weights(self):
        for blobs, names in (([[1]], ["weights"]), ([[1], [2]], ["weights", "biases"]), ([[1], [2], [3]], ["custom_0", "custom_1", "custom_2"])):
            found = self.extract("caffe", self.caffe(blobs, **self.PARAM), param_name="twist_param")
            self.assertEqual(found["embedded_inputs"], [(i + 1, n, b) for i, (n, b) in enumerate(zip(names, blobs))])

    def test_caffe_python_layer(self):
        given = lambda: self.caffe(python_param=Message(param_str="'angle': 3, 'mode': 'x'"))
        keys = dict(pythonic=True, module="own.layers")
        self.assertEqual(self.extract("caffe", given(), allCopy=True, **keys), {"angle": 3, "mode": "x"})
        self.assertEqual(self.extractor.op, "own.layers.Twist")
        self.assertEqual([b.__name__ for b in self.extractor.__bases__], ["CaffePythonFrontExtractorOp"])
        self.assertEqual(self.extract("caffe", given(), params=[{"old_name": "angle", "new_name": "turn"}, {"old_name": "more", "default": 1.5}], **keys),
                         {"turn": 3, "more": 1.5})

    def test_layer_and_operation_names(self):
        self.extract("caffe", self.caffe(**self.PARAM), op="TwistLayer", operation="Twist", param_name="twist_param")
        self.assertEqual(self.extractor.op, "TwistLayer")
        self.from_config(mo_tf_extractor={"op": "Twist", "layer": "Own>Twist-2", "all_copy": True}, mo_op={"op": "Twist"})
        text = self.read("user_mo_extensions/front/tf/own_twist_2_ext.py")
        self.assertIn("class Own_Twist_2FrontExtractor(FrontExtractorOp):\n    op = 'Own>Twist-2'\n", text)
        self.assertIn("get_op_class_by_name('Twist')", text)

    def mxnet(self, **attrs):
        return node(symbol_dict={"op": "Twist", "attrs": attrs})

    def test_mxnet(self):
        self.assertEqual(self.extract("mxnet", self.mxnet(angle="3", mode="x"), allCopy=True), {"angle": "3", "mode": "x"})
        self.assertIs(self.result, True)
        renames = [{"old_name": "angle", "new_name": "turn"}, {"old_name": "more", "new_name": "more", "default": "1"}]
        self.assertEqual(self.extract("mxnet", self.mxnet(angle="3"), allCopy=True, rename=True, params=renames), {"turn": "3", "more": "1"})
        some = [{"old_name": "angle", "new_name": "turn"}, {"old_name": "mode"}, {"old_name": "more", "default": "1"}]
        self.assertEqual(self.extract("mxnet", self.mxnet(angle="3"), params=some), {"turn": "3", "mode": None, "more": "1"})
        self.assertEqual(self.extract("mxnet", self.mxnet(angle="3"), params=some, omitDefault=True), {"turn": "3", "more": "1"})

    def test_mxnet_custom(self):
        self.assertEqual(self.extract("mxnet", self.mxnet(angle="3", op_type="Twist"), custom=True, allCopy=True), {"angle": "3"})
        self.assertEqual(self.result, (True, {"angle": "3"}))
        self.assertEqual([b.__name__ for b in self.extractor.__bases__], ["MXNetCustomFrontExtractorOp"])

    def test_tf_types(self):
        value = types.SimpleNamespace
        given = dict(b=value(b=True), f=value(f=1.5), i=value(i=3), s=value(s=b"word"), shape=value(shape="S"), type=value(type="T"), padding=value(s=b"SAME"),
                     batch=value(s=b"NHWC"), channel=value(s=b"NHWC"), spatial=value(s=b"NHWC"))
        lists = value(b=[True], f=[1.5], i=[1, 2], s=[b"a", b"b"], shape=["S"], type=["T"])
        given.update({"list." + k: value(list=lists) for k in ("b", "f", "i", "s", "shape", "type")})
        params = [{"old_name": k, "new_name": "n_" + k.replace(".", "_"), "type": k} for k in given]
        want = dict(b=True, f=1.5, i=3, s="word", shape=("shape", "S"), type=("type", "T"), padding="same_upper", batch=("batch", b"NHWC"), channel=("channel", b"NHWC"),
                    spatial=("spatial", b"NHWC"), list_b=[True], list_f=[1.5], list_i=[1, 2], list_s=["a", "b"], list_shape=[("shape", "S")], list_type=[("type", "T")])
        self.assertEqual(self.extract("tf", node(pb=value(attr=given)), params=params), {"n_" + k: v for k, v in want.items()})

    def test_tf_all_copy(self):
        given = node(pb=types.SimpleNamespace(attr={"a": 1, "b": 2}))
        self.assertEqual(self.extract("tf", given, all_copy=True), {"a": ("all", "a"), "b": ("all", "b")})
        self.assertEqual(self.extract("tf", given, allCopy=True), {"a": ("all", "a"), "b": ("all", "b")})

    def test_tf_without_a_type(self):
        with self.assertRaisesRegex(NotImplementedError, "read the attribute angle here"):
            self.extract("tf", node(pb=types.SimpleNamespace(attr={"angle": 1})), params=[{"old_name": "angle"}])

    def test_tf_class_of_the_operation(self):
        self.from_config(mo_tf_extractor={"op": "Twist", "op_class_name": "TwistOp", "op_class_path": "own.ops.twist"})
        text = self.read("user_mo_extensions/front/tf/twist_ext.py")
        self.assertIn("from own.ops.twist import TwistOp\n", text)
        self.assertIn("        TwistOp.update_node_stat(node, attrs)\n", text)

    def onnx(self, **attributes):
        return node(pb=types.SimpleNamespace(attribute=[types.SimpleNamespace(name=k, **v) for k, v in attributes.items()]))

    def test_onnx(self):
        given = self.onnx(f=dict(f=1.5, type=1), i=dict(i=3, type=2), s=dict(s=b"word", type=3), floats=dict(floats=(1.5,), type=6), ints=dict(ints=(1, 2), type=7),
                          strings=dict(strings=(b"a",), type=8))
        want = dict(f=1.5, i=3, s="word", floats=[1.5], ints=[1, 2], strings=["a"])
        self.assertEqual(self.extract("onnx", given, allCopy=True), want)
        params = [{"old_name": k, "type": k} for k in want]
        self.assertEqual(self.extract("onnx", given, params=params), want)
        self.assertEqual(self.extract("onnx", self.onnx(t=dict(t="T", type=4)), params=[{"old_name": "t", "type": "t"}]), {"t": ("array", "T")})
        self.assertEqual(self.extract("onnx", self.onnx(), params=[{"old_name": "f", "type": "f", "default": 0.5}, {"old_name": "i", "type": "i"}]), {"f": 0.5, "i": None})
        renames = [{"old_name": "f", "new_name": "g"}]
        self.assertEqual(self.extract("onnx", self.onnx(f=dict(f=1.5, type=1)), allCopy=True, params=renames), {"g": 1.5})
        with self.assertRaisesRegex(NotImplementedError, "read the attribute body"):
            self.extract("onnx", self.onnx(body=dict(g="G", type=5)), allCopy=True)
        with self.assertRaisesRegex(NotImplementedError, "read the attribute f here"):
            self.extract("onnx", given, params=[{"old_name": "f"}])

    def test_kaldi(self):
        content = b"<Dim> \x04" + struct.pack("<I", 7) + b"<Scale> \x04" + struct.pack("<f", 0.5) + b"<On> T<Bias> <W> "
        params = [{"old_name": "Dim", "new_name": "dim", "type": "int"}, {"old_name": "Scale", "new_name": "scale", "type": "float"},
                  {"old_name": "On", "new_name": "on", "type": "bool"}, {"old_name": "Bias", "new_name": "bias", "type": "vector"},
                  {"old_name": "W", "new_name": "w", "type": "matrix"}]
        found = self.extract("kaldi", node(parameters=fake_mo.stream(content)), params=params)
        self.assertEqual(found, dict(dim=7, scale=0.5, on=True, bias="vector", w=("matrix", (2, 3))))


class Operations(ExtgenCase):
    def operation(self, **keys):
        self.from_config(mo_op=dict({"op": "Twist"}, **keys))
        return fake_mo.load(self.path("user_mo_extensions/ops", keys.get("op", "Twist").lower().replace(".", "_") + ".py"))

    def test_attributes(self):
        made = self.operation(supported_attrs=["angle", "mode"], internal_attrs=["secret"]).TwistOp(None, {"angle": 1})
        self.assertEqual(made.supported_attrs(), ["angle", "mode", "secret"])
        self.assertEqual(made.backend_attrs(), ["angle", "mode"])
        self.assertEqual([made.attrs[k] for k in ("type", "op", "version", "angle")], ["Twist", "Twist", "extension", 1])
        self.assertNotIn("supported_attrs", vars(self.operation().TwistOp))

    def test_shapes(self):
        made = self.operation().TwistOp(None, {})
        self.assertEqual(made.attrs["infer"](None), "copied")
        with self.assertRaisesRegex(NotImplementedError, "ops/twist.py: compute the shape"):
            self.operation(change_shape=True).TwistOp(None, {}).attrs["infer"](None)
        self.assertIsNone(self.operation(change_shape=True, has_infer=False).TwistOp(None, {}).attrs["infer"])

    def test_python_layer(self):
        fake_mo.CaffePythonFrontExtractorOp.registered.clear()
        self.operation(op="own.layers.Twist", pythonic=True)
        self.assertEqual([(n, c.__name__, c.op) for n, c in fake_mo.CaffePythonFrontExtractorOp.registered.items()], [("own.layers.Twist", "TwistOp", "Twist")])
        # With an extractor, that one finds the layer.
        self.from_config(mo_op={"op": "Twist", "pythonic": True}, mo_caffe_extractor={"op": "Twist", "pythonic": True, "module": "own.layers"})
        self.assertNotIn("register", self.read("user_mo_extensions/ops/twist.py"))


if __name__ == "__main__":
    main()
