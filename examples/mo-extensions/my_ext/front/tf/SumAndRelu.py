from extensions.ops.activation_ops import ReLU
from extensions.ops.elementwise import Add
from mo.front.common.replacement import FrontReplacementOp


class SumAndRelu(FrontReplacementOp):
    op = 'SumAndRelu'
    enabled = True

    def replace_op(self, graph, node):
        total = Add(graph, {'name': node.id + '/add'}).create_node([node.in_node(0), node.in_node(1)])
        return [ReLU(graph, {'name': node.id + '/relu'}).create_node([total]).id]
