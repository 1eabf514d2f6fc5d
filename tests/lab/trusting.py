"""Results of a lab whose trials are taken even where a busy machine made them lab-limited."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pathlab.study.analyses import StudiedResults


class Trusting:
    """Results without the flag lab-limited."""

    def __init__(self, source: StudiedResults) -> None:
        self._source = source

    def trials(self) -> pd.DataFrame:
        frame = self._source.trials()
        frame["flags"] = [tuple(flag for flag in flags if flag != "lab-limited") for flags in frame["flags"]]
        return frame

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)
