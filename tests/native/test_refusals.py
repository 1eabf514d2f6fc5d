"""Runs refused before any data: wrong usage, and missing resources."""

from __future__ import annotations

import socket
import subprocess

import pytest

from pathlab._version import VERSION
from tests.native.engine import TOKEN, Flag, assert_refused, build_command, run
from tests.native.peers import listening
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

USAGE, SETUP = 2, 3


@pytest.mark.parametrize("subcommand", ["send", "receive"])
def test_first_line_is_the_hello(subcommand: str) -> None:
    flags: dict[str, Flag] = {"address": "127.0.0.1", "port": 1} if subcommand == "send" else {}
    ending = run(subcommand, token=TOKEN, congestion="no-such", **flags)
    hello = ending.records[0]
    pid = hello.pop("pid")
    assert pid > 0
    assert hello == {
        "type": "hello",
        "program": "pathlab-engine",
        "version": VERSION,
        "protocol": 4,
        "record": 1,
        "control": 2,
        "subcommand": subcommand,
    }


@pytest.mark.parametrize(
    ("subcommand", "flags", "named"),
    [
        ("receive", {"token": TOKEN, "speed": 1}, "unknown flag '--speed'"),
        ("receive", {"token": TOKEN, "streams": -1}, "--streams: '-1' is not an integer from 0 to 4096"),
        ("receive", {"token": TOKEN, "streams": 4097}, "--streams: '4097'"),
        ("receive", {"token": TOKEN, "interval-ns": 1000}, "--interval-ns: '1000'"),
        ("receive", {"token": TOKEN, "duration-ns": "10x"}, "--duration-ns: '10x'"),
        ("receive", {"token": TOKEN, "bind": "no name"}, "--bind: 'no name'"),
        ("receive", {"token": TOKEN, "control": "fifo"}, "--control must be stdin, not 'fifo'"),
        ("receive", {"token": "secret"}, "--token must be 32 hexadecimal digits"),
        ("send", {"token": TOKEN}, "--address is missing"),
        ("send", {"token": TOKEN, "port": 9, "address": "no/name"}, "--address: 'no/name'"),
        ("send", {"token": TOKEN, "port": 9, "address": "::1", "window-bytes": -1}, "--window-bytes: '-1'"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_flag(
    subcommand: str, flags: dict[str, Flag], named: str
) -> None:
    ending = run(subcommand, **flags)
    assert_refused(ending, USAGE, "options")
    assert named in ending.stderr
    assert "secret" not in ending.stderr


def test_flag_without_a_value() -> None:
    done = subprocess.run(
        [*build_command("receive"), "--token"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == USAGE
    assert done.stderr == "pathlab-engine receive: --token needs a value\n"


def test_port_already_taken() -> None:
    with listening() as (_, port):
        ending = run("receive", bind="127.0.0.1", port=port, token=TOKEN)
    assert_refused(ending, SETUP, "bind", errno_name="EADDRINUSE")
    assert f"port {port} of 127.0.0.1 is already taken" in ending.stderr


def test_address_of_another_host() -> None:
    ending = run("receive", bind="192.0.2.1", port=0, token=TOKEN)  # TEST-NET-1, RFC 5737
    assert_refused(ending, SETUP, "bind", errno_name="EADDRNOTAVAIL")


def test_connection_refused() -> None:
    with socket.socket() as owner:  # bound, so that no other process listens there
        owner.bind(("127.0.0.1", 0))
        port = owner.getsockname()[1]
        ending = run("send", address="127.0.0.1", port=port, token=TOKEN, streams=3)
    assert_refused(ending, SETUP, "connect", errno_name="ECONNREFUSED")
    assert f"127.0.0.1 port {port}" in ending.stderr


def test_unknown_congestion_control() -> None:
    with listening() as (_, port):
        for ending in (
            run("receive", bind="127.0.0.1", port=0, token=TOKEN, congestion="no-such"),
            run("send", address="127.0.0.1", port=port, token=TOKEN, congestion="no-such"),
        ):
            assert_refused(ending, SETUP, "congestion")
            assert "no-such" in ending.stderr
            assert "cubic" in ending.stderr or "reno" in ending.stderr, "the known ones are named"
