"""How runs end: commands, limits, deadlines, and processes that die; without their parent: test_load.py."""

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.native.engine import (
    LONG_NS,
    MS,
    TOKEN,
    Ending,
    Engine,
    Flag,
    assert_complete,
    assert_counters_agree,
    assert_cut,
    assert_refused,
    both_ready,
    build_command,
    receiving,
    run,
    sending,
)
from tests.native.peers import ANSWER, answering, build_answer, build_hello, call, listening, read_exactly
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

SETUP, ENDED, RESOURCES = 3, 5, 6
EARLY_END = "ended before the steady window"
PEER_ENDED = "the peer ended it"
Act = Callable[[Engine], None]


@contextlib.contextmanager
def running_trial() -> Iterator[tuple[Engine, Engine]]:
    """Receiver and sender during a trial of a minute."""
    with both_ready(streams=2, duration_ns=LONG_NS) as (receiver, sender):
        sender.send_line("go")
        sender.wait_for("interval", phase="steady")
        receiver.wait_for("interval", phase="steady")
        yield receiver, sender


def _assert_cut_and_counted(ending: Ending, culprit: str) -> None:
    assert_cut(ending, culprit)
    assert_counters_agree(ending, len(ending.last["total_bytes"]))


# Commands and signals


def test_stop_ends_the_sending_and_every_byte_arrives() -> None:
    with running_trial() as (receiver, sender):
        sender.send_line("stop")
        sent, received = sender.finish(), receiver.finish()
    _assert_cut_and_counted(sent, "stopped by the controller")
    _assert_cut_and_counted(received, EARLY_END)
    assert received.last["total_bytes"] == sent.last["total_bytes"]


@pytest.mark.parametrize(("direction", "culprit"), [("forward", "before it sent anything"), ("both", "")])
def test_stop_before_go(direction: str, culprit: str) -> None:
    """With both directions the accepting side waits for the first byte; an end of file arrives instead."""
    with both_ready(streams=1, direction=direction) as (receiver, sender):
        sender.send_line("stop")
        sent, received = sender.finish(), receiver.finish()
    _assert_cut_and_counted(sent, "stopped by the controller")
    _assert_cut_and_counted(received, culprit)
    assert sent.of("start") == []
    assert received.of("start") == [] or direction == "both"
    assert sent.last["total_bytes"] == received.last["total_bytes"] == [0]


def _terminate(engine: Engine) -> None:
    engine.process.terminate()


def _interrupt(engine: Engine) -> None:
    engine.process.send_signal(signal.SIGINT)


def _kill(engine: Engine) -> None:
    engine.process.kill()


@pytest.mark.parametrize("victim", ["sender", "receiver"])
@pytest.mark.parametrize(
    ("end", "culprit"),
    [(_terminate, "signal"), (_interrupt, "signal"), (Engine.close_stdin, "controller is gone"), (_kill, "")],
)
def test_an_end_that_is_ended_writes_its_result(end: Act, culprit: str, victim: str) -> None:
    with running_trial() as (receiver, sender):
        ended, other = (sender, receiver) if victim == "sender" else (receiver, sender)
        end(ended)
        if culprit:
            _assert_cut_and_counted(ended.finish(), culprit)
        else:
            assert ended.finish().status == -signal.SIGKILL
        # The sender's death is an end of file or a reset, depending on unread bytes.
        _assert_cut_and_counted(other.finish(), "" if victim == "sender" else PEER_ENDED)


@pytest.mark.parametrize("end", [_terminate, Engine.close_stdin])
def test_receiver_that_waits_can_be_ended(end: Act) -> None:
    with receiving(streams=2) as (receiver, _):
        end(receiver)
        assert_refused(receiver.finish(), ENDED, "accept")


def test_a_receiver_that_starts_late_is_complete() -> None:
    """On a busy machine it may read the first byte when the sender's window is over already."""
    with both_ready(streams=1) as (receiver, sender):
        os.kill(receiver.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, receiver.process.pid, os.WSTOPPED)
        sender.send_line("go")
        sender.wait_for("interval", phase="drain")
        os.kill(receiver.process.pid, signal.SIGCONT)
        sent, received = sender.finish(), receiver.finish()
    assert_complete(sent, received)
    for end in (sent, received):
        assert_counters_agree(end, 1)
    assert received.last["total_bytes"] == sent.last["total_bytes"]


# Limits and deadlines


