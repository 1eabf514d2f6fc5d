"""Terminal, report, ``analyze`` and the Python interface give the same recommendation."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.report.names import shorten_levels
from pathlab.report.recommendation_text import describe_recommendation
from pathlab.store.results import Results
from pathlab.study.document import encode
from tests import command_line
from tests.builders.results import make_quickstart

KIB = 1024
Call = Callable[..., command_line.Said]
LEVELS = [(1, 64 * KIB), (4, 64 * KIB), (1, 256 * KIB), (2, 256 * KIB)]


def keep(record: Any) -> Any:
    return record


def make_lab_limited(record: Any) -> Any:
    flags = ("lab", "lab-limited") if record.streams == 4 else record.flags
    return replace(record, flags=flags)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line with its arguments one by one, on a terminal that breaks no line."""
    monkeypatch.setenv("COLUMNS", "400")
    return lambda *arguments: command_line.call(arguments, capsys)


@pytest.mark.parametrize(
    ("cycles", "change", "confidence"),
    [(2, keep, "low"), (8, keep, "high"), (8, make_lab_limited, "high")],
    ids=["few-cycles", "decided", "one-lab-limited"],
)
def test_every_output_has_the_same_combination_numbers_and_confidence(
    cycles: int, change: Callable[[Any], Any], confidence: str, tmp_path: Path, call: Call
) -> None:
    made = make_quickstart(cycles=cycles, levels=LEVELS)
    folder = tmp_path / "results"
    with Results.create(folder, made.campaign, made.plan()) as results:
        for record in made.records:
            results.add_trial(change(record), {})
    with pathlab.open(folder) as stored:
        (answer,) = stored.recommend()
    found = answer.result
    assert found.confidence == confidence
    assert found.recommended is not None

    out = tmp_path / "report"
    forms = ("--format", "json", "--format", "md", "--format", "html")
    printed = call("report", str(folder), *forms, "--out", str(out)).out
    analysed = json.loads(call("analyze", str(folder), "--only", "recommendation", "--json").out)
    document = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    (reported,), (analysed_one,) = document["recommendations"], analysed["analyses"]["recommendation"]
    words = reported.pop("words")
    assert reported == {key: encode(getattr(answer, key)) for key in reported} == analysed_one

    described = describe_recommendation(found)
    assert words == encode(described)
    assert described.certainty[0].startswith(f"Confidence: {confidence} - ")
    table = call("analyze", str(folder), "--only", "recommendation").out
    assert shorten_levels(*found.recommended.levels) in table
    markdown = out.with_suffix(".md").read_text(encoding="utf-8").replace("\\", "")
    page = unescape(out.with_suffix(".html").read_text(encoding="utf-8")).replace("\xa0", " ")
    for text in (described.lead, *(value for _, value in described.numbers), *described.remarks):
        assert text.lower() in printed.lower()
    for text in (described.lead, *(value for _, value in described.numbers), *described.sentences):
        assert text in markdown
        assert text in page
