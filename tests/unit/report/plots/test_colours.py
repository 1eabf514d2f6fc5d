"""Colours: contrast on paper and on the dark page, and distance with every kind of colour vision."""

import itertools
import re
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from pathlab.report.plots.layers import colour_fields, format_fields
from pathlab.report.plots.live import describe_plot
from pathlab.report.plots.model import Grid
from pathlab.report.plots.printed import render_svg
from pathlab.report.plots.style import COLOURS, INK, INK_SLOT, choose_slot
from tests.builders.plots import make_grid, make_plot
from tests.builders.sections import find_layer

TEXT_CONTRAST, GRAPHIC_CONTRAST = 4.5, 3.0  # WCAG 2.2, level AA: 1.4.3 and 1.4.11
DISTANCE_MIN = 0.05  # in OKLab; about 0.02 is just noticed side by side
SHEET = (resources.files("pathlab.report") / "templates" / "report.css").read_text(encoding="utf-8")
#: Of light (Machado, Oliveira and Fernandes, 2009, severity 1).
VISIONS = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
#: From light to OKLab (Ottosson, 2020).
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def read_light(colour: str) -> NDArray[np.float64]:
    """Linear red, green and blue."""
    parts = np.array(to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def measure_contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2.2."""
    low, high = sorted(float(read_light(one) @ (0.2126, 0.7152, 0.0722)) for one in (first, second))
    return (high + 0.05) / (low + 0.05)


def read_themes() -> dict[str, dict[str, str]]:
    """The colours of the page by theme and name."""
    roots = re.findall(r":root \{([^}]*)\}", SHEET)
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", root)) for root in roots]
    return {"light": found[0], "dark": found[0] | found[1], "paper": found[0] | found[2]}


@pytest.mark.parametrize("theme", ["light", "dark", "paper"])
def test_lines_and_text_contrast_with_their_ground(theme: str) -> None:
    names = read_themes()[theme]
    for colour in COLOURS:
        assert measure_contrast(colour, names["paper"]) >= GRAPHIC_CONTRAST, (colour, theme)
    for text in ("ink", "soft", "accent"):
        for ground in ("paper", "panel"):
            assert measure_contrast(names[text], names[ground]) >= TEXT_CONTRAST, (text, ground, theme)
    assert measure_contrast(names["ink"], names["warn"]) >= TEXT_CONTRAST
    assert measure_contrast(INK, "#ffffff") >= TEXT_CONTRAST


@pytest.mark.parametrize("vision", VISIONS)
def test_sixteen_colours_differ_with_every_kind_of_colour_vision(vision: str) -> None:
    seen = [
        np.cbrt(TO_CONES @ np.clip(VISIONS[vision] @ read_light(one), 0, 1)) @ TO_LAB.T for one in COLOURS
    ]
    assert len(set(COLOURS)) == 16
    for (first, mine), (second, other) in itertools.combinations(zip(COLOURS, seen, strict=True), 2):
        assert np.linalg.norm(mine - other) >= DISTANCE_MIN, (first, second)


def test_lines_of_no_series_have_the_ink_and_no_series_has_it() -> None:
    assert choose_slot(INK_SLOT).colour == INK
    assert INK not in {choose_slot(number).colour for number in range(40)}


def make_differences(values: list[float]) -> Grid:
    grid = find_layer(make_grid(), "median throughput", kind=Grid)
    names = tuple(str(number) for number in range(len(values)))
    return replace(grid, x=names, y=("64 KiB",), values=np.array([values]), diverging=True)


def test_shades_of_differences_part_at_zero() -> None:
    ((low, none, some, high),) = colour_fields(make_differences([-1.0, 0.0, 2.0, 4.0]))
    assert none[0] == "#f2f2f2"
    red = [to_rgb(one[0])[0] - to_rgb(one[0])[2] for one in (low, none, some, high)]
    assert red[0] < red[1] < red[2] < red[3]
    mirrored = colour_fields(make_differences([-4.0, 4.0]))[0]
    assert mirrored[1] == high  # the scale is as wide below zero as above
    assert format_fields(make_differences([-1.0, 0.0, 2.0])) == [["-1", "0", "+2"]]


@pytest.mark.parametrize("diverging", [False, True])
def test_numbers_contrast_with_their_shade_and_print_has_the_shades_of_the_page(diverging: bool) -> None:
    grid = find_layer(make_grid(), "median throughput", kind=Grid)
    grid = replace(grid, values=grid.values - 50, diverging=diverging)
    plot = make_plot(replace(make_grid().panels[0], layers=(grid,)))
    (described,) = describe_plot(plot)["panels"][0]["layers"]
    picture = render_svg(plot, "g")
    for shade, ink in itertools.chain.from_iterable(described["colours"]):
        if shade:
            assert measure_contrast(shade, ink) >= TEXT_CONTRAST
            assert shade in picture
    assert described["colours"][1][2] == ("", "")  # nothing was measured there
