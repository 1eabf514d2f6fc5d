"""The sockets that carry messages have the settings that their records state, and only their own figures."""

from __future__ import annotations

import socket

import pytest

from tests.native.borrowing import EXPEDITED, EXPEDITED_CLASS, borrow_stream
from tests.native.engine import MS, Flag, both_ready
from tests.native.messages import CARRIERS, assert_all_arrived, exchange

pytestmark = pytest.mark.engine

WINDOW_BYTES = 65536


def test_datagrams_have_the_window_the_marks_and_the_device_of_the_flow() -> None:
    flags: dict[str, Flag] = {"dscp": EXPEDITED, "window_bytes": WINDOW_BYTES, "device": "lo"}
    with both_ready({}, {"transport": "udp", "message_bytes": 64}, **flags) as ends:
        for engine in ends:
            (stated,) = engine.latest["sockets"]
            assert stated["traffic_class"] == EXPEDITED_CLASS
            assert stated["sndbuf_bytes"] == stated["rcvbuf_bytes"] == 2 * WINDOW_BYTES
            assert (stated["mss_bytes"], stated["congestion"]) == (None, None)
            with borrow_stream(engine, stated) as data:
                assert data.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM
                assert data.getsockopt(socket.IPPROTO_IP, socket.IP_TOS) == EXPEDITED_CLASS
                for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                    assert data.getsockopt(socket.SOL_SOCKET, buffer) == 2 * WINDOW_BYTES
                device = data.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
                assert device.rstrip(b"\0") == b"lo"


@pytest.mark.parametrize("transport", CARRIERS)
def test_the_figures_of_tcp_are_those_of_what_carries_the_messages(transport: str) -> None:
    accepted, sent = exchange(transport, messages_per_s=1000, interval_ns=20 * MS)
    assert_all_arrived(accepted, sent)
    by_tcp = transport == "tcp"
    for end in (accepted, sent):
        (ready,) = end.of("ready")
        assert (ready["congestion"] is not None) == by_tcp
        assert [line["mss_bytes"] is not None for line in ready["sockets"]] == [by_tcp]
        for record in (*end.of("interval"), end.last):
            known = {name for name, (value,) in record["tcp_info"].items() if value is not None}
            assert ("bytes_sent" in known) == by_tcp
            assert by_tcp or not known
