"""What a user chooses of a single figure: its size, its title, and other words for its labels."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pathlab.errors import UsageError
from pathlab.report.plots.model import Axis, Grid, Panel, Plot, Points, Rule, Span

#: Inches: less than a thumbnail, more than a poster.
LEAST_INCH, MOST_INCH = 0.5, 100.0
_SIZE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*[x×,]\s*(\d+(?:\.\d*)?|\.\d+)(?:\s*in)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLook:
    """``size_inch``: width and height; None: its own. ``title``: None: its own, with the condition; "": none.

    ``labels``: other texts by axis, series, panel or factor.
    """

    size_inch: tuple[float, float] | None = None
    title: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


OWN_LOOK = FigureLook()


def read_look(
    size: str | tuple[float, float] | None, title: str | None, labels: Iterable[str] | Mapping[str, str]
) -> FigureLook:
    """The look that options give: ``3.4x2.4``, a title, ``KEY=TEXT``. Raises UsageError."""
    return FigureLook(
        size_inch=None if size is None else parse_size(size),
        title=title,
        labels=labels if isinstance(labels, Mapping) else dict(map(_parse_label, labels)),
    )


def parse_size(size: str | tuple[float, float]) -> tuple[float, float]:
    """Width and height in inches of a text such as ``3.4x2.4``. Raises UsageError."""
    shown = size if isinstance(size, str) else "x".join(f"{item:g}" for item in size)
    match = _SIZE.fullmatch(shown.strip())
    if match is None:
        raise UsageError(f"--size: '{shown}' is not a width and a height", hint="give inches: --size 3.4x2.4")
    width, height = float(match[1]), float(match[2])
    if not all(LEAST_INCH <= item <= MOST_INCH for item in (width, height)):
        raise UsageError(
            f"--size: '{shown}' is not between {LEAST_INCH:g} and {MOST_INCH:g} inches",
            hint="give inches: --size 3.4x2.4",
        )
    return width, height


def _parse_label(given: str) -> tuple[str, str]:
    key, mark, text = given.partition("=")
    if not mark or not key:
        raise UsageError(f"--label: '{given}' is not KEY=TEXT", hint="for example: --label Streams=Flows")
    return key, text


def rename_labels(plot: Plot, labels: Mapping[str, str]) -> Plot:
    """The plot with other texts: a key is a whole label (then its unit goes as well), or words of labels.

    Raises UsageError for a key that no label has, and where two series would have one name.
    """
    if not labels:
        return plot
    known = list(dict.fromkeys(_list_labels(plot)))
    words = re.compile("|".join(rf"(?<!\w){re.escape(key)}(?!\w)" for key in sorted(labels, key=len)[::-1]))
    for key in labels:
        if not any(key == item or re.search(rf"(?<!\w){re.escape(key)}(?!\w)", item) for item in known):
            near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
            raise UsageError(
                f"--label: '{plot.name}' has no label '{key}'",
                hint=f"its labels: {', '.join(map(repr, near or known[:12]))}",
            )

    def rename(text: str) -> str:
        return labels[text] if text in labels else words.sub(lambda result: labels[result[0]], text)

    renamed = replace(
        plot,
        title=rename(plot.title),
        panels=tuple(_rename_panel(panel, labels, rename) for panel in plot.panels),
        keys=tuple(replace(key, text=rename(key.text)) for key in plot.keys),
        names=tuple(map(rename, plot.names)),
    )
    names = list(dict.fromkeys(_list_series(plot)))
    for at, name in enumerate(names):
        if rename(name) in map(rename, names[:at]):
            raise UsageError(
                f"--label: two series would have the name '{rename(name)}'", hint="give each its own text"
            )
    return renamed


def _rename_panel(panel: Panel, labels: Mapping[str, str], rename: Callable[[str], str]) -> Panel:
    def rename_axis(axis: Axis) -> Axis:
        ticks = None if axis.tick_labels is None else tuple(map(rename, axis.tick_labels))
        whole = labels.get(axis.title)
        if whole is not None:
            return replace(axis, label=whole, unit=None, tick_labels=ticks)
        return replace(axis, label=rename(axis.label), tick_labels=ticks)

    return replace(
        panel,
        x=rename_axis(panel.x),
        y=rename_axis(panel.y),
        title=panel.title and rename(panel.title),
        layers=tuple(_rename_layer(layer, rename) for layer in panel.layers),
    )


def _rename_layer(layer: Any, rename: Callable[[str], str]) -> Any:
    changed: dict[str, Any] = {"name": rename(layer.name)}
    if isinstance(layer, Points) and layer.callout:
        changed["callout"] = rename(layer.callout)
    if isinstance(layer, Grid):
        changed |= {"x": tuple(map(rename, layer.x)), "y": tuple(map(rename, layer.y))}
    return replace(layer, **changed)


def _list_series(plot: Plot) -> Iterator[str]:
    for panel in plot.panels:
        yield from (layer.name for layer in panel.layers if not isinstance(layer, (Rule, Span)))


def _list_labels(plot: Plot) -> Iterator[str]:
    for panel in plot.panels:
        for axis in (panel.x, panel.y):
            yield from (axis.label, axis.title, *(axis.tick_labels or ()))
        if panel.title:
            yield panel.title
        for layer in panel.layers:
            yield layer.name
            if isinstance(layer, Points) and layer.callout:
                yield layer.callout
    yield from (key.text for key in plot.keys)
