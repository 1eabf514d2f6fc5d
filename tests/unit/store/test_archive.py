"""Results among results: listed as they are, merged whole, thinned out on request, checked for damage."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
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
from tests.builders.stored import CAMPAIGN, COMPLETE, FAILED, HOST, LOADED, PLAN, fill_results, make_results


def damage(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "results.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_listing_names_what_reads_and_why_others_do_not(tmp_path: Path) -> None:
    fill_results(tmp_path / "good")
    fill_results(tmp_path / "deep" / "er")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "results.db").write_text("hello")
    fill_results(tmp_path / "newer")
    damage(tmp_path / "newer", "UPDATE meta SET value = '99' WHERE name = 'format_version'")
    (tmp_path / "other").mkdir()
    sqlite3.connect(tmp_path / "other" / "results.db").close()
    fill_results(tmp_path / "too" / "deep" / "down")
    listings = {one.path.relative_to(tmp_path).as_posix(): one for one in list_results(tmp_path)}
    assert set(listings) == {"good", "deep/er", "text", "newer", "other"}
    good = listings["good"]
    assert (good.name, good.planned, good.complete, good.failed) == ("sample", 2, 2, 1)
    assert good.problem is None
    assert "newer/results.db' has format 99" in str(listings["newer"].problem)
    assert "is not a PathLab results file" in str(listings["text"].problem)
    assert "is not a PathLab results file" in str(listings["other"].problem)


def test_where_nothing_may_be_written_results_are_checked_and_closed_folders_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_results(tmp_path / "stored")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert check_results(tmp_path / "stored").faults == ()
    problems = [one.problem for one in list_results(tmp_path) if one.problem is not None]
    assert problems == [f"folder '{tmp_path / 'stored'}' cannot be read: permission denied"]


def test_no_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder"):
        list_results(tmp_path / "none")
    assert list_results(tmp_path) == []


def test_sound_results_have_no_fault(tmp_path: Path) -> None:
    found = check_results(fill_results(tmp_path / "stored"))
    assert (found.faults, found.trials, found.series) == ((), 3, 5)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "UPDATE series SET blob = x'00' WHERE kind = 'loaded_probes'",
            "series 'loaded_probes' of trial 1 does not have the digest that was stored with it",
        ),
        ("UPDATE series SET rows = 7 WHERE kind = 'loaded_probes'", "has 3 rows where 7 were stored"),
        (
            "UPDATE series SET blob = x'41', sha256 = "
            "'559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd' WHERE kind = 'loaded_probes'",
            "series 'loaded_probes' is damaged and cannot be read",
        ),
        ("UPDATE trial SET throughput_bits_per_s = 'fast' WHERE trial_id = 1", "holds text, not a number"),
        (
            "UPDATE trial SET cycle = 5 WHERE trial_id = 2",
            "trial 2 belongs to another cycle than its plan row 1",
        ),
        ("DELETE FROM plan WHERE row = 1", "belongs to a row of 'plan' that is not there"),
        ("DELETE FROM trial WHERE trial_id = 3", "belongs to a row of 'trial' that is not there"),
        ("UPDATE plan SET row = 5 WHERE row = 0", "belongs to a row of 'plan' that is not there"),
        ("UPDATE trial SET status = 'complete' WHERE trial_id = 2", "complete twice, by trials 2 and 3"),
    ],
)
def test_each_kind_of_damage_is_named(tmp_path: Path, statement: str, fault: str) -> None:
    folder = fill_results(tmp_path / "stored")
    damage(folder, statement)
    assert any(fault in said for said in check_results(folder).faults), check_results(folder).faults


def test_a_lab_limited_trial_may_be_measured_again(tmp_path: Path) -> None:
    folder = fill_results(tmp_path / "stored")
    damage(folder, "UPDATE trial SET status = 'complete', flags = '[\"lab-limited\"]' WHERE trial_id = 2")
    assert check_results(folder).faults == ()


def test_a_torn_database_is_named(tmp_path: Path) -> None:
    path = fill_results(tmp_path / "stored") / "results.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    data = bytearray(path.read_bytes())
    data[8192:20480] = b"\xaa" * 12288
    path.write_bytes(bytes(data))
    try:
        faults = " ".join(check_results(path).faults)
    except StoreError as error:
        faults = str(error)
    assert "damaged" in faults or "SQLite: " in faults


def test_pruning_failures_keeps_every_complete_trial(tmp_path: Path) -> None:
    with Results.open(fill_results(tmp_path / "stored"), write=True) as results:
        preview = prune_results(results, failed=True, series_before=None, dry_run=True)
        assert (preview.trials, preview.series, preview.size_after_bytes) == (1, 0, None)
        assert len(results.records()) == 3
        done = prune_results(results, failed=True, series_before=None, dry_run=False)
        assert done.trials == 1
        assert [record.status for record in results.records()] == ["complete", "complete"]
        assert list(results.origins()) == [3]
    assert check_results(tmp_path / "stored").faults == ()


def test_pruning_old_series_keeps_the_figures(tmp_path: Path) -> None:
    before = datetime.datetime(2026, 1, 2, 3, 6, tzinfo=datetime.UTC)  # between the two complete trials
    noise = pa.table({"rtt_ns": random.Random(1).choices(range(2**40), k=20_000)})
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {"loaded_probes": noise})
        later = dataclasses.replace(COMPLETE, plan_row=1, started_utc="2026-01-02T03:07:00+00:00")
        results.add_trial(later, {"loaded_probes": make_probes(5)})
        done = prune_results(results, failed=False, series_before=before, dry_run=False)
        assert (done.trials, done.series) == (0, 1)
        assert done.size_after_bytes is not None
        assert done.size_after_bytes < done.size_before_bytes / 2
        assert results.series_kinds(1) == ()
        assert results.series_kinds(2) == ("loaded_probes",)
        assert results.record(1) == COMPLETE
        with pytest.raises(UsageError, match="nothing is named to be pruned"):
            prune_results(results, failed=False, series_before=None, dry_run=False)


def test_merging_counts_rows_and_cycles_on(tmp_path: Path) -> None:
    entry = JournalRecord(recorded_utc="2026-01-02", kind="start", plan_row=1, text="began", facts={})
    for name in ("a", "b"):
        with Results.open(fill_results(tmp_path / name), write=True) as results:
            results.add_journal(entry)
    with pytest.raises(UsageError, match=r"'run.json' \(forward\) was imported into both"):
        merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    damage(tmp_path / "b", "UPDATE origin SET file_sha256 = 'another'")
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
    merged = merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    with Results.open(merged) as results:
        assert results.campaign.title == "Merged: sample, other"
        assert len(json.dumps(results.campaign.model)) > 2


def test_merged_labs_keep_the_links_that_nobody_can_mistake(tmp_path: Path) -> None:
    def make(name: str, ends: tuple[str, str], rate: int, backend: str = "packet") -> Path:
        links = [{"between": list(ends), "rate_bits_per_s": rate}]
        lab = {"kind": "emulated", "backend": backend, "links": links}
        environment = {"lab": lab, "fallback": None}
        other = dataclasses.replace(CAMPAIGN, name=name, digest=name * 8, environment=environment)
        Results.create(tmp_path / name, other, PLAN).close()
        return tmp_path / name

    folders = [make("one", ("a", "b"), 40), make("two", ("c", "d"), 30, "tun"), make("three", ("b", "e"), 10)]
    with Results.open(merge_results(folders[:2], tmp_path / "apart")) as results:
        lab = results.campaign.environment["lab"]
    assert [link["rate_bits_per_s"] for link in lab["links"]] == [40, 30]
    assert (lab["kind"], "backend" in lab) == ("emulated", False)
    with Results.open(merge_results(folders, tmp_path / "mixed")) as results:
        lab = results.campaign.environment["lab"]
    assert [link["rate_bits_per_s"] for link in lab["links"]] == [30]  # "b" is a host of two labs


def test_a_merge_that_fails_leaves_nothing(tmp_path: Path) -> None:
    fill_results(tmp_path / "a")
    fill_results(tmp_path / "b")
    damage(tmp_path / "b", "UPDATE series SET blob = x'00' WHERE kind = 'loaded_probes'")
    damage(tmp_path / "b", "UPDATE origin SET file_sha256 = 'another'")
    with pytest.raises(StoreError, match="is damaged"):
        merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    assert not (tmp_path / "both").exists()
    with pytest.raises(UsageError, match="one results folder cannot be merged"):
        merge_results([tmp_path / "a"], tmp_path / "both")
    with pytest.raises(UsageError, match="is named twice"):
        merge_results([tmp_path / "a", tmp_path / "a" / "results.db"], tmp_path / "both")
    with pytest.raises(StoreError, match="already holds results"):
        merge_results([tmp_path / "a", tmp_path / "b"], tmp_path / "b")
    assert (tmp_path / "b" / "results.db").exists()
    with make_results(tmp_path / "c") as results:
        results.add_trial(FAILED, {})
        with pytest.raises(StoreError, match="is being written by process"):
            Results.open(tmp_path / "c", write=True)


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "UPDATE plan SET settings = '{\"a\":' WHERE row = 1",
            "table 'plan', row 1, column 'settings' is not JSON",
        ),
        ("UPDATE plan SET settings = 'NaN'", "table 'plan', row 0, column 'settings' is not JSON"),
        ("UPDATE host SET facts = '[1]'", "table 'host', host_id 1, column 'facts' is no JSON object"),
        ("UPDATE campaign SET environment = x'ff'", "table 'campaign', column 'environment' is not JSON"),
        (
            "UPDATE campaign SET environment = '{\"lab\": 3}'",
            "table 'campaign', column 'environment' holds no links under 'lab'",
        ),
        (
            'UPDATE campaign SET environment = \'{"lab": {"links": [{"between": 7}]}}\'',
            "column 'environment' holds a link that is not between two nodes",
        ),
        (
            'UPDATE campaign SET environment = \'{"lab": {"links": [{"delay_ns": "x"}]}}\'',
            "column 'environment' holds no number under 'delay_ns'",
        ),
        (
            "UPDATE campaign SET title = CAST(x'41ff' AS TEXT)",
            "table 'campaign', column 'title' is not UTF-8",
        ),
        (
            "UPDATE trial SET streams = 'many' WHERE trial_id = 2",
            "table 'trial', trial_id 2, column 'streams' holds text, not a whole number",
        ),
        (
            "UPDATE trial SET throughput_bits_per_s = 9e999 WHERE trial_id = 1",
            "table 'trial', trial_id 1, column 'throughput_bits_per_s' is infinite, not a number",
        ),
        (
            "UPDATE trial SET loaded_sent = -1 WHERE trial_id = 1",
            "table 'trial', trial_id 1, column 'loaded_sent' holds -1, which no count, time or rate is",
        ),
        (
            "UPDATE trial SET started_utc = 'then' WHERE trial_id = 1",
            "table 'trial', trial_id 1, column 'started_utc' holds no time",
        ),
        ("UPDATE trial SET flags = '[1]' WHERE trial_id = 1", "column 'flags' is no JSON list of texts"),
    ],
)
def test_every_column_is_checked_and_its_place_named(tmp_path: Path, statement: str, fault: str) -> None:
    fill_results(tmp_path)
    damage(tmp_path, statement)
    assert fault in check_results(tmp_path).faults[0]


def test_a_schema_that_is_not_text_is_one_line_and_hides_no_other_results(tmp_path: Path) -> None:
    fill_results(tmp_path / "good")
    fill_results(tmp_path / "bad")
    connection = sqlite3.connect(tmp_path / "bad" / "results.db")
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = CAST(CAST(sql AS BLOB) || x'ff' AS TEXT)")
    connection.commit()
    connection.close()
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
    damage(tmp_path, "UPDATE trial SET status = 'odd' WHERE trial_id = 1")
    with (
        pytest.raises(StoreError, match="trial_id 1, column 'status' holds no status of a trial") as caught,
        Results.open(tmp_path),
    ):
        raise KeyError("theirs")
    assert isinstance(caught.value.__cause__, KeyError)
