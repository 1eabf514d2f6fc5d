"""The row and the series of a trial as they are stored, whatever its records say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from pathlab.engines.spec import TrialSpec
from pathlab.errors import PathlabError, Stage, UsageError
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.record import Outcome, build_record
from pathlab.runner.trial.series import build_series
from pathlab.store.flags import Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results

REASON_MAX_CHARACTERS = 1000
#: What records can raise of which each kept its schema: a sum of more than 64 bits, a histogram that counts
#: other values than are stated alongside it, intervals or streams that belong to no other record. Values keep
#: the types of their schema: a TypeError or AttributeError is a mistake of ours and ends the run.
_CONTRADICTIONS = (PathlabError, ArithmeticError, LookupError, ValueError)


def store_trial(
    results: Results,
    spec: TrialSpec,
    data: TrialData,
    outcome: Outcome,
    put_files: Callable[[int], object] | None = None,
) -> TrialRecord:
    """Store a trial as its records describe it, and return its row; ``put_files``: see ``Results.add_trial``.

    Each record kept its schema when it arrived. Where they contradict each other, or a reader could not read
    what follows from them, nothing of them is stored, and the trial is a failed one that says so. Raises
    StoreError.
    """
    try:
        record, tables = _build(spec, data, outcome)
    except _CONTRADICTIONS as error:
        record, tables = _build_failed(spec, data, outcome, error)
    try:
        results.add_trial(record, tables, put_files=put_files)
    except UsageError as error:
        record, tables = _build_failed(spec, data, outcome, error)
        results.add_trial(record, tables, put_files=put_files)
    return record


def _build(spec: TrialSpec, data: TrialData, outcome: Outcome) -> tuple[TrialRecord, dict[str, pa.Table]]:
    tables = build_series(data, outcome.lab, spec)
    return build_record(spec, data, outcome, tables), tables


def _build_failed(
    spec: TrialSpec, data: TrialData, outcome: Outcome, error: Exception
) -> tuple[TrialRecord, dict[str, pa.Table]]:
    """The trial without what its hosts stated."""
    text = str(error) if isinstance(error, PathlabError) else f"{type(error).__name__}: {error}"
    reason = f"what the hosts stated contradicts itself: {text}"[:REASON_MAX_CHARACTERS]
    if outcome.status == Status.COMPLETE:
        outcome = replace(outcome, status=Status.FAILED, stage=Stage.ENGINE, reason=reason)
    else:
        outcome = replace(outcome, reason=f"{outcome.reason}; {reason}")
    known = TrialData(captures=data.captures, traffic_began=data.traffic_began)
    return _build(spec, known, outcome)
