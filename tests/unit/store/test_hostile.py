"""Results files that somebody made on purpose: what is odd but sound is read, or left out."""

from pathlib import Path

import pytest

from pathlab.store.check import check_results
from pathlab.store.series import encode_series
from tests.builders.stored import change_database, fill_results, replace_series
from tests.command_line import call

KIND = "loaded_probes"  # any: the bytes do not name it


def test_a_whole_surrogate_pair_is_text(tmp_path: Path) -> None:
    folder = change_database(fill_results(tmp_path), "UPDATE trial SET flags = '[\"\\ud83d\\ude00\"]'")
    assert check_results(folder).faults == ()


@pytest.mark.parametrize("dropped", ["phase", "bytes"])
def test_intervals_without_counts_are_left_out(
    dropped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in ("sender_intervals", "receiver_intervals"):
        folder = fill_results(tmp_path / kind)
        replace_series(folder, kind, lambda table: encode_series(KIND, table.drop_columns([dropped])))
        for form in ("iperf3", "flent", "hdr"):
            assert call(["export", kind, "--format", form, "--out", f"{kind}-{form}"], capsys).status == 0
        assert call(["report", kind, "--format", "json", "--out", "report.json"], capsys).status == 0
        assert check_results(folder).faults == ()
