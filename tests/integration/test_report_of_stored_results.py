"""The report reads what the store wrote: the same summary and page, nothing lost on the way."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pathlab.report.formats.html import render_html, write_html
from pathlab.report.formats.report_json import describe_report
from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import arrange_report, build_document, gather_inputs
from pathlab.store.results import Results
from pathlab.study.analyses import Study
from pathlab.study.streams import summarise_streams
from tests.builders.results import SyntheticResults, make_quickstart, write_results
from tests.builders.trials import make_failed


@pytest.fixture
def synthetic() -> SyntheticResults:
    results = make_quickstart(cycles=2, levels=[(1, 65536), (4, 65536), (2, None)])
    results.records[1] = make_failed(results.records[1])
    return results


@pytest.fixture
def stored(synthetic: SyntheticResults, tmp_path: Path) -> Iterator[Results]:
    with Results.open(write_results(synthetic, tmp_path / "results")) as results:
        yield results


def test_counts_and_answer_are_those_of_the_records(synthetic: SyntheticResults, stored: Results) -> None:
    assert stored.records() == synthetic.records
    assert Study(stored).count_trials() == Study(synthetic).count_trials()
    both = [describe_report(build_document(source)) for source in (stored, synthetic)]
    assert both[0]["recommendations"] == both[1]["recommendations"]
    assert both[0]["recommendations"][0]["result"]["recommended"] is not None


def test_series_survive_the_file(synthetic: SyntheticResults, stored: Results) -> None:
    number = next(i for i, record in enumerate(synthetic.records, 1) if record.status == "complete")
    steady_ns = synthetic.records[number - 1].steady_ns
    assert summarise_streams(stored, number, steady_ns) == summarise_streams(synthetic, number, steady_ns)
    assert summarise_streams(stored, number, steady_ns)


def test_page_is_the_same(synthetic: SyntheticResults, stored: Results, tmp_path: Path) -> None:
    # the failed trial keeps no series in the store, and the report draws none for it either way
    out = write_html(build_document(stored), tmp_path / "report.html")
    assert out.read_text(encoding="utf-8") == render_html(build_document(synthetic))


@pytest.mark.parametrize("name", ["trials", "plan"])
def test_trials_and_plan_are_read_once(name: str, stored: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    read = getattr(Results, name)

    def count(self: Results, **where: Any) -> Any:
        reads.append(where)
        return read(self, **where)

    monkeypatch.setattr(Results, name, count)
    inputs = gather_inputs(stored)
    render_summary(inputs.study, (), Console(file=io.StringIO()))
    arrange_report(inputs)
    assert reads == [{}]
