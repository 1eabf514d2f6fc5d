"""Imports that wait until a command runs, so that help, mistakes and completion load no more than click."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self


class _DeferredName:
    """What a name is until it is loaded; ``attribute``: of the module, None: the module itself."""

    def __init__(self, owner: DeferredImports, module: str, attribute: str | None = None) -> None:
        self.owner, self.module, self.attribute = owner, module, attribute

    def __getattr__(self, name: str) -> _DeferredName:
        """What ``from MODULE import NAME`` asks the imported module for."""
        return _DeferredName(self.owner, self.module, name)


class DeferredImports:
    """Import statements within ``with DeferredImports() as libraries:`` take effect at ``libraries.load()``.

    For a module that uses the names within functions alone.
    """

    def __enter__(self) -> Self:
        self._names = sys._getframe(1).f_globals
        self._import = builtins.__import__
        builtins.__import__ = self._defer
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        builtins.__import__ = self._import

    def _defer(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """In place of ``builtins.__import__``; what other threads import meanwhile is imported at once."""
        if globals is not self._names:
            return self._import(name, globals, locals, fromlist, level)
        return _DeferredName(self, name)

    def load(self) -> None:
        """Import what still waits, and give the names their values."""
        for name, value in list(self._names.items()):
            if isinstance(value, _DeferredName) and value.owner is self:
                wanted = value.attribute
                module = __import__(value.module, fromlist=() if wanted is None else (wanted,))
                self._names[name] = module if wanted is None else getattr(module, wanted)
