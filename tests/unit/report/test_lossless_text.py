"""The lossless rate for readers: the answer first, tables that fit, a figure that shows every rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pathlab.campaign.order import PlanRow
from pathlab.report.blocks import Paragraph
from pathlab.report.formats.forms import FORMS
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Points, Rule
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.report.sections.chapters import find_plot
from pathlab.study.analyses import StudiedResults
from tests.builders.searches import count_link, write_search_results


def count_two_paths(row: PlanRow) -> Mapping[str, Any]:
    """With GSO a faster path; without it the receiving host loses as well."""
    if row.cell.gso:
        return {**count_link(60e6)(row), "udp_reordered_packets": 3, "udp_refused_packets": 0}
    counts = count_link(48e6, 0.001)(row)
    host = counts["udp_lost_packets"] // 4
    own = {"udp_lost_host_packets": host, "udp_lost_path_packets": counts["udp_lost_packets"] - host}
    return {**counts, **own}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportInputs]:
    folder = write_search_results(tmp_path_factory.mktemp("searched"), count_two_paths, cycles=1)
    with StudiedResults.open(folder) as results:
        yield gather_inputs(results)


def test_the_report_has_answer_figure_and_rates(inputs: ReportInputs, tmp_path: Path) -> None:
    report = arrange_report(inputs)
    first = report.opening.blocks[0]
    assert isinstance(first, Paragraph)
    keys = [section.key for section in report.sections]
    assert "lossless-rate" in keys
    written = FORMS["md"].write(report, tmp_path / "report.md").read_text(encoding="utf-8")
    assert "packets lost by the receiving host" in written or "Host" in written
    assert "48.7 Mbit/s" in written
    FORMS["json"].write(report, tmp_path / "report.json")
    FORMS["html"].write(report, tmp_path / "report.html")


def test_the_figure_shows_every_rate_and_what_lost_nothing_at_its_upper_end(inputs: ReportInputs) -> None:
    plot = find_plot(inputs, "lossless-rate-1")
    assert plot is not None
    assert len(plot.panels) == 2  # so that points of combinations do not hide each other
    answers = {answer.result.name: answer.result for answer in inputs.study.lossless_rate()}
    for panel in plot.panels:
        result = answers[panel.title or ""]
        drawn = [layer for layer in panel.layers if isinstance(layer, (Curve, Points))]
        assert sum(layer.x.size for layer in drawn) == len(result.rates)
        assert all(np.isfinite(layer.y).all() and (layer.y > 0).all() for layer in drawn)
        free = [layer for layer in drawn if isinstance(layer, Points)]
        assert bool(free) == any(rate.lost == 0 for rate in result.rates)
        rules = [layer for layer in panel.layers if isinstance(layer, Rule)]
        assert {rule.vertical for rule in rules} == {True, False}
        assert next(rule.value for rule in rules if not rule.vertical) == pytest.approx(1.0)
