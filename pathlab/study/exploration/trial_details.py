"""One trial in full: settings, readings of TCP and of the cores, route, probes, limit, captures, neighbours.

Every figure is that of the analyses and of the report. What was not recorded is None or empty; a series that
cannot be read is named in ``unreadable`` and takes nothing else with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pathlab.errors import StoreError
from pathlab.store.capture_files import ENDS
from pathlab.store.flags import Status
from pathlab.store.records import PlanRecord, TrialRecord
from pathlab.study.base.trials import StudySource, find_medium
from pathlab.study.datagrams.datagram_limit import DatagramVerdict, classify_datagrams, read_datagrams
from pathlab.study.exploration.columns import find_scale
from pathlab.study.exploration.course_series import CourseSeries
from pathlab.study.exploration.courses import find_courses
from pathlab.study.exploration.trial_readings import (
    CoreReading,
    RouteHop,
    SettingReading,
    TcpReading,
    read_grants,
    read_route,
    summarise_cores,
    summarise_tcp,
)
from pathlab.study.flows.trial_limit import SingleLimit, classify_record

if TYPE_CHECKING:
    from pathlab.study.exploration.explored_results import ExploredResults

#: Trials of the same path that are listed before and after a trial.
NEIGHBOURS = 3
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReading:
    """The packet headers of an end; ``missing``: why there are none, or not all."""

    end: str
    packets: int | None
    dropped_packets: int | None
    size_bytes: int | None
    missing: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A trial of the same path before or after another; ``started_s``: seconds since 1970, UTC."""

    name: str
    started_s: float
    streams: int
    window_bytes: int | None
    status: str
    failed_stage: str | None
    failure: str | None
    throughput_bits_per_s: float | None
    excluded: str | None
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDetails:
    """A trial and what its series say.

    ``excluded``: why it does not count, None: it does. ``limit`` is None where nothing was measured,
    ``datagrams`` where it is no flow of datagrams. ``before`` and ``after`` are in the order of their starts.
    """

    name: str
    trial_id: int
    record: TrialRecord
    settings: tuple[tuple[str, Any], ...]
    medium: str
    excluded: str | None
    direction: str
    readings: tuple[SettingReading, ...]
    tcp: tuple[TcpReading, ...]
    cores: tuple[CoreReading, ...]
    route: tuple[RouteHop, ...]
    captures: tuple[CaptureReading, ...]
    limit: SingleLimit | None
    datagrams: DatagramVerdict | None
    courses: tuple[CourseSeries, ...]
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]
    unreadable: tuple[str, ...]


def read_trial_details(results: ExploredResults, row: int, source: StudySource | None = None) -> TrialDetails:
    """The details of the trial at a row. ``source``: what its series are read from instead of the results.

    Raises IndexError for a row that is not there, StoreError where the trial itself cannot be read.
    """
    label = results.name_trial(row).rpartition(":")[0]
    trial_id = int(results.numbers("trial")[row])
    study = results.study(label)
    source = source or study.study_source
    record = source.record(trial_id)
    settings = find_plan_settings(study.study_plan(), record.plan_row)
    direction = str(dict(settings).get("direction") or "forward")
    faults: list[str] = []

    def guard(read: Callable[[], Read], otherwise: Read) -> Read:
        try:
            return read()
        except StoreError as error:
            if error.message not in faults:
                faults.append(error.message)
            return otherwise

    limit: SingleLimit | None = None
    if has_figures(record):
        limit = guard(lambda: classify_record(source, trial_id, record, reverse=direction == "reverse"), None)
    before, after = find_neighbours(results, row)
    code = int(results.reason_codes[row])
    return TrialDetails(
        name=results.name_trial(row),
        trial_id=trial_id,
        record=record,
        settings=settings,
        medium=find_medium(record.flags),
        excluded=None if code < 0 else results.reasons[code],
        direction=direction,
        readings=guard(lambda: read_grants(source, trial_id, record, settings), ()),
        tcp=guard(lambda: summarise_tcp(source, trial_id), ()),
        cores=guard(lambda: summarise_cores(source, trial_id, record), ()),
        route=guard(lambda: read_route(source, trial_id), ()),
        captures=tuple(_read_captures(record)),
        limit=limit,
        datagrams=_classify_datagrams(record),
        courses=guard(lambda: find_courses(source, trial_id, source.series_kinds(trial_id)), ()),
        before=tuple(_read_neighbour(results, item) for item in before),
        after=tuple(_read_neighbour(results, item) for item in after),
        unreadable=tuple(faults),
    )


