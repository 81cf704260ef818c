"""Extension folders of the Model Optimizer: entries of a transformations config."""
import json
import unittest

import numpy as np
from folder_case import TWIRL_OP, FolderCase, tf_input, tf_node

import graft

GENERAL = """
import numpy as np
from extensions.ops.elementwise import Mul
from mo.front.tf.graph_utils import create_op_with_const_inputs
from mo.front.tf.replacement import FrontReplacementFromConfigFileGeneral


class Scale(FrontReplacementFromConfigFileGeneral):
    replacement_id = 'ScaleOutput'

    def transform_graph(self, graph, replacement_descriptions):
        result = graph.get_op_nodes(op='Result')[0]
        source = result.in_port(0).get_source()
        made = create_op_with_const_inputs(graph, Mul, {1: np.float32(replacement_descriptions['factor'])}, {'name': 'scaled'})
        result.in_port(0).get_connection().set_source(made.out_port(0))
        source.connect(made.in_port(0))
"""

# Replaces a cell of two branches that an addition joins: gain * (left + right).
CELL = """
import numpy as np
from extensions.ops.elementwise import Add, Mul
from mo.front.subgraph_matcher import SubgraphMatch
from mo.front.tf.replacement import FrontReplacementFromConfigFileSubGraph
from mo.graph.graph import Graph
from mo.ops.const import Const


class Cell(FrontReplacementFromConfigFileSubGraph):
    replacement_id = 'Cell'

    def generate_sub_graph(self, graph: Graph, match: SubgraphMatch):
        gain = match.custom_replacement_desc.custom_attributes['gain']
        assert match.node_by_pattern('.*join$') is not None
        add = Add(graph, dict(name=match.output_node(0)[0].id + '/sum')).create_node()
        scale = Const(graph, {'value': np.float32(gain)}).create_node()
        mul = Mul(graph, dict(name=match.output_node(0)[0].id + '/scaled')).create_node([add, scale])
        return {'add': add, 'mul': mul}

    def input_edges_match(self, graph: Graph, match: SubgraphMatch, new_sub_graph: dict):
        return {(match.input_nodes(i)[0][0].id, match.input_nodes(i)[0][1]): (new_sub_graph['add'].id, i)
                for i in range(match.inputs_count())}

    def output_edges_match(self, graph: Graph, match: SubgraphMatch, new_sub_graph: dict):
        return {match.output_node(0)[0].id: new_sub_graph['mul'].id}
"""

INPUTS = [[{"node": "left$", "port": 0}], [{"node": "right$", "port": 0}]]
OUTPUTS = [{"node": "join$", "port": 0}]


def scope(instances, **more):
    return {"id": "Cell", "match_kind": "scope", "instances": instances, "inputs": INPUTS, "outputs": OUTPUTS,
            "custom_attributes": {"gain": 2.0}, **more}


def cell(name, left, right):
    """tanh(left) * abs(right), with a side computation inside."""
    return (tf_node(f"{name}/left", "Tanh", left) + tf_node(f"{name}/right", "Abs", right) +
            tf_node(f"{name}/join", "Mul", f"{name}/left", f"{name}/right"))


