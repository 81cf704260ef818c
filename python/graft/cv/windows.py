"""Frames in, frames out: pictures in the place of a camera, files in the place of windows."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import numpy as np

from ..errors import Error
from .pictures import _bgr, imwrite

__all__ = ["VideoCapture", "WINDOW_AUTOSIZE", "WINDOW_NORMAL", "destroyAllWindows", "destroyWindow", "imshow", "namedWindow",
           "waitKey"]

WINDOW_NORMAL, WINDOW_AUTOSIZE = 0, 1
_shown: "set[str]" = set()


class VideoCapture:
    """The frames of a picture, or of numbered pictures ("frame_%03d.png"). Cameras and videos are refused."""

    def __init__(self, source: "str | int" = 0) -> None:
        if not isinstance(source, (str, os.PathLike)):
            raise Error(f"there is no camera {source} here", "unsupported", "give a picture, or numbered ones: frame_%03d.png")
        name = os.fspath(source)
        numbered = re.search(r"%0?\d*d", name) is not None
        self._files = [name] if not numbered else self._numbered(name)
        if not self._files or not os.path.exists(self._files[0]):
            raise Error(f"cannot find '{name}'", "io", "give a picture, or numbered ones: frame_%03d.png")
        if not numbered:
            _bgr(name)  # a video is refused here
        self._next = 0

    @staticmethod
    def _numbered(pattern: str) -> "list[str]":
        first = next((n for n in range(5) if os.path.exists(pattern % n)), None)
        files = []
        while first is not None and os.path.exists(pattern % first):
            files.append(pattern % first)
            first += 1
        return files

    def isOpened(self) -> bool:
        return bool(self._files)

    def read(self) -> "tuple[bool, np.ndarray | None]":
        """Whether there is another frame, and the frame."""
        if self._next >= len(self._files):
            return False, None
        self._next += 1
        return True, _bgr(self._files[self._next - 1])

    def release(self) -> None:
        self._files = []


def namedWindow(winname: str, flags: int = WINDOW_AUTOSIZE) -> None:
    """Nothing: `imshow` says where it writes."""


def imshow(winname: str, mat: Any) -> None:
    """Writes the picture to NAME.png, in the folder that GRAFT_CV_SHOW names or in the current one. Floating-point pictures
    are shown from 0 (black) to 1 (white), as in OpenCV."""
    name = re.sub(r"[^\w.-]+", "_", winname).strip("._") or "window"
    path = os.path.join(os.environ.get("GRAFT_CV_SHOW", ""), name + ".png")
    picture = np.asarray(mat)
    imwrite(path, picture * 255 if picture.dtype.kind == "f" else picture)
    if path not in _shown:
        print(f"graft.cv: there are no windows here; '{winname}' is written to {path} (GRAFT_CV_SHOW names another folder)",
              file=sys.stderr)
        _shown.add(path)


def waitKey(delay: int = 0) -> int:
    """-1, at once: there is no keyboard to wait for."""
    return -1


def destroyWindow(winname: str) -> None:
    """Nothing."""


def destroyAllWindows() -> None:
    """Nothing."""
