"""Searches for the lossless rate on emulated paths whose truth is known."""

from pathlib import Path
from typing import Any

import pytest

from pathlab.analysis.planning.loss_search import SearchEnding
from pathlab.campaign.load import build_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.study.analyses import StudiedResults
from pathlab.study.lossless.lossless_rate import LosslessRate
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

QUEUE_BYTES = 64_000
LINK = {"between": ["a", "b"], "rate": "50Mbit/s", "delay": "40ms", "queue": QUEUE_BYTES}
#: Payload of 1472 bytes in IP packets of 1500.
CAPACITY_BITS_PER_S = 50e6 * 1472 / 1500
DATA: dict[str, Any] = {
    "format": 1,
    "name": "rates",
    "title": "Rates",
    "seed": 1,
    "paths": [{"source": "a", "destination": "b"}],
    "factors": {"streams": 1, "transport": "udp", "datagram": 1472},
    "search": {"loss": "1%", "lowest": "20Mbit/s", "highest": "80Mbit/s", "resolution": "5%"},
    "trial": {"warmup": "200ms", "duration": "800ms"},
    "probes": {"interval": "50ms", "unloaded": 2},
}


#: A machine that stalls makes trials lab-limited, and these are repeated.
PATIENT = {"trials_max": 10}


def search(folder: Path, link: dict[str, Any], **changes: Any) -> LosslessRate:
    """The answer of one search over a link."""
    require_engine()
    require_namespaces()
    lab = {"hosts": ["a", "b"], "links": [{**LINK, **link}]}
    campaign = build_campaign({**DATA, "lab": lab, **changes}, label="rates")
    outcome = run_campaign(CampaignSource(campaign=campaign, text=""), folder, lambda _event: None)
    assert (outcome.missing, outcome.ended) == (0, None)
    with StudiedResults.open(folder) as results:
        (answer,) = results.lossless_rate()
    return answer.result


@pytest.mark.long
def test_the_payload_rate_of_a_link_is_found(tmp_path: Path) -> None:
    # Of the rates tried none is so close to the truth that its loss is not distinguishable from 1 %.
    rule = {**DATA["search"], "lowest": "21Mbit/s"}
    trial = {"warmup": "200ms", "duration": "1500ms"}
    found = search(tmp_path, {}, search=rule, trial=trial)
    assert found.ending == SearchEnding.FOUND, found.text
    below, above = found.below_bits_per_s or 0, found.above_bits_per_s or 0
    stored = 8 * QUEUE_BYTES / 1.5  # rate of what the queue takes of the excess
    truth = CAPACITY_BITS_PER_S / 0.99
    assert above <= below * 1.0501
    assert below <= truth + stored
    assert above >= truth
    assert below == pytest.approx(truth, rel=0.06)
    at_highest = found.rates[-1]
    assert at_highest.loss_ratio == pytest.approx(1 - CAPACITY_BITS_PER_S / 80e6, abs=0.02)
    assert at_highest.path_lost is None or at_highest.path_lost >= 0.99 * at_highest.lost


def test_random_loss_of_a_tenth_of_a_percent_is_below_one_percent(tmp_path: Path) -> None:
    # Each packet is lost by chance, so that a few thousand confirm it.
    highest = {**DATA["search"], **PATIENT, "highest": "40Mbit/s", "burst": 1}
    found = search(tmp_path, {"rate": "100Mbit/s", "loss": "0.1%"}, search=highest)
    assert found.ending == SearchEnding.ABOVE_HIGHEST, found.text
    assert found.rates[-1].loss_ratio == pytest.approx(0.001, abs=0.002)


@pytest.mark.long
def test_random_loss_of_a_tenth_of_a_percent_is_above_a_hundredth(tmp_path: Path) -> None:
    rule = {"loss": "0.01%", "lowest": "40Mbit/s", "highest": "50Mbit/s", "burst": 1, "trials_max": 6}
    trial = {"warmup": "100ms", "duration": "6s"}
    found = search(tmp_path, {"rate": "100Mbit/s", "loss": "0.1%"}, search=rule, trial=trial)
    assert found.ending == SearchEnding.BELOW_LOWEST, found.text


def test_a_link_below_the_lowest_rate(tmp_path: Path) -> None:
    found = search(tmp_path, {"rate": "5Mbit/s"}, search={**DATA["search"], **PATIENT})
    assert found.ending == SearchEnding.BELOW_LOWEST, found.text
    assert found.rates[0].loss_ratio == pytest.approx(0.75, abs=0.05)
