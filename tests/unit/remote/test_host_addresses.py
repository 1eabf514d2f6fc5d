"""Between which addresses traffic goes, and what is said where it cannot."""

import socket
from typing import Any, cast

import pytest

from pathlab.errors import HostError, PathlabError
from pathlab.remote.hosts import choose_addresses, find_own_addresses, own_boot_id, pair_addresses
from pathlab.remote.jobs import EngineJob
from pathlab.remote.record_checker import RecordChecker
from pathlab.remote.session import Session


def test_the_first_addresses_of_one_family_are_used() -> None:
    sources, destinations = ("2001:db8::1", "192.0.2.1"), ("192.0.2.2", "2001:db8::2")
    assert choose_addresses(sources, destinations) == ("192.0.2.1", "192.0.2.2")
    assert choose_addresses(("fe80::1%eth0",), ("192.0.2.2", "fe80::2%eth1")) == (
        "fe80::1%eth0",
        "fe80::2%eth1",
    )
    assert choose_addresses(("2001:db8::1",), ("192.0.2.2",)) is None


def test_this_machine_takes_the_address_that_faces_the_other_end() -> None:
    assert find_own_addresses(("127.0.0.9",)) == ("127.0.0.1",)
    assert pair_addresses("local", "b", ((), ("127.0.0.9",))) == ("127.0.0.1", "127.0.0.9")
    assert pair_addresses("a", "local", (("127.0.0.9",), ())) == ("127.0.0.9", "127.0.0.1")
    assert pair_addresses("local", "local", ((), ())) == ("127.0.0.1", "127.0.0.1")
    with pytest.raises(HostError, match="this machine has no route to fe80::2%nosuch0"):
        pair_addresses("local", "b", ((), ("fe80::2%nosuch0",)))


def test_a_link_local_address_of_this_machine_has_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    number, name = socket.if_nameindex()[0]

    class LinkLocal(socket.socket):
        def connect(self, _place: object) -> None: ...
        def getsockname(self) -> tuple[str, int, int, int]:
            return "fe80::1", 7, 0, number

    monkeypatch.setattr("socket.socket", LinkLocal)
    assert find_own_addresses(("::1",)) == (f"fe80::1%{name}",)


def test_ends_without_a_common_family_are_refused_by_name() -> None:
    with pytest.raises(HostError, match="a and b have no addresses of the same family") as caught:
        pair_addresses("a", "b", (("2001:db8::1",), ("192.0.2.2",)))
    assert "measure_addresses" in str(caught.value.hint)


def test_the_boot_is_the_kernels() -> None:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123
        assert own_boot_id() == file.read().strip()


class Nobody:
    """A session that gets no request."""

    host = "a"

    def request(self, operation: str, **fields: Any) -> dict[str, Any]:
        raise AssertionError((operation, fields))

    def death(self) -> PathlabError | None:
        return None

    def in_callback(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("stage", "errno_name", "hinted"),
    [("connect", "ETIMEDOUT", True), ("connect", "EADDRNOTAVAIL", False), ("output", "EACCES", False)],
)
def test_a_port_that_seems_shut_comes_with_what_to_do(stage: str, errno_name: str, hinted: bool) -> None:
    session = cast("Session", Nobody())
    started = {"pid": 1, "limits": {}}
    job = EngineJob(
        session, 1, subcommand="send", answer=started, on_record=None, checker=RecordChecker("send")
    )
    job.add_record({"type": "error", "stage": stage, "errno_name": errno_name, "text": "cannot connect"})
    with pytest.raises(HostError) as caught:
        job.wait_for("ready", 1.0)
    assert ("pathlab hosts check" in str(caught.value.hint)) == hinted
