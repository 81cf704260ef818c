"""What programs with custom layers use of OpenCV, with its names: a program needs one other line,

>>> import graft.cv as cv          # import cv2 as cv

Layers (`dnn_registerLayer`), networks (`dnn`), and pictures as arrays [height, width, (blue, green, red)]. There are no windows: `imshow`
writes a file. The guide is docs/guide/opencv.md.
"""

from __future__ import annotations

from typing import Any

from .. import errors as _errors
from ..layer import register_layer as _register_layer
from ..layer import unregister_layer as _unregister_layer
from . import dnn, samples
from .pictures import (COLOR_BGR2GRAY, COLOR_BGR2RGB, COLOR_GRAY2BGR, COLOR_RGB2BGR, IMREAD_COLOR, IMREAD_GRAYSCALE,
                       INTER_LINEAR, INTER_NEAREST, cvtColor, imread, imwrite, resize)
from .windows import (WINDOW_AUTOSIZE, WINDOW_NORMAL, VideoCapture, destroyAllWindows, destroyWindow, imshow,
                      namedWindow, waitKey)

__all__ = [
    "COLOR_BGR2GRAY", "COLOR_BGR2RGB", "COLOR_GRAY2BGR", "COLOR_RGB2BGR", "CV_32F", "CV_8U", "IMREAD_COLOR", "IMREAD_GRAYSCALE",
    "INTER_LINEAR", "INTER_NEAREST", "VideoCapture", "WINDOW_AUTOSIZE", "WINDOW_NORMAL", "cvtColor", "destroyAllWindows",
    "destroyWindow", "dnn", "dnn_registerLayer", "dnn_unregisterLayer", "error", "imread", "imshow", "imwrite", "namedWindow", "resize",
    "samples", "waitKey",
]

CV_8U, CV_32F = 0, 5
error = _errors.Error


def dnn_registerLayer(type: str, cls: Any) -> None:
    """Makes a class the implementation of a layer type in networks that are read from now on: `graft.register_layer`."""
    _register_layer(type, cls)


def dnn_unregisterLayer(type: str) -> None:
    """Removes the latest registration of a layer type; one before it, or the built-in layer, is used again."""
    _unregister_layer(type)
