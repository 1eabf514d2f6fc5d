"""Settings of the sockets and of the workers: applied by the kernel, or refused."""

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
    LONG_NS,
    MS,
    TOKEN,
    Engine,
    Flag,
    assert_complete,
    assert_counters_agree,
    assert_cut,
    assert_refused,
    both_ready,
    carry,
    go,
    receiving,
    run,
    sending,
)
from tests.native.messages import CARRIERS, assert_all_arrived, exchange
from tests.native.peers import listening
from tests.native.pinging import LOOPBACKS, require_address
from tests.require import require

pytestmark = pytest.mark.engine

SETUP, ENDED, RESOURCES = 3, 5, 6
RTT_OFFSET = 68  # of tcpi_rtt in the kernel's struct tcp_info, in us (linux/tcp.h)
WINDOW_BYTES = 65536
LEAST_LIMIT_BYTES = 16 << 20  # of --memory-limit-bytes
NAMES = ("receive", "send")
WHERE: dict[str, dict[str, Flag]] = {
    "receive": {"bind": "127.0.0.1", "port": 0},
    "send": {"address": "127.0.0.1"},
}

BOTH_KINDS = pytest.mark.parametrize("kind", NAMES)


@contextlib.contextmanager
def _flagged(kind: str, flags: dict[str, Flag], **more: Flag) -> Iterator[dict[str, Engine]]:
    """Both ends before "go", of which one has the flags."""
    accepting, connecting = (flags, {}) if kind == "receive" else ({}, flags)
    with both_ready(accepting, connecting, **more) as ends:
        yield dict(zip(NAMES, ends, strict=True))


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
    with _flagged("receive", {"mss_bytes": 1000}) as ends:
        assert 0 < ends["send"].latest["sockets"][0]["mss_bytes"] <= 1000


def test_segments_that_the_kernel_refuses() -> None:
    ending = run("receive", token=TOKEN, mss_bytes=1, **WHERE["receive"])
    assert_refused(ending, SETUP, "mss", errno_name="EINVAL")
    assert "--mss-bytes 1" in ending.stderr


def _read_option(engine: Engine, level: int, option: int, stream: int = 0) -> int:
    """A socket option of an engine that was just ready, by the kernel."""
    with borrow_stream(engine, engine.latest["sockets"][stream]) as borrowed:
        return borrowed.getsockopt(level, option)


@pytest.mark.parametrize("requested", ["yes", "no"])
def test_no_delay_is_set_at_the_end_with_the_flag(requested: str) -> None:
    with _flagged("send", {"no_delay": requested}) as ends:
        for kind, wanted in (("send", requested == "yes"), ("receive", False)):
            assert bool(_read_option(ends[kind], socket.IPPROTO_TCP, socket.TCP_NODELAY)) == wanted


@pytest.mark.parametrize("address", LOOPBACKS)
@BOTH_KINDS
def test_dscp_marks_the_end_with_the_flag(address: str, kind: str) -> None:
    require_address(address)
    level, option = (socket.IPPROTO_IP, socket.IP_TOS)
    if ":" in address:
        level, option = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
    where: dict[str, dict[str, Flag]] = {"receive": {"bind": address}, "send": {"address": address}}
    where[kind]["dscp"] = EXPEDITED
    with both_ready(where["receive"], where["send"], streams=2) as ends:
        for name, engine in zip(NAMES, ends, strict=True):
            wanted = EXPEDITED_CLASS if name == kind else 0
            assert [stated["traffic_class"] for stated in engine.latest["sockets"]] == [wanted, wanted]
            assert _read_option(engine, level, option, stream=1) == wanted


@pytest.mark.parametrize("address", LOOPBACKS)
@BOTH_KINDS
def test_ecn_bits_of_tcp_are_the_kernels(address: str, kind: str) -> None:
    require_address(address)
    where: dict[str, Flag] = {"bind": address, "port": 0} if kind == "receive" else {"address": address}
    for bits in (1, 2, 3):
        assert_refused(run(kind, token=TOKEN, ecn=bits, **where), SETUP, "marking")


