"""Messages: every transport, order and number at both ends, batches, rates and round trips."""

import os
from pathlib import Path

import pytest

from tests.native.engine import (
    LONG_NS,
    MS,
    TOKEN,
    Flag,
    assert_complete,
    assert_cut,
    build_command,
    receiving,
    run,
    start_command,
)
from tests.native.messages import CARRIERS, OPEN, assert_all_arrived, assert_sent_or_given_up, exchange
from tests.require import require

pytestmark = pytest.mark.engine

#: What an offered rate makes due is counted: times of their own.
TIMES: dict[str, Flag] = {"warmup_ns": 40 * MS, "duration_ns": 120 * MS}


@pytest.mark.parametrize("transport", [*CARRIERS, "mptcp"])
def test_every_transport_carries_messages_in_order(transport: str) -> None:
    # By UDP as fast as possible, datagrams are lost: see below. So few have room in a socket.
    flags: dict[str, Flag] = {"messages_per_s": 1000} if transport == "udp" else {}
    accepted, connected = exchange(transport, **flags)
    received, _ = assert_all_arrived(accepted, connected)
    assert accepted.last["total_bytes"] == [64 * received["received"][0]]
    assert connected.last["confirmed_bytes"] == accepted.last["total_bytes"]
    (first,), (last,) = received["first_arrival_ns"], received["last_arrival_ns"]
    assert 0 <= first < last <= accepted.last["phases"]["drain"]["end_ns"]


@pytest.mark.parametrize("transport", [*CARRIERS, "mptcp"])
@pytest.mark.parametrize("wait", ["block", "poll"])
def test_every_transport_returns_messages(transport: str, wait: str) -> None:
    accepted, connected = exchange(transport, {"wait": wait}, wait=wait, reply="yes")
    _, sent = assert_all_arrived(accepted, connected)
    assert sent["received"] == sent["sent"] == accepted.last["messages"]["sent"]
    trips = connected.of("round_trips")
    counted = sum(record["round_trip_ns"]["count"] for record in trips)
    assert counted == sent["received"][0]
    steady = [record["round_trip_ns"] for record in trips if record["phase"] == "steady"]
    total = connected.last["messages"]["round_trip_ns"]
    assert total["count"] == sum(part["count"] for part in steady)
    assert total["min"] == min((part["min"] for part in steady), default=None)
    assert total["max"] == max((part["max"] for part in steady), default=None)
    ready = connected.of("ready")[0]["messages"]
    assert ready["replies"]
    assert ready["wait"] == wait
    assert ready["carrier"] == (None if transport in ("tcp", "mptcp", "unix") else transport)
    assert ready["clock_ns"] > 0
    assert ready["record_ns"] > 0


@pytest.mark.parametrize("size", [4, 5, 1000, 65536])
@pytest.mark.parametrize(("encoding", "batch_bytes"), [("fixed", 0), ("fixed", 30_000), ("protobuf", 30_000)])
def test_sizes_encodings_and_batches(size: int, encoding: str, batch_bytes: int) -> None:
    accepted, connected = exchange(message_bytes=size, encoding=encoding, batch_bytes=batch_bytes)
    received, sent = assert_all_arrived(accepted, connected)
    if encoding == "fixed":
        assert accepted.last["total_bytes"][0] == size * received["received"][0]
    calls = sent["sent"][0] / sent["send_calls"][0]
    assert calls == 1 if batch_bytes < 2 * size else calls > 2


@pytest.mark.parametrize("transport", ["tcp", "unix", "pipe"])
def test_a_batch_may_be_as_large_as_a_queue_where_there_is_none(transport: str) -> None:
    accepted, connected = exchange(transport, message_bytes=1024, batch_bytes=2**20)
    _, sent = assert_all_arrived(accepted, connected)
    assert sent["sent"][0] / sent["send_calls"][0] > 100


