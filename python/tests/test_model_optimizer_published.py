"""Idioms of published extension files: rewiring, imports of each other, several folders, and the whole published folder."""
import json
import os
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np
from folder_case import TWIRL_OP, FolderCase
from support import onnx

import graft

GRAFT = os.path.abspath(os.path.join(os.environ.get("GRAFT_BIN", "build/bin"), "graft"))
REWIRE = """
from mo.{0}.replacement import {1}ReplacementPattern
from extensions.ops.activation_ops import Sigmoid


class Rewire({1}ReplacementPattern):
    enabled = True

    def pattern(self):
        return dict(nodes=[('t', dict(kind='op', op='Tanh'))], edges=[])

    def replace_pattern(self, graph, match):
        t = match['t']
        s = Sigmoid(graph, {{'name': t.name + '/sig'}}).create_node()
        t.in_port(0).get_connection().set_destination(s.in_port(0))
        t.out_port(0).get_connection().set_source(s.out_port(0))
"""
TWO_STEPS = """
from mo.middle.replacement import MiddleReplacementPattern


class Opens(MiddleReplacementPattern):
    enabled = True

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='Tanh'):
            source = node.in_port(0).get_source()
            node.in_port(0).disconnect()
            node['came_from'] = source.node.id, source.idx


class Closes(MiddleReplacementPattern):
    enabled = {0}

    def run_after(self):
        return [Opens]

    def find_and_replace_pattern(self, graph):
        from mo.graph.graph import Node
        for node in graph.get_op_nodes(op='Tanh'):
            identity, port = node.came_from
            Node(graph, identity).out_port(port).connect(node.in_port(0))
"""
MARKS = """
from mo.back.replacement import BackReplacementPattern


class First(BackReplacementPattern):
    enabled = True

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='Tanh'):
            node['seen_by_first'] = 3


class Second(BackReplacementPattern):
    enabled = True

    def run_after(self):
        return [First]

    def find_and_replace_pattern(self, graph):
        assert [n.seen_by_first for n in graph.get_op_nodes(op='Tanh')] == [3]
"""
EXTRACTOR = """
from mo.front.extractor import FrontExtractorOp
from ...ops.{1} import Twirl


class {0}Extractor(FrontExtractorOp):
    op = '{0}'
    enabled = True

    @classmethod
    def extract(cls, node):
        Twirl.update_node_stat(node, {{'turns': 5}})
        return cls.enabled
"""
ORDER = """
from mo.front.common.replacement import FrontReplacementPattern


class {0}(FrontReplacementPattern):
    enabled = True

    def run_before(self):
        {1}

    def find_and_replace_pattern(self, graph):
        print('{0} runs')
"""


MASKS = """
from mo.{0}.replacement import {1}ReplacementPattern
from mo.front.common.partial_infer.utils import int64_array


class Longer({1}ReplacementPattern):
    enabled = True

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='StridedSlice'):
            assert list(node.begin_mask) == [0, 1] and list(node.end_mask) == [0, 1], 'a 1 is a bound that is used'
            data = node.in_node(0)
            assert [n.id for n in data.out_nodes()] == [node.id] and len(data.in_nodes()) == len(data.in_edges()) == 1
            assert list(node.in_nodes()) == [0, 1, 2, 3] and node.in_nodes()[0].id == data.id
            node['end_mask'] = int64_array([0, 0])


class StridedSliceMasksNormalizer({1}ReplacementPattern):
    enabled = True

    def run_after(self):
        return [Longer]

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='StridedSlice'):
            node.begin_mask = int64_array([1 - i for i in node.begin_mask])
            node.end_mask = int64_array([1 - i for i in node.end_mask])
"""


