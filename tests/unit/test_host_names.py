"""What no name of a host can look like is refused without a look-up."""

import pytest

from pathlab.errors import UsageError
from pathlab.host_names import find_name_fault, parse_destination


@pytest.mark.parametrize(
    "name",
    [
        *("host", "host.example.org", "host.example.org.", "192.0.2.1", "2001:db8::1", "fe80::1%eth0"),
        *("a_b", "xn--bcher-kva.example", "bücher.example", "a" * 63, ".".join(["a" * 49] * 5)),
    ],
)
def test_names_and_addresses_pass(name: str) -> None:
    assert find_name_fault(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "it is empty"),
        ("a..b", "an empty label"),
        (".a", "an empty label"),
        ("a b", "a space"),
        ("a/b", "'/' cannot"),
        ("a@b", "'@' cannot"),
        ("a\x00b", "cannot be part"),
        ("a" * 64, "64 characters; 63 at most"),
        (".".join(["a" * 63] * 4), "255 characters; 253 at most"),
        ("ü" * 70, "cannot be encoded"),
        ("-a", "does not start"),
        ("1:2", "not an IPv6 address"),
        ("fe80::1", "link-local address: add the interface, such as fe80::1%eth0"),
        ("[::1]", "no brackets here"),
        ("192.0.2.256", "not an IPv4 address"),
    ],
)
def test_what_no_name_can_be_is_named(name: str, fault: str) -> None:
    assert fault in str(find_name_fault(name))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        *(("user@", ""), ("@host", ""), ("host:", ""), ("host:ssh", ""), ("[fe80::1", "")),
        *(
            ("fe80::1", "add the interface"),
            ("me@[fe80::1]:22", "add the interface"),
            ("::1:ssh", "not an IPv6"),
        ),
        *(("host:0", "port 0"), ("host:65536", "port 65536"), (f"host:{'9' * 5000}", "")),
        *(("me@a..b:22", "an empty label"), ("[1:2]:22", "not an IPv6 address")),
    ],
)
def test_what_is_no_destination_is_refused(text: str, fault: str) -> None:
    with pytest.raises(UsageError, match="is not a host") as caught:
        parse_destination(text)
    assert fault in caught.value.message


def test_a_destination_is_read_as_ssh_does() -> None:
    found = parse_destination("me@[fe80::1%eth0]:2222")
    assert (found.user, found.address, found.port) == ("me", "fe80::1%eth0", 2222)
    for address in ("host", "2001:db8::1", "fe80::1%eth0"):
        found = parse_destination(f"me@{address}")
        assert (found.user, found.address, found.port) == ("me", address, None)
