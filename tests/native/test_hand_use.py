"""The engine by hand: text at a terminal, few flags, names for addresses, and its help."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.engine import (
    MS,
    TOKEN,
    Flag,
    assert_counters_agree,
    build_command,
    run,
    start,
    start_command,
)
from tests.native.test_directions import assert_complete
from tests.patience import PATIENCE_S
from tests.require import require, require_engine

pytestmark = pytest.mark.engine

FLAGS_SOURCE = Path(__file__).resolve().parents[2] / "native" / "src" / "flow" / "flow_flags.c"


class Terminal:
    """A process whose stdout is a terminal. Its output is read until it closes, within a bound."""

    def __init__(self, command: list[str]) -> None:
        self._screen, tty = os.openpty()
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=tty, stderr=subprocess.PIPE, text=True
            )
        finally:
            os.close(tty)
        self._text = ""

    def _read_more(self, end_s: float) -> bool:
        """False when the other side of the terminal is closed."""
        readable, _, _ = select.select([self._screen], [], [], max(end_s - time.monotonic(), 0.0))
        assert readable, f"nothing more was shown after {self._text!r}"
        try:
            piece = os.read(self._screen, 65536)
        except OSError:  # EIO: its last owner has closed it
            return False
        self._text += piece.decode().replace("\r\n", "\n")
        return bool(piece)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match on the screen."""
        end_s = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self._text, re.MULTILINE)) is None:
            assert self._read_more(end_s), f"ended without {pattern!r}: {self._text!r}"
        return found

    def finish(self) -> tuple[int, str, str]:
        """Its exit status, its screen, and its stderr."""
        end_s = time.monotonic() + PATIENCE_S
        while self._read_more(end_s):
            pass
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, self._text, errors

    def close(self) -> None:
        self.process.kill()
        self.process.wait(timeout=PATIENCE_S)
        os.close(self._screen)
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextlib.contextmanager
def _show(subcommand: str, *words: str, **flags: Flag) -> Iterator[Terminal]:
    """The engine at a terminal; ``words`` follow the subcommand."""
    binary, name, *rest = build_command(subcommand, **flags)
    terminal = Terminal([binary, name, *words, *rest])
    try:
        yield terminal
    finally:
        terminal.close()


@contextlib.contextmanager
def _show_receiver(**flags: Flag) -> Iterator[tuple[Terminal, str]]:
    """A receiver at a terminal, and its port."""
    with _show("receive", **{"bind": "127.0.0.1", "port": 0, **flags}) as receiver:
        yield receiver, receiver.wait_for(r"^listening on 127\.0\.0\.1 port (\d+)")[1]


def _find_rows(text: str) -> list[str]:
    """The lines of the steady window's intervals, and the last one of the window."""
    return [line for line in text.splitlines() if re.match(r" *\d+\.\d\d- *\d+\.\d\d s  steady ", line)]


# At a terminal


def test_both_ends_write_text_at_a_terminal() -> None:
    """One flow by hand: no token, two words for the sender, and an interval with a unit."""
    with (
        _show_receiver(interval="100ms") as (receiver, port),
        _show("send", "127.0.0.1", port=port, duration="300ms", interval="100ms") as sender,
    ):
        sent, shown_by_sender, sender_errors = sender.finish()
        received, shown_by_receiver, receiver_errors = receiver.finish()
    assert (sent, received) == (0, 0)
    assert sender_errors == receiver_errors == ""
    for text in (shown_by_sender, shown_by_receiver):
        assert "{" not in text
        rows = _find_rows(text)
        assert len(rows) >= 2, text
        assert rows[-1].endswith("  in all")
        assert all("bit/s" in row for row in rows), rows
        assert re.search(r"^CPU of this end's workers: \d+\.\d\d s, \d+\.\d{3} s per GB$", text, re.MULTILINE)
    lines = shown_by_sender.splitlines()
    shape = r" 1 stream, copy, \w+, window autotuned, 1 worker$"
    assert re.match(rf"sending to 127\.0\.0\.1 port \d+ tcp,{shape}", lines[0])
    assert lines[1].split() == ["time", "phase", "sent", "retransmits", "rtt", "in", "flight"]
    lines = shown_by_receiver.splitlines()
    assert lines[0] == f"listening on 127.0.0.1 port {port}, without authentication (no --token)"
    assert re.match(rf"receiving from 127\.0\.0\.1 tcp,{shape}", lines[1])
    assert lines[2].split() == ["time", "phase", "received"]
    confirmed = re.search(
        r"^the peer received \S+ \S+ \((\d+) bytes\), all bytes sent$", shown_by_sender, re.MULTILINE
    )
    assert confirmed is not None
    assert int(confirmed[1]) > 0
    assert re.search(
        r"^window: requested autotuned, effective \S+ \S+ per stream", shown_by_sender, re.MULTILINE
    )


