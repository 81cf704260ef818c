"""Imports of extension files: our classes under the module paths that the files use, and the files of the folder.

A finder serves them only while a folder is loaded or applied; before and after, `sys.modules` is as it was, and an installed
`openvino`, `mo` or `onnx` stays what it is.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
import types
from typing import Any, Iterator

import numpy as np

from .modules import ONNX, PREFIXES, names_of

__all__ = ["Imports", "module_path"]

_lock = threading.RLock()
_NUMPY = {"bool": bool, "int": int, "float": float, "object": object, "str": str, "complex": complex}


def module_path(fullname: str) -> "str | None":
    """The path in our table, if a module has one of the Model Optimizer's prefixes."""
    for prefix in PREFIXES:
        if fullname == prefix:
            return ""
        if fullname.startswith(prefix + "."):
            return fullname[len(prefix) + 1:]
    return None


class _Served(importlib.abc.Loader):
    """Makes a module from a dictionary."""

    def __init__(self, names: "dict[str, Any]") -> None:
        self.names = names

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.update(self.names)
        module.__dict__["__all__"] = list(self.names)


class _Alias(importlib.abc.Loader):
    """A file of the folder that is imported under a prefix of the Model Optimizer.

    `names` are used instead if the file does the host's work, and needs parts of the Model Optimizer that are not here.
    """

    def __init__(self, name: str, names: "dict[str, Any] | None") -> None:
        self.name, self.names = name, names

    def create_module(self, spec: Any) -> types.ModuleType:
        try:
            return importlib.import_module(self.name)
        except ImportError:
            if self.names is None:
                raise
        made = types.ModuleType(spec.name)
        made.__dict__.update(self.names)
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        return


class Imports(importlib.abc.MetaPathFinder):
    """The imports of one folder; `active` makes them work for the time of a block."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(folder)
        base = os.path.basename(self.folder.rstrip(os.sep)) or "folder"
        taken = base in ("mo", "extensions", "openvino", "onnx",
                         "numpy") or base in sys.modules or not base.isidentifier()
        self.package = f"{''.join(c if c.isalnum() else '_' for c in base)}_extension" if taken else base
        self._modules: "dict[str, types.ModuleType]" = {}

    # ---- finding ----

    def _file(self, path: str) -> "tuple[str | None, str | None]":
        """(file, folder) that a dotted path below the folder names."""
        place = os.path.join(self.folder, *path.split(".")) if path else self.folder
        if os.path.isdir(place):
            marker = os.path.join(place, "__init__.py")
            return (marker if os.path.isfile(marker) else None), place
        return (place + ".py" if os.path.isfile(place + ".py") else None), None

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname == self.package or fullname.startswith(self.package + "."):
            return self._own(fullname)
        if fullname in ONNX:
            return self._serve(fullname, ONNX[fullname])
        if fullname in ("openvino", "openvino.tools"):
            return None if self._installed(fullname, path) else self._serve(fullname, {})
        below = module_path(fullname)
        if below is None:
            return None
        names = names_of(below)
        file, folder = self._file(below)
        # Published files name each other as modules of `extensions`: those are the folder's own where it has them. `mo` is
        # the Model Optimizer itself.
        own = file is not None and folder is None and not fullname.startswith("mo.")
        if names is not None and not own:
            return self._serve(fullname, names)
        if file is None and folder is None:
            return None
        if folder is not None:
            return self._serve(fullname, {})
        spec = importlib.machinery.ModuleSpec(fullname, _Alias(f"{self.package}.{below}", names))
        return spec

    def _own(self, fullname: str) -> Any:
        file, folder = self._file(fullname[len(self.package) + 1:])
        if file is None and folder is None:
            return None
        if file is None:
            return self._serve(fullname, {})
        return importlib.util.spec_from_file_location(fullname, file,
                                                      submodule_search_locations=None if folder is None else [folder])

    @staticmethod
    def _serve(fullname: str, names: "dict[str, Any]") -> Any:
        spec = importlib.machinery.ModuleSpec(fullname, _Served(names), is_package=True)
        spec.submodule_search_locations = []
        return spec

    def _installed(self, fullname: str, path: Any) -> bool:
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                found = finder.find_spec(fullname, path)
                if found is not None and not isinstance(found.loader, _Served):
                    return True
        return False

    # ---- for the time of a block ----

    def _is_ours(self, name: str) -> bool:
        return (name == self.package or name.startswith(self.package + ".") or module_path(name) is not None or
                name in ONNX or isinstance(getattr(sys.modules.get(name), "__loader__", None), _Served))

    @contextlib.contextmanager
    def active(self) -> "Iterator[None]":
        with _lock:
            hidden = {n: sys.modules.pop(n) for n in list(sys.modules) if self._is_ours(n)}
            tools = sys.modules.get("openvino.tools")
            real = getattr(tools, "mo", None)
            sys.modules.update(self._modules)
            sys.meta_path.insert(0, self)
            aliases = [n for n in _NUMPY if n not in vars(np)]
            for name in aliases:  # numpy 1.24 removed names that older files use
                setattr(np, name, _NUMPY[name])
            bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
            try:
                yield
            finally:
                sys.dont_write_bytecode = bytecode
                sys.meta_path.remove(self)
                for name in aliases:
                    delattr(np, name)
                self._modules = {n: sys.modules.pop(n) for n in list(sys.modules) if self._is_ours(n)}
                sys.modules.update(hidden)
                if tools is not None and getattr(tools, "mo", None) is not real:
                    if real is None:
                        delattr(tools, "mo")
                    else:
                        setattr(tools, "mo", real)

    def load(self, path: str) -> types.ModuleType:
        """Imports one file of the folder; `path` is dotted. Only inside `active`."""
        return importlib.import_module(f"{self.package}.{path}")
