"""The round trips of messages of several trials together, from the histograms that trials store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.tails import Tail, estimate_tail
from pathlab.store.hdr_histogram import Integers
from pathlab.store.interval_histograms import read_round_trips
from pathlab.study.answer import Answer
from pathlab.study.message_setups import MessageLoad, MessageSetup, list_message_loads, make_load_answer
from pathlab.study.trials import StudySource, TrialTable


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadTail:
    """The tail of all round trips of one load, of the trials that kept the rate."""

    setup: MessageSetup
    message_bytes: int
    offered_messages_per_s: int | None
    tail: Tail


def measure_tails(source: StudySource, table: TrialTable) -> tuple[Answer[LoadTail], ...]:
    """The tail of every load; trials without stored histograms are passed over."""
    return tuple(
        make_load_answer(load, measure_load_tail(source, load)) for load in list_message_loads(table)
    )


def measure_load_tail(source: StudySource, load: MessageLoad) -> LoadTail:
    """The tail of one load."""
    return LoadTail(
        setup=load.setup,
        message_bytes=load.size_bytes,
        offered_messages_per_s=load.offered_messages_per_s,
        tail=read_tail(source, load.kept.get("trial_id").astype(int).tolist()),
    )


def read_tail(source: StudySource, trial_ids: Iterable[int]) -> Tail:
    """The tail over the steady windows of these trials, in time order."""
    return estimate_tail([_read_counts(source, trial_id) for trial_id in trial_ids])


def _read_counts(source: StudySource, trial_id: int) -> tuple[Integers, Integers]:
    """Values and counts of a trial's steady window; empty where it stored none."""
    found = read_round_trips(source, trial_id)
    if found is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return found.layout.find_highest(found.places), found.counts
