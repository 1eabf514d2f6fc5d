"""A comparison as a page; delay and loss, which may be 0, compared by their difference."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pathlab.report.base.blocks import list_figures
from pathlab.report.comparison.comparison import build_comparison
from pathlab.report.comparison.comparison_changes import list_summaries
from pathlab.report.comparison.comparison_text import describe_comparison
from pathlab.report.formats.html import render_html
from pathlab.report.plots.live import describe_plot
from pathlab.report.plots.model import Curve, Points, Rule
from pathlab.report.plots.printed import render_svg
from pathlab.report.report_builder import write_comparison
from pathlab.store.records import TrialRecord
from pathlab.study.comparison.rows import ChangeVerdict, ComparisonRules, ResultsComparison, compare_results
from pathlab.study.measures import METRICS
from tests.builders.comparisons import make_base
from tests.builders.results import SyntheticResults, make_quickstart

KIB = 1024


Change = Callable[[TrialRecord, np.random.Generator], TrialRecord]


def make(seed: int, change: Change) -> SyntheticResults:
    base, rng = make_base(12), np.random.default_rng(seed)
    return base.copy(trials=[change(one, rng) for one in base.records], series={})


def delayed(more_ns: float) -> Change:
    """The idle round trip is 40.3 ms; dRTT is ``more_ns`` with noise of 0.1 ms, which may be below 0."""

    def change(record: TrialRecord, rng: np.random.Generator) -> TrialRecord:
        idle = record.unloaded_rtt_mean_ns or 0.0
        return replace(record, loaded_rtt_mean_ns=idle + more_ns + float(rng.normal(0, 1e5)))

    return change


def losing(share: float) -> Change:
    def change(record: TrialRecord, rng: np.random.Generator) -> TrialRecord:
        return replace(record, loaded_sent=1000, loaded_received=int(1000 - rng.binomial(1000, share)))

    return change


def without_idle(record: TrialRecord, _: np.random.Generator) -> TrialRecord:
    return replace(record, unloaded_rtt_mean_ns=None)


def compare(first: SyntheticResults, second: SyntheticResults, *metrics: str) -> ResultsComparison:
    return compare_results([("before", first), ("after", second)], ComparisonRules(metrics=metrics))


def test_a_delay_from_nothing_is_worse_and_has_a_difference_and_no_ratio() -> None:
    found = compare(make(1, delayed(0.0)), make(2, delayed(5e6)), "drtt")
    assert {row.verdict for row in found.rows} == {ChangeVerdict.WORSE}
    for row in found.rows:
        assert not row.is_ratio
        assert row.estimate == pytest.approx(5e6, rel=0.05)
        assert row.interval.contains(5e6)
        assert row.bound == pytest.approx(0.05 * 40.3e6, rel=0.01)
    back = compare(make(2, delayed(5e6)), make(1, delayed(0.0)), "drtt")
    assert {row.verdict for row in back.rows} == {ChangeVerdict.BETTER}


def test_loss_is_compared_by_its_points() -> None:
    worse = compare(make(1, losing(0.0)), make(2, losing(0.04)), "loss")
    assert {row.verdict for row in worse.rows} == {ChangeVerdict.WORSE}
    assert worse.rows[0].estimate == pytest.approx(0.04, abs=0.01)
    same = compare(make(1, losing(0.0)), make(2, losing(0.0)), "loss")
    assert {row.verdict for row in same.rows} == {ChangeVerdict.EQUIVALENT}
    assert same.rows[0].bound == pytest.approx(0.005)


def test_what_was_not_measured_is_undecided() -> None:
    blind = make(1, without_idle)
    assert compare(blind, make(2, delayed(0.0)), "drtt", "throughput").count(ChangeVerdict.UNDECIDED) >= 2
    row = next(row for row in compare(blind, make(2, delayed(0.0)), "drtt").rows)
    assert (row.verdict, row.reason) == (ChangeVerdict.UNDECIDED, "not-measured")


def test_json_has_differences_beside_ratios() -> None:
    rows = describe_comparison(compare(make(1, delayed(0.0)), make(2, delayed(5e6)), "throughput", "drtt"))[
        "rows"
    ]
    by_metric = {row["metric"]: row for row in rows}
    assert by_metric["throughput"]["ratio"] is not None
    assert by_metric["throughput"]["difference"] is None
    assert by_metric["drtt"]["ratio"] is None
    assert by_metric["drtt"]["difference_low"] < 5e6 < by_metric["drtt"]["difference_high"]
    assert by_metric["drtt"]["noise_difference"] is not None


def test_the_page_has_the_sentences_first_then_every_change_with_its_interval() -> None:
    found = compare(make(1, delayed(0.0)), make(2, delayed(5e6)), *METRICS)
    report = build_comparison(found)
    page = render_html(report).replace("\u00a0", " ")
    sentence = next(text for text in list_summaries(found, "after") if text.startswith("dRTT rose"))
    assert page.index(sentence) < page.index('id="figure-changes-1"') < page.index('id="table-rows-')
    plots = {plot.name: plot for plot in list_figures(report)}
    assert set(plots) == {"changes-1", "changes-delay-1", "changes-loss-1"}
    (panel,) = plots["changes-delay-1"].panels
    (points,) = (layer for layer in panel.layers if isinstance(layer, Points))
    (interval,) = (layer for layer in panel.layers if isinstance(layer, Curve))
    assert points.x == pytest.approx([5.0, 5.0], rel=0.05)  # ms
    assert (interval.x[0::3] < points.x).all()
    assert (interval.x[1::3] > points.x).all()
    assert (panel.y.tick_labels, panel.y.ticks) == (("1 × 64 KiB", "4 × 64 KiB"), (2.0, 1.0))
    assert plots["changes-1"].panels[0].title == "Throughput"
    (margin,) = (layer for layer in plots["changes-1"].panels[0].layers if isinstance(layer, Rule))
    assert (margin.low, margin.value, margin.high) == pytest.approx((-100 / 21, 0, 5))


def test_a_figure_of_many_combinations_names_all_of_its_rows() -> None:
    base = make_quickstart(cycles=6, levels=[(streams, 64 * KIB) for streams in range(1, 50)])
    (plot,) = list_figures(build_comparison(compare(base, base, "throughput")))
    labels = plot.panels[0].y.tick_labels or ()
    assert len(labels) == 40
    drawn = render_svg(plot, "x")
    assert all(f">{label}<" in drawn for label in labels)
    described = describe_plot(plot)
    assert described["heights"] == [960]
    assert "" not in described["panels"][0]["y"]["marks"][1]


def test_names_of_results_cannot_inject() -> None:
    results = [("<b>a</b>", make(1, delayed(0.0))), ("<script>b", make(2, delayed(0.0)))]
    page = render_html(build_comparison(compare_results(results, ComparisonRules(metrics=("throughput",)))))
    assert "<b>a</b>" not in page
    assert "<script>b" not in page


def test_what_has_no_interval_is_not_drawn() -> None:
    blind = make(1, without_idle)
    report = build_comparison(compare(blind, blind, "throughput", "drtt"))
    assert [plot.name for plot in list_figures(report)] == ["changes-1"]
    few = make_quickstart(cycles=2, levels=[(1, 64 * KIB)])
    results = [(name, few) for name in ("before", "after", "later")]
    report = build_comparison(compare_results(results, ComparisonRules(metrics=("throughput",))))
    assert not list(list_figures(report))
    page = render_html(report)
    assert page.count("No verdict: ") == 1
    assert "undecided" not in page.split("<body>")[1].split("</header>")[1]


@pytest.mark.parametrize("ending", [".md", ".html"])
def test_it_is_written_as_the_ending_says(ending: str, tmp_path: Path) -> None:
    found = compare(make(1, delayed(0.0)), make(2, delayed(0.0)), "throughput")
    out = write_comparison(found, tmp_path / f"x{ending}")
    assert "after against before" in out.read_text(encoding="utf-8")
