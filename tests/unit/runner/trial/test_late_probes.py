"""A probe that is answered late has a round trip; one that may still be is above a time, not lost."""

from typing import Any

import pytest

from pathlab.engines.spec import TrialSpec
from pathlab.report.trials.trial_text import build_round_trips_table
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.probing import ProbeTimeouts
from pathlab.runner.trial.series import build_series
from pathlab.store.records import TrialRecord
from pathlab.study.flows.streams import find_drtt_bound, measure_drtt, measure_probe_loss
from tests.builders import campaigns
from tests.builders.series import describe_round_trips
from tests.builders.trials import record_trial

MS = 1_000_000
STEADY = {"start_ns": 0, "end_ns": 100 * MS, "bytes": [1]}
ENDED_NS = 1_000 * MS


def probe(sequence: int, rtt_ms: int | None) -> dict[str, Any]:
    times = {"intended_ns": sequence * MS, "sent_ns": sequence * MS}
    rtt_ns = None if rtt_ms is None else rtt_ms * MS
    return {"type": "probe", "sequence": sequence, **times, "rtt_ns": rtt_ns, "stamps": rtt_ns and "kernel"}


def late(sequence: int, rtt_ms: int) -> dict[str, Any]:
    return {**probe(sequence, rtt_ms), "type": "late"}


def list_records(*outcomes: dict[str, Any], timeout_ms: int = 50) -> list[dict[str, Any]]:
    start = {
        "type": "start",
        "method": "icmp-raw",
        "stamps": "kernel",
        "payload_bytes": 56,
        "monotonic_ns": 0,
    }
    return [start, *outcomes, {"type": "result", "ended_ns": ENDED_NS, "timeout_ns": timeout_ms * MS}]


def measure(*outcomes: dict[str, Any], tcp_ms: int = 1, unloaded: tuple[int, ...] = (10, 10)) -> TrialRecord:
    """The trial whose sender saw a smoothed RTT of ``tcp_ms``."""
    interval = {
        **{"type": "interval", "index": 0, "phase": "steady", "start_ns": 0, "end_ns": 100 * MS},
        **{"bytes": [1], "workers": [], "tcp_info": {"rtt_us": [1000 * tcp_ms]}},
    }
    result = {"type": "result", "phases": {"steady": STEADY}, "total_bytes": [1], "workers": []}
    data = TrialData(
        sender=[{"type": "start", "monotonic_ns": 0}, interval, {**result, "tcp_info": {}}],
        loaded=list_records(*outcomes, timeout_ms=3 * tcp_ms),
        unloaded=list_records(*(probe(number, rtt) for number, rtt in enumerate(unloaded))),
    )
    return record_trial(campaigns.make_spec({}), data, build_probe_series(data))


def build_probe_series(data: TrialData) -> dict[str, Any]:
    return {kind: table for kind, table in build_series(data).items() if "probe" in kind}


def count(record: TrialRecord) -> tuple[int | None, ...]:
    """Sent, answered, late and lost under load."""
    loss = measure_probe_loss(record, "loaded")
    lost = None if loss is None else loss.lost
    return record.loaded_sent, record.loaded_received, record.loaded_late, lost


def test_answers_after_the_time_out_are_round_trips() -> None:
    """A queue of 2.4 s that every probe waited in, given up after 1 s."""
    record = measure(*(probe(n, None) for n in range(3)), *(late(n, 2400 + n) for n in range(3)))
    assert count(record) == (3, 3, 0, 0)
    assert record.loaded_rtt_median_ns == record.loaded_rtt_mean_ns == 2401 * MS
    assert measure_drtt(record) == 2391 * MS
    assert record.probe_timeout_ns == 50 * MS


@pytest.mark.parametrize(
    ("outcomes", "tcp_ms", "counts"),
    [
        ([None, None], 1, (2, 0, 0, 2)),  # waited for a thousand times as long as any answer took
        ([None, None], 334, (2, 0, 2, 0)),  # TCP's own RTT says that answers take long
        ([20, None], 332, (2, 1, 0, 1)),
        ([400, None], 1, (2, 1, 1, 0)),  # so do the probes
    ],
)
def test_a_missing_answer_is_a_loss_after_three_times_the_longest_rtt(
    outcomes: list[int | None], tcp_ms: int, counts: tuple[int, ...]
) -> None:
    assert count(measure(*map(probe, range(2), outcomes), tcp_ms=tcp_ms)) == counts


