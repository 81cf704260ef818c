"""Small modules of torch.nn, each around one thing that exporters write in an odd way."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Apply(nn.Module):
    """A function, with the modules that it needs."""

    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        self.parts = nn.ModuleDict(modules)

    def forward(self, x):
        return self.function(x, **self.parts)


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True)

    def forward(self, x):
        return self.layer(x, x.flip(1), tgt_mask=torch.full((x.shape[1], x.shape[1]), -math.inf).triu(1))


class UNet(nn.Module):
    """Two levels down and up, with skips."""

    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU())
        self.first, self.second, self.third = block(3, 8), block(8, 16), block(16, 32)
        self.up1, self.up2 = nn.ConvTranspose2d(32, 16, 2, 2), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.fourth, self.fifth, self.last = block(32, 16), block(24, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.first(x)
        b = self.second(F.max_pool2d(a, 2))
        c = self.third(F.max_pool2d(b, 2))
        d = self.fourth(torch.cat([self.up1(c), b], 1))
        return self.last(self.fifth(torch.cat([self.up2(d), a], 1)))


class Windows(nn.Module):
    """Pads a picture to whole windows and cuts it into them, as Swin does."""

    def forward(self, x):
        n, h, w, c = x.shape
        side = 4
        x = F.pad(x, (0, 0, 0, (side - w % side) % side, 0, (side - h % side) % side))
        _, high, wide, _ = x.shape
        x = torch.roll(x, (-1, -2), (1, 2))
        x = x.view(n, high // side, side, wide // side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side, c)
        x = torch.softmax(x @ x.transpose(1, 2), -1) @ x
        x = x.view(n, high // side, wide // side, side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(n, high, wide, c)
        return torch.roll(x, (1, 2), (1, 2))[:, :h, :w, :]


def scatters(x):
    index = torch.tensor([[0, 2, 1], [1, 0, 3]])
    y = x.scatter(0, index, x[:2, :3] * 2).scatter_add(1, index, x[:2, 3:])
    z = x.clone()
    z[1:3, ::2] = z[1:3, ::2] * 3
    z[torch.tensor([0, 3]), torch.tensor([1, 4])] = 7
    return y, z, x.index_add(0, torch.tensor([1, 2]), x[:2]), x.masked_fill(x > 0.5, -1), x[:2].gather(1, index)


def sorting(x):
    top, where = x.topk(4, 1)
    return top, where, x.sort(1, descending=True)[0], x.argmax(1), x.cumsum(0), torch.unique(where)


def grid(x):
    theta = torch.tensor([[[0.8, 0.3, 0.1], [-0.2, 1.1, -0.3]]])
    g = F.affine_grid(theta, [1, 3, 5, 4], align_corners=False)
    return F.grid_sample(x, g, align_corners=False), F.grid_sample(x, g, "nearest", "border", False), F.grid_sample(x, g, "bicubic", "reflection", True)


def pad_modes(x):
    return F.pad(x, (1, 2, 0, 3), value=5), F.pad(x, (1, 2, 2, 1), "reflect"), F.pad(x, (3, 1, 1, 1), "replicate"), F.pad(x, (1, 2, 2, 1), "circular"), F.pad(x, (-1, 1, 2, -2))


def resizes(x):
    up = lambda **k: F.interpolate(x, **k)
    return (up(scale_factor=2, mode="nearest"), up(size=(5, 9), mode="bilinear"), up(size=(11, 4), mode="bicubic", align_corners=True),
            up(size=(3, 7), mode="area"), F.adaptive_avg_pool2d(x, (3, 1)), up(scale_factor=1.7, mode="bilinear", align_corners=False))


def ceil_pools(x):
    y = F.avg_pool2d(x, 4, 3, 1, ceil_mode=True), F.avg_pool2d(x, 4, 3, 1, ceil_mode=True, count_include_pad=False)
    return *y, F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 12, ceil_mode=True), F.max_pool2d(x, (12, 4), ceil_mode=True)


def einsums(x):
    return (torch.einsum("abcd,abed->abce", x, x), torch.einsum("abcd,ebcd->ae", x, x), torch.einsum("abcc->bac", x[..., :4]),
            torch.einsum("a...d,b...d->ab...", x, x), torch.tensordot(x, x, dims=([1, 2], [1, 2])))


def activations(x):
    return tuple(f(3 * x) for f in (F.gelu, F.silu, F.mish, F.elu, F.selu, F.hardswish, F.hardsigmoid, F.softplus, F.softsign, F.celu, F.leaky_relu, F.relu6, F.tanhshrink,
                                    F.softshrink, F.hardshrink, F.logsigmoid, lambda v: F.gelu(v, approximate="tanh"), lambda v: F.glu(v[:, :16])))


MAKERS = {
    "lstm": lambda: nn.LSTM(8, 6, 2),
    "gru": lambda: nn.GRU(8, 6, 2),
    "rnn": lambda: nn.RNN(8, 6, 1, nonlinearity="relu"),
    "bidirectional_lstm": lambda: nn.LSTM(8, 6, 1, bidirectional=True, batch_first=True),
    "attention": lambda: Apply(lambda x, m: m(x, x, x)[0], m=nn.MultiheadAttention(16, 4)),
    "encoder_layer": lambda: Apply(lambda x, m: m(x), m=nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu")),
    "decoder_layer": DecoderLayer,
    "stft": lambda: Apply(lambda x: torch.stft(x, 32, 8, window=torch.hann_window(32), return_complex=False)),
    "ceil_pools": lambda: Apply(ceil_pools),
    "pad_modes": lambda: Apply(pad_modes),
    "resizes": lambda: Apply(resizes),
    "grid": lambda: Apply(grid),
    "transposed_convolutions": lambda: Apply(lambda x, a, b: (a(x), b(x)), a=nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), b=nn.ConvTranspose2d(4, 2, (4, 3), (2, 3), dilation=2)),
    "norms": lambda: Apply(lambda x, g, i, l, b: (g(x), i(x), l(x), b(x), F.local_response_norm(x, 3), F.normalize(x, dim=1)),
                           g=nn.GroupNorm(2, 8), i=nn.InstanceNorm2d(8, affine=True), l=nn.LayerNorm([6, 7]), b=nn.BatchNorm2d(8)),
    "scatters": lambda: Apply(scatters),
    "einsums": lambda: Apply(einsums),
    "tensor_split": lambda: Apply(lambda x: tuple(t.sum(1) for t in x.tensor_split((2, 3), 1)) + tuple(x.tensor_split((1,), 2))),
    "chunks": lambda: Apply(lambda x: tuple(c.mean(1) for c in x.chunk(2, 1)) + x.unbind(2) + x.split(4, 2)),
    "sorting": lambda: Apply(sorting),
    "pixel_shuffles": lambda: Apply(lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.unfold(x, 2, stride=2))),
    "folds": lambda: Apply(lambda x: F.fold(F.unfold(x, 2), (4, 6), 2)),
    "activations": lambda: Apply(activations),
    "embedding_bag": lambda: nn.EmbeddingBag(20, 6, mode="mean"),
    "unet": UNet,
    "windows": Windows,
}
