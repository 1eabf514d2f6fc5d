"""Interfaces, softnet and TCP counters out of the kernel's texts.

The texts were recorded with `cat` on a two-core guest under Linux 6.18, with some zeros made other numbers;
differences were worked out by hand.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents.counters import nics, softnet, tcp
from pathlab.agents.counters.differences import subtract_count
from pathlab.agents.counters.text import read_text, show_name
from pathlab.agents.limits import MAX_COUNTER_NICS, MAX_COUNTER_TEXT_BYTES

HEADINGS = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls \
carrier compressed
"""
DEV = f"""{HEADINGS}\
    lo: 6239764505533 140889479    0    0    0     0          0         0 6239764505533 140889479    0    0 \
   0     0       0          0
  eth0: 3040688025   72572    1    2    0     0          0         0  3878618   43430    3    4    0     0 \
      0          0
"""


def test_interfaces_are_read_by_column() -> None:
    assert nics.parse_nics(DEV) == {
        "lo": (6239764505533, 140889479, 0, 0, 6239764505533, 140889479, 0, 0),
        "eth0": (3040688025, 72572, 1, 2, 3878618, 43430, 3, 4),
    }


def test_a_number_may_touch_the_colon_and_a_later_kernel_may_add_columns() -> None:
    line = "eth0.7:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
    assert nics.parse_nics(HEADINGS + line) == {"eth0.7": (1, 2, 3, 4, 9, 10, 11, 12)}
    assert nics.parse_nics(HEADINGS) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no headings"),
        (DEV.splitlines()[2], "no headings"),
        (HEADINGS + "  eth0: 1 2 3\n", "eth0 has 3 numbers, 16 are needed"),
        (HEADINGS + "eth0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "0 numbers"),
        (HEADINGS + "  eth0: a 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", "invalid literal"),
    ],
)
def test_text_that_is_no_list_of_interfaces_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nics.parse_nics(text)


def test_interfaces_at_both_readings_are_compared_and_a_step_back_is_unknown() -> None:
    before = {"eth0": (100, 10, 0, 0, 2**32 - 1, 5, 0, 7), "old": (1,) * 8}
    after = {"eth0": (160, 12, 0, 1, 3, 5, 0, 6), "new": (9,) * 8}
    assert nics.compare_nics(before, after) == [
        {
            "interface": "eth0",
            "rx_bytes": 60,
            "rx_packets": 2,
            "rx_errors": 0,
            "rx_dropped": 1,
            "tx_bytes": None,  # wrapped
            "tx_packets": 0,
            "tx_errors": 0,
            "tx_dropped": None,
        }
    ]


def test_too_many_interfaces_are_refused_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = " ".join(["0"] * 16)
    lines = "".join(f"v{at}: {numbers}\n" for at in range(MAX_COUNTER_NICS + 1))
    monkeypatch.setattr(nics, "read_text", lambda _path: HEADINGS + lines)
    with pytest.raises(ValueError, match=f"{MAX_COUNTER_NICS + 1} interfaces"):
        nics.read_nic_counters()


def test_an_interface_that_is_gone_when_it_is_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ghost = "ghost-of-none: " + " ".join(["7"] * 16)
    monkeypatch.setattr(nics, "read_text", lambda _path: f"{HEADINGS}{ghost}\n")
    assert nics.read_nic_counters() == {}


SOFTNET = """\
049a3c04 00000000 00000016 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 \
00000000 00000000 00000000
0471d685 00000002 00000010 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 \
00000001 00000000 00000000
"""


def test_softnet_columns_are_hexadecimal_and_name_their_core() -> None:
    assert softnet.parse_softnet(SOFTNET) == [(0, [0x049A3C04, 0, 22]), (1, [74_569_349, 2, 16])]
    # Core 1 of 3 is off: the kernel skips its line.
    line = "00000001 00000000 00000000 0 0 0 0 0 0 0 0 00000000 "
    assert [row.core for row in softnet.parse_softnet(f"{line}00000000\n{line}00000002\n")] == [0, 2]


def test_a_kernel_that_numbers_no_lines_leaves_the_core_unknown() -> None:
    short = (
        "00000001 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
    )
    rows = softnet.parse_softnet(short)
    assert rows == [(None, [1, 0, 3])]
    assert softnet.compare_softnet(rows, softnet.parse_softnet(short.replace("00000001", "0000000b"))) == {
        "processed": 10,
        "dropped": 0,
        "time_squeeze": 0,
        "cores": [{"core": None, "processed": 10, "dropped": 0, "time_squeeze": 0}],
    }
    assert softnet.compare_softnet(rows, rows * 2) is None


