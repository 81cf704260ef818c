"""The order in which transformations run."""

from __future__ import annotations

import heapq
import os
from typing import Any

from .errors import FolderError

__all__ = ["ordered", "is_enabled"]


def _title(cls: Any) -> str:
    return cls.__name__


def _neighbors(cls: Any, method: str, where: "dict[Any, str]") -> "list[Any]":
    function = getattr(cls, method, None)
    try:
        found = getattr(cls(), method)() if callable(function) else []
    except Exception as error:
        raise FolderError(f"{where.get(cls, cls.__module__)}: {cls.__name__}.{method} failed: {error}") from error
    if not isinstance(found, (list, tuple)) or not all(isinstance(c, type) for c in found):
        raise FolderError(f"{where.get(cls, cls.__module__)}: {cls.__name__}.{method} returned {found!r}, expected a list of "
                          "classes")
    return list(found)


def is_enabled(cls: Any) -> bool:
    """The attribute `enabled`, unless an environment variable names the class or its id."""
    names = {getattr(cls, "id", None), f"{cls.__module__}.{cls.__name__}"}
    names |= {n.split(".", 1)[1] for n in list(names) if n and "." in n}
    for variable, answer in (("MO_ENABLED_TRANSFORMS", True), ("MO_DISABLED_TRANSFORMS", False)):
        listed = {t.strip() for t in os.environ.get(variable, "").split(",") if t.strip()}
        if listed & names:
            return answer
    return bool(getattr(cls, "enabled", True))


def ordered(classes: "list[Any]", where: "dict[Any, str]") -> "list[Any]":
    """All given classes and those that they name, each after what it runs after; ties by class name.

    A cycle is an error that shows it.
    """
    after: "dict[Any, set[Any]]" = {}
    pending = list(classes)
    while pending:
        cls = pending.pop()
        if cls in after:
            continue
        after[cls] = set(_neighbors(cls, "run_after", where))
        pending += list(after[cls])
        for later in _neighbors(cls, "run_before", where):
            pending.append(later)
            after.setdefault(("before", later), set()).add(cls)
    for key in [k for k in after if isinstance(k, tuple)]:
        after[key[1]] |= after.pop(key)
    followers: "dict[Any, list[Any]]" = {c: [] for c in after}
    count = {c: len(befores) for c, befores in after.items()}
    for cls, befores in after.items():
        for before in befores:
            followers[before].append(cls)
    names = {c: (_title(c), i) for i, c in enumerate(after)}
    ready = [names[c] + (c,) for c in after if not count[c]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, _, cls = heapq.heappop(ready)
        order.append(cls)
        for follower in followers[cls]:
            count[follower] -= 1
            if not count[follower]:
                heapq.heappush(ready, names[follower] + (follower,))
    if len(order) < len(after):
        raise FolderError(f"the order of transformations has a cycle: {_cycle(after, set(order))}",
                          "each runs after the one before it: remove one of these run_before or run_after entries")
    return order


def _cycle(after: "dict[Any, set[Any]]", done: "set[Any]") -> str:
    left = sorted((c for c in after if c not in done), key=_title)
    path, node = [left[0]], left[0]
    while True:
        node = min((b for b in after[node] if b not in done), key=_title)
        if node in path:
            shown = path[path.index(node):] + [node]
            return " -> ".join(_title(c) for c in reversed(shown))
        path.append(node)
