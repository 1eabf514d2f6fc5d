"""Ends of a flow of messages that die, stall or fall behind: bounded, told in one line, nothing left."""

import contextlib
import itertools
import os
import re
import shlex
import signal
from pathlib import Path

import pytest

from tests.native.engine import (
    LONG_NS,
    MS,
    TOKEN,
    Engine,
    Flag,
    assert_complete,
    assert_cut,
    assert_refused,
    build_command,
    go,
    receiving,
    sending,
    start_command,
)
from tests.native.messages import (
    CARRIERS,
    IN_ORDER,
    OPEN,
    assert_all_arrived,
    assert_sent_or_given_up,
    find_leftovers,
    list_shared_memory,
    meeting,
    name_end,
)
from tests.require import require

pytestmark = pytest.mark.engine

PEER, ENDED, RESOURCES = 4, 5, 6
BY_MEMORY = ["shared-memory", "eventfd"]
KIB = 1024


def count_memory_kib(engine: Engine) -> int:
    """The most memory that it ever had, without the pages of queues, which both ends share."""
    status = Path(f"/proc/{engine.process.pid}/status").read_text()
    found = re.search(r"^RssAnon:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1])


def stop(engine: Engine) -> None:
    """Stop all its threads, and wait until they are."""
    os.kill(engine.process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, engine.process.pid, os.WSTOPPED)


# Ends that die


@pytest.mark.parametrize("transport", CARRIERS)
@pytest.mark.parametrize("victim", ["sender", "receiver"])
@pytest.mark.parametrize(("reply", "runs"), [("no", False), ("no", True), ("yes", True)])
def test_an_end_that_dies_ends_the_other_and_leaves_nothing(
    transport: str, victim: str, reply: str, runs: bool
) -> None:
    name = name_end(transport)
    flags: dict[str, Flag] = {"reply": reply, "warmup_ns": 0, "duration_ns": LONG_NS}
    with meeting(transport, {"bind": name}, **flags) as (receiver, sender):
        if runs:
            sender.send_line("go")
            sender.wait_for("interval")
        dying, other = (sender, receiver) if victim == "sender" else (receiver, sender)
        os.kill(dying.process.pid, signal.SIGKILL)
        dying.process.wait()
        if other is sender and not runs:
            sender.send_line("go")
        assert_cut(other.finish(), "")
    if CARRIERS[transport] == "unix":
        assert find_leftovers(name) == []


@pytest.mark.parametrize("transport", CARRIERS)
@pytest.mark.parametrize(("reply", "rate"), [("no", 0), ("no", 100_000), ("yes", 0), ("yes", 100_000)])
def test_sigterm_ends_an_end_whose_peer_stalls(transport: str, reply: str, rate: int) -> None:
    flags: dict[str, Flag] = {"reply": reply, "messages_per_s": rate, "warmup_ns": 0, "duration_ns": LONG_NS}
    with meeting(transport, **flags) as (receiver, sender):
        sender.send_line("go")
        sender.wait_for("interval")
        os.kill(receiver.process.pid, signal.SIGSTOP)
        for _ in range(3):
            sender.wait_for("interval")
        os.kill(sender.process.pid, signal.SIGTERM)
        ending = sender.finish()
        os.kill(receiver.process.pid, signal.SIGCONT)
        assert receiver.finish().status == ENDED
    assert ending.status == ENDED
    assert ending.last["reason"]


# Ends that stall or fall behind


def test_sinks_that_stall_are_given_up_after_the_drain() -> None:
    """All at once, since the engine waits two seconds longer for each."""
    short: dict[str, Flag] = {"duration_ns": 100 * MS, "drain_timeout_ns": 100 * MS}
    # Unix datagrams that return: the sender gives them up itself, at about the same time.
    cases = [one for one in itertools.product(IN_ORDER, ("no", "yes")) if one != ("unix-datagram", "yes")]
    with contextlib.ExitStack() as stack:
        senders = []
        for transport, reply in cases:
            receiver, sender = stack.enter_context(meeting(transport, reply=reply, **short))
            stop(receiver)
            sender.send_line("go")
            senders.append(sender)
        endings = [sender.finish() for sender in senders]
    for (transport, reply), ending in zip(cases, endings, strict=True):
        case = f"{transport}, reply {reply}: {ending.last}"
        assert_cut(ending, "--drain-timeout-ns")
        sent = ending.last["messages"]["sent"][0]
        assert sent == 1 if reply == "yes" else sent > 1, case
        if reply == "yes":
            assert ending.last["messages"]["received"] == [0], case


@pytest.mark.parametrize("reply", ["no", "yes"])
@pytest.mark.parametrize("rate", [0, 2000])
def test_datagrams_to_a_sink_that_stalls_are_lost(reply: str, rate: int) -> None:
    """UDP waits for nobody: the sender keeps its rate and ends by itself; what came back is counted."""
    flags: dict[str, Flag] = {"reply": reply, "messages_per_s": rate, "drain_timeout_ns": 100 * MS}
    with meeting("udp", **flags, warmup_ns=0, duration_ns=100 * MS) as (receiver, sender):
        stop(receiver)
        sender.send_line("go")
        ending = sender.finish()
    assert_complete(ending)
    found = ending.last["messages"]
    if reply == "yes":
        assert found["received"] == [0]
        assert found["round_trip_ns"]["count"] == 0
    else:
        assert ending.last["confirmed_bytes"] == [None]
    if rate:
        assert 1 < found["sent"][0] <= 200
    else:
        assert found["sent"][0] == 1 if reply == "yes" else found["sent"][0] > 1


@pytest.mark.parametrize("transport", IN_ORDER)
@pytest.mark.parametrize("flags", [{}, {"reply": "yes", "messages_per_s": 10**6}], ids=["sink", "relay"])
def test_a_receiver_that_falls_behind_loses_nothing_and_takes_no_memory(
    transport: str, flags: dict[str, Flag]
) -> None:
    """It stops for some intervals: the sender waits, with as much memory as before."""
    settings: dict[str, Flag] = {"queue_bytes": 256 * KIB, "message_bytes": 1000, "interval_ns": 10 * MS}
    times: dict[str, Flag] = {"warmup_ns": 0, "duration_ns": LONG_NS}
    with meeting(transport, OPEN, **settings, **flags, **times) as (receiver, sender):
        sender.send_line("go")
        receiver.wait_for("start")
        sender.wait_for("interval")
        before_kib = count_memory_kib(sender)
        os.kill(receiver.process.pid, signal.SIGSTOP)
        for _ in range(5):
            sender.wait_for("interval", phase="steady")
        grown_kib = count_memory_kib(sender) - before_kib
        os.kill(receiver.process.pid, signal.SIGCONT)
        receiver.wait_for("interval", phase="steady")
        sender.send_line("stop")
        sent = sender.finish()
        accepted = receiver.finish()
    assert_cut(sent, "stopped by the controller")
    received = accepted.last["messages"]
    assert received["received"] == sent.last["messages"]["sent"]
    assert received["missing"] == received["out_of_order"] == [0]
    assert grown_kib < 1024


def test_a_relay_that_stalls_does_not_delay_the_sending_of_a_spinning_thread() -> None:
    """What returns is late, what is sent is not."""
    flags: dict[str, Flag] = {"reply": "yes", "wait": "poll", "messages_per_s": 200, "message_bytes": 4096}
    short: dict[str, Flag] = {"warmup_ns": 0, "duration_ns": 500 * MS, "interval_ns": 50 * MS}
    with meeting("shared-memory", OPEN, **flags, **short) as (receiver, sender):
        sender.send_line("go")
        receiver.wait_for("start")
        stop(receiver)
        sender.wait_for("interval", index=8)
        os.kill(receiver.process.pid, signal.SIGCONT)
        sent, accepted = sender.finish(), receiver.finish()
    assert_all_arrived(accepted, sent)
    outcome = sent.last["messages"]
    assert 8 * outcome["send_error_ns"]["median"] < outcome["round_trip_ns"]["max"]


@pytest.mark.parametrize("wait", ["block", "poll"])
def test_a_sender_that_stalls_at_the_end_sends_what_was_due(wait: str) -> None:
    """Nobody would see how late these messages are, if they were left out."""
    flags: dict[str, Flag] = {"reply": "yes", "wait": wait, "messages_per_s": 5000}
    short: dict[str, Flag] = {"warmup_ns": 0, "duration_ns": 500 * MS, "interval_ns": 50 * MS}
    with meeting("tcp", {**OPEN, "interval_ns": 50 * MS}, **flags, **short) as (receiver, sender):
        sender.send_line("go")
        sender.wait_for("interval", index=8)
        os.kill(sender.process.pid, signal.SIGSTOP)
        receiver.wait_for("interval", phase="drain")
        os.kill(sender.process.pid, signal.SIGCONT)
        sent, accepted = sender.finish(), receiver.finish()
    assert_all_arrived(accepted, sent)
    assert_sent_or_given_up(sent, due=2500, least_left=500)
    assert sent.last["messages"]["round_trip_ns"]["count"] == sent.last["messages"]["sent"][0]


@pytest.mark.parametrize("transport", BY_MEMORY)
@pytest.mark.parametrize("wait", ["block", "poll"])
def test_a_queue_that_is_smaller_than_what_a_relay_returns_at_once(transport: str, wait: str) -> None:
    """A relay returns what it has read, up to 256 KiB, by a queue of that size that is seldom empty."""
    flags: dict[str, Flag] = {"message_bytes": 65_536, "queue_bytes": 256 * KIB, "messages_per_s": 10**6}
    if wait == "block":
        flags["batch_bytes"] = 128 * KIB
    flags |= {"reply": "yes", "wait": wait, "warmup_ns": 20 * MS, "duration_ns": 100 * MS}
    with meeting(transport, {**OPEN, "wait": wait}, **flags) as ends:
        assert_all_arrived(*go(*ends))


# Memory


@pytest.mark.parametrize("transport", BY_MEMORY)
def test_shared_memory_has_no_name_so_that_none_can_be_left(transport: str) -> None:
    with meeting(transport) as ends:
        for engine in ends:
            assert {name.split(":")[0] for name in list_shared_memory(engine)} == {"/memfd"}


@pytest.mark.parametrize("transport", BY_MEMORY)
@pytest.mark.parametrize("limited", ["sender", "receiver"])
def test_queues_count_against_the_limit_of_memory(transport: str, limited: str) -> None:
    name = name_end(transport)
    limit: dict[str, Flag] = {"memory_limit_bytes": 2**24}
    queues: dict[str, Flag] = {"queue_bytes": 2**22, "streams": 3}
    with receiving(bind=name, transport="unix", **(limit if limited == "receiver" else {})) as (receiver, _):
        where: dict[str, Flag] = {"address": name, "transport": transport, "message_bytes": 64}
        with sending(1, **where, **queues, **(limit if limited == "sender" else {})) as sender:
            sent = sender.finish()
        receiver.close_stdin()
        received = receiver.finish()
    refused, other = (sent, received) if limited == "sender" else (received, sent)
    assert_refused(refused, RESOURCES, "queue")
    assert "25165824 bytes" in refused.last["text"]
    assert "--memory-limit-bytes" in refused.last["text"]
    assert other.status in (PEER, ENDED, 3)
    assert find_leftovers(name) == []


def test_the_queue_of_two_threads_counts_against_the_limit_of_memory() -> None:
    flags: dict[str, Flag] = {"placement": "threaded", "message_bytes": 64, "queue_bytes": 2**25}
    with start_command(build_command("send", memory_limit_bytes=2**24, **flags)) as sender:
        assert_refused(sender.finish(), RESOURCES, "queue")


def test_queues_beyond_the_free_memory_are_refused_before_they_are_made() -> None:
    """The limit on the size of files keeps an engine that would make them from doing so."""
    queues_bytes = 256 * 2**28
    free_kib = int(re.findall(r"^MemAvailable:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.M)[0])
    require(free_kib * KIB < queues_bytes, "less than 64 GiB of free memory")
    flags: dict[str, Flag] = {"message_bytes": 64, "streams": 256, "queue_bytes": 2**28}
    command = shlex.join(
        build_command("send", placement="threaded", memory_limit_bytes=2 * queues_bytes, **flags)
    )
    with start_command(["sh", "-c", f"ulimit -f 100; exec {command}"]) as sender:
        ending = sender.finish()
    assert_refused(ending, RESOURCES, "queue")
    assert f" {queues_bytes} bytes" in ending.last["text"]
    assert "--queue-bytes" in ending.last["text"]


@pytest.mark.parametrize("transport", BY_MEMORY)
def test_shared_memory_that_cannot_be_had_ends_both(transport: str) -> None:
    """A limit on the size of files holds for it, too."""
    name = name_end(transport)
    accepting: dict[str, Flag] = {"bind": name, "transport": "unix", "token": TOKEN, "control": "stdin"}
    command = shlex.join(build_command("receive", **accepting))
    with start_command(["sh", "-c", f"ulimit -f 100; exec {command}"]) as receiver:
        receiver.wait_for("listening")
        with sending(1, address=name, transport=transport, message_bytes=64) as sender:
            sent = sender.finish()
        received = receiver.finish()
    assert_refused(received, RESOURCES, "queue", errno_name="EFBIG")
    assert "1048576 bytes" in received.last["text"]
    assert_refused(sent, PEER, "channel")
    assert find_leftovers(name) == []


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("transport", ["unix-datagram", "pipe", "eventfd"])
def test_no_socket_file_is_left(transport: str, complete: bool, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with meeting(transport, {"bind": str(path), **OPEN}, warmup_ns=0, duration_ns=50 * MS) as (
        receiver,
        sender,
    ):
        assert path.is_socket()
        if complete:
            sender.send_line("go")
        else:
            sender.close()
        status = receiver.finish().status
    assert status == (0 if complete else ENDED)
    assert not path.exists()


def test_cpu_time_before_a_stall_counts_in_its_interval() -> None:
    """A thread that waits for room states nothing; its queue of 16 MiB was filled in the first interval."""
    flags: dict[str, Flag] = {"batch_bytes": 64 * KIB, "message_bytes": KIB, "queue_bytes": 16 * KIB * KIB}
    short: dict[str, Flag] = {"warmup_ns": 0, "duration_ns": 300 * MS, "drain_timeout_ns": 100 * MS}
    with meeting("shared-memory", **flags, **short) as (receiver, sender):
        stop(receiver)
        sender.send_line("go")
        ending = sender.finish()
    (whole,) = ending.last["workers"]
    steady = [one["workers"][0] for one in ending.of("interval") if one["phase"] == "steady"]
    spent_ns = sum(worker["user_ns"] + worker["system_ns"] for worker in steady)
    assert all(worker["user_ns"] >= 0 and worker["system_ns"] >= 0 for worker in steady)
    assert spent_ns > 0.4 * (whole["user_ns"] + whole["system_ns"])
