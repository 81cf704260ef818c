"""Errors of extension folders: what the files raise, and what the loader reports."""

from __future__ import annotations

__all__ = ["Error", "FrameworkError", "InternalError", "FolderError", "refer_to_faq_msg"]


class Error(Exception):
    """What extension files raise as ``mo.utils.error.Error``."""


class FrameworkError(Exception):
    """A failure of the framework itself, in the words of the Model Optimizer."""


class InternalError(Exception):
    """What should not happen, in the words of the Model Optimizer."""


class FolderError(ValueError):
    """A folder of extensions that cannot be loaded or applied; `hint` says what to do."""

    _graft_plain = True  # reported with its own words alone

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.message, self.hint = message, hint


def refer_to_faq_msg(question: "int | str") -> str:
    return f" (question {question} of the Model Optimizer FAQ)"
