"""Writes the tables of analyses and of measures into docs/ANALYSES.md, from their registries.

Run it after a change: ``python tools/analyses_table.py``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types
from pathlab.study.analyses import Analyses
from pathlab.study.base.registry import ANALYSES
from pathlab.study.measures import MEASURES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ANALYSES.md"
BEGIN, END = "<!-- begin: python tools/analyses_table.py -->", "<!-- end -->"
MEASURES_BEGIN = "<!-- begin measures: python tools/analyses_table.py -->"


def make_page() -> str:
    """The page's text with the tables as the registries have them now."""
    text = PAGE.read_text(encoding="utf-8")
    for begin, rows in ((BEGIN, _list_rows()), (MEASURES_BEGIN, _list_measure_rows())):
        block = "\n".join([begin, "", *rows, "", END])
        head, _, rest = text.partition(begin)
        text = head + block + rest.partition(END)[2]
    return text


def _list_rows() -> Iterator[str]:
    yield "| method | what it answers | for each | draws by the seed |"
    yield "|---|---|---|---|"
    for entry in ANALYSES.values():
        asked = list(inspect.signature(getattr(Analyses, entry.method)).parameters.values())[1:]
        call = f"{entry.method}({', '.join(f'{item.name}={item.default}' for item in asked)})"
        answered = re.sub(r"``(.*?)``", r"`\1`", entry.description)
        yield f"| `{call}` | {answered} | {entry.per} | {'yes' if entry.draws else 'no'} |"


def _list_measure_rows() -> Iterator[str]:
    yield "| measure | column | unit | in `pathlab compare` | meaning |"
    yield "|---|---|---|---|---|"
    stored = column_types(TrialRecord)
    for measure in MEASURES:
        better = "higher" if measure.higher_is_better else "lower"
        compared = f"`{measure.name}`, better when {better}" if measure.name else ""
        meaning = measure.meaning or (stored[measure.key].meaning if measure.key in stored else "")
        yield f"| {measure.label} | `{measure.key}` | {measure.unit} | {compared} | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
