"""Columns, series and flags of trials of messages, from what the engines state."""

from typing import Any

import pytest

from pathlab.campaign.factor import Level
from pathlab.engines.fan_out import merge_receivers
from pathlab.engines.spec import TrialSpec
from pathlab.lab.verdict import LabVerdict
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.series import build_series
from pathlab.store.flags import Flag
from pathlab.store.interval_histograms import sum_histograms
from pathlab.store.records import TrialRecord
from tests.builders import campaigns
from tests.builders.series import describe_round_trips
from tests.builders.trials import record_trial

Record = dict[str, Any]
STEP_NS = 100_000_000
STEADY_NS = 1_000_000_000


def make_spec(**levels: Level) -> TrialSpec:
    times: dict[str, Level] = {"warmup_ns": STEP_NS, "duration_ns": STEADY_NS, "message_bytes": 100}
    return campaigns.make_spec({"interval": "100ms"}, **{"streams": 2, **times, **levels})


def make_end(
    steady: list[int], *, workers: int = 1, spun_ns: int = 0, stated: Record | None = None, **totals: Any
) -> list[Record]:
    """The records of one end: each thread works for 10 ms times its number in each interval of 100 ms."""
    threads = [
        {"user_ns": 6_000_000 * n, "system_ns": 4_000_000 * n, "waiting_ns": 0, "spun_ns": spun_ns}
        for n in range(1, workers + 1)
    ]
    phases: dict[str, Record] = {
        name: {"start_ns": begin, "end_ns": end, "bytes": [100 * one for one in counts], "messages": counts}
        for name, begin, end, counts in (
            ("warmup", 0, STEP_NS, [5, 5]),
            ("steady", STEP_NS, STEP_NS + STEADY_NS, steady),
            ("drain", STEP_NS + STEADY_NS, 2 * STEADY_NS, [0, 0]),
        )
    }
    intervals = [
        {"type": "interval", "index": index, "phase": "steady" if index else "warmup", "bytes": [0, 0]}
        | {"start_ns": index * STEP_NS, "end_ns": (index + 1) * STEP_NS, "messages": [index, 2 * index]}
        | {"tcp_info": {"unacked_segments": [None] * 2, "snd_mss_bytes": [None] * 2}, "workers": threads}
        for index in range(11)
    ]
    total = [sum(phase["bytes"][n] for phase in phases.values()) for n in range(len(steady))]
    result = {"type": "result", "phases": phases, "total_bytes": total, "tcp_info": {}, "messages": totals}
    messages = {"bytes": 100, "placement": "apart", **(stated or {})}
    ready = {"type": "ready", "streams": 2, "sockets": [], "messages": messages}
    start = {"type": "start", "monotonic_ns": 0, "realtime_ns": 0}
    return [ready, start, *intervals, {**result, "workers": threads}]


SENT: Record = {"sent": [1000, 1005], "send_calls": [10, 11]}
#: All that was due at 2000/s, in the warm-up and the steady window.
SENT_ON_TIME: Record = {**SENT, "sent": [1100, 1105]}
RECEIVED: Record = {
    **{"received": [1000, 1000], "missing": [0, 2], "out_of_order": [1, 0]},
    **{"first_arrival_ns": [700, 500], "last_arrival_ns": [1_100_000_000, None]},
}


def build(spec: TrialSpec, sender: list[Record], receiver: list[Record], **outcome: Any) -> TrialRecord:
    return record_trial(spec, TrialData(sender=sender, receiver=receiver), **outcome)


def test_messages_of_one_way_are_counted_by_the_receiver() -> None:
    record = build(make_spec(), make_end([1003, 1000], **SENT), make_end([995, 1000], **RECEIVED))
    assert (record.messages_per_s, record.messages_total, record.messages_out_of_order) == (1995.0, 2000, 1)
    assert record.messages_missing == 5  # two gaps, and three after the last arrival
    assert (record.send_calls, record.first_arrival_ns, record.last_arrival_ns) == (21, 500, 1_100_000_000)
    assert record.throughput_bits_per_s == 1995 * 800.0
    assert record.sender_cpu_ns_per_message == pytest.approx(10 * 10_000_000 / 2003)
    assert record.receiver_cpu_ns_per_message == pytest.approx(10 * 10_000_000 / 1995)
    missing = (record.offered_messages_per_s, record.round_trips, record.round_trip_median_ns)
    assert missing == (None, None, None)
    assert (record.send_late_max_ns, record.clock_cost_ns, record.record_cost_ns) == (None, None, None)


