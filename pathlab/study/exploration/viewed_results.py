"""Results with the explorer's views as methods: what ``pathlab.open`` and ``pathlab.explore`` return."""

from __future__ import annotations

from pathlab.study.analyses import StudiedResults
from pathlab.study.exploration.curves import build_curves
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.shown_view import ShownView
from pathlab.study.exploration.view_text import parse_view


class ViewedResults(ExploredResults):
    """Trials of one or several results, with the explorer's views of them."""

    def view(self, text: str = "") -> ShownView:
        """The figure of a view by its text; empty: the default view. Raises UsageError as ``parse_view``."""
        view = parse_view(text, self)
        return ShownView.of(self, view, build_curves(self, view))


class OpenedResults(StudiedResults):
    """A results file with its analyses and the explorer's views."""

    _explored: ViewedResults | None = None

    def explore(self) -> ViewedResults:
        """The trials as the columns of the explorer, those stored since the last call included."""
        if self._explored is None:
            self._explored = ViewedResults.of(self)
        else:
            self._explored.refresh()
        return self._explored

    def view(self, text: str = "") -> ShownView:
        """The figure of a view of the explorer: ``results.view("x=streams&colour=window_bytes&stat=p95")``.

        ``text`` is the part after ``#`` of the explorer's address; empty: the view that it opens with. Raises
        UsageError for an unknown key, column or level, with the nearest one that exists.
        """
        return self.explore().view(text)
