"""Whether a program of a trial did not run for a while: stopped, starved of a core, or its machine paused.

A path that delivers nothing for seconds is a measurement; an end that does not run is none. The two are told
apart by what goes on without the path: the programs' own timers. They tick during an outage of the path, and
do not while their process, or its machine, stands still.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pathlab.engines.base import Record, first, load_engine
from pathlab.engines.spec import TrialSpec
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.flow_records import list_intervals
from pathlab.runner.trial.series import find_offset_ns
from pathlab.store.flags import Phase
from pathlab.store.steady import find_stall_limit_ns

#: The ends' time lines may differ by so much, and by two round trips, where nobody's clock stood still.
CLOCKS_NS = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """What did not run (``the sender``), and for how long at most."""

    program: str
    stalled_ns: int


def find_stall(spec: TrialSpec, data: TrialData) -> Stall | None:
    """The longest time that a program of a complete trial did not run, beyond ``find_stall_limit_ns``.

    What is over before the steady window begins, or begins after it, does not count.
    """
    own = [
        Stall(program="the sender", stalled_ns=_measure_end(spec, data.sender)),
        Stall(program="the receiver", stalled_ns=_measure_end(spec, data.receiver)),
        Stall(program="the sender", stalled_ns=_measure_clock(data)),
        Stall(program="the prober", stalled_ns=_measure_prober(spec, data)),
        Stall(program="the prober", stalled_ns=_measure_lateness(_list_sent(data.unloaded))),
        Stall(program="the echo", stalled_ns=_measure_held([*data.loaded, *data.unloaded])),
    ]
    seen = [
        *_measure_stopped(spec, data.sender, data.sender_counters),
        *_measure_stopped(spec, data.receiver, data.receiver_counters),
    ]
    duration_ns = spec.cell.duration_ns if spec.cell.transfer_bytes is None else None
    limit_ns = find_stall_limit_ns(_find_interval_ns(spec), duration_ns)
    for stalls in (own, seen):  # hosts see processes of both ends where these share one
        longest = max(stalls, key=lambda item: item.stalled_ns, default=None)
        if longest is not None and longest.stalled_ns > limit_ns:
            return longest
    return None


def _find_interval_ns(spec: TrialSpec) -> int:
    return load_engine(spec.cell.engine).find_interval_ns(spec)


def _find_window(spec: TrialSpec, records: Sequence[Record]) -> tuple[int, int] | None:
    """Begin and planned end of an end's steady window, ns since its start; None where it stated none."""
    result = first(records, "result") or {}
    steady = (result.get("phases") or {}).get(Phase.STEADY)
    if not steady or steady["end_ns"] <= steady["start_ns"]:
        return None
    if spec.cell.transfer_bytes is not None:
        return int(steady["start_ns"]), int(steady["end_ns"])
    return spec.cell.warmup_ns, spec.cell.warmup_ns + spec.cell.duration_ns


def _measure_end(spec: TrialSpec, records: Sequence[Record]) -> int:
    """How long an end's program did not run, by its own timers and the lengths of what it counted."""
    window = _find_window(spec, records)
    if window is None:
        return 0
    begin_ns, end_ns = window
    intervals = [
        interval
        for interval in list_intervals(records)
        if interval["end_ns"] > begin_ns and interval["start_ns"] < end_ns
    ]
    late = [late_ns for interval in intervals if (late_ns := interval.get("late_ns")) is not None]
    interval_ns = _find_interval_ns(spec)
    late += [interval["end_ns"] - interval["start_ns"] - interval_ns for interval in intervals]
    late += [after["start_ns"] - before["end_ns"] for before, after in pairwise(intervals)]
    steady = (first(records, "result") or {})["phases"][Phase.STEADY]
    # The first byte begins a receiver's window, so that its length counts, and not when it ended.
    late.append(steady["end_ns"] - steady["start_ns"] - (end_ns - begin_ns))
    return max(late)


