"""Other programs on a host: how a server gets its port. Refused: tests/golden/agents/test_refusals.py."""

import os
import signal
import socket
import subprocess
from typing import Any

from pathlab.agents import peers
from pathlab.agents.peers import Peer

LISTEN: dict[str, Any] = {"argument": "-p", "address": "127.0.0.1", "ports": "0"}


def test_a_server_gets_the_first_free_port_of_its_range() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = f"{port}-{min(port + 20, 65535)}"
        peer = Peer({"program": "iperf3", "arguments": ["-s"], "listen": LISTEN | {"ports": ports}})
        chosen = peer.choose_port()
    assert chosen > port
    assert peer.command == ["iperf3", "-s", "-p", str(chosen)]


def test_a_child_that_holds_the_output_open_delays_no_answer() -> None:
    command = ["sh", "-c", "sleep 30 & echo $!; exec sleep 30"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        try:
            assert peers._read_last_output(process) == "a child of it holds its output open"
        finally:
            os.kill(child, signal.SIGKILL)
