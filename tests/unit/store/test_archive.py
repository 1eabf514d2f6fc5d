"""Results among results: listed as they are, merged whole, thinned out on request, checked for damage."""

import contextlib
import dataclasses
import datetime
import random
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from pathlab.errors import StoreError, UsageError
from pathlab.store.archive import list_results, merge_results, prune_results
from pathlab.store.check import check_results
from pathlab.store.records import JournalRecord
from pathlab.store.results import Results
from tests.builders.series import make_probes
from tests.builders.stored import (
    CAMPAIGN,
    COMPLETE,
    HOST,
    LOADED,
    PLAN,
    change_database,
    fill_results,
    make_results,
)


def test_sound_results_have_no_fault(tmp_path: Path) -> None:
    found = check_results(fill_results(tmp_path))
    assert (found.faults, found.trials, found.series) == ((), 3, 5)


def test_pruning_failures_keeps_every_complete_trial(tmp_path: Path) -> None:
    with Results.open(fill_results(tmp_path), write=True) as results:
        preview = prune_results(results, failed=True, series_before=None, dry_run=True)
        assert (preview.trials, preview.series, preview.size_after_bytes) == (1, 0, None)
        assert len(results.records()) == 3
        done = prune_results(results, failed=True, series_before=None, dry_run=False)
        assert done.trials == 1
        assert [record.status for record in results.records()] == ["complete", "complete"]
        assert list(results.origins()) == [3]
    assert check_results(tmp_path).faults == ()


def test_pruning_old_series_keeps_the_figures(tmp_path: Path) -> None:
    before = datetime.datetime(2026, 1, 2, 3, 6, tzinfo=datetime.UTC)  # between the two complete trials
    drawn = random.Random(1).choices(range(2**40), k=20_000)
    noise = pa.table({"sent_ns": drawn, "rtt_ns": drawn[::-1]})
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {"loaded_probes": noise})
        later = dataclasses.replace(COMPLETE, plan_row=1, started_utc="2026-01-02T03:07:00+00:00")
        results.add_trial(later, {"loaded_probes": make_probes(5)})
        done = prune_results(results, failed=False, series_before=before, dry_run=False)
        assert (done.trials, done.series) == (0, 1)
        assert done.size_after_bytes < done.size_before_bytes / 2
        assert results.series_kinds(1) == ()
        assert results.series_kinds(2) == ("loaded_probes",)
        assert results.record(1) == COMPLETE
        with pytest.raises(UsageError, match="nothing is named"):
            prune_results(results, failed=False, series_before=None, dry_run=False)


def test_merging_counts_rows_and_cycles_on(tmp_path: Path) -> None:
    entry = JournalRecord(recorded_utc="2026-01-02", kind="start", plan_row=1, text="began", facts={})
    for name in ("a", "b"):
        with Results.open(fill_results(tmp_path / name), write=True) as results:
            results.add_journal(entry)
    with pytest.raises(UsageError, match=r"'run.json' \(forward\)"):
        merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    change_database(tmp_path / "b", "UPDATE origin SET file_sha256 = 'another'")
    merged = merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    with Results.open(merged) as results:
        assert [row.row for row in results.plan()] == [0, 1, 2, 3]
        assert [row.cycle for row in results.plan()] == [0, 0, 1, 1]
        records = results.records()
        assert [record.plan_row for record in records] == [0, 1, 1, 2, 3, 3]
        assert [record.cycle for record in records] == [0, 0, 0, 1, 1, 1]
        assert records[3] == dataclasses.replace(COMPLETE, plan_row=2, cycle=1)
        assert results.series_table(4, "loaded_probes").equals(LOADED)
        assert results.hosts() == [HOST, HOST]
        assert [entry.plan_row for entry in results.journal()] == [1, 3]
        assert list(results.origins()) == [3, 6]
        assert results.campaign.name == CAMPAIGN.name
        assert results.campaign.digest != CAMPAIGN.digest  # so that no run goes on in it
    assert check_results(merged).faults == ()


