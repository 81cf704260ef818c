"""The graph that extension files edit: ports, connections, patterns, and small groups of nodes."""
import unittest

import numpy as np
import support  # noqa: F401  finds the package

from graft.model_optimizer.building import create_op_with_const_inputs
from graft.model_optimizer.builtin import BUILTIN, Const, Parameter
from graft.model_optimizer.emit import ir_attributes
from graft.model_optimizer.errors import Error
from graft.model_optimizer.extractor import AttrDictionary, CaffePythonFrontExtractorOp, bool_to_str
from graft.model_optimizer.graph import rename_nodes
from graft.model_optimizer.infer import broadcast_shape, eltwise_infer, tf_window_op_pad_infer
from graft.model_optimizer.modules import names_of
from graft.model_optimizer.node import Node
from graft.model_optimizer.op import Op
from graft.model_optimizer.pattern import apply_pattern, find_pattern_matches
from graft.model_optimizer.raw_graph import new_graph
from graft.model_optimizer.shapes import dynamic_dimension, shape_array
from graft.model_optimizer.subgraph import CustomReplacementDescriptor, SubgraphMatcher

Add, Mul, Relu = BUILTIN["elementwise.Add"], BUILTIN["elementwise.Mul"], BUILTIN["activation_ops.ReLU"]
Result = BUILTIN["result.Result"]


class Graphs(unittest.TestCase):
    def setUp(self):
        self.graph = new_graph("onnx")
        self.x = Parameter(self.graph, {"name": "x", "shape": [1, 3]}).create_node()
        self.relu = Relu(self.graph, {"name": "relu"}).create_node([self.x])
        self.mul = Mul(self.graph, {"name": "mul"}).create_node([self.relu, self.x])
        self.result = Result(self.graph, {"name": "result"}).create_node([self.mul])

    def consumers(self, node):
        return sorted(p.node.id for p in node.out_port(0).get_destinations())

    def test_ports(self):
        self.assertEqual(self.consumers(self.x), ["mul", "relu"])
        self.assertEqual(self.mul.in_port(0).get_source(), self.relu.out_port(0))
        self.assertEqual(self.mul.in_node(1).id, "x")
        self.mul.in_port(1).disconnect()
        self.assertFalse(self.mul.is_in_port_connected(1))
        self.relu.out_port(0).connect(self.mul.in_port(1))
        self.assertEqual([n.id for n in self.mul.in_nodes().values()], ["relu", "relu"])
        with self.assertRaisesRegex(Error, "node 'mul' has no in port 7"):
            self.mul.in_port(7)

    def test_connections(self):
        made = Relu(self.graph, {"name": "other"}).create_node()
        self.relu.out_port(0).get_connection().insert_node(made)
        self.assertEqual(self.mul.in_node(0).id, "other")
        self.assertEqual(made.in_node(0).id, "relu")
        self.x.out_port(0).get_connection().set_source(made.out_port(0))
        self.assertEqual(self.consumers(self.x), [])
        self.mul.out_port(0).get_connection().set_source(self.x.out_port(0))
        self.assertEqual(self.result.in_node(0).id, "x")
        connection = self.relu.in_port(0).get_connection()
        connection.set_destination(self.mul.in_port(0))
        self.assertFalse(self.relu.is_in_port_connected(0))

    def test_attributes(self):
        self.assertEqual(self.relu.soft_get("axis", 7), 7)
        self.assertFalse(self.relu.has_valid("axis"))
        self.relu["axis"] = 0
        self.assertTrue(self.relu.has("axis") and not self.relu.has_and_set("axis"))
        with self.assertRaisesRegex(AttributeError, "node 'relu' has no attribute 'alpha'"):
            self.relu.alpha
        self.graph.remove_node("relu")
        with self.assertRaisesRegex(AttributeError, "node 'relu' has been removed"):
            self.relu.axis

    def test_names(self):
        rename_nodes([(self.mul, "relu"), (self.relu, "mul")])
        self.assertEqual((self.mul.name, self.relu.name), ("relu", "mul"))
        self.assertEqual(self.graph.unique_id("mul"), "mul_0")
        self.assertEqual(self.graph.unique_id("new"), "new")

    def test_clean_up_and_erase(self):
        Relu(self.graph, {"name": "dead"}).create_node([self.x])
        self.graph.clean_up()
        self.assertNotIn("dead", self.graph)
        self.graph.erase_node(self.relu)
        self.assertEqual([n.id for n in self.mul.in_nodes().values()], ["x", "x"])
        with self.assertRaisesRegex(Error, "expected one input, got 2"):
            self.graph.erase_node(self.mul)

    def test_patterns(self):
        nodes, edges = [("a", {"op": "ReLU"}), ("m", {"op": lambda op: op in ("Mul", "Add")})], [("a", "m", {"in": 0})]
        self.assertEqual(find_pattern_matches(self.graph, nodes, edges), [{"relu": "a", "mul": "m"}])
        self.assertEqual(find_pattern_matches(self.graph, nodes, [("a", "m", {"in": 1})]), [])
        seen = []
        apply_pattern(self.graph, nodes, edges, lambda graph, match: seen.append(match["m"].id))
        self.assertEqual(seen, ["mul"])
        with self.assertRaisesRegex(ValueError, "names a node that the pattern does not have"):
            find_pattern_matches(self.graph, nodes, [("a", "z")])

    def test_a_match_is_an_induced_sub_graph(self):
        """x feeds both nodes, so a pattern without the edge from x to mul does not match."""
        nodes = [("x", {"op": "Parameter"}), ("r", {"op": "ReLU"}), ("m", {"op": "Mul"})]
        self.assertEqual(find_pattern_matches(self.graph, nodes, [("x", "r"), ("r", "m")]), [])
        self.assertEqual(len(find_pattern_matches(self.graph, nodes, [("x", "r"), ("r", "m"), ("x", "m")])), 1)

    def test_constant_inputs(self):
        made = create_op_with_const_inputs(self.graph, Add, {1: np.float32(2)}, {"name": "plus"}, self.relu)
        self.assertEqual(made.in_port(1).data.get_value(), 2)
        self.assertEqual(made.in_node(0).id, "relu")
        self.assertEqual(Const(self.graph, {"value": [1, 2]}).create_node().shape.tolist(), [2])

    def test_a_node_with_several_outputs_needs_a_port(self):
        split = BUILTIN["split.AttributedSplit"](self.graph,
                                                 {"name": "s", "num_splits": 2, "axis": 1}).create_node([self.x])
        for port in (0, 1):
            Relu(self.graph, {}).create_node([(split, port)])
        with self.assertRaisesRegex(Error, "node 's' has 2 used outputs"):
            Relu(self.graph, {}).create_node([split])

    def test_attributes_of_an_operation(self):
        class Warp(Op):
            op = "Warp"

            def backend_attrs(self):
                return ["gain", ("size", "kernel"), ("mode", lambda node: bool_to_str(node, "wrap")), "absent"]

        node = Warp(self.graph, {"type": "Warp", "gain": np.float32(2), "kernel": np.array([3, 4]),
                                 "wrap": 1}).create_node()
        self.assertEqual(ir_attributes(node), {"gain": 2.0, "size": [3, 4], "mode": "true"})

    def test_sub_graph_of_points(self):
        entry = {"match_kind": "points", "instances": {"start_points": ["relu"], "end_points": ["mul"]}}
        with self.assertRaisesRegex(Error, "the sub-graph contains the model input 'x'"):
            SubgraphMatcher(CustomReplacementDescriptor("r", entry)).matched_sub_graph_instances(self.graph)
        self.mul.in_port(1).disconnect()
        match = SubgraphMatcher(CustomReplacementDescriptor("r", entry)).matched_sub_graph_instances(self.graph)[0]
        self.assertEqual(match.matched_nodes_names(), ["relu", "mul"])
        self.assertEqual((match.single_input_node(0)[0].id, match.output_node(0)[0].id), ("relu", "mul"))

    def test_sub_graph_of_a_scope(self):
        for name, source in (("cell/a", self.x), ("cell/b", None)):
            Relu(self.graph, {"name": name}).create_node([source or Node(self.graph, "cell/a")])
        entry = {"match_kind": "scope", "instances": ["cell"], "inputs": [[{"node": "a$", "port": 0}]],
                 "outputs": [{"node": "b$", "port": 0}]}
        match = SubgraphMatcher(CustomReplacementDescriptor("r", entry)).matched_sub_graph_instances(self.graph)[0]
        self.assertEqual((match.inputs_count(), match.outputs_count()), (1, 1))
        self.assertEqual(match.node_by_pattern("b$").id, "cell/b")


