"""Whether the trials of a combination had one rate each: bursts, changes, seconds without a byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.steadiness import Steadiness, describe_steadiness
from pathlab.store.records import TrialRecord
from pathlab.study.base.answer import Answer, make_cell_answer
from pathlab.study.base.selection import VOID_FLAGS, Rules
from pathlab.study.base.trials import StudySource, TrialTable
from pathlab.study.flows.limits import (
    RateCache,
    choose_trials,
    name_counting_end,
    read_rates,
    share_out,
    split_conditions,
)
from pathlab.study.flows.readings import FlowRates

#: Of a stream whose segment size was not recorded.
SEGMENT_BYTES = 1448


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSteadiness:
    """The ``checked`` trials whose intervals were read: how many are ``unsteady`` or ``silent`` for seconds.

    ``trial_ids`` are those of both kinds. ``example``: the unsteady trial of the middle mean rate where most
    are unsteady; else of the silent ones that with the longest silence. ``by_sender`` trials were read by the
    sender's count. Trials without intervals are not checked.
    """

    checked: int
    unsteady: int
    silent: int
    by_sender: int
    trial_ids: tuple[int, ...]
    example: Steadiness | None = None
    undecided: Undecided | None = None

    @property
    def mostly_unsteady(self) -> bool:
        """Whether most of the trials have no one rate."""
        return 2 * self.unsteady > self.checked

    @property
    def disturbed(self) -> bool:
        """Whether a mean or median alone would mislead."""
        return self.mostly_unsteady or self.silent > 0

    @property
    def counted_by(self) -> str:
        """The end whose intervals were read."""
        return name_counting_end(self.by_sender, self.checked)


def find_steadiness(
    source: StudySource, table: TrialTable, trials_per_cell: int | None, cache: RateCache
) -> tuple[Answer[CellSteadiness], ...]:
    """The steadiness of the trials of every cell, by ``steadiness.describe_steadiness``.

    As many trials are read as by ``limits.classify_cell_limits``.
    """
    cells = split_conditions(table, Rules(flags=VOID_FLAGS))
    most = share_out(trials_per_cell, len(cells))
    answers = []
    for _, streams, window, part in cells:
        ids, segments, rtts = (part.get(name) for name in ("trial_id", "mss_bytes", "loaded_rtt_median_ns"))
        result = []
        for index in choose_trials(part, most):
            rates = read_rates(source, int(ids[index]), streams, cache)
            item = _describe(rates, segments[index], rtts[index])
            result.append((int(ids[index]), item, rates.by_sender))
        answers.append(make_cell_answer(part, (streams, window), _summarise(result)))
    return tuple(answers)


def classify_steadiness(source: StudySource, trial_id: int, record: TrialRecord) -> Steadiness:
    """The steadiness of one trial; undecided without its intervals. A damaged series counts as none."""
    rates = read_rates(source, trial_id, record.streams, {})
    return _describe(rates, record.mss_bytes, record.loaded_rtt_median_ns)


def _describe(rates: FlowRates, segment_bytes: float | None, rtt_ns: float | None) -> Steadiness:
    return describe_steadiness(
        rates.counts[rates.steady],
        rates.lengths_ns[rates.steady],
        segment_bytes=_known(segment_bytes) or SEGMENT_BYTES,
        buffered_bytes=rates.ahead_bytes,
        rtt_ns=_known(rtt_ns) or 0.0,
    )


def _known(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) or value < 0 else float(value)


def _summarise(result: Sequence[tuple[int, Steadiness, bool]]) -> CellSteadiness:
    read = [trial for trial in result if trial[1].undecided is not Undecided.NO_SAMPLES]
    unsteady = [item for _, item, _ in read if item.steady is False]
    silent = [item for _, item, _ in read if item.outages]
    reasons = [item.undecided for _, item, _ in result if item.undecided is not None]
    example = None
    if 2 * len(unsteady) > len(read):
        middle = median_low(item.mean_bits_per_s or 0.0 for item in unsteady)
        example = next(item for item in unsteady if item.mean_bits_per_s == middle)
    elif silent:
        example = max(silent, key=lambda item: item.silent_ns)
    return CellSteadiness(
        checked=len(read),
        unsteady=len(unsteady),
        silent=len(silent),
        by_sender=sum(by_sender for _, _, by_sender in read),
        trial_ids=tuple(trial_id for trial_id, item, _ in read if item.disturbed),
        example=example,
        undecided=reasons[0] if len(reasons) == len(result) and reasons else None,
    )