@pytest.mark.parametrize(
    "text", ["", "00000001 00000002\n", "00000001 0000000g 00000000\n", "1 2 3\n\n1 2 3\n"]
)
def test_text_that_is_no_softnet_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no line|columns|invalid literal"):
        softnet.parse_softnet(text)


def test_softnet_sums_are_unknown_when_one_core_wrapped_or_came() -> None:
    before = softnet.parse_softnet(SOFTNET)
    first, second = before
    wrapped = [first._replace(counts=[first.counts[0] + 5, 1, 22]), second._replace(counts=[3, 2, 20])]
    assert softnet.compare_softnet(before, wrapped) == {
        "processed": None,
        "dropped": 1,
        "time_squeeze": 4,
        "cores": [
            {"core": 0, "processed": 5, "dropped": 1, "time_squeeze": 0},
            {"core": 1, "processed": None, "dropped": 0, "time_squeeze": 4},
        ],
    }
    came = softnet.compare_softnet(before[:1], before)
    assert came == {
        **dict.fromkeys(softnet.COUNTERS),
        "cores": [{"core": 0, "processed": 0, "dropped": 0, "time_squeeze": 0}],
    }


SNMP = """\
Ip: Forwarding DefaultTTL InReceives
Ip: 2 64 140408888
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs \
OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 25553 25324 115 1616 4 140782569 140871912 23620 0 1226 0
UdpLite: InDatagrams NoPorts
UdpLite: 0 0
"""
NETSTAT = """\
TcpExt: SyncookiesSent TW TCPLostRetransmit TCPOFOQueue
TcpExt: 0 17 2 900
IpExt: InNoRoutes
IpExt: 0
"""


def test_a_group_is_read_by_the_kernels_names_without_what_does_not_count() -> None:
    assert tcp.parse_group(SNMP, "Tcp") == {
        "ActiveOpens": 25553,
        "PassiveOpens": 25324,
        "AttemptFails": 115,
        "EstabResets": 1616,
        "InSegs": 140782569,
        "OutSegs": 140871912,
        "RetransSegs": 23620,
        "InErrs": 0,
        "OutRsts": 1226,
        "InCsumErrors": 0,
    }
    assert tcp.parse_group(NETSTAT, "TcpExt")["TCPOFOQueue"] == 900


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "0 lines of Tcp"),
        ("TcpExt: TW\nTcpExt: 1\n", "0 lines of Tcp"),
        ("Tcp: InSegs\n", "1 lines of Tcp"),
        ("Tcp: InSegs OutSegs\nTcp: 5\n", "Tcp has 2 names and 1 numbers"),
        ("Tcp: InSegs\nTcp: five\n", "invalid literal"),
    ],
)
def test_a_group_that_is_missing_or_does_not_pair_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tcp.parse_group(text, "Tcp")


def test_only_tcp_counters_that_changed_are_named() -> None:
    before = {"InSegs": 10, "OutSegs": 4294967295, "RetransSegs": 3}
    after = {"InSegs": 25, "OutSegs": 4, "RetransSegs": 3, "Newcomer": 8}
    assert tcp.compare_tcp(before, after) == {"InSegs": 15, "OutSegs": None, "Newcomer": None}


def test_tcp_is_read_from_both_files_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT}
    monkeypatch.setattr(tcp, "read_text", texts.__getitem__)
    counters = tcp.read_tcp_counters()
    assert (counters["RetransSegs"], counters["TCPLostRetransmit"], len(counters)) == (23620, 2, 14)
    texts["/proc/net/netstat"] = "IpExt: InNoRoutes\nIpExt: 0\n"
    with pytest.raises(ValueError, match="0 lines of TcpExt"):
        tcp.read_tcp_counters()


COUNT = st.none() | st.integers(min_value=0, max_value=2**64 - 1)


@given(COUNT, COUNT)
def test_a_difference_is_right_or_unknown_and_never_negative(before: int | None, after: int | None) -> None:
    difference = subtract_count(before, after)
    if before is None or after is None or before > after:
        assert difference is None
    else:
        assert difference is not None
        assert before + difference == after


def test_a_file_is_read_whole_and_not_beyond_its_cap(tmp_path: Path) -> None:
    path = tmp_path / "counters"
    path.write_bytes(b"x" * MAX_COUNTER_TEXT_BYTES)
    assert len(read_text(str(path))) == MAX_COUNTER_TEXT_BYTES
    path.write_bytes(b"x" * (MAX_COUNTER_TEXT_BYTES + 1))
    with pytest.raises(ValueError, match="more than"):
        read_text(str(path))
    with pytest.raises(FileNotFoundError):
        read_text(str(tmp_path / "none"))


def test_any_bytes_of_a_name_become_text_that_utf_8_carries() -> None:
    assert show_name("eth0") == "eth0"
    assert show_name(os.fsdecode(b"w\xff0")) == "w\\xff0"
