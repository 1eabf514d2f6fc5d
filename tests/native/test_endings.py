"""How runs end: commands, limits, deadlines, and processes that die."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.native.engine import (
    MS,
    TOKEN,
    Ending,
    Engine,
    Flag,
    assert_counters_agree,
    assert_refused,
    build_command,
    receiving,
    run,
    sending,
)
from tests.native.peers import (
    ANSWER,
    answering,
    build_answer,
    build_hello,
    call,
    listening,
    read_exactly,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

LONG_NS = 60_000 * MS  # a trial that must not end by itself
DONE, SETUP, ENDED, RESOURCES = 0, 3, 5, 6


@contextlib.contextmanager
def running_trial(
    *, receiver_flags: dict[str, Flag] | None = None, sender_flags: dict[str, Flag] | None = None
) -> Iterator[tuple[Engine, Engine]]:
    """Receiver and sender during a trial of a minute."""
    flags: dict[str, Flag] = {"streams": 2, "duration_ns": LONG_NS}
    with (
        receiving(**{**flags, **(receiver_flags or {})}) as (receiver, port),
        sending(port, **{**flags, **(sender_flags or {})}) as sender,
    ):
        sender.expect("ready")
        receiver.expect("ready")
        sender.send_line("go")
        sender.wait_for("interval", phase="steady")
        receiver.wait_for("interval", phase="steady")
        yield receiver, sender


def _assert_cut(ending: Ending, reason: str) -> None:
    """An incomplete result with its reason and consistent counters."""
    assert ending.status == ENDED
    assert ending.last["complete"] is False
    assert reason in ending.last["reason"]
    assert ending.stderr == f"pathlab-engine: ended early: {ending.last['reason']}\n"
    assert_counters_agree(ending, len(ending.last["total_bytes"]))


def _assert_receiver_saw_the_end(received: Ending) -> None:
    """The sender's death is an end of file or a reset, depending on unread bytes: never a complete trial."""
    assert received.status == ENDED
    assert received.last["complete"] is False
    assert received.last["reason"]
    assert_counters_agree(received, 2)


# Commands and signals


def test_stop_ends_the_sending_and_every_byte_arrives() -> None:
    with running_trial() as (receiver, sender):
        sender.send_line("stop")
        sent, received = sender.finish(), receiver.finish()
    _assert_cut(sent, "stopped by the controller")
    _assert_cut(received, "the sender ended before the steady window was over")
    assert received.last["total_bytes"] == sent.last["total_bytes"]


def test_stop_before_go() -> None:
    with receiving(streams=1) as (receiver, port), sending(port, streams=1) as sender:
        sender.expect("ready")
        receiver.expect("ready")
        sender.send_line("stop")
        sent, received = sender.finish(), receiver.finish()
    _assert_cut(sent, "stopped by the controller")
    _assert_cut(received, "the sender ended before it sent anything")
    assert sent.of("start") == received.of("start") == []
    assert sent.last["total_bytes"] == received.last["total_bytes"] == [0]


def _terminate(engine: Engine) -> None:
    engine.process.terminate()


def _interrupt(engine: Engine) -> None:
    engine.process.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (_terminate, "ended by a signal"),
        (_interrupt, "ended by a signal"),
        (Engine.close_stdin, "the controller is gone"),
    ],
)
def test_sender_that_is_ended_writes_its_result(end: Callable[[Engine], None], reason: str) -> None:
    with running_trial() as (receiver, sender):
        end(sender)
        _assert_cut(sender.finish(), reason)
        _assert_receiver_saw_the_end(receiver.finish())


@pytest.mark.parametrize(
    ("end", "reason"), [(_terminate, "ended by a signal"), (Engine.close_stdin, "the controller is gone")]
)
def test_receiver_that_is_ended_writes_its_result(end: Callable[[Engine], None], reason: str) -> None:
    with running_trial() as (receiver, sender):
        end(receiver)
        _assert_cut(receiver.finish(), reason)
        _assert_cut(sender.finish(), "the peer ended it")


@pytest.mark.parametrize("end", [_terminate, Engine.close_stdin])
def test_receiver_that_waits_can_be_ended(end: Callable[[Engine], None]) -> None:
    with receiving(streams=2) as (receiver, _):
        end(receiver)
        assert_refused(receiver.finish(), ENDED, "accept")


def test_killed_sender() -> None:
    with running_trial() as (receiver, sender):
        sender.process.kill()
        assert sender.finish().status == -signal.SIGKILL
        _assert_receiver_saw_the_end(receiver.finish())


