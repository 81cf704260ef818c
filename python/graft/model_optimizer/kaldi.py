"""Components of Kaldi as extractors read them: ``node.parameters``, a stream of tokens and binary values, and the functions
for it.

The reader has taken a component apart already, so the stream is made from its fields and weights: fields in the order of
the file, then the weights. `collect_until_token` therefore searches the whole component, not only what follows.
"""

from __future__ import annotations

import io
import os
import struct
from typing import Any, Sequence

import numpy as np

from .errors import Error, refer_to_faq_msg

__all__ = ["Parameters", "get_bool", "get_uint16", "get_uint32", "get_uint64", "read_binary_bool_token",
           "read_binary_integer32_token", "read_binary_integer64_token", "read_binary_float_token", "read_string",
           "find_next_tag", "read_placeholder", "get_name_from_path", "read_token_value", "collect_until_whitespace",
           "collect_until_token", "collect_until_token_and_read", "create_edge_attrs", "read_blob",
           "get_args_for_specifier", "read_binary_matrix", "read_binary_vector", "read_binary_vector_of_pairs",
           "read_learning_info"]

_INT32 = b"\x04"


class Parameters(io.BytesIO):
    """A component in Kaldi's binary form. `numbers` has the values by position: the form of both kinds is the same."""

    def __init__(self, type: str, fields: "dict[str, Any]", weights: "Sequence[tuple[str, np.ndarray]]") -> None:
        super().__init__()
        self.type, self.tokens = type, [t for t in fields] + [t for t, _ in weights if not t.isdigit()]
        self.numbers: "dict[int, Any]" = {}
        for token, value in fields.items():
            self.write(f"<{token}> ".encode())
            self._write(value)
        for token, array in weights:
            if not token.isdigit():  # a weight without a token
                self.write(f"<{token}> ".encode())
            self._write_array(np.asarray(array, dtype=np.float32))
        self.write(b"<!EndOfComponent> ")
        self.seek(0)

    def _write(self, value: Any) -> None:
        if isinstance(value, (bool, np.bool_)):
            self.write(b"T" if value else b"F")
        elif isinstance(value, (int, float, np.integer, np.floating)):
            self.numbers[self.tell()] = value
            whole = isinstance(value, (int, np.integer)) and -2**31 <= value < 2**31
            self.write(_INT32 + struct.pack("<i" if whole else "<f", value))
        elif isinstance(value, (str, bytes)):
            self.write((value.encode() if isinstance(value, str) else value) + b" ")
        else:
            array = np.asarray(value)
            if array.dtype.kind in "iu":
                self.write(_INT32 + struct.pack("<i", array.size) + array.astype("<i4").tobytes())
            else:
                self._write_array(array.astype(np.float32))

    def _write_array(self, array: np.ndarray) -> None:
        self.write(b"FV " if array.ndim < 2 else b"FM ")
        for size in array.shape or (1,):
            self.write(_INT32 + struct.pack("<i", size))
        self.write(np.ascontiguousarray(array, "<f4").tobytes())


def _exactly(file_desc: Any, size: int) -> bytes:
    data = file_desc.read(size)
    if len(data) < size:
        raise Error("unexpected end of the Kaldi component")
    return data


def _number(file_desc: Any, form: str) -> Any:
    """A number with the byte that states its size."""
    known = getattr(file_desc, "numbers", {}).get(file_desc.tell())
    size = _exactly(file_desc, 1)[0]
    data = _exactly(file_desc, struct.calcsize(form))
    if size != len(data):
        raise Error(f"expected a number of {len(data)} bytes in the Kaldi component, got one of {size}")
    if known is not None:
        return float(known) if form == "<f" else int(known)
    return struct.unpack(form, data)[0]


def get_bool(s: bytes) -> bool:
    if s not in (b"T", b"F"):
        raise Error(f"expected T or F in the Kaldi component, got {s!r}")
    return s == b"T"


def get_uint16(s: bytes) -> int:
    return struct.unpack("<H", s)[0]


def get_uint32(s: bytes) -> int:
    return struct.unpack("<I", s)[0]


def get_uint64(s: bytes) -> int:
    return struct.unpack("<Q", s)[0]


def read_binary_bool_token(file_desc: Any) -> bool:
    return get_bool(_exactly(file_desc, 1))


def read_binary_integer32_token(file_desc: Any) -> int:
    return _number(file_desc, "<i")


def read_binary_integer64_token(file_desc: Any) -> int:
    return _number(file_desc, "<q")


def read_binary_float_token(file_desc: Any) -> float:
    return _number(file_desc, "<f")


def collect_until_whitespace(file_desc: Any) -> bytes:
    found = b""
    while True:
        symbol = file_desc.read(1)
        if symbol in (b" ", b"", b"\n"):
            return found
        found += symbol