def test_messages_that_return_are_counted_by_the_sender() -> None:
    trips = [1000 + n for n in range(1_000)]
    late = {"median": 15, "p99": 900, "max": 5_000}
    stated = {"replies": True, "offered_per_s": 2000, "clock_ns": 21.5, "record_ns": 2.5}
    returned = {**RECEIVED, "received": [1098, 1099], "missing": [1, 0], "out_of_order": [4, 0]}
    totals = {**SENT_ON_TIME, **returned, "send_error_ns": late, "round_trip_ns": describe_round_trips(trips)}
    sender = make_end([998, 999], stated=stated, **totals)
    record = build(make_spec(reply=True, message_rate_per_s=2000), sender, make_end([990, 990], **RECEIVED))
    assert (record.messages_per_s, record.offered_messages_per_s) == (1997.0, 2000)
    assert (record.messages_total, record.messages_missing, record.messages_out_of_order) == (2000, 8, 4)
    assert (record.first_arrival_ns, record.clock_cost_ns, record.record_cost_ns) == (500, 21.5, 2.5)
    assert (record.round_trips, record.round_trip_min_ns, record.round_trip_max_ns) == (1000, 1000, 1999)
    assert record.round_trip_mean_ns == 1499.5
    quantiles = (record.round_trip_median_ns, record.round_trip_p90_ns, record.round_trip_p99_ns)
    for found, true in zip(quantiles, (1499, 1899, 1989), strict=True):
        assert true <= (found or 0) <= true * 1.008
    assert (record.round_trip_p99_9_ns, record.round_trip_p99_999_ns) == (None, None)  # 1 and 0 above it
    assert Flag.RATE_MISSED not in record.flags
    late_ns = (record.send_late_median_ns, record.send_late_p99_ns, record.send_late_max_ns)
    assert late_ns == (15, 900, 5_000)


def test_a_quantile_of_too_few_is_not_stated() -> None:
    late = {"median": 15, "p99": 900, "max": 5_000}
    totals: Record = {"sent": [10, 10], "send_calls": [1, 1], "send_error_ns": late}
    totals["round_trip_ns"] = describe_round_trips([7] * 19)
    sender = make_end([10, 9], stated={"offered_per_s": 20}, **totals)
    record = build(make_spec(reply=True), sender, make_end([10, 10], **RECEIVED))
    assert (record.round_trips, record.round_trip_max_ns, record.round_trip_median_ns) == (19, 7, None)
    late_ns = (record.send_late_median_ns, record.send_late_p99_ns, record.send_late_max_ns)
    assert late_ns == (None, None, 5_000)


def test_what_was_not_stated_has_no_figures() -> None:
    sender = make_end([0, 0], **SENT, round_trip_ns=describe_round_trips([]))
    record = build(make_spec(reply=True), sender, make_end([0, 0], **RECEIVED))
    assert (record.round_trips, record.round_trip_min_ns, record.round_trip_mean_ns) == (0, None, None)
    ends = make_end([1003, 1000], **SENT), make_end([995, 1000], **RECEIVED)
    record = build(make_spec(message_bytes=None), *ends)  # a stream of bytes
    assert (record.messages_per_s, record.messages_total, record.sender_cpu_ns_per_message) == (None,) * 3
    record = build(make_spec(), ends[0][:-1], ends[1])  # the sender failed
    assert (record.messages_total, record.messages_missing, record.send_calls) == (2000, 2, None)
    assert record.sender_cpu_ns_per_message is None
    nothing = build(make_spec(), [], [])
    assert (nothing.messages_per_s, nothing.messages_missing, nothing.first_arrival_ns) == (None, None, None)


@pytest.mark.parametrize(
    ("offered", "arrived", "warmup_ns", "missed"),
    [
        (2000, [990, 990], STEP_NS, False),
        (2000, [988, 988], STEP_NS, True),
        (2000, [890, 890], 0, False),  # with a round trip of 100 ms, 1800 are awaited
        (2000, [889, 890], 0, True),
        (None, [1, 1], STEP_NS, False),
        (1, [0, 0], STEP_NS, False),  # one of each stream may be under way
    ],
)
def test_a_rate_below_the_offered_one_is_flagged(
    offered: int | None, arrived: list[int], warmup_ns: int, missed: bool
) -> None:
    trips = describe_round_trips([STEP_NS] * 5)
    sender = make_end(arrived, stated={"offered_per_s": offered}, **SENT_ON_TIME, round_trip_ns=trips)
    spec = make_spec(reply=True, message_rate_per_s=offered, warmup_ns=warmup_ns)
    record = build(spec, sender, make_end([1000, 1000], **RECEIVED))
    assert (Flag.RATE_MISSED in record.flags) == missed


