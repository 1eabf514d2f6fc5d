"""The payload rate of a link, by the headers of RFC 791, 8200, 9293 and 7323."""

from typing import Any

import pytest

from pathlab.analysis.estimators.payload import find_ip_version, full_datagram, full_segment, payload_rate


@pytest.mark.parametrize(
    ("known", "payload", "counted"),
    [
        ({}, 1448, 1500),
        ({"ip_version": 6}, 1428, 1500),
        ({"mss_bytes": 1448}, 1448, 1500),
        ({"mss_bytes": 1460}, 1460, 1500),  # it fills the packet, so that there is no room for time stamps
        ({"mss_bytes": 1428, "ip_version": 6}, 1428, 1500),
        ({"mss_bytes": 1440, "ip_version": 6}, 1440, 1500),
        ({"mss_bytes": 948}, 948, 1000),
        ({"mss_bytes": 65_483}, 1460, 1500),  # of another link: no packet is larger than this one's MTU
        ({"mss_bytes": 1448, "mptcp": True}, 1420, 1500),  # 28.39 of 28.40 Mbit/s measured at 30
        ({"mss_bytes": 1428, "mptcp": True, "ip_version": 6}, 1400, 1500),  # 27.98 of 28.00
        ({"mptcp": True}, 1420, 1500),
    ],
)
def test_a_link_carries_the_data_of_its_packets(known: dict[str, Any], payload: int, counted: int) -> None:
    found = full_segment(1500, **known)
    assert (found.payload_bytes, found.packet_bytes + found.link_bytes) == (payload, counted)
    assert payload_rate(30e6, found) == pytest.approx(30e6 * payload / counted)


def test_the_ip_version_is_the_addresss() -> None:
    given = ["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "::ffff:192.0.2.1", None]
    assert [find_ip_version(address) for address in given] == [4, 6, 6, 4, 4]


def test_a_datagram_has_the_headers_of_udp_and_ip() -> None:
    assert payload_rate(1500e6, full_datagram(1500, datagram_bytes=1472)) == 1472e6
    small = full_datagram(1500, datagram_bytes=64, ip_version=6)
    assert (small.payload_bytes, small.packet_bytes) == (64, 112)
    assert full_datagram(1500, datagram_bytes=9000).packet_bytes == 1500
