"""Streams of messages to several receivers of a path, in both families and directions."""

from __future__ import annotations

from pathlib import Path

import pytest

import pathlab
from tests.integration.conducting import campaign_of, run, stored
from tests.require import require_namespaces

pytestmark = pytest.mark.engine

STAR = {
    "hosts": ["a", "b", "c", "d"],
    "routers": ["r"],
    "ipv6": True,
    "links": [{"between": [host, "r"], "delay": "1ms"} for host in "abcd"],
}


@pytest.mark.netns
def test_streams_are_shared_by_the_sinks_of_a_path(tmp_path: Path) -> None:
    require_namespaces()
    factors = {
        "streams": [6],
        "message": [64],
        "message_rate": [3000],
        "reply": [False, True],
        "family": ["ipv4", "ipv6"],
    }
    paths = [{"source": "a", "destination": "b", "sinks": ["c", "d"]}]
    outcome = run(campaign_of(factors=factors, lab=STAR, paths=paths), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (4, 0)
    for record in stored(tmp_path / "out"):
        assert record.received_total_bytes == record.sent_total_bytes
        assert record.undelivered_bytes == 0
        assert not [flag for flag in record.flags if flag.endswith("-granted")]
    with pathlab.open(tmp_path / "out") as results:
        for number in range(1, 5):
            bytes_of = [
                results.series(number, f"{end}_intervals").groupby("stream")["bytes"].sum().tolist()
                for end in ("sender", "receiver")
            ]
            # In the sender's order: of each stream as much as it sent.
            assert bytes_of[0] == bytes_of[1]
            assert len(bytes_of[0]) == 6
            assert max(bytes_of[1]) - min(bytes_of[1]) <= 64
        assert len(set(results.series(1, "receiver_workers")["worker"])) == 6
        (row, *_) = results.plan()
        assert row.settings["sinks"] == "c, d"
