"""Tables of answers: words instead of reason codes, and each caveat once."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from pathlab.report.answer_table import print_answers, render_analyses
from pathlab.study.analyses import Study
from pathlab.study.registry import ANALYSES
from tests.builders.results import make_quickstart

KIB = 1024
LEVELS = [(1, 64 * KIB), (4, 64 * KIB)]


def render(cycles: int, *names: str) -> str:
    study = Study(make_quickstart(cycles=cycles, levels=LEVELS))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    render_analyses({name: ANALYSES[name](study) for name in names}, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_why_there_is_no_interval_is_said_once_below_the_table() -> None:
    text = render(2, "cells")
    assert text.count("too few samples") == 1
    assert "no 95 % CI" not in render(20, "cells")


def test_caveats_are_stated_once_for_a_condition() -> None:
    made = make_quickstart(cycles=2, levels=LEVELS)
    made.records[0] = replace(made.records[0], flags=("lab", "lab-limited"))
    made.records[1] = replace(made.records[1], flags=("lab", "busy-core"))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    study = Study(made)
    render_analyses({name: ANALYSES[name](study) for name in ("cells", "serial", "drift")}, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for line in (
        "no 95 % CI: too few samples",
        "excluded: 1 lab-limited",
        "includes at most 1 trial flagged",
    ):
        assert text.count(line) == 1, text


def test_no_table_shows_a_reason_code() -> None:
    names = [name for name, entry in ANALYSES.items() if entry.per != "trial"]
    text = render(2, *names)
    for code in ("too-few-samples", "path-capacity", "receiver-window", "not-identified", "not-measured"):
        assert code not in text


@pytest.mark.parametrize("heading", ["distribution", "limited by", "verdict"])
def test_every_column_of_words_continues_on_the_next_line(heading: str) -> None:
    console = Console(file=io.StringIO(), width=40)
    words = "a value of many words that one line cannot hold"
    print_answers(("combination", heading), [("1 × 64 KiB", words), ("2 × 64 KiB", "another")], "T", console)
    assert isinstance(console.file, io.StringIO)
    assert set(words.split()) <= set(console.file.getvalue().split())
