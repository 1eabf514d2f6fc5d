"""A program that did not run flags its trial; a path that delivered nothing does not."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from pathlab.campaign.factor import Level
from pathlab.engines.fan_out import merge_receivers
from pathlab.report.datagrams.datagram_text import format_datagram_limit
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.stalls import Stall, find_stall
from pathlab.study.datagrams.datagram_limit import classify_datagrams, read_datagrams
from tests.builders import campaigns
from tests.builders.datagram_ends import build_udp_record, make_udp_receiver, make_udp_sender

Record = dict[str, Any]
Ends = dict[str, Any]
MS = 1_000_000
STEP, WARMUP, STEADY, SPACING = 100 * MS, 200 * MS, 3000 * MS, 20 * MS
END = WARMUP + STEADY


def make_end(*, late_ns: int | None = 0) -> list[Record]:
    """An end that counts an interval of 100 ms after the other, warm-up, steady window and drain."""
    edges = range(0, END + 2 * STEP, STEP)
    intervals: list[Record] = [
        {
            **{"type": "interval", "phase": name_phase(at), "start_ns": at, "end_ns": at + STEP},
            **{"bytes": [1000], "workers": []},
            **({} if late_ns is None else {"late_ns": late_ns}),
        }
        for at in edges
    ]
    spans = {"warmup": (0, WARMUP), "steady": (WARMUP, END), "drain": (END, END + 2 * STEP)}
    phases = {name: {"start_ns": a, "end_ns": b, "bytes": [1000]} for name, (a, b) in spans.items()}
    result: Record = {"type": "result", "complete": True, "phases": phases, "total_bytes": [3000]}
    start = {"type": "start", "monotonic_ns": 0, "realtime_ns": 0}
    return [{"type": "ready", "streams": 1, "sockets": []}, start, *intervals, {**result, "workers": []}]


def name_phase(at: int) -> str:
    return "warmup" if at < WARMUP else "steady" if at < END else "drain"


def make_probes(begin: int = -STEP) -> list[Record]:
    """The prober starts before the trial; it ends with the steady window."""
    count = (END - begin) // SPACING
    probes: list[Record] = [
        {
            "type": "probe",
            "sequence": n,
            "intended_ns": n * SPACING,
            "sent_ns": n * SPACING + MS,
            "rtt_ns": MS,
        }
        for n in range(count)
    ]
    result = {"type": "result", "sent": count, "send_errors": 0, "send_error_ns": {"max": MS}}
    return [{"type": "start", "monotonic_ns": begin}, *probes, result]


def make_samples() -> list[Record]:
    return [{"time_ns": at + STEP, "span_ns": STEP, "stopped": []} for at in range(0, END + STEP, STEP)]


def make_ends() -> Ends:
    return {
        **{"sender": make_end(), "receiver": make_end(), "loaded": make_probes(), "unloaded": []},
        **{"sender_counters": make_samples(), "receiver_counters": make_samples()},
    }


def find(ends: Ends, **levels: Level) -> Stall | None:
    times: dict[str, Level] = {"streams": 1, "warmup_ns": WARMUP, "duration_ns": STEADY}
    return find_stall(campaigns.make_spec({"interval": "100ms"}, **(times | levels)), TrialData(**ends))


def intervals_of(records: list[Record]) -> list[Record]:
    return [one for one in records if one["type"] == "interval"]


def stretch(records: list[Record], at: int, by: int) -> None:
    """The interval that begins at this time lasts longer, and a late sample leaves out those behind it."""
    (late,) = [one for one in intervals_of(records) if one["start_ns"] == at]
    late["end_ns"] += by
    records[:] = [
        one for one in records if not (one["type"] == "interval" and at < one["start_ns"] < at + STEP + by)
    ]


def oversleep(ends: Ends) -> None:
    """Stopped within the window, as an engine without timers of its own states it."""
    ends["receiver"] = make_end(late_ns=None)
    stretch(ends["receiver"], WARMUP + STEP, 1500 * MS)


def overrun(ends: Ends) -> None:
    result = ends["receiver"][-1]["phases"]
    result["steady"]["end_ns"] = result["drain"]["start_ns"] = END + 1500 * MS


def leave_gap(ends: Ends) -> None:
    missing = [one for one in intervals_of(ends["sender"]) if 1000 * MS <= one["start_ns"] < 2500 * MS]
    ends["sender"] = [one for one in ends["sender"] if one not in missing]


def miss_heartbeats(ends: Ends) -> None:
    intervals_of(ends["sender"])[10]["late_ns"] = 1500 * MS


def stop_process(ends: Ends) -> None:
    for sample in ends["receiver_counters"][8:23]:
        sample["stopped"] = ["nginx"]


def stop_clock(ends: Ends) -> None:
    """A paused machine's clock stood still, and the receiver waited for what its sender had not sent."""
    ends["receiver"][-1]["phases"]["drain"]["end_ns"] += 2000 * MS


def send_late(ends: Ends) -> None:
    for probe in ends["loaded"][30:105]:
        probe["sent_ns"] = ends["loaded"][105]["sent_ns"]


