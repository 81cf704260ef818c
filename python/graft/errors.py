"""Errors of Graft: one class, with a kind, a message, the context, and a hint."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Error", "Remedy", "TraceError"]

_CODES = {0: "other", 1: "shape_needed", 2: "limit_reached", 3: "missing_argument"}
_KINDS = {1: "user", 2: "unsupported", 3: "io", 4: "internal", 5: "cancelled", 6: "request"}


class Remedy(NamedTuple):
    """Something to set: a keyword argument, its entry (an input, a layer), and the value, as text."""

    option: str
    place: str
    value: str


class Error(RuntimeError):
    """What went wrong, where, and what to do about it.

    ``str(error)`` is the whole report. If an operation in Python raised an exception, that is ``__cause__``, with its
    traceback. An operation may raise it to refuse a node or its data: the message is reported as it is, without the
    place in the source.
    """

    _graft_plain = True

    kind: str  # "user", "unsupported", "io", "internal", "cancelled" or "request"
    code: str  # the cause, where a program may act on it: "shape_needed", "limit_reached", otherwise "other"
    message: str
    hint: str
    remedies: "list[Remedy]"
    context: list[str]  # from the inside out: "running 'crop1' (Crop)"

    def __init__(self, message: str, kind: str = "user", hint: str = "", context: "list[str] | None" = None,
                 report: str = "", code: str = "other", remedies: "list[Remedy] | None" = None) -> None:
        super().__init__(report or message)
        self.message, self.kind, self.hint, self.context = message, kind, hint, context or []
        self.code, self.remedies = code, remedies or []


class TraceError(Exception):
    """A function does something that its traced form cannot express."""


class _Plain(ValueError):
    """A wrong definition or result, reported with its own words alone."""

    _graft_plain = True


def _from_native(kind: int, message: str, hint: str, context: "list[str]", report: str, code: int,
                 remedies: "list[tuple[str, str, str]]") -> Error:
    return Error(message, _KINDS.get(kind, "internal"), hint, context, report, _CODES.get(code, "other"),
                 [Remedy(*r) for r in remedies])