class Config(FolderCase):
    def model(self):
        return self.write("m.pbtxt", tf_input("a", [2, 3]) + tf_input("b", [2, 3]) + cell("net/cell_1", "a", "b") +
                          cell("net/cell_2", "net/cell_1/join", "b") + tf_node("out", "Neg", "net/cell_2/join"))

    def config(self, *entries):
        return self.write("config.json", json.dumps(list(entries)))

    def kinds(self, model):
        return [l.get("type") for l in self.layers(model).values()
                if l.get("type") not in ("Const", "Parameter", "Result")]

    def converted(self, files, *entries):
        self.core.add_extension(self.extension(files))
        return self.core.read_model(self.model(), replacements=self.config(*entries))

    def test_a_class_for_the_whole_graph_and_an_operation_between_points(self):
        """general: transform_graph gets the attributes; points: an operation of the folder takes the place."""
        model = self.converted({"ops/Twirl.py": TWIRL_OP, "front/tf/General.py": GENERAL},
                               {"id": "ScaleOutput", "match_kind": "general", "custom_attributes": {"factor": 4.0}},
                               {"id": "ScaleOutput", "match_kind": "general", "custom_attributes": {"factor": 0.5}},
                               {"id": "Region", "match_kind": "points", "op": "Twirl", "custom_attributes": {"turns": 6},
                                "instances": {"start_points": ["net/cell_1/left"], "end_points": ["net/cell_1/left"]}})
        layers = self.layers(model)
        kinds = [l.get("type") for l in layers.values() if l.get("type") not in ("Const", "Parameter", "Result")]
        self.assertEqual(kinds, ["Abs", "Twirl", "Multiply", "Tanh", "Abs", "Multiply", "Negative", "Multiply",
                                 "Multiply"])
        twirl = next(l for l in layers.values() if l.get("type") == "Twirl")
        self.assertEqual(twirl.find("data").get("turns"), "6")

    def test_an_operation_in_the_place_of_scopes(self):
        model = self.converted({"ops/Twirl.py": TWIRL_OP.replace("'in_ports_count': 1", "'in_ports_count': 2")},
                               scope(["net/cell_1", "net/cell_2/"], id="Twirls", op="Twirl",
                                     custom_attributes={"turns": 6, "further": "x"}))
        layers = self.layers(model)
        self.assertEqual([l.find("data").attrib for l in layers.values() if l.get("type") == "Twirl"],
                         [{"turns": "6", "further": "x"}] * 2)
        self.assertEqual(self.kinds(model), ["Twirl", "Twirl", "Negative"])

    def test_a_class_for_scopes(self):
        """Every instance is replaced, with the edges that the class says."""
        model = self.converted({"front/tf/Cell.py": CELL}, scope(["net/cell_1", "net/cell_2"]))
        self.assertEqual(self.kinds(model), ["Add", "Multiply", "Add", "Multiply", "Negative"])
        a, b = np.float32([[1, -2, 3], [0, 5, 6]]), np.float32([[7, 8, -9], [1, 2, 3]])
        np.testing.assert_allclose(model.compile("CPU")([a, b])[0], -2 * (2 * (a + b) + b), rtol=1e-6)

    def test_a_regular_expression_for_scopes_of_one_instance(self):
        model = self.converted({"front/tf/Cell.py": CELL}, scope([".*cell_2"]))
        self.assertEqual(self.kinds(model), ["Tanh", "Abs", "Multiply", "Add", "Multiply", "Negative"])

    def test_a_class_for_points(self):
        points = {"start_points": ["net/cell_2/left", "net/cell_2/right"], "end_points": ["net/cell_2/join"]}
        model = self.converted({"front/tf/Cell.py": CELL}, {"id": "Cell", "match_kind": "points", "instances": points,
                                                            "custom_attributes": {"gain": 3.0}})
        a, b = np.float32([[1, -2, 3], [0, 5, 6]]), np.float32([[7, 8, -9], [1, 2, 3]])
        np.testing.assert_allclose(model.compile("CPU")([a, b])[0], -3 * (np.tanh(a) * np.abs(b) + b), rtol=1e-5)

    def test_points_that_stay_outside(self):
        """The flags move the border: here only the multiplication is replaced."""
        points = {"start_points": ["net/cell_2/left", "net/cell_2/right"], "end_points": ["out"]}
        model = self.converted({"front/tf/Cell.py": CELL},
                               {"id": "Cell", "match_kind": "points", "instances": points,
                                "include_inputs_to_sub_graph": False, "include_outputs_to_sub_graph": False,
                                "custom_attributes": {"gain": 3.0}})
        a, b = np.float32([[1, -2, 3], [0, 5, 6]]), np.float32([[7, 8, -9], [1, 2, 3]])
        inner = np.tanh(np.tanh(a) * np.abs(b))
        np.testing.assert_allclose(model.compile("CPU")([a, b])[0], -3 * (inner + np.abs(b)), rtol=1e-5)

    def test_nodes_that_stay(self):
        """nodes_to_remove: the branches stay, the join goes."""
        text = CELL.replace("(match.input_nodes(i)[0][0].id, match.input_nodes(i)[0][1]): (new", "'unused': (new")
        text = text.replace("        return {'unused': (new_sub_graph['add'].id, i)\n"
                            "                for i in range(match.inputs_count())}", "        return {}")
        text = text.replace("dict(name=match.output_node(0)[0].id + '/sum')).create_node()",
                            "dict(name=match.output_node(0)[0].id + '/sum')).create_node(\n"
                            "            [match.input_nodes(i)[0][0] for i in range(2)])")
        text += """
    def nodes_to_remove(self, graph: Graph, match: SubgraphMatch):
        return [n for n in match.matched_nodes_names() if n.endswith('join')]
"""
        model = self.converted({"front/tf/Cell.py": text}, scope(["net/cell_1"]))
        self.assertEqual(self.kinds(model), ["Tanh", "Abs", "Add", "Multiply", "Tanh", "Abs", "Multiply", "Negative"])

    def test_the_whole_replacement_by_hand(self):
        """replace_sub_graph of the class itself gets the match."""
        model = self.converted({"front/tf/Cell.py": """
from extensions.ops.activation_ops import ReLU
from mo.front.tf.replacement import FrontReplacementFromConfigFileSubGraph


class Cell(FrontReplacementFromConfigFileSubGraph):
    replacement_id = 'Cell'

    def replace_sub_graph(self, graph, match):
        assert match.single_input_node(0)[0].id == 'net/cell_1/left'
        assert sorted(match.matched_nodes_names()) == ['net/cell_1/' + n for n in ('join', 'left', 'right')]
        relu = ReLU(graph, {'name': 'relu'}).create_node()
        match.single_input_node(0)[0].in_port(0).get_source().connect(relu.in_port(0))
        match.output_node(0)[0].out_port(0).get_connection().set_source(relu.out_port(0))
"""}, scope(["net/cell_1"]))
        self.assertEqual(self.kinds(model), ["ReLU", "Tanh", "Abs", "Multiply", "Negative"])

    def refused(self, message, files, *entries):
        with self.assertRaisesRegex(graft.Error, message):
            self.converted(files, *entries)

    def test_an_entry_that_matches_nothing(self):
        self.refused(r"replacement 'Cell' of .*config.json does not match: .*net/cell_9",
                     {"front/tf/Cell.py": CELL}, scope(["net/cell_9"]))

    def test_an_input_that_is_missing(self):
        self.refused(r"replacement 'Cell' of .*config.json does not match: .*middle",
                     {"front/tf/Cell.py": CELL}, scope(["net/cell_1"], inputs=[[{"node": "middle$", "port": 0}]]))

    def test_a_point_that_is_missing(self):
        self.refused(r"replacement 'Cell' of .*config.json does not match: .*net/cell_3",
                     {"front/tf/Cell.py": CELL},
                     {"id": "Cell", "match_kind": "points", "custom_attributes": {"gain": 1},
                      "instances": {"start_points": ["net/cell_3"], "end_points": ["out"]}})

    def test_a_pattern_that_matches_twice(self):
        self.refused(r"pattern 'net/cell_1/.\*' matches 3 nodes, expected one", {"front/tf/Cell.py": CELL},
                     scope(["net/cell_1"], inputs=[[{"node": ".*", "port": 0}]]))

    def test_an_end_that_is_not_reachable(self):
        self.refused(r"end node 'net/cell_1/left' is not reachable", {"front/tf/Cell.py": CELL},
                     {"id": "Cell", "match_kind": "points", "custom_attributes": {"gain": 1},
                      "instances": {"start_points": ["out"], "end_points": ["net/cell_1/left"]}})

    def test_a_sub_graph_with_an_input_of_the_model(self):
        self.refused(r"the sub-graph contains the model input 'b'", {"front/tf/Cell.py": CELL},
                     {"id": "Cell", "match_kind": "points", "custom_attributes": {"gain": 1},
                      "instances": {"start_points": ["net/cell_1/left"], "end_points": ["net/cell_1/join"]}})

    def test_an_edge_of_a_port_that_is_not_connected(self):
        text = CELL.replace("match.input_nodes(i)[0][1])", "7)")
        self.refused(r"input_edges_match: input 7 of 'net/cell_1/left' is not connected", {"front/tf/Cell.py": text},
                     scope(["net/cell_1"]))

    def test_a_class_without_generate_sub_graph(self):
        text = CELL[:CELL.index("    def generate_sub_graph")]
        self.refused(r"Cell has neither 'replace_sub_graph' nor 'generate_sub_graph'", {"front/tf/Cell.py": text},
                     scope(["net/cell_1"]))

    def test_a_key_that_the_class_misses(self):
        self.refused(r"transformation Scale: .*front/tf/General.py:14: KeyError: 'factor'",
                     {"front/tf/General.py": GENERAL},
                     {"id": "ScaleOutput", "match_kind": "general", "custom_attributes": {"scale": 4.0}})


if __name__ == "__main__":
    unittest.main()
