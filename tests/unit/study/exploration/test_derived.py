"""Figures that follow from several columns: those that the analyses state for the same trials."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults, Study
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.measures import LOSSLESS_COLUMN
from tests.builders.messages import make_message_results
from tests.builders.results import make_quickstart
from tests.builders.searches import SEARCH, count_link, write_search_results


@cache
def study_quickstart() -> Study:
    return Study(make_quickstart(cycles=5))


@cache
def explore_quickstart() -> ExploredResults:
    return ExploredResults.of(study_quickstart())


def take(streams: int | None, window_bytes: int | None, name: str) -> Floats:
    found = explore_quickstart()
    inside = (found.numbers("streams") == streams) & (found.numbers("window_bytes") == window_bytes)
    values: Floats = found.numbers(name)[inside & found.counted]
    return values


def test_loss_and_retransmissions_are_shares_of_what_was_sent() -> None:
    for answer in study_quickstart().cells():
        loss = take(answer.streams, answer.window_bytes, "loaded_loss_ratio")
        np.testing.assert_allclose(loss.mean(), 100 * (answer.result.loaded_loss.loss_ratio or 0), rtol=1e-9)
    for figures in study_quickstart().rfc6349():
        again = take(figures.streams, figures.window_bytes, "retransmitted_ratio")
        efficiency = figures.result.efficiency_percent.median
        assert efficiency is not None
        np.testing.assert_allclose(100 - float(np.median(again)), efficiency, rtol=1e-12)


def test_round_trips_count_messages_that_never_returned() -> None:
    source = make_message_results(cycles=1)
    before = ExploredResults.of(Study(source)).numbers("round_trip_p99_ns")
    total = source.records[0].messages_total or 0
    source.records[0] = replace(source.records[0], messages_missing=total // 200)
    after = ExploredResults.of(Study(source)).numbers("round_trip_p99_ns")
    assert after[0] > before[0]
    np.testing.assert_array_equal(after[1:], before[1:])


def test_a_search_has_the_rate_that_it_found_however_its_trials_came(tmp_path: Path) -> None:
    one: dict[str, Any] = {"factors": {"streams": 1, "transport": "udp", "datagram": 1000}}
    search = {**SEARCH, "resolution": "45%"}
    folder = write_search_results(tmp_path / "done", count_link(48e6), cycles=2, search=search, **one)
    with StudiedResults.open(folder) as results:
        (answer,) = results.lossless_rate()
        every, plan = results.records(), results.plan()
        campaign = results.campaign
    whole = ExploredResults.open([folder]).numbers(LOSSLESS_COLUMN)
    known = whole[~np.isnan(whole)]
    assert len(known) == answer.result.found == 2
    assert answer.result.below_bits_per_s is not None
    np.testing.assert_allclose(known * 1e6, answer.result.below_bits_per_s, rtol=1e-12)
    with Results.create(tmp_path / "growing", campaign, ()) as writer:
        growing = ExploredResults.open([tmp_path / "growing"])
        rows = iter(plan)
        for record in every:
            while len(writer.plan()) <= record.plan_row:
                writer.add_plan_row(next(rows))
            writer.add_trial(record, {})
            growing.refresh()
    np.testing.assert_array_equal(growing.numbers(LOSSLESS_COLUMN), whole)