@pytest.mark.parametrize("wait", ["block", "poll"])
def test_an_offered_rate_is_kept(wait: str) -> None:
    offered: dict[str, Flag] = {"messages_per_s": 1000, **TIMES}
    accepted, connected = exchange("tcp", {"wait": wait}, wait=wait, reply="yes", no_delay="yes", **offered)
    _, sent = assert_all_arrived(accepted, connected)
    assert_sent_or_given_up(connected, due=160, least_left=40)
    assert connected.of("ready")[0]["messages"]["offered_per_s"] == 1000
    assert 0 <= sent["send_error_ns"]["median"] <= sent["send_error_ns"]["max"]


def test_a_message_that_is_sent_late_was_under_way_since_it_was_due() -> None:
    """A rate that nothing reaches: all that is sent was due in the warm-up, and the last of it long ago."""
    accepted, connected = exchange(reply="yes", messages_per_s=10**9, **TIMES)
    _, sent = assert_all_arrived(accepted, connected)
    assert sent["sent"][0] < 10**9 * 0.04
    assert sent["send_error_ns"]["max"] > 80 * MS
    trips = connected.of("round_trips")
    assert {record["phase"] for record in trips} == {"warmup"}
    assert max(record["round_trip_ns"]["max"] for record in trips) > 80 * MS
    steady = sent["round_trip_ns"]
    assert (steady["count"], steady["min"], steady["mean"], steady["max"]) == (0, None, None, None)


def test_a_delay_fills_batches_and_is_part_of_the_round_trip() -> None:
    delay: dict[str, Flag] = {"batch_min_delay_ns": 4 * MS, "batch_max_delay_ns": 8 * MS}
    accepted, connected = exchange(reply="yes", messages_per_s=5000, batch_bytes=60_000, **delay)
    _, sent = assert_all_arrived(accepted, connected)
    assert sent["sent"][0] / sent["send_calls"][0] > 8
    trips = connected.last["messages"]["round_trip_ns"]
    assert trips["mean"] > 1.5 * MS  # half of 4 ms on average


def test_streams_are_sinks_in_turn() -> None:
    accepted, connected = exchange(streams=5, messages_per_s=5000)
    received, _ = assert_all_arrived(accepted, connected, streams=5)
    assert max(received["received"]) - min(received["received"]) <= 1
    assert connected.of("ready")[0]["workers"] == 1
    assert accepted.of("ready")[0]["workers"] == 5


def test_several_receivers_share_the_streams() -> None:
    with receiving(**OPEN) as (one, first_port), receiving(**OPEN) as (two, second_port):
        listed = f"127.0.0.1:{first_port},127.0.0.1:{second_port}"
        flags: dict[str, Flag] = {"token": TOKEN, "message_bytes": 64, "duration_ns": 60 * MS}
        sent = run("send", receivers=listed, streams=4, **flags)
        ends = one.finish(), two.finish()
    counts = sent.last["messages"]["sent"]
    for place, end in enumerate(ends):
        assert end.last["complete"]
        assert end.last["messages"]["received"] == counts[place::2]
        assert sum(end.last["messages"]["missing"]) == 0


@pytest.mark.parametrize("placement", ["fused", "threaded"])
@pytest.mark.parametrize("encoding", ["fixed", "protobuf"])
def test_source_and_sink_in_one_process(placement: str, encoding: str) -> None:
    ending = run("send", placement=placement, encoding=encoding, message_bytes=64, duration_ns=50 * MS)
    assert_complete(ending)
    found = ending.last["messages"]
    assert found["sent"] == found["received"]
    assert found["received"][0] > 0
    assert found["missing"] == found["out_of_order"] == [0]
    assert ending.of("ready")[0]["messages"]["placement"] == placement
    assert ending.of("ready")[0]["workers"] == (1 if placement == "fused" else 2)


def test_reverse_carries_messages_from_the_listening_end() -> None:
    accepted, connected = exchange(direction="reverse")
    assert_complete(accepted, connected)
    received = connected.last["messages"]
    assert received["received"] == accepted.last["messages"]["sent"]
    assert received["missing"] == [0]


