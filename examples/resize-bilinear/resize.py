"""SmoothResize as an operation, and ResizeBilinear as a layer in OpenCV's form."""
import numpy as np
import graft


def between(count, size):
    """For each output: the two inputs it lies between, and how far."""
    at = np.arange(size) * count / size
    low = at.astype(int)
    return low, np.minimum(low + 1, count - 1), (at - low).astype(np.float32)


@graft.op(tensorflow="SmoothResize", shape=lambda x, size: (x.shape[0], *(size.value if size.value is not None else (None, None)), x.shape[3]))
def SmoothResize(x, size):
    for axis in (1, 2):
        low, high, t = between(x.shape[axis], size[axis - 1])
        t = (t * t * (3 - 2 * t)).reshape((-1, 1, 1) if axis == 1 else (-1, 1))
        x = x.take(low, axis) * (1 - t) + x.take(high, axis) * t
    return x


class ResizeBilinearLayer:
    def __init__(self, params, blobs):
        self.size = blobs[0].tolist()

    def getMemoryShapes(self, inputs):
        return [inputs[0][:2] + self.size]

    def forward(self, inputs):
        x = inputs[0]
        for axis in (2, 3):
            low, high, t = between(x.shape[axis], self.size[axis - 2])
            t = t.reshape((-1, 1) if axis == 2 else -1)
            x = x.take(low, axis) * (1 - t) + x.take(high, axis) * t
        return [x]


graft.register_layer("ResizeBilinear", ResizeBilinearLayer)
