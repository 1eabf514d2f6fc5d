"""The token from stdin: it admits, and is never passed on the command line."""

from pathlib import Path

import pytest

from tests.native.engine import (
    MS,
    TOKEN,
    Engine,
    Flag,
    assert_complete,
    assert_refused,
    go,
    receiving,
    sending,
    start,
)

pytestmark = pytest.mark.engine

OTHER_TOKEN = "ff" * 16


def _words(engine: Engine) -> bytes:
    """The data of a process that every user of the host can read: its command line and environment."""
    folder = Path(f"/proc/{engine.process.pid}")
    return (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()


def test_no_command_line_holds_the_token_of_a_whole_trial() -> None:
    with start("receive", bind="127.0.0.1", port=0, token="stdin", control="stdin", streams=2) as receiver:
        receiver.send_line(TOKEN)
        receiver.expect("hello")
        port = receiver.expect("listening")["port"]
        with sending(port, token="stdin", streams=2) as sender:
            sender.send_line(TOKEN)
            sender.expect("ready")
            receiver.expect("ready")
            for engine in (receiver, sender):
                words = _words(engine)
                assert b"--token\0stdin\0" in words
                assert TOKEN.encode() not in words
            received, sent = go(receiver, sender)
    assert_complete(sent, received)
    assert received.last["rejected"] == 0
    assert received.last["total_bytes"] == sent.last["total_bytes"] != [0, 0]


def test_a_command_may_follow_the_token_at_once() -> None:
    with receiving(streams=1) as (_, port), sending(port, token="stdin") as sender:
        sender.send_line(f"{TOKEN}\nstop")
        ended = sender.finish()
    assert ended.status == 5
    assert "stopped by the controller" in ended.stderr


def test_an_end_given_the_token_by_hand_meets_one_that_reads_it() -> None:
    """Both are the same token; another one from stdin is rejected as from the command line."""
    with receiving(streams=1) as (receiver, port):
        with sending(port, token="stdin") as other:
            other.send_line(OTHER_TOKEN)
            refused = other.finish()
        assert_refused(refused, 4, "handshake")
        assert OTHER_TOKEN not in refused.stderr
        with sending(port, token="stdin") as sender:
            sender.send_line(TOKEN.upper())
            sender.expect("ready")
            assert receiver.expect("ready")["rejected"] == 1
            assert_complete(*go(receiver, sender))


def test_probes_and_echo_take_it_too() -> None:
    with start("echo", bind="127.0.0.1", port=0, token="stdin", control="stdin") as echo:
        echo.send_line(TOKEN)
        port = echo.wait_for("listening")["port"]
        options: dict[str, Flag] = {"address": "127.0.0.1", "port": port, "count": 3, "interval_ns": MS}
        patient: dict[str, Flag] = {"timeout_ns": 60_000 * MS}
        for method in ("udp", "tcp"):
            with start("ping", method=method, token="stdin", control="stdin", **options, **patient) as ping:
                ping.send_line(TOKEN)
                assert TOKEN.encode() not in _words(ping) + _words(echo)
                assert ping.finish().last["received"] == 3
        with start("ping", method="udp", token="stdin", timeout_ns=20 * MS, **options) as ping:
            ping.send_line(OTHER_TOKEN)
            assert ping.finish().last["received"] == 0
        echo.send_line("stop")
        ended = echo.finish()
    assert (ended.last["echoed"], ended.last["refused"]) == (6, 3)


@pytest.mark.parametrize("subcommand", ["send", "receive", "ping", "echo"])
@pytest.mark.parametrize(
    ("said", "status"), [("go\n", 2), (f"{TOKEN}0\n", 2), ("x" * 5000, 2), (TOKEN, 5), ("", 5)]
)
def test_an_invalid_token_ends_the_engine_unquoted(subcommand: str, said: str, status: int) -> None:
    """Words and quoting: native/tests/base/test_token.c."""
    flags: dict[str, Flag] = {"address": "127.0.0.1"} if subcommand in ("send", "ping") else {}
    with start(subcommand, port=1 if flags else 0, token="stdin", **flags) as engine:
        stdin = engine.process.stdin
        stdin.write(said)
        engine.close_stdin()
        ended = engine.finish()
    assert_refused(ended, status, "token")
    assert "--token" in ended.stderr
    assert TOKEN not in ended.stderr