def test_a_limit_of_bytes_ends_a_flow_of_messages() -> None:
    accepted, connected = exchange(volume_limit_bytes=64_000, duration_ns=LONG_NS)
    assert_cut(connected, "--volume-limit-bytes")
    assert accepted.last["messages"]["received"] == connected.last["messages"]["sent"]
    assert 1000 <= connected.last["messages"]["sent"][0] < 2000


@pytest.mark.parametrize("reply", ["no", "yes"])
@pytest.mark.parametrize("encoding", ["fixed", "protobuf"])
def test_a_number_of_bytes_is_that_of_whole_messages(reply: str, encoding: str) -> None:
    flags: dict[str, Flag] = {"bytes": 6450, "streams": 2, "reply": reply}
    accepted, connected = exchange(encoding=encoding, **flags)
    received, sent = assert_all_arrived(accepted, connected, streams=2)
    assert sent["sent"] == received["received"] == [50, 50]


@pytest.mark.parametrize("permitted", [True, False])
def test_a_priority_is_that_of_the_workers_with_the_main_thread_above_them(permitted: bool) -> None:
    """So that the samples, commands and limits of a trial are in time where workers spin on all cores."""
    command = build_command("send", placement="threaded", message_bytes=64, priority=10, control="stdin")
    if not permitted:
        command = ["prlimit", "--rtprio=0", *command]
    if not permitted and os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice", *command]
    with start_command(command) as engine:
        engine.expect("hello")
        granted = engine.expect("ready")["messages"]["priority"]
        tasks = sorted(int(task.name) for task in Path(f"/proc/{engine.process.pid}/task").iterdir())
        found = [os.sched_getparam(task).sched_priority for task in tasks]
    if permitted:
        require(granted is not None, "the right to a real-time priority")
    assert (granted, found) == ((10, [11, 10, 10]) if permitted else (None, [0, 0, 0]))


def test_a_first_message_that_comes_late_leaves_the_trial_complete() -> None:
    """The receiver's window begins 100 ms after the sender's, and the data end with the latter."""
    delay: dict[str, Flag] = {"batch_min_delay_ns": 100 * MS, "batch_max_delay_ns": 100 * MS}
    slow: dict[str, Flag] = {"messages_per_s": 100, "batch_bytes": 60_000, "warmup_ns": 0}
    assert_all_arrived(*exchange(**slow, **delay, duration_ns=220 * MS))


@pytest.mark.parametrize("wait", ["block", "poll"])
def test_the_last_batch_is_sent_though_its_delay_is_not_over(wait: str) -> None:
    delay: dict[str, Flag] = {"batch_min_delay_ns": 400 * MS, "batch_max_delay_ns": 800 * MS}
    flags: dict[str, Flag] = {"reply": "yes", "messages_per_s": 1000, "batch_bytes": 32_768}
    accepted, connected = exchange(wait=wait, warmup_ns=0, duration_ns=120 * MS, **flags, **delay)
    _, sent = assert_all_arrived(accepted, connected)
    assert sent["sent"] == sent["received"]
    assert_sent_or_given_up(connected, due=120, least_left=30)


@pytest.mark.parametrize("wait", ["block", "poll"])
def test_spinning_for_due_times_is_stated_apart(wait: str) -> None:
    """What a thread spins for messages to come is not that."""
    accepted, connected = exchange("unix", wait=wait, reply="yes", messages_per_s=2000)
    assert_all_arrived(accepted, connected)
    for end in (accepted, connected):
        for worker in end.last["workers"]:
            assert 0 <= worker["spun_ns"] <= worker["user_ns"] + worker["system_ns"] + 1000
    spun_ns = sum(worker["spun_ns"] for worker in connected.last["workers"])
    assert (spun_ns > 0) == (wait == "block")
    assert all(worker["spun_ns"] == 0 for worker in accepted.last["workers"])
