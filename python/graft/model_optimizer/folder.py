"""Loading of an extension folder: which classes it has, and whether they make sense."""

from __future__ import annotations

import inspect
import logging
import os
import traceback
from typing import Any

from ..errors import Error as HostError
from .builtin import BUILTIN
from .errors import Error, FolderError
from .extractor import CaffePythonFrontExtractorOp, FrontExtractorOp, MXNetCustomFrontExtractorOp
from .finder import Imports, module_path
from .modules import names_of
from .op import Op
from .order import is_enabled, ordered
from .published import FILES
from .replacement import (Anchor, BackReplacementPattern, FrontReplacementFromConfigFileGeneral,
                          FrontReplacementFromConfigFileSubGraph, FrontReplacementOp, MiddleReplacementPattern,
                          ReplacementPattern)

__all__ = ["Folder", "FRAMEWORKS"]

log = logging.getLogger("graft.model_optimizer")
FRAMEWORKS = {"caffe": "caffe", "tf": "tensorflow", "mxnet": "mxnet", "kaldi": "kaldi", "onnx": "onnx"}
_PARTS = ("ops", "front", "middle", "back")
_BASES = (ReplacementPattern, MiddleReplacementPattern, BackReplacementPattern, Anchor, object)
_ABSTRACT = {FrontExtractorOp, CaffePythonFrontExtractorOp, MXNetCustomFrontExtractorOp, Op, ReplacementPattern,
             Anchor,
             *BUILTIN.values()}


_titles: "dict[str, str]" = {}  # title -> folder


def _title_of(path: str) -> str:
    """The name of a folder in reports and of its passes: the last part of its path, and more of it if another folder has
    that name, as those of the generator have."""
    parts = [p for p in path.split(os.sep) if p]
    for count in range(1, len(parts) + 1):
        title = "/".join(parts[-count:])
        if not os.path.isdir(_titles.get(title, "")):
            _titles[title] = path
        if _titles[title] == path:
            return title
    return path


def _files(path: str) -> "list[tuple[str, str | None]]":
    """(dotted path, framework or None) of each file, in the order of loading."""
    places: "list[tuple[str, str | None]]" = [("ops", None), ("front", None)]
    places += [(f"front.{folder}", framework) for folder, framework in FRAMEWORKS.items()]
    places += [("middle", None), ("back", None)]
    found = []
    for place, framework in places:
        folder = os.path.join(path, *place.split("."))
        for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if entry.endswith(".py") and entry != "__init__.py":
                found.append((f"{place}.{entry[:-3]}", framework))
    return found


def _is_model_optimizer(path: str) -> bool:
    """Whether a folder is that of the Model Optimizer itself, into which older guides put files of users."""
    return any(os.path.isfile(os.path.join(path, part, "pass_separator.py")) for part in ("front", "middle", "back"))


def _is_published(dotted: str) -> bool:
    place, _, name = dotted.rpartition(".")
    return names_of(dotted) is not None or name in FILES.get(place, "").split()


class Front:
    """What a folder has for one framework."""

    def __init__(self) -> None:
        self.extractors: "dict[str, Any]" = {}  # by lower-case type
        self.custom: "dict[str, Any]" = {}  # Caffe Python layers, MXNet Custom
        self.replacers: "list[Any]" = []

    def anything(self) -> bool:
        return bool(self.extractors or self.custom or self.replacers)


