"""HdrHistogram logs of trials that kept histograms."""

import datetime
from pathlib import Path

from pathlab.store.arrays import convert_rows
from pathlab.store.exporting import load_format, select_trials
from pathlab.store.series_columns import SERIES
from tests.builders.series import make_end_intervals, make_histogram_row
from tests.builders.stored import COMPLETE, make_results
from tests.unit.store.exporters.test_export import export
from tests.unit.store.hdr_format import read_log


def test_an_hdr_log_has_a_line_for_each_interval_of_histograms(tmp_path: Path) -> None:
    """Streams of one interval share a line; warm-up and what is only half in the window have none."""
    messages = [
        make_histogram_row(start_ms * 10**6, [value + stream], phase=phase, stream=stream)
        for start_ms, phase, value in ((0, "warmup", 5), (100, "steady", 10), (200, "steady", 7_000_000))
        for stream in range(2)
    ]
    probes = [
        make_histogram_row(start_ms * 10**6, values, sent=3, lost=3 - len(values), reordered=0)
        for start_ms, values in ((50, [5]), (100, [6, 8]), (200, []), (250, [9]))
    ]
    with make_results(tmp_path / "stored") as results:
        series = {
            "sender_intervals": make_end_intervals(sender=True),
            "round_trips": convert_rows(messages, SERIES["round_trips"].schema),
            "loaded_probe_histograms": convert_rows(probes, SERIES["loaded_probe_histograms"].schema),
        }
        results.add_trial(COMPLETE, series)
        lines = read_log(export(results, "hdr", tmp_path / "out.hlog"))
        assert load_format("hdr").list_left_out(select_trials(results)) == []
    begin_s = datetime.datetime.fromisoformat(COMPLETE.started_utc).timestamp()
    assert [(line.tag, round(line.start_s - begin_s, 3), line.values) for line in lines] == [
        ("trial-1-loaded", 0.1, {6: 1, 8: 1}),
        ("trial-1-messages", 0.1, {10: 1, 11: 1}),
        ("trial-1-messages", 0.2, {6_979_584: 2}),
    ]
    assert [line.length_s for line in lines] == [0.1, 0.1, 0.1]
    assert [line.max_ms for line in lines] == [0.000008, 0.000011, 7.012351]
