"""The findings of ``pathlab hosts check`` as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from pathlab.campaign.model import LOCAL

MARKS = {"ok": ("ok", "green"), "limited": ("less", "yellow"), "missing": ("FAILS", "bold red")}
INDENT = 2
ITEM_WIDTH = 20

#: State, item, what was found, advice.
Line = tuple[str, str, str, str | None]


def render_checks(title: str, lines: Sequence[Line], console: Console) -> None:
    """One block: a title, and one line for each thing that was looked at, with its advice below."""
    console.print(Text("This machine" if title == LOCAL else title, style="bold"), soft_wrap=True)
    for state, item, found, advice in lines:
        mark, style = MARKS[state]
        line = Text.assemble((f"{mark:>{INDENT + 5}}", style), "  ", f"{item:<{ITEM_WIDTH}}", found)
        console.print(line, soft_wrap=True)
        if advice:
            indent = " " * (INDENT + 7 + ITEM_WIDTH)
            console.print(Text.assemble(indent, ("fix: ", "cyan"), advice), soft_wrap=True)
