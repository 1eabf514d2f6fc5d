"""The lossless rate over cycles: the bracket, the interval, hosts that limit, and what is not known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pathlab.analysis.estimators.interval import Undecided
from pathlab.campaign.order import PlanRow
from tests.builders.searches import count_link, make_search_campaign, run_searches, write_search_results
from tests.builders.stored import create_results
from tests.golden.conftest import Say
from tests.unit.study.lossless.test_lossless_rate import analyse

ONE: dict[str, Any] = {"factors": {"streams": 1, "transport": "udp", "datagram": 1000}}


def test_cycles_whose_loss_may_be_the_hosts_are_counted(say: Say, tmp_path: Path) -> None:
    link = count_link(48e6)

    def hide(row: PlanRow) -> Mapping[str, Any]:
        counts = link(row)
        return (
            {**counts, "udp_lost_path_packets": None} if row.cycle and counts["udp_lost_packets"] else counts
        )

    (answer,) = analyse(write_search_results(tmp_path, hide, cycles=3, **ONE))
    say(answer.result.text)


def test_one_cycle_has_a_bracket_and_no_interval(say: Say, tmp_path: Path) -> None:
    (answer,) = analyse(write_search_results(tmp_path, count_link(48e6), cycles=1, **ONE))
    assert answer.result.undecided == Undecided.TOO_FEW_SAMPLES
    say(answer.result.text)


def test_cycles_that_end_differently_are_each_named(say: Say, tmp_path: Path) -> None:
    clean, link = count_link(1e9), count_link(48e6)

    def limit(row: PlanRow) -> Mapping[str, Any]:
        """In the third cycle the sender is slow."""
        if row.cycle != 2:
            return link(row)
        sent_per_s = min(30e6, row.cell.pacing_bits_per_s or 0) / 8000
        return {**clean(row), "udp_sent_packets_per_s": sent_per_s, "udp_refused_packets": 5}

    (answer,) = analyse(write_search_results(tmp_path, limit, cycles=3, **ONE))
    found = answer.result
    assert (found.ending, found.finished, found.found) == (None, 3, 2)
    assert found.undecided == Undecided.INCONCLUSIVE
    say(found.text)
    (reason,) = [one for one in answer.selection.excluded if one.reason == "sender-short"]
    assert reason.trials == sum(rate.short for rate in found.rates) > 0


def test_a_search_that_did_not_end_is_not_found(say: Say, tmp_path: Path) -> None:
    campaign = make_search_campaign(cycles=1, **ONE)
    with create_results(tmp_path, campaign) as results:
        run_searches(results, campaign, count_link(48e6), stop_after=7)
    (answer,) = analyse(tmp_path)
    assert (answer.result.ending, answer.result.finished, answer.result.found) == (None, 0, 0)
    say(answer.result.text)
    assert answer.result.undecided == Undecided.INCONCLUSIVE
