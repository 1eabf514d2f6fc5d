"""Searches at work: rows planned as they go, continued from what is stored, left alone where trials fail."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from pathlab.analysis.planning.loss_search import SearchEnding
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.runner.campaign.cycle import CycleRunner, RunParts
from pathlab.runner.campaign.interruption import Interruption
from pathlab.runner.campaign.rate_search import RateSearches
from pathlab.runner.campaign.resumption import check_same_plan
from pathlab.runner.campaign.run import plan_records
from pathlab.runner.events import Event, RunNotice, SearchNow
from pathlab.store.check import check_results
from pathlab.store.results import Results
from pathlab.study.lossless.rate_searches import list_searches
from tests.builders.searches import FakeCycles, count_link, make_search_campaign, run_searches
from tests.builders.stored import create_results

ONE_SEARCH: dict[str, Any] = {"cycles": 1, "factors": {"streams": 1, "transport": "udp", "datagram": 1000}}


def list_stored(results: Results, campaign: Campaign) -> list[tuple[SearchEnding | None, int | None]]:
    found = list_searches(results.plan(), results.records(), campaign.search.rule)
    return [(one.state.ending, one.state.below_bits_per_s) for one in found]


@dataclass
class Whole:
    """A run of two searches in each of two cycles that nothing ended, and what it stored."""

    results: Results
    cycles: FakeCycles
    events: list[Event]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    campaign, folder = make_search_campaign(), tmp_path_factory.mktemp("whole")
    with create_results(folder, campaign) as results:
        assert len(results.plan()) == 4
        ending, cycles, searches, events = run_searches(results, campaign, count_link(48e6))
        assert (ending, searches.list_unfinished(), searches.count_unplanned()) == (None, [], 0)
    assert check_results(folder).faults == ()
    with Results.open(folder) as results:
        yield Whole(results, cycles, events)


def test_every_search_of_every_cycle_ends(whole: Whole) -> None:
    results, measured = whole.results, whole.cycles.measured
    found = list_stored(results, make_search_campaign())
    assert [state for state, _ in found] == [SearchEnding.FOUND] * 4
    assert all(below is not None and 46e6 < below <= 48e6 / 0.99 for _, below in found)
    assert results.unfinished() == []
    assert [row.row for row in results.plan()] == list(range(len(results.plan())))
    # Each cycle is over before the next one begins, and its searches take turns.
    assert [row.cycle for row in measured] == sorted(row.cycle for row in measured)
    assert len({row.cell.gso for row in measured[:2]}) == 2
    assert whole.cycles.new_cycles.count(True) == 2
    steps = [event for event in whole.events if isinstance(event, SearchNow)]
    assert (steps[0].rate_bits_per_s, steps[0].trial, steps[0].below_bits_per_s) == (10**7, 1, None)
    assert steps[-1].below_bits_per_s is not None
    notices = [event for event in whole.events if isinstance(event, RunNotice) and event.kind == "search"]
    assert len(notices) == 4


def test_a_run_that_ended_is_continued_where_it_was(whole: Whole, tmp_path: Path) -> None:
    """All runs together measure what one would: no trial is lost, none repeated."""
    campaign = make_search_campaign()
    create_results(tmp_path, campaign).close()
    for stop_after in (0, 1, 4, 15, 23, None):
        with Results.open(tmp_path, write=True) as results:
            check_same_plan(results, campaign, plan_records(campaign))
            ending, _, searches, _ = run_searches(results, campaign, count_link(48e6), stop_after)
            assert ending == (None if stop_after is None else "stopped")
            assert bool(searches.list_unfinished()) == (stop_after is not None)
    with Results.open(tmp_path) as results:
        assert list_plan(results) == list_plan(whole.results)
        assert len(results.records()) == len(results.plan())
        assert results.unfinished() == []


def list_plan(results: Results) -> list[tuple[int, str]]:
    return sorted((row.cycle, str(row.settings)) for row in results.plan())


def test_a_run_killed_between_two_trials_has_no_open_row_and_goes_on(tmp_path: Path) -> None:
    campaign = make_search_campaign(**ONE_SEARCH)
    with create_results(tmp_path, campaign) as results:
        run_searches(results, campaign, count_link(48e6), stop_after=4)
        (row,) = results.unfinished()  # planned before its trial
        assert row.settings["pacing_bits_per_s"] == 100_000_000
    with Results.open(tmp_path, write=True) as results:
        _, cycles, _, _ = run_searches(results, campaign, count_link(48e6))
        assert cycles.measured[0].row == row.row


def test_a_search_whose_trial_fails_waits_for_the_next_run(tmp_path: Path) -> None:
    """The receiver dies at 100 Mbit/s with GSO: the other search goes on, and this one later."""
    campaign = make_search_campaign(cycles=1)
    link = count_link(48e6)

    def fail(row: PlanRow) -> Mapping[str, Any]:
        dies = row.cell.gso and row.cell.pacing_bits_per_s == 10**8
        return {**link(row), "status": "failed"} if dies else link(row)

    with create_results(tmp_path, campaign) as results:
        ending, cycles, searches, _ = run_searches(results, campaign, fail)
        assert ending is None
        assert [one.state.ending for one in searches.list_unfinished()] == [None]
        assert sum(bool(row.cell.gso) for row in cycles.measured) == 4  # three at the lowest, one that failed
        assert sorted(str(state) for state, _ in list_stored(results, campaign)) == ["None", "found"]
        run_searches(results, campaign, link)
        assert [str(state) for state, _ in list_stored(results, campaign)] == ["found", "found"]


def test_a_trial_that_a_safety_limit_ended_bounds_the_search(tmp_path: Path) -> None:
    campaign = make_search_campaign(**ONE_SEARCH)
    link = count_link(1e9)

    class Limited(FakeCycles):
        def run(self, rows: Any, interruption: object, *, is_new_cycle: bool = True) -> str | None:
            kept = [row for row in rows if (row.cell.pacing_bits_per_s or 0) < 60e6]
            for row in [row for row in rows if row not in kept]:
                self.truth = lambda _: {"status": "failed", "udp_sent_packets": None}
                super().run([row], interruption, is_new_cycle=is_new_cycle)
                self.truth = link
            return super().run(kept, interruption, is_new_cycle=is_new_cycle)

    with create_results(tmp_path, campaign) as results:
        cycles = Limited(results, link)
        cycles.stage = "safety-limit"
        searches = RateSearches(RunParts(campaign, results, lambda _: None), campaign.search.rule, ())
        assert searches.run(cast(CycleRunner, cycles), Interruption(), lambda _cycle: True) is None
        ((ending, below),) = list_stored(results, campaign)
        assert ending == SearchEnding.UNDECIDED
        assert 56e6 < below < 60e6
        at_highest = [row for row in cycles.measured if row.cell.pacing_bits_per_s == 10**8]
        assert len(at_highest) == 1
