"""Pictures as arrays [height, width, (blue, green, red)]: files, sizes, colours."""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any, Sequence

import numpy as np

from .. import _native
from ..errors import Error

__all__ = ["COLOR_BGR2GRAY", "COLOR_BGR2RGB", "COLOR_GRAY2BGR", "COLOR_RGB2BGR", "IMREAD_COLOR", "IMREAD_GRAYSCALE",
           "INTER_LINEAR", "INTER_NEAREST", "cvtColor", "imread", "imwrite", "resize"]

IMREAD_GRAYSCALE, IMREAD_COLOR = 0, 1
INTER_NEAREST, INTER_LINEAR = 0, 1
COLOR_BGR2RGB = COLOR_RGB2BGR = 4
COLOR_BGR2GRAY, COLOR_GRAY2BGR = 6, 8


def _bgr(path: str) -> np.ndarray:
    picture = np.asarray(_native.read_tensor(path))
    if picture.ndim != 3 or picture.dtype != np.uint8:
        raise Error(f"expected a picture in '{path}', got an array of {picture.dtype} with shape {list(picture.shape)}")
    if picture.shape[2] < 3:
        return np.repeat(picture[:, :, :1], 3, axis=2)
    return np.ascontiguousarray(picture[:, :, 2::-1])


def imread(filename: str, flags: int = IMREAD_COLOR) -> "np.ndarray | None":
    """A picture (.png, .jpg, .ppm, .bmp); None if there is no such file, as OpenCV has it."""
    if flags not in (IMREAD_COLOR, IMREAD_GRAYSCALE):
        raise Error(f"imread: expected IMREAD_COLOR or IMREAD_GRAYSCALE, got {flags}", "unsupported")
    if not os.path.exists(filename):
        return None
    picture = _bgr(os.fspath(filename))
    return cvtColor(picture, COLOR_BGR2GRAY) if flags == IMREAD_GRAYSCALE else picture


def _bytes(picture: Any) -> np.ndarray:
    a = np.asarray(picture)
    if a.ndim not in (2, 3) or (a.ndim == 3 and a.shape[2] not in (1, 3)) or 0 in a.shape:
        raise Error(f"expected a picture [height, width] or [height, width, 3], got an array of shape {list(a.shape)}")
    a = a.reshape(a.shape[:2]) if a.ndim == 3 and a.shape[2] == 1 else a
    if a.dtype == np.bool_:
        return a.astype(np.uint8) * 255
    return a if a.dtype == np.uint8 else np.clip(np.rint(np.nan_to_num(a)), 0, 255).astype(np.uint8)


def imwrite(filename: str, img: Any) -> bool:
    """Writes a picture as .png, .ppm (colour) or .pgm (grey). Values are rounded and limited to 0..255."""
    a = _bytes(img)
    kind = os.path.splitext(filename)[1].lower()
    height, width = a.shape[:2]
    rows = a[:, :, ::-1] if a.ndim == 3 else a
    if kind in (".ppm", ".pgm"):
        if (kind == ".ppm") != (a.ndim == 3):
            raise Error(f"expected a {'colour' if kind == '.ppm' else 'grey'} picture for '{filename}', got shape {list(a.shape)}")
        content = b"P%d\n%d %d\n255\n" % (6 if a.ndim == 3 else 5, width, height) + rows.tobytes()
    elif kind == ".png":
        def chunk(name: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        lines = np.concatenate([np.zeros((height, 1), np.uint8), rows.reshape(height, -1)], axis=1)
        content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2 if a.ndim == 3 else 0, 0, 0, 0)) + \
            chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)) + chunk(b"IEND", b"")
    else:
        raise Error(f"imwrite: expected a name that ends in .png, .ppm or .pgm, got '{filename}'", "unsupported")
    with open(filename, "wb") as f:
        f.write(content)
    return True


