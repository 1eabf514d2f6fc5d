"""A small campaign between two hosts that are reached over SSH."""

import json
from pathlib import Path

import pytest

from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.store.results import Results
from tests.ssh.campaigns import campaign_of
from tests.ssh.lab import SshLab
from tests.ssh.reach import Reach

pytestmark = pytest.mark.netns


def count_sent(lab: SshLab) -> int:
    """Bytes that the switch has sent to host b."""
    (link,) = json.loads(lab.run(None, *["ip", "-json", "-statistics", "link", "show", "dev", "p2"]))
    return int(link["stats64"]["tx"]["bytes"])


@pytest.mark.usefixtures("calibrated_once")
def test_a_campaign_over_ssh_carries_what_the_network_counted(reach: Reach, tmp_path: Path) -> None:
    trial = {"warmup": "20ms", "duration": "100ms", "interval": "50ms"}
    campaign = campaign_of(reach.lab, cycles=2, trial=trial)
    before = count_sent(reach.lab)
    source = CampaignSource(campaign=campaign, text="", access=reach.access())
    outcome = run_campaign(source, tmp_path / "out", lambda _event: None)
    carried = count_sent(reach.lab) - before
    assert (outcome.complete, outcome.rows, outcome.failed) == (2, 2, 0)
    with Results.open(tmp_path / "out") as results:
        records = results.records()
        hosts = {host.name for host in results.hosts()}
    assert hosts == {"a", "b"}
    assert [record.plan_row for record in records] == [0, 1]
    for record in records:
        assert (record.source_address, record.destination_address) == tuple(map(reach.lab.address, "ab"))
        assert record.sent_total_bytes == (record.received_total_bytes or 0) + (record.undelivered_bytes or 0)
        assert record.loaded_received
    assert 0 < sum(record.received_total_bytes or 0 for record in records) < carried