def test_merging_different_campaigns_names_them_all(tmp_path: Path) -> None:
    make_results(tmp_path / "a").close()
    other = dataclasses.replace(CAMPAIGN, name="other", digest="12" * 32)
    Results.create(tmp_path / "b", other, PLAN).close()
    with Results.open(merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "both")) as results:
        assert results.campaign.title == "Merged: sample, other"
        assert results.campaign.environment == CAMPAIGN.environment


def test_merged_labs_keep_the_links_that_nobody_can_mistake(tmp_path: Path) -> None:
    folders = []
    for name, between, rate, backend in (
        ("one", ["a", "b"], 40, "packet"),
        ("two", ["c", "d"], 30, "tun"),
        ("three", ["b", "e"], 10, "packet"),
    ):
        links = [{"between": between, "rate_bits_per_s": rate}]
        environment = {"lab": {"kind": "emulated", "backend": backend, "links": links}, "fallback": None}
        other = dataclasses.replace(CAMPAIGN, name=name, digest=name * 8, environment=environment)
        Results.create(tmp_path / name, other, PLAN).close()
        folders.append(tmp_path / name)
    with Results.open(merge_results(folders[:2], tmp_path / "apart")) as results:
        assert results.campaign.title == "Merged: one, two"
        assert results.campaign.model
        lab = results.campaign.environment["lab"]
    assert [link["rate_bits_per_s"] for link in lab["links"]] == [40, 30]
    assert (lab["kind"], "backend" in lab) == ("emulated", False)
    with Results.open(merge_results(folders, tmp_path / "mixed")) as results:
        lab = results.campaign.environment["lab"]
    assert [link["rate_bits_per_s"] for link in lab["links"]] == [30]  # "b" is a host of two labs


def test_a_merge_that_fails_leaves_nothing(tmp_path: Path) -> None:
    fill_results(tmp_path / "a")
    fill_results(tmp_path / "b")
    change_database(tmp_path / "b", "UPDATE series SET blob = x'00' WHERE kind = 'loaded_probes'")
    change_database(tmp_path / "b", "UPDATE origin SET file_sha256 = 'another'")
    with pytest.raises(StoreError, match="is damaged"):
        merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    assert not (tmp_path / "both").exists()
    for sources, fault in ((["a"], "one results folder"), (["a", "a/results.db"], "named twice")):
        with pytest.raises(UsageError, match=fault):
            merge_results([tmp_path / source for source in sources], tmp_path / "both")
    with pytest.raises(StoreError, match="already holds results"):
        merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "b")
    assert (tmp_path / "b" / "results.db").exists()


def test_a_schema_that_is_not_text_is_one_line_and_hides_no_other_results(tmp_path: Path) -> None:
    fill_results(tmp_path / "good")
    fill_results(tmp_path / "bad")
    with contextlib.closing(sqlite3.connect(tmp_path / "bad" / "results.db")) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = CAST(CAST(sql AS BLOB) || x'ff' AS TEXT)")
    for read in (check_results, Results.open):
        with pytest.raises(StoreError, match=r"results file '.*/bad/results.db' is damaged") as caught:
            read(tmp_path / "bad")
        assert caught.value.hint
    problems = {one.path.name: one.problem for one in list_results(tmp_path)}
    assert problems["good"] is None
    assert "is damaged" in str(problems["bad"])


def test_an_error_that_nobody_foresaw_is_blamed_on_a_damaged_file_alone(tmp_path: Path) -> None:
    fill_results(tmp_path)
    with pytest.raises(KeyError), Results.open(tmp_path):
        raise KeyError("ours")
    change_database(tmp_path, "UPDATE trial SET status = 'odd' WHERE trial_id = 1")
    with pytest.raises(StoreError, match="trial_id 1, column 'status'") as caught, Results.open(tmp_path):
        raise KeyError("theirs")
    assert isinstance(caught.value.__cause__, KeyError)
