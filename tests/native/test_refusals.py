"""Runs refused before any data: missing resources. Words on flags: tests/golden/native/refusals.txt."""

import socket
import subprocess

import pytest

from tests.native.engine import TOKEN, Flag, assert_refused, build_command, run
from tests.native.pinging import echoing
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

USAGE, SETUP = 2, 3


@pytest.mark.parametrize("subcommand", ["send", "receive"])
def test_first_line_is_the_hello_and_an_unknown_congestion_control_is_named(subcommand: str) -> None:
    flags: dict[str, Flag] = {"address": "127.0.0.1", "port": 1}
    if subcommand == "receive":
        flags = {"bind": "127.0.0.1", "port": 0}
    ending = run(subcommand, token=TOKEN, congestion="no-such", **flags)
    assert_refused(ending, SETUP, "congestion")
    assert "no-such" in ending.stderr
    assert "cubic" in ending.stderr or "reno" in ending.stderr, "the known ones are named"
    hello = ending.records[0]  # its versions: tests/contract/test_engine_protocol.py
    stated = (hello["type"], hello["program"], hello["subcommand"])
    assert stated == ("hello", "pathlab-engine", subcommand)
    assert hello["pid"] > 0


def test_flag_without_a_value() -> None:
    command = [*build_command("receive"), "--token"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == USAGE
    assert "--token needs a value" in done.stderr


@pytest.mark.parametrize("subcommand", ["receive", "echo"])
def test_port_already_taken(subcommand: str) -> None:
    with echoing() as (_, port):  # both by TCP and by UDP
        ending = run(subcommand, bind="127.0.0.1", port=port, token=TOKEN)
    assert_refused(ending, SETUP, "bind", errno_name="EADDRINUSE")
    assert f"port {port} of 127.0.0.1" in ending.stderr


@pytest.mark.parametrize("subcommand", ["receive", "ping"])
def test_address_of_another_host(subcommand: str) -> None:
    flags: dict[str, Flag] = {"bind": "192.0.2.1", "token": TOKEN}  # TEST-NET-1, RFC 5737
    flags |= {"port": 0} if subcommand == "receive" else {"address": "127.0.0.1", "method": "udp", "port": 9}
    assert_refused(run(subcommand, **flags), SETUP, "bind", errno_name="EADDRNOTAVAIL")


def test_connection_refused() -> None:
    with socket.socket() as owner:  # bound, so that no other process listens there
        owner.bind(("127.0.0.1", 0))
        port = owner.getsockname()[1]
        ending = run("send", address="127.0.0.1", port=port, token=TOKEN, streams=3)
    assert_refused(ending, SETUP, "connect", errno_name="ECONNREFUSED")
    assert f"127.0.0.1 port {port}" in ending.stderr
