"""Damaged results files: every command that reads them names the file and goes on, or ends with status 5."""

import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.study.analyses import StudiedResults
from tests.builders.damage import mutate
from tests.builders.results import make_quickstart, write_results
from tests.builders.stored import fill_results
from tests.command_line import call
from tests.length import choose_runs

KIB = 1024
FIRST = ("results check bad", "results list .")
#: ``python`` stands for the Python interface.
OTHERS = (
    "results show bad",
    "results show bad --json",
    "report bad --quiet --format md --out out/report.md",
    "report bad --quiet --format html --out out/report.html",
    "report bad --quiet --format json --out out/report.json",
    "report bad --figure trial-1 --out out/one.csv",
    "analyze bad --json",
    "analyze bad",
    "compare bad good",
    "compare good bad --json",
    "export bad --format csv --out out/csv",
    "export bad --format parquet --out out/parquet",
    "export bad --format jsonl --out out/lines",
    "export bad --format openmetrics --out out/metrics",
    "export bad --format iperf3 --out out/iperf3",
    "export bad --format flent --out out/flent",
    "export bad --format hdr --out out/hdr",
    "results merge other bad --out out/merged",
    "results prune bad --failed --dry-run",
    "python",
)
#: Files, of which each meets one of these commands, each command of both sources, or all of them; at full
#: length 2,000 files, 1,000 of which meet all.
SHORT, LONG, ALL = choose_runs(200, short=2 * len(OTHERS)), 1200, 2000


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A sweep in a lab with every series, and a folder with an import, a failure and raw structs."""
    folder = tmp_path_factory.mktemp("sources")
    sweep = make_quickstart(cycles=1, levels=[(1, 64 * KIB), (2, 64 * KIB)])
    return [write_results(sweep, folder / "sweep"), fill_results(folder / "odd")]


def try_mutation(
    seed: int, sources: list[Path], commands: Iterable[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Damage a copy by the seed, call the commands; all of them answer as the check does."""
    for name in ("good", "other", "bad", "out"):
        shutil.rmtree(name, ignore_errors=True)
    for name, source in (("other", seed + 1), ("good", seed), ("bad", seed)):
        shutil.copytree(sources[source % 2], name)
    Path("out").mkdir()
    mutation = mutate(Path("bad/results.db"), seed)
    sound = False
    for command in commands:
        where = f"{mutation}\n{command}"
        if command == "python":
            use_api(where, sound=sound)
            continue
        said = call(command.split(), capsys)
        where += f"\n{said.err}{said.out if len(said.out) < 2000 else ''}"
        if command.startswith("results check"):
            sound = said.status == 0
        if command.startswith("results list"):
            assert said.status == 0, where
            assert "good" in said.out, where
            assert "bad" in said.out, where
            continue
        # nothing is left of what was asked for, nothing that is alike, or nothing usable
        empty = said.status == 2 and ("_delete_rows" in mutation or command.startswith("compare"))
        assert said.status in (0, 5, 7) or empty, where
        if said.status == 5:
            line, fix = said.err.splitlines()
            assert not sound, where
            assert line.startswith("pathlab: "), where
            assert fix.startswith("  fix: "), where
            assert "bad" in said.err + said.out, where


def use_api(where: str, *, sound: bool) -> None:
    try:
        with StudiedResults.open("bad") as results:
            results.records(), results.hosts(), results.journal(), results.origins(), results.plan()
            for number in results.trials()["trial_id"]:
                for kind in results.series_kinds(number):
                    results.series(number, kind)
    except StoreError as error:
        if sound:
            pytest.fail(f"{where}: {error}")


@pytest.mark.parametrize(
    ("seeds", "every"),
    [
        *((range(part, SHORT, 4), False) for part in range(4)),
        *(pytest.param(range(SHORT + part, LONG, 40), True, marks=pytest.mark.long) for part in range(40)),
        *(pytest.param(range(LONG + part, ALL, 4), False, marks=pytest.mark.long) for part in range(4)),
    ],
)
def test_no_damage_is_a_fault_of_ours(
    seeds: range,
    every: bool,
    sources: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, on figures that no link has
        for seed in seeds:
            chosen = OTHERS if every else [OTHERS[seed // 2 % len(OTHERS)]]
            try_mutation(seed, sources, [*FIRST, *chosen], capsys)
