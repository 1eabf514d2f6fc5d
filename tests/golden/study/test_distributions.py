"""Distributions of selected trials: shares, their band, and bins."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.view import View
from tests.builders.tables import make_table
from tests.golden.conftest import Say
from tests.unit.study.exploration.test_distributions import build, make_values


def test_columns_of_another_unit_are_not_on_the_axis(say: Say) -> None:
    table = make_table(np.random.default_rng(7), 60)
    view = View(x="streams", y=("throughput", "rtt"), statistic="cdf")
    found = build_from_rows(table, view, np.arange(60))
    say(found.notes)
    assert {curve.y_column for curve in found.facets[0].curves} == {"throughput"}


def test_logarithmic_bins_have_equal_ratios(say: Say) -> None:
    values = np.r_[np.random.default_rng(6).lognormal(0, 2, 200), 0.0, -1.0]
    found = build(make_values(values), "histogram", scale_x="log10")
    (curve,) = found.facets[0].curves
    ratios = np.array(curve.edges[1:]) / np.array(curve.edges[:-1])
    assert ratios == pytest.approx(ratios[0])
    assert sum(point.trials for point in curve.points) == 200
    say(found.notes)
