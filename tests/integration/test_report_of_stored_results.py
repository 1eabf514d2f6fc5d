"""The report reads what the store wrote: the same summary and page, nothing lost on the way."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from pathlab.report.formats.html import render_html
from pathlab.report.formats.report_json import describe_report
from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import arrange_report, build_document, gather_inputs
from pathlab.report.topics import summarise_topics
from pathlab.store.results import Results
from pathlab.study.analyses import Study
from pathlab.study.flows.streams import summarise_streams
from tests.builders.results import SyntheticResults, make_quickstart, write_results
from tests.builders.trials import make_failed


@pytest.fixture(scope="module")
def synthetic() -> SyntheticResults:
    results = make_quickstart(cycles=2, levels=[(1, 65536), (4, 65536), (2, None)])
    results.records[1] = make_failed(results.records[1])
    return results


@pytest.fixture(scope="module")
def stored(synthetic: SyntheticResults, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    with Results.open(write_results(synthetic, tmp_path_factory.mktemp("stored") / "results")) as results:
        yield results


def test_answer_and_page_are_those_of_the_records(synthetic: SyntheticResults, stored: Results) -> None:
    assert stored.records() == synthetic.records
    assert Study(stored).count_trials() == Study(synthetic).count_trials()
    documents = [build_document(source) for source in (stored, synthetic)]
    answers = [describe_report(document)["recommendations"] for document in documents]
    assert answers[0] == answers[1]
    assert answers[0][0]["result"]["recommended"] is not None
    # The failed trial keeps no series in the store, and the report draws none for it either way.
    assert render_html(documents[0]) == render_html(documents[1])


def test_series_survive_the_file(synthetic: SyntheticResults, stored: Results) -> None:
    number = next(i for i, record in enumerate(synthetic.records, 1) if record.status == "complete")
    steady_ns = synthetic.records[number - 1].steady_ns
    assert summarise_streams(stored, number, steady_ns) == summarise_streams(synthetic, number, steady_ns)
    assert summarise_streams(stored, number, steady_ns)


def test_trials_and_plan_are_read_once(stored: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[tuple[str, dict[str, Any]]] = []

    def count(name: str, read: Any) -> Any:
        def read_and_count(self: Results, **where: Any) -> Any:
            reads.append((name, where))
            return read(self, **where)

        return read_and_count

    for name in ("trials", "plan"):
        monkeypatch.setattr(Results, name, count(name, getattr(Results, name)))
    inputs = gather_inputs(stored)
    render_summary(summarise_topics(inputs.study), (), Console(file=io.StringIO()))
    arrange_report(inputs)
    assert sorted(reads) == [("plan", {}), ("trials", {})]