def send_fewer(ends: Ends) -> None:
    """The prober stood still until it was told to stop."""
    ends["loaded"][-1]["sent"] -= 75
    ends["loaded"] = [*ends["loaded"][:-76], ends["loaded"][-1]]


def send_histograms(ends: Ends) -> None:
    result = {**ends["loaded"][-1], "send_error_ns": {"max": 1500 * MS}}
    ends["loaded"] = [ends["loaded"][0], result]


def hold(ends: Ends) -> None:
    ends["loaded"][50]["held_ns"] = 1500 * MS


STALLS: dict[Callable[[Ends], None], tuple[str, int]] = {
    oversleep: ("the receiver", 1500),
    overrun: ("the receiver", 1500),
    leave_gap: ("the sender", 1500),
    miss_heartbeats: ("the sender", 1500),
    stop_process: ("'nginx'", 1500),
    stop_clock: ("the sender", 1498),
    send_late: ("the prober", 1500),
    send_fewer: ("the prober", 1500),
    send_histograms: ("the prober", 1500),
    hold: ("the echo", 1500),
}


@pytest.mark.parametrize("change", STALLS, ids=lambda one: one.__name__)
def test_a_program_that_did_not_run_is_named_with_the_time(change: Callable[[Ends], None]) -> None:
    ends = make_ends()
    assert find(ends) is None
    change(ends)
    program, stalled_ms = STALLS[change]
    found = find(ends)
    assert found.program == program
    assert abs(found.stalled_ns - stalled_ms * MS) <= SPACING


def deliver_nothing(ends: Ends) -> None:
    """The path is down for two seconds: nothing arrives, probes are lost, and all timers go on."""
    for one in (*intervals_of(ends["sender"])[5:25], *intervals_of(ends["receiver"])[5:25]):
        one["bytes"] = [0]
    for probe in ends["loaded"][30:130]:
        probe["rtt_ns"] = None


def delay(ends: Ends) -> None:
    """A queue of 2.4 s: the sender waits for the last bytes as long as the receiver does."""
    for end in ("sender", "receiver"):
        ends[end][-1]["phases"]["drain"]["end_ns"] += 2400 * MS
    for probe in ends["loaded"][1:-1]:
        probe["rtt_ns"] = 2400 * MS


def stall_in_warm_up(ends: Ends) -> None:
    intervals_of(ends["receiver"])[0]["late_ns"] = 900 * MS


def stall_in_drain(ends: Ends) -> None:
    intervals_of(ends["receiver"])[-1]["late_ns"] = 900 * MS


def be_a_little_late(ends: Ends) -> None:
    for one in intervals_of(ends["sender"]):
        one["late_ns"] = 90 * MS
    for sample in ends["sender_counters"][::2]:
        sample["stopped"] = ["pathlab-engine"]


@pytest.mark.parametrize(
    "change",
    [deliver_nothing, delay, stall_in_warm_up, stall_in_drain, be_a_little_late],
    ids=lambda one: one.__name__,
)
def test_a_path_that_stalls_and_a_short_lateness_are_no_stopped_program(
    change: Callable[[Ends], None],
) -> None:
    ends = make_ends()
    change(ends)
    assert find(ends) is None


def test_a_transfer_by_amount_may_last_as_long_as_it_takes() -> None:
    ends = make_ends()
    assert find(ends, transfer_bytes=3000, duration_ns=60_000 * MS) is None
    miss_heartbeats(ends)
    assert find(ends, transfer_bytes=3000, duration_ns=60_000 * MS) is not None


def test_one_of_several_receivers_is_enough() -> None:
    still = make_end()
    intervals_of(still)[10]["late_ns"] = 1500 * MS
    ends = make_ends() | {"receiver": merge_receivers([copy.deepcopy(make_end()), still], 2)}
    found = find(ends)
    assert (found.program, found.stalled_ns) == ("the receiver", 1500 * MS)


def test_no_flow_is_limited_by_its_rate_where_datagrams_came_late_or_a_program_stood_still() -> None:
    """1,000 of 2,000 came in the receiver's window, and none was lost."""
    whole = build_udp_record(make_udp_sender(), make_udp_receiver((1000, 1000), socket_drops=0))
    receiver = make_udp_receiver((1000, 1000), socket_drops=0)
    receiver[-1]["phases"]["steady"]["bytes"] = [500_000, 500_000]
    late = build_udp_record(make_udp_sender(), receiver)
    receiver[5]["late_ns"] = 500 * MS
    stalled = build_udp_record(make_udp_sender(), receiver)
    texts = [format_datagram_limit(classify_datagrams(read_datagrams(one))) for one in (whole, late, stalled)]
    assert [record.udp_lost_packets for record in (whole, late, stalled)] == [0, 0, 0]
    assert texts[0].startswith("Limited by: the offered rate")
    assert texts[1].startswith("Limited by: undecided (less arrived in the receiver's window")
    assert texts[2].startswith("Limited by: undecided. A program of the trial was stopped or starved")
    assert ["host-stalled" in record.flags for record in (whole, late, stalled)] == [False, False, True]
