"""The chapter on round trips by technology and its part of the opening: figures and tables."""

from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.base.blocks import TableBlock
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.chapters import build_sections, list_lazy_plots
from pathlab.report.opening import build_opening
from pathlab.report.plots.model import Curve, Plot, Points
from pathlab.report.technologies.technology_text import describe_technologies
from tests.builders.sections import draw, find_layers, find_section, find_table, list_blocks
from tests.builders.technologies import (
    FACTS,
    LOADS,
    Facts,
    Technology,
    make_adapter,
    make_technology_inputs,
    make_technology_results,
    weaken_loads,
)

TCP, REDIS = Technology(), make_adapter("redis", 20_000.0)
LOADED = [{"background": load, "priority": level} for load in LOADS for level in (None, 50)]


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    """Both ends on one core; 16,000 round trips of each technology."""
    settings = [{"cpus_sender": "0", "cpus_receiver": "0"}]
    return make_technology_inputs(make_technology_results(settings=settings, cycles=8, samples=2000))


def test_ranges_are_drawn_from_low_to_high(inputs: ReportInputs) -> None:
    (panel,) = draw(inputs, "technologies-1-64B").panels
    assert panel.y.rows
    assert (panel.y.tick_labels or ())[0] == "shared-memory (spinning)"
    assert (panel.y.tick_labels or ())[-1] == "quic-aioquic"
    points = find_layers(panel, Points)
    assert list(points) == ["mean", "median", "p99"]
    assert (np.diff(points["median"].x) > 0).all()
    (line,) = (one for one in panel.layers if isinstance(one, Curve))
    low, high = line.x[0::3], line.x[1::3]
    assert (low < points["median"].x).all()
    assert (points["p99"].x < high).all()


def test_a_quantile_that_some_lack_is_blank_there() -> None:
    results = make_technology_results((TCP, REDIS), sizes=(64,))
    short = [number for number, one in enumerate(results.records, 1) if one.adapter_versions]
    big = make_technology_results((TCP, REDIS), sizes=(64,), samples=20_000)
    for number in range(1, len(results.records) + 1):
        frame = results.series(number, "round_trips")
        few = frame[frame["phase"] == "warmup"].assign(phase="steady")
        results._series[number] = {
            "round_trips": few if number in short else big.series(number, "round_trips")
        }
    opening = build_opening(make_technology_inputs(results))
    table = next(one for one in opening.blocks if isinstance(one, TableBlock))
    place = [one.heading for one in table.columns].index("p99.99")
    cells = {row[0]: row[place] for row in table.rows}
    assert cells["redis"] == ""
    assert cells["tcp"].endswith("µs")


def test_the_share_of_the_language_is_in_the_table_of_overheads(inputs: ReportInputs) -> None:
    facts = {**FACTS, "quic-aioquic": Facts("python", "tcp", "tcp-python")}
    results = make_technology_results(sizes=(64,), histograms=False)
    known, unknown = (
        find_table(list_blocks([find_section(one, "technologies")]), "overheads-1")
        for one in (make_technology_inputs(results, facts), inputs)
    )
    labels = [one.heading for one in known.columns]
    shares = {row[0]: row[labels.index("Share of the language")] for row in known.rows}
    assert shares["quic-aioquic"].endswith("% (python, 8 cycles)")
    assert shares["redis"] == "–"
    assert "Share of the language" not in [one.heading for one in unknown.columns]


def test_curves_over_size_and_tails_are_those_of_latency(inputs: ReportInputs) -> None:
    names = [one.name for one in list_lazy_plots(inputs)]
    assert len(names) == len(set(names))
    assert "technology-tail-1-64B-1" in names
    assert not any(name.startswith("latency-") for name in names)  # no second set of them
    tail = draw(inputs, "technology-tail-1-64B-1")
    assert list(find_layers(tail.panels[0], Curve)) == ["shared-memory (spinning)", "unix", "tcp", "udp"]
    sizes = draw(inputs, "technologies-by-size-1-1")
    assert [panel.title for panel in sizes.panels] == ["Median", "p99", "p99.9"]
    assert "message-latency" not in {one.key for one in build_sections(inputs)}


def test_offered_rates_keep_their_chapter() -> None:
    """Knees are of one technology each, and messages one after the other have the chapter on technologies."""
    results = make_technology_results((TCP, REDIS), sizes=(64,), samples=200)
    offered = make_technology_results(
        (TCP, REDIS), sizes=(64,), settings=[{"message_rate_per_s": 1000}], seed=6, samples=200
    )
    count = len(results.plan())
    results._plan += [replace(row, row=row.row + count) for row in offered.plan()]
    results._series.update({number + count: one for number, one in offered._series.items()})
    results.records += [
        replace(one, plan_row=one.plan_row + count, offered_messages_per_s=1000) for one in offered.records
    ]
    inputs = make_technology_inputs(results)
    assert {"technologies", "message-latency"} <= {one.key for one in build_sections(inputs)}
    names = {one.name for one in list_lazy_plots(inputs)}
    assert {"latency-tail-1-64B-1k-s", "technologies-1-64B", "technologies-2-64B"} <= names
    assert "latency-tail-1-64B-oneatatime" not in names


@pytest.fixture(scope="module")
def loaded() -> ReportInputs:
    results = make_technology_results(
        (TCP, REDIS), sizes=(64,), settings=LOADED, noise_ratio=0.003, cycles=12, histograms=False
    )
    return make_technology_inputs(results)


def test_loads_are_drawn_beside_each_other_and_open_where_undecided(loaded: ReportInputs) -> None:
    plots = {one.name: one for one in build_opening(loaded).blocks if isinstance(one, Plot)}
    (panel,) = next(one for name, one in plots.items() if name.startswith("loaded-background")).panels
    assert panel.y.tick_labels == ("tcp", "redis")
    assert find_layers(panel, Points)["combined load"].x == pytest.approx([2.0, 2.0], rel=0.05)
    assert any(one.startswith("loaded-priority") for one in plots)


def test_weak_loads_are_undecided_and_counted_beside_table_and_figure() -> None:
    settings = [{"background": load} for load in ("none", "cpu")]
    results = make_technology_results(
        (TCP, REDIS), sizes=(64,), settings=settings, cycles=12, histograms=False
    )
    inputs = make_technology_inputs(weaken_loads(results))
    weak = describe_technologies(inputs.study)[-1]
    assert "24 of 24" in weak
    table = find_table(list_blocks([find_section(inputs, "technologies")]), "loaded-table-2")
    assert weak in (table.note or "")
    assert all(row[2].endswith(" undecided") for row in table.rows)
    drawn = next(one for one in list_lazy_plots(inputs) if one.name.startswith("loaded-background")).build()
    assert weak in drawn.sentence
    assert all(one.hollow for one in find_layers(drawn.panels[0], Points).values())


def test_thirty_technologies_fit() -> None:
    many = [TCP, *(make_adapter(f"technology-{number}", 5_000.0 * 1.1**number) for number in range(30))]
    results = make_technology_results(many, sizes=(64,), cycles=2, samples=200)
    facts = {f"technology-{number}": Facts() for number in range(30)}
    inputs = make_technology_inputs(results, facts)
    (panel,) = draw(inputs, "technologies-1-64B").panels
    assert len(panel.y.ticks or ()) == 31
    tails = [one.name for one in list_lazy_plots(inputs) if one.name.startswith("technology-tail")]
    assert tails == [f"technology-tail-1-64B-{part}" for part in (1, 2, 3, 4)]