class Helpers(unittest.TestCase):
    def test_shapes(self):
        shape = shape_array([1, dynamic_dimension, 3])
        self.assertEqual(shape.tolist(), [1, None, 3])
        self.assertIs(shape[1], dynamic_dimension)
        self.assertEqual(broadcast_shape(shape, [5, 1, 4, 1]).tolist(), [5, 1, 4, 3])
        with self.assertRaisesRegex(Error, "cannot be broadcast"):
            broadcast_shape([2, 3], [4, 3])

    def test_window_pads(self):
        pads, sizes = tf_window_op_pad_infer([7, 8], [3, 3], [2, 2], "same_upper")
        self.assertEqual((pads.tolist(), sizes.tolist()), ([[1, 1], [0, 1]], [4, 4]))
        self.assertEqual(tf_window_op_pad_infer([7], [3], [2], "valid")[1].tolist(), [3])

    def test_eltwise_infer_computes_values(self):
        graph = new_graph("onnx")
        graph.stage = "middle"
        nodes = [Op.create_input_data_node(graph, n, np.array(v)) for n, v in (("a", [1, 2]), ("b", [[3], [4]]))]
        data = Add(graph, {"name": "sum", "operation": lambda a, b: a + b}).create_node_with_data(nodes)
        self.assertEqual(data.value.tolist(), [[4, 5], [5, 6]])
        node = data.in_node(0)
        node["operation"] = None
        eltwise_infer(node)
        self.assertEqual(data.shape.tolist(), [2, 2])

    def test_text_attributes(self):
        attrs = AttrDictionary({"kernel": "(3, 4)", "flag": "True", "rate": "0.5", "none": "None"})
        self.assertEqual(attrs.tuple("kernel", int, None), (3, 4))
        self.assertEqual((attrs.bool("flag"), attrs.float("rate"), attrs.int("none", 3), attrs.int("absent", 3)),
                         (True, 0.5, None, 3))
        self.assertEqual(CaffePythonFrontExtractorOp.parse_param_str("'a': 1, 'b': [2]"), {"a": 1, "b": [2]})
        with self.assertRaisesRegex(Error, "expected a Python dictionary"):
            CaffePythonFrontExtractorOp.parse_param_str("a b")

    def test_the_table_of_modules(self):
        self.assertIn("Add", names_of("ops.elementwise"))
        self.assertIn("Pack", names_of("front.Pack"))
        self.assertIsNone(names_of("front.nothing"))
        for path in ("graph.graph", "ops.op", "front.extractor", "middle.replacement", "back.replacement"):
            self.assertTrue(names_of(path))


if __name__ == "__main__":
    unittest.main()
