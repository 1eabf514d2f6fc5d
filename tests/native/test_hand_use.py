"""The engine by hand: text at a terminal, few flags, names for addresses, and its help."""

import contextlib
import json
import os
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.native.engine import (
    TOKEN,
    Flag,
    assert_complete,
    build_command,
    receiving,
    run,
    start,
    start_command,
)
from tests.native.messages import OPEN
from tests.patience import PATIENCE_S
from tests.require import require, require_engine

pytestmark = pytest.mark.engine

FLAGS_SOURCE = Path(__file__).resolve().parents[2] / "native" / "src" / "flow" / "flow_flags.c"


def show(subcommand: str, *words: str, **flags: Flag) -> tuple[int, str, str]:
    """The engine at a terminal, to its end: its exit status, its screen and its stderr."""
    binary, name, *rest = build_command(subcommand, **flags)
    command = [binary, name, *words, *rest]
    screen, tty = os.openpty()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=tty, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(tty)
        pieces, end_s = [b"-"], time.monotonic() + PATIENCE_S
        with contextlib.suppress(OSError):  # EIO: its last owner has closed it
            while pieces[-1] and select.select([screen], [], [], max(end_s - time.monotonic(), 0.0))[0]:
                pieces.append(os.read(screen, 65536))
        if time.monotonic() > end_s:
            process.kill()
        os.close(screen)
        errors = process.communicate(timeout=PATIENCE_S)[1]
    return process.returncode, b"".join(pieces[1:]).decode().replace("\r\n", "\n"), errors


def pipe(subcommand: str, *words: str, **flags: Flag) -> tuple[str, str]:
    """The engine whose output goes into a pipe, with stderr at a terminal: both, to its end."""
    binary, name, *rest = build_command(subcommand, **flags)
    screen, tty = os.openpty()
    done = subprocess.run(
        [binary, name, *words, *rest],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=tty,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    os.set_blocking(screen, False)
    errors = b""
    with contextlib.suppress(BlockingIOError):
        errors = os.read(screen, 65536)
    os.close(tty)
    os.close(screen)
    return done.stdout, errors.decode()


@pytest.mark.parametrize(("output", "is_json", "is_told"), [(None, 1, 1), ("json", 1, 0), ("human", 0, 0)])
def test_who_pipes_the_output_is_told_how_to_have_text(
    output: str | None, is_json: int, is_told: int
) -> None:
    flags: dict[str, Flag] = {"output": output} if output else {}
    for subcommand, words in (
        ("ping", ("127.0.0.1", "--count", "1")),
        ("load", ("--cpu", "1", "--time-limit", "20ms")),
    ):
        printed, errors = pipe(subcommand, *words, **flags)
        assert printed.startswith("{") == bool(is_json), subcommand
        assert errors.count("--output human") == is_told


@pytest.mark.parametrize("subcommand", ["send", "receive", "ping"])
def test_the_form_of_the_output_stands_first_in_the_help(subcommand: str) -> None:
    help_text = _show_help(subcommand).partition("\n\n")[2]
    assert re.findall(r"--[a-z-]+", help_text)[0] == "--output"


# At a terminal; the words: tests/golden/native/text.txt


@pytest.mark.parametrize("direction", ["forward", "both"])
def test_a_sender_writes_text_at_a_terminal(direction: str) -> None:
    """Two words and an interval with a unit."""
    flags: dict[str, Flag] = {"duration": "150ms", "interval": "50ms", "direction": direction}
    with receiving(**OPEN) as (_, port):
        status, text, errors = show("send", "127.0.0.1", port=port, token=TOKEN, **flags)
    assert (status, errors) == (0, "")
    assert "{" not in text
    rows = re.findall(r"^ *\d+\.\d\d- *\d+\.\d\d s  steady .*$", text, re.MULTILINE)
    assert len(rows) >= 2, text
    assert rows[-1].endswith("  in all")
    assert all(row.count("bit/s") == (1 if direction == "forward" else 2) for row in rows), rows


@pytest.mark.parametrize("output", [None, "json"])
def test_a_receiver_at_a_terminal(output: str | None) -> None:
    flags: dict[str, Flag] = {"output": output} if output else {}
    status, text, errors = show("receive", bind="127.0.0.1", port=0, accept_timeout="20ms", **flags)
    assert (status, errors.count("\n")) == (5, 1)
    if output:
        assert [json.loads(line)["type"] for line in text.splitlines()] == ["hello", "listening", "error"]
    else:
        assert text.startswith("listening on 127.0.0.1 port ")


def test_json_on_request_at_a_terminal() -> None:
    with receiving(**OPEN) as (_, port):
        status, text, errors = show("send", "127.0.0.1", port=port, token=TOKEN, bytes=1000, output="json")
    assert (status, errors) == (0, "")
    assert [json.loads(line)["type"] for line in text.splitlines()][-1] == "result"


@pytest.mark.parametrize(("flag", "value", "expected"), [("congestion", "no-such", 3), ("speed", 1, 2)])
def test_errors_at_a_terminal_are_one_line_on_stderr(flag: str, value: Flag, expected: int) -> None:
    status, text, errors = show("send", "127.0.0.1", **{"port": 9, flag: value})
    assert (status, text) == (expected, "")
    assert re.fullmatch(rf"pathlab-engine send: .*--{flag}.*\n", errors)


# Few flags


def test_two_flows_one_after_the_other() -> None:
    with start("receive", bind="127.0.0.1", port=0, flows=2, output="json") as receiver:
        receiver.expect("hello")
        port = receiver.expect("listening")["port"]
        sent = []
        for streams in (1, 3):
            sent.append(run("send", address="127.0.0.1", port=port, streams=streams, duration="40ms"))
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
        command = [require_engine(), "send", "localhost", "--port", port, "--bytes", "1000"]
        with start_command(command) as sender:
            sent = sender.finish()
        received = receiver.finish()
    assert_complete(sent, received)
    assert sent.last["total_bytes"] == received.last["total_bytes"]


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


def _show_help(*words: str) -> str:
    command = [require_engine(), *words, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("subcommand", ["send", "receive"])
def test_help_names_every_flag(subcommand: str) -> None:
    text = _show_help(subcommand)
    declared = _declared_flags(subcommand)
    assert len(declared) >= 30
    shown = re.findall(r"^  --([a-z-]+)[ \n]", text, re.MULTILINE)
    assert shown == [*declared, "help"]
    for line in text.splitlines():
        if line.startswith("  --"):
            assert re.match(r"  --\S+( [A-Z]+)? +[^ ]", line), f"a flag without a description: {line}"
    assert text.startswith(f"usage: pathlab-engine {subcommand} ")
    assert _show_help(subcommand, "--no-such-flag") == text  # help precedes errors
