"""Tables of answers: words instead of reason codes, and each caveat once."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from pathlab.report.base.answer_table import print_answers, render_analyses
from pathlab.study.analyses import Study
from pathlab.study.base.registry import ANALYSES
from pathlab.table_columns import TableColumn
from tests.builders.printed import print_text
from tests.builders.results import SyntheticResults, make_quickstart

KIB = 1024


def print_analyses(results: SyntheticResults, names: Iterable[str]) -> str:
    answers = {name: ANALYSES[name](Study(results)) for name in names}
    return print_text(lambda console: render_analyses(answers, console), 200)


@pytest.fixture
def results() -> SyntheticResults:
    return make_quickstart(levels=[(1, 64 * KIB), (4, 64 * KIB)])


def test_analyses_without_a_usable_trial_are_named_once(results: SyntheticResults) -> None:
    results.records = [replace(record, flags=("lab", "lab-limited")) for record in results.records]
    text = print_analyses(results, ("recommendation", "surface", "drift"))
    assert "Recommendation: " in text
    assert text.splitlines()[-1] == "These need usable trials: Response surface; Drift."


def test_no_table_shows_a_reason_code(results: SyntheticResults) -> None:
    text = print_analyses(results, [name for name, entry in ANALYSES.items() if entry.per != "trial"])
    for code in ("too-few-samples", "path-capacity", "receiver-window", "not-identified", "not-measured"):
        assert code not in text


@pytest.mark.parametrize("heading", ["distribution", "limited by", "verdict"])
def test_every_column_of_words_continues_on_the_next_line(heading: str) -> None:
    words = "a value of many words that one line cannot hold"
    rows = [("1 × 64 KiB", words), ("2 × 64 KiB", "another")]
    columns = [column for entry in ANALYSES.values() for column in entry.columns if column.heading == heading]
    shown = (TableColumn("combination"), columns[0])
    text = print_text(lambda console: print_answers(shown, rows, "T", console), 40)
    assert set(words.split()) <= set(text.split())
