"""The Python API: what ``import pathlab`` offers."""

from __future__ import annotations

from pathlib import Path

from pathlab.store.results import Results


def open(path: str | Path) -> Results:
    """Open a results folder, or the ``results.db`` inside one, for reading.

    ``results.trials(streams=8)`` gives a data frame, ``results.series(trial_id, kind)`` one series. Raises
    StoreError when the file is missing, not PathLab's, or of a newer format.
    """
    return Results.open(path)
