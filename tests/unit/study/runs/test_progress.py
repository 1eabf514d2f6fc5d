"""What was excluded, and which combinations a reader must be warned of."""

from dataclasses import replace

from pathlab.study.analyses import Study
from pathlab.study.base.cells import Cell
from pathlab.study.runs.progress import find_warnings, survey_conditions
from tests.builders.results import SyntheticResults, make_quickstart
from tests.builders.trials import make_failed

KIB = 1024
LEVELS = [(1, 64 * KIB), (2, 64 * KIB)]


def flag_trials(cycles: int, flagged: int, name: str) -> SyntheticResults:
    """Two combinations; of that with one stream the first so many trials bear the flag."""
    results = make_quickstart(cycles=cycles, levels=LEVELS)
    results.change_trials(
        lambda one: replace(one, flags=("lab", name)) if one.streams == 1 and one.cycle < flagged else one
    )
    return results


def name_cells(cells: tuple[Cell, ...]) -> list[str]:
    return [cell.name for cell in cells]


def test_excluded_trials_and_flags_are_counted_over_all_conditions() -> None:
    results = flag_trials(6, 2, "host-limited")
    results.records[-1] = make_failed(results.records[-1])
    more = [replace(one, path_destination="east2") for one in results.records]
    results.records = [*results.records, *more]
    found = survey_conditions(Study(results).conditions())
    assert found.excluded == {"failed": 2, "host-limited": 4}
    assert found.flags["host-limited"] == 4
    assert list(found.flags) == sorted(found.flags)


def test_half_of_the_trials_are_not_most_of_them() -> None:
    for flagged, most in ((3, []), (4, ["1 × 64 KiB"])):
        (condition,) = Study(flag_trials(6, flagged, "host-limited")).conditions()
        found = find_warnings(condition)
        assert name_cells(found.mostly.get("host-limited", ())) == most
        assert name_cells(found.partly["host-limited"]) == ["1 × 64 KiB"]
        assert (found.too_few, found.least_trials) == ((), 6)


def test_combinations_with_too_few_trials_are_named() -> None:
    results = make_quickstart(cycles=6, levels=LEVELS)
    (sound,) = Study(results).conditions()
    assert not find_warnings(sound).evenly_few
    results.records[0] = make_failed(results.records[0])
    (condition,) = Study(results).conditions()
    found = find_warnings(condition)
    assert (len(found.too_few), found.least_trials, found.evenly_few) == (1, 5, False)
    (few,) = Study(make_quickstart(cycles=2, levels=LEVELS)).conditions()
    assert find_warnings(few).evenly_few


def test_short_windows_have_the_least_grant() -> None:
    results = make_quickstart(cycles=6, levels=LEVELS)
    results.change_trials(
        lambda one: replace(one, window_granted_receiver_bytes=65_536 if one.streams == 2 else 131_072)
    )
    (condition,) = Study(results).conditions()
    found = find_warnings(condition)
    assert (name_cells(found.short), found.least_granted_bytes) == (["2 × 64 KiB"], 65_536)


def test_trials_are_counted_once_until_they_are_read_again() -> None:
    results = make_quickstart(cycles=2, levels=LEVELS)
    study = Study(results)
    counts = study.count_trials()
    assert counts.complete == 4
    assert study.count_trials() is counts
    results.records[0] = make_failed(results.records[0])
    study.reread()
    assert (study.count_trials().complete, study.count_trials().failed) == (3, 1)