def test_killed_receiver() -> None:
    with running_trial() as (receiver, sender):
        receiver.process.kill()
        assert receiver.finish().status == -signal.SIGKILL
        _assert_cut(sender.finish(), "the peer ended it")


def test_a_receiver_that_starts_late_is_complete() -> None:
    """On a busy machine it may read the first byte when the sender's window is over already."""
    with receiving(streams=1) as (receiver, port), sending(port, streams=1) as sender:
        sender.expect("ready")
        receiver.expect("ready")
        os.kill(receiver.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, receiver.process.pid, os.WSTOPPED)
        sender.send_line("go")
        sender.wait_for("interval", phase="drain")
        os.kill(receiver.process.pid, signal.SIGCONT)
        sent, received = sender.finish(), receiver.finish()
    for end in (sent, received):
        assert (end.status, end.last["complete"], end.last["reason"]) == (DONE, True, None)
        assert_counters_agree(end, 1)
    assert received.last["total_bytes"] == sent.last["total_bytes"]


# Limits and deadlines


def test_limit_of_bytes_at_the_sender() -> None:
    limit, write, workers = 3_000_000, 10_000, 2
    with receiving(streams=4, duration_ns=LONG_NS) as (receiver, port):
        with sending(
            port, streams=4, volume_limit_bytes=limit, write_bytes=write, workers=workers, duration_ns=LONG_NS
        ) as sender:
            sender.expect("ready")
            sender.send_line("go")
            sent = sender.finish()
        received = receiver.finish()
    _assert_cut(sent, "--volume-limit-bytes")
    _assert_cut(received, "the sender ended before the steady window was over")
    assert limit <= sum(sent.last["total_bytes"]) <= limit + workers * write
    assert received.last["total_bytes"] == sent.last["total_bytes"]


def test_limit_of_bytes_at_the_receiver() -> None:
    limit, read, workers = 3_000_000, 10_000, 2
    flags: dict[str, Flag] = {
        "streams": 4,
        "volume_limit_bytes": limit,
        "read_bytes": read,
        "workers": workers,
        "duration_ns": LONG_NS,
    }
    with receiving(**flags) as (receiver, port), sending(port, streams=4, duration_ns=LONG_NS) as sender:
        sender.expect("ready")
        sender.send_line("go")
        received, sent = receiver.finish(), sender.finish()
    _assert_cut(received, "--volume-limit-bytes")
    _assert_cut(sent, "the peer ended it")
    assert limit <= sum(received.last["total_bytes"]) <= limit + workers * read


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
        sent = sender.finish()
    _assert_cut(sent, "--drain-timeout-ns")


def test_sender_that_never_closes() -> None:
    with (
        receiving(streams=1, drain_timeout_ns=200 * MS) as (receiver, port),
        call(port, build_hello() + b"x" * 100) as held,
    ):
        received = receiver.finish()
        assert read_exactly(held, ANSWER.size) == build_answer()
    _assert_cut(received, "--drain-timeout-ns")
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
    _assert_cut(received, "stream 1: the peer ended it: Connection reset by peer")


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
            assert sender.stdout is not None
            kinds = [json.loads(sender.stdout.readline())["type"] for _ in range(4)]
            assert kinds == ["hello", "ready", "start", "interval"]
            sender.stdout.close()
            try:
                assert sender.wait(timeout=PATIENCE_S) == RESOURCES
            finally:
                sender.kill()
        assert receiver.finish().status == ENDED


def test_engine_dies_with_its_parent() -> None:
    """The parent is killed and cannot clean up; the engine, which reads no commands, ends as well."""
    parent_text = (
        "import subprocess, sys\nsys.exit(subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL))\n"
    )
    command = build_command("receive", token=TOKEN, bind="127.0.0.1", port=0, accept_timeout_ns=LONG_NS)
    with subprocess.Popen(
        [sys.executable, "-I", "-c", parent_text, *command], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        engine = os.pidfd_open(json.loads(parent.stdout.readline())["pid"])
        try:
            assert json.loads(parent.stdout.readline())["type"] == "listening"
            parent.kill()
            ended, _, _ = select.select([engine], [], [], PATIENCE_S)
            assert ended, "the engine outlived its parent"
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(engine, signal.SIGKILL)
            os.close(engine)
            parent.kill()


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
    assert sent.status == DONE
    assert sent.last["total_bytes"] == [count]
