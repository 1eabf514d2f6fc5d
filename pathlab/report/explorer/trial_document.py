"""The details of a trial as the explorer shows them: facts and tables of text, in the words of the report.

A section has ``facts`` (label and text; a label behind spaces belongs to the one before), or ``columns``
and ``rows``, and maybe ``notes``; all is text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from pathlab.analysis.verdicts.evidence import Evidence
from pathlab.campaign.factors import format_level, format_levels
from pathlab.errors import StoreError
from pathlab.printed_table import PrintedTable
from pathlab.report.base.names import format_utc, shorten_levels
from pathlab.report.base.phrases import choose_format, format_count, format_reason
from pathlab.report.trials.trial_notes import list_remarks
from pathlab.report.trials.trial_text import (
    build_round_trips_table,
    build_streams_table,
    describe_probes,
    describe_rate,
    list_trial_facts,
)
from pathlab.store.flags import Status, describe_flag
from pathlab.store.records import TrialRecord
from pathlab.study.base.cells import MEDIA
from pathlab.study.base.trials import StudySource, join_ends
from pathlab.study.exploration.column_labels import find_label
from pathlab.study.exploration.course_series import CourseSeries
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.trial_details import (
    Neighbour,
    TrialDetails,
    has_figures,
    read_trial_details,
)
from pathlab.study.exploration.trial_readings import SettingReading
from pathlab.study.exploration.trial_source import TrialSource
from pathlab.units import (
    NOT_MEASURED,
    format_bytes,
    format_frequency,
    format_rate,
    format_ratio,
    format_time,
    format_volume,
)

Document = dict[str, Any]
#: Rows of a table in the panel; exports of the results have all.
ROWS_SHOWN = 32
TCP_NAMES = {
    "rtt_ns": "RTT, smoothed",
    "rttvar_ns": "RTT, mean deviation",
    "min_rtt_ns": "RTT, minimum",
    "snd_cwnd_bytes": "Congestion window",
    "snd_wnd_bytes": "Receiver's window",
    "in_flight_bytes": "In flight",
    "delivery_rate_bits_per_s": "Delivery rate",
    "snd_mss_bytes": "Segment size (MSS)",
    "pmtu_bytes": "Path MTU",
    "total_retrans_segments": "Retransmitted segments",
    "reord_seen_events": "Reordering seen",
    "dsack_dups_segments": "Spurious retransmissions (D-SACK)",
    "busy_ratio": "Busy",
    "receiver_limited_ratio": "Limited by the receiver's window",
    "buffer_limited_ratio": "Limited by the send buffer",
}
TCP_NOTE = (
    "Of the sender, in the steady window: states over all readings of all streams; retransmissions, "
    "reordering and times over the streams."
)
#: Settings and what was measured of them, by the column of the trial and how it is written.
EFFECTIVE: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "window_bytes": ("window_effective_bytes", format_bytes),
    "duration_ns": ("steady_ns", format_time),
    "message_rate_per_s": ("messages_per_s", format_frequency),
    "pacing_bits_per_s": ("throughput_bits_per_s", format_rate),
    "transfer_bytes": ("received_total_bytes", format_volume),
    "datagram_bytes": ("datagram_bytes", format_bytes),
    "congestion": ("congestion_sender", lambda name: str(name or NOT_MEASURED)),
}


def read_details(results: ExploredResults, row: int) -> Document:
    """The details of the trial at a row, ready for JSON. Raises as ``read_trial_details``."""
    label = results.name_trial(row).rpartition(":")[0]
    source = TrialSource(results.study(label).study_source)
    return write_details(read_trial_details(results, row, source), source)


def write_details(details: TrialDetails, source: StudySource) -> Document:
    """The document of a trial; ``source`` has its series."""
    record = details.record
    faults = list(details.unreadable)
    rate = record.throughput_bits_per_s
    combination = _name_combination(record, details.settings)
    sections = list(_list_sections(details, source, faults))
    return {
        "name": details.name,
        "trial": details.trial_id,
        "title": f"Trial {details.trial_id}, cycle {record.cycle + 1}: {combination}",
        "path": join_ends(record.path_source, record.path_destination, details.direction),
        "medium": MEDIA[details.medium],
        "started": format_utc(record.started_utc),
        "combination": combination,
        "throughput": None if rate is None else format_rate(rate),
        "status": str(record.status),
        "failure": _describe_failure(record.status, record.failed_stage, record.failure),
        "excluded": None if details.excluded is None else format_reason(details.excluded),
        "flags": [{"name": flag, "meaning": describe_flag(flag)} for flag in record.flags],
        "remarks": [
            *filter(None, [describe_rate(record, source, details.trial_id)]),
            *_list_remarks(details),
        ],
        "sections": sections,
        "courses": [_write_course(course) for course in details.courses],
        "steady": _find_steady(record),
        "before": [_write_neighbour(item) for item in details.before],
        "after": [_write_neighbour(item) for item in details.after],
        "unreadable": faults,
    }


def _name_combination(record: TrialRecord, settings: Sequence[tuple[str, Any]]) -> str:
    """Streams and window of a trial in short, and the size of its messages."""
    text = shorten_levels(record.streams, record.window_requested_bytes)
    size = dict(settings).get("message_bytes")
    return text if size is None else f"{text}, messages of {format_bytes(size)}"


def _describe_failure(status: str, stage: str | None, reason: str | None) -> str | None:
    """``failed at 'connect': refused``; None of a trial that completed."""
    if status == Status.COMPLETE:
        return None
    where = f" at '{stage}'" if stage else ""
    return f"{status}{where}: {reason or 'no reason recorded'}"


def _list_remarks(details: TrialDetails) -> list[str]:
    """Sentences on the trial, the last one on its limit; none of a trial without figures."""
    if details.limit is None:
        return []
    return list(list_remarks(details.record, details.limit, details.direction))


def _list_evidence(details: TrialDetails) -> Sequence[Evidence]:
    if details.datagrams is not None:
        return details.datagrams.evidence
    return () if details.limit is None else details.limit.verdict.evidence


def _list_sections(details: TrialDetails, source: StudySource, faults: list[str]) -> Iterator[Document]:
    """The sections of the panel in their order; a series that cannot be read is added to ``faults``."""

    def guard(write: Callable[[], Document | None]) -> Iterator[Document]:
        try:
            section = write()
        except StoreError as error:
            if error.message not in faults:
                faults.append(error.message)
            return
        if section is not None:
            yield section

    record, trial_id = details.record, details.trial_id
    if has_figures(record):
        yield from guard(
            lambda: _write_facts("results", "Results", list_trial_facts(record, source, trial_id))
        )
        yield from guard(lambda: _write_probes(record, source, trial_id))
    yield from guard(lambda: _write_settings(details))
    if has_figures(record):
        yield from guard(lambda: _write_evidence(_list_evidence(details)))
        streams = build_streams_table
        yield from guard(lambda: _write_printed("streams", "Streams", streams(record, source, trial_id)))
    yield from guard(lambda: _write_tcp(details))
    yield from guard(lambda: _write_cores(details))
    yield from guard(lambda: _write_route(details))
    yield from guard(lambda: _write_captures(details))


def _write_facts(key: str, title: str, facts: Iterator[tuple[str, str]]) -> Document:
    return {"key": key, "title": title, "facts": [[label, text] for label, text in facts]}


def _write_table(
    key: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> Document | None:
    """A table of its first rows; None without any."""
    if not rows:
        return None
    left_out = len(rows) - ROWS_SHOWN
    more = [f"{format_count(left_out, 'more row')} in 'pathlab results export'."] if left_out > 0 else []
    shown = [list(row) for row in rows[:ROWS_SHOWN]]
    return {"key": key, "title": title, "columns": list(columns), "rows": shown, "notes": [*notes, *more]}


def _write_printed(
    key: str, title: str, table: PrintedTable | None, notes: Sequence[str] = ()
) -> Document | None:
    if table is None:
        return None
    *rows, last = table.rows  # the last one may be the sum of all, which stays
    kept = table.rows if len(table.rows) <= ROWS_SHOWN else [last, *rows]
    return _write_table(key, title, [column.heading for column in table.columns], kept, notes)


def _write_probes(record: TrialRecord, source: StudySource, trial_id: int) -> Document | None:
    if record.loaded_sent is None and record.unloaded_sent is None:
        return None
    notes = [describe_probes(record)] if record.probe_method else []
    return _write_printed("probes", "Probes", build_round_trips_table(record, source, trial_id), notes)


def _write_settings(details: TrialDetails) -> Document | None:
    rows = [_write_setting(reading, details.record) for reading in details.readings]
    granted = details.record.window_granted_sender_bytes is not None
    notes = ["Linux reports double the usable window."] if granted else []
    return _write_table("settings", "Settings", ("Setting", "Requested", "Granted", "Effective"), rows, notes)


def _write_setting(reading: SettingReading, record: TrialRecord) -> list[str]:
    (key,) = format_levels({reading.name: None})
    asked = format_level(reading.name, reading.requested)
    if not reading.is_planned and reading.requested is None:
        asked = "not requested"
    column, write = EFFECTIVE.get(reading.name, ("", str))
    effective = getattr(record, column) if column else None
    return [
        key.replace("_", " "),
        asked,
        _write_grants(reading),
        "" if effective is None else write(effective),
    ]


def _write_grants(reading: SettingReading) -> str:
    """What both ends stated, once where it is the same."""
    ends = {"sender": reading.sender, "receiver": reading.receiver}
    texts = {end: format_level(reading.name, level) for end, level in ends.items() if level is not None}
    if len(texts) == 2 and len(set(texts.values())) == 1:
        return texts["sender"]
    return ", ".join(f"{end} {text}" for end, text in texts.items())


def _write_evidence(evidence: Sequence[Evidence]) -> Document | None:
    """Every figure that the limit was read from, next to its threshold."""
    met = {True: "met", False: "not met", None: ""}
    rows = []
    for item in evidence:
        write = choose_format(item.name)
        rows.append((find_label(item.name), write(item.value), write(item.threshold), met[item.met]))
    return _write_table("evidence", "Evidence for the limit", ("Figure", "Value", "Threshold", "Met"), rows)


def _write_tcp(details: TrialDetails) -> Document | None:
    rows = []
    for item in details.tcp:
        write: Callable[[float | None], str] = choose_format(item.name)
        rows.append((TCP_NAMES[item.name], *map(write, (item.least, item.median, item.most))))
    return _write_table("tcp", "TCP_INFO", ("Figure", "Minimum", "Median", "Maximum"), rows, [TCP_NOTE])


def _write_cores(details: TrialDetails) -> Document | None:
    rows = [
        (core.end, str(core.core), *map(format_ratio, (core.mean_ratio, core.most_ratio, core.softirq_ratio)))
        for core in details.cores
    ]
    columns = ("Host", "Core", "Busy, mean", "Busy, maximum", "Soft interrupts")
    return _write_table("cores", "Cores in the steady window", columns, rows)


def _write_route(details: TrialDetails) -> Document | None:
    rows = [(str(item.hop), ", ".join(item.addresses) or "no answer") for item in details.route]
    return _write_table("route", "Route", ("Hop", "Address"), rows)


def _write_captures(details: TrialDetails) -> Document | None:
    rows = [
        (
            capture.end,
            NOT_MEASURED if capture.packets is None else f"{capture.packets:,}",
            NOT_MEASURED if capture.dropped_packets is None else f"{capture.dropped_packets:,}",
            format_volume(capture.size_bytes),
            capture.missing or "",
        )
        for capture in details.captures
    ]
    note = f"'pathlab inspect RESULTS --trial {details.trial_id}' analyses them."
    columns = ("End", "Packets", "Dropped", "Size", "Missing")
    return _write_table("captures", "Packet headers", columns, rows, [note])


def _write_course(series: CourseSeries) -> Document:
    return {"series": series.name, "label": series.label, "group": series.group, "unit": series.unit.unit}


def _find_steady(record: TrialRecord) -> list[float] | None:
    """Begin and end of the steady window, seconds since the trial's start."""
    if not record.steady_ns:
        return None
    return [record.warmup_ns / 1e9, (record.warmup_ns + record.steady_ns) / 1e9]


def _write_neighbour(neighbour: Neighbour) -> Document:
    rate = neighbour.throughput_bits_per_s
    started = datetime.fromtimestamp(neighbour.started_s, UTC).isoformat()
    return {
        "name": neighbour.name,
        "started": format_utc(started),
        "combination": shorten_levels(neighbour.streams, neighbour.window_bytes),
        "status": neighbour.status,
        "failure": _describe_failure(neighbour.status, neighbour.failed_stage, neighbour.failure),
        "throughput": None if rate is None else format_rate(rate),
        "excluded": None if neighbour.excluded is None else format_reason(neighbour.excluded),
        "flags": list(neighbour.flags),
    }
