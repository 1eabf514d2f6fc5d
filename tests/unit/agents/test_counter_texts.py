"""Interfaces, softnet and TCP: what two readings differ by. The texts: tests/golden/agents/test_texts.py."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents.counters import nics, softnet, tcp
from pathlab.agents.counters.differences import subtract_count
from pathlab.agents.counters.text import read_text, show_name
from pathlab.agents.limits import MAX_COUNTER_NICS, MAX_COUNTER_TEXT_BYTES
from tests.builders.kernel_texts import read_kernel_text

HEADINGS = "".join(read_kernel_text("net-dev").splitlines(keepends=True)[:2])


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


def test_a_kernel_that_numbers_no_lines_leaves_the_core_unknown() -> None:
    before = softnet.parse_softnet("00000001 00000000 00000003" + " 00000000" * 8)
    after = softnet.parse_softnet("0000000b 00000000 00000003" + " 00000000" * 8)
    counts = {"processed": 10, "dropped": 0, "time_squeeze": 0}
    assert softnet.compare_softnet(before, after) == {**counts, "cores": [{"core": None, **counts}]}
    assert softnet.compare_softnet(before, after * 2) is None


def test_softnet_sums_are_unknown_when_one_core_wrapped_or_came() -> None:
    before = softnet.parse_softnet(read_kernel_text("softnet_stat"))
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


def test_only_tcp_counters_that_changed_are_named() -> None:
    before = {"InSegs": 10, "OutSegs": 4294967295, "RetransSegs": 3}
    after = {"InSegs": 25, "OutSegs": 4, "RetransSegs": 3, "Newcomer": 8}
    assert tcp.compare_tcp(before, after) == {"InSegs": 15, "OutSegs": None, "Newcomer": None}


def test_tcp_is_read_from_both_files_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"/proc/net/{name}": read_kernel_text(name) for name in ("snmp", "netstat")}
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
