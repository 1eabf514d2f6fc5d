"""Where a server listens, and the names under which it may be addressed."""

import errno
import os
import socket

import pytest

from pathlab.errors import UsageError
from pathlab.serve.guard import ServerAddress
from pathlab.serve.server import bind_listener
from tests.require import require


@pytest.mark.parametrize(
    ("address", "url", "names"),
    [
        ("127.0.0.1", "http://127.0.0.1:{port}/", {"127.0.0.1", "localhost"}),
        ("localhost", "http://127.0.0.1:{port}/", {"127.0.0.1", "localhost"}),
        ("127.0.0.2", "http://127.0.0.2:{port}/", {"127.0.0.2", "localhost"}),
        ("0.0.0.0", "http://{host}:{port}/", {"localhost", socket.gethostname().lower()}),
    ],
)
def test_a_listener_is_named_by_its_address(address: str, url: str, names: set[str]) -> None:
    listener = bind_listener(address)
    listener.close()
    port = listener.address.port
    assert listener.url == url.format(port=port, host=socket.gethostname().lower())
    assert listener.address.names == names
    assert listener.is_private == (address != "0.0.0.0")
    assert listener.format_access_url("x") == f"{listener.url}?token=x"


def test_an_ipv6_address_stands_in_brackets() -> None:
    try:
        listener = bind_listener("::1")
    except UsageError:
        require(False, "IPv6 on loopback")
    listener.close()
    assert listener.url == f"http://[::1]:{listener.address.port}/"
    assert listener.address.is_addressed_by(f"[::1]:{listener.address.port}", "::1")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.EACCES, "port 80 of 127.0.0.1 cannot be used: permission denied"),
        (errno.EADDRINUSE, "port 80 of 127.0.0.1 is in use"),
        (errno.EADDRNOTAVAIL, "--bind: this machine does not have the address 127.0.0.1"),
        (errno.ENOBUFS, "cannot listen on port 80 of 127.0.0.1: no buffer space available"),
    ],
)
def test_a_port_that_cannot_be_taken_is_named(
    number: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class RefusingSocket(socket.socket):
        def bind(self, _place: object) -> None:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr("socket.socket", RefusingSocket)
    with pytest.raises(UsageError) as raised:
        bind_listener("127.0.0.1", 80)
    assert str(raised.value) == text
    assert raised.value.hint
    with pytest.raises(UsageError, match="add the interface, such as fe80::1%eth0"):
        bind_listener("fe80::1")


def test_the_port_belongs_to_the_name_unless_it_is_that_of_http() -> None:
    other = ServerAddress(names=frozenset({"localhost"}), port=8123)
    assert other.is_addressed_by("LocalHost:8123", "192.0.2.1")
    assert other.is_addressed_by("192.0.2.1:8123", "192.0.2.1")  # the address that was connected to
    elsewhere = ("localhost", "localhost:80", "localhost:81230", "a.localhost:8123", "192.0.2.2:8123")
    for host in (*elsewhere, "", ":8123"):
        assert not other.is_addressed_by(host, "192.0.2.1")
    usual = ServerAddress(names=frozenset({"localhost"}), port=80)
    assert usual.is_addressed_by("localhost", "192.0.2.1")
    assert usual.is_addressed_by("localhost:80", "192.0.2.1")
    assert usual.cookie != other.cookie
