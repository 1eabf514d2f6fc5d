"""The checks of a host as text, for ``pathlab hosts check`` and ``pathlab doctor``."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from pathlab.printed_table import wrap_words

MARKS = {
    "ok": ("ok", "green"),
    "optional": ("less", "dim"),
    "limited": ("less", "yellow"),
    "missing": ("FAILS", "bold red"),
}
INDENT = 2
ITEM_WIDTH = 20
FOUND_MIN_WIDTH = 20


def render_check(state: str, item: str, result: str, fix: str | None, console: Console) -> None:
    """Print one check, with its fix below: on one line, since it may be a command to be copied."""
    mark, style = MARKS[state]
    indent = " " * (INDENT + 7 + ITEM_WIDTH)
    head = Text.assemble((f"{mark:>{INDENT + 5}}", style), "  ", f"{item:<{ITEM_WIDTH}}")
    lines = wrap_words(result, max(FOUND_MIN_WIDTH, console.width - len(indent))) or [""]
    for start, line in zip([head, *[Text(indent)] * len(lines)], lines, strict=False):
        console.print(Text.assemble(start, line), soft_wrap=True)
    if fix:
        console.print(Text.assemble(indent, ("fix: ", "cyan"), fix), soft_wrap=True)
