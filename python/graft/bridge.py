"""For the program `graft`: runs a Python file and hands over the operations that it defines."""

from __future__ import annotations

import os

from . import _native
from .definition import _collect

__all__ = ["load"]


def load(path: str, host: int) -> int:
    """The address of the record of an extension; called by the bridge library with the address of the host's table."""
    _native.set_host(host)
    _native.set_full_tracebacks(True)
    definitions = _collect(path)
    return _native.combined(os.path.basename(path), [d.native for d in definitions])
