"""Captures beside a results file: placed whole, found, checked, copied and removed."""

from pathlib import Path

import pytest

from pathlab.store.capture_files import FOLDER, locate_capture, open_nameless_file, place_captures
from pathlab.store.check import check_results
from pathlab.store.results import Results
from tests.builders.stored import CAMPAIGN, PLAN
from tests.command_line import call
from tests.golden.conftest import Say
from tests.unit.store.test_capture_files import add_captured, is_unlike

BYTES = b"capture" * 1000


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results.create(tmp_path / "r", CAMPAIGN, PLAN)


def test_what_cannot_be_kept_is_named_and_the_trial_stays(say: Say, results: Results) -> None:
    (results.folder / FOLDER).mkdir()
    locate_capture(results.folder, 3, "sender").mkdir()
    with open_nameless_file(results.folder) as file:
        failures = place_captures(results.folder, 3, {"sender": file})
    say(failures)


def test_captures_are_listed_and_checked(say: Say, results: Results) -> None:
    first, second = add_captured(results, 0), add_captured(results, 1, b"other")
    found = results.captures()
    assert [(one.trial_id, one.end, one.packets, one.size_bytes) for one in found] == [
        (first, "sender", 70, len(BYTES)),
        (second, "sender", 70, 5),
    ]
    assert [one.trial_id for one in results.captures(range(second, second + 1))] == [second]
    assert not is_unlike(results.folder)
    found[0].path.unlink()
    found[1].path.write_bytes(b"othex")
    (results.folder / FOLDER / "trial-9-sender.pcapng").write_bytes(b"")
    (results.folder / FOLDER / "notes").write_bytes(b"")
    checked = check_results(results.folder)
    say(checked.faults)
    say(checked.notes)  # no figure of a trial depends on them
    found[1].path.write_bytes(b"oth")
    say(check_results(results.folder).faults[0])


def test_results_without_their_captures_are_sound_and_say_so(
    say: Say, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    add_captured(results, 0)
    results.captures()[0].path.unlink()
    said = call(["results", "check", str(results.folder)], capsys)
    assert said.status == 0
    say(said.out.splitlines()[0])
    assert "no errors found (1 trials" in said.out
