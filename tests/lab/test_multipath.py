"""Two links together over emulated links: efficiency is the truth, the collapse of round robin is named."""

from pathlib import Path

import pytest

from pathlab.analysis.planning.hash_streams import NoStreams
from pathlab.analysis.verdicts.bond_gain import BondVerdict, SumVerdict
from pathlab.campaign.campaign_text import CampaignText
from pathlab.campaign.load import load_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.study.analyses import StudiedResults, Study
from pathlab.study.multipath.multipath import MeasuredBond
from tests.lab.trusting import Trusting
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

CAMPAIGN = """
format = 1
name = "links"
title = "Two links"
seed = 5
cycles = {cycles}
lab_retries = 4
[[paths]]
source = "a"
destination = "b"
[factors]
streams = {streams}
bond = [{bonds}]
congestion = "cubic"
[trial]
warmup = "1s"
duration = "1s"
[probes]
interval = "20ms"
unloaded = 5
[lab]
hosts = ["a", "b"]
[[lab.links]]
between = ["a", "b"]
rate = "50Mbit/s"
delay = "5ms"
queue_time = "30ms"
[[lab.links]]
between = ["a", "b"]
rate = "{second}Mbit/s"
delay = "5ms"
queue_time = "30ms"
"""


def run(folder: Path, *bonds: str, second: int, cycles: int, streams: int = 4) -> tuple[Study, Trusting]:
    """The study, and its results."""
    require_namespaces()
    require_engine()
    names = ", ".join(f'"{bond}"' for bond in ("link-1", "link-2", *bonds))
    text = CAMPAIGN.format(cycles=cycles, streams=streams, bonds=names, second=second)
    campaign = load_campaign(CampaignText(text=text, label="links"))
    run_campaign(CampaignSource(campaign=campaign, text=text), folder, lambda _event: None)
    results = Trusting(StudiedResults.open(folder))
    return Study(results), results


def find_bonds(study: Study) -> dict[str, MeasuredBond]:
    return {one.result.name: one.result for one in study.multipath()}


def test_two_equal_links_in_turn_carry_their_sum(tmp_path: Path) -> None:
    """Efficiency within 2 % of the truth, 1; a hash of addresses has every stream on one link."""
    study, results = run(tmp_path / "results", "round-robin-packets", "ecmp-l3", second=50, cycles=3)
    bonds = find_bonds(study)
    turn, hashed = bonds["round-robin-packets"].gain, bonds["ecmp-l3"].gain
    if results.is_emulated:
        assert turn.efficiency == pytest.approx(1.0, abs=0.02)
        assert turn.gain == pytest.approx(2.0, abs=0.04)
        assert hashed.efficiency == pytest.approx(0.5, abs=0.02)
        for link in bonds["ecmp-l3"].links:
            assert link.throughput_bits_per_s.median == pytest.approx(50e6 * 1448 / 1500, rel=0.02)
    assert turn.verdict is BondVerdict.UNDECIDED  # 3 cycles
    shares = {one.result.name: one.result for one in study.member_shares()}
    assert [one.sent.median for one in shares["round-robin-packets"].members] == pytest.approx(
        [0.5, 0.5], abs=0.01
    )
    assert shares["round-robin-packets"].super_packets is False
    assert shares["ecmp-l3"].largest_sent_ratio == pytest.approx(1.0, abs=0.01)
    (needed,) = study.streams_needed()
    assert needed.result.plan.reason is NoStreams.ONE_ADDRESS_PAIR


@pytest.mark.long
def test_round_robin_over_unequal_links_collapses_and_the_reason_is_named(tmp_path: Path) -> None:
    """50 and 20 Mbit/s: less than the better link alone, at most twice the slower one.

    TCP recovers from losses on the slow link at other moments in each cycle, so nine cycles do not always
    decide whether the bond is below the better link; that it is below the sum they do.
    """
    study, _ = run(tmp_path / "results", "round-robin-packets", second=20, cycles=9, streams=1)
    found = find_bonds(study)["round-robin-packets"]
    assert found.gain.gain < 0.9
    assert found.verdict in (BondVerdict.HARMS, BondVerdict.UNDECIDED)
    assert found.gain.sum_verdict is SumVerdict.BELOW
    assert found.is_held_by_slowest
    assert found.best_link == "link-1"
    assert found.turn_limit_bits_per_s == pytest.approx(2 * 20e6 * 1448 / 1500, rel=0.03)
