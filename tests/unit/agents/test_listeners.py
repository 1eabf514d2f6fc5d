"""Whose socket listens: address, port and owner have to be right."""

import contextlib
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pathlab.agents.listeners import (
    await_listener,
    build_socket_address,
    find_free_port,
    find_listeners,
    list_descendants,
)

LISTEN = """
import socket, sys
made = socket.socket(int(sys.argv[1]), int(sys.argv[2]))
made.bind((sys.argv[3], int(sys.argv[4])))
if made.type == socket.SOCK_STREAM: made.listen()
print(made.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def listening(address: str, *, udp: bool = False, family: int = socket.AF_INET) -> Iterator[tuple[int, int]]:
    """The pid and port of another process that listens."""
    kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
    words = [sys.executable, "-c", LISTEN, str(int(family)), str(int(kind)), address, "0"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process.pid, int(process.stdout.readline())


def find(address: str, port: int | None, root: int, protocol: str = "tcp") -> int | None:
    return await_listener(protocol, address, port, root=root, timeout_s=0, wait=lambda _seconds: True)


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_socket_is_that_of_the_process_and_of_its_parent(protocol: str) -> None:
    with listening("127.0.0.1", udp=protocol == "udp") as (pid, port):
        assert find("127.0.0.1", port, pid, protocol) == port
        assert find("127.0.0.1", None, pid, protocol) == port
        assert find("127.0.0.1", port, os.getpid(), protocol) == port
        assert pid in list_descendants(os.getpid())


def test_another_programs_listener_on_the_right_port_does_not_count() -> None:
    with listening("127.0.0.1") as (_pid, port), listening("127.0.0.1") as (other, _port):
        assert find("127.0.0.1", port, other) is None


def test_a_link_local_address_keeps_its_zone_as_socket_takes_it() -> None:
    name = socket.if_nameindex()[0][1]
    index = socket.if_nametoindex(name)
    assert build_socket_address(f"fe80::1%{name}", 7)[1:] == (7, 0, index)
    assert build_socket_address("127.0.0.1", 7) == ("127.0.0.1", 7)


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.2"])
def test_a_listener_on_another_address_does_not_count(address: str) -> None:
    with listening(address) as (pid, port):
        assert find("127.0.0.1", port, pid) is None
        assert find_listeners("tcp", pid) == {(address, port)}


def test_addresses_of_ipv6_and_mapped_ones_are_understood() -> None:
    if not socket.has_ipv6:
        pytest.skip("a kernel without IPv6")
    with listening("::1", family=socket.AF_INET6) as (pid, port):
        assert find("::1", port, pid) == port
        assert find("0:0::1%lo", port, pid) == port
    with listening("::ffff:127.0.0.1", family=socket.AF_INET6) as (pid, port):
        assert find("127.0.0.1", port, pid) == port


def test_waiting_ends_with_the_time_and_with_the_program() -> None:
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return False

    assert await_listener("tcp", "127.0.0.1", 1, root=os.getpid(), timeout_s=60, wait=wait) is None
    assert len(waits) == 1


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_the_first_free_port_is_taken_and_a_full_range_is_refused(protocol: str) -> None:
    with listening("127.0.0.1", udp=protocol == "udp") as (_pid, port):
        assert find_free_port("127.0.0.1", range(port, port + 20), protocol) > port
        with pytest.raises(OSError, match="in use") as caught:
            find_free_port("127.0.0.1", range(port, port + 1), protocol)
        assert caught.value.errno == errno.EADDRINUSE
    assert find_free_port("127.0.0.1", range(1), protocol) > 0
