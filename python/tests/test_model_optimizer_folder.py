"""Wrong extension folders: each is refused when it is loaded or applied, with the file, the name, and what to do."""
import os
import subprocess
import unittest

from support import Case, onnx, onnx_model

import graft

OP = "from mo.ops.op import Op\n\n\nclass {0}(Op):\n    op = '{0}'\n"
EXTRACTOR = ("from mo.front.extractor import FrontExtractorOp\n\n\nclass {0}(FrontExtractorOp):\n    op = '{1}'\n    enabled = True\n\n"
             "    @classmethod\n    def extract(cls, node):\n        return cls.enabled\n")
PASS = ("from mo.front.common.replacement import FrontReplacementPattern\n\n\nclass {0}(FrontReplacementPattern):\n"
        "    def find_and_replace_pattern(self, graph):\n        pass\n")
REPLACE_OP = "from mo.front.common.replacement import FrontReplacementOp\n\n\nclass {0}(FrontReplacementOp):\n    enabled = True\n"
CONFIGURED = "from mo.front.tf.replacement import {1}\n\n\nclass {0}({1}):\n    enabled = True\n"

# name: (files, what the message says)
WRONG = {
    "syntax": ({"ops/a.py": "class A(:\n"}, r"ops/a.py:1: invalid syntax"),
    "raises": ({"ops/a.py": "\nraise RuntimeError('out of luck')\n"}, r"ops/a.py:2: RuntimeError: out of luck"),
    "exits": ({"ops/a.py": "import sys\nsys.exit(3)\n"}, r"ops/a.py:2: SystemExit: 3"),
    "no_such_module": ({"ops/a.py": "import acme_tools\n"}, r"ops/a.py:1: the module 'acme_tools' is not installed"),
    "no_such_part": ({"ops/a.py": "\n\nfrom mo.front.frills import twist\n"},
                     r"ops/a.py:3: the module 'mo.front.frills' of the Model Optimizer is not available here"),
    "no_such_name": ({"front/a.py": "from extensions.ops.elementwise import Adder\n"},
                     r"front/a.py:1: 'Adder' of 'extensions.ops.elementwise' is not available here"),
    "no_such_relative": ({"front/tf/a.py": "from ...ops.FFT import FFT\n"},
                         r"front/tf/a.py:1: the folder has no 'ops'"),
    "missing_below": ({"ops/a.py": "\nfrom mo.graph.graph import Vertex\n",
                       "front/tf/b.py": "from ...ops.a import A\n"},
                      r"ops/a.py:2: 'Vertex' of 'mo.graph.graph' is not available here"),
    "op_without_name": ({"ops/a.py": "from mo.ops.op import Op\n\n\nclass Nameless(Op):\n    enabled = True\n"},
                        r"ops/a.py: class Nameless has no attribute 'op'"),
    "op_with_number": ({"ops/a.py": "from mo.ops.op import Op\n\n\nclass Seven(Op):\n    op = 7\n"},
                       r"'op' of class Seven: expected a string, got 7"),
    "two_ops": ({"ops/a.py": OP.format("Warp"), "ops/b.py": OP.format("Warp").replace("class Warp", "class Warp2")},
                r"ops/b.py: Warp2 and Warp \(.*ops/a.py\) both register the operation 'Warp'"),
    "two_extractors": ({"front/tf/a.py": EXTRACTOR.format("A", "Warp"),
                        "front/tf/b.py": EXTRACTOR.format("B", "WARP")},
                       r"front/tf/b.py: B and A \(.*front/tf/a.py\) both register the type 'WARP'"),
    "extractor_without_op": ({"front/onnx/a.py": EXTRACTOR.format("A", "x").replace("    op = 'x'\n", "")},
                             r"front/onnx/a.py: extractor A has no attribute 'op'"),
    "extractor_without_extract": ({"front/onnx/a.py": "from mo.front.extractor import FrontExtractorOp\n\n\n"
                                   "class A(FrontExtractorOp):\n    op = 'Warp'\n"},
                                  r"extractor A has no method 'extract'"),
    "extractor_outside": ({"front/a.py": EXTRACTOR.format("A", "Warp")},
                          r"extractor A is outside of a framework's folder\n.*front/caffe, front/tf"),
    "replace_op_without_op": ({"front/a.py": REPLACE_OP.format("Swap")}, r"front/a.py: Swap has no attribute 'op'"),
    "config_without_id": ({"front/tf/a.py": CONFIGURED.format("Sub", "FrontReplacementFromConfigFileSubGraph")},
                          r"Sub has no attribute 'replacement_id'"),
    "general_without_id": ({"front/tf/a.py": CONFIGURED.format("Gen", "FrontReplacementFromConfigFileGeneral")},
                           r"Gen has no attribute 'replacement_id'"),
    "same_class_name": ({"front/a.py": PASS.format("Tidy"), "front/b.py": PASS.format("Tidy")},
                        r"front/b.py: a transformation named Tidy is also in .*front/a.py"),
    "same_id": ({"front/a.py": PASS.format("Tidy") + "\n    id = 'tidy'\n",
                 "front/b.py": PASS.format("Neat") + "\n    id = 'tidy'\n"},
                r"front/b.py: the id 'tidy' of Neat belongs to another transformation"),
    "cycle": ({"front/a.py": PASS.format("First") + "\n    def run_after(self):\n        return [Second]\n\n\n"
               "class Second(FrontReplacementPattern):\n    def run_after(self):\n        return [First]\n\n"
               "    def find_and_replace_pattern(self, graph):\n        pass\n"},
              r"the order of transformations has a cycle: First -> Second -> First"),
    "before_itself": ({"front/a.py": PASS.format("Self") + "\n    def run_before(self):\n        return [Self]\n"},
                      r"has a cycle: Self -> Self"),
    "order_of_names": ({"front/a.py": PASS.format("Tidy") + "\n    def run_after(self):\n        return ['Pack']\n"},
                       r"Tidy.run_after returned \['Pack'\], expected a list of classes"),
    "order_fails": ({"front/a.py": PASS.format("Tidy") + "\n    def run_after(self):\n        return [Nowhere]\n"},
                    r"Tidy.run_after failed: name 'Nowhere' is not defined"),
    "middle": ({"middle/a.py": "from mo.middle.replacement import MiddleReplacementPattern\n\n\n"
                "class Late(MiddleReplacementPattern):\n    enabled = True\n"},
               r"middle/a.py: Late has neither 'pattern' nor 'find_and_replace_pattern'"),
    "back_cycle": ({"back/a.py": "from mo.back.replacement import BackReplacementPattern\n\n\n"
                    "class Last(BackReplacementPattern):\n    def find_and_replace_pattern(self, graph):\n        pass\n\n"
                    "    def run_after(self):\n        return [Last]\n"}, r"has a cycle: Last -> Last"),
    "empty_parts": ({"ops/__init__.py": "", "front/__init__.py": ""},
                    r"defines no operation, extractor or transformation"),
    "tensorflow_folder": ({"ops/a.py": OP.format("Warp"), "front/tensorflow/b.py": EXTRACTOR.format("A", "Warp")},
                          r"front/tensorflow' is not read: the folder of this framework is named 'front/tf'"),
    "no_parts": ({"readme.txt": "", "op/a.py": OP.format("Warp")},
                 r"expected a folder with ops/, front/, middle/ or back/"),
}

