"""A path as text, as JSON and as a figure."""

import io
import json
import math

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from pathlab.discover.capacity import CapacityResult
from pathlab.discover.path import PathReport
from pathlab.discover.route import build_route
from pathlab.discover.text import HopPrinter
from pathlab.report.paths.routes import plot_path
from pathlab.report.plots.model import Curve
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import draw_plot
from pathlab.report.plots.style import choose_slot
from pathlab.units import format_rate
from tests.builders.paths import OPENED, probe, sample_capacity, sample_report
from tests.builders.sections import find_curve


def render(report: PathReport, names: dict[str, str] | None = None, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    HopPrinter(console, None if names is None else lambda _: names).finish(report)
    return out.getvalue()


def test_the_estimates_shown_are_those_of_the_result() -> None:
    capacity = sample_capacity((20e6,))
    estimate = capacity.hops[0].estimate
    text = render(sample_report(capacity=capacity), width=120)
    assert f"{estimate.capacity_bits_per_s / 1e6:.1f} Mbit/s" in text
    assert f" {math.floor(estimate.r_squared * 1000) / 1000:.3f}\n" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = render(sample_report(), {"198.18.0.1": "a-rather-long-name.of-a-router.example"}, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text


class Follower:
    """What is printed after each step of a discovery."""

    def __init__(self, capacity: CapacityResult, width: int = 200) -> None:
        self.out = io.StringIO()
        self.printer = HopPrinter(Console(file=self.out, width=width))
        self.estimates = {hop.hop: hop.estimate for hop in capacity.hops}
        self.report = sample_report(capacity=capacity)

    def list_hops(self) -> list[str]:
        lines = self.out.getvalue().splitlines()
        return [line.split()[0] for line in lines if line.split()[0].isdecimal()]

    def begin(self, *, waits: bool) -> None:
        self.printer.on_route("local", "far.example", self.report.route, waits=waits)

    def settle(self, *hops: int) -> None:
        self.printer.on_settled({hop: self.estimates[hop] for hop in hops})


def test_a_hop_is_printed_when_it_and_all_before_it_are_settled() -> None:
    follower = Follower(sample_capacity())
    follower.begin(waits=True)
    assert follower.out.getvalue().splitlines()[0] == "local → far.example (198.18.0.10)"
    assert follower.list_hops() == []
    follower.settle(2)
    assert follower.list_hops() == []
    follower.settle(1, 2)
    assert follower.list_hops() == ["1", "2"]
    follower.settle(1, 2, 3)
    follower.printer.finish(follower.report)
    assert follower.list_hops() == ["1", "2", "3"]
    assert "by all probes" not in follower.out.getvalue()
    whole = io.StringIO()
    HopPrinter(Console(file=whole, width=200)).finish(follower.report)
    assert follower.out.getvalue() == whole.getvalue()


def test_without_a_capacity_to_wait_for_the_hops_come_with_the_route() -> None:
    follower = Follower(sample_capacity())
    follower.begin(waits=False)
    assert follower.list_hops() == ["1", "2", "3"]


def test_names_stand_beside_addresses_and_markup_in_them_is_text() -> None:
    text = render(sample_report(), {"198.18.0.1": "[red]gw[/red].example"}, width=160)
    assert "[red]gw[/red].example (198.18.0.1)" in text


def test_silence_is_said_in_words_and_no_time_is_made_up() -> None:
    probes = [probe(1, None), probe(2, 4_000_000, kind="port-unreachable")]
    opened = {**OPENED, "source_ports": [53100]}
    route = build_route(opened, probes, {0: 2}, ("reached", 0, 0))
    text = render(sample_report(routes=(route,), capacity=None, mtu=None, lost=()))
    first = next(line for line in text.splitlines() if line.strip().startswith("1 "))
    assert first.split() == ["1", "*", "–", "–", "100", "%"]
    assert "Hop 1: never answers." in text
    assert "udp: 2 hops." in text


def test_the_document_is_json_with_null_for_what_was_not_measured() -> None:
    report = sample_report()
    document = json.loads(json.dumps(report.as_document(), allow_nan=False))
    assert document["format"] == 1
    assert document["routes"][0]["fingerprint"] == report.route.fingerprint
    assert document["routes"][0]["reached"] is True
    assert document["routes"][0]["hops"][0]["verdict"] == "answers"
    fast = document["capacity"]["hops"][2]["estimate"]
    assert fast["capacity_bits_per_s"] is None
    assert fast["undecided"] in ("beyond-range", "not-positive")
    assert fast["capacity_interval"]["low"] is None
    slow = document["capacity"]["hops"][1]["estimate"]
    assert slow["capacity_bits_per_s"] == pytest.approx(20e6, rel=0.1)


def test_the_figure_has_titles_units_intervals_and_bounds() -> None:
    report = sample_report()
    plot = plot_path(report.as_document())
    assert plot.title == "Capacity and latency along the path"
    assert plot.condition.startswith("local → far.example")
    assert [panel.y.title for panel in plot.panels] == ["Capacity (Mbit/s)", "Time (ms)"]
    estimates = [hop.estimate for hop in report.capacity.hops]
    capacity = find_curve(plot, "capacity")
    rates = [one.capacity_bits_per_s for one in estimates]
    shown = [rate for rate in rates if rate is not None]
    assert capacity.y[~np.isnan(capacity.y)].tolist() == [rate / 1e6 for rate in shown]
    assert (np.isnan(capacity.low) == np.isnan(capacity.y)).all()
    bound = find_curve(plot, "at least (undecided)")
    least = [None if one.capacity_bits_per_s else one.at_least_bits_per_s for one in estimates]
    assert bound.y.tolist() == pytest.approx([rate / 1e6 if rate else np.nan for rate in least], nan_ok=True)
    assert any(least)
    assert capacity.texts == tuple("" if rate is None else format_rate(rate) for rate in rates)
    assert bound.texts == tuple(f"≥ {format_rate(rate)}" if rate else "" for rate in least)
    medians = find_curve(plot, "RTT, median", panel=1)
    assert medians.y.tolist() == [(hop.rtt_median_ns or 0) / 1e6 for hop in report.route.hops]
    latency = find_curve(plot, "one-way latency to here", panel=1)
    sums_ns = report.capacity.latencies_to_hops_ns
    assert dict(zip(latency.x[~np.isnan(latency.y)], latency.y[~np.isnan(latency.y)], strict=True)) == {
        hop: pytest.approx(sum_ns / 1e6) for hop, sum_ns in sums_ns.items()
    }


def test_many_hops_are_named_above_the_figure_and_their_rates_keep_apart() -> None:
    document = sample_report().as_document()
    hop, estimate = document["routes"][0]["hops"][0], document["capacity"]["hops"][0]
    document["routes"][0]["hops"] = [
        {**hop, "hop": number, "addresses": [f"198.51.100.{number}"]} for number in range(1, 15)
    ]
    document["capacity"]["hops"] = [{**estimate, "hop": number} for number in range(1, 15)]
    plot = plot_path(document)
    assert all(f"{number}:\u00a0198.51.100.{number}" in plot.condition for number in range(1, 15))
    texts = find_curve(plot, "capacity").texts
    places = [place for place, text in enumerate(texts) if text]
    assert places[0] == 0  # the narrowest, the first of equals
    assert 4 <= len(places) <= 7
    assert min(np.diff(places)) >= 2
    figure = draw_plot(prepare_plot(plot), titled=True)
    assert figure.get_tightbbox().x1 < figure.bbox_inches.x1 + 0.02


def test_its_curves_differ_without_colour() -> None:
    plot = plot_path(sample_report().as_document())
    slots = [choose_slot(layer.slot) for layer in plot.panels[1].layers if isinstance(layer, Curve)]
    assert len({(slot.dash, slot.marker) for slot in slots}) == len(slots) == 3