def _measure_stopped(spec: TrialSpec, records: Sequence[Record], samples: Iterable[Record]) -> list[Stall]:
    """For each process that an agent saw stopped in the window its longest run of such samples."""
    window, start = _find_window(spec, records), first(records, "start")
    if window is None or start is None:
        return []
    begin_ns, end_ns = (start["monotonic_ns"] + edge_ns for edge_ns in window)
    running: dict[str, int] = {}
    longest: dict[str, int] = {}
    for sample in samples:
        inside = sample["time_ns"] > begin_ns and sample["time_ns"] - sample["span_ns"] < end_ns
        names = set(sample.get("stopped") or ()) if inside else set()
        running = {name: running.get(name, 0) + sample["span_ns"] for name in names}
        longest |= {name: max(longest.get(name, 0), spent_ns) for name, spent_ns in running.items()}
    return [Stall(program=f"'{name}'", stalled_ns=spent_ns) for name, spent_ns in longest.items()]


def _measure_clock(data: TrialData) -> int:
    """How much shorter the sender's whole time line is than the receiver's, beyond what a path can do.

    A machine that is paused may have its clock stopped with it: it sees nothing of the pause, and the other
    end waits. The receiver ends with the last byte, the sender with the confirmation of it, so that the
    receiver's time line is the shorter one. (One of a receiver whose clock stood still ends before its steady
    window is over, which is a failure.)
    """
    lengths = []
    for records in (data.sender, data.receiver):
        result = first(records, "result") or {}
        drain = (result.get("phases") or {}).get(Phase.DRAIN)
        if drain is None or "spans_ns" in drain or result.get("reset_streams"):
            return 0
        lengths.append(int(drain["end_ns"]))
    sent, received = lengths
    rtts_ns = [item["rtt_ns"] for item in (*data.loaded, *data.unloaded) if item.get("rtt_ns") is not None]
    return received - sent - CLOCKS_NS - 2 * max(rtts_ns, default=0)


def _list_sent(records: Sequence[Record]) -> list[Record]:
    """Probes that were to be sent, in order; one that the kernel refused was not late."""
    probes = [
        record
        for record in records
        if record.get("type") == "probe" and record.get("intended_ns") is not None
    ]
    return sorted(probes, key=lambda item: int(item["sequence"]))


def _measure_lateness(probes: Iterable[Record]) -> int:
    return max(
        (probe["sent_ns"] - probe["intended_ns"] for probe in probes if probe.get("sent_ns") is not None),
        default=0,
    )


def _measure_prober(spec: TrialSpec, data: TrialData) -> int:
    """How late a loaded probe of the sender's steady window was sent, or how long before its end the last.

    A late probe is sent at once (native/PROTOCOL.md); those that were due when the prober was told to stop
    are not sent at all.
    """
    window, result = _find_window(spec, data.prober_end), first(data.loaded, "result")
    offset_ns = find_offset_ns(first(data.loaded, "start"), first(data.prober_end, "start"))
    if window is None or offset_ns is None:
        return 0
    begin_ns, end_ns = (edge_ns - offset_ns for edge_ns in window)
    probes = _list_sent(data.loaded)
    late = [
        _measure_lateness(
            probe for probe in probes if begin_ns <= (probe["sent_ns"] or 0) and probe["intended_ns"] < end_ns
        )
    ]
    if not probes and result is not None and (result.get("send_error_ns") or {}).get("max") is not None:
        late.append(int(result["send_error_ns"]["max"]))
    if result is not None and result.get("sent") is not None:
        last_ns = (result["sent"] + (result.get("send_errors") or 0)) * _find_spacing_ns(spec, probes)
        late.append(end_ns - last_ns)
    return max(late)


def _find_spacing_ns(spec: TrialSpec, probes: Sequence[Record]) -> int:
    if len(probes) < 2:
        return spec.probes.interval_ns
    ends = probes[0], probes[-1]
    (first_ns, last_ns), (low, high) = (
        [int(end[key]) for end in ends] for key in ("intended_ns", "sequence")
    )
    return (last_ns - first_ns) // (high - low) if high > low else spec.probes.interval_ns


def _measure_held(records: Iterable[Record]) -> int:
    """The longest time that an echo kept a probe before it replied."""
    return max((int(record["held_ns"]) for record in records if record.get("held_ns") is not None), default=0)
