"""The checks of a host as text, for ``pathlab hosts check`` and ``pathlab doctor``."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

MARKS = {"ok": ("ok", "green"), "limited": ("less", "yellow"), "missing": ("FAILS", "bold red")}
INDENT = 2
ITEM_WIDTH = 20


def render_check(state: str, item: str, found: str, fix: str | None, console: Console) -> None:
    """Print one check on a line, with its fix below."""
    mark, style = MARKS[state]
    line = Text.assemble((f"{mark:>{INDENT + 5}}", style), "  ", f"{item:<{ITEM_WIDTH}}", found)
    console.print(line, soft_wrap=True)
    if fix:
        indent = " " * (INDENT + 7 + ITEM_WIDTH)
        console.print(Text.assemble(indent, ("fix: ", "cyan"), fix), soft_wrap=True)
