"""What a results file holds at a glance: counts, and few columns of many trials; no series is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.row_check import check_rows
from pathlab.store.rows import has_result
from pathlab.store.schema import PLAN, TRIAL, from_row

_BATCH_ROWS = 1_000  # rows read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """``planned`` rows, those of them without a result, and trials by status."""

    planned: int
    unfinished: int
    by_status: Mapping[str, int]

    @property
    def trials(self) -> int:
        """All stored trials."""
        return sum(self.by_status.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLine:
    """One trial as a list has it."""

    trial_id: int
    path_source: str
    path_destination: str
    cycle: int
    streams: int
    window_requested_bytes: int | None
    throughput_bits_per_s: float | None
    messages_per_s: float | None
    round_trip_median_ns: float | None
    round_trip_p99_ns: float | None
    loaded_rtt_median_ns: float | None
    loaded_rtt_median_above_ns: float | None
    udp_sent_packets: int | None
    udp_lost_packets: int | None
    udp_jitter_ns: float | None
    status: str
    failure: str | None
    undelivered_bytes: int | None
    flags: tuple[str, ...]


def count_stored_trials(results: Results) -> Counts:
    """Count plan rows and trials. Raises StoreError."""
    by_status = sa.select(TRIAL.c.status, sa.func.count()).group_by(TRIAL.c.status).order_by(TRIAL.c.status)
    planned = sa.select(sa.func.count()).select_from(PLAN)
    with results.reading() as connection:
        return Counts(
            planned=int(connection.execute(planned).scalar_one()),
            unfinished=int(connection.execute(planned.where(~has_result())).scalar_one()),
            by_status={str(status): int(count) for status, count in connection.execute(by_status)},
        )


def stream_lines(results: Results, *, limit: int | None, offset: int) -> Iterator[list[TrialLine]]:
    """Yield trials in the order of their numbers, some at a time: at most ``limit`` (None: all) of them."""
    columns = [TRIAL.c[name] for name in TrialLine.__slots__]
    query = sa.select(*columns).order_by(TRIAL.c.trial_id).limit(limit).offset(offset)
    with results.reading() as connection:
        result = connection.execute(query, execution_options={"yield_per": _BATCH_ROWS})
        for rows in result.partitions():
            check_rows(TrialRecord, rows, results.path)
            yield [from_row(TrialLine, row._mapping) for row in rows]
