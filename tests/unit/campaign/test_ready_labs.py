"""The ready-made labs: each is sound, says what it is, and can be taken over by a campaign."""

import pytest

from pathlab.campaign.lab_model import LabDirection, LabSettings
from pathlab.campaign.load import load_lab
from pathlab.campaign.ready_labs import describe_ready_lab, list_ready_labs
from pathlab.runner.hosts.lab_topology import build_topology
from tests.builders.campaigns import make_sample

AB = [{"source": "a", "destination": "b"}]


def test_all_that_are_promised_are_there() -> None:
    promised = "lan wan-40ms slac-cern transatlantic-10g bufferbloat lossy three-hops two-links two-pairs"
    assert set(promised.split()) <= set(list_ready_labs())


@pytest.mark.parametrize("name", list_ready_labs())
def test_each_is_sound(name: str) -> None:
    plan = build_topology(load_lab(name))
    first, last = plan.hosts[0], plan.hosts[1] if name == "two-pairs" else plan.hosts[-1]
    assert plan.bottleneck(first, last)[0] is not None
    assert plan.idle_rtt_ns(first, last) > 0
    assert describe_ready_lab(name).endswith(".")


def test_the_names_keep_what_they_say() -> None:
    cern = build_topology(load_lab("slac-cern"))
    assert cern.bottleneck("slac", "cern")[0] == 30_000_000
    assert cern.idle_rtt_ns("slac", "cern") == 160_000_000
    hops = build_topology(load_lab("three-hops"))
    assert [way.rate_bits_per_s for way in hops.directions("a", "b")] == [10**8, 2 * 10**7, 5 * 10**7]
    home = build_topology(load_lab("bufferbloat"))
    assert home.bottleneck("server", "home")[0] == 20_000_000
    assert home.bottleneck("home", "server")[0] == 5_000_000


def test_a_campaign_takes_one_over_and_changes_what_it_likes() -> None:
    lab = make_sample(paths=AB, lab={"topology": "three-hops", "seed": 7, "backend": "packet"}).lab
    assert (lab.seed, lab.backend, lab.routers) == (7, "packet", ("r1", "r2"))
    assert len(lab.links) == 3


def test_the_other_direction_takes_over_what_it_does_not_name() -> None:
    lab = LabSettings.model_validate(
        {
            "hosts": ["a", "b"],
            "links": [
                {
                    "between": ["a", "b"],
                    "rate": "10Mbit/s",
                    "delay": "5ms",
                    "queue": "100kB",
                    "reverse": {"rate": "1Mbit/s", "queue_time": "80ms"},
                }
            ],
        }
    )
    there, back = (lab.links[0].direction(end) for end in (0, 1))
    assert isinstance(back, LabDirection)
    assert (there.rate_bits_per_s, there.whole_queue_bytes) == (10**7, 100_000)
    assert (back.rate_bits_per_s, back.delay_ns, back.whole_queue_bytes) == (10**6, 5_000_000, 10_000)
