"""Short texts of the store: what is wrong with a file."""

import dataclasses
import re
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from pathlab.cli.console import TerminalConsole
from pathlab.cli.results_show import print_overview
from pathlab.errors import StoreError, UsageError
from pathlab.report.base.blocks import TableBlock
from pathlab.report.chapters import build_sections
from pathlab.report.comparison.comparison_table import render_comparison
from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import gather_inputs
from pathlab.report.topics import summarise_topics
from pathlab.store import database
from pathlab.store.arrays import convert_rows
from pathlab.store.check import check_results
from pathlab.store.hdr_histogram import HistogramError, HistogramLayout
from pathlab.store.importing import read_file, store_files
from pathlab.store.interval_histograms import read_round_trips
from pathlab.store.results import Results
from pathlab.store.rows import insert_trial
from pathlab.store.series import decode_series, encode_series
from pathlab.store.series_columns import SERIES
from pathlab.study.analyses import StudiedResults
from pathlab.study.comparison.rows import compare_results
from tests.builders.foreign_files import make_iperf3, make_json_stream, read_node, write_sample
from tests.builders.series import make_probes
from tests.builders.stored import CAMPAIGN, COMPLETE, PLAN, make_results, replace_series
from tests.golden.conftest import Say, catch
from tests.unit.store.importers.test_import_conditions import import_nodes, make_datagrams, make_plain
from tests.unit.store.test_hdr_histogram import count
from tests.unit.store.test_interval_histograms import ROWS, store

HOUR_NS = 3_600_000_000_000
THREE_DIGITS = HistogramLayout(digits=3, highest=HOUR_NS)


def test_bytes_of_a_small_histogram(say: Say) -> None:
    """Worked out by hand: 1 once, 3 twice, 5000 (place 3298 = 2 x 1024 + 5000 / 4) 300 times."""
    encoded = count([1, 3, 3] + [5000] * 300, THREE_DIGITS).encode(compressed=False)
    say(encoded)


@pytest.mark.parametrize("values", [[-1], [HOUR_NS + 1, 4]])
def test_values_outside_the_layout_are_refused(say: Say, values: list[int]) -> None:
    say(catch(HistogramError, count, values, THREE_DIGITS))


def test_a_file_is_imported_once(say: Say, tmp_path: Path) -> None:
    first, same = write_sample(tmp_path, "iperf3"), tmp_path / "copy.json"
    same.write_bytes(first.read_bytes())
    with make_results(tmp_path / "into") as results:
        say(catch(UsageError, store_files, results, [read_file(first), read_file(same)]))
        assert results.records() == []
        store_files(results, [read_file(first)])
        say(catch(UsageError, store_files, results, [read_file(same)]))
        assert len(results.records()) == 1


