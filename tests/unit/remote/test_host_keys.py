"""known_hosts: which lines are about a host, and what they say of the key that it shows."""

import base64
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from pathlab.errors import HostError
from pathlab.remote.host_keys import (
    add_host_key,
    check_host_key,
    find_known_keys,
    fingerprint,
    order_key_types,
)
from pathlab.remote.ssh_config import SshSettings
from pathlab.remote.ssh_connection import SshConnection, SshOptions

# Made with: ssh-keygen -t ed25519.
ONE = "AAAAC3NzaC1lZDI1NTE5AAAAIKBk428VHx/DKcq0lFAUyvgn1SKsYINytsa7qw4ocpSl"
TWO = "AAAAC3NzaC1lZDI1NTE5AAAAIPh7gfliHT1+RjsJr5uZAUomByjhzjw1iFxpxfbGyC+6"


def key_of(text: str) -> paramiko.PKey:
    return paramiko.Ed25519Key(data=base64.b64decode(text))


def places(tmp_path: Path, name: str, text: str) -> list[int]:
    """Numbers of the lines about a name."""
    file = tmp_path / "known_hosts"
    file.write_text(text)
    return [int(known.place.rpartition(":")[2]) for known in find_known_keys(name, [file])]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("alpha", [2]),
        ("ALPHA", [2]),
        ("beta", [2]),
        ("x.example.org", [3]),
        ("bad.example.org", []),
        ("[alpha]:2222", [4]),
        ("[a]:2222", []),
        ("192.0.2.17", [5]),
        ("gamma", []),
    ],
)
def test_lines_are_found_as_ssh_finds_them(tmp_path: Path, name: str, expected: list[int]) -> None:
    text = (
        "# a comment\n"
        f"alpha,beta ssh-ed25519 {ONE} somebody\n"
        f"*.example.org,!bad.example.org ssh-ed25519 {ONE}\n"
        f"[alpha]:2222 ssh-ed25519 {ONE}\n"
        f"192.0.2.1? ssh-ed25519 {ONE}\n"
        "gamma ssh-ed25519 not-base64!\n"
        "gamma ssh-ed25519\n"
    )
    assert places(tmp_path, name, text) == expected


def test_a_known_key_passes_an_unknown_host_is_reported_and_the_rest_refused(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"alpha ssh-ed25519 {ONE}\n@revoked * ssh-ed25519 {TWO}\nbeta ssh-rsa {ONE}\n")
    one, two = key_of(ONE), key_of(TWO)
    assert check_host_key("a", "alpha", one, find_known_keys("alpha", [file]))
    assert not check_host_key("g", "gamma", one, find_known_keys("gamma", [file]))
    with pytest.raises(HostError, match=r"revoked by .*known_hosts:2"):
        check_host_key("a", "alpha", two, find_known_keys("alpha", [file]))
    other = tmp_path / "other"
    other.write_text(f"alpha ssh-ed25519 {ONE}\n")
    with pytest.raises(HostError, match=r"changed.*other:1") as caught:
        check_host_key("a", "alpha", two, find_known_keys("alpha", [other]))
    assert caught.value.stage == "host key"
    assert fingerprint(two) in str(caught.value)


def test_files_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    assert find_known_keys("alpha", [tmp_path / "none", tmp_path / "none" / "below"]) == []


def test_the_kind_that_is_known_is_requested_first(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"alpha ssh-rsa {ONE}\n")
    ordered = order_key_types(("ssh-ed25519", "rsa-sha2-512"), find_known_keys("alpha", [file]))
    assert ordered == ("rsa-sha2-512", "ssh-ed25519")


@pytest.mark.parametrize("hashed", [False, True])
def test_keys_are_added_whole_also_by_many_at_once(tmp_path: Path, hashed: bool) -> None:
    file = tmp_path / "new" / "known_hosts"
    key = key_of(ONE)
    file.parent.mkdir()
    file.write_text("# no line end")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: add_host_key(file, f"host{number}", key, hashed=hashed), range(40)))
    lines = file.read_text().splitlines()
    assert len(lines) == 41
    assert ("host1" in file.read_text()) != hashed
    for number in range(40):
        (known,) = find_known_keys(f"host{number}", [file])
        assert known.key == key.asbytes()


def test_a_known_hosts_that_cannot_be_read_is_named_before_anything_is_dialled(tmp_path: Path) -> None:
    def dial(_address: str, _port: int, _timeout_s: float) -> socket.socket:
        raise AssertionError("dialled")

    settings = SshSettings(host="alpha", address="alpha", user="me", known_hosts=(tmp_path,))
    with pytest.raises(HostError, match=f"{tmp_path} cannot be read: Is a directory") as caught:
        SshConnection(settings, SshOptions(dial=dial)).open_channel()
    assert caught.value.stage == "host key"


@pytest.mark.parametrize(("family", "dialled"), [(None, "localhost"), (socket.AF_INET, "127.0.0.1")])
def test_the_address_family_of_the_file_is_dialled(family: socket.AddressFamily | None, dialled: str) -> None:
    requested: list[str] = []

    def dial(address: str, _port: int, _timeout_s: float) -> socket.socket:
        requested.append(address)
        raise ConnectionRefusedError("refused")

    settings = SshSettings(host="alpha", address="localhost", user="me", family=family)
    with pytest.raises(HostError, match="cannot connect to localhost port 22"):
        SshConnection(settings, SshOptions(dial=dial)).open_channel()
    assert requested == [dialled]