@pytest.mark.parametrize("limited", ["sender", "receiver"])
def test_limit_of_bytes(limited: str) -> None:
    limit, call_bytes, workers = 3_000_000, 10_000, 2
    flags: dict[str, Flag] = {"volume_limit_bytes": limit, "workers": workers}
    flags |= {"read_bytes": call_bytes} if limited == "receiver" else {"write_bytes": call_bytes}
    accepting, connecting = (flags, {}) if limited == "receiver" else ({}, flags)
    with both_ready(accepting, connecting, streams=4, duration_ns=LONG_NS) as (receiver, sender):
        sender.send_line("go")
        ends = {"sender": sender.finish(), "receiver": receiver.finish()}
    _assert_cut_and_counted(ends[limited], "--volume-limit-bytes")
    assert limit <= sum(ends[limited].last["total_bytes"]) <= limit + workers * call_bytes
    if limited == "sender":
        _assert_cut_and_counted(ends["receiver"], EARLY_END)
        assert ends["receiver"].last["total_bytes"] == ends["sender"].last["total_bytes"]
    else:
        _assert_cut_and_counted(ends["sender"], PEER_ENDED)


def test_streams_that_never_connect() -> None:
    with (
        receiving(streams=2, accept_timeout_ns=1500 * MS) as (receiver, port),
        call(port, build_hello(streams=2)) as only,
    ):
        assert read_exactly(only, ANSWER.size) == build_answer()
        received = receiver.finish()
    assert_refused(received, ENDED, "accept")
    assert "1 of 2 streams connected within --accept-timeout-ns" in received.stderr


def test_answer_that_never_arrives() -> None:
    with listening() as (_, port):
        ending = run("send", address="127.0.0.1", port=port, token=TOKEN, connect_timeout_ns=200 * MS)
    assert_refused(ending, SETUP, "connect")
    assert "--connect-timeout-ns" in ending.stderr


def test_receiver_that_never_closes() -> None:
    # Long enough for the kernel to send, by its timer, what still fits into the peer's window.
    with (
        listening() as (listener, port),
        sending(port, duration_ns=1500 * MS, drain_timeout_ns=200 * MS) as sender,
        answering(listener, build_answer()),
    ):
        sender.expect("ready")
        sender.send_line("go")
        _assert_cut_and_counted(sender.finish(), "--drain-timeout-ns")


def test_sender_that_never_closes() -> None:
    with (
        receiving(streams=1, drain_timeout_ns=200 * MS) as (receiver, port),
        call(port, build_hello() + b"x" * 100) as held,
    ):
        received = receiver.finish()
        assert read_exactly(held, ANSWER.size) == build_answer()
    _assert_cut_and_counted(received, "--drain-timeout-ns")
    assert received.last["total_bytes"] == [100]


def test_one_stream_that_is_reset_ends_the_trial() -> None:
    with (
        receiving(streams=2, duration_ns=LONG_NS) as (receiver, port),
        call(port, build_hello(stream=0, streams=2)) as whole,
        call(port, build_hello(stream=1, streams=2)) as broken,
    ):
        receiver.expect("ready")
        broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        broken.close()
        received = receiver.finish()
        assert read_exactly(whole, ANSWER.size) == build_answer()
    _assert_cut_and_counted(received, f"stream 1: {PEER_ENDED}")


# The engine's surroundings are gone


def test_output_that_is_gone_from_the_start() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            build_command("receive", token=TOKEN, bind="127.0.0.1", port=0),
            stdout=writing,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.returncode == RESOURCES


def test_output_that_goes_in_mid_trial() -> None:
    with receiving(streams=1, duration_ns=LONG_NS) as (receiver, port):
        command = build_command(
            "send", address="127.0.0.1", port=port, token=TOKEN, duration_ns=LONG_NS, interval_ns=20 * MS
        )
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as sender:
            kinds = [json.loads(sender.stdout.readline())["type"] for _ in range(4)]
            assert kinds == ["hello", "ready", "start", "interval"]
            sender.stdout.close()
            try:
                assert sender.wait(timeout=PATIENCE_S) == RESOURCES
            finally:
                sender.kill()
        assert receiver.finish().status == ENDED


def test_sender_is_done_when_the_peer_has_closed() -> None:
    """A receiver of plain sockets that reads to the end of file."""
    with listening() as (listener, port), sending(port) as sender:
        with answering(listener, build_answer()) as (connection, _):
            sender.expect("ready")
            sender.send_line("go")
            count = 0
            while piece := connection.recv(1 << 20):
                count += len(piece)
        sent = sender.finish()
    assert sent.status == 0
    assert sent.last["total_bytes"] == [count]