WARP = ("from mo.ops.op import Op\n\n\nclass Warp(Op):\n    op = 'Warp'\n\n    def __init__(self, graph, attrs):\n"
        "        super().__init__(graph, dict(type='Warp', op='Warp', infer=Warp.infer, in_ports_count=1, out_ports_count=1), attrs)\n\n"
        "    @staticmethod\n    def infer(node):\n        {0}\n")
READ = EXTRACTOR.format("A", "Warp").replace("        return cls.enabled\n", "        {0}\n")
SWAP = ("from mo.front.common.replacement import FrontReplacementOp\n\n\nclass Swap(FrontReplacementOp):\n    op = 'Warp'\n\n"
        "    def replace_op(self, graph, node):\n        return {0}\n")
SUBGRAPH = ("from mo.front.common.replacement import FrontReplacementSubgraph\n\n\nclass Swap(FrontReplacementSubgraph):\n"
            "    def pattern(self):\n        return {0}\n\n    def replace_sub_graph(self, graph, match):\n        pass\n")
WHOLE = ("from mo.front.common.replacement import FrontReplacementPattern\n\n\nclass Whole(FrontReplacementPattern):\n"
         "    graph_condition = [lambda graph: {1}]\n\n    def find_and_replace_pattern(self, graph):\n        {0}\n")
LATE = ("from mo.middle.replacement import MiddleReplacementPattern\n\n\nclass Late(MiddleReplacementPattern):\n"
        "    def find_and_replace_pattern(self, graph):\n        {0}\n")
SHAPE = "node.out_port(0).data.set_shape(node.in_port(0).data.get_shape())"

