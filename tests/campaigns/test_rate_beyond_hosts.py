"""A search for the lossless rate where no path loses anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathlab.analysis.planning.loss_search import RateVerdict, SearchEnding
from pathlab.campaign.load import build_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.study.analyses import StudiedResults
from tests.require import require_engine

pytestmark = pytest.mark.engine


def test_a_rate_beyond_the_hosts_is_no_rate_of_the_path(tmp_path: Path) -> None:
    """Over loopback, which loses nothing: the search ends at what a host can do, and says so."""
    require_engine()
    data = {
        "format": 1,
        "name": "rates",
        "title": "Rates",
        "seed": 1,
        "paths": [{"source": "local", "destination": "local"}],
        "factors": {"streams": 1, "transport": "udp", "datagram": 1472},
        "probes": {"interval": "50ms", "unloaded": 2},
        "search": {"loss": "5%", "lowest": "20Mbit/s", "highest": "900Gbit/s", "resolution": "50%"},
        "trial": {"warmup": "50ms", "duration": "300ms", "interval": "50ms"},
    }
    campaign = build_campaign(data, label="rates")
    outcome = run_campaign(CampaignSource(campaign=campaign, text=""), tmp_path, lambda _event: None)
    assert outcome.missing == 0
    with StudiedResults.open(tmp_path) as results:
        (answer,) = results.lossless_rate()
    found = answer.result
    assert found.ending in (SearchEnding.SENDER, SearchEnding.RECEIVER, SearchEnding.UNDECIDED), found.text
    assert (found.rates[-1].verdict, found.rates[-1].trials) == (RateVerdict.SENDER, 0)
    assert all(rate.verdict is not RateVerdict.ABOVE for rate in found.rates), found.text
