"""Terminal, report, ``analyze`` and the Python interface give the same recommendation."""

import json
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.report.base.names import shorten_levels
from pathlab.report.flows.recommendation_text import describe_recommendation
from pathlab.report.formats.markdown import render_markdown
from pathlab.report.report_builder import build_document
from pathlab.study.document import encode
from tests import command_line
from tests.builders.results import make_quickstart, write_results

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
    ("cycles", "change", "confidence", "forms"),
    [
        (2, keep, "low", ["json"]),
        (8, keep, "high", ["json", "html"]),
        (8, make_lab_limited, "high", ["json"]),
    ],
    ids=["few-cycles", "decided", "one-lab-limited"],
)
def test_every_output_has_the_same_combination_numbers_and_confidence(
    cycles: int, change: Callable[[Any], Any], confidence: str, forms: list[str], tmp_path: Path, call: Call
) -> None:
    made = make_quickstart(cycles=cycles, levels=LEVELS).copy(series={})
    made.change_trials(change)
    folder = write_results(made, tmp_path / "results")
    with pathlab.open(folder) as stored:
        (answer,) = stored.recommend()
        pages = [render_markdown(build_document(stored), "figures")]
    found = answer.result
    assert found.confidence == confidence

    out = tmp_path / "report.json"
    options = [word for form in forms for word in ("--format", form)]
    printed = call("report", str(folder), *options, "--out", str(out)).out
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
    pages += [unescape(out.with_suffix(f".{form}").read_text(encoding="utf-8")) for form in forms[1:]]
    for text in (described.lead, *(value for _, value in described.numbers), *described.remarks):
        assert text.lower() in printed.lower()
    for page in pages:
        text = page.replace("\xa0", " ").replace("\\", "")
        for said in (described.lead, *(value for _, value in described.numbers), *described.sentences):
            assert said in text