def cvtColor(src: Any, code: int) -> np.ndarray:
    """Between blue-green-red, red-green-blue and grey."""
    a = np.asarray(src)
    if code == COLOR_GRAY2BGR:
        return np.repeat(a.reshape(a.shape[:2] + (1,)), 3, axis=2)
    if a.ndim != 3 or a.shape[2] != 3:
        raise Error(f"cvtColor: expected a picture [height, width, 3], got shape {list(a.shape)}")
    if code == COLOR_BGR2RGB:
        return np.ascontiguousarray(a[:, :, ::-1])
    if code != COLOR_BGR2GRAY:
        raise Error(f"cvtColor: there is no conversion {code} here", "unsupported")
    if a.dtype == np.uint8:  # in fixed point
        return ((a.astype(np.int32) @ np.array([3735, 19235, 9798]) + (1 << 14)) >> 15).astype(np.uint8)
    return (a @ np.array([0.114, 0.587, 0.299])).astype(a.dtype)


def _axis(size: int, wanted: int, step: float) -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
    """Neighbours of each position along an axis, and the share of the second, with the centres of pixels at 0.5."""
    at = ((np.arange(wanted) + 0.5) * step - 0.5).astype(np.float32)
    first = np.floor(at).astype(np.int64)
    share = (at - first.astype(np.float32)).astype(np.float32)
    share[(first < 0) | (first >= size - 1)] = 0
    first = np.clip(first, 0, size - 1)
    return first, np.minimum(first + 1, size - 1), share


def _linear(a: np.ndarray, height: int, width: int, steps: "tuple[float, float]") -> np.ndarray:
    y0, y1, down = _axis(a.shape[0], height, steps[0])
    x0, x1, across = _axis(a.shape[1], width, steps[1])
    if a.dtype != np.uint8:
        real = a if a.dtype in (np.float32, np.float64) else a.astype(np.float32)
        across, down = across[None, :, None].astype(real.dtype), down[:, None, None].astype(real.dtype)
        rows = real[:, x0] * (1 - across) + real[:, x1] * across
        out = rows[y0] * (1 - down) + rows[y1] * down
        return out if out.dtype == a.dtype else np.rint(out).astype(a.dtype)
    # Bytes are computed in fixed point with 11 bits.
    def parts(share: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
        second = np.rint(share * 2048).astype(np.int64)
        return 2048 - second, second
    left, right = (p[None, :, None] for p in parts(across))
    top, bottom = (p[:, None, None] for p in parts(down))
    rows = a.astype(np.int64)[:, x0] * left + a.astype(np.int64)[:, x1] * right
    return ((((rows[y0] >> 4) * top >> 16) + ((rows[y1] >> 4) * bottom >> 16) + 2) >> 2).clip(0, 255).astype(np.uint8)


def resize(src: Any, dsize: "Sequence[int] | None", dst: Any = None, fx: float = 0, fy: float = 0,
           interpolation: int = INTER_LINEAR) -> np.ndarray:
    """A picture of another size, (width, height), or by factors."""
    a = np.asarray(src)
    if dst is not None:
        raise Error("resize: the argument dst is not supported", "unsupported")
    if a.ndim not in (2, 3) or 0 in a.shape:
        raise Error(f"resize: expected a picture [height, width] or [height, width, channels], got shape {list(a.shape)}")
    by_factor = dsize is None or tuple(dsize) == (0, 0)
    width, height = (int(round(a.shape[1] * fx)), int(round(a.shape[0] * fy))) if by_factor else (int(d) for d in dsize)  # type: ignore
    if width <= 0 or height <= 0:
        raise Error(f"resize: expected a positive size, got {width} x {height}")
    if (height, width) == a.shape[:2]:
        return a.copy()
    steps = (1 / fy, 1 / fx) if by_factor else (a.shape[0] / height, a.shape[1] / width)
    planes = a.reshape(a.shape[0], a.shape[1], -1)
    if interpolation == INTER_NEAREST:
        y, x = (np.minimum(np.floor(np.arange(n) * s).astype(np.int64), m - 1) for n, s, m in zip((height, width), steps, a.shape))
        out = planes[y][:, x]
    elif interpolation == INTER_LINEAR:
        out = _linear(planes, height, width, steps)
    else:
        raise Error(f"resize: expected INTER_LINEAR or INTER_NEAREST, got {interpolation}", "unsupported")
    return np.ascontiguousarray(out.reshape((height, width) + a.shape[2:]))