def test_more_than_half_late_leaves_the_median_above_the_wait() -> None:
    outcomes = [probe(0, 400), *(probe(n, None) for n in range(1, 4))]
    record = measure(*outcomes)
    assert count(record) == (4, 1, 3, 0)
    assert (record.loaded_rtt_median_ns, record.loaded_rtt_mean_ns, record.loaded_rtt_iqr_ns) == (None,) * 3
    assert record.loaded_rtt_median_above_ns == 997.5 * MS  # waits of 999, 998 and 997 ms
    assert record.loaded_rtt_mean_above_ns == (400 + 999 + 998 + 997) / 4 * MS
    assert (measure_drtt(record), find_drtt_bound(record)) == (None, (3394 / 4 - 10) * MS)
    _, lowest, median, mean, *_ = build_round_trips_table(record, None, 1).rows[0]
    assert (lowest, median, mean) == ("400 ms", "above 998 ms", "above 848 ms")


def test_few_late_ones_leave_the_median_known() -> None:
    record = measure(*(probe(n, 400 + n) for n in range(8)), probe(8, None))
    assert (record.loaded_rtt_median_ns, record.loaded_rtt_median_above_ns) == (404 * MS, None)
    assert record.loaded_rtt_iqr_ns == 4 * MS
    assert (record.loaded_rtt_mean_ns, record.loaded_late) == (None, 1)


def test_an_unknown_end_of_the_wait_is_no_reason_to_call_a_probe_late() -> None:
    start, *rest = list_records(probe(0, None))
    table = build_series(TrialData(sender=[{"type": "start", "monotonic_ns": 0}], loaded=[start, rest[0]]))
    assert table["loaded_probes"]["waited_ns"].to_pylist() == [None]


def test_intervals_take_late_answers_in_and_say_how_long_they_waited() -> None:
    intervals = [
        {"type": "round_trips", "start_ns": n * 50 * MS, "end_ns": (n + 1) * 50 * MS, "reordered": 0}
        | {"sent": 4, "lost": 4 - len(rtts), "round_trip_ns": describe_round_trips(rtts)}
        for n, rtts in enumerate(([400 * MS] * 2, []))
    ]
    late_ones = [late(10, 400), late(20, 500), late(60, 450)]
    record = measure(*intervals, *late_ones)
    assert count(record) == (8, 5, 3, 0)  # ended 900 ms after the second interval, less than 3 x 500 ms
    assert record.loaded_rtt_min_ns == 400 * MS
    assert 450 * MS <= record.loaded_rtt_median_ns < 454 * MS  # 2 digits
    assert record.loaded_rtt_mean_above_ns == (3 * 400 + 500 + 450 + 3 * 900) / 8 * MS
    short = measure(*intervals, late(10, 40), late(20, 50), late(60, 30))
    assert count(short) == (8, 5, 3, 0)  # 400 ms were seen, and 900 ms are less than three times as long
    idle = measure(*(one | {"round_trip_ns": describe_round_trips([]), "lost": 4} for one in intervals))
    assert count(idle) == (8, 0, 0, 8)


def make_spec(**probes: Any) -> TrialSpec:
    spec = campaigns.make_spec({"drain": "4s"})
    settings = type(spec.probes).model_validate(probes)
    return TrialSpec(row=0, cycle=0, path=spec.path, cell=spec.cell, trial=spec.trial, probes=settings)


@pytest.mark.parametrize(
    ("timeout", "known_ms", "waits_ms"),
    [
        ("1s", 0, (1_000, 4_000)),
        ("100ms", 20, (100, 4_000)),  # as long as the data may drain
        ("100ms", 2_000, (4_000, 4_000)),
        ("2s", 1_900, (5_700, 6_000)),
    ],
)
def test_the_time_out_begins_with_what_is_known_of_the_path(
    timeout: str, known_ms: int, waits_ms: tuple[int, int]
) -> None:
    found = ProbeTimeouts.of_trial(make_spec(timeout=timeout), known_ms * MS)
    assert (found.timeout_ns, found.longest_ns) == (waits_ms[0] * MS, waits_ms[1] * MS)
    assert found.final_wait_ns == 4_000 * MS
