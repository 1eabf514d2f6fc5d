"""Numbers that no screen can hold: which are drawn, and the remarks on the others."""

import numpy as np
import pytest

from pathlab.report.plots.extents import Extent, format_tick, mark_axis, measure_extents
from pathlab.report.plots.model import Area, Axis, Curve, Plot, Points, Scale
from pathlab.report.plots.preparation import COLUMNS, POINTS_MAX, prepare_plot
from tests.builders.plots import list_samples, make_panel, make_plot

PROBES = 100_000


def make_cloud() -> tuple[Plot, Points]:
    """Many probes with a single spike, a single dip, and outliers in the crowd."""
    rng = np.random.default_rng(3)
    height = 40 + rng.random(PROBES)
    height[12_345], height[77_777] = 900.0, 1.0
    apart = np.zeros(PROBES, dtype=bool)
    apart[[5, 50_000]] = True
    hover = tuple(f"probe {number}" for number in range(PROBES))
    cloud = Points(name="probes", x=np.arange(float(PROBES)), y=height, outlier=apart, hover=hover)
    return make_plot(make_panel(cloud)), cloud


def test_many_points_keep_extremes_outliers_and_their_hover() -> None:
    plot, cloud = make_cloud()
    ready = prepare_plot(plot)
    (kept,) = ready.panels[0].layers
    assert isinstance(kept, Points)
    assert len(kept.x) <= 3 * COLUMNS + 2
    assert {12_345.0, 77_777.0, 5.0, 50_000.0} <= set(kept.x)
    assert kept.outlier.sum() == 2
    assert kept.hover == tuple(f"probe {int(x)}" for x in kept.x)
    assert np.array_equal(kept.y, cloud.y[kept.x.astype(int)])
    assert "“probes” has 100,000 points" in ready.sentence
    assert prepare_plot(ready) is ready


def test_lines_of_many_points_keep_their_gaps() -> None:
    x = np.arange(10_000.0)
    y = np.where((x > 4_000) & (x < 6_000), np.nan, np.sin(x))
    curve = Curve(name="line", x=x, y=y)
    (kept,) = prepare_plot(make_plot(make_panel(curve))).panels[0].layers
    assert isinstance(kept, Curve)
    gap = np.flatnonzero(np.isnan(kept.y))
    assert gap.size == 1
    assert 4_000 < kept.x[gap[0]] < 6_000


def test_bands_and_logarithmic_axes_are_thinned_over_what_is_seen() -> None:
    x = np.geomspace(1, 1e6, 50_000)
    band = Area(name="band", x=x, low=np.sqrt(x), high=x)
    curve = Curve(name="fit", x=x, y=x)
    (kept, line) = prepare_plot(make_plot(make_panel(band, curve, x=Scale.LOG10))).panels[0].layers
    assert isinstance(kept, Area)
    assert isinstance(line, Curve)
    assert len(kept.x) < 6 * COLUMNS
    assert (line.x < 1000).sum() > len(line.x) / 3  # half of the decades, and not one in a thousand points


def test_few_points_stay_as_they_are() -> None:
    curve = Curve(name="line", x=np.arange(float(POINTS_MAX)), y=np.zeros(POINTS_MAX))
    ready = prepare_plot(make_plot(make_panel(curve)))
    assert ready.panels[0].layers == (curve,)


def test_a_curve_whose_intervals_are_all_undecided_is_drawn() -> None:
    undecided = np.full(2, np.nan)
    curve = Curve(name="line", x=np.arange(2.0), y=np.arange(2.0), low=undecided, high=undecided)
    assert prepare_plot(make_plot(make_panel(curve))).panels[0].layers == (curve,)


def test_numbers_of_unequal_length_name_the_figure_and_the_layer() -> None:
    plot = make_plot(make_panel(Curve(name="crooked", x=np.zeros(3), y=np.zeros(2))))
    with pytest.raises(ValueError, match=r"'sample'.*'crooked'"):
        prepare_plot(plot)


def test_axes_reach_every_value_and_begin_at_zero_where_asked() -> None:
    for plot in list_samples():
        ready = prepare_plot(plot)
        for panel, (across, upwards) in zip(ready.panels, measure_extents(ready), strict=True):
            assert across.low < across.high
            assert upwards.low < upwards.high
            for layer in panel.layers:
                if isinstance(layer, Curve):
                    assert across.low <= np.nanmin(layer.x) <= np.nanmax(layer.x) <= across.high
                    assert upwards.low <= np.nanmin(layer.y) <= np.nanmax(layer.y) <= upwards.high
            assert upwards.low == 0 or not panel.y.from_zero


def test_shared_axes_reach_as_far() -> None:
    panels = [
        make_panel(Curve(name="c", x=np.array([low, high]), y=np.zeros(2))) for low, high in ((0, 1), (5, 9))
    ]
    extents = measure_extents(make_plot(*panels, shared_x=True))
    assert extents[0][0] == extents[1][0]
    assert extents[0][0].high > 9


def test_levels_too_near_to_each_other_keep_their_tick_and_lose_their_label() -> None:
    levels = tuple(float(level) for level in range(1, 101))
    marks = mark_axis(Axis(label="Streams", ticks=levels), Extent(low=0, high=101))
    assert len(marks[0]) == 100
    assert 5 < sum(bool(label) for label in marks[1]) < 40


def test_logarithmic_axes_are_marked_at_round_numbers() -> None:
    assert mark_axis(Axis(label="Size", scale=Scale.LOG2), Extent(low=3, high=70)) == (
        [4.0, 8.0, 16.0, 32.0, 64.0],
        ["4", "8", "16", "32", "64"],
    )
    marks = mark_axis(Axis(label="Rate", scale=Scale.LOG10), Extent(low=0.9, high=2e9))
    assert all(mark == 10 ** round(np.log10(mark)) for mark in marks[0])
    assert format_tick(5e5) == "5×10⁵"
    assert format_tick(1e-7) == "10⁻⁷"
    assert format_tick(0.25) == "0.25"


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (1.0, 1e3, ["1", "2", "5"]),
        (700.0, 950.0, ["700", "800", "900"]),
        (85.0, 115.0, ["90", "100"]),
        (810.0, 890.0, None),  # too short for marks: left to the renderer
    ],
)
def test_a_logarithmic_axis_of_one_value_has_marks(low: float, high: float, labels: list[str] | None) -> None:
    marks = mark_axis(Axis(label="Messages", scale=Scale.LOG10), Extent(low=low, high=high))
    assert (marks and marks[1][: len(labels or ())]) == labels
