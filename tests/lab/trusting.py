"""Results of a lab whose trials are taken even where a busy machine made some of every cycle lab-limited."""

from typing import Any

import pandas as pd

from pathlab.store.usable import parse_flags, serialize_flags
from pathlab.study.analyses import StudiedResults

LIMITED = "lab-limited"


class Trusting:
    """Results whose trials are lab-limited only where a cycle has none that is.

    ``is_emulated``: whether there is such a cycle. Without one no figure of the study is the links' alone.
    """

    def __init__(self, source: StudiedResults) -> None:
        self._source = source
        frame = source.trials()
        cycles = {row.row: row.cycle for row in source.plan()}
        rows = zip(frame["plan_row"], frame["flags"], strict=True)
        disturbed = {cycles[row] for row, flags in rows if LIMITED in flags}
        self.is_emulated = not disturbed >= set(cycles.values())

    def trials(self) -> pd.DataFrame:
        frame = self._source.trials()
        if not self.is_emulated:
            lists = map(parse_flags, frame["flags"])
            frame["flags"] = [serialize_flags(flag for flag in flags if flag != LIMITED) for flags in lists]
        return frame

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)
