"""`echo` by UDP: answers, their size, and refused datagrams."""

import os
import socket
import struct

import pytest

from tests.native.engine import MS, TOKEN, run
from tests.native.pinging import (
    LOOPBACKS,
    check_all_answered,
    check_probe_counts,
    echoing,
    end_echo,
    require_address,
    require_raw_sockets,
    udp_flags,
)
from tests.native.probes import HEAD_BYTES, Head, build_probe, parse_probe, reply_to
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("address", LOOPBACKS)
def test_udp_to_the_echo(address: str) -> None:
    require_address(address)
    with echoing(address) as (echo, port):
        ending = run("ping", **udp_flags(port, address=address, count=20, payload_bytes=1000))
        assert end_echo(echo) == (20, 0)
    check_all_answered(ending, 20)
    assert ending.of("start")[0]["method"] == "udp"


def test_an_echo_returns_exactly_the_received_bytes() -> None:
    token = bytes.fromhex(TOKEN)
    sizes = (HEAD_BYTES, HEAD_BYTES + 1, 1000, 40_000)
    admitted = [build_probe(Head(sequence=n), size=n, padding=os.urandom(n - HEAD_BYTES)) for n in sizes]
    strange = [b"", token, token + bytes(100), bytes(100), b"x" + admitted[0], admitted[0][:-1]]
    strange += [admitted[1] + b"x", build_probe(token=TOKEN[:-1] + "0"), reply_to(admitted[2])]
    with echoing() as (echo, port), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.connect(("127.0.0.1", port))
        peer.settimeout(PATIENCE_S)
        for datagram in [*strange, *admitted]:
            peer.send(datagram)
        # Loopback keeps the order, so an answer to a refused datagram would arrive first.
        answers = [peer.recv(65536) for _ in admitted]
        for datagram, answer in zip(admitted, answers, strict=True):
            held_ns = parse_probe(answer).held_ns
            assert 0 < held_ns < 60 * 1000 * MS
            assert answer == reply_to(datagram, held_ns=held_ns)
        assert end_echo(echo) == (len(admitted), len(strange))
        peer.setblocking(False)
        with pytest.raises(BlockingIOError):
            peer.recv(65536)


def test_a_replayed_request_is_answered_to_its_size_and_a_replayed_reply_never() -> None:
    request = build_probe(size=200)
    with echoing() as (echo, port), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.connect(("127.0.0.1", port))
        peer.settimeout(PATIENCE_S)
        answers = []
        for _ in range(3):
            peer.send(request)
            answers.append(peer.recv(65536))
            peer.send(answers[-1])
        assert end_echo(echo) == (3, 3)
    assert [len(answer) for answer in answers] == [200] * 3


def send_forged(request: bytes, source_port: int, destination_port: int) -> None:
    """A datagram over loopback with the source of another socket."""
    udp = struct.pack(">HHHH", source_port, destination_port, 8 + len(request), 0) + request
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, *[bytes([127, 0, 0, 1])] * 2)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as forger:
        forger.sendto(ip + udp, ("127.0.0.1", 0))


@pytest.mark.parametrize("token", [TOKEN, ""])
def test_two_echoes_do_not_answer_each_other(token: str) -> None:
    """One forged datagram must not start an endless exchange of replies between two echoes."""
    require_raw_sockets()
    with echoing(token=token) as (first, to_first), echoing(token=token) as (second, to_second):
        send_forged(build_probe(token=token or "0" * 32), to_second, to_first)
        for port in (to_first, to_second):
            check_all_answered(run("ping", **udp_flags(port, token=token, count=3)), 3)
        assert (end_echo(first), end_echo(second)) == ((4, 0), (3, 1))


def test_a_wrong_token_gets_no_answer_and_is_counted() -> None:
    with echoing() as (echo, port):
        ending = run("ping", **udp_flags(port, token=TOKEN[:-1] + "0", count=5, timeout_ns=50 * MS))
        assert end_echo(echo) == (0, 5)
    assert ending.status == 0
    check_probe_counts(ending, 5)
    assert ending.last["received"] == 0
