"""Shapes with dimensions that are not known: masked arrays, as extension files expect them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import Error

__all__ = ["dynamic_dimension", "dynamic_dimension_value", "shape_array", "int64_array", "float_array",
           "float32_array",
           "mo_array", "is_fully_defined", "undefined_shape_of_rank", "compatible_dims", "compatible_shapes",
           "shape_delete",
           "shape_insert", "unmask_shape", "get_canonical_axis_index", "strict_compare_tensors", "clarify_values"]

dynamic_dimension_value = -1000000007
dynamic_dimension = np.ma.masked


def shape_array(value: Any, dtype: Any = np.int64) -> Any:
    """An array of dimensions; those that are not known are masked."""
    if isinstance(value, np.ma.MaskedArray):
        return value.astype(dtype)
    items = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(items, (list, tuple)):
        return np.ma.masked_equal(items, dynamic_dimension_value).astype(dtype)
    unknown = [d is dynamic_dimension or d is None for d in items]
    numbers = [dynamic_dimension_value if u else d for d, u in zip(items, unknown)]
    array = np.array(numbers, dtype=dtype)
    if not any(unknown) and not (array == dynamic_dimension_value).any():
        return array
    return np.ma.masked_equal(array, dynamic_dimension_value)


def mo_array(value: Any, dtype: Any = None) -> np.ndarray:
    if dtype is None and not isinstance(value, np.ndarray) and np.asarray(value).dtype == np.float64:
        dtype = np.float32
    return np.array(value, dtype=dtype)


def int64_array(value: Any) -> np.ndarray:
    return np.array(value, dtype=np.int64)


def float_array(value: Any) -> np.ndarray:
    return np.array(value, dtype=np.float32)


float32_array = float_array


def is_fully_defined(value: Any) -> bool:
    if value is None or value is dynamic_dimension:
        return False
    if isinstance(value, np.ma.MaskedArray):
        return not np.ma.is_masked(value)
    if isinstance(value, (list, tuple)):
        return all(is_fully_defined(v) for v in value)
    return True


def undefined_shape_of_rank(rank: int) -> Any:
    return shape_array([dynamic_dimension] * rank)


def compatible_dims(dim1: Any, dim2: Any) -> bool:
    return dim1 is dynamic_dimension or dim2 is dynamic_dimension or dim1 == dim2


def compatible_shapes(shape1: Any, shape2: Any) -> bool:
    return len(shape1) == len(shape2) and all(compatible_dims(a, b) for a, b in zip(shape1, shape2))


def strict_compare_tensors(tensor1: Any, tensor2: Any) -> bool:
    if tensor1 is None or tensor2 is None:
        return tensor1 is tensor2
    return np.ma.getmaskarray(np.ma.asarray(tensor1)).tolist() == np.ma.getmaskarray(np.ma.asarray(tensor2)).tolist() and \
        np.array_equal(np.ma.filled(tensor1, dynamic_dimension_value), np.ma.filled(tensor2, dynamic_dimension_value))


def unmask_shape(value: Any) -> Any:
    return np.ma.filled(value, -1) if isinstance(value, np.ma.MaskedArray) else value


def clarify_values(first: Any, second: Any) -> Any:
    """What is known of either of two shapes."""
    return shape_array([b if a is dynamic_dimension else a for a, b in zip(first, second)])


def _positions(obj: Any, size: int) -> "list[int]":
    asked = [int(obj)] if isinstance(obj, (int, np.integer)) else [int(i) for i in np.asarray(obj).ravel()]
    return [i + size if i < 0 else i for i in asked]


def shape_delete(shape: Any, obj: Any) -> Any:
    gone = set(_positions(obj, len(shape)))
    return shape_array([d for i, d in enumerate(shape) if i not in gone])


def shape_insert(shape: Any, pos: int, obj: Any) -> Any:
    dims = list(shape)
    added = list(obj) if isinstance(obj, (list, tuple, np.ndarray)) else [obj]
    return shape_array(dims[:pos] + added + dims[pos:])


def get_canonical_axis_index(shape: Any, axis: int) -> int:
    """The axis counted from the first dimension."""
    if axis < -len(shape) or axis >= len(shape):
        raise Error(f"axis {axis} is out of range for rank {len(shape)}")
    return int(axis + len(shape) if axis < 0 else axis)
