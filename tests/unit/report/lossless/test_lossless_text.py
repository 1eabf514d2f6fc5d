"""The chapter on the lossless rate, and its figure, which shows every rate."""

from collections.abc import Iterator

import numpy as np
import pytest

from pathlab.report.base.inputs import ReportInputs
from pathlab.report.formats.markdown import render_markdown
from pathlab.report.plots.model import Curve, Points, Rule
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.study.analyses import StudiedResults
from tests.builders.searches import count_two_paths, write_search_results
from tests.builders.sections import draw


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportInputs]:
    folder = write_search_results(tmp_path_factory.mktemp("searched"), count_two_paths, cycles=1)
    with StudiedResults.open(folder) as results:
        yield gather_inputs(results)


def test_the_report_has_a_chapter_with_the_rate_confirmed(inputs: ReportInputs) -> None:
    report = arrange_report(inputs)
    assert "lossless-rate" in [section.key for section in report.sections]
    assert "48.7 Mbit/s" in render_markdown(report, "figures")


def test_the_figure_shows_every_rate_and_what_lost_nothing_at_its_upper_end(inputs: ReportInputs) -> None:
    plot = draw(inputs, "lossless-rate-1")
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
