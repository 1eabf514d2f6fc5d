"""What a plan expects of a line whose two directions carry different rates."""

import pytest

from pathlab.campaign.budget import estimate_campaign, find_path_facts
from tests.builders.campaigns import make_sample

LINK = {"between": ["isp", "home"], "rate": "100Mbit/s", "delay": "5ms", "reverse": {"rate": "20Mbit/s"}}


@pytest.mark.parametrize(
    ("path", "direction", "rates_bits_per_s"),
    [
        (("isp", "home"), "forward", (100e6,)),
        (("home", "isp"), "forward", (20e6,)),
        (("home", "isp"), "reverse", (100e6,)),
        (("home", "isp"), "both", (20e6, 100e6)),
    ],
)
def test_each_direction_carries_what_the_link_can(
    path: tuple[str, str], direction: str, rates_bits_per_s: tuple[float, ...]
) -> None:
    """Seen: bytes for 100 Mbit/s planned in the direction of 20."""
    campaign = make_sample(
        cycles=1,
        lab={"hosts": ["isp", "home"], "links": [LINK]},
        paths=[{"source": path[0], "destination": path[1]}],
        factors={"streams": 1, "direction": direction},
        trial={"duration": "10s", "warmup": "1s", "drain": "1s"},
    )
    facts = find_path_facts(campaign, campaign.paths[0])
    given = [100e6, 20e6] if path[0] == "isp" else [20e6, 100e6]
    assert [facts.rate_bits_per_s, facts.reverse_bits_per_s] == given
    estimate = estimate_campaign(campaign)
    at_most_s = 12  # with warm-up and drain
    assert estimate.bytes_max == pytest.approx(sum(rates_bits_per_s) * at_most_s / 8, rel=0.01)
    assert estimate.paths[0].rate_bits_per_s == rates_bits_per_s[0]
