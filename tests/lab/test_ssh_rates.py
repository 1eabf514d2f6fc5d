"""A campaign over SSH has the results of one whose agents are started in the same hosts without it."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from pathlab.remote.hosts import RemoteHosts
from pathlab.remote.namespace import NamespaceTransport
from pathlab.remote.transport import Transport
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.runner.hosts.environment import Environment
from pathlab.store.results import Results
from tests.ssh.campaigns import campaign_of
from tests.ssh.reach import Reach

pytestmark = pytest.mark.netns

QUEUE = ("rate", "20mbit", "burst", "15kb", "latency", "50ms")


def measure(reach: Reach, folder: Path) -> list[float]:
    """Steady goodput of six trials, bit/s: the fewest of which a median has an interval."""
    campaign = campaign_of(reach.lab, cycles=6)
    source = CampaignSource(campaign=campaign, text="", access=reach.access())
    outcome = run_campaign(source, folder, lambda _event: None)
    assert outcome.complete == outcome.rows == 6
    with Results.open(folder) as results:
        return [float(value) for value in results.trials()["throughput_bits_per_s"]]


@pytest.mark.usefixtures("calibrated_once")
def test_a_campaign_over_ssh_has_the_results_of_local_agents(
    reach: Reach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = reach.lab
    lab.run(None, *["tc", "qdisc", "add", "dev", "p2", "root", "tbf", *QUEUE])
    try:
        over_ssh = measure(reach, tmp_path / "ssh")

        def inside(environment: Environment, host: str) -> Transport:
            return NamespaceTransport(lab.namespaces, host)

        monkeypatch.setattr(Environment, "_transport", inside)
        monkeypatch.setattr(RemoteHosts, "addresses", lambda _self, host: (lab.address(host),))
        beside = measure(reach, tmp_path / "agents")
    finally:
        lab.run(None, *["tc", "qdisc", "del", "dev", "p2", "root"])
    # By chance alone the intervals lie apart once in 500 times, but then by less than a hundredth.
    assert min(over_ssh) <= max(beside) * 1.01
    assert min(beside) <= max(over_ssh) * 1.01
    assert median(over_ssh) == pytest.approx(median(beside), rel=0.05)
