"""The lossless rate for readers: the answer first, tables that fit, a figure that shows every rate."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from pathlab.report.formats.terminal import render_summary
from pathlab.report.inputs import ReportInputs
from pathlab.report.report_builder import gather_inputs
from pathlab.study.analyses import StudiedResults
from tests.builders.searches import write_search_results
from tests.golden.conftest import Say
from tests.unit.report.test_lossless_text import count_two_paths


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportInputs]:
    folder = write_search_results(tmp_path_factory.mktemp("searched"), count_two_paths, cycles=1)
    with StudiedResults.open(folder) as results:
        yield gather_inputs(results)


@pytest.mark.parametrize("width", [60, 100])
def test_the_terminal_has_the_answer_first_and_no_cut(say: Say, inputs: ReportInputs, width: int) -> None:
    screen = io.StringIO()
    render_summary(inputs.study, (), Console(file=screen, width=width, color_system=None))
    lines = screen.getvalue().splitlines()
    assert all(len(line.rstrip()) <= width for line in lines)
    say(lines[0])
    text = " ".join(" ".join(line.split()) for line in lines)
    say(text)
    tables = [line for line in lines if line.startswith("Rates tried")]
    assert len(tables) == 2
    assert sum(line.split()[:3] == ["Rate", "Loss", "CI"] for line in lines) == 2