def test_requested_settings_are_shown() -> None:
    with (
        _show_receiver(token=TOKEN, window="64KiB", transfer="zero-copy") as (receiver, port),
        _show(
            "send",
            "127.0.0.1",
            port=port,
            token=TOKEN,
            streams=3,
            workers=2,
            window="64KiB",
            duration="200ms",
            interval="50ms",
            congestion="reno",
        ) as sender,
    ):
        sent, shown_by_sender, _ = sender.finish()
        received, shown_by_receiver, _ = receiver.finish()
    assert (sent, received) == (0, 0)
    assert " 3 streams, copy, reno, window 64KiB, 2 workers\n" in shown_by_sender
    assert "window: requested 64KiB, effective " in shown_by_sender
    assert " 3 streams, truncate, " in shown_by_receiver
    assert "open to anybody" not in shown_by_receiver
    assert TOKEN not in shown_by_receiver + shown_by_sender


def test_bytes_are_shown_exactly() -> None:
    with (
        _show_receiver() as (receiver, port),
        _show("send", "127.0.0.1", port=port, streams=3, bytes="3MB") as sender,
    ):
        sent, shown, _ = sender.finish()
        assert (sent, receiver.finish()[0]) == (0, 0)
    assert "\nthe peer received 2.86 MiB (3000000 bytes), all bytes sent\n" in shown


def test_both_ways_at_once_have_both_columns() -> None:
    with (
        _show_receiver() as (receiver, port),
        _show("send", "127.0.0.1", port=port, direction="both", duration="200ms") as sender,
    ):
        for terminal in (sender, receiver):
            status, text, errors = terminal.finish()
            assert (status, errors) == (0, "")
            assert "exchanging with 127.0.0.1" in text
            header = next(line for line in text.splitlines() if line.split()[:1] == ["time"])
            assert header.split()[2:4] == ["received", "sent"]
            assert _find_rows(text)[-1].count("bit/s") == 2


def test_json_on_request_at_a_terminal() -> None:
    with _show("receive", bind="127.0.0.1", port=0, output="json") as receiver:
        port = receiver.wait_for(r'"type":"listening".*"port":(\d+)')[1]
        with _show("send", "127.0.0.1", port=port, duration="100ms", output="json") as sender:
            ends = (sender.finish(), receiver.finish())
    for status, text, errors in ends:
        assert (status, errors) == (0, "")
        assert all(line.startswith('{"type":"') and line.endswith("}") for line in text.splitlines())
        assert "in all" not in text
        assert text.splitlines()[-1].startswith('{"type":"result"')


def test_text_on_request_in_a_pipe() -> None:
    with _show_receiver() as (receiver, port):
        command = build_command("send", address="127.0.0.1", port=port, duration="100ms", output="human")
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert receiver.finish()[0] == 0
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sending to 127.0.0.1")
    assert "{" not in done.stdout


def test_errors_at_a_terminal_are_one_line_on_stderr() -> None:
    with _show("send", "127.0.0.1", port=9, congestion="no-such") as sender:
        status, text, errors = sender.finish()
    assert (status, text) == (3, "")
    assert errors.startswith("pathlab-engine send: --congestion no-such is unknown")
    assert errors.count("\n") == 1
    with _show("send", "127.0.0.1", speed=1) as sender:
        status, text, errors = sender.finish()
    assert (status, text) == (2, "")
    assert errors == "pathlab-engine send: unknown flag '--speed'; see pathlab-engine send --help\n"


def test_rejected_peers_are_shown_at_the_end() -> None:
    with _show_receiver(token=TOKEN) as (receiver, port):
        refused = run("send", address="127.0.0.1", port=int(port), token="ff" * 16)
        assert refused.status == 4
        assert run("send", address="127.0.0.1", port=int(port), token=TOKEN, duration="50ms").status == 0
        status, text, _ = receiver.finish()
    assert status == 0
    assert text.endswith("unauthenticated peers rejected: 1\n")


# Few flags


def test_two_flows_one_after_the_other() -> None:
    with start("receive", bind="127.0.0.1", port=0, flows=2, output="json") as receiver:
        receiver.expect("hello")
        port = receiver.expect("listening")["port"]
        sent = []
        for streams in (1, 3):
            sent.append(run("send", address="127.0.0.1", port=port, streams=streams, duration="80ms"))
            assert_complete(sent[-1])
            if streams == 1:
                assert receiver.wait_for("listening")["port"] == port
        received = receiver.finish()
    assert (received.status, received.stderr) == (0, "")
    assert [len(record["total_bytes"]) for record in received.of("result")] == [1, 3]
    for theirs, ours in zip(received.of("result"), sent, strict=True):
        assert theirs["complete"] is True
        assert theirs["total_bytes"] == ours.last["total_bytes"] == ours.last["confirmed_bytes"]
    assert len(received.of("hello")) == 1
    assert len(received.of("listening")) == 2


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_receiver_learns_everything_from_the_sender(direction: str) -> None:
    with start("receive", bind="127.0.0.1", port=0) as receiver:
        receiver.expect("hello")
        port = receiver.expect("listening")["port"]
        sent = run(
            "send",
            address="127.0.0.1",
            port=port,
            streams=3,
            direction=direction,
            warmup="30ms",
            duration="120ms",
        )
        received = receiver.finish()
    assert_complete(sent, received)
    for end in (sent, received):
        assert_counters_agree(end, 3)
        ready = end.of("ready")[0]
        learnt = {key: ready[key] for key in ("streams", "direction", "warmup_ns", "duration_ns", "bytes")}
        assert learnt == {
            "streams": 3,
            "direction": direction,
            "warmup_ns": 30 * MS,
            "duration_ns": 120 * MS,
            "bytes": None,
        }


