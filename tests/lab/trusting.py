"""Results of a lab whose trials are taken even where a busy machine made all of a combination lab-limited."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from pathlab.study.analyses import StudiedResults

LIMITED = "lab-limited"


class Trusting:
    """Results whose trials are lab-limited only where others of the same combination are not."""

    def __init__(self, source: StudiedResults) -> None:
        self._source = source

    def trials(self) -> pd.DataFrame:
        frame = self._source.trials()
        cells = {row.row: json.dumps(row.settings, sort_keys=True) for row in self._source.plan()}
        given = [(cells[row], flags) for row, flags in zip(frame["plan_row"], frame["flags"], strict=True)]
        sound = {cell for cell, flags in given if LIMITED not in flags}
        frame["flags"] = [
            flags if cell in sound else tuple(flag for flag in flags if flag != LIMITED)
            for cell, flags in given
        ]
        return frame

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)
