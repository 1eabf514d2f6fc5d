"""What goes out: every figure as it is stored, empty where nothing was measured, whole or not at all."""

import dataclasses
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab import __version__
from pathlab.cli.commands.export import export as export_command
from pathlab.errors import StoreError, UsageError
from pathlab.store.exporting import load_format, select_trials
from pathlab.store.results import Results
from tests.builders.stored import CAMPAIGN, COMPLETE, PLAN, change_database, fill_results, make_results
from tests.golden.conftest import Say, catch
from tests.unit.store.exporters.test_export import BOTH_ENDS, CPU, export


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Results]:
    with Results.open(fill_results(tmp_path / "stored")) as opened:
        yield opened


def read_text(path: Path) -> str:
    """A file as text, JSON with one value a line."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    text = text.replace(__version__, "VERSION")
    return json.dumps(json.loads(text), indent=1) if path.suffix in (".gz", ".json") else text


def read_files(place: Path) -> dict[str, str]:
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    return {path.name: read_text(path) for path in files}


@pytest.mark.parametrize("name", ["csv", "flent", "iperf3", "jsonl", "openmetrics"])
def test_files_of_a_format(say: Say, tmp_path: Path, results: Results, name: str) -> None:
    """Every figure as it is stored, empty where nothing was measured."""
    say(read_files(export(results, name, tmp_path / "out")))


@pytest.mark.parametrize("name", ["flent", "iperf3"])
def test_files_of_a_reversed_trial_are_the_clients_view(say: Say, tmp_path: Path, name: str) -> None:
    settings = {**PLAN[0].settings, "direction": "reverse", "transport": "mptcp"}
    planned = dataclasses.replace(PLAN[0], settings=settings)
    with Results.create(tmp_path / "stored", CAMPAIGN, [planned]) as stored:
        stored.add_trial(dataclasses.replace(COMPLETE, **CPU), BOTH_ENDS)
        say(read_files(export(stored, name, tmp_path / "out")))


def test_a_damaged_series_leaves_nothing_behind(say: Say, tmp_path: Path) -> None:
    damage = "UPDATE series SET blob = x'00' WHERE kind = 'loaded_probes'"
    folder = change_database(fill_results(tmp_path / "stored"), damage)
    with Results.open(folder) as results:
        for name in ("parquet", "csv", "jsonl", "flent", "hdr"):
            say(catch(StoreError, export, results, name, tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["stored"]


def test_nothing_to_export_is_one_line(say: Say, tmp_path: Path, results: Results) -> None:
    with make_results(tmp_path / "empty") as empty:
        say(catch(UsageError, select_trials, empty))
    say(catch(UsageError, select_trials, results, [9]))
    only = select_trials(results, [2])
    say(catch(UsageError, load_format("hdr").export, only, tmp_path / "out.hlog"))
    assert not (tmp_path / "out.hlog").exists()


def test_what_flent_cannot_show_is_left_out_and_said(
    say: Say, tmp_path: Path, results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    say(catch(UsageError, export, results, "flent", tmp_path / "none", 2))
    assert not (tmp_path / "none").exists()
    export_command(results.path, "flent", tmp_path / "some", (), with_series=True, timestamps=True)
    out, errors = capsys.readouterr()
    assert out == f"{tmp_path / 'some'}\n"
    say(errors)
    export_command(results.path, "csv", tmp_path / "all", (), with_series=True, timestamps=True)
    assert capsys.readouterr().err == ""