def test_mark_for_routing_is_set_or_refused() -> None:
    """SO_MARK needs CAP_NET_ADMIN (socket(7)), which a socket of the test shows."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 7)
    except PermissionError:
        ending = run("receive", token=TOKEN, fwmark=7, **WHERE["receive"])
        assert_refused(ending, SETUP, "marking", errno_name="EPERM")
        assert "--fwmark 7" in ending.stderr
        return
    with _flagged("send", {"fwmark": 7}) as ends:
        for kind, wanted in (("send", 7), ("receive", 0)):
            assert _read_option(ends[kind], socket.SOL_SOCKET, socket.SO_MARK) == wanted


def test_device_is_bound_at_both_ends() -> None:
    with both_ready(streams=2, device="lo", bytes=1000) as ends:
        for engine in ends:
            with borrow_stream(engine, engine.latest["sockets"][0]) as stream:
                name = stream.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
            assert name.rstrip(b"\0") == b"lo"
        assert_complete(*go(*ends))


@BOTH_KINDS
def test_unknown_device(kind: str) -> None:
    ending = run(kind, token=TOKEN, device="no-such-device", **WHERE[kind])
    assert_refused(ending, SETUP, "marking", errno_name="ENODEV")
    assert "--device no-such-device" in ending.stderr


# Messages


def test_datagrams_have_the_window_the_marks_and_the_device_of_the_flow() -> None:
    flags: dict[str, Flag] = {"dscp": EXPEDITED, "window_bytes": WINDOW_BYTES, "device": "lo"}
    with both_ready({}, {"transport": "udp", "message_bytes": 64}, **flags) as ends:
        for engine in ends:
            (stated,) = engine.latest["sockets"]
            assert stated["traffic_class"] == EXPEDITED_CLASS
            assert stated["sndbuf_bytes"] == stated["rcvbuf_bytes"] == 2 * WINDOW_BYTES
            assert (stated["mss_bytes"], stated["congestion"]) == (None, None)
            with borrow_stream(engine, stated) as data:
                assert data.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM
                assert data.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == EXPEDITED_CLASS
                for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    assert data.getsockopt(socket.SOL_SOCKET, buffer) == 2 * WINDOW_BYTES
                device = data.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
                assert device.rstrip(b"\0") == b"lo"


@pytest.mark.parametrize("transport", CARRIERS)
def test_the_figures_of_tcp_are_those_of_what_carries_the_messages(transport: str) -> None:
    accepted, sent = exchange(transport, messages_per_s=1000, interval_ns=20 * MS)
    assert_all_arrived(accepted, sent)
    by_tcp = transport == "tcp"
    for end in (accepted, sent):
        (ready,) = end.of("ready")
        assert (ready["congestion"] is not None) == by_tcp
        assert [line["mss_bytes"] is not None for line in ready["sockets"]] == [by_tcp]
        for record in (*end.of("interval"), end.last):
            known = {name for name, (value,) in record["tcp_info"].items() if value is not None}
            assert ("bytes_sent" in known) == by_tcp
            assert by_tcp or not known


# Workers


@pytest.mark.parametrize(("workers", "streams"), [(1, 1), (3, 6)])
def test_pinned_workers_run_on_their_core_alone(workers: int, streams: int) -> None:
    core = min(os.sched_getaffinity(0))
    with both_ready(streams=streams, workers=workers, duration_ns=LONG_NS, pin=core) as ends:
        assert [end.latest["cores"] for end in ends] == [[core] * workers] * 2
        ends[1].send_line("go")
        for engine in ends:
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
    with _flagged("send", {"pin": f"{cores[1]},{cores[0]}"}, streams=3, workers=3) as ends:
        assert ends["send"].latest["cores"] == [cores[1], cores[0], cores[1]]
        assert ends["receive"].latest["cores"] == [None, None, None]


def test_missing_core() -> None:
    absent = max(os.sched_getaffinity(0)) + 1
    with receiving(streams=1, pin=absent) as (receiver, port), sending(port, streams=1, pin=absent) as sender:
        for ending in (sender.finish(), receiver.finish()):
            assert_refused(ending, SETUP, "workers")
            assert f"--pin: core {absent} " in ending.stderr


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


def test_raw_tcp_info_is_what_the_fields_were_read_from() -> None:
    streams = 3
    with socket.socket() as own:
        length = len(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512))
    received, sent = carry(streams=streams, tcp_info="raw")
    for end in (received, sent):
        assert_complete(end)
        for record in [*end.of("interval"), end.last]:
            raw = record["tcp_info_raw"]
            structs = base64.b64decode(raw["base64"], validate=True)
            assert raw["bytes"] == length > RTT_OFFSET
            assert len(structs) == raw["bytes"] * streams
            rtts = [
                struct.unpack_from("=I", structs, number * raw["bytes"] + RTT_OFFSET)[0]
                for number in range(streams)
            ]
            assert [rtt or None for rtt in rtts] == record["tcp_info"]["rtt_us"]
    assert all(rtt > 0 for rtt in sent.last["tcp_info"]["rtt_us"])


# Limits


@BOTH_KINDS
def test_limit_of_time_in_mid_trial(kind: str) -> None:
    with _flagged(kind, {"time_limit_ns": 1500 * MS}, streams=2, duration_ns=LONG_NS) as ends:
        ends["send"].send_line("go")
        ended = {name: engine.finish() for name, engine in ends.items()}
    assert_cut(ended[kind], "--time-limit-ns")
    for end in ended.values():
        assert end.status == ENDED
        assert_counters_agree(end, 2)


def test_limit_of_time_before_any_connection() -> None:
    ending = run("receive", token=TOKEN, streams=2, time_limit_ns=50 * MS, **WHERE["receive"])
    assert_refused(ending, ENDED, "accept")
    assert "0 of 2 streams connected within --time-limit-ns" in ending.stderr


def test_limit_of_time_while_connecting() -> None:
    times: dict[str, Flag] = {"time_limit_ns": 50 * MS, "connect_timeout_ns": 1000 * MS}
    with listening() as (_, port):  # the kernel accepts, and nothing answers
        ending = run("send", port=port, token=TOKEN, **WHERE["send"], **times)
    assert_refused(ending, ENDED, "connect")
    assert "--time-limit-ns" in ending.stderr


def test_limit_of_time_before_go() -> None:
    with _flagged("send", {"time_limit_ns": 1500 * MS}) as ends:
        ending = ends["send"].finish()
    assert ending.of("start") == []
    assert_cut(ending, "--time-limit-ns")


@BOTH_KINDS
def test_memory_beyond_the_limit(kind: str) -> None:
    """A buffer as large as the memory limit: this end refuses, the other one is notified."""
    names = ("memory_limit_bytes", "read_bytes", "write_bytes")
    greedy: dict[str, Flag] = dict.fromkeys(names, LEAST_LIMIT_BYTES)
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


def test_limit_of_memory_that_suffices() -> None:
    received, sent = carry(streams=16, memory_limit_bytes=LEAST_LIMIT_BYTES)
    assert_complete(received, sent)