def test_nothing_is_half_imported(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [read_file(write_sample(tmp_path, name)) for name in ("iperf3", "irtt")]
    calls = 0

    def insert_one(*arguments: Any) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise StoreError("the disk is full")
        return insert_trial(*arguments)

    monkeypatch.setattr("pathlab.store.importing.insert_trial", insert_one)
    with make_results(tmp_path / "into") as results:
        say(catch(StoreError, store_files, results, files))
        assert (results.records(), len(results.plan()), results.origins()) == ([], 2, {})


def test_results_without_a_shared_condition_name_the_settings_that_differ(say: Say, tmp_path: Path) -> None:
    tests = {"slow": make_datagrams(10_000_000), "fast": make_datagrams(20_000_000), "tcp": make_plain()}
    stored = {name: import_nodes(tmp_path / name, [node]) for name, node in tests.items()}
    with ExitStack() as stack:
        slow, fast, tcp = ((name, stack.enter_context(Results.open(stored[name]))) for name in stored)
        say(catch(UsageError, compare_results, [slow, fast]))
        say(catch(UsageError, compare_results, [slow, tcp]))


def test_datagrams_are_shown_with_loss_and_jitter(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [make_datagrams(10**8), make_datagrams(10**8, lost=5), make_plain()]
    folder = import_nodes(tmp_path / "in", nodes)
    print_overview(folder, TerminalConsole(), limit=None, offset=0)
    say(re.sub(r"[\d.]+ kB\n", "SIZE\n", capsys.readouterr().out))
    console = Console(record=True, width=100)
    with StudiedResults.open(folder) as results:
        inputs = gather_inputs(results)
        render_summary(summarise_topics(inputs.study), (), console)
        blocks = [block for section in build_sections(inputs) for block in section.blocks]
        render_comparison(compare_results([("one", results), ("again", results)]), console)
    say(console.export_text())
    (loss,) = (block for block in blocks if isinstance(block, TableBlock) and block.name == "udp-loss")
    say(loss.narrow().rows)


def test_a_line_damaged_in_the_middle_is_refused(say: Say, tmp_path: Path) -> None:
    lines = make_json_stream(make_iperf3()).splitlines(keepends=True)
    lines[1] = lines[1][:40] + "\n"
    say(catch(StoreError, read_node, tmp_path, "".join(lines)))


@pytest.mark.parametrize(
    "damage", [{"histogram": b"\x1c\x84"}, {"histogram": None}, {"count": 5}, {"min_ns": 3}]
)
def test_damage_is_named_with_file_trial_and_series(say: Say, tmp_path: Path, damage: dict[str, Any]) -> None:
    rows = [{**ROWS[1], **damage}, *ROWS[2:]]
    folder = store(tmp_path / "stored", "round_trips", ROWS[1:])
    damaged = convert_rows(rows, SERIES["round_trips"].schema)
    replace_series(folder, "round_trips", lambda _: encode_series("round_trips", damaged))
    with Results.open(folder) as results:
        say(catch(StoreError, read_round_trips, results, 1))
    say(str(check_results(folder)))


def test_a_trial_that_is_refused_leaves_nothing(say: Say, tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {})
        say(catch(StoreError, results.add_trial, COMPLETE, {"loaded_probes": make_probes()}))
        say(catch(StoreError, results.add_trial, dataclasses.replace(COMPLETE, plan_row=9), {}))
        say(
            catch(
                UsageError,
                results.add_trial,
                dataclasses.replace(COMPLETE, attempt=2),
                {"probes": make_probes()},
            )
        )
        assert results.records() == [COMPLETE]


def test_a_plan_that_names_a_row_twice_makes_no_results(say: Say, tmp_path: Path) -> None:
    say(catch(StoreError, Results.create, tmp_path, CAMPAIGN, [PLAN[0], PLAN[0]]))
    assert not (tmp_path / "results.db").exists()


@pytest.mark.parametrize("wrong", [True, "1", 1.5, None, pd.NA, [1, 2], np.array([1, 2]), []])
def test_what_names_no_single_trial_is_refused_by_name(say: Say, tmp_path: Path, wrong: Any) -> None:
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {})
        say(catch(UsageError, results.series_kinds, wrong))


def test_other_kinds_and_other_things_are_refused(say: Say) -> None:
    say(catch(UsageError, encode_series, "loaded_probe", make_probes()))
    say(catch(UsageError, encode_series, "sender_cpu", [1, 2]))


@pytest.mark.parametrize("keep_ratio", [0.0, 0.02, 0.1, 0.3, 0.6, 0.9])
def test_a_cut_blob_is_named(say: Say, keep_ratio: float) -> None:
    blob = encode_series("loaded_probes", make_probes())
    say(catch(StoreError, decode_series, "loaded_probes", blob[: int(len(blob) * keep_ratio)]))


def test_reading_does_not_write(say: Say, tmp_path: Path) -> None:
    make_results(tmp_path).close()
    with Results.open(tmp_path) as results:
        say(catch(UsageError, results.add_trial, COMPLETE, {}))


def test_a_locked_file_is_named(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    with make_results(tmp_path) as results:
        other = sqlite3.connect(results.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        say(catch(StoreError, results.add_trial, COMPLETE, {}))
        other.execute("ROLLBACK")
        other.close()
        assert results.add_trial(COMPLETE, {}) == 1


def test_what_is_not_there_or_not_ours_is_named(say: Say, tmp_path: Path) -> None:
    say(catch(StoreError, Results.open, tmp_path))
    say(catch(StoreError, Results.open, tmp_path / "gone"))
    text = tmp_path / "notes.txt"
    text.write_text("not a database, though long enough to have a header of one")
    foreign = tmp_path / "foreign.db"
    other = sqlite3.connect(foreign)
    other.execute("CREATE TABLE meta (name TEXT, value TEXT)")
    other.commit()
    other.close()
    for path in (text, foreign):
        say(catch(StoreError, Results.open, path))


def test_a_series_that_was_not_kept_is_named(say: Say, tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        trial_id = results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        say(catch(StoreError, results.series, trial_id, "sender_cpu"))
        say(catch(UsageError, results.series, 9, "sender_cpu"))
        say(catch(UsageError, results.series, trial_id, "sender_cpus"))
