"""``pathlab report RESULTS --figure NAME``: what it writes, prints and refuses."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pathlab.cli.commands.report import command
from pathlab.cli.figures import write_single
from pathlab.study.analyses import StudiedResults
from tests.builders.results import make_quickstart, write_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results on the disk with series."""
    synthetic = make_quickstart(cycles=2, levels=[(1, 65536), (4, 65536)])
    return write_results(synthetic, tmp_path_factory.mktemp("figures") / "results")


@pytest.fixture
def stored(folder: Path) -> Iterator[StudiedResults]:
    with StudiedResults.open(folder) as opened:
        yield opened


def test_a_figure_is_written_and_its_path_printed(folder: Path, tmp_path: Path) -> None:
    for name in ("trial-3", "throughput-streams-1", "contributions-1-4-64KiB"):
        out = tmp_path / f"{name}.svg"
        result = CliRunner().invoke(command, [str(folder), "--figure", name, "--out", str(out)])
        assert result.exit_code == 0, result.output
        assert result.output == f"{out}\n"
        assert out.read_bytes().startswith(b"<?xml")


def test_the_list_names_every_figure_once(stored: StudiedResults, capsys: pytest.CaptureFixture[str]) -> None:
    write_single(stored, "list", None, None)
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    names = [row[0] for row in rows]
    assert len(names) == len(set(names))
    assert {"throughput-streams-1", "contributions-1-4-64KiB", "trial-N"} <= set(names)
    assert rows[-1][1] == "all series of trial N, from 1 to 4"
    assert all("west → east" in title for name, title in rows[:-1])
