"""The Python API: what ``import pathlab`` offers."""

from __future__ import annotations

from pathlib import Path

from pathlab.study.analyses import StudiedResults


def open(path: str | Path) -> StudiedResults:
    """Open a results folder, or the ``results.db`` inside one, for reading.

    ``results.trials(streams=8)`` gives a data frame, ``results.series(trial_id, kind)`` one series. Every
    analysis is a method: ``results.streams_vs_windows()``, ``results.saturation()``, ``results.limits()`` and
    the others of ``pathlab.study.analyses.Analyses``, each a tuple of answers with path, condition, the
    trials that it rests on, and a frozen result; ``to_frame()`` of it is a data frame. Raises StoreError when
    the file is missing, not PathLab's, or of a newer format.
    """
    return StudiedResults.open(path)
