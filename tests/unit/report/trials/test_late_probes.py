"""Where probes are late, every text gives what an RTT or dRTT is above, and never a dash."""

from pathlib import Path

import pytest

from pathlab.cli.results_show import print_overview
from pathlab.cli.running_table import format_trial_line
from pathlab.report.base.answer_table import render_analyses
from pathlab.report.trials.trial_text import build_round_trips_table, list_trial_facts
from pathlab.study.analyses import StudiedResults, Study
from pathlab.study.base.registry import ANALYSES
from tests.builders.printed import print_text
from tests.builders.results import SyntheticResults, make_quickstart, write_results

IDLE_NS = 40e6
#: Of every trial: the mean is above 1.24 s, the median above 1.14 s, loaded; 40 ms idle.
LATE = {
    **{"loaded_rtt_mean_ns": None, "loaded_rtt_median_ns": None, "loaded_sent": 20, "loaded_received": 5},
    **{"loaded_rtt_mean_above_ns": 1.24e9, "loaded_rtt_median_above_ns": 1.14e9, "loaded_late": 15},
    **{"unloaded_rtt_mean_ns": IDLE_NS, "unloaded_rtt_median_ns": IDLE_NS},
}


@pytest.fixture(scope="module")
def results() -> SyntheticResults:
    made = make_quickstart(cycles=6, levels=[(1, 65536), (4, 65536)]).copy(series={})
    made.change_trials(**LATE)
    return made


@pytest.mark.parametrize(
    ("name", "heading", "bounds"),
    [("cells", "dRTT", ["above 1.2 s"]), ("recommendation", "dRTT", ["above 1.2 s"])],
)
def test_analyses_give_the_bound(
    results: SyntheticResults, name: str, heading: str, bounds: list[str]
) -> None:
    answers = {name: ANALYSES[name](Study(results))}
    text = print_text(lambda console: render_analyses(answers, console), 300)
    assert heading in text
    for bound in bounds:
        assert bound in text, text


def test_figures_of_a_combination_and_of_medians_keep_the_bound(results: SyntheticResults) -> None:
    for answer in Study(results).cells():
        found = answer.result
        assert (found.drtt_ns.median, found.drtt_ns.above_ns) == (None, 1.2e9)
        assert (found.drtt_median_ns.median, found.drtt_median_ns.above_ns) == (None, 1.1e9)
        assert (found.loaded_rtt_mean_ns.median, found.loaded_rtt_mean_ns.above_ns) == (None, 1.24e9)


def test_lists_and_facts_of_trials_give_the_bound(results: SyntheticResults, tmp_path: Path) -> None:
    folder = write_results(results, tmp_path / "results")
    listed = print_text(lambda console: print_overview(folder, console, limit=None, offset=0), 200)
    assert listed.count("above 1.14 s") == len(results.records), listed
    record = results.records[0]
    assert "dRTT above 1.2 s" in format_trial_line(record, {"streams": 1, "window_bytes": 65536})
    assert (
        dict(list_trial_facts(record, None, 1))["dRTT"] == "above 1.2 s (difference of medians: above 1.1 s)"
    )
    with StudiedResults.open(folder) as stored:
        rows = build_round_trips_table(record, stored, 1).rows
    assert "above 1.24 s" in rows[0]
