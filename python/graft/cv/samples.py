"""The files of samples."""

from __future__ import annotations

import os

from ..errors import Error

__all__ = ["addSamplesDataSearchPath", "findFile", "findFileOrKeep"]

_folders: "list[str]" = []


def addSamplesDataSearchPath(path: str) -> None:
    """A folder in which `findFile` looks, too."""
    _folders.append(path)


def findFile(relative_path: str, required: bool = True, silentMode: bool = False) -> str:
    """The file as it is named, or in a folder of the variable OPENCV_SAMPLES_DATA_PATH or of `addSamplesDataSearchPath`."""
    folders = [os.environ.get("OPENCV_SAMPLES_DATA_PATH", "")] + _folders
    for candidate in [relative_path] + [os.path.join(f, relative_path) for f in folders if f]:
        if os.path.exists(candidate):
            return candidate
    if required:
        raise Error(f"cannot find the file '{relative_path}'", "io", "give its path, or set OPENCV_SAMPLES_DATA_PATH to its folder")
    return ""


def findFileOrKeep(relative_path: str, silentMode: bool = False) -> str:
    """The same; the name itself if there is no such file."""
    return findFile(relative_path, False, silentMode) or relative_path
