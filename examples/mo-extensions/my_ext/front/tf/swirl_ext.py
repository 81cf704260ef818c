from mo.front.extractor import FrontExtractorOp
from ...ops.Swirl import Swirl


class SwirlExtractor(FrontExtractorOp):
    op = 'Swirl'
    enabled = True

    @classmethod
    def extract(cls, node):
        Swirl.update_node_stat(node, {'turns': node.pb.attr['turns'].f})
        return cls.enabled
