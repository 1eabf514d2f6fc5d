"""Campaigns between the hosts of the lab with SSH servers."""

from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import Campaign
from tests.ssh.lab import PORT, SshLab


def campaign_of(lab: SshLab, *, cycles: int, **further: object) -> Campaign:
    """a to b, a short trial a cycle; a busy machine gives no further trials."""
    tables = {
        name: {"address": lab.address(name), "user": "sh", "port": PORT, "key": str(lab.key)}
        for name in ("a", "b")
    }
    data = {
        "format": 1,
        "name": "over-ssh",
        "title": "Over SSH",
        "seed": 1,
        "cycles": cycles,
        "retries": 0,
        "hosts": tables,
        "paths": [{"source": "a", "destination": "b"}],
        "factors": {"streams": 2, "window": "128KiB", "congestion": "reno"},
        "trial": {"warmup": "300ms", "duration": "1s"},
        "probes": {"unloaded": 3},
        **further,
    }
    return build_campaign(data, label="test")
