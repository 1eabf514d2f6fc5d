"""The answer of one trial in short: a line to paste, and a document whose first part is the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pathlab.analysis.verdicts.steadiness import Steadiness
from pathlab.report.base.names import format_limit_name, format_utc
from pathlab.report.base.phrases import format_bounded_time, format_count
from pathlab.report.base.rate_text import MARK, format_steadiness
from pathlab.report.base.trial_flags import RUN_FLAGS
from pathlab.report.datagrams.datagram_text import LIMITS as DATAGRAM_LIMITS
from pathlab.report.datagrams.datagram_text import format_datagram_limit, is_of_datagrams
from pathlab.report.trials.limit_text import format_limit
from pathlab.store.flags import Status
from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types
from pathlab.store.usable import is_usable
from pathlab.study.datagrams.datagram_limit import classify_datagrams, read_datagrams
from pathlab.study.flows.streams import (
    find_drtt_bound,
    measure_datagram_loss,
    measure_drtt,
    measure_probe_loss,
)
from pathlab.study.flows.trial_limit import SingleLimit
from pathlab.units import format_frequency, format_rate, format_ratio, format_time

#: Longest line of ``format_summary``, in characters.
SUMMARY_MAX_CHARACTERS = 120
NOT_MEASURED = "not measured"
_NAME_MIN_CHARACTERS = 12
_CUT = ".."


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLimitName:
    """What limits a trial: its stable ``name`` (None: undecided), in few words, and in a sentence."""

    name: str | None
    undecided: str | None
    short: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialAnswer:
    """A trial with what was found out about it; ``direction`` of the data: as in the plan."""

    record: TrialRecord
    limit: TrialLimitName
    steadiness: Steadiness
    direction: str

    @property
    def ends(self) -> tuple[str, str]:
        """Where the counted data came from, and where they went."""
        ends = self.record.path_source, self.record.path_destination
        return ends[::-1] if self.direction == "reverse" else ends

    @property
    def sum_bits_per_s(self) -> float | None:
        """Both directions together; None unless both were measured."""
        there, back = self.record.throughput_bits_per_s, self.record.throughput_reverse_bits_per_s
        return None if there is None or back is None else there + back


def describe_trial_limit(record: TrialRecord, limit: SingleLimit) -> TrialLimitName:
    """The limit of a trial of bytes, of messages or of datagrams."""
    if is_of_datagrams(record):
        datagrams = classify_datagrams(read_datagrams(record))
        return _name_limit(
            datagrams.limit,
            datagrams.undecided,
            "" if datagrams.limit is None else DATAGRAM_LIMITS[datagrams.limit],
            format_datagram_limit(datagrams),
        )
    verdict = limit.verdict
    short = ""
    if verdict.limit is not None:
        short = format_limit_name(verdict.limit, at_requested_rate=verdict.at_requested_rate)
    return _name_limit(verdict.limit, verdict.undecided, short, format_limit(limit))


def _name_limit(limit: str | None, undecided: str | None, short: str, text: str) -> TrialLimitName:
    short = f"limited by {short}" if short else "limit undecided"
    return TrialLimitName(name=limit, undecided=undecided, short=short, text=text)


def format_summary(answer: TrialAnswer) -> str:
    """One line of at most ``SUMMARY_MAX_CHARACTERS``: time, ends, rate, added delay, loss, flags, limit.

    Where it is too long, the middle of the hosts' names is left out, then flags are counted, then words are
    shorter, then the end is cut, which is the limit.
    """
    parts = [_list_parts(answer, counted=counted, short=short) for counted, short in _FORMS]
    return next(
        (line for part in parts if (line := _join(answer, part)) is not None), _cut(answer, parts[-1])
    )


#: Forms of the line from long to short: flags are counted, words are shorter.
_FORMS = ((False, False), (True, False), (True, True))


def _join(answer: TrialAnswer, parts: Sequence[str], least: int = _NAME_MIN_CHARACTERS) -> str | None:
    """The line with names as long as there is room; None where they would be shorter than ``least``."""
    fixed = f"{format_utc(answer.record.started_utc)} {{}} to {{}}: {', '.join(parts)}"
    room = SUMMARY_MAX_CHARACTERS - len(fixed) + len("{}{}")
    ends = answer.ends
    longest = max(map(len, ends))
    if sum(map(len, ends)) > room:
        longest = max(room // 2, room - min(map(len, ends)))
    if longest < min(least, max(map(len, ends))):
        return None
    first, second = (_shorten(name, longest) for name in ends)
    return f"{format_utc(answer.record.started_utc)} {first} to {second}: {', '.join(parts)}"


def _cut(answer: TrialAnswer, parts: Sequence[str]) -> str:
    """The line with the shortest names, cut at its end."""
    first, second = (_shorten(name, _NAME_MIN_CHARACTERS) for name in answer.ends)
    line = f"{format_utc(answer.record.started_utc)} {first} to {second}: {', '.join(parts)}"
    return f"{line[: SUMMARY_MAX_CHARACTERS - len(_CUT)]}{_CUT}"


def _list_parts(answer: TrialAnswer, *, counted: bool, short: bool) -> list[str]:
    record = answer.record
    if record.status != Status.COMPLETE:
        stage = f" ({record.failed_stage})" if record.failed_stage else ""
        reason = re.sub(r"\s+", " ", record.failure or "no reason recorded")
        return [f"{record.status}{stage}: {reason}"]
    delay = format_bounded_time(measure_drtt(record), find_drtt_bound(record))
    flags = _count_flags(answer) if counted else _list_flags(answer)
    parts = [_format_rates(answer, short=short), *flags, f"{'dRTT' if short else 'added delay'} {delay}"]
    for name, loss in (
        ("UDP", measure_datagram_loss(record)),
        ("probe", measure_probe_loss(record, "loaded")),
    ):
        if loss is not None and loss.lost and loss.loss_ratio is not None:
            parts.append(f"{name} loss {format_ratio(loss.loss_ratio)}")
    return [*parts, answer.limit.short]


def _format_rates(answer: TrialAnswer, *, short: bool) -> str:
    record = answer.record
    if record.round_trip_median_ns is not None:
        trips = f"round trip {format_time(record.round_trip_median_ns)}"
        return f"{format_frequency(record.messages_per_s)} messages, {trips}"
    rate, back = record.throughput_bits_per_s, record.throughput_reverse_bits_per_s
    text = "no rate measured" if rate is None else format_rate(rate)
    if answer.direction == "both":
        returned = "not measured" if back is None else format_rate(back)
        text = f"{text} + {returned}" if short else f"{text} there, {returned} back"
    return f"{text} ({MARK})" if rate is not None and answer.steadiness.steady is False else text


def _list_flags(answer: TrialAnswer) -> Iterator[str]:
    """What to know before the rate is trusted; a trial that medians leave out is provisional."""
    if answer.record.status != Status.COMPLETE:
        return
    flags = [flag for flag in answer.record.flags if flag not in RUN_FLAGS]
    if not is_usable(answer.record):
        yield f"provisional ({', '.join(flags) or 'no figure'})"
    elif flags:
        yield f"flags: {' '.join(flags)}"


def _count_flags(answer: TrialAnswer) -> Iterator[str]:
    number = format_count(sum(flag not in RUN_FLAGS for flag in answer.record.flags), "flag")
    for text in _list_flags(answer):
        yield f"provisional ({number})" if text.startswith("provisional") else number


def _shorten(name: str, most: int) -> str:
    """A name of at most so many characters; what is left out is in the middle."""
    if len(name) <= most:
        return name
    kept = most - len(_CUT)
    return f"{name[: kept - kept // 2]}{_CUT}{name[len(name) - kept // 2 :]}"


def describe_answer(answer: TrialAnswer, exported: dict[str, Any]) -> dict[str, Any]:
    """A trial as a document for JSON; ``exported`` is that of ``Results.export_record``.

    ``answer`` comes first and holds measured values alone. Of ``trial`` the measured columns come first;
    every column that is null is named in ``not_measured``, by its reason.
    """
    columns: dict[str, Any] = exported["trial"]
    measured = {name: value for name, value in columns.items() if value is not None}
    missing = [name for name in columns if name not in measured]
    limit = {"name": answer.limit.name, "undecided": answer.limit.undecided, "text": answer.limit.text}
    text = format_steadiness(answer.steadiness)
    return {
        "answer": _describe_figures(answer),
        "limit": limit,
        "steadiness": {**asdict(answer.steadiness), "text": f"{text}." if text else None},
        **exported,
        "trial": {**measured, **dict.fromkeys(missing)},
        "not_measured": group_reasons(answer.record, answer.direction, missing),
    }


def _describe_figures(answer: TrialAnswer) -> dict[str, Any]:
    """The figures of the answer that were measured, with units in their names."""
    record, (source, destination) = answer.record, answer.ends
    losses = measure_datagram_loss(record), measure_probe_loss(record, "loaded")
    udp_ratio, probe_ratio = (None if loss is None else loss.loss_ratio for loss in losses)
    figures = {
        "summary": format_summary(answer),
        "source": source,
        "destination": destination,
        "direction": answer.direction,
        "throughput_bits_per_s": record.throughput_bits_per_s,
        "throughput_reverse_bits_per_s": record.throughput_reverse_bits_per_s,
        "throughput_sum_bits_per_s": answer.sum_bits_per_s,
        "messages_per_s": record.messages_per_s,
        "drtt_ns": measure_drtt(record),
        "unloaded_rtt_median_ns": record.unloaded_rtt_median_ns,
        "loaded_rtt_median_ns": record.loaded_rtt_median_ns,
        "udp_loss_ratio": udp_ratio,
        "probe_loss_ratio": probe_ratio,
        "steady": answer.steadiness.steady,
        "limited_by": answer.limit.name,
        "usable": is_usable(record),
        "flags": list(record.flags),
    }
    return {name: value for name, value in figures.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Absence:
    """Columns, as a regular expression, that a trial lacks for one reason, where it ``holds``."""

    columns: str
    reason: str
    holds: Callable[[TrialRecord, str], bool] = lambda _record, _direction: True


#: Why columns are null, the first that fits; what is not here has its reason in the column's meaning.
_ABSENCES: Sequence[_Absence] = (
    _Absence(
        columns=r"udp_.*|datagram_bytes|.*_ns_per_packet",
        reason="no UDP flow",
        holds=lambda record, _direction: not is_of_datagrams(record),
    ),
    _Absence(
        columns=r"(offered_)?messages_.*|send_(calls|late_.*)|(first|last)_arrival_ns|.*_ns_per_message"
        r"|round_trips?(_.*)?|(clock|record)_cost_ns",
        reason="no messages were sent",
        holds=lambda record, _direction: record.messages_per_s is None,
    ),
    _Absence(
        columns=r"spurious_retransmission_ratio",
        reason=NOT_MEASURED,
        holds=lambda record, _direction: record.retransmitted_segments is None,
    ),
    _Absence(columns=r"adapter_.*|server_start_ns", reason="the engine is not a technology"),
    _Absence(columns=r"foreign_connections", reason=NOT_MEASURED),
    _Absence(columns=r"background_.*", reason="no background load"),
    _Absence(columns=r"failover_.*", reason="no link was made to fail"),
    _Absence(columns=r"capture_.*", reason="no capture was requested"),
    _Absence(
        columns=r".*_reverse(_.*)?",
        reason="traffic in one direction",
        holds=lambda _record, direction: direction != "both",
    ),
    _Absence(
        columns=r"failed_stage|failure",
        reason="the trial did not fail",
        holds=lambda record, _direction: record.status == Status.COMPLETE,
    ),
    _Absence(
        columns=r".*_rtt_(mean|median)_above_ns",
        reason="no bound: the RTT itself is known, or no probe was answered",
    ),
)
_EMPTY = re.compile(r"; empty: (.*)$")


def group_reasons(record: TrialRecord, direction: str, columns: Sequence[str]) -> dict[str, list[str]]:
    """Columns without a value by the reason why they have none."""
    meanings, groups = column_types(TrialRecord), dict[str, list[str]]()
    for name in columns:
        reason = next(
            (
                item.reason
                for item in _ABSENCES
                if re.fullmatch(item.columns, name) and item.holds(record, direction)
            ),
            None,
        )
        if reason is None:
            described = _EMPTY.search(meanings[name].meaning)
            reason = NOT_MEASURED if described is None else described.group(1)
        groups.setdefault(reason, []).append(name)
    return groups
