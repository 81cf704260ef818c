"""Messages of the library, passed on to Python's logging."""

from __future__ import annotations

import logging as _logging
import sys
from typing import Callable

from . import _native

__all__ = ["set_log"]

_LEVELS = {0: _logging.ERROR, 1: _logging.WARNING, 2: _logging.INFO, 3: _logging.DEBUG}
_logger = _logging.getLogger("graft")


def _pass_on(level: int, message: str) -> None:
    _logger.log(_LEVELS.get(level, _logging.ERROR), message)


def set_log(level: str = "warning", listener: "Callable[[int, str], None] | None" = None) -> None:
    """Messages up to this level ("error", "warning", "info", "debug") go to the logger "graft", or to `listener`."""
    _native.set_log(listener or _pass_on, ["error", "warning", "info", "debug"].index(level))


if not getattr(sys, "_graft_program", False):  # the program graft prints them itself
    _native.set_log(_pass_on, 1)
