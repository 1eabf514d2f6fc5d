"""The ready-made labs: each is sound, says what it is, and can be taken over by a campaign."""

import pytest

from pathlab.campaign.load import load_lab
from pathlab.campaign.ready_labs import describe_ready_lab, list_ready_labs
from pathlab.runner.hosts.lab_topology import build_topology


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