@pytest.mark.parametrize(
    ("sent", "arrived", "missed"),
    [
        ([1100, 1105], [1000, 1000], False),
        ([1100, 1105], [970, 970], True),
        ([1100, 1090], [1000, 1000], False),
        (
            [1088, 1087],
            [1000, 1000],
            True,
        ),  # it left the last messages unsent, others were due in the warm-up
    ],
)
def test_a_rate_of_one_way_is_what_was_sent_and_what_the_receiver_got(
    sent: list[int], arrived: list[int], missed: bool
) -> None:
    sender = make_end([1000, 1000], stated={"offered_per_s": 2000}, **{**SENT, "sent": sent})
    record = build(make_spec(message_rate_per_s=2000), sender, make_end(arrived, **RECEIVED))
    assert (Flag.RATE_MISSED in record.flags) == missed


@pytest.mark.parametrize(("spun_ns", "spent_ns"), [(0, 10_000_000), (9_000_000, 1_000_000), (10_500_000, 0)])
def test_what_a_sender_spins_for_due_times_is_no_cost_of_a_message(spun_ns: int, spent_ns: int) -> None:
    sender = make_end([1000, 1000], spun_ns=spun_ns, **SENT)
    record = build(make_spec(), sender, make_end([1000, 1000], **RECEIVED))
    assert record.sender_cpu_ns_per_message == pytest.approx(10 * spent_ns / 2000)


def make_two_receivers(second_ns: tuple[int, int], counts: tuple[int, int]) -> list[Record]:
    """Of a stream each; the second one's steady window is ``second_ns`` by its clock."""
    ends = [make_end([count], received=[count], missing=[0]) for count in counts]
    for end in ends:
        end[0]["streams"] = 1
        for record in end[2:-1]:
            record |= {"bytes": [0], "messages": [0], "tcp_info": {}}
        end[-1]["total_bytes"] = end[-1]["total_bytes"][:1]
        for name in ("warmup", "drain"):
            end[-1]["phases"][name] |= {"bytes": [0], "messages": [0]}
    ends[1][-1]["phases"]["steady"] |= dict(zip(("start_ns", "end_ns"), second_ns, strict=True))
    return merge_receivers(ends, 2)


