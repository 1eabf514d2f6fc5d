"""Views over the Python API: of one results folder, of several, and of one that grows."""

from pathlib import Path

import numpy as np

import pathlab
from pathlab.store.results import Results
from tests.builders.results import make_quickstart, write_results


def test_a_view_has_the_medians_of_the_analyses(tmp_path: Path) -> None:
    with pathlab.open(write_results(make_quickstart(cycles=7), tmp_path / "results")) as results:
        figure = results.view("x=streams&y=throughput_bits_per_s&colour=window_bytes")
        points = {
            (curve.colour_level, point.x): (point.y, point.low, point.high, point.trials)
            for curve in figure.facets[0].curves
            for point in curve.points
        }
        windows = results.explore().levels("window_bytes")
        answers = results.serial()
        assert len(points) == len(answers) == 8
        for answer in answers:
            level = windows.index(answer.window_bytes or 0)
            y, low, high, trials = points[level, float(answer.streams or 0)]
            median = answer.result.median
            assert trials == answer.selection.used == 7
            expected = [median.estimate, median.interval.low, median.interval.high]
            found = np.array([y, low, high], dtype=np.float64)
            np.testing.assert_allclose(found, np.array(expected, dtype=np.float64) / 1e6, rtol=1e-9)


def test_a_view_sees_the_trials_that_were_stored_since(tmp_path: Path) -> None:
    source = make_quickstart(cycles=2)
    every, source.records = source.records, source.records[:9]
    folder = write_results(source, tmp_path / "results")
    with pathlab.open(folder) as results:
        assert len(results.explore()) == 9
        with Results.open(folder, write=True) as writer:
            for record in every[9:]:
                writer.add_trial(record, {})
        figure = results.view()
        assert sum(point.trials for curve in figure.facets[0].curves for point in curve.points) == 16
