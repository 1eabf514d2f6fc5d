"""Settings of the sockets and of the workers: applied by the kernel, or refused."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.borrowing import EXPEDITED, EXPEDITED_CLASS, borrow_stream
from tests.native.engine import (
    MS,
    TOKEN,
    Engine,
    Flag,
    Record,
    assert_counters_agree,
    assert_refused,
    carry,
    receiving,
    run,
    sending,
)
from tests.native.peers import listening
from tests.native.test_directions import assert_complete
from tests.require import require

pytestmark = pytest.mark.engine

USAGE, SETUP, ENDED, RESOURCES = 2, 3, 5, 6
RTT_OFFSET = 68  # of tcpi_rtt in the kernel's struct tcp_info, in us (linux/tcp.h)
LONG_NS = 60_000 * MS
LEAST_LIMIT_BYTES = 16 << 20  # of --memory-limit-bytes

ADDRESSES = pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
BOTH_KINDS = pytest.mark.parametrize("kind", ["receive", "send"])


def _require_address(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        socket.create_server((address, 0), family=family).close()
        there = True
    except OSError:
        there = False
    require(there, f"the address {address}")


@contextlib.contextmanager
def _meeting(
    *,
    address: str = "127.0.0.1",
    at_receiver: dict[str, Flag] | None = None,
    at_sender: dict[str, Flag] | None = None,
    **flags: Flag,
) -> Iterator[tuple[Engine, Engine, Record, Record]]:
    """Both ends before "go", and their ready records: the receiver's first. ``flags`` go to both."""
    with (
        receiving(bind=address, **{**flags, **(at_receiver or {})}) as (receiver, port),
        sending(port, address=address, **{**flags, **(at_sender or {})}) as sender,
    ):
        ready = sender.expect("ready")
        yield receiver, sender, receiver.expect("ready"), ready


# Segments, delays, marks, devices


@pytest.mark.parametrize("requested_bytes", [536, 1200])
def test_segments_are_no_larger_than_requested(requested_bytes: int) -> None:
    received, sent = carry(streams=2, mss_bytes=requested_bytes)
    for end in (received, sent):
        assert_complete(end)
        assert_counters_agree(end, 2)
        for stated in end.of("ready")[0]["sockets"]:
            assert 0 < stated["mss_bytes"] <= requested_bytes
    assert all(0 < mss <= requested_bytes for mss in sent.last["tcp_info"]["snd_mss_bytes"])


def test_segments_of_one_end_bind_the_other() -> None:
    """The receiver announces its largest segment (RFC 9293, 3.7.1); the sender has no flag."""
    with _meeting(streams=1, at_receiver={"mss_bytes": 1000}) as (_, _, _, sender_ready):
        assert 0 < sender_ready["sockets"][0]["mss_bytes"] <= 1000


def test_segments_that_the_kernel_refuses() -> None:
    ending = run("receive", bind="127.0.0.1", port=0, token=TOKEN, mss_bytes=1)
    assert_refused(ending, SETUP, "mss", errno_name="EINVAL")
    assert "--mss-bytes 1 was refused" in ending.stderr


@pytest.mark.parametrize("requested", ["yes", "no"])
def test_no_delay_is_set_at_the_end_with_the_flag(requested: str) -> None:
    with _meeting(streams=1, at_sender={"no_delay": requested}) as (receiver, sender, at_receiver, at_sender):
        for engine, ready, wanted in (
            (sender, at_sender, requested == "yes"),
            (receiver, at_receiver, False),
        ):
            with borrow_stream(engine, ready["sockets"][0]) as stream:
                assert bool(stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)) == wanted
        sender.send_line("go")
        assert_complete(sender.finish(), receiver.finish())


