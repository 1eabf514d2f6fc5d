"""The terminal as every subcommand writes to it: colours are ours, and texts of others do nothing.

Lines are as long as the terminal is wide, or as the variable ``COLUMNS`` says if it is 20 or more. Without
both, as in a pipe, no line is broken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import IO, Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from pathlab.escaping import end_unread, escape_controls, escape_line

UNLIMITED_WIDTH, WIDTH_MIN = 1_000_000, 20


class TerminalConsole(Console):
    """A console whose styles reach the terminal and whose texts cannot: no markup, no links, no controls."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        variables = {name: text for name, text in os.environ.items() if name != "COLUMNS"}  # rich takes 0 too
        super().__init__(
            stderr=stderr,
            quiet=quiet,
            highlight=False,
            markup=False,
            emoji=False,
            width=_read_columns(),
            _environ=variables,
        )
        if not self.is_terminal and self._width is None:
            self.width = UNLIMITED_WIDTH

    def on_broken_pipe(self) -> None:
        """Nobody reads any more; rich would end with status 1."""
        end_unread(self.file)

    @property
    def file(self) -> IO[str]:
        """Where the console writes: beneath the stream that would escape its colours too."""
        result = Console.file.fget(self)  # type: ignore[attr-defined]
        beneath: IO[str] = getattr(result, "unescaped", result)
        return beneath

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        Console.file.fset(self, new_file)  # type: ignore[attr-defined]

    def render_str(self, text: str, **options: Any) -> Text:
        """A text before it is laid out, so that its place fits what is shown."""
        return super().render_str(escape_controls(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is to be printed, piece by piece, each text escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else _make_harmless(segment)


def _read_columns() -> int | None:
    """The variable ``COLUMNS``; None where it is not set or no width that lines can have."""
    text = os.environ.get("COLUMNS", "")
    width = int(text) if re.fullmatch("[0-9]{1,6}", text) else 0
    return width if width >= WIDTH_MIN else None


def _make_harmless(segment: Segment) -> Segment:
    text, style = escape_controls(segment.text), segment.style
    if style is not None and style.link:
        style = style.update_link(None)
    return segment if text is segment.text and style is segment.style else Segment(text, style)


def print_left_out(texts: tuple[str, ...]) -> None:
    """Print the texts that a picture does not have, so that they can stand alongside it."""
    for text in texts:
        click.echo(f"pathlab: not in the picture: {escape_line(text)}", err=True)
