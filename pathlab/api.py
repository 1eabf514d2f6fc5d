"""The Python API: what ``import pathlab`` offers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathlab.study.exploration.shown_view import ShownView, register_drawer
from pathlab.study.exploration.view import View
from pathlab.study.exploration.viewed_results import OpenedResults, ViewedResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pathlab.study.exploration.explored_results import ExploredResults


def open(path: str | Path) -> OpenedResults:
    """Open a results folder, or the ``results.db`` inside one, for reading.

    ``results.trials(streams=8)`` gives a data frame, ``results.series(trial_id, kind)`` one series. Every
    analysis is a method: ``results.streams_vs_windows()``, ``results.saturation()``, ``results.limits()`` and
    the others of ``pathlab.study.analyses.Analyses``, each a tuple of answers with path, condition, the
    trials that it rests on, and a frozen result; ``to_frame()`` of it is a data frame. Raises StoreError when
    the file is missing, not PathLab's, or of a newer format.
    """
    return OpenedResults.open(path)


def explore(*paths: str | Path) -> ViewedResults:
    """Open one results folder or several, or files, for the explorer's views, such as to compare two runs.

    ``pathlab.explore(A, B).view("colour=results")`` has the curves of both on the same axes;
    ``numbers(column)``, ``levels(column)`` and ``codes(column)`` give the trials' values, ``columns`` what
    there is. Raises StoreError when one is missing, not PathLab's, or of a newer format; of several, one that
    is damaged has a note in ``sources``. Raises UsageError when none is given.
    """
    return ViewedResults.open(paths)


def _draw_view(results: ExploredResults, view: View, shown: ShownView, chosen: Mapping[str, Any]) -> Figure:
    # matplotlib takes a second to load
    from pathlab.report.explorer.figure import draw_view
    from pathlab.report.plots.figure_look import read_look

    look = read_look(chosen["size"], chosen["title"], chosen["label"] or {})
    return draw_view(results, view, shown, chosen["style"], look)


register_drawer(_draw_view)
