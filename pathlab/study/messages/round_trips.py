"""The round trips of messages of several trials together, from the histograms that trials store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.tails import Tail, estimate_tail
from pathlab.errors import StoreError
from pathlab.store.hdr_histogram import Integers
from pathlab.store.interval_histograms import read_round_trips
from pathlab.study.base.answer import Answer
from pathlab.study.base.trials import StudySource, TrialTable
from pathlab.study.messages.message_setups import (
    MessageLoad,
    MessageSetup,
    list_message_loads,
    make_load_answer,
)

#: Why a trial is left out whose stored series cannot be read: a stable name.
SERIES_DAMAGED = "series-damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTail:
    """The tail of all round trips of one load, of the trials that kept the rate."""

    setup: MessageSetup
    message_bytes: int
    offered_messages_per_s: int | None
    tail: Tail


def measure_tails(
    source: StudySource, table: TrialTable, *, equal_trials: bool = False
) -> tuple[Answer[LoadTail], ...]:
    """The tail of every load.

    Trials without stored histograms are passed over; the selection counts those whose are damaged.
    ``equal_trials``: each trial has the same weight, as ``weigh_equally`` gives it.
    """
    return tuple(_measure_load(source, load, equal_trials) for load in list_message_loads(table))


def weigh_equally(histograms: Sequence[tuple[ArrayLike, ArrayLike]]) -> list[tuple[Floats, Floats]]:
    """Values and counts of each trial, the counts scaled to the harmonic mean of the trials' numbers.

    All samples together are then as many as their effective number (Kish, Survey Sampling, 1965, section
    11.7), so that a quantile still needs 10 effective samples above it. Trials without a sample are left out.
    """
    known = [(np.asarray(values, float), np.asarray(counts, float)) for values, counts in histograms]
    filled = [(values, counts, counts.sum()) for values, counts in known if counts.sum() > 0]
    if not filled:
        return []
    shared = len(filled) / sum(1 / total for _, _, total in filled)
    return [(values, counts * (shared / total)) for values, counts, total in filled]


def _measure_load(source: StudySource, load: MessageLoad, equal_trials: bool) -> Answer[LoadTail]:
    """The tail over the steady windows of one load's trials, in time order."""
    countses = [_read_counts(source, trial_id) for trial_id in load.kept.get("trial_id").astype(int).tolist()]
    counted = [counts for counts in countses if counts is not None]
    tail = LoadTail(
        setup=load.setup,
        message_bytes=load.size_bytes,
        offered_messages_per_s=load.offered_messages_per_s,
        tail=estimate_tail(weigh_equally(counted) if equal_trials else counted),
    )
    return make_load_answer(
        load, tail, load.kept.exclude([item is None for item in countses], SERIES_DAMAGED)
    )


def _read_counts(source: StudySource, trial_id: int) -> tuple[Integers, Integers] | None:
    """Values and counts of a trial's steady window, empty where it stored none; None where it is damaged."""
    try:
        trips = read_round_trips(source, trial_id)
    except StoreError:
        return None
    if trips is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return trips.values, trips.counts
