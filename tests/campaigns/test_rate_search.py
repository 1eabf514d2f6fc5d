"""Searches for the lossless rate on real engines: one loses its receiver, no path limits the other."""

import itertools
import os
import signal
from pathlib import Path

import pytest

from pathlab.analysis.planning.loss_search import RateVerdict, SearchEnding
from pathlab.engines.native import NativeEngine
from pathlab.study.analyses import StudiedResults
from tests.integration.conducting import campaign_of, run, stored

pytestmark = [pytest.mark.engine]


def test_a_receiver_that_dies_costs_a_trial_and_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_engines, trials = NativeEngine.run, itertools.count()

    def kill_and_run(engine: NativeEngine) -> None:
        if next(trials) == 1:
            os.kill(engine._jobs["receiver"].pid, signal.SIGKILL)
        run_engines(engine)

    monkeypatch.setattr(NativeEngine, "run", kill_and_run)
    campaign = campaign_of(
        factors={"streams": 1, "transport": "udp", "datagram": "200B"},
        search={"loss": "20%", "lowest": "400kbit/s", "highest": "800kbit/s", "resolution": "50%"},
        trial={"warmup": "20ms", "duration": "200ms", "interval": "50ms"},
        retries=1,
    )
    outcome = run(campaign, tmp_path / "out")
    assert (outcome.missing, outcome.ended) == (0, None)
    assert [record.status for record in stored(tmp_path / "out")].count("failed") == 1
    with StudiedResults.open(tmp_path / "out") as results:
        assert [answer.result.finished for answer in results.lossless_rate()] == [1]
    again = run(campaign, tmp_path / "out")
    assert (again.rows, again.complete) == (outcome.rows, outcome.complete)  # nothing was left to do


def test_a_rate_beyond_the_hosts_is_no_rate_of_the_path(tmp_path: Path) -> None:
    """Over loopback, which loses nothing: the search ends at what a host can do, and says so."""
    campaign = campaign_of(
        factors={"streams": 1, "transport": "udp", "datagram": 1472},
        probes={"interval": "50ms", "unloaded": 2},
        search={"loss": "5%", "lowest": "20Mbit/s", "highest": "900Gbit/s", "resolution": "50%"},
        trial={"warmup": "50ms", "duration": "300ms", "interval": "50ms"},
    )
    assert run(campaign, tmp_path / "out").missing == 0
    with StudiedResults.open(tmp_path / "out") as results:
        (answer,) = results.lossless_rate()
    found = answer.result
    assert found.ending in (SearchEnding.SENDER, SearchEnding.RECEIVER, SearchEnding.UNDECIDED), found.text
    assert (found.rates[-1].verdict, found.rates[-1].trials) == (RateVerdict.SENDER, 0)
    assert all(rate.verdict is not RateVerdict.ABOVE for rate in found.rates), found.text
