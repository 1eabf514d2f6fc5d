"""A view of results that can be drawn: what ``results.view(...)`` gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from pathlab.study.exploration.exploration import Exploration
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Draws a view of results with the settings of ``ShownView.figure``.
Drawer: TypeAlias = "Callable[[ExploredResults, View, ShownView, Mapping[str, Any]], Figure]"
_drawers: list[Drawer] = []


def register_drawer(drawer: Drawer) -> None:
    """Let views be drawn by what this layer does not know."""
    _drawers[:] = [drawer]


class ShownView(Exploration):
    """An exploration with the results and the view that it is of."""

    _results: ExploredResults
    _view: View

    @classmethod
    def of(cls, results: ExploredResults, view: View, result: Exploration) -> Self:
        """The exploration of a view."""
        shown = cls(**{field.name: getattr(result, field.name) for field in dataclasses.fields(result)})
        object.__setattr__(shown, "_results", results)
        object.__setattr__(shown, "_view", view)
        return shown

    def figure(
        self,
        *,
        size: str | tuple[float, float] | None = None,
        title: str | None = None,
        label: Mapping[str, str] | None = None,
        style: str | Path | None = None,
    ) -> Figure:
        """The figure of the view, as ``pathlab view --output`` writes it: ``figure().savefig("view.pdf")``.

        ``size``: width and height in inches, ``"3.4x2.4"`` or ``(3.4, 2.4)``; None: as it needs. ``title``:
        None: its own, ``""``: none, and no sentence below the figure. ``label``: other texts for axes, series
        and factors, by label or column: ``{"Streams": "Flows"}``. ``style``: a matplotlib style sheet, or the
        name of one. Raises UsageError for a size without room, and for labels and styles that there are not.
        """
        return _drawers[0](
            self._results, self._view, self, {"size": size, "title": title, "label": label, "style": style}
        )
