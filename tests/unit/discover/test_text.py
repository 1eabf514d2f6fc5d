"""A path as text, as JSON and as a figure."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from rich.console import Console

from pathlab.discover.mtu import PathMtu
from pathlab.discover.path import PathReport
from pathlab.discover.route import build_route
from pathlab.discover.text import render_path
from pathlab.errors import UsageError
from pathlab.report.plots.path_figure import check_figure_file, draw_path, save_path_figure
from tests.unit.discover.path_samples import OPENED, probe, sample_capacity, sample_report


def render(report: PathReport, names: dict[str, str] | None = None, width: int = 80) -> str:
    out = io.StringIO()
    render_path(report, Console(file=out, width=width, highlight=False), names)
    return out.getvalue()


def test_the_table_holds_every_hop_and_fits_eighty_columns() -> None:
    text = render(sample_report())
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    for expected in (
        "local → far.example (198.18.0.10)",
        "198.18.0.1 ",
        "198.18.0.3 ",
        "2 ms",
        "2.05 ms",
        "Mbit/s",
        "undecided",
        "at least",
        "udp: 3 hops; same route on all 2 flows.",
        "Path MTU 1400 bytes, limited by 198.18.0.2.",
        "! not measured: route by tcp: tcp probes need raw sockets",
    ):
        assert expected in text


def test_the_estimates_shown_are_those_of_the_result() -> None:
    capacity = sample_capacity((20e6,))
    estimate = capacity.hops[0].estimate
    assert estimate.capacity_bits_per_s is not None
    text = render(sample_report(capacity=capacity))
    assert f"{estimate.capacity_bits_per_s / 1e6:.1f} Mbit/s" in text
    assert estimate.r_squared is not None
    assert f"R² {estimate.r_squared - 0.0005:.3f} " in text


def test_names_stand_beside_addresses_and_markup_in_them_is_text() -> None:
    text = render(sample_report(), {"198.18.0.1": "[red]gw[/red].example"}, width=160)
    assert "[red]gw[/red].example (198.18.0.1)" in text


def test_silence_is_said_in_words_and_no_time_is_made_up() -> None:
    probes = [probe(1, None), probe(2, 4_000_000, kind="port-unreachable")]
    opened = {**OPENED, "source_ports": [53100]}
    route = build_route(opened, probes, {0: 2}, ("reached", 0, 0))
    text = render(sample_report(routes=(route,), capacity=None, mtu=None, lost=()))
    first = next(line for line in text.splitlines() if line.strip().startswith("1 "))
    assert first.split() == ["1", "*", "–", "–", "100", "%", "–", "–"]
    assert "(never answers)" in text
    assert "udp: 2 hops." in text


def test_a_balanced_route_shows_each_flow() -> None:
    probes = [
        probe(ttl, 10**6, flow=flow, source=source, kind=kind)
        for flow, middle in ((0, "198.18.0.2"), (1, "198.18.0.6"))
        for ttl, source, kind in ((1, middle, "time-exceeded"), (2, "198.18.0.10", "port-unreachable"))
    ]
    route = build_route(OPENED, probes, {0: 2, 1: 2}, ("reached", 0, 0))
    text = render(sample_report(routes=(route,), capacity=None))
    assert "udp: 2 hops; balanced, 2 routes on 2 flows." in text
    assert "flow 1 (source port 53101): 198.18.0.6 198.18.0.10" in text


def test_a_black_hole_is_said() -> None:
    hole = PathMtu(mtu_bytes=1400, first_link_bytes=1500, limited_by=None, black_hole=True, reason=None)
    assert "Path MTU 1400 bytes; larger packets are dropped silently." in render(sample_report(mtu=hole))


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


def drawn_texts(figure: Figure) -> str:
    return "\n".join(text.get_text() for axes in figure.axes for text in axes.texts)


def test_the_figure_has_titles_units_intervals_and_bounds() -> None:
    report = sample_report()
    figure = draw_path(report)
    above, below = figure.axes
    assert above.get_title(loc="left").startswith("Capacity and latency along the path\nlocal → far.example")
    assert above.get_ylabel() == "Capacity (Mbit/s)"
    assert below.get_ylabel() == "Time (ms)"
    assert below.get_xlabel()
    assert report.capacity is not None
    decided = [hop.estimate for hop in report.capacity.hops if hop.estimate.capacity_bits_per_s is not None]
    points = [np.asarray(container[0].get_ydata())[0] for container in above.containers]
    assert points == [(estimate.capacity_bits_per_s or 0) / 1e6 for estimate in decided]
    assert all(isinstance(one, ErrorbarContainer) and one.has_yerr for one in above.containers)
    assert "undecided" in drawn_texts(figure)
    figure.canvas.draw()
    ticks = [tick.get_text() for tick in above.get_yticklabels(which="both")]
    assert {"20", "100"} < set(ticks)
    assert all(not tick or float(tick) > 0 for tick in ticks)  # numbers, no powers spelt out
    medians = np.asarray(below.lines[0].get_ydata())
    assert medians.tolist() == [(hop.rtt_median_ns or 0) / 1e6 for hop in report.route.hops]


def test_its_curves_are_told_apart_without_colour() -> None:
    _, below = draw_path(sample_report()).axes
    looks = {(line.get_linestyle(), str(line.get_marker())) for line in below.lines}
    assert len(looks) == len(below.lines) == 3
    greys = [
        sum(w * c for w, c in zip((0.3, 0.59, 0.11), to_rgb(line.get_color()), strict=True))
        for line in below.lines
    ]
    assert all(grey < 0.6 for grey in greys)  # dark enough on white


def test_without_capacity_the_figure_says_so() -> None:
    assert "not measured" in drawn_texts(draw_path(sample_report(capacity=None)))


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_figure_is_written_as_its_ending_says(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"path.{ending}"
    save_path_figure(sample_report(), file)
    magic = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[ending]
    assert file.read_bytes().startswith(magic)


def test_a_file_that_cannot_be_drawn_into_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'path\.txt' does not end in \.svg, \.png, \.pdf"):
        check_figure_file(Path("path.txt"))
    with pytest.raises(UsageError, match="there is no folder"):
        check_figure_file(tmp_path / "nowhere" / "path.svg")
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        save_path_figure(sample_report(), tmp_path / "taken.svg")