read_string = collect_until_whitespace


def find_next_tag(file_desc: Any) -> str:
    """The next ``<Token>``."""
    tag = b""
    while True:
        symbol = file_desc.read(1)
        if not symbol:
            raise Error("unexpected end of the Kaldi component")
        tag = symbol if symbol == b"<" else tag + symbol if tag else b""
        if tag and symbol == b">":
            try:
                return tag.decode("ascii")
            except UnicodeDecodeError:  # bytes of a number
                tag = b""


def read_placeholder(file_desc: Any, size: int = 3) -> bytes:
    return file_desc.read(size)


def get_name_from_path(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def read_token_value(file_desc: Any, token: bytes = b"", value_type: Any = np.uint32) -> Any:
    current = collect_until_whitespace(file_desc)
    if token not in (b"", current):
        raise Error(f"expected the token {token.decode()} in the Kaldi component, got {current!r}" + refer_to_faq_msg(94))
    return _READERS[value_type](file_desc)


_READERS = {np.uint32: read_binary_integer32_token, np.uint64: read_binary_integer64_token,
            bool: read_binary_bool_token, np.bool_: read_binary_bool_token, str: read_string}


def collect_until_token(file_desc: Any, token: bytes, size_search_zone: int = 0) -> None:
    """Moves behind the token."""
    rest = file_desc.read()
    at = rest.find(token + b" ")
    if at >= 0:
        file_desc.seek(at + len(token) + 1 - len(rest), os.SEEK_CUR)
        return
    file_desc.seek(0)
    at = file_desc.read().find(token + b" ") if isinstance(file_desc, Parameters) else -1
    if at < 0:
        known = ", ".join(f"<{t}>" for t in getattr(file_desc, "tokens", [])) or "none"
        raise Error(f"the Kaldi component '{getattr(file_desc, 'type', '')}' has no token {token.decode()}; it has {known}")
    file_desc.seek(at + len(token) + 1)


def collect_until_token_and_read(file_desc: Any, token: bytes, value_type: Any = np.uint32) -> Any:
    collect_until_token(file_desc, token)
    return _READERS[value_type](file_desc)


def read_blob(file_desc: Any, size: int, dtype: Any = np.float32) -> np.ndarray:
    kind = np.dtype(dtype)
    return np.frombuffer(_exactly(file_desc, size * kind.itemsize), dtype=kind)


def read_binary_matrix(file_desc: Any, read_token: bool = True) -> "tuple[np.ndarray, tuple[int, int]]":
    if read_token:
        read_placeholder(file_desc)
    rows, columns = read_binary_integer32_token(file_desc), read_binary_integer32_token(file_desc)
    return read_blob(file_desc, rows * columns), (rows, columns)


def read_binary_vector(file_desc: Any, read_token: bool = True, dtype: Any = np.float32) -> np.ndarray:
    if read_token:
        read_placeholder(file_desc)
    return read_blob(file_desc, read_binary_integer32_token(file_desc), dtype)


def read_binary_vector_of_pairs(file_desc: Any, read_token: bool = True, dtype: Any = np.float32) -> np.ndarray:
    if read_token:
        read_placeholder(file_desc)
    return read_blob(file_desc, 2 * read_binary_integer32_token(file_desc), dtype)


_LEARNING = (b"<LearnRateCoef>", b"<LearningRate>", b"<BiasLearnRateCoef>", b"<MaxNorm>")


def read_learning_info(pb: Any) -> None:
    """Skips what is for training."""
    while True:
        place = pb.tell()
        if collect_until_whitespace(pb) not in _LEARNING:
            pb.seek(place)
            return
        _exactly(pb, 5)


def create_edge_attrs(prev_layer_id: str, next_layer_id: str, tensor_name: str, in_port: int = 0,
                      out_port: int = 0) -> "dict[str, Any]":
    return {"out": out_port, "in": in_port, "name": next_layer_id, "fw_tensor_debug_info": [(prev_layer_id, tensor_name)],
            "in_attrs": ["in", "name"], "out_attrs": ["out", "name"], "data_attrs": ["fw_tensor_debug_info"]}


def get_args_for_specifier(string: bytes) -> "list[bytes]":
    """The arguments in brackets, of the outermost level."""
    args: "list[bytes]" = [b""]
    depth = 0
    for symbol in (string[i:i + 1] for i in range(1, len(string) - 1)):
        depth += {b"(": 1, b")": -1}.get(symbol, 0)
        if symbol == b"," and not depth:
            args.append(b"")
        else:
            args[-1] += symbol
    return [a.strip() for a in args if a.strip()]
