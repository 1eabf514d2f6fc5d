"""The results of a server: those named on the command line, those below a folder, and those that are open."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request

from pathlab.errors import PathlabError, StoreError, UsageError
from pathlab.serve.answers import RequestRefused
from pathlab.serve.catalogue import Catalogue, CatalogueEntry
from pathlab.serve.open_results import OpenResults
from pathlab.store.location import DATABASE_NAME

#: Sets of results that stay open, the latest used, and their trials; 100,000 take some 350 MB.
OPEN_SETS_MAX, OPEN_TRIALS_MAX = 8, 250_000
#: Results on the same axes.
SOURCES_MAX = 8
_GONE = "these results were deleted or replaced"


class ResultsLibrary:
    """What a server can show. Used from several threads."""

    def __init__(self, given: Sequence[Path], folder: Path | None = None) -> None:
        """``given`` are shown together at once; those below ``folder`` can be chosen on the page."""
        self.catalogue = Catalogue(given, folder)
        self._open: OrderedDict[tuple[str, ...], OpenResults] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def find(cls, paths: Sequence[Path]) -> ResultsLibrary:
        """The library of results and at most one folder of results.

        Raises UsageError for two folders or too many results, StoreError where none of those named can be
        read.
        """
        folders = [place for place in paths if place.is_dir() and not (place / DATABASE_NAME).exists()]
        if len(folders) > 1:
            raise UsageError(
                f"'{folders[0]}' and '{folders[1]}' are two folders of results",
                hint="name results one by one, or the folder above both",
            )
        given = [place for place in paths if place not in folders]
        if len(given) > SOURCES_MAX:
            raise UsageError(
                f"{len(given)} results do not fit on the same axes, {SOURCES_MAX} do",
                hint="name the folder that holds them, and choose on the page",
            )
        library = cls(given, *folders)
        entries = library.list_given()
        if entries and not any(entry.can_be_opened for entry in entries):
            raise StoreError(str(entries[0].summary.problem), hint="see: pathlab results check RESULTS")
        return library

    def list_given(self) -> list[CatalogueEntry]:
        """The entries of the results named on the command line, as they are now."""
        return [self.catalogue.look_at(path) for path in self.catalogue.given]

    def select(self, request: Request) -> list[CatalogueEntry]:
        """The results that a request names with ``open=ID,ID``, by default those of the command line.

        The first is source A. Raises RequestRefused for an id that is unknown, or whose results are gone.
        """
        named = request.query_params.get("open")
        if not named:
            entries = self.list_given()
            if not entries:
                raise RequestRefused(400, "no results are chosen", hint="name them: open=ID,ID")
            return entries
        ids = list(dict.fromkeys(named.split(",")))
        if len(ids) > SOURCES_MAX:
            raise RequestRefused(400, f"at most {SOURCES_MAX} results fit on the same axes")
        result = [self.catalogue.find(item) for item in ids]
        entries = [entry for entry in result if entry is not None]
        if len(entries) < len(ids):
            raise RequestRefused(410, _GONE, hint="choose results again: load the page without open=")
        return entries

    def open_given(self) -> None:
        """Open and pack the results of the command line before the first page asks for them.

        What cannot be read is left to the page, which says so.
        """
        if entries := self.list_given():
            with contextlib.suppress(PathlabError):
                self.open(entries).pack()

    def open_selected(self, request: Request) -> OpenResults:
        """The results that ``select`` finds, opened at their first use. Raises as ``select``."""
        return self.open(self.select(request))

    def open(self, entries: Sequence[CatalogueEntry]) -> OpenResults:
        """These results, open; the sets used least are let go.

        Results that are read otherwise than before, or lost trials, are opened afresh.
        """
        ids = tuple(entry.results_id for entry in entries)
        readings = tuple(entry.reading for entry in entries)
        stored = sum(entry.summary.trials for entry in entries)
        with self._lock:
            known = self._open.pop(ids, None)
            if known is None or known.readings != readings or known.count_trials() > stored:
                known = OpenResults(ids, tuple(entry.path for entry in entries), readings)
            self._open[ids] = known
            while len(self._open) > 1 and self._is_full():
                self._open.popitem(last=False)
        return known

    def _is_full(self) -> bool:
        trials = sum(item.count_trials() for item in self._open.values())
        return len(self._open) > OPEN_SETS_MAX or trials > OPEN_TRIALS_MAX