class Rewiring(FolderCase):
    X = np.float32([[-1, 0, 2]])

    def model(self):
        return self.onnx([onnx.node("Neg", ["x"], ["n"], "n"), onnx.node("Tanh", ["n"], ["t"], "t"),
                          onnx.node("Abs", ["t"], ["y"], "a")], [("x", [1, 3])], [("y", [1, 3])])

    def test_a_node_is_left_behind_without_inputs(self):
        for phase in ("middle", "back"):
            with self.subTest(phase):
                core = graft.Core()
                core.add_extension(self.extension({f"{phase}/rewire.py": REWIRE.format(phase, phase.capitalize())}, phase))
                found = core.read_model(self.model()).compile("CPU")([self.X])[0]
                np.testing.assert_allclose(found, 1 / (1 + np.exp(self.X)), rtol=1e-6)

    def test_what_one_transformation_opens_the_next_may_close(self):
        self.core.add_extension(self.extension({"middle/two.py": TWO_STEPS.format(True)}))
        found = self.core.read_model(self.model()).compile("CPU")([self.X])[0]
        np.testing.assert_allclose(found, np.abs(np.tanh(-self.X)), rtol=1e-6)

    def test_what_stays_open_is_an_error(self):
        self.core.add_extension(self.extension({"middle/two.py": TWO_STEPS.format(False)}))
        with self.assertRaisesRegex(graft.Error, "transformation Opens: input 0 of 't' is not connected any more"):
            self.core.read_model(self.model()).compile("CPU")

    def test_masks_of_slices_and_neighbors_of_data_nodes(self):
        """In the Model Optimizer's form, which its own last transformation turns into that of the IR; here that is done anyway."""
        text = """graph (x: f32[2,4]) {
            s = StridedSlice@1(x, i64[2] {0, 1}, i64[2] {0, 3}, i64[2] {1, 1}) {begin_mask = [1, 0], end_mask = [1, 0]}
            return s }"""
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        np.testing.assert_array_equal(self.compiled(text)([x])[0], x[:, 1:3])
        for phase in ("middle", "back"):
            with self.subTest(phase):
                core = graft.Core()
                core.add_extension(self.extension({f"{phase}/masks.py": MASKS.format(phase, phase.capitalize())}, phase))
                model = core.read_model(self.write("m.graft", text))
                np.testing.assert_array_equal(model.compile("CPU")([x])[0], x[:, 1:])

    def test_marks_on_nodes_last_for_the_phase(self):
        self.core.add_extension(self.extension({"back/marks.py": MARKS}))
        self.core.read_model(self.model()).compile("CPU")


