"""Reordering as TCP saw it, from a lab whose link reorders, and the subflows of MPTCP over two links."""

from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.store.records import TrialRecord
from tests.integration.conducting import AB, campaign_of, run, stored
from tests.require import require_mptcp, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns, pytest.mark.usefixtures("calibrated_once")]

TRIAL: dict[str, Any] = {"warmup": "300ms", "duration": "1s", "interval": "100ms"}
FACTORS: dict[str, Any] = {"streams": [2], "direction": ["forward"], "congestion": ["reno"]}


def measure(folder: Path, **settings: Any) -> TrialRecord:
    """One trial over a link with these settings."""
    link = {"between": ["a", "b"], "rate": "20Mbit/s", "delay": "5ms", "queue": "250kB", **settings}
    campaign = campaign_of(lab={"hosts": ["a", "b"], "links": [link]}, paths=AB, factors=FACTORS, trial=TRIAL)
    assert run(campaign, folder).complete == 1
    (record,) = stored(folder)
    return record


def test_a_link_that_reorders_shows_in_the_columns(tmp_path: Path) -> None:
    require_namespaces()
    plain = measure(tmp_path / "plain")
    record = measure(tmp_path / "out", reorder=0.02, reorder_delay="8ms")
    for one in (plain, record):
        assert one.out_of_order_segments is not None
        assert one.reordering_seen_events is not None
        assert one.dsack_duplicate_segments is not None
    assert record.out_of_order_segments
    # A late emulator lets TCP send again what is not lost; a link that reorders does more.
    assert (plain.reordering_seen_events or 0) < (record.reordering_seen_events or 0)
    assert (plain.dsack_duplicate_segments or 0) < (record.dsack_duplicate_segments or 0)
    assert record.dsack_duplicate_segments
    assert record.retransmitted_segments
    # Nothing is lost but by the queue: most of what was retransmitted had only been late.
    spurious = record.dsack_duplicate_segments / record.retransmitted_segments
    assert record.spurious_retransmission_ratio == pytest.approx(spurious)
    with pathlab.open(tmp_path / "out") as results:
        intervals = results.series(1, "sender_intervals")
        kernel = results.series(1, "sender_tcp")
    assert intervals.groupby("stream")["reord_seen_events"].max().sum() > 0
    counted = kernel.groupby("name")["value"].sum()
    assert counted.get("TCPDSACKRecv", 0) > 0


def test_subflows_are_stored_with_the_link_that_each_uses(tmp_path: Path) -> None:
    require_namespaces()
    require_mptcp()
    links = [{"between": ["a", "b"], "rate": "20Mbit/s", "delay": "5ms", "queue": "60kB"}] * 2
    factors = {**FACTORS, "streams": [1], "transport": ["mptcp"]}
    campaign = campaign_of(lab={"hosts": ["a", "b"], "links": links}, paths=AB, factors=factors, trial=TRIAL)
    assert run(campaign, tmp_path / "out").complete == 1
    (record,) = stored(tmp_path / "out")
    with pathlab.open(tmp_path / "out") as results:
        sent, received = (results.series(1, f"{end}_subflows") for end in ("sender", "receiver"))
    last = sent.groupby("id").last()
    assert len(last) == last["local"].nunique() == received["id"].nunique() == 2
    assert last["bytes_sent"].min() > 0  # how much of it each carries is for MPTCP's scheduler to say
    assert record.retransmitted_segments >= last["total_retrans_segments"].max()
