"""Writes the table of analyses into docs/ANALYSES.md, from the registry.

Run it after a change: ``python tools/analyses_table.py``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from pathlab.study.analyses import Analyses
from pathlab.study.registry import ANALYSES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ANALYSES.md"
BEGIN, END = "<!-- begin: python tools/analyses_table.py -->", "<!-- end -->"


def make_page() -> str:
    """The page's text with the table as the registry has it now."""
    table = "\n".join(_list_rows())
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{table}\n\n{END}", text, flags=re.DOTALL)


def _list_rows() -> Iterator[str]:
    yield "| method | what it answers | for each | draws by the seed |"
    yield "|---|---|---|---|"
    for entry in ANALYSES.values():
        asked = list(inspect.signature(getattr(Analyses, entry.method)).parameters.values())[1:]
        call = f"{entry.method}({', '.join(f'{one.name}={one.default}' for one in asked)})"
        answered = re.sub(r"``(.*?)``", r"`\1`", entry.description)
        yield f"| `{call}` | {answered} | {entry.per} | {'yes' if entry.draws else 'no'} |"


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
