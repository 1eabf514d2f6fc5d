"""The payload rate of a link, by the headers of RFC 791, 8200, 9293 and 7323."""

from pathlab.analysis.estimators.payload import find_ip_version, full_datagram, payload_rate


def test_the_ip_version_is_the_addresss() -> None:
    given = ["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "::ffff:192.0.2.1", None]
    assert [find_ip_version(address) for address in given] == [4, 6, 6, 4, 4]


def test_a_datagram_has_the_headers_of_udp_and_ip() -> None:
    assert payload_rate(1500e6, full_datagram(1500, datagram_bytes=1472)) == 1472e6
    small = full_datagram(1500, datagram_bytes=64, ip_version=6)
    assert (small.payload_bytes, small.packet_bytes) == (64, 112)
    assert full_datagram(1500, datagram_bytes=9000).packet_bytes == 1500
