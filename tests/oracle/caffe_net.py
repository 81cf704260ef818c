"""Writes Caffe networks: a prototxt, and a caffemodel in the wire format of protocol buffers. Needs nothing of Caffe."""
import numpy as np


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def delimited(field, payload):
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def blob(a):
    """BlobProto: data = 5, packed; shape = 7 with dim = 1, packed."""
    return delimited(5, np.ascontiguousarray(a, "<f4").tobytes()) + delimited(7, delimited(1, b"".join(varint(d) for d in a.shape)))


def text(fields, indent):
    """Fields of a message; a list repeats the field, a str is a word of an enumeration."""
    lines = []
    for name, value in fields.items():
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(v, dict):
                lines += [indent + name + " {", *text(v, indent + "  "), indent + "}"]
            else:
                lines.append("%s%s: %s" % (indent, name, str(v).lower() if isinstance(v, bool) else repr(v) if isinstance(v, float) else v))
    return lines


class Net:
    """A network under construction. Every method returns the name of the blob it makes; shapes are kept for the weights' sake."""

    def __init__(self, name, seed, shape, input="data"):
        self.name, self.rng, self.shapes = name, np.random.default_rng(seed), {input: list(shape)}
        self.lines = ['name: "%s"' % name, "layer {", '  name: "input"', '  type: "Input"', '  top: "%s"' % input,
                      "  input_param { shape { %s } }" % " ".join("dim: %d" % d for d in shape), "}"]
        self.weights, self.made = [], []  # (layer, top) in order

    def layer(self, kind, name, bottoms, top, shape, blobs=(), **messages):
        bottoms = [bottoms] if isinstance(bottoms, str) else bottoms
        self.lines += ["layer {", '  name: "%s"' % name, '  type: "%s"' % kind, *['  bottom: "%s"' % b for b in bottoms], '  top: "%s"' % top,
                       *text(messages, "  "), "}"]
        if blobs:
            self.weights.append((name, kind, blobs))
        self.shapes[top] = list(shape)
        self.made.append((name, top))
        return top

    def save(self, path):
        with open(path + ".prototxt", "w") as f:
            f.write("\n".join(self.lines) + "\n")
        with open(path + ".caffemodel", "wb") as f:
            f.write(delimited(1, self.name.encode()))
            for name, kind, blobs in self.weights:
                f.write(delimited(100, delimited(1, name.encode()) + delimited(2, kind.encode()) + b"".join(delimited(7, blob(b)) for b in blobs)))

    def tensors(self):
        """(layer, tensor): a blob that is written again in place is called blob/layer before that."""
        last = {top: layer for layer, top in self.made}
        return [(layer, top if last[top] == layer else "%s/%s" % (top, layer)) for layer, top in self.made]

    def random(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def uniform(self, low, high, *shape):
        return self.rng.uniform(low, high, shape).astype(np.float32)

    # ---- layers ----

    def conv(self, name, x, out, kernel, stride=1, pad=0, group=1, dilation=1, bias=True, gain=1.0):
        n, c, h, w = self.shapes[x]
        size = lambda d: (d + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
        fan = c // group * kernel * kernel
        blobs = [self.random(out, c // group, kernel, kernel, scale=gain * (2.0 / fan) ** 0.5)] + ([self.random(out, scale=0.1)] if bias else [])
        p = dict(num_output=out, kernel_size=kernel, stride=stride, pad=pad, group=group, dilation=dilation)
        p = {k: v for k, v in p.items() if v != {"stride": 1, "pad": 0, "group": 1, "dilation": 1}.get(k)}
        if not bias:
            p["bias_term"] = False
        return self.layer("Convolution", name, x, name, [n, out, size(h), size(w)], blobs, convolution_param=p)

    def deconv(self, name, x, out, kernel, stride, group=1):
        """Upsampling by a fixed triangle filter per channel where group is the number of channels, else random weights."""
        n, c, h, w = self.shapes[x]
        w0 = self.random(c, out // group, kernel, kernel, scale=(1.0 / (c // group * (kernel / stride) ** 2)) ** 0.5)
        if group == c == out:
            centre = (kernel - 1) / 2
            f = 1 - np.abs(np.arange(kernel) - centre) / ((kernel + 1) // 2)
            w0 = np.tile(np.outer(f, f)[None, None], (c, 1, 1, 1)).astype(np.float32)
        p = dict(num_output=out, kernel_size=kernel, stride=stride, bias_term=False)
        if group > 1:
            p["group"] = group
        return self.layer("Deconvolution", name, x, name, [n, out, (h - 1) * stride + kernel, (w - 1) * stride + kernel], [w0], convolution_param=p)

    def relu(self, name, x):
        return self.layer("ReLU", name, x, x, self.shapes[x])

    def batch_norm(self, name, x, scale_name, gain=1.0):
        """BatchNorm and Scale, both in place. The statistics are stored as sums, with the factor to divide by."""
        c, factor = self.shapes[x][1], 999.982
        self.layer("BatchNorm", name, x, x, self.shapes[x], [self.random(c, scale=0.1 * factor), self.uniform(0.6, 1.4, c) * np.float32(factor), np.array([factor], np.float32)],
                   batch_norm_param=dict(use_global_stats=True))
        return self.layer("Scale", scale_name, x, x, self.shapes[x], [self.uniform(0.8 * gain, 1.2 * gain, c), self.random(c, scale=0.1)], scale_param=dict(bias_term=True))

    def pool(self, name, x, kind, kernel=0, stride=1, pad=0):
        n, c, h, w = self.shapes[x]
        if not kernel:
            return self.layer("Pooling", name, x, name, [n, c, 1, 1], pooling_param=dict(pool=kind, global_pooling=True))

        def size(d):  # rounded up; a window may not begin in the padding behind
            k = -(-(d + 2 * pad - kernel) // stride) + 1
            return k - 1 if pad and (k - 1) * stride >= d + pad else k
        p = dict(pool=kind, kernel_size=kernel, stride=stride)
        if pad:
            p["pad"] = pad
        return self.layer("Pooling", name, x, name, [n, c, size(h), size(w)], pooling_param=p)

    def lrn(self, name, x):
        return self.layer("LRN", name, x, name, self.shapes[x], lrn_param=dict(local_size=5, alpha=0.0001, beta=0.75))

    def dense(self, name, x, out, gain=1.0):
        size = int(np.prod(self.shapes[x][1:]))
        return self.layer("InnerProduct", name, x, name, [self.shapes[x][0], out], [self.random(out, size, scale=gain * (2.0 / size) ** 0.5), self.random(out, scale=0.1)],
                          inner_product_param=dict(num_output=out))

    def dropout(self, name, x):
        return self.layer("Dropout", name, x, x, self.shapes[x], dropout_param=dict(dropout_ratio=0.5))

    def softmax(self, name, x, **p):
        return self.layer("Softmax", name, x, name, self.shapes[x], **(dict(softmax_param=p) if p else {}))

    def concat(self, name, xs, axis=1):
        shape = list(self.shapes[xs[0]])
        shape[axis] = sum(self.shapes[x][axis] for x in xs)
        return self.layer("Concat", name, xs, name, shape, concat_param=dict(axis=axis))

    def add(self, name, xs):
        return self.layer("Eltwise", name, xs, name, self.shapes[xs[0]], eltwise_param=dict(operation="SUM"))
