"""Damaged results files: every command that reads them names the file and goes on, or ends with status 5."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.study.analyses import StudiedResults
from tests.builders.damage import mutate
from tests.builders.results import make_quickstart
from tests.builders.stored import fill_results
from tests.command_line import call
from tests.integration.test_report_commands import store
from tests.length import choose_runs

KIB = 1024
FIRST = (["results", "check", "bad"], ["results", "list", "."])
OTHERS = (
    ["results", "show", "bad"],
    ["results", "show", "bad", "--json"],
    ["report", "bad", "--quiet", "--format", "md", "--out", "out/report.md"],
    ["report", "bad", "--quiet", "--format", "html", "--out", "out/report.html"],
    ["report", "bad", "--quiet", "--format", "json", "--out", "out/report.json"],
    ["report", "bad", "--figure", "trial-1", "--out", "out/one.csv"],
    ["analyze", "bad", "--json"],
    ["analyze", "bad"],
    ["compare", "bad", "good"],
    ["compare", "good", "bad", "--json"],
    ["export", "bad", "--format", "csv", "--out", "out/csv"],
    ["export", "bad", "--format", "parquet", "--out", "out/parquet"],
    ["export", "bad", "--format", "jsonl", "--out", "out/lines"],
    ["export", "bad", "--format", "openmetrics", "--out", "out/metrics"],
    ["export", "bad", "--format", "iperf3", "--out", "out/iperf3"],
    ["export", "bad", "--format", "flent", "--out", "out/flent"],
    ["export", "bad", "--format", "hdr", "--out", "out/hdr"],
    ["results", "merge", "other", "bad", "--out", "out/merged"],
    ["results", "prune", "bad", "--failed", "--dry-run"],
    ["python"],
)
SHORT, LONG = choose_runs(200), 1000  # files; of the latter each meets every command
PARTS = 4


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A sweep in a lab with every series, and a folder with an import, a failure and raw structs."""
    folder = tmp_path_factory.mktemp("sources")
    sweep = make_quickstart(cycles=2, levels=[(1, 64 * KIB), (2, 64 * KIB)])
    return [store(sweep, folder / "sweep"), fill_results(folder / "odd")]


def try_mutation(
    seed: int, sources: list[Path], commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Damage a copy, call the commands; all of them answer as the check does."""
    for name in ("good", "other", "bad", "out"):
        shutil.rmtree(name, ignore_errors=True)
    for name, source in (("other", seed + 1), ("good", seed), ("bad", seed)):
        shutil.copytree(sources[source % 2], name)
    Path("out").mkdir()
    mutation = mutate(Path("bad/results.db"), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, on figures that no link has
        sound = None
        for words in commands:
            where = f"{mutation}\n{' '.join(words)}"
            if words == ["python"]:
                use_api(sound, where)
                continue
            said = call(words, capsys)
            where += f"\n{said.err}{said.out if len(said.out) < 2000 else ''}"
            if words[:2] == ["results", "check"]:
                sound = said.status == 0
            if words[:2] == ["results", "list"]:
                assert said.status == 0, where
                assert "good" in said.out, where
                assert "bad" in said.out, where
                continue
            # nothing is left of what was asked for, or nothing that is alike
            empty = said.status == 2 and ("_delete_rows" in mutation or words[0] == "compare")
            assert said.status in (0, 5) or empty, where
            if said.status == 5:
                lines = said.err.splitlines()
                assert not sound, where
                assert len(lines) == 2, where
                assert lines[0].startswith("pathlab: "), where
                assert lines[1].startswith("  fix: "), where
                assert "bad" in said.err + said.out, where


def use_api(sound: bool | None, where: str) -> None:
    try:
        with StudiedResults.open("bad") as results:
            results.records(), results.hosts(), results.journal(), results.origins(), results.plan()
            for number in results.trials()["trial_id"]:
                for kind in results.series_kinds(number):
                    results.series(number, kind)
    except StoreError as error:
        if sound:
            pytest.fail(f"{where}: {error}")


@pytest.mark.parametrize("part", range(PARTS))
def test_no_damage_is_a_fault_of_ours(
    part: int,
    sources: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(part, SHORT, PARTS):
        try_mutation(seed, sources, [*FIRST, OTHERS[seed // 2 % len(OTHERS)]], capsys)


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_no_damage_is_a_fault_of_ours_in_any_command(
    part: int,
    sources: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(SHORT + part, SHORT + LONG, 8):
        try_mutation(seed, sources, [*FIRST, *OTHERS], capsys)
