"""The lossless rate over cycles: the bracket, the interval, hosts that limit, and what is not known."""

from pathlib import Path
from typing import Any

import pytest

from pathlab.analysis.planning.loss_search import RateVerdict, SearchEnding
from pathlab.study.analyses import StudiedResults
from pathlab.study.base.answer import Answers
from pathlab.study.comparison.rows import ChangeVerdict, compare_results
from pathlab.study.lossless.lossless_rate import LosslessRate
from tests.builders.searches import SEARCH, count_link, write_search_results

#: Few trials for each cycle.
COARSE = {**SEARCH, "resolution": "45%"}
ONE: dict[str, Any] = {"factors": {"streams": 1, "transport": "udp", "datagram": 1000}}


def analyse(folder: Path) -> Answers[LosslessRate]:
    with StudiedResults.open(folder) as results:
        assert results.conditions() == ()  # rates of a search are no combinations of their own
        return results.lossless_rate()


def test_one_answer_for_each_combination_over_all_cycles(tmp_path: Path) -> None:
    links = {False: count_link(48e6), True: count_link(60e6)}
    folder = write_search_results(
        tmp_path, lambda row: links[bool(row.cell.gso)](row), cycles=6, search=COARSE
    )
    answers = analyse(folder)
    found = {dict(answer.condition.settings)["gso"]: answer.result for answer in answers}
    assert found.keys() == {False, True}
    plain = found[False]
    assert (plain.name, plain.searches, plain.finished, plain.found) == ("local to local, gso no", 6, 6, 6)
    assert plain.ending == SearchEnding.FOUND
    assert plain.below_bits_per_s < 48.5e6 < plain.above_bits_per_s
    # The interval over cycles holds the truth although each cycle tried the same rates.
    assert plain.interval.contains(48e6 / 0.99)
    assert found[True].below_bits_per_s == pytest.approx(60e6, rel=0.2)
    rates = {rate.rate_bits_per_s: rate for rate in plain.rates}
    assert list(rates) == sorted(rates)
    assert rates[10**7].verdicts == ((RateVerdict.BELOW, 6),)
    assert (rates[10**7].lost, rates[10**7].loss_ratio) == (0, 0)
    assert rates[10**8].verdict == RateVerdict.ABOVE
    assert rates[10**8].loss_ratio == pytest.approx(0.52, abs=0.01)
    assert rates[10**8].path_lost == rates[10**8].lost
    assert rates[10**8].refused is None
    (answer, _) = answers
    assert answer.selection.used == answer.selection.trials


def test_the_rates_are_those_of_the_cycles_that_found_one(tmp_path: Path) -> None:
    """A cycle without a limit has no rate above: with it the median below could exceed the one above."""
    link, clean = count_link(48e6), count_link(1e9)
    truth = write_search_results(
        tmp_path, lambda row: (clean if row.cycle else link)(row), cycles=3, search=SEARCH, **ONE
    )
    (answer,) = analyse(truth)
    found = answer.result
    assert (found.finished, found.found) == (3, 1)
    assert 46e6 < found.below_bits_per_s < 48.5e6 < found.above_bits_per_s < 50e6


def test_two_campaigns_are_compared_by_what_each_cycle_found(tmp_path: Path) -> None:
    coarse: dict[str, Any] = {"cycles": 6, "search": {**COARSE, "lowest": "25Mbit/s"}, **ONE}
    before = write_search_results(tmp_path / "before", count_link(30e6), **coarse)
    after = write_search_results(tmp_path / "after", count_link(80e6), **coarse)
    with StudiedResults.open(before) as first, StudiedResults.open(after) as second:
        found = compare_results([("before", first), ("after", second)])
        (row,) = found.rows
    assert row.metric.name == "lossless-rate"
    assert (row.change.first_n, row.change.second_n) == (6, 6)
    assert row.verdict is ChangeVerdict.BETTER
    assert (row.before_median, row.after_median) == pytest.approx((25e6, 70.7e6), rel=0.01)
