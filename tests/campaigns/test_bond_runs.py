"""A campaign over two links of a lab: members, settings and the failure of a link are stored."""

import shutil
from pathlib import Path

import pytest

import pathlab
from tests.integration.conducting import AB, campaign_of, run
from tests.require import require, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]


def test_members_settings_and_the_failure_of_a_link_are_stored(tmp_path: Path) -> None:
    require_namespaces()
    require(shutil.which("nft", path="/usr/sbin:/usr/bin"), "nft (Debian: nftables)")
    factors = {
        "bond": ["link-1", "link-2", "round-robin"],
        "streams": 1,
        "tcp_reordering": 127,
        "failover": ["none", "silent"],
    }
    campaign = campaign_of(
        lab={"topology": "two-links"},
        paths=AB,
        factors=factors,
        where="failover == 'none' or bond == 'round-robin'",
        trial={"warmup": "500ms", "duration": "1500ms"},
        failover={"return_after": "300ms"},
    )
    run(campaign, tmp_path / "out")
    with pathlab.open(tmp_path / "out") as results:
        settings = {row.row: row.settings for row in results.plan()}
        found = {}
        for number, record in results.records_by_id().items():
            level, failure = (settings[record.plan_row][name] for name in ("bond", "failover"))
            members = results.series_table(number, "members").to_pylist()
            lines = results.series_table(number, "settings").to_pylist()
            found[level, failure] = record, members, {line["name"]: line for line in lines}
    assert {key: record.status for key, (record, _, _) in found.items()} == dict.fromkeys(
        [("link-1", "none"), ("link-2", "none"), ("round-robin", "none"), ("round-robin", "silent")],
        "complete",
    )
    for (level, failure), (record, members, stated) in found.items():
        assert [(row["end"], row["link"]) for row in members] == [
            *(("sender", 0), ("sender", 1), ("receiver", 0), ("receiver", 1))
        ]
        assert all(row["rate_bits_per_s"] == 50_000_000 for row in members)
        assert stated["tcp_reordering"]["sender"] == stated["tcp_reordering"]["receiver"] == "127"
        received = [row["rx_bytes"] for row in members[2:]]
        used = [number for number in (0, 1) if received[number] > 0.05 * sum(received)]
        expected = {"link-1": [0], "link-2": [1]}.get(level, [0, 1])
        assert used == expected
        if level == "round-robin":
            assert "super-packets" in stated["bond"]["sender"]
        assert (record.failover_member is None) == (failure == "none")
        assert "bond-changed" not in record.flags
    failed = found["round-robin", "silent"][0]
    assert failed.failover_member in ("wan0", "wan1")
    assert 450_000_000 <= failed.failover_at_ns < failed.failover_returned_at_ns  # at 30 %, or later
    assert 0 <= failed.failover_dip_ratio < 1
    assert (failed.failover_recovery_ns is None) == (failed.failover_censored is not None)
