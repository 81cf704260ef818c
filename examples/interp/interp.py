"""ZoomInterp and GainInterp: bilinear resizing with aligned corners to `zoom_factor` times the size."""
import numpy as np
import graft


def zoom(x, axis, size):
    at = np.linspace(0, x.shape[axis] - 1, size)
    low = at.astype(int)
    high = np.minimum(low + 1, x.shape[axis] - 1)
    part = (at - low).reshape([-1 if i == axis else 1 for i in range(4)])
    return x.take(low, axis) * (1 - part) + x.take(high, axis) * part


def zoomed(x, *blobs, zoom_factor):
    n, c, h, w = x.shape
    return n, c, h and h * zoom_factor, w and w * zoom_factor


@graft.op(caffe="ZoomInterp", shape=zoomed)
def ZoomInterp(x, zoom_factor: int = 1):
    return zoom(zoom(x, 2, x.shape[2] * zoom_factor), 3, x.shape[3] * zoom_factor).astype(x.dtype)


@graft.op(caffe="GainInterp", shape=zoomed)
def GainInterp(x, gain, zoom_factor: int = 1):
    return ZoomInterp(x, zoom_factor) * gain.reshape(-1, 1, 1)