class Folder:
    """A loaded folder: operations by name, and extractors and transformations by framework."""

    def __init__(self, path: str, only: "list[tuple[str, str | None]] | None" = None) -> None:
        self.path = os.path.abspath(path)
        self._only = only
        self.name = _title_of(self.path)
        self.ops: "dict[str, Any]" = {}
        self.fronts = {framework: Front() for framework in FRAMEWORKS.values()}
        self.late: "list[Any]" = []  # middle and back transformations
        self.where: "dict[Any, str]" = {}
        self.left_out = 0  # files of the Model Optimizer itself
        self._check_layout(path)
        self.imports = Imports(self.path)
        known = dict(Op.registered_ops), list(Op.excluded_classes), dict(CaffePythonFrontExtractorOp.registered_ops)
        with self.imports.active():
            try:
                self._load()
                self.fronts["caffe"].custom.update(CaffePythonFrontExtractorOp.registered_ops)
                self.orders = {f: self._order(front.replacers) for f, front in self.fronts.items()}
                self.late_order = self._order(self.late)
            finally:
                Op.registered_ops.clear()
                Op.registered_ops.update(known[0])
                Op.excluded_classes[:] = known[1]
                CaffePythonFrontExtractorOp.registered_ops.clear()
                CaffePythonFrontExtractorOp.registered_ops.update(known[2])
        fronts = self.fronts.values()
        if only is None and not self.left_out and not self.ops and not self.late and not any(f.anything() for f in fronts):
            raise FolderError(f"'{self.path}' defines no operation, extractor or transformation",
                              "classes are registered by their base class: Op, FrontExtractorOp, FrontReplacementOp")

    @classmethod
    def single(cls, path: str, dotted: str, framework: "str | None") -> "Folder":
        """One file of a folder, with what it imports; it may define nothing."""
        return cls(path, [(dotted, framework)])

    @classmethod
    def some(cls, path: str, files: "list[tuple[str, str | None]]") -> "Folder":
        """Some files of a folder; they may define nothing."""
        return cls(path, files)

    @classmethod
    def listed(cls, path: str) -> "list[tuple[str, str | None]]":
        """The files of a folder, without loading them."""
        return _files(os.path.abspath(path))

    # ---- files ----

    def _check_layout(self, path: str) -> None:
        if not os.path.exists(path):
            raise FolderError(f"'{path}' does not exist")
        if not os.path.isdir(path):
            raise FolderError(f"'{path}' is a file, expected a folder with ops/, front/, middle/ or back/")
        if not any(os.path.isdir(os.path.join(path, part)) for part in _PARTS):
            raise FolderError(f"'{path}' has none of the folders ops/, front/, middle/, back/",
                              "operations belong into ops/, extractors into front/<framework>/")
        front = os.path.join(path, "front")
        for entry in sorted(os.listdir(front)) if os.path.isdir(front) else []:
            right = {"tensorflow": "tf", "mx": "mxnet"}.get(entry.lower(), entry.lower())
            if os.path.isdir(os.path.join(front, entry)) and right in FRAMEWORKS and entry not in FRAMEWORKS:
                raise FolderError(f"'{os.path.join(front, entry)}' is not read: the folder of this framework is named "
                                  f"'front/{right}'", f"rename it to {os.path.join(front, right)}")

    def _file(self, dotted: str) -> str:
        return os.path.join(self.path, *dotted.split(".")) + ".py"

    def _load(self) -> None:
        files = self._only or _files(self.path)
        if not self._only and _is_model_optimizer(self.path):
            own = [f for f in files if _is_published(f[0])]
            files = [f for f in files if f not in own]
            self.left_out = len(own)
            log.warning("'%s' is the Model Optimizer's own folder: %d of its files are left out, because the importer does their "
                        "work, and %d other files are used", self.path, len(own), len(files))
        for dotted, framework in files:
            self.load_file(dotted, framework)

    def load_file(self, dotted: str, framework: "str | None") -> None:
        """Imports one file and registers its classes. Only while the imports are active."""
        try:
            module = self.imports.load(dotted)
        except FolderError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            raise FolderError(self._import_failure(self._file(dotted), error)) from error
        for cls in list(vars(module).values()):
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                self._register(cls, self._file(dotted), framework)

    def _import_failure(self, file: str, error: BaseException) -> str:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(self.path)]
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else file
        if isinstance(error, SyntaxError):
            return f"{error.filename or file}:{error.lineno}: {error.msg}"
        if isinstance(error, ImportError):
            return f"{place}: {self._missing(error)}"
        return f"{place}: {type(error).__name__}: {error}"

    def _missing(self, error: ImportError) -> str:
        module = error.name or ""
        missing = getattr(error, "name_from", None)
        below = module_path(module)
        if isinstance(error, ModuleNotFoundError):
            if module.startswith(self.imports.package + "."):
                return f"the folder has no '{module[len(self.imports.package) + 1:].replace('.', '/')}'"
            if below is None:
                return f"the module '{module}' is not installed"
            return f"the module '{module}' of the Model Optimizer is not available here"
        if missing is None and "'" in str(error):
            missing = str(error).split("'")[1]
        if below is not None and names_of(below) is not None:
            return f"'{missing}' of '{module}' is not available here"
        return str(error)

    # ---- classes ----

    def _register(self, cls: Any, file: str, framework: "str | None") -> None:
        if cls in _ABSTRACT or cls in self.where:
            return
        self.where[cls] = file
        if issubclass(cls, Op):
            self._register_op(cls, file)
        elif issubclass(cls, (FrontExtractorOp, CaffePythonFrontExtractorOp, MXNetCustomFrontExtractorOp)):
            self._register_extractor(cls, file, framework)
        elif issubclass(cls, (MiddleReplacementPattern, BackReplacementPattern)):
            self._register_late(cls, file)
        elif issubclass(cls, ReplacementPattern):
            self._register_replacer(cls, file, framework)

    def _register_late(self, cls: Any, file: str) -> None:
        """A middle or back transformation: it runs on the imported graph."""
        other = next((c for c in self.late if c.__name__ == cls.__name__), None)
        if other is not None:
            raise FolderError(f"{file}: a transformation named {cls.__name__} is also in {self.where[other]}",
                              "names of transformations must differ")
        methods = ("pattern", "find_and_replace_pattern")
        own = [m for m in methods if any(m in vars(c) for c in cls.__mro__ if c not in _BASES)]
        if is_enabled(cls) and not own and not cls.__subclasses__():
            raise FolderError(f"{file}: {cls.__name__} has neither 'pattern' nor 'find_and_replace_pattern'")
        self.late.append(cls)

    def _register_op(self, cls: Any, file: str) -> None:
        if cls in Op.excluded_classes:
            return
        if cls.op is None:
            if cls.__mro__[1] is Op and not cls.__subclasses__():
                raise FolderError(f"{file}: class {cls.__name__} has no attribute 'op'",
                                  "op = 'Name' is the name of the operation")
            return  # a base class of others
        if not isinstance(cls.op, str) or not cls.op:
            raise FolderError(f"{file}: 'op' of class {cls.__name__}: expected a string, got {cls.op!r}")
        known = self.ops.get(cls.op)
        if known is not None and known.__module__ != cls.__module__:
            self._refuse_second(cls, known, "operation", cls.op)
        if known is not None and cls.__name__ != cls.op:
            return  # another class of the file stands for the same operation
        self.ops[cls.op] = cls
        Op.registered_ops[cls.op] = cls

    def _refuse_second(self, cls: Any, other: Any, what: str, key: str) -> None:
        raise FolderError(f"{self.where[cls]}: {cls.__name__} and {other.__name__} ({self.where.get(other, 'built in')}) both "
                          f"register the {what} '{key}'")

    def _register_extractor(self, cls: Any, file: str, framework: "str | None") -> None:
        own = getattr(cls, "extract", None)
        if not callable(own) or getattr(own, "__func__", own) is vars(FrontExtractorOp)["extract"].__func__:
            if cls.op is None:
                return
            raise FolderError(f"{file}: extractor {cls.__name__} has no method 'extract'")
        if not isinstance(cls.op, str) or not cls.op:
            if cls.__subclasses__():
                return
            raise FolderError(f"{file}: extractor {cls.__name__} has no attribute 'op'",
                              "op = 'Type' is the type of the framework's layer")
        if framework is None:
            raise FolderError(f"{file}: extractor {cls.__name__} is outside of a framework's folder",
                              "extractors belong into front/caffe, front/tf, front/mxnet, front/kaldi or front/onnx")
        if not cls.enabled:
            return
        front = self.fronts[framework]
        table = front.extractors if issubclass(cls, FrontExtractorOp) else front.custom
        key = cls.op.lower() if table is front.extractors else cls.op
        if key in table:
            self._refuse_second(cls, table[key], "type", cls.op)
        table[key] = cls

    def _register_replacer(self, cls: Any, file: str, framework: "str | None") -> None:
        for front in [self.fronts[framework]] if framework else self.fronts.values():
            other = next((c for c in front.replacers if c.__name__ == cls.__name__), None)
            if other is not None:
                raise FolderError(f"{file}: a transformation named {cls.__name__} is also in {self.where[other]}",
                                  "names of transformations must differ")
            if getattr(cls, "id", None) and any(getattr(c, "id", None) == cls.id for c in front.replacers):
                raise FolderError(f"{file}: the id '{cls.id}' of {cls.__name__} belongs to another transformation")
            front.replacers.append(cls)
        inherited = all(getattr(cls, m, None) is getattr(FrontReplacementOp, m)
                        for m in ("pattern", "replace_sub_graph", "find_and_replace_pattern"))
        if issubclass(cls, FrontReplacementOp) and is_enabled(cls) and inherited and not cls.op and \
                not cls.__subclasses__():
            raise FolderError(f"{file}: {cls.__name__} has no attribute 'op'", "op = 'Type' is the operation to replace")
        configured = (FrontReplacementFromConfigFileSubGraph, FrontReplacementFromConfigFileGeneral)
        if issubclass(cls, configured) and is_enabled(cls) and not cls.replacement_id:
            raise FolderError(f"{file}: {cls.__name__} has no attribute 'replacement_id'",
                              "replacement_id is the 'id' of its entry in the transformations config")

    def _order(self, classes: "list[Any]") -> "list[Any]":
        enabled = [c for c in classes if is_enabled(c)]
        order = ordered(enabled, self.where)
        return [c for c in order if c in enabled]

    def extractor_of(self, framework: str, type: str) -> Any:
        return self.fronts[framework].extractors.get(type.lower())

    def op_named(self, type: str) -> Any:
        return next((c for n, c in self.ops.items() if n.lower() == type.lower()), None)


def described(error: BaseException, folder: Folder) -> str:
    """An exception of an extension with the line of the folder's file that raised it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(folder.path)]
    if isinstance(error, HostError):
        text = error.message + (f"\nhint: {error.hint}" if error.hint else "")
    else:
        text = str(error) if isinstance(error, (Error, FolderError)) else f"{type(error).__name__}: {error}"
    return f"{frames[-1].filename}:{frames[-1].lineno}: {text}" if frames else text
