"""Results files that SQLite reads without a complaint: the check and every reader find the same damage."""

from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.store.check import check_results
from pathlab.store.results import Results
from tests.builders.stored import change_database, fill_results
from tests.command_line import call


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ALTER TABLE trial RENAME COLUMN failed_stage TO Failed_stage", "instead of 'failed_stage'"),
        ("ALTER TABLE host RENAME COLUMN facts TO fActs", "table 'host' has the column 'fActs'"),
        (
            "UPDATE trial SET loaded_sent = 98 WHERE trial_id = 1",
            "less than loaded_received + loaded_late = 99",
        ),
        ("UPDATE trial SET loaded_late = 2 WHERE trial_id = 3", "trial_id 3, column 'loaded_sent' holds 100"),
        ("UPDATE trial SET udp_sent_packets = 1, udp_lost_packets = 2", "less than udp_lost_packets = 2"),
    ],
)
def test_check_and_readers_find_the_same(
    statement: str,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    change_database(fill_results(tmp_path / "bad"), statement)
    for command in ("results check bad", "report bad --quiet --format json --out out.json"):
        said = call(command.split(), capsys)
        assert (said.status, expected in said.err + said.out) == (5, True), command
    with pytest.raises(StoreError, match="is damaged"), Results.open(tmp_path / "bad", write=True) as results:
        results.records()
    if statement.startswith("UPDATE"):
        assert any(expected in fault for fault in check_results(tmp_path / "bad").faults)
