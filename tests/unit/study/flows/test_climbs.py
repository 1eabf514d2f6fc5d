"""Which probes say whether a round trip was rising, and what becomes of a series that cannot be read."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pathlab.study.base.selection import Rules, select
from pathlab.study.base.trials import StudySource, read_study_trials
from pathlab.study.flows.climbs import CellClimb, classify_cell_climb
from tests.builders.results import with_series
from tests.builders.series import make_histogram_row
from tests.builders.sweeps import make_sweep

MS = 1_000_000
LEVELS = [(1, 65_536)]
MARGIN_NS = 8e6


def classify(results: StudySource) -> CellClimb:
    (sample,) = select(read_study_trials(results), Rules(as_requested=True))
    return classify_cell_climb(results, sample, MARGIN_NS, 3)


def probes(rtts_ns: Sequence[float]) -> pd.DataFrame:
    return pd.DataFrame({"sent_ns": np.arange(len(rtts_ns)) * 100 * MS, "rtt_ns": rtts_ns})


def intervals(first: int, last: int, number: int) -> pd.DataFrame:
    """Intervals of 100 ms, the steady ones from ``first`` to before ``last``."""
    steady = [first <= place < last for place in range(number)]
    starts = np.arange(number) * 100 * MS
    phases = np.where(steady, "steady", "warmup")
    return pd.DataFrame({"phase": phases, "start_ns": starts, "end_ns": starts + 100 * MS})


def test_where_histograms_were_kept_the_means_of_their_intervals_are_read() -> None:
    rises = [*[160.0] * 20, *(160.0 + 2 * place for place in range(20))]
    for course, still in ((rises, True), (rises[:20] * 2, False)):
        rows = [
            make_histogram_row(place * 100 * MS, [int(mean * MS)], sent=1, lost=0, reordered=0)
            for place, mean in enumerate(course)
        ]
        series = {"loaded_probe_histograms": pd.DataFrame(rows), "sender_intervals": intervals(20, 40, 60)}
        found = classify(with_series(make_sweep(3, levels=LEVELS), series))
        assert (found.classified, found.still_rising) == (3, still)
