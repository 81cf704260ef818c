"""Element types: the numbers and names that frameworks, the Model Optimizer and IRs give them."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

from .errors import Error

__all__ = ["tf_number", "onnx_number", "tf_dtype", "onnx_dtype", "ir_name", "SUPPORTED_DATA_TYPES", "packed_U1",
           "packed_U4",
           "packed_I4", "data_type_str_to_np", "data_type_str_to_precision", "data_type_str_to_destination_type",
           "np_data_type_to_precision", "np_data_type_to_destination_type", "destination_type_to_np_data_type",
           "precision_to_destination_type", "convert_blob", "tf_data_type_decode", "tf_data_type_cast",
           "mxnet_str_dtype_to_np", "get_onnx_datatype_as_numpy"]


class packed_U1(np.generic):
    """Marks constants of one bit."""


class packed_U4(np.generic):
    """Marks unsigned constants of four bits."""


class packed_I4(np.generic):
    """Marks signed constants of four bits."""


# name, numpy type, precision, name in an IR, TensorFlow's number, ONNX's number
_ROWS = (("float", np.float32, "FP32", "f32", 1, 1), ("double", np.float64, "FP64", "f64", 2, 11),
         ("half", np.float16, "FP16", "f16", 19, 10), ("int8", np.int8, "I8", "i8", 6, 3),
         ("int16", np.int16, "I16", "i16", 5, 5), ("int32", np.int32, "I32", "i32", 3, 6),
         ("int64", np.int64, "I64", "i64", 9, 7), ("bool", np.bool_, "BOOL", "boolean", 10, 9),
         ("uint8", np.uint8, "U8", "u8", 4, 2), ("uint16", np.uint16, "U16", "u16", 17, 4),
         ("uint32", np.uint32, "U32", "u32", 22, 12), ("uint64", np.uint64, "U64", "u64", 23, 13),
         ("U1", packed_U1, "U1", "u1", 0, 0), ("uint4", packed_U4, "U4", "u4", 0, 0),
         ("int4", packed_I4, "I4", "i4", 0, 0), ("string", np.str_, "STRING", "string", 7, 8),
         ("complex64", np.complex64, "COMPLEX64", "complex64", 8, 14))
_ALIASES = {"FP32": "float", "FP16": "half", "float32": "float", "float16": "half", "float64": "double",
            "I64": "int64", "I32": "int32", "boolean": "bool"}

SUPPORTED_DATA_TYPES = {r[0]: (r[1], r[2], r[3]) for r in _ROWS}
SUPPORTED_DATA_TYPES.update({alias: SUPPORTED_DATA_TYPES[name] for alias, name in _ALIASES.items()})
_TF = {r[4]: r[1] for r in _ROWS if r[4]}
_ONNX = {r[5]: r[1] for r in _ROWS if r[5]}


def _row(dtype: Any) -> Any:
    if isinstance(dtype, type) and issubclass(dtype, (packed_U1, packed_U4, packed_I4)):
        return next(r for r in _ROWS if r[1] is dtype)
    dtype = np.dtype(dtype)
    if dtype.kind in "OSU":
        dtype = np.dtype(np.str_)
    found = next((r for r in _ROWS if r[1] is dtype.type), None)
    if found is None:
        raise Error(f"element type '{dtype}' is not supported")
    return found


def tf_number(dtype: Any) -> int:
    return int(_row(dtype)[4])


def onnx_number(dtype: Any) -> int:
    return int(_row(dtype)[5])


def ir_name(dtype: Any) -> str:
    return str(_row(dtype)[3])


def tf_dtype(number: Any, default: Any = None) -> Any:
    """The numpy type of TensorFlow's number. References are the numbers plus 100."""
    if isinstance(number, (np.dtype, type)):
        return np.dtype(number).type
    return _TF.get(int(number) % 100, default)


def onnx_dtype(number: Any) -> Any:
    if isinstance(number, (np.dtype, type)):
        return np.dtype(number).type
    if int(number) not in _ONNX:
        raise Error(f"the ONNX data type {number} is not supported")
    return _ONNX[int(number)]


def get_onnx_datatype_as_numpy(value: Any) -> Any:
    return onnx_dtype(value)


def data_type_str_to_np(data_type_str: str) -> Any:
    return SUPPORTED_DATA_TYPES[data_type_str][0] if data_type_str in SUPPORTED_DATA_TYPES else None


def data_type_str_to_precision(data_type_str: str) -> "str | None":
    return SUPPORTED_DATA_TYPES[data_type_str][1] if data_type_str in SUPPORTED_DATA_TYPES else None


def data_type_str_to_destination_type(data_type_str: str) -> "str | None":
    return SUPPORTED_DATA_TYPES[data_type_str][2] if data_type_str in SUPPORTED_DATA_TYPES else None


def np_data_type_to_precision(np_data_type: Any) -> str:
    return str(_row(np_data_type)[2])


def np_data_type_to_destination_type(np_data_type: Any) -> str:
    return ir_name(np_data_type)


def destination_type_to_np_data_type(dst_type: str) -> Any:
    found = next((r[1] for r in _ROWS if r[3] == dst_type), None)
    if found is None:
        raise Error(f"element type '{dst_type}' is not supported")
    return found


def precision_to_destination_type(data_type_str: str) -> str:
    found = next((r[3] for r in _ROWS if r[2] == data_type_str), None)
    if found is None:
        raise Error(f"precision '{data_type_str}' is not supported")
    return str(found)


def convert_blob(blob: "np.ndarray", dst_type: Any) -> "tuple[np.ndarray, int | None, int | None]":
    """(converted array, number of values that became infinite, number that became zero)."""
    if blob.dtype.type == dst_type:
        return blob, None, None
    made = blob.astype(dst_type)
    if np.dtype(dst_type).kind != "f":
        return made, None, None
    infinite = int(np.isinf(made).sum() - np.isinf(blob).sum())
    zero = int((made == 0).sum() - (blob == 0).sum())
    return made, infinite, zero


class _Decode(Dict[int, Any]):
    """TensorFlow's number to (numpy type, function that reads values of a tensor)."""

    def __missing__(self, number: int) -> Any:
        found = tf_dtype(number)
        if found is None:
            raise KeyError(number)
        return found, lambda pb: np.asarray(pb).reshape(-1)

    def __contains__(self, number: object) -> bool:
        return tf_dtype(number) is not None


tf_data_type_decode = _Decode()
tf_data_type_cast = {r[1]: r[1] for r in _ROWS}


def mxnet_str_dtype_to_np(dtype: str) -> Any:
    found = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "int8": np.int8, "int32": np.int32,
             "int64": np.int64, "uint8": np.uint8, "bool": np.bool_}
    if dtype not in found:
        raise Error(f"the MXNet element type '{dtype}' is not supported")
    return found[dtype]
