"""Several links together: verdicts, the collapse on unequal links, and what is left out."""

from dataclasses import replace
from typing import Any

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.bond_gain import BondVerdict, SumVerdict
from pathlab.study.analyses import Study
from pathlab.study.base.answer import Answer
from pathlab.study.multipath.multipath import MeasuredBond
from tests.builders.multipath import BONDS, EQUAL, HEADERS, SINGLES, Bonds, make_multipath_results
from tests.builders.results import make_quickstart


def study(**changes: Any) -> Study:
    return Study(make_multipath_results(replace(Bonds(), **changes)))


def find(answers: tuple[Answer[MeasuredBond], ...], name: str, streams: int = 8) -> MeasuredBond:
    (found,) = (one.result for one in answers if one.result.name == name and one.streams == streams)
    return found


def test_equal_links_are_worth_it_unless_the_hash_uses_one() -> None:
    answers = study(noise_ratio=0.004).multipath()
    assert len(answers) == len(BONDS) * 2
    turn = find(answers, "round-robin")
    assert turn.verdict is BondVerdict.GAINS
    assert turn.gain.efficiency == pytest.approx(0.98, abs=0.02)
    assert turn.gain.sum_verdict is SumVerdict.FULL
    assert not turn.is_held_by_slowest
    assert turn.turn_limit_bits_per_s is None
    hashed = find(answers, "ecmp-l3")
    assert hashed.verdict in (BondVerdict.EQUAL, BondVerdict.UNDECIDED)
    assert hashed.gain.sum_verdict is SumVerdict.BELOW


def test_without_every_link_alone_there_is_no_efficiency() -> None:
    (answer,) = study(levels=("link-1", "round-robin"), streams=(1,)).multipath()
    assert answer.result.gain is None
    assert answer.result.undecided is Undecided.NOT_MEASURED
    (answer,) = study(rates=(*EQUAL, 48.2e6), levels=(*SINGLES, "round-robin"), streams=(1,)).multipath()
    assert answer.result.gain is None  # the lab has a third link


def test_mptcp_without_a_bond_uses_all_links_and_is_no_link_alone() -> None:
    results = make_multipath_results(replace(Bonds(), streams=(1,)))
    levels = {"link-1": ("none", "tcp"), "link-2": ("link-2", "tcp"), "mptcp": ("none", "mptcp")}
    for place, row in enumerate(results.plan()):
        bond, transport = levels.get(row.settings["bond"], (row.settings["bond"], "tcp"))
        settings = {**row.settings, "bond": bond, "transport": transport}
        results.plan()[place] = replace(row, settings=settings)
    answers = Study(results).multipath()
    found = find(answers, "none, mptcp", 1)
    assert found.verdict is BondVerdict.GAINS
    assert [one.number for one in found.links] == [1, 2]
    assert found.links[0].throughput_bits_per_s.median == pytest.approx(EQUAL[0], rel=0.1)


def test_a_campaign_without_bonds_has_no_answers() -> None:
    found = Study(make_quickstart(cycles=2))
    assert (found.multipath(), found.member_shares(), found.streams_needed()) == ((), (), ())
    assert (found.bond_latency(), found.failover()) == ((), ())


def test_streams_needed_are_of_all_links_also_where_not_each_was_measured_alone() -> None:
    rates = (*EQUAL, 20e6)
    (needed,) = study(rates=rates, levels=(*SINGLES, "ecmp-l4"), streams=(4,)).streams_needed()
    capacities = needed.result.capacities_bits_per_s
    assert capacities == pytest.approx([rate * HEADERS for rate in rates])
    assert needed.result.plan.links == 3
