"""Stored histograms of round trips: the tail of a load, the work that many samples take, and damage."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

from pathlab.analysis.estimators.tails import CURVE_POINTS
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.chapters import find_plot
from pathlab.report.plots.model import Area, Curve
from pathlab.store.hdr_histogram import ExactFigures, Histogram, HistogramLayout
from pathlab.study.analyses import Study
from tests.builders.messages import TCP, make_message_results
from tests.builders.results import SyntheticResults

INTERVALS, SAMPLES = 20, 50_000


class CountedResults(SyntheticResults):
    """Results that keep account of the series that were read."""

    reads: list[int]

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
        self.reads.append(trial_id)
        return super().series_tables(trial_id, columns)


def make_results(cycles: int = 6, *, results: type[SyntheticResults] = SyntheticResults) -> SyntheticResults:
    """One load with histograms."""
    made = make_message_results((TCP,), sizes=(64,), rates=(5000,), cycles=cycles, histograms=True)
    series = {number: {"round_trips": made.series(number, "round_trips")} for number in range(1, cycles + 1)}
    return results(made.campaign, made.plan(), made.records, series, made.hosts())


def test_a_tail_never_exceeds_the_stored_maximum() -> None:
    results = make_results(1)
    frame = results.series(1, "round_trips")
    steady = frame[frame["phase"] == "steady"]
    (found,) = (one.result.tail for one in Study(results).message_tails())
    assert found.n == steady["count"].sum()
    assert max(found.values) <= steady["max_ns"].max()
    whole = Histogram.decode_sum(
        steady["histogram"], ExactFigures(found.n, steady["min_ns"].min(), steady["max_ns"].max(), 1.0)
    )
    median = found.find_quantile(0.5)
    assert median.value == whole.quantile_ns(0.5)


def test_a_quantile_at_the_maximum_is_the_maximum() -> None:
    """All round trips are in one place of the histogram, whose upper end is above all of them."""
    results = make_results(1)
    frame = results.series(1, "round_trips")
    slowest_ns = 1_000_003
    one = Histogram.count_values(np.full(2000, slowest_ns), HistogramLayout())
    frame["histogram"], frame["count"] = one.encode(), 2000
    frame["min_ns"] = frame["max_ns"] = slowest_ns
    (found,) = (answer.result.tail for answer in Study(results).message_tails())
    p99 = found.find_quantile(0.99)
    assert p99.value == slowest_ns


def test_a_damaged_series_is_left_out_and_named() -> None:
    results = make_results()
    frame = results.series(3, "round_trips")
    first, second, *rest = frame["histogram"]
    frame["histogram"] = [first, second[:-1], *rest]
    inputs = ReportInputs(Study(results))
    (answer,) = inputs.answers("message_tails")
    assert answer.result.tail.trials == 5
    plot = find_plot(inputs, "latency-tail-1-64B-5k-s")
    assert not any(isinstance(one, Area) for one in plot.panels[0].layers)  # five trials have no interval
    assert [(one.reason, one.trials) for one in answer.selection.excluded] == [("series-damaged", 1)]


def test_ten_million_samples_are_read_once_and_drawn_at_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work does not grow with samples: one pass over each trial's intervals, a curve of few points."""
    results = make_results(10, results=CountedResults)
    assert isinstance(results, CountedResults)
    results.reads = []
    for number in range(1, 11):
        frame = results.series(number, "round_trips")
        steady = frame[frame["phase"] == "steady"].iloc[:1]
        (found,) = (Histogram.decode(data) for data in steady["histogram"])
        many = Histogram(found.layout, found.places, found.counts * (SAMPLES // found.count), found.exact)
        stored = frame.loc[steady.index.repeat(INTERVALS)].reset_index(drop=True)
        stored["histogram"], stored["count"] = many.encode(), many.count
        results._series[number]["round_trips"] = stored
    passes: list[int] = []
    decode = Histogram.decode_sum

    def count_passes(encoded: Iterable[bytes], exact: ExactFigures | None = None) -> Histogram:
        histograms = list(encoded)
        passes.append(len(histograms))
        return decode(histograms, exact)

    monkeypatch.setattr(Histogram, "decode_sum", count_passes)
    inputs = ReportInputs(Study(results))
    plot = find_plot(inputs, "latency-tail-1-64B-5k-s")
    (answer,) = inputs.answers("message_tails")
    assert answer.result.tail.n == 10_000_000
    assert sorted(results.reads) == list(range(1, 11))
    assert passes == [INTERVALS] * 10
    (curve,) = (one for one in plot.panels[0].layers if isinstance(one, Curve))
    assert curve.x.size <= CURVE_POINTS