def has_figures(record: TrialRecord) -> bool:
    """Whether anything was measured: a failed trial may have ended before its traffic."""
    return record.status == Status.COMPLETE or record.received_total_bytes is not None


def find_plan_settings(plan: Sequence[PlanRecord], number: int) -> tuple[tuple[str, Any], ...]:
    """The settings of a row of the plan, in its order; none where the plan has no such row."""
    row = plan[number] if 0 <= number < len(plan) else None
    if row is None or row.row != number:  # rows are numbered from 0 without gaps, unless a file was edited
        row = next((item for item in plan if item.row == number), None)
    return () if row is None else tuple(row.settings.items())


def find_neighbours(
    results: ExploredResults, row: int, most: int = NEIGHBOURS
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows of the trials of the same results and path before and after one, in the order of their starts.

    Trials that started at the same time are in the order of their numbers.
    """
    alike = results.codes("results") == results.codes("results")[row]
    alike &= results.codes("path") == results.codes("path")[row]
    rows = np.flatnonzero(alike)
    ordered = rows[np.lexsort((results.numbers("trial")[rows], results.numbers("started_utc")[rows]))]
    index = int(np.flatnonzero(ordered == row)[0])
    before, after = ordered[max(index - most, 0) : index], ordered[index + 1 : index + 1 + most]
    return tuple(before.tolist()), tuple(after.tolist())


def _read_neighbour(results: ExploredResults, row: int) -> Neighbour:
    """A trial by its columns, which takes no query."""

    def read(name: str) -> Any:
        if name not in results:
            return None
        code = int(results.codes(name)[row])
        return None if code < 0 else results.levels(name)[code]

    rate, window, code = read("throughput_bits_per_s"), read("window_bytes"), int(results.reason_codes[row])
    bits = int(results.flag_bits[row])
    return Neighbour(
        name=results.name_trial(row),
        started_s=float(results.numbers("started_utc")[row]),
        streams=int(read("streams") or 0),
        window_bytes=None if window is None else int(window),
        status=str(read("status")),
        failed_stage=read("failed_stage"),
        failure=read("failure"),
        throughput_bits_per_s=None if rate is None else rate * find_scale("throughput_bits_per_s").size,
        excluded=None if code < 0 else results.reasons[code],
        flags=tuple(flag for index, flag in enumerate(results.flags) if bits >> index & 1),
    )


def _classify_datagrams(record: TrialRecord) -> DatagramVerdict | None:
    is_flow = record.datagram_bytes is not None or record.udp_sent_packets_per_s is not None
    return classify_datagrams(read_datagrams(record)) if is_flow else None


def _read_captures(record: TrialRecord) -> list[CaptureReading]:
    """The ends whose packet headers were requested."""
    result = []
    for end in ENDS:
        parts = {
            name: getattr(record, f"capture_{end}_{name}")
            for name in ("packets", "dropped_packets", "bytes", "sha256", "missing")
        }
        if parts["sha256"] is not None or parts["missing"] is not None:
            result.append(
                CaptureReading(
                    end=end,
                    packets=parts["packets"],
                    dropped_packets=parts["dropped_packets"],
                    size_bytes=parts["bytes"],
                    missing=parts["missing"],
                )
            )
    return result
