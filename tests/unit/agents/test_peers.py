"""Other programs on a host: what a request may say, and how a server gets its port."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
from typing import Any

import pytest

from pathlab.agents import peers
from pathlab.agents.peers import Peer

LISTEN = {"argument": "-p", "address": "127.0.0.1", "ports": "0"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"program": "iperf3"},
        {"program": "iperf3", "arguments": "-s"},
        {"program": "iperf3", "arguments": ["a\0b"]},
        {"program": "iperf3", "arguments": ["\ud800"]},
        {"program": "iperf3", "arguments": ["x" * 20_000]},
        {"program": "iperf3", "arguments": ["x"] * 65},
        {"program": "iperf3", "arguments": [7]},
        {"program": "../iperf3", "arguments": []},
        {"program": "/bin/sh", "arguments": []},
        {"program": "-c", "arguments": []},
        {"program": "", "arguments": []},
        {"program": "iperf3", "arguments": [], "shell": True},
    ],
)
def test_a_program_is_a_name_on_the_path_and_its_arguments_are_texts(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"'program' must|'arguments'|unknown option 'shell'"):
        Peer(options)


@pytest.mark.parametrize(
    "change",
    [
        {"ports": "70000"},
        {"ports": "1-70000"},
        {"ports": "x"},
        {"ports": 5201},
        {"address": "example.org"},
        {"argument": None},
        {"more": "x"},
    ],
)
def test_what_a_server_listens_on_is_checked(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'listen'"):
        Peer({"program": "iperf3", "arguments": ["-s"], "listen": LISTEN | change})


def listening(ports: str) -> Peer:
    return Peer({"program": "iperf3", "arguments": ["-s"], "listen": LISTEN | {"ports": ports}})


def test_a_server_gets_the_first_free_port_of_its_range() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        peer = listening(f"{port}-{min(port + 20, 65535)}")
        chosen = peer.choose_port()
        assert chosen > port
        assert peer.command == ["iperf3", "-s", "-p", str(chosen)]
        with pytest.raises(OSError, match="in use") as caught:
            listening(str(port)).choose_port()
        assert caught.value.errno == errno.EADDRINUSE
    assert listening("0").choose_port() > 0


def test_a_child_that_holds_the_output_open_delays_no_answer() -> None:
    command = ["sh", "-c", "sleep 30 & echo $!; exec sleep 30"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            assert peers._read_last_output(process) == "a child of it holds its output open"
        finally:
            os.kill(child, signal.SIGKILL)