def test_receiver_learns_the_bytes_from_the_sender() -> None:
    with start("receive", bind="127.0.0.1", port=0) as receiver:
        receiver.expect("hello")
        port = receiver.expect("listening")["port"]
        sent = run("send", address="127.0.0.1", port=port, streams=2, bytes="1MB")
        received = receiver.finish()
    assert_complete(sent, received)
    assert received.of("ready")[0]["bytes"] == 1_000_000
    assert received.last["total_bytes"] == [500_000, 500_000]


def test_sender_takes_a_name() -> None:
    with start("receive", bind="127.0.0.1", port=0) as receiver:
        receiver.expect("hello")
        port = str(receiver.expect("listening")["port"])
        listed = subprocess.run(
            ["getent", "ahosts", "localhost"], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        require(listed.stdout.startswith("127.0.0.1 "), "'localhost' that is 127.0.0.1 first (getent ahosts)")
        command = [require_engine(), "send", "localhost", "--port", port, "--duration", "50ms"]
        with start_command(command) as sender:
            sent = sender.finish()
        received = receiver.finish()
    assert_complete(sent, received)
    assert sent.last["total_bytes"] == received.last["total_bytes"]


def test_unknown_name() -> None:
    ending = run("send", address="no-such-host.invalid", port=9)  # RFC 6761: never there
    assert ending.status == 2
    assert ending.stderr.count("\n") == 1
    assert "'no-such-host.invalid' is neither a numeric address nor a name that getent" in ending.stderr


# Help


def _declared_flags(subcommand: str) -> list[str]:
    """A subcommand's flags in the source's tables, without their unit."""
    text = FLAGS_SOURCE.read_text(encoding="utf-8")
    foreign = {"send": "accepting", "receive": "sending"}[subcommand]
    tables = re.findall(r"const struct pl_option (\w+)\[\] = \{\n(.*?)\n    \};", text, re.DOTALL)
    assert {"accepting", "sending", "common", "load"} <= {name for name, _ in tables}
    declared = [
        flag or shared
        for name, rows in tables
        if name != foreign
        for flag, shared in re.findall(r'pl_option_\w+\(\s*group,\s*"([a-z-]+)"|pl_(output)_option\(', rows)
    ]
    return [re.sub(r"(?<=.)-(ns|bytes|bits-per-s)$", "", flag) for flag in declared]


@pytest.mark.parametrize("subcommand", ["send", "receive"])
def test_help_names_every_flag(subcommand: str) -> None:
    done = subprocess.run(
        [*build_command(subcommand), "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    declared = _declared_flags(subcommand)
    assert len(declared) >= 30
    shown = re.findall(r"^  --([a-z-]+)[ \n]", done.stdout, re.MULTILINE)
    assert shown == [*declared, "help"]
    for line in done.stdout.splitlines():
        if line.startswith("  --"):
            assert re.match(r"  --\S+( [A-Z]+)? +[^ ]", line), f"a flag without a description: {line}"
    assert done.stdout.startswith(f"usage: pathlab-engine {subcommand} ")


@pytest.mark.parametrize("subcommand", ["send", "receive"])
def test_help_precedes_errors(subcommand: str) -> None:
    done = subprocess.run(
        [*build_command(subcommand), "--no-such-flag", "--help"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_receiver_of_datagrams_does_not_claim_to_have_all_messages() -> None:
    """It cannot know of those lost after the last one that came; a sender whose messages return can."""
    flags: dict[str, Flag] = {"transport": "udp", "message_bytes": 64, "messages_per_s": 1000}
    for reply, shown in (("no", None), ("yes", "complete and in order")):
        with (
            _show_receiver() as (receiver, port),
            _show("send", "127.0.0.1", port=port, duration="100ms", reply=reply, **flags) as sender,
        ):
            sent, by_sender, _ = sender.finish()
            received, by_receiver, _ = receiver.finish()
        assert (sent, received) == (0, 0)
        assert re.search(
            r"^messages of 64 bytes received: \d+/s, no gap, in order$", by_receiver, re.MULTILINE
        )
        assert shown is None or shown in by_sender
