"""Hosts on a command line, and the names that they get."""

import re

import pytest

from pathlab.cli.host_options import name_host, name_hosts
from pathlab.errors import UsageError
from pathlab.host_names import HOST_NAME_PATTERN

TABLES = {"one": {"address": "192.0.2.1"}}


def test_a_host_is_one_of_the_file_or_what_ssh_would_take() -> None:
    assert name_host("local", TABLES) == ("local", None)
    assert name_host("one", TABLES) == ("one", TABLES["one"])
    table = {"transport": "ssh", "address": "fe80::1%eth0", "user": "me", "port": 22}
    assert name_host("me@[fe80::1%eth0]:22", TABLES) == ("fe80--1-eth0", table)
    assert name_host("2001:db8::1", TABLES)[1] == {"transport": "ssh", "address": "2001:db8::1"}
    for text in ("", "@", "a b", "host:", "me@", "host:123456", "-"):
        with pytest.raises(UsageError, match="is not a host"):
            name_host(text, TABLES)


def test_hosts_that_differ_in_account_or_port_alone_stay_two() -> None:
    named = name_hosts(["root@gate:2201", "root@gate:2202", "you@gate:2202", "one", "one"], TABLES)
    assert [name for name, _ in named] == ["gate", "root-gate-2202", "you-gate-2202", "one", "one"]
    assert [table.get("port") for _, table in named if table is not None] == [2201, 2202, 2202, None, None]
    assert all(re.fullmatch(HOST_NAME_PATTERN, name) for name, _ in named)


def test_a_host_twice_is_one_host() -> None:
    assert [name for name, _ in name_hosts(["me@gate", "me@gate"], {})] == ["gate", "gate"]
