"""~/.ssh/config as ssh reads it, below what a campaign says of a host."""

import socket
from pathlib import Path

import pytest

from pathlab.campaign.host_model import Host
from pathlab.errors import HostError
from pathlab.remote.ssh_config import SshFiles, SshSettings, read_settings


def read(tmp_path: Path, config: str, host: str = "alpha", **keys: object) -> SshSettings:
    """Settings of a host with that ~/.ssh/config and those keys of a campaign."""
    (tmp_path / "config").write_text(config)
    files = SshFiles(user_folder=tmp_path, system_folder=tmp_path / "system")
    table = Host.model_validate({"transport": "ssh", **keys}) if keys else None
    return read_settings(host, table, files)


def test_the_campaign_counts_more_than_the_file_and_the_file_more_than_the_system(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "ssh_config").write_text(
        "Host *\n  Port 23\n  User nobody\n  HashKnownHosts yes\n"
    )
    settings = read(
        tmp_path, "Host alpha\n  HostName 192.0.2.1\n  User me\n  Port 24\n  AddressFamily inet6\n", port=25
    )
    assert (settings.address, settings.user, settings.port) == ("192.0.2.1", "me", 25)
    assert settings.hash_known_hosts
    assert settings.family == socket.AF_INET6
    assert read(tmp_path, "", "Beta").known_name == "[beta]:23"
    assert settings.known_name == "[192.0.2.1]:25"


def test_what_the_campaign_says_fills_in_the_proxy_command(tmp_path: Path) -> None:
    settings = read(tmp_path, "Host *\n  ProxyCommand relay %h %p %r\n", port=25, user="them")
    assert settings.proxy_command == "relay alpha 25 them"


def test_includes_hold_in_their_place_only(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "1.conf").write_text("User first\nHost beta\n  User wrong\n")
    (tmp_path / "d" / "2.conf").write_text("User second\n")
    config = "Host other\n  Include d/2.conf\nHost alpha\n  Include d/*.conf\n  Port 99\n  User third\n"
    settings = read(tmp_path, config)
    assert (settings.user, settings.port) == ("first", 99)
    assert read(tmp_path, config, "other").user == "second"


@pytest.mark.parametrize("pattern", ["d/*.conf", "d**/*.conf", "**/1.conf"])
def test_patterns_of_includes_are_those_of_a_shell(tmp_path: Path, pattern: str) -> None:
    """glob(7), which ssh uses: no hidden files, and ``**`` is ``*``."""
    (tmp_path / "d" / "below").mkdir(parents=True)
    (tmp_path / "d" / ".0.conf").write_text("User hidden\n")
    (tmp_path / "d" / "below" / "1.conf").write_text("User below\n")
    (tmp_path / "d" / "1.conf").write_text("User found\n")
    assert read(tmp_path, f"Include {pattern}\n").user == "found"


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    assert read(tmp_path, "Include config\nHost alpha\n  User me\n").user == "me"


def test_jumps_are_followed_in_order_whoever_names_them(tmp_path: Path) -> None:
    config = "Host inner\n  ProxyJump outer\nHost outer\n  HostName 192.0.2.9\n  Port 2200\n"
    settings = read(tmp_path, config, jump="inner,me@last:77")
    reported = [(step.host, step.address, step.port) for step in settings.jumps]
    assert reported == [("outer", "192.0.2.9", 2200), ("inner", "inner", 22), ("last", "last", 77)]
    assert settings.jumps[-1].user == "me"


def test_a_jump_may_be_a_host_of_the_campaign(tmp_path: Path) -> None:
    files = SshFiles(user_folder=tmp_path, system_folder=tmp_path)
    gate = Host.model_validate({"address": "192.0.2.3", "port": 2022})
    host = Host.model_validate({"address": "10.0.0.1", "jump": "gate"})
    settings = read_settings("alpha", host, files, {"gate": gate, "alpha": host})
    assert [(step.address, step.port) for step in settings.jumps] == [("192.0.2.3", 2022)]


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("Host alpha\n  ProxyJump beta\nHost beta\n  ProxyJump alpha\n", "circle"),
        ("Host alpha\n  Port ninety\n", "'ninety' is not a port"),
        ("Host alpha\n  ProxyJump a:b:c\n", "'a:b:c' is not understood"),
        ("Host alpha\n  What?\n", "Unparsable line"),
        ('Include "half\n', "No closing quotation"),
        ('Host *\n  UserKnownHostsFile "half\n', "No closing quotation"),
        ("Host *\n  UserKnownHostsFile ~nobody-here/known\n", "home directory"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, config: str, named: str) -> None:
    with pytest.raises(HostError, match=named.replace("?", r"\?")) as caught:
        read(tmp_path, config)
    assert caught.value.stage == "connect"
    assert caught.value.hint


def test_an_account_without_a_name_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr("getpass.getuser", fail)
    with pytest.raises(HostError, match="has no name") as caught:
        read(tmp_path, "")
    assert "LOGNAME" in str(caught.value.hint)


def test_known_hosts_and_keys_are_found_where_ssh_looks(tmp_path: Path) -> None:
    settings = read(tmp_path, "")
    assert settings.known_hosts[0] == tmp_path / "known_hosts"
    assert tmp_path / "id_ed25519" in settings.identity_files
    other = read(tmp_path, "Host *\n  UserKnownHostsFile /a /b\n  IdentityFile /k\n", key="~/mine")
    assert other.known_hosts[:2] == (Path("/a"), Path("/b"))
    assert other.identity_files == (Path("/k"),)
    assert other.explicit_key == Path("~/mine").expanduser()