# The same for a model with a layer of type Warp, when it is read.
REFUSED = {
    "extract_raises": ({"front/onnx/a.py": READ.format("raise ValueError('no turns')")},
                       r"layer 'w' \(Warp\): .*front/onnx/a.py:10: ValueError: no turns"),
    "extract_declines": ({"front/onnx/a.py": READ.format("return False")}, r"extractor A does not handle this layer"),
    "extract_misses_an_attribute": ({"front/onnx/a.py": READ.format("return node.turns > 1")},
                                    r"AttributeError: node 'w' has no attribute 'turns'"),
    "infer_raises": ({"ops/a.py": WARP.format("raise RuntimeError('too big')")}, r"'w' \(Warp\): .*ops/a.py:12: RuntimeError: too big"),
    "infer_does_nothing": ({"ops/a.py": WARP.format("pass")}, r"'infer' of 'Warp' \('w'\) did not set the shape of output 0"),
    "no_infer": ({"ops/a.py": WARP.format("pass").replace("infer=Warp.infer", "infer=None")},
                 r"operation 'Warp' of 'w' has no 'infer': its output shapes are unknown"),
    "no_type": ({"ops/a.py": WARP.format(SHAPE).replace("type='Warp'", "type=None")}, r"'w' \(Warp\) has no 'type': the operation is internal"),
    "replaced_by_none": ({"front/a.py": SWAP.format("None")}, r"Swap.replace_op returned None, expected a list with a node id per output"),
    "replaced_by_a_stranger": ({"front/a.py": SWAP.format("['elsewhere']")}, r"returned 'elsewhere', which is not the id of a node"),
    "nothing_to_replace_by": ({"front/a.py": SWAP.split("    def replace_op")[0]}, r"Swap has neither 'replace_op' nor 'replace_sub_graph'"),
    "pattern_is_a_list": ({"front/a.py": SUBGRAPH.format("[]")}, r"Swap.pattern returned \[\], expected a dictionary with 'nodes' and 'edges'"),
    "pattern_names_a_stranger": ({"front/a.py": SUBGRAPH.format("dict(nodes=[('a', {})], edges=[('a', 'b')])")},
                                 r"edge \('a', 'b'\) of the pattern names a node that the pattern does not have"),
    "all_outputs_removed": ({"front/a.py": WHOLE.format("graph.remove_nodes_from(graph.get_nodes_with_attributes(op='Result'))", True)},
                            r"the transformations removed all outputs of the model"),
    "condition_raises": ({"front/a.py": WHOLE.format("pass", "graph.graph['nothing']")}, r"transformation Whole: .*front/a.py:5: KeyError: 'nothing'"),
    "a_node_twice_removed": ({"front/a.py": WHOLE.format("graph.remove_node('w'); graph.remove_node('w')", True)},
                             r"transformation Whole: .*front/a.py:8: node 'w' is not in the graph"),
    "outputs_connected": ({"front/a.py": WHOLE.format("n = graph.get_op_nodes(op='Warp')[0]; n.out_port(0).connect(n.out_port(0))", True)},
                          r"expected an output and an input"),
    "middle_raises": ({"ops/a.py": WARP.format(SHAPE), "middle/b.py": LATE.format("raise ValueError('too late')")},
                      r"transformation Late: .*middle/b.py:6: ValueError: too late"),
}


class Wrong(Case):
    def extension(self, files):
        for path, text in files.items():
            place = self.path(os.path.join("ext", path))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w") as f:
                f.write(text)
        return self.path("ext")

    def check(self, name):
        files, message = WRONG[name]
        with self.assertRaisesRegex((ValueError, graft.Error), message):
            self.core.add_extension(self.extension(files))

    def refused(self, name):
        files, message = REFUSED[name]
        self.core.add_extension(self.extension(files))
        path = self.write("m.onnx", onnx_model([onnx.node("Warp", ["x"], ["y"], "w")], [("x", [3])], [("y", [3])]))
        with self.assertRaisesRegex(graft.Error, message):
            graft.convert(self.core.read_model(path), self.path("m.xml"))
        self.assertFalse(os.path.exists(self.path("m.xml")))

    def test_the_program_writes_nothing(self):
        program = os.path.abspath(os.path.join(os.environ.get("GRAFT_BIN", "build/bin"), "graft"))
        self.write("m.onnx", onnx_model([onnx.node("Relu", ["x"], ["y"], "r")], [("x", [3])], [("y", [3])]))
        self.extension({"ops/a.py": "raise RuntimeError('out of luck')\n"})
        self.write("notes.txt", "x")
        os.makedirs(self.path("empty"))
        for folder, message in (("ext", "ops/a.py:1: RuntimeError: out of luck"), ("nowhere", "nowhere"), ("notes.txt", "notes.txt"),
                                ("empty", "empty")):
            done = subprocess.run([program, "convert", "m.onnx", "--extensions", folder, "-o", "ir"], cwd=self.folder,
                                  capture_output=True, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, "^error: ")
            self.assertIn(message, done.stderr)
            self.assertFalse(os.path.exists(self.path("ir")))

    def test_a_missing_folder_and_a_file(self):
        from graft.model_optimizer import FolderError, load
        with self.assertRaisesRegex(FolderError, "does not exist"):
            load(self.path("nowhere"))
        with self.assertRaisesRegex(FolderError, "is a file, expected a folder with ops/"):
            load(self.write("ext.txt", "x"))


for _name in WRONG:
    setattr(Wrong, f"test_{_name}", lambda self, name=_name: self.check(name))
for _name in REFUSED:
    setattr(Wrong, f"test_applied_{_name}", lambda self, name=_name: self.refused(name))


if __name__ == "__main__":
    unittest.main()
