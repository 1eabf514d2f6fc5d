"""The texts of a drawn figure and where they are, as matplotlib's renderer has them."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

#: Dots per inch: letters are then placed as on paper.
DPI = 300
#: Boxes that share less have no letter in common, in inches.
TOUCHING_INCH = 0.01


def list_texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text of the figure with its box in inches, each once."""
    figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    found: dict[tuple[str, float, float], Bbox] = {}
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent(canvas.get_renderer())
            found[text.get_text(), round(box.x0), round(box.y0)] = Bbox(box.get_points() / DPI)
    return [(name, box) for (name, _, _), box in found.items()]


def list_faults(figure: Figure) -> Iterator[str]:
    """Texts that reach beyond the canvas, and pairs that cover each other."""
    texts = list_texts(figure)
    width, height = figure.get_size_inches()
    for name, box in texts:
        if min(box.x0, box.y0) < 0 or box.x1 > width or box.y1 > height:
            yield f"'{name}' reaches beyond the canvas: {box.extents}"
    for (name, box), (other, second) in combinations(texts, 2):
        across = min(box.x1, second.x1) - max(box.x0, second.x0)
        upwards = min(box.y1, second.y1) - max(box.y0, second.y0)
        if min(across, upwards) > TOUCHING_INCH:
            yield f"'{name}' and '{other}' cover each other"