@ADDRESSES
@pytest.mark.parametrize("marking", ["receiver", "sender", "both", "none"])
def test_dscp_marks_the_end_with_the_flag(address: str, marking: str) -> None:
    _require_address(address)
    requested: dict[str, Flag] = {"dscp": EXPEDITED}
    at_receiver = requested if marking in ("receiver", "both") else None
    at_sender = requested if marking in ("sender", "both") else None
    with _meeting(address=address, streams=2, at_receiver=at_receiver, at_sender=at_sender) as meeting:
        receiver, sender, receiver_ready, sender_ready = meeting
        for engine, ready, mine in (
            (receiver, receiver_ready, at_receiver),
            (sender, sender_ready, at_sender),
        ):
            wanted = EXPEDITED_CLASS if mine else 0
            assert [stated["traffic_class"] for stated in ready["sockets"]] == [wanted, wanted]
            with borrow_stream(engine, ready["sockets"][1]) as stream:
                if ":" in address:
                    kept = stream.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
                else:
                    kept = stream.getsockopt(socket.IPPROTO_IP, socket.IP_TOS)
            assert kept == wanted


@ADDRESSES
@BOTH_KINDS
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_ecn_bits_of_tcp_are_the_kernels(address: str, kind: str, bits: int) -> None:
    _require_address(address)
    where: dict[str, Flag] = {"bind": address, "port": 0} if kind == "receive" else {"address": address}
    ending = run(kind, token=TOKEN, ecn=bits, **where)
    assert_refused(ending, SETUP, "marking")
    assert "--ecn: the kernel controls the ECN bits" in ending.stderr


def test_mark_for_routing_is_set_or_refused() -> None:
    """SO_MARK needs CAP_NET_ADMIN (socket(7)), which a socket of the test shows."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
    except PermissionError:
        ending = run("receive", bind="127.0.0.1", port=0, token=TOKEN, fwmark=7)
        assert_refused(ending, SETUP, "marking", errno_name="EPERM")
        assert "--fwmark 7 was refused" in ending.stderr
        return
    with _meeting(streams=1, at_sender={"fwmark": 7}) as (receiver, sender, at_receiver, at_sender):
        for engine, ready, wanted in ((sender, at_sender, 7), (receiver, at_receiver, 0)):
            with borrow_stream(engine, ready["sockets"][0]) as stream:
                assert stream.getsockopt(socket.SOL_SOCKET, socket.SO_MARK) == wanted


def test_device_is_bound_at_both_ends() -> None:
    with _meeting(streams=2, device="lo") as (receiver, sender, receiver_ready, sender_ready):
        for engine, ready in ((receiver, receiver_ready), (sender, sender_ready)):
            with borrow_stream(engine, ready["sockets"][0]) as stream:
                name = stream.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
            assert name.rstrip(b"\0") == b"lo"
        sender.send_line("go")
        assert_complete(sender.finish(), receiver.finish())


@BOTH_KINDS
def test_unknown_device(kind: str) -> None:
    where: dict[str, Flag] = {"bind": "127.0.0.1"} if kind == "receive" else {"address": "127.0.0.1"}
    ending = run(kind, token=TOKEN, device="no-such-device", **where)
    assert_refused(ending, SETUP, "marking", errno_name="ENODEV")
    assert "--device no-such-device cannot be used" in ending.stderr


# Workers


@pytest.mark.parametrize(("workers", "streams"), [(1, 1), (3, 6)])
def test_pinned_workers_run_on_their_core_alone(workers: int, streams: int) -> None:
    core = min(os.sched_getaffinity(0))
    with _meeting(streams=streams, workers=workers, duration_ns=LONG_NS, pin=core) as meeting:
        receiver, sender, *both_ready = meeting
        for ready in both_ready:
            assert ready["cores"] == [core] * workers
        sender.send_line("go")
        for engine in (receiver, sender):
            carried = [0] * streams
            while 0 in carried:  # then every worker has run, on its core
                step = engine.wait_for("interval")["bytes"]
                carried = [a + b for a, b in zip(carried, step, strict=True)]
            threads = [int(entry.name) for entry in Path(f"/proc/{engine.process.pid}/task").iterdir()]
            pinned = [os.sched_getaffinity(thread) for thread in threads if thread != engine.process.pid]
            assert pinned == [{core}] * workers
            assert os.sched_getaffinity(engine.process.pid) == os.sched_getaffinity(0)


def test_cores_are_taken_in_turn() -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    require(len(cores) == 2, "two cores")
    requested = f"{cores[1]},{cores[0]}"
    with _meeting(streams=3, workers=3, at_sender={"pin": requested}) as (_, _, receiver_ready, sender_ready):
        assert sender_ready["cores"] == [cores[1], cores[0], cores[1]]
        assert receiver_ready["cores"] == [None, None, None]


def test_missing_core() -> None:
    absent = max(os.sched_getaffinity(0)) + 1
    with receiving(streams=1, pin=absent) as (receiver, port), sending(port, streams=1, pin=absent) as sender:
        for ending in (sender.finish(), receiver.finish()):
            assert_refused(ending, SETUP, "workers")
            assert f"--pin: core {absent} is not available to this process" in ending.stderr


@pytest.mark.parametrize("text", ["0,", ",0", "a", "-1", "0-1", "1024", "0,,1"])
def test_invalid_list_of_cores(text: str) -> None:
    ending = run("receive", token=TOKEN, pin=text)
    assert_refused(ending, USAGE, "options")
    assert f"--pin: '{text}' is not a list of cores such as 0,1" in ending.stderr


def test_work_of_every_worker_is_counted() -> None:
    """A worker's usage before the start is in the result alone, so the intervals sum to at most that."""
    received, sent = carry(streams=4, workers=2)
    for end in (received, sent):
        assert_complete(end)
        intervals = end.of("interval")
        assert intervals
        for worker, in_all in enumerate(end.last["workers"]):
            for key in ("wake_ups", "system_calls"):
                steps = [record["workers"][worker][key] for record in intervals]
                assert all(step >= 0 for step in steps), key
                assert 0 < sum(steps) <= in_all[key], key
            # A wake-up is the end of a wait, which is a system call itself.
            assert in_all["system_calls"] >= in_all["wake_ups"]


