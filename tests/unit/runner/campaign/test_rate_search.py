"""Searches at work: rows planned as they go, continued from what is stored, left alone where trials fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from pathlab.analysis.planning.loss_search import SearchEnding
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.runner.campaign.cycle import CycleRunner, RunParts
from pathlab.runner.campaign.interruption import Interruption
from pathlab.runner.campaign.rate_search import RateSearches
from pathlab.runner.campaign.resumption import refuse_other_plan
from pathlab.runner.campaign.run import plan_records
from pathlab.runner.events import RunNotice, SearchNow
from pathlab.store.check import check_results
from pathlab.store.results import Results
from pathlab.study.rate_searches import list_searches
from tests.builders.searches import (
    FakeCycles,
    count_link,
    make_search_campaign,
    run_searches,
)
from tests.builders.stored import create_results


def list_stored(results: Results, campaign: Campaign) -> list[tuple[SearchEnding | None, int | None]]:
    assert campaign.search is not None
    found = list_searches(results.plan(), results.records(), campaign.search.rule)
    return [(one.state.ending, one.state.below_bits_per_s) for one in found]


def test_every_search_of_every_cycle_ends(tmp_path: Path) -> None:
    campaign = make_search_campaign()
    with create_results(tmp_path, campaign) as results:
        assert len(results.plan()) == 4
        ending, cycles, searches, events = run_searches(results, campaign, count_link(48e6))
        assert ending is None
        assert searches.list_unfinished() == []
        assert searches.count_unplanned() == 0
        found = list_stored(results, campaign)
        assert [state for state, _ in found] == [SearchEnding.FOUND] * 4
        assert all(below is not None and 46e6 < below <= 48e6 / 0.99 for _, below in found)
        assert results.unfinished() == []
        assert [row.row for row in results.plan()] == list(range(len(results.plan())))
    assert check_results(tmp_path).faults == ()
    # Each cycle is over before the next one begins, and its searches take turns.
    assert [row.cycle for row in cycles.measured] == sorted(row.cycle for row in cycles.measured)
    assert len({row.cell.gso for row in cycles.measured[:2]}) == 2
    assert cycles.new_cycles.count(True) == 2
    steps = [event for event in events if isinstance(event, SearchNow)]
    assert (steps[0].rate_bits_per_s, steps[0].trial, steps[0].below_bits_per_s) == (10**7, 1, None)
    assert steps[-1].below_bits_per_s is not None
    notices = [event.text for event in events if isinstance(event, RunNotice) and event.kind == "search"]
    assert len(notices) == 4
    assert notices[0].startswith("local to local, gso ")
    assert "cycle 1: loss ≤ 1 % up to 4" in notices[0]


@pytest.fixture(scope="module")
def whole_plan(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str]]:
    """Cycle and settings of every row of a search that nothing ended."""
    campaign = make_search_campaign()
    with create_results(tmp_path_factory.mktemp("whole"), campaign) as results:
        run_searches(results, campaign, count_link(48e6))
        return sorted((row.cycle, str(row.settings)) for row in results.plan())


@pytest.mark.parametrize("stop_after", [0, 1, 5, 20, 43])
def test_a_run_that_ended_is_continued_where_it_was(
    tmp_path: Path, whole_plan: list[tuple[int, str]], stop_after: int
) -> None:
    """Both runs together measure what one would: no trial is lost, none repeated."""
    campaign, parts = make_search_campaign(), tmp_path / "parts"
    with create_results(parts, campaign) as results:
        ending, _, searches, _ = run_searches(results, campaign, count_link(48e6), stop_after)
        assert ending == "stopped"
        assert searches.list_unfinished()
    with Results.open(parts, write=True) as results:
        refuse_other_plan(results, campaign, plan_records(campaign))
        run_searches(results, campaign, count_link(48e6))
        assert sorted((row.cycle, str(row.settings)) for row in results.plan()) == whole_plan
        assert len(results.records()) == len(results.plan())
        assert results.unfinished() == []


def test_a_run_killed_between_two_trials_has_no_open_row_and_goes_on(tmp_path: Path) -> None:
    campaign = make_search_campaign(cycles=1, factors={"streams": 1, "transport": "udp", "datagram": 1000})
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
    campaign = make_search_campaign(cycles=1, factors={"streams": 1, "transport": "udp", "datagram": 1000})
    link = count_link(1e9)

    class Limited(FakeCycles):
        def run(self, rows: Any, interruption: object, *, is_new_cycle: bool = True) -> str | None:
            kept = [row for row in rows if (row.cell.pacing_bits_per_s or 0) < 60e6]
            for row in [row for row in rows if row not in kept]:
                self.truth = lambda _: {"status": "failed", "udp_sent_packets": None}
                super().run([row], interruption, is_new_cycle=is_new_cycle)
                self.truth = link
            return super().run(kept, interruption, is_new_cycle=is_new_cycle)

    assert campaign.search is not None
    with create_results(tmp_path, campaign) as results:
        cycles = Limited(results, link)
        cycles.stage = "safety-limit"
        searches = RateSearches(RunParts(campaign, results, lambda _: None), campaign.search.rule, ())
        assert searches.run(cast(CycleRunner, cycles), Interruption(), lambda _cycle: True) is None
        ((ending, below),) = list_stored(results, campaign)
        assert ending == SearchEnding.UNDECIDED
        assert below is not None
        assert 56e6 < below < 60e6
        at_highest = [row for row in cycles.measured if row.cell.pacing_bits_per_s == 10**8]
        assert len(at_highest) == 1
