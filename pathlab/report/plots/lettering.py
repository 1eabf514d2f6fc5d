"""Sizes of texts in the type that is set, without drawing them.

matplotlib can measure texts that are drawn, but then draws everything twice: too slow for a hundred figures.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

POINTS_PER_INCH = 72
LINE_RATIO = 1.25  # height of a line, of the size of its type
SPARE_RATIO = 1.03  # small type on a screen is up to so much wider than on paper
_PROBE_POINTS = 100.0


def read_points(setting: str) -> float:
    """The size of type that a setting such as ``legend.fontsize`` names, in points."""
    size = dict[Any, Any](mpl.rcParams)[setting]
    return float(FontProperties(size=size).get_size_in_points())


def measure_width(text: str, points: float, *, bold: bool = False) -> float:
    """The width of the longest line of a text in inches."""
    family = tuple(mpl.rcParams["font.family"]), tuple(mpl.rcParams["font.sans-serif"])
    weight = "bold" if bold else str(mpl.rcParams["font.weight"])
    widest = max(
        sum(_measure_advance(letter, weight, family) for letter in line) for line in text.split("\n")
    )
    return widest * points * SPARE_RATIO / POINTS_PER_INCH


def measure_widest(texts: Sequence[str], points: float) -> float:
    """The width of the widest of some texts in inches; 0 for none."""
    return max((measure_width(text, points) for text in texts if text), default=0.0)


def measure_height(text: str, points: float) -> float:
    """The height of the lines of a text in inches; 0 for no text."""
    return count_lines(text) * line_inch(points)


def line_inch(points: float) -> float:
    """The height of one line in inches."""
    return LINE_RATIO * points / POINTS_PER_INCH


def count_lines(text: str) -> int:
    """The number of lines of a text; 0 for no text."""
    return text.count("\n") + 1 if text else 0


def wrap_label(text: str, width_inch: float, points: float, *, most: int | None = None) -> str:
    """The text in lines of at most that width, words longer than a line broken.

    ``most``: lines that are kept; the last one then ends in an ellipsis.
    """
    if measure_width(text, points) <= width_inch:
        return text
    lines: list[str] = []
    for word in text.split():
        wider = f"{lines[-1]} {word}" if lines else word
        if lines and measure_width(wider, points) <= width_inch:
            lines[-1] = wider
        else:
            lines += _break_word(word, width_inch, points)
    if most is not None and len(lines) > most:
        last = lines[most - 1]
        while last and measure_width(f"{last}…", points) > width_inch:
            last = last[:-1]
        lines = [*lines[: most - 1], f"{last}…"]
    return "\n".join(lines)


def fits_unbroken(text: str, width_inch: float, points: float) -> bool:
    """Whether every word of a text fits into a line of that width."""
    return measure_widest(text.split(), points) <= width_inch


def _break_word(word: str, width_inch: float, points: float) -> list[str]:
    """The word, or parts of it that fit; a letter is the least part."""
    parts: list[str] = []
    while measure_width(word, points) > width_inch and len(word) > 1:
        letters = max(1, int(len(word) * width_inch / measure_width(word, points)))
        while letters > 1 and measure_width(word[:letters], points) > width_inch:
            letters -= 1
        parts.append(word[:letters])
        word = word[letters:]
    return [*parts, word]


@functools.lru_cache(maxsize=4096)
def _measure_advance(letter: str, weight: str, _family: tuple[tuple[str, ...], ...]) -> float:
    """The width of a letter in sizes of its type; the family is the one that is set."""
    properties = FontProperties(size=_PROBE_POINTS, weight=weight)
    with_it, without, *_ = (
        text_to_path.get_text_width_height_descent(text, properties, ismath=False)[0]
        for text in (f"x{letter}x", "xx")
    )
    return float((with_it - without) / _PROBE_POINTS)
