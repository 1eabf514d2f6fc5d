"""Short texts of commands."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pathlab.cli.figures import write_single
from pathlab.cli.running_table import format_trial_line
from pathlab.study.analyses import StudiedResults
from tests.builders.results import make_quickstart, write_results
from tests.golden.conftest import Say
from tests.unit.cli.test_live_messages import ANSWERED, MESSAGE_LEVELS

VARIED = ("transport", "batch_bytes", "message_bytes", "placement")


def test_a_trial_of_messages_says_what_it_measured_and_what_varies(say: Say) -> None:
    say(format_trial_line(ANSWERED, MESSAGE_LEVELS, VARIED))
    one_way = replace(ANSWERED, round_trip_median_ns=None, flags=("lab",))
    say(format_trial_line(one_way, MESSAGE_LEVELS, ("streams",)))
    failed = replace(ANSWERED, status="failed", failure="refused")
    say(format_trial_line(failed, MESSAGE_LEVELS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results on the disk with series."""
    synthetic = make_quickstart(cycles=2, levels=[(1, 65536), (4, 65536)])
    return write_results(synthetic, tmp_path_factory.mktemp("figures") / "results")


@pytest.fixture
def stored(folder: Path) -> Iterator[StudiedResults]:
    with StudiedResults.open(folder) as opened:
        yield opened


def test_the_numbers_of_a_figure_are_written_as_csv(say: Say, stored: StudiedResults, tmp_path: Path) -> None:
    write_single(stored, "trial-3", tmp_path / "a.csv", None)
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    say(lines[0])
    assert any("probes under load" in line for line in lines)
