from mo.front.common.partial_infer.elemental import copy_shape_infer
from mo.graph.graph import Graph
from mo.ops.op import Op


class Swirl(Op):
    op = 'Swirl'

    def __init__(self, graph: Graph, attrs: dict):
        super().__init__(graph, {
            'type': self.op, 'op': self.op, 'version': 'acme',
            'in_ports_count': 1, 'out_ports_count': 1, 'infer': copy_shape_infer}, attrs)

    def backend_attrs(self):
        return ['turns']
