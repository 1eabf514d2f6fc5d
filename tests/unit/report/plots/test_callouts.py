"""Texts inside a panel: beside a ringed point, above a line."""

from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.plots.extents import measure_extents
from pathlab.report.plots.live import describe_plot
from pathlab.report.plots.model import Axis, Curve, Panel, Points, Rule
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import render_svg
from tests.builders.plots import make_answer, make_panel, make_plot


def find_ring(panel: Panel) -> Points:
    """The ringed point of a panel."""
    return next(layer for layer in panel.layers if isinstance(layer, Points) and layer.callout)


def make_ring(x: float, y: float) -> Points:
    return Points(name="best", x=np.array([x]), y=np.array([y]), callout="recommended", legend=False)


@pytest.mark.parametrize(
    ("x", "y", "outside"),
    [(0.0, 0.0, ("left", "bottom")), (10.0, 10.0, ("right", "top")), (10.0, 0.0, ("right", "bottom"))],
)
def test_a_callout_at_a_corner_is_written_inside(x: float, y: float, outside: tuple[str, str]) -> None:
    frame = Curve(name="ends", x=np.array([0.0, 10.0]), y=np.array([5.0, 5.0]), line=False)
    corners = Points(name="corners", x=np.array([0.0, 10.0]), y=np.array([0.0, 10.0]))
    (panel,) = prepare_plot(make_plot(make_panel(frame, corners, make_ring(x, y)))).panels
    side = find_ring(panel).side
    assert not set(side.split()) & set(outside)


def test_a_callout_keeps_off_the_line_through_its_point() -> None:
    x = np.linspace(0.0, 10.0, 11)
    falling, rising = Curve(name="line", x=x, y=10 - x), Curve(name="line", x=x, y=x)
    sides = []
    for line in (falling, rising):
        (panel,) = prepare_plot(make_plot(make_panel(line, make_ring(5.0, 5.0)))).panels
        sides.append(find_ring(panel).side)
    assert sides[0] in ("bottom left", "top right")
    assert sides[1] in ("bottom right", "top left")


def test_the_name_of_a_line_is_inside_the_panel_and_away_from_the_ring() -> None:
    line = Rule(name="link rate", value=10.0, labelled=True)
    curve = Curve(name="line", x=np.array([0.0, 10.0]), y=np.array([9.9, 10.0]))
    panel = make_panel(curve, line, make_ring(0.0, 9.9))
    panel = replace(panel, y=Axis(label="Rate", from_zero=True))
    ready = prepare_plot(make_plot(panel))
    ((_, upwards),) = measure_extents(ready)
    assert upwards.high - 10.0 > 0.15 * upwards.high
    assert next(layer for layer in ready.panels[0].layers if isinstance(layer, Rule)).at_right


def test_print_and_page_show_the_same_texts() -> None:
    plot = make_answer()
    text = render_svg(plot, "a")
    described = describe_plot(plot)
    assert text.count(">recommended<") == 2
    for panel, limit in zip(described["panels"], ("limit: 38.6 Mbit/s", "limit: 50 ms"), strict=True):
        assert f">{limit}<" in text
        layers = {layer["kind"]: layer for layer in panel["layers"]}
        assert layers["points"]["callout"] == "recommended"
        assert layers["rule"]["labelled"]
        assert "legend" not in layers["rule"]  # a text in the panel is not repeated below it
