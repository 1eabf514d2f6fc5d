"""A path as text, as JSON and as a figure."""

from pathlib import Path

from pathlab.discover.mtu import PathMtu
from pathlab.discover.route import build_route
from pathlab.errors import UsageError
from pathlab.report.paths.routes import plot_path
from pathlab.report.plots.figure_file import check_figure_file
from pathlab.report.plots.printed import write_figure
from tests.builders.paths import OPENED, probe, sample_capacity, sample_report
from tests.golden.conftest import Say, catch
from tests.unit.discover.test_text import Follower, render


def test_a_capacity_that_left_its_interval_is_corrected_at_the_end(say: Say) -> None:
    follower = Follower(sample_capacity((20e6, 20e6, 20e6)))
    follower.begin(waits=True)
    moved = sample_capacity((40e6, 20e6, 20e6)).hops[0].estimate
    follower.printer.on_settled({1: moved})
    follower.printer.finish(follower.report)
    say(line for line in follower.out.getvalue().splitlines() if line.startswith("Hop 1, "))


def test_a_balanced_route_shows_each_flow(say: Say) -> None:
    probes = [
        probe(ttl, 10**6, flow=flow, source=source, kind=kind)
        for flow, middle in ((0, "198.18.0.2"), (1, "198.18.0.6"))
        for ttl, source, kind in ((1, middle, "time-exceeded"), (2, "198.18.0.10", "port-unreachable"))
    ]
    route = build_route(OPENED, probes, {0: 2, 1: 2}, ("reached", 0, 0))
    text = render(sample_report(routes=(route,), capacity=None))
    say(text)


def test_a_black_hole_is_said(say: Say) -> None:
    hole = PathMtu(mtu_bytes=1400, first_link_bytes=1500, limited_by=None, black_hole=True, reason=None)
    say(render(sample_report(mtu=hole)))


def test_without_capacity_the_figure_says_so(say: Say) -> None:
    plot = plot_path(sample_report(capacity=None).as_document())
    say(plot.sentence)
    assert [panel.y.label for panel in plot.panels] == ["Time"]


def test_a_file_that_cannot_be_drawn_into_is_named(say: Say, tmp_path: Path) -> None:
    say(catch(UsageError, check_figure_file, Path("path.txt"), "--figure"))
    say(catch(UsageError, check_figure_file, tmp_path / "nowhere" / "path.svg", "--figure"))
    (tmp_path / "taken.svg").mkdir()
    say(catch(UsageError, write_figure, plot_path(sample_report().as_document()), tmp_path / "taken.svg"))