class Operations(FolderCase):
    """Operations in the forms that published files make."""

    def front(self, operations):
        self.core.add_extension(self.extension({"front/caffe/own.py": f"""
from mo.front.common.replacement import FrontReplacementOp
{operations[0]}


class Own(FrontReplacementOp):
    op = 'Own'
    enabled = True

    def replace_op(self, graph, node):
        made = {operations[1]}
        return [made.id]
"""}))

    def net(self, *shapes):
        inputs = "".join(f'input: "x{i}" input_shape {{ {" ".join(f"dim: {d}" for d in s)} }}\n' for i, s in enumerate(shapes))
        bottoms = " ".join(f'bottom: "x{i}"' for i in range(len(shapes)))
        return self.write("net.prototxt", f'name: "n"\n{inputs}layer {{ name: "o" type: "Own" {bottoms} top: "o" }}\n')

    def test_a_scale_of_several_dimensions_begins_at_its_axis(self):
        self.front(["from mo.ops.scale_shift import ScaleShiftOp",
                    "ScaleShiftOp(graph, {'name': 's', 'axis': 0}).create_node([node.in_node(0), node.in_node(1)])"])
        x, scale = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4), np.float32([2, 3]).reshape(1, 2, 1, 1)
        found = self.core.read_model(self.net(x.shape, scale.shape)).compile("CPU")([x, scale])[0]
        np.testing.assert_array_equal(found, x * scale)
        rows = np.float32([[1, 2, 3], [4, 5, 6]]).reshape(1, 2, 3)
        found = self.core.read_model(self.net(x.shape, rows.shape)).compile("CPU")([x, rows])[0]
        np.testing.assert_array_equal(found, x * rows[..., None])

    def test_a_vector_begins_at_the_axis_of_an_operation(self):
        self.front(["from extensions.ops.elementwise import Mul",
                    "Mul(graph, {'name': 'm', 'axis': 1}).create_node([node.in_node(0), node.in_node(1)])"])
        x, scale = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4), np.float32([10, 100])
        found = self.core.read_model(self.net(x.shape, scale.shape)).compile("CPU")([x, scale])[0]
        np.testing.assert_array_equal(found, x * scale.reshape(1, 2, 1, 1))

    def test_constants_of_two_types_and_operations_of_one_output(self):
        """A slice, whose only output is the model's, where two constants of different integers are equal."""
        self.front(["import numpy as np\nfrom mo.front.tf.graph_utils import create_op_with_const_inputs\nfrom mo.ops.strided_slice import "
                    "StridedSlice\nfrom mo.ops.const import Const\nfrom extensions.ops.elementwise import Equal\nfrom extensions.ops.Cast "
                    "import Cast\n\n\ndef number(graph, kind):\n    return Const(graph, {'value': np.array([0, 1], kind)}).create_node()",
                    "create_op_with_const_inputs(graph, StridedSlice, {2: np.array([1, 3]), 3: np.array([1, 1])}, {'name': 's', **{m: np.array([i, 1 - i]"
                    ") for i, m in enumerate(('begin_mask', 'end_mask'))}, 'end_mask': np.array([0, 1]), 'begin_mask': np.array([0, 1]), "
                    "'new_axis_mask': np.array([0]), 'shrink_axis_mask': np.array([0]), 'ellipsis_mask': np.array([0])}, node.in_node(0))\n"
                    "        made.in_port(1).connect(Cast(graph, {'dst_type': np.int64}).create_node([Equal(graph, {}).create_node([number(graph, "
                    "np.int64), number(graph, np.int32)])]).out_port(0))"])
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        np.testing.assert_array_equal(self.core.read_model(self.net(x.shape)).compile("CPU")([x])[0], x[:, 1:3])

    def test_an_operation_of_no_set_whose_class_the_folder_has(self):
        """It has the name of one of the Model Optimizer's own; fields that the layer does not set have their defaults."""
        self.core.add_extension(self.extension({"ops/correlation.py": """
from mo.front.common.partial_infer.elemental import copy_shape_infer
from mo.ops.op import Op


class CorrelationOp(Op):
    op = 'Correlation'

    def __init__(self, graph, attrs):
        super().__init__(graph, {'type': self.op, 'op': self.op, 'version': 'extension', 'infer': copy_shape_infer,
                                 'in_ports_count': 1, 'out_ports_count': 1}, attrs)

    def supported_attrs(self):
        return ['stride_1', 'kernel_size', 'kind']
""", "front/caffe/correlation_ext.py": """
from extensions.ops.correlation import CorrelationOp
from mo.front.extractor import FrontExtractorOp


class CorrelationFrontExtractor(FrontExtractorOp):
    op = 'Correlation'
    enabled = True

    @classmethod
    def extract(cls, node):
        param = node.pb.correlation_param
        CorrelationOp.update_node_stat(node, {'stride_1': param.stride_1, 'kernel_size': param.kernel_size,
                                              'kind': param.correlation_type})
        return cls.enabled
"""}))
        net = self.write("net.prototxt", 'input: "x" input_shape { dim: 1 dim: 2 }\nlayer { name: "c" type: "Correlation" bottom: "x" top: "c" '
                         "correlation_param { kernel_size: 3 } }")
        layer = self.layers(self.core.read_model(net))["c"]
        self.assertEqual((layer.get("type"), layer.get("version"), layer.find("data").attrib),
                         ("Correlation", "extension", {"stride_1": "1", "kernel_size": "3", "kind": "0"}))

    def test_a_new_attribute_of_an_untouched_layer_is_refused(self):
        """The layer has none of that name, but its operation has: it would be lost without a word."""
        self.core.add_extension(self.extension({"front/Bad.py": """
from mo.front.common.replacement import FrontReplacementPattern


class Bad(FrontReplacementPattern):
    enabled = True

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='SoftMax'):
            node['mark'] = 1
            node['axis'] = 2
"""}))
        net = self.write("net-symbol.json", json.dumps({"nodes": [
            {"op": "null", "name": "x", "inputs": []}, {"op": "SoftmaxActivation", "name": "soft", "inputs": [[0, 0, 0]]}],
            "arg_nodes": [0], "heads": [[1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}))
        with self.assertRaisesRegex(graft.Error, "attribute 'axis' of the layer 'soft' was set to 2"):
            self.core.read_model(net)

    def test_a_condition_may_be_a_number(self):
        self.front(["from extensions.ops.select import Select",
                    "Select(graph, {'name': 's'}).create_node([node.in_node(i) for i in range(3)])"])
        c, x, y = np.float32([[0, 2, -1]]), np.float32([[1, 2, 3]]), np.float32([[4, 5, 6]])
        found = self.core.read_model(self.net(c.shape, x.shape, y.shape)).compile("CPU")([c, x, y])[0]
        np.testing.assert_array_equal(found, [[4, 2, 3]])

    def test_anchors_of_mxnet_become_priors(self):
        self.front(["from extensions.ops.DetectionOutput import DetectionOutput",
                    "DetectionOutput(graph, {'name': 'd', 'keep_top_k': 2, 'top_k': 2, 'nms_threshold': 0.5, 'confidence_threshold': 0.1, "
                    "'code_type': 'caffe.PriorBoxParameter.CENTER_SIZE', 'share_location': 1, 'variance_encoded_in_target': 0, 'normalized': 1, "
                    "'background_label_id': 0, 'decrease_label_id': 1}).create_node([node.in_node(i) for i in range(3)])"])
        anchors = np.float32([[[0.1, 0.1, 0.3, 0.5], [0.6, 0.5, 0.8, 0.9]]])
        scores = np.float32([[0.2, 0.8, 0.7, 0.3]])
        model = self.core.read_model(self.net((1, 8), (1, 4), anchors.shape)).compile("CPU")
        found = model([np.float32([[1, 0, 0, 0, 0, 0, 0, 0]]), scores, anchors])[0]
        self.assertEqual(found.shape, (1, 1, 2, 7))
        # The first center moves by 1 * 0.1 of the width 0.2.
        np.testing.assert_allclose(found[0, 0], [[0, 0, 0.8, 0.12, 0.1, 0.32, 0.5], [0, 0, 0.3, 0.6, 0.5, 0.8, 0.9]], atol=1e-6)

    def test_prior_boxes_take_the_feature_map_and_the_image(self):
        self.front(["from extensions.ops.priorbox import PriorBoxOp",
                    "PriorBoxOp(graph, {'name': 'p', 'min_size': [4.0], 'aspect_ratio': [], 'variance': [0.1], 'offset': 0.5})"
                    ".create_node([node.in_node(0), node.in_node(1)])"])
        model = self.core.read_model(self.net((1, 2, 3, 4), (1, 3, 30, 40)))
        self.assertEqual(model.outputs[0].shape, (1, 2, 48))


class Outputs(FolderCase):
    def test_a_node_behind_an_extracted_layer_takes_over_its_output(self):
        """The extractor's node made the model's output before, and its name must not be there twice."""
        self.core.add_extension(self.extension({"front/onnx/neg_ext.py": """
from extensions.ops.activation_ops import Tanh
from mo.front.extractor import FrontExtractorOp


class NegExtractor(FrontExtractorOp):
    op = 'Neg'
    enabled = True

    @classmethod
    def extract(cls, node):
        Tanh.update_node_stat(node, {})
        return cls.enabled
""", "front/onnx/behind.py": """
from extensions.ops.activation_ops import Abs
from mo.front.common.replacement import FrontReplacementPattern


class Behind(FrontReplacementPattern):
    enabled = True

    def find_and_replace_pattern(self, graph):
        for node in graph.get_op_nodes(op='Tanh'):
            made = Abs(graph, {'name': node.name + '/abs'}).create_node()
            node.out_port(0).get_connection().set_source(made.out_port(0))
            node.out_port(0).connect(made.in_port(0))
"""}))
        path = self.onnx([onnx.node("Neg", ["x"], ["y"], "n")], [("x", [3])], [("y", [3])])
        model = self.core.read_model(path)
        self.assertEqual([p.any_name for p in model.outputs], ["y"])
        x = np.float32([-1, 0, 2])
        np.testing.assert_allclose(model.compile("CPU")([x])[0], np.abs(np.tanh(x)), rtol=1e-6)


class Constants(FolderCase):
    def test_a_constant_without_a_value(self):
        self.core.add_extension(self.extension({"front/onnx/const_ext.py": """
from mo.front.extractor import FrontExtractorOp
from mo.ops.const import Const


class ConstExtractor(FrontExtractorOp):
    op = 'Neg'
    enabled = True

    @classmethod
    def extract(cls, node):
        Const.update_node_stat(node, {'value': None})
        return cls.enabled
"""}))
        path = self.onnx([onnx.node("Neg", ["x"], ["y"], "n")], [("x", [3])], [("y", [3])])
        with self.assertRaisesRegex(graft.Error, "the constant 'n' has no value"):
            self.core.read_model(path)


class Folders(FolderCase):
    def convert(self, *arguments, status=0):
        done = subprocess.run([GRAFT, "convert", *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def net(self):
        return self.write("net.prototxt", 'name: "net" input: "x" input_shape { dim: 2 dim: 3 }\n' + "".join(
            f'layer {{ name: "{n}" type: "{t}" bottom: "{b}" top: "{n}" alpha_param {{ gain: 7 inner {{ size: 4 }} }} }}\n'
            for n, t, b in (("a", "Alpha", "x"), ("b", "Beta", "a"))))

    def folders(self):
        """Two folders of one name, as the generator makes them."""
        made = []
        for type, op in (("Alpha", "Twirl"), ("Beta", "Whirl")):
            files = {f"ops/{op.lower()}.py": TWIRL_OP.replace("'Twirl'", f"'{op}'"),
                     f"front/caffe/{op.lower()}_ext.py": EXTRACTOR.format(type, op.lower())}
            made.append(self.extension(files, f"of_{type.lower()}/user_mo_extensions"))
        return ",".join(os.path.relpath(m, self.folder) for m in made)

    def data(self):
        layers = ElementTree.parse(self.path("ir/net.xml")).find("layers")
        return {l.get("name"): (l.get("type"), dict(l.find("data").attrib)) for l in layers if l.get("name") in "ab"}

    def test_two_folders_of_one_name(self):
        self.net()
        self.convert("net.prototxt", "--extensions", self.folders(), "-o", "ir")
        self.assertEqual(self.data(), {"a": ("Twirl", {"turns": "5"}), "b": ("Whirl", {"turns": "5"})})

    def test_a_mapping_file_goes_before_an_extractor_and_has_all_parameters(self):
        self.net()
        self.write("map.xml", '<CustomLayersMapping><CustomLayer NativeType="Alpha" hasParam="true" protoParamName="alpha_param" '
                   'outputShape="in0"/></CustomLayersMapping>')
        self.convert("net.prototxt", "--extensions", self.folders(), "-k", "map.xml", "-o", "ir")
        self.assertEqual(self.data(), {"a": ("Alpha", {"gain": "7", "size": "4"}), "b": ("Whirl", {"turns": "5"})})

    def test_files_that_name_each_other_as_modules_of_extensions_keep_their_order(self):
        """Zeta runs before Alpha, although names go the other way."""
        nodes = [{"op": "null", "name": "x", "attrs": {"__shape__": "(2, 3)"}, "inputs": []},
                 {"op": "negative", "name": "n", "inputs": [[0, 0, 0]]}]
        self.write("m-symbol.json", json.dumps({"nodes": nodes, "heads": [[1, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}))
        before = "from extensions.front.mxnet.{0} import {1}\n        return [{1}]"
        # The Model Optimizer itself has a class of this name in a file of this name.
        self.extension({"front/mxnet/ssd_anchor_reshape.py": ORDER.format("SsdPatternAnchorReshape", "return []"),
                        "front/mxnet/zeta.py": ORDER.format("Zeta", before.format("ssd_anchor_reshape", "SsdPatternAnchorReshape")),
                        "front/mxnet/alpha.py": ORDER.format("Alpha", "return []")}, "one")
        done = self.convert("m-symbol.json", "--extensions", "one", "-o", "ir")
        said = [line for line in done.stdout.splitlines() if line.endswith(" runs")]
        self.assertEqual(said, ["Alpha runs", "Zeta runs", "SsdPatternAnchorReshape runs"])

    def test_an_error_of_the_host_is_not_doubled(self):
        path = self.onnx([onnx.node("Twirl", ["x"], ["y"], "r", "acme")], [("x", [2])], [("y", [2])], (), ["acme"])
        self.extension({"front/onnx/own.py": """
from mo.front.common.replacement import FrontReplacementOp
from extensions.ops.elementwise import Add


class Own(FrontReplacementOp):
    op = 'Twirl'
    enabled = True

    def replace_op(self, graph, node):
        return [Add(graph, {'name': 'add'}).create_node([node.in_node(0)]).id]
"""}, "one")
        done = self.convert(path, "--extensions", "one", "-o", "ir", status=2)
        self.assertNotIn("Error: error:", done.stderr)
        self.assertNotIn("error: error:", done.stderr)

    def test_the_model_optimizers_own_folder(self):
        """With a file of the user among published ones: those are left out, with a note."""
        self.extension({"front/pass_separator.py": "from mo.pipeline.nothing import absent\n",
                        "front/tf/concat_ext.py": "from mo.absent import nothing\n",
                        "front/caffe/conv_ext.py": "from mo.absent import nothing\n",
                        "ops/twirl.py": TWIRL_OP, "front/caffe/alpha_ext.py": EXTRACTOR.format("Alpha", "twirl")}, "mo/extensions")
        self.write("net.prototxt", 'name: "net" input: "x" input_shape { dim: 2 dim: 3 }\n'
                   'layer { name: "a" type: "Alpha" bottom: "x" top: "a" }\n')
        done = self.convert("net.prototxt", "--extensions", "mo/extensions", "-o", "ir")
        self.assertRegex(done.stderr, "mo/extensions' is the Model Optimizer's own folder: 3 of its files are left out, because the "
                         "importer does their work, and 2 other files are used")
        self.assertEqual(self.data(), {"a": ("Twirl", {"turns": "5"})})
        for name in ("ops/twirl.py", "front/caffe/alpha_ext.py"):
            os.remove(self.path("mo/extensions/" + name))
        self.write("net.prototxt", 'name: "net" input: "x" input_shape { dim: 2 dim: 3 }\n'
                   'layer { name: "a" type: "TanH" bottom: "x" top: "a" }\n')
        done = self.convert("net.prototxt", "--extensions", "mo/extensions", "-o", "ir", "--json")
        json.loads(done.stdout)
        self.assertIn("0 other files are used", done.stderr)


if __name__ == "__main__":
    unittest.main()
