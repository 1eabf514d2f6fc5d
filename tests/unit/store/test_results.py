"""Results on disk: what goes in comes out."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pathlab
from pathlab.errors import UsageError
from pathlab.report.base.names import format_utc
from pathlab.store import column_reader
from pathlab.store.check import check_results
from pathlab.store.exporting import select_trials
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import FORMAT_VERSION, column_types
from pathlab.store.series import decode_series
from pathlab.store.trial_table import format_exact_utc
from tests.builders.series import make_intervals, make_probes, make_raw
from tests.builders.stored import CAMPAIGN, COMPLETE, FAILED, HOST, PLAN, change_database, make_results

BEYOND = ("sent_total_bytes", 2**63)


@pytest.fixture(scope="module")
def two_trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    with make_results(tmp_path_factory.mktemp("two")) as results:
        results.add_trial(COMPLETE, {})
        results.add_trial(FAILED, {})
        yield results


def test_everything_comes_back_as_it_went_in(tmp_path: Path) -> None:
    with make_results(tmp_path / "new" / "folder") as results:
        results.add_host(HOST)
        first = results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        second = results.add_trial(FAILED, {})
    for path in (tmp_path / "new" / "folder", str(tmp_path / "new" / "folder" / "results.db")):
        with pathlab.open(path) as results:
            assert results.campaign == CAMPAIGN
            assert results.plan() == list(PLAN)
            assert results.hosts() == [HOST]
            assert results.records() == [COMPLETE, FAILED]
            assert (results.record(first), results.record(second)) == (COMPLETE, FAILED)
            assert results.series_table(first, "loaded_probes").equals(make_probes())
            assert results.series_kinds(first) == ("loaded_probes",)
            assert results.series_kinds(second) == ()
            versions = (FORMAT_VERSION, pathlab.__version__)
            assert (results.format_version, results.program_version) == versions


def test_the_package_lists_what_it_offers() -> None:
    assert {"open", "explore", "__version__"} <= set(dir(pathlab))
    assert pathlab.open.__name__ == "open"
    with pytest.raises(AttributeError, match="no attribute 'results'"):
        _ = pathlab.results


def test_unfinished_rows_are_those_without_a_complete_trial(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        assert results.unfinished() == list(PLAN)
        results.add_trial(FAILED, {})
        assert results.unfinished() == list(PLAN)
        results.add_trial(COMPLETE, {})
        assert results.unfinished() == [PLAN[1]]
        assert results.attempts() == {0: 1, 1: 1}
        results.add_trial(dataclasses.replace(FAILED, attempt=2, status="complete"), {})
        assert results.unfinished() == []
        assert results.attempts() == {0: 1, 1: 2}


def test_frames_are_typed_and_keep_what_is_missing_missing(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        empty = results.trials()
        results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        results.add_trial(FAILED, {})
        frame, probes = results.trials(), results.series(1, "loaded_probes")
    assert list(frame.columns) == list(empty.columns) == ["trial_id", *column_types(TrialRecord), "usable"]
    kinds = {"streams": "Int64", "throughput_bits_per_s": "Float64", "status": "string", "flags": "string"}
    for found in (empty, frame):
        assert {name: str(found[name].dtype) for name in kinds} == kinds
    assert frame["received_steady_bytes"].tolist() == [9_007_199_254_740_993, pd.NA]
    assert frame["failure"].iloc[0] is pd.NA
    assert list(frame["flags"]) == ["lab;window-short", ""]
    assert (str(frame["usable"].dtype), list(frame["usable"])) == ("bool", [False, False])
    assert probes["rtt_ns"].tolist() == [40_000_001, pd.NA, 40_000_003]
    assert str(probes["rtt_ns"].dtype) == "Int64"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"status": "complete"}, [1]),
        ({"streams": [1, 4]}, [1, 2]),
        ({"streams": np.int64(1)}, [2]),
        ({"window_requested_bytes": None}, [2]),
        ({"window_requested_bytes": [None, 65_536]}, [1, 2]),
        ({"window_requested_bytes": np.array([np.nan])}, [2]),
        ({"streams": 4, "status": "failed"}, []),
        ({"flags": ["window-short", "imported"]}, [1]),
        ({"flags": "lab", "streams": 4}, [1]),
        ({"flags": np.array(["lab"])}, [1]),
        ({"flags": None}, [2]),
        ({"flags": []}, []),
        ({"flags": "lab;imported"}, [1]),
        ({"usable": False}, [1, 2]),
        ({"usable": True}, []),
        ({"trial_id": pd.Index([1, 2])}, [1, 2]),
        ({"trial_id": np.array([1.0, 2.0])}, [1, 2]),
    ],
)
def test_trials_are_selected_by_column(two_trials: Results, where: dict[str, Any], found: list[int]) -> None:
    assert list(two_trials.trials(**where)["trial_id"]) == found
    assert list(two_trials.records_by_id(**where)) == found


def test_columns_of_a_frame_select_its_trials(two_trials: Results) -> None:
    frame = two_trials.trials()
    for name in ("trial_id", "window_requested_bytes", "flags"):
        assert list(two_trials.trials(**{name: frame[name]})["trial_id"]) == [1, 2]
    assert list(two_trials.trials(trial_id=frame["trial_id"].to_numpy())["trial_id"]) == [1, 2]
    assert list(two_trials.trials(flags=frame["flags"][:1].to_numpy())["trial_id"]) == [1]
    assert list(two_trials.trials(flags=frame["flags"][1:])["trial_id"]) == [2]
    assert [trial.trial_id for trial in select_trials(two_trials, frame["trial_id"]).trials] == [1, 2]
    with pytest.raises(UsageError, match=r"'stream'.*'streams'"):
        two_trials.trials(stream=1)


def test_an_exported_record_is_json(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        trial_id = results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        exported = json.loads(json.dumps(results.export_record(trial_id), allow_nan=False))
    assert exported["format_version"] == FORMAT_VERSION
    assert exported["campaign"] == {"name": "sample", "digest": "ab" * 32}
    assert exported["plan"]["settings"]["streams"] == 4
    assert exported["trial"]["trial_id"] == trial_id
    assert (exported["trial"]["flags"], exported["trial"]["usable"]) == ("lab;window-short", False)
    assert exported["trial"]["failure"] is None
    assert exported["series_kinds"] == ["loaded_probes"]


@pytest.mark.parametrize(
    ("column", "value"),
    [("streams", 1.5), ("streams", None), ("status", 3), ("flags", ["lab"]), ("mss_bytes", True), BEYOND],
)
def test_a_value_of_the_wrong_type_names_its_column(tmp_path: Path, column: str, value: object) -> None:
    wrong = dataclasses.replace(COMPLETE, **{column: value})  # type: ignore[arg-type]
    with make_results(tmp_path) as results:
        with pytest.raises(UsageError, match=f"column '{column}'"):
            results.add_trial(wrong, {})
        assert results.records() == []


def test_raw_structs_are_read_alone_and_beside_their_intervals(tmp_path: Path) -> None:
    base = make_intervals(2, 50)
    base = base.append_column("phase", [["steady"] * 100]).append_column("bytes", [[1448] * 100])
    raw = make_raw(base)
    kind, other = "sender_tcp_info_raw", "sender_intervals"
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {other: base, kind: raw})
        results.add_trial(FAILED, {kind: raw})
        assert results.series_table(1, kind).equals(raw)
        assert results.series_table(2, kind).equals(raw)
        wanted = {kind: ["tcp_info"], other: ["index"]}
        assert results.series_tables(1, wanted)[kind].equals(raw.select(["tcp_info"]))
        streamed = [decode_series(kind, blob) for _, blob in results.stream_series(kind)]
        assert [table.equals(raw) for table in streamed] == [True, True]
        assert check_results(tmp_path).faults == ()


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.array, lambda n: pd.Series([n]), float])
def test_one_trial_is_named_by_any_integer(tmp_path: Path, kind: Callable[[int], Any]) -> None:
    number = kind(1)
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        assert len(results.series(number, "loaded_probes")) == 3
        assert results.series_table(number, "loaded_probes").equals(make_probes())
        assert results.series_kinds(number) == ("loaded_probes",)
        assert list(results.series_tables(number, {"loaded_probes": ["rtt_ns"]})) == ["loaded_probes"]
        assert results.record(number) == COMPLETE
        assert json.loads(json.dumps(results.export_record(number)))["trial"]["trial_id"] == 1
        assert [trial.trial_id for trial in select_trials(results, [number]).trials] == [1]


def test_started_utc_is_a_timestamp_and_selects_as_one(tmp_path: Path) -> None:
    later = dataclasses.replace(COMPLETE, started_utc="2026-01-02T04:05:00.250+01:00")
    with make_results(tmp_path) as results:
        for record in (FAILED, later, dataclasses.replace(COMPLETE, attempt=2)):
            results.add_trial(record, {})
        change_database(tmp_path, "UPDATE trial SET started_utc = 'never' WHERE trial_id = 3")
        frame = results.trials()
        assert frame["started_utc"].dtype.kind == "M"
        assert frame["started_utc"].iloc[1] == pd.Timestamp("2026-01-02T03:05:00.250Z")
        assert frame["started_utc"].iloc[1] - frame["started_utc"].iloc[0] == pd.Timedelta(milliseconds=250)
        assert frame["started_utc"].iloc[2] is pd.NaT
        assert list(results.trials(started_utc=frame["started_utc"].iloc[1])["trial_id"]) == [2]
        assert list(results.trials(started_utc=later.started_utc)["trial_id"]) == [2]
        assert list(results.trials(started_utc=frame["started_utc"].iloc[:2])["trial_id"]) == [1, 2]
        assert results.records()[1] == later
        read = [format_exact_utc(value) for value in frame["started_utc"]]
        assert read == ["2026-01-02T03:05:00.000+00:00", "2026-01-02T03:05:00.250+00:00", ""]
        assert format_utc(read[2]) == "at a time that is not known"


def test_trials_are_read_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_results(tmp_path) as results:
        for attempt in range(1, 4):
            results.add_trial(dataclasses.replace(FAILED, attempt=attempt), {})
        results.add_trial(COMPLETE, {})
        whole, records = results.trials(), results.records()
        flagged = results.records(flags=None)
        monkeypatch.setattr(column_reader, "BATCH_ROWS", 3)
        assert [len(batch["trial_id"]) for batch in results.stream_trials()] == [3, 1]
        pd.testing.assert_frame_equal(results.trials(), whole)
        assert results.records() == records
        assert results.records(flags=None) == flagged
