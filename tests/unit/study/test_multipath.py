"""Several links together: verdicts, the collapse on unequal links, and what is left out."""

from dataclasses import replace
from typing import Any

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.planning.hash_streams import HashFields
from pathlab.analysis.verdicts.bond_gain import BondVerdict, SumVerdict
from pathlab.analysis.verdicts.hash_shares import HashVerdict
from pathlab.study.analyses import Study
from pathlab.study.answer import Answer
from pathlab.study.multipath import BondWorth
from pathlab.study.registry import ANALYSES
from tests.builders.multipath import BONDS, EQUAL, HEADERS, SINGLES, UNEQUAL, Bonds, make_multipath_results
from tests.builders.results import make_quickstart


def study(**changes: Any) -> Study:
    return Study(make_multipath_results(replace(Bonds(), **changes)))


def find(answers: tuple[Answer[BondWorth], ...], name: str, streams: int = 8) -> BondWorth:
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


def test_round_robin_over_unequal_links_harms_and_the_slowest_is_named() -> None:
    answers = study(rates=UNEQUAL).multipath()
    turn = find(answers, "round-robin", 1)
    assert turn.verdict is BondVerdict.HARMS
    assert turn.turn_limit_bits_per_s == pytest.approx(2 * 19.3e6, rel=0.05)
    assert turn.is_held_by_slowest
    assert turn.best_link == "link-1"
    mptcp = find(answers, "mptcp", 1)
    assert mptcp.verdict is BondVerdict.GAINS
    assert not mptcp.is_held_by_slowest


def test_few_cycles_are_undecided_never_a_no() -> None:
    for answer in study(rates=UNEQUAL, cycles=3).multipath():
        assert answer.result.verdict is BondVerdict.UNDECIDED
        assert answer.result.undecided is Undecided.TOO_FEW_SAMPLES


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


def test_lab_limited_trials_show_figures_and_decide_nothing() -> None:
    answers = study(rates=UNEQUAL, limited=("link-1",), streams=(1,)).multipath()
    for answer in answers:
        one = answer.result
        assert one.provisional
        assert one.gain.gain is not None
        assert (one.verdict, one.undecided) == (BondVerdict.UNDECIDED, Undecided.PROVISIONAL)
        assert one.gain.sum_verdict is SumVerdict.UNDECIDED
        assert not one.gain.gain_interval.decided
        assert not one.is_held_by_slowest
    answers = study(rates=UNEQUAL, limited=("mptcp",), streams=(1,)).multipath()
    assert find(answers, "mptcp", 1).undecided is Undecided.PROVISIONAL
    assert find(answers, "round-robin", 1).verdict is BondVerdict.HARMS


def test_trials_with_a_failing_link_are_no_part_of_efficiency() -> None:
    found = study(failover=True)
    assert found.multipath() == ()
    assert {one.result.name for one in found.failover()} >= set(BONDS)


def test_a_campaign_without_bonds_has_no_answers() -> None:
    found = Study(make_quickstart(cycles=2))
    assert (found.multipath(), found.member_shares(), found.streams_needed()) == ((), (), ())
    assert (found.bond_latency(), found.failover()) == ((), ())


def test_shares_of_members_and_the_hash() -> None:
    shares = {(one.result.name, one.streams): one.result for one in study().member_shares()}
    turn = shares["round-robin", 8]
    assert [one.name for one in turn.members] == ["link-1", "link-2"]
    assert [one.sent.median for one in turn.members] == pytest.approx([0.5, 0.5], abs=0.01)
    assert turn.test is None  # in turn, not by a hash
    assert turn.super_packets is True
    assert turn.gro is True
    good = shares["ecmp-l4", 8]
    assert good.fields is HashFields.PORTS
    assert good.test.verdict is not HashVerdict.POLARISED
    addresses = shares["ecmp-l3", 8]
    assert addresses.fields is HashFields.ADDRESSES
    assert addresses.test.verdict is HashVerdict.POLARISED
    assert addresses.idle_trials == addresses.trials


def test_streams_needed_are_of_all_links_also_where_not_each_was_measured_alone() -> None:
    rates = (*EQUAL, 20e6)
    (needed,) = study(rates=rates, levels=(*SINGLES, "ecmp-l4"), streams=(4,)).streams_needed()
    capacities = needed.result.capacities_bits_per_s
    assert capacities == pytest.approx([rate * HEADERS for rate in rates])
    assert needed.result.plan.links == 3


def test_a_bond_of_more_members_than_can_be_tested_has_shares_alone() -> None:
    found = study(rates=(10e6,) * 13, levels=("link-1", "ecmp-l4"), streams=(4,), cycles=2)
    (shares,) = found.member_shares()
    assert len(shares.result.members) == 13
    assert shares.result.fields is HashFields.PORTS
    assert shares.result.test is None
    assert found.streams_needed() == ()


def test_reordering_is_counted_for_each_level_and_never_pooled() -> None:
    found = study(reordering=(3, 127), streams=(1,)).tcp_reordering()
    levels = {one.result.tcp_reordering for one in found if one.result.bond == "round-robin"}
    assert levels == {3, 127}
    turn = next(one.result for one in found if one.result.bond == "round-robin")
    assert (turn.trials, turn.seen_events.median, turn.gro) == (8, 400, True)
    assert turn.spurious_ratio == pytest.approx(40 / 80)
    limited = study(limited=("round-robin",), streams=(1,)).tcp_reordering()
    assert [one.result.trials for one in limited if one.result.bond == "round-robin"] == [8]


def test_counts_have_no_unit_of_time() -> None:
    (answer, *_) = study(failover=True, streams=(1,)).failover()
    (column,) = [one for one in ANALYSES["failover"].columns if one.heading == "recovered"]
    assert column.find_unit(answer) == ""


def test_recovery_counts_the_trials_that_never_did() -> None:
    found = {one.result.name: one.result for one in study(failover=True, streams=(1,)).failover()}
    mptcp, turn = found["mptcp"], found["round-robin"]
    assert mptcp.recovery_ns.censored == 0
    assert mptcp.recovery_ns.median == pytest.approx(3e8, rel=0.3)
    assert mptcp.dip_ratio.median == pytest.approx(0.4)
    assert turn.recovery_ns.censored > 0
    assert turn.recovery_ns.median is None  # half and more did not
    assert turn.recovery_ns.longest_watch == pytest.approx(2e9)


def test_a_recovery_by_the_link_that_returned_is_counted_as_that() -> None:
    results = make_multipath_results(replace(Bonds(), failover=True, streams=(1,)))
    for place, record in enumerate(results.records):
        if record.failover_recovery_ns is not None and record.failover_at_ns is not None:
            back_ns = record.failover_at_ns + record.failover_recovery_ns
            early = record.plan_row % 2 == 0
            returned_ns = back_ns - 1 if early else back_ns + 1
            results.records[place] = replace(record, failover_returned_at_ns=returned_ns)
    found = {one.result.name: one.result for one in Study(results).failover()}
    assert 0 < found["mptcp"].after_return < found["mptcp"].trials == 8
    assert found["round-robin"].after_return <= found["round-robin"].recovery_ns.recovered
    assert {one.result.after_return for one in study(failover=True, streams=(1,)).failover()} == {0}
