"""Types of arguments and options: what they become, and what is refused while the command line is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pathlab.errors import StoreError, UsageError
from pathlab.report.plots.figure_file import check_figure_file
from pathlab.store.location import locate_database
from pathlab.units import parse_time_ns


class CheckedPath(click.Path):
    """A path that a function takes, which raises a PathlabError; it is given the option's name as well."""

    def __init__(self, check: Callable[[Path, str], object]) -> None:
        super().__init__()
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if ctx is None or not ctx.resilient_parsing:  # nothing is tried while a shell completes a word
            self._check(path, _name_option(param))
        return path


class ParsedNumber(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.5 on
    """A text that a function parses into a number."""

    name = "text"

    def __init__(self, parse: Callable[[str], int]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, _context: click.Context | None) -> int:
        if isinstance(value, int):  # converted already
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            raise UsageError(f"{_name_option(param)}: {error}", hint=error.hint) from error


def _name_option(param: click.Parameter | None) -> str:
    return "" if param is None else param.opts[0]


def check_writable(path: Path, option: str) -> None:
    """Raise StoreError unless a file or folder can be made at ``path``, or in it if it is a folder.

    The nearest folder that exists is tried; nothing is left in it.
    """
    try:
        folder = path.absolute()
        while not folder.exists():
            folder = folder.parent
        folder = folder.parent if folder == path.absolute() and not folder.is_dir() else folder
        trial = folder / f".pathlab-{os.getpid()}.new"
        trial.mkdir()
        trial.rmdir()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise StoreError(
            f"{option}: '{path}' cannot be written: {reason}", hint="name a place that may be written"
        ) from error


#: A file or folder; results that are there; what can be made or written into; a figure's file.
PATH = click.Path(path_type=Path)
STORED_PATH = CheckedPath(lambda path, _option: locate_database(path))
WRITABLE_PATH = CheckedPath(check_writable)
FIGURE_PATH = CheckedPath(check_figure_file)
#: A time, of which a bare number is seconds, in nanoseconds.
SECONDS = ParsedNumber(lambda text: parse_time_ns(text, bare_unit="s"))
