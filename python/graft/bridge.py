"""For the program `graft`: runs a Python file and hands over the operations that it defines."""

from __future__ import annotations

import os
import traceback

from . import _native
from .definition import _collect

__all__ = ["load"]


def load(path: str, host: int) -> "int | str":
    """The address of the record of an extension, or why there is none.

    Called by the bridge library with the address of the host's table.
    """
    _native.set_host(host)
    _native.set_full_tracebacks(True)
    try:
        definitions = _collect(path)
        return _native.combined(os.path.basename(path), [d.native for d in definitions])
    except BaseException as error:
        return _failure(path, error)


def _failure(path: str, error: BaseException) -> str:
    """The exception and its traceback, from the first line of the file on; an error of a folder is its own text."""
    if getattr(error, "_graft_plain", False):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, f in enumerate(frames) if f.filename == path), len(frames))
    lines = [text.rstrip() for text in traceback.format_list(frames[first:])]
    if isinstance(error, SyntaxError):
        lines = [text.rstrip() for text in traceback.format_exception_only(type(error), error)[:-1]]
    return "\n".join([f"{type(error).__name__}: {error}"] + lines)