@pytest.mark.parametrize(("late_ns", "uneven"), [(0, False), (5_000_000, False), (100_000_000, True)])
def test_rates_of_several_receivers_are_sums_over_their_own_windows(late_ns: int, uneven: bool) -> None:
    """One that stood still for 5 s before it began has the window of the others, by its own clock."""
    begin_ns = STEP_NS + 5 * STEADY_NS
    window = (begin_ns, begin_ns + STEADY_NS + late_ns)
    counts = (1000, 1000 + late_ns // 1_000_000)  # 1000 messages of 100 bytes per second each
    spec = make_spec(message_rate_per_s=2000)
    sender = make_end([1000, 1000], stated={"offered_per_s": 2000}, **SENT_ON_TIME)
    record = build(spec, sender, make_two_receivers(window, counts))
    assert record.messages_per_s == pytest.approx(2000)
    assert record.throughput_bits_per_s == pytest.approx(2000 * 100 * 8)
    assert Flag.RATE_MISSED not in record.flags
    assert (Flag.UNEVEN_WINDOWS in record.flags) == uneven
    slow = build(spec, sender, make_two_receivers(window, (900, counts[1])))
    assert Flag.RATE_MISSED in slow.flags


def test_the_cpu_time_of_one_program_is_counted_once() -> None:
    """Threads 1 and 2 are the sinks: 30 ms of each 100 ms; the sources, 3 and 4, take 70 ms."""
    program = make_end([500, 500], workers=4, stated={"placement": "threaded"}, **SENT, **RECEIVED)
    record = build(make_spec(placement="threaded"), program, program)
    assert record.sender_cpu_ns_per_message == pytest.approx(700_000)
    assert record.receiver_cpu_ns_per_message == pytest.approx(300_000)
    assert (record.sender_cpu_user_s, record.receiver_cpu_user_s) == (0.042, 0.018)
    series = build_series(TrialData(sender=program, receiver=program))
    assert [series[f"{end}_workers"].num_rows for end in ("sender", "receiver")] == [22, 22]
    program = make_end([500, 500], workers=2, stated={"placement": "fused"}, **SENT, **RECEIVED)
    record = build(make_spec(placement="fused"), program, program)
    assert record.sender_cpu_ns_per_message == pytest.approx(300_000)
    assert (record.receiver_cpu_ns_per_message, record.receiver_cpu_user_s) == (None, None)
    assert "receiver_workers" not in build_series(TrialData(sender=program, receiver=program))


def test_series_have_messages_and_round_trips() -> None:
    trips = [
        {"type": "round_trips", "phase": phase, "stream": 1, "start_ns": begin, "end_ns": begin + STEP_NS}
        | {"round_trip_ns": describe_round_trips(values)}
        for phase, begin, values in (("warmup", 0, [5]), ("steady", STEP_NS, [7, 9]))
    ]
    sender = make_end([1, 1], **SENT)
    series = build_series(TrialData(sender=[*sender[:-1], *trips, sender[-1]], receiver=[]))
    assert series["sender_intervals"]["messages"].to_pylist()[:6] == [0, 0, 1, 2, 2, 4]
    rows = series["round_trips"].to_pylist()
    assert [(row["phase"], row["stream"], row["count"], row["mean_ns"]) for row in rows] == [
        ("warmup", 1, 1, 5.0),
        ("steady", 1, 2, 8.0),
    ]
    assert sum_histograms(series["round_trips"]).values.tolist() == [5, 7, 9]
    bytes_only = [{name: value for name, value in one.items() if name != "messages"} for one in sender]
    assert "messages" not in build_series(TrialData(sender=bytes_only))["sender_intervals"].column_names


def find_flags(
    busy_ratio: float, waiting_ns: int = 0, line_bits_per_s: int = 10**9, **levels: Any
) -> set[str]:
    """The flags of 2000 messages a second, 1.6 Mbit/s, by a thread that has a core to itself."""
    thread = {"user_ns": int(STEP_NS * busy_ratio), "system_ns": 0, "waiting_ns": waiting_ns, "spun_ns": 0}
    offered = levels.get("message_rate_per_s")
    stated = {"offered_per_s": offered}
    ends = [make_end([1000, 1000], stated=stated, **totals) for totals in (SENT, RECEIVED)]
    for one in (one for records in ends for one in records if "workers" in one):
        one["workers"] = [thread]
    cores = [{"core": 0, "idle_ratio": 1 - busy_ratio}]
    samples = [
        {"time_ns": (n + 1) * STEP_NS, "span_ns": STEP_NS, "cores": cores, "nics": [], "qdiscs": []}
        for n in range(11)
    ]
    data = TrialData(sender=ends[0], receiver=ends[1], sender_counters=samples)
    lab = LabVerdict(
        reasons=("the machine was busy",),
        outside_packets=0,
        late_p99_ns=None,
        emulator_cores=None,
        host_busy_ratio=1.0,
        steal_ratio=0.0,
    )
    line: dict[str, Any] = {"lab_rate_bits_per_s": line_bits_per_s, "lab_mtu_bytes": 1500, "lab": lab}
    return {*record_trial(make_spec(**levels), data, **line).flags}


LOCAL_FLAGS = {Flag.LAB_LIMITED, Flag.OVER_LINE_RATE, Flag.HOST_LIMITED, Flag.BUSY_CORE}


def test_messages_that_stay_on_one_host_are_not_held_against_it() -> None:
    for placement in ("process", "threaded", "fused"):
        assert not find_flags(1.0, line_bits_per_s=10**6, placement=placement) & LOCAL_FLAGS
    assert find_flags(1.0, placement="process", message_rate_per_s=2000) & LOCAL_FLAGS == {Flag.BUSY_CORE}
    across = find_flags(1.0, line_bits_per_s=10**6)
    assert across & LOCAL_FLAGS == {Flag.LAB_LIMITED, Flag.OVER_LINE_RATE, Flag.BUSY_CORE}
    assert Flag.HOST_LIMITED in find_flags(1.0)


def test_a_thread_that_polls_shows_nothing_by_its_cpu_time() -> None:
    for waiting_ns, limited in ((0, False), (60_000_000, True)):
        flags = find_flags(1.0, waiting_ns, wait="poll")
        assert Flag.BUSY_CORE not in flags
        assert (Flag.HOST_LIMITED in flags) == limited


def test_an_offered_rate_that_was_reached_is_not_the_hosts() -> None:
    waiting_ns = 60_000_000
    assert Flag.HOST_LIMITED not in find_flags(0.5, waiting_ns, message_rate_per_s=2000)
    assert Flag.HOST_LIMITED in find_flags(0.5, waiting_ns, message_rate_per_s=4000)


def test_lost_datagrams_are_missing_messages() -> None:
    sender, receiver = make_end([1003, 1000], **SENT), make_end([995, 1000], **RECEIVED)
    lost = build(make_spec(transport="udp"), sender, receiver)
    assert (lost.messages_missing, lost.undelivered_bytes) == (5, 800)
    assert Flag.UNDELIVERED_DATA not in lost.flags
    assert Flag.UNDELIVERED_DATA in build(make_spec(), sender, receiver).flags