def test_waits_for_a_core_are_counted() -> None:
    """Both ends on one core: while one of them runs, the other waits."""
    require(_tells_waits(), "a kernel that counts waits for a core (CONFIG_SCHED_INFO)")
    core = min(os.sched_getaffinity(0))
    ends = carry(streams=1, pin=core)
    waits = []
    for end in ends:
        assert_complete(end)
        stated = [record["workers"][0]["waiting_ns"] for record in end.of("interval")]
        steps = list(itertools.dropwhile(lambda step: step is None, stated))  # null: it had not run yet
        assert all(step >= 0 for step in steps)
        assert sum(steps) <= end.last["workers"][0]["waiting_ns"]
        waits.append(sum(steps))
    assert max(waits) > 0


def _tells_waits() -> bool:
    """Whether this thread has statistics of waits: without them the engine states null."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[2]) > 0
    except OSError:
        return False


# TCP_INFO


def test_no_tcp_info() -> None:
    received, sent = carry(streams=2, tcp_info="none")
    for end in (received, sent):
        assert_complete(end)
        assert_counters_agree(end, 2)
        for record in [*end.of("interval"), end.last]:
            assert not {"tcp_info", "tcp_info_raw"} & set(record)
    assert sent.last["effective_window_bytes"] == [None, None]  # there are no samples for it


def test_fields_alone() -> None:
    received, sent = carry(streams=1, tcp_info="fields")
    for end in (received, sent):
        assert all("tcp_info_raw" not in record for record in end.records)


def test_raw_tcp_info_is_what_the_fields_were_read_from() -> None:
    streams = 3
    received, sent = carry(streams=streams, tcp_info="raw")
    for end in (received, sent):
        assert_complete(end)
        for record in [*end.of("interval"), end.last]:
            raw = record["tcp_info_raw"]
            structs = base64.b64decode(raw["base64"], validate=True)
            assert raw["bytes"] > RTT_OFFSET
            assert len(structs) == raw["bytes"] * streams
            rtts = [
                struct.unpack_from("=I", structs, number * raw["bytes"] + RTT_OFFSET)[0]
                for number in range(streams)
            ]
            assert [rtt or None for rtt in rtts] == record["tcp_info"]["rtt_us"]
    assert all(rtt > 0 for rtt in sent.last["tcp_info"]["rtt_us"])


def test_raw_tcp_info_is_as_long_as_the_kernels_struct() -> None:
    with socket.socket() as own:
        length = len(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512))
    _, sent = carry(streams=1, tcp_info="raw")
    assert {record["tcp_info_raw"]["bytes"] for record in sent.of("interval")} == {length}


def test_unknown_detail_of_tcp_info() -> None:
    ending = run("receive", token=TOKEN, tcp_info="all")
    assert_refused(ending, USAGE, "options")
    assert "--tcp-info: 'all' is none of none, fields, raw" in ending.stderr


# Limits


@BOTH_KINDS
def test_limit_of_time_in_mid_trial(kind: str) -> None:
    limited: dict[str, Flag] = {"time_limit_ns": 2000 * MS}
    at_receiver, at_sender = (limited, None) if kind == "receive" else (None, limited)
    with _meeting(streams=2, duration_ns=LONG_NS, at_receiver=at_receiver, at_sender=at_sender) as (
        receiver,
        sender,
        _,
        _,
    ):
        sender.send_line("go")
        ended = {"receive": receiver.finish(), "send": sender.finish()}
    assert ended[kind].last["complete"] is False
    assert ended[kind].last["reason"] == "the limit of --time-limit-ns was reached"
    assert ended[kind].stderr == "pathlab-engine: ended early: the limit of --time-limit-ns was reached\n"
    for end in ended.values():
        assert end.status == ENDED
        assert_counters_agree(end, 2)


def test_limit_of_time_before_any_connection() -> None:
    ending = run("receive", bind="127.0.0.1", port=0, token=TOKEN, streams=2, time_limit_ns=50 * MS)
    assert_refused(ending, ENDED, "accept")
    assert "0 of 2 streams connected within --time-limit-ns" in ending.stderr


def test_limit_of_time_while_connecting() -> None:
    with listening() as (_, port):  # the kernel accepts, and nothing answers
        ending = run(
            "send",
            address="127.0.0.1",
            port=port,
            token=TOKEN,
            time_limit_ns=50 * MS,
            connect_timeout_ns=1000 * MS,
        )
    assert_refused(ending, ENDED, "connect")
    assert "--time-limit-ns" in ending.stderr


def test_limit_of_time_before_go() -> None:
    with _meeting(streams=1, at_sender={"time_limit_ns": 2000 * MS}) as (_, sender, _, _):
        ending = sender.finish()
    assert ending.status == ENDED
    assert ending.of("start") == []
    assert ending.last["reason"] == "the limit of --time-limit-ns was reached"


@BOTH_KINDS
def test_memory_beyond_the_limit(kind: str) -> None:
    """A buffer as large as the memory limit: this end refuses, the other one is notified."""
    greedy: dict[str, Flag] = {
        "memory_limit_bytes": LEAST_LIMIT_BYTES,
        "read_bytes": LEAST_LIMIT_BYTES,
        "write_bytes": LEAST_LIMIT_BYTES,
    }
    at_receiver, at_sender = (greedy, {}) if kind == "receive" else ({}, greedy)
    with (
        receiving(streams=1, **at_receiver) as (receiver, port),
        sending(port, streams=1, **at_sender) as sender,
    ):
        engine, other = (receiver, sender) if kind == "receive" else (sender, receiver)
        ending = engine.finish()
        other.close_stdin()
        assert other.finish().status == ENDED
    assert_refused(ending, RESOURCES, "workers", errno_name="ENOMEM")
    assert "no memory for the buffers of a worker" in ending.stderr


def test_limit_of_memory_below_the_minimum() -> None:
    ending = run("receive", token=TOKEN, memory_limit_bytes=LEAST_LIMIT_BYTES - 1)
    assert_refused(ending, USAGE, "options")
    assert f"--memory-limit-bytes: '{LEAST_LIMIT_BYTES - 1}'" in ending.stderr


def test_limit_of_memory_that_suffices() -> None:
    received, sent = carry(streams=16, memory_limit_bytes=LEAST_LIMIT_BYTES)
    assert_complete(received, sent)
