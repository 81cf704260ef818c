"""The results of an inference."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np

__all__ = ["Results"]


class Results(Dict[str, Any]):
    """A dictionary from output name to array (sequences and maps of ONNX: list and dictionary), in the order of the model; also by position, and by port.

    The arrays are the memory that the model wrote. The next inference uses other memory, so they stay as they are.
    """

    __slots__ = ("_arrays",)

    def __init__(self, names: "tuple[str, ...]", arrays: "tuple[np.ndarray, ...]") -> None:
        super().__init__(zip(names, arrays))
        self._arrays = arrays

    def __missing__(self, key: Any) -> np.ndarray:
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if -len(self._arrays) <= key < len(self._arrays):
                return self._arrays[key]
            raise IndexError(f"the model has {len(self._arrays)} outputs, there is no output {key}")
        for name in getattr(key, "names", ()):
            if name in self:
                return dict.__getitem__(self, name)
        if getattr(key, "any_name", None) in self:
            return dict.__getitem__(self, key.any_name)
        raise KeyError(f"{key!r}: the outputs are {', '.join(map(repr, self))}")

    def to_tuple(self) -> "tuple[np.ndarray, ...]":
        """The arrays in the order of the outputs."""
        return self._arrays
