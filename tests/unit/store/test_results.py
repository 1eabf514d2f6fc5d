"""Results on disk: what goes in comes out."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pathlab
from pathlab.errors import UsageError
from pathlab.report.names import format_utc
from pathlab.store import results as results_module
from pathlab.store.check import check_results
from pathlab.store.exporting import select_trials
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import FORMAT_VERSION, column_types
from pathlab.store.series import decode_series
from pathlab.store.trial_table import format_exact_utc
from tests.builders.series import make_intervals, make_probes, make_raw
from tests.builders.stored import CAMPAIGN, COMPLETE, FAILED, HOST, PLAN, make_results


def test_everything_comes_back_as_it_went_in(tmp_path: Path) -> None:
    with make_results(tmp_path / "new" / "folder") as results:
        results.add_host(HOST)
        first = results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        second = results.add_trial(FAILED, {})
    with Results.open(tmp_path / "new" / "folder") as results:
        assert results.campaign == CAMPAIGN
        assert results.plan() == list(PLAN)
        assert results.hosts() == [HOST]
        assert results.records() == [COMPLETE, FAILED]
        assert results.record(first) == COMPLETE
        assert results.record(second) == FAILED
        assert results.series_table(first, "loaded_probes").equals(make_probes())
        assert results.series_kinds(first) == ("loaded_probes",)
        assert results.series_kinds(second) == ()
        assert (results.format_version, results.program_version) == (FORMAT_VERSION, pathlab.__version__)


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


def test_the_frame_is_typed_and_keeps_what_is_missing_missing(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {})
        results.add_trial(FAILED, {})
        frame = results.trials()
    assert list(frame.columns) == ["trial_id", *column_types(TrialRecord)]
    kinds = {name: str(frame[name].dtype) for name in ("streams", "throughput_bits_per_s", "status", "flags")}
    assert kinds == {
        "streams": "Int64",
        "throughput_bits_per_s": "Float64",
        "status": "string",
        "flags": "object",
    }
    assert frame["received_steady_bytes"].iloc[0] == 9_007_199_254_740_993
    assert frame["received_steady_bytes"].iloc[1] is pd.NA
    assert frame["failure"].iloc[0] is pd.NA
    assert list(frame["flags"]) == [("lab", "window-short"), ()]


def test_an_empty_frame_has_its_columns(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        frame = results.trials()
    assert len(frame) == 0
    assert str(frame["streams"].dtype) == "Int64"


def test_trials_are_selected_by_column(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {})
        results.add_trial(FAILED, {})
        assert list(results.trials(status="complete")["trial_id"]) == [1]
        assert list(results.trials(streams=[1, 4])["trial_id"]) == [1, 2]
        assert list(results.trials(streams=np.int64(1))["trial_id"]) == [2]
        assert list(results.trials(window_requested_bytes=None)["trial_id"]) == [2]
        assert list(results.trials(window_requested_bytes=[None, 65_536])["trial_id"]) == [1, 2]
        assert results.records(streams=4, status="failed") == []
        assert list(results.trials(flags=["window-short", "imported"])["trial_id"]) == [1]
        assert list(results.trials(flags="lab", streams=4)["trial_id"]) == [1]
        assert list(results.trials(flags=None)["trial_id"]) == [2]
        assert len(results.trials(flags=[])) == 0
        flags = results.trials()["flags"]
        assert list(results.trials(flags=flags)["trial_id"]) == [1, 2]
        assert list(results.trials(flags=flags[:1].to_numpy())["trial_id"]) == [1]
        assert list(results.trials(flags=flags[1:])["trial_id"]) == [2]
        with pytest.raises(UsageError, match="no column 'stream'; did you mean 'streams'"):
            results.trials(stream=1)


def test_a_lost_probe_stays_missing(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        trial_id = results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        frame = results.series(trial_id, "loaded_probes")
    assert frame["rtt_ns"].iloc[1] is pd.NA
    assert frame["rtt_ns"].iloc[2] == 40_000_003
    assert str(frame["rtt_ns"].dtype) == "Int64"


def test_an_exported_record_is_json(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        trial_id = results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        exported = json.loads(json.dumps(results.export_record(trial_id), allow_nan=False))
    assert exported["format_version"] == FORMAT_VERSION
    assert exported["campaign"] == {"name": "sample", "digest": "ab" * 32}
    assert exported["plan"]["settings"]["streams"] == 4
    assert exported["trial"]["trial_id"] == trial_id
    assert exported["trial"]["flags"] == ["lab", "window-short"]
    assert exported["trial"]["failure"] is None
    assert exported["series_kinds"] == ["loaded_probes"]


def test_numbers_of_numpy_and_what_is_not_finite(tmp_path: Path) -> None:
    odd = dataclasses.replace(
        COMPLETE,
        sent_total_bytes=np.int64(12),  # type: ignore[arg-type]
        throughput_bits_per_s=np.float64(1.5),
        fairness_jain=float("nan"),
        loaded_rtt_mean_ns=float("inf"),
    )
    with make_results(tmp_path) as results:
        stored = results.record(results.add_trial(odd, {}))
    assert (stored.sent_total_bytes, stored.throughput_bits_per_s) == (12, 1.5)
    assert (stored.fairness_jain, stored.loaded_rtt_mean_ns) == (None, None)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("streams", 1.5),
        ("streams", None),
        ("status", 3),
        ("flags", ["lab"]),
        ("sent_total_bytes", 2**63),
        ("mss_bytes", True),
    ],
)
def test_a_value_of_the_wrong_type_names_its_column(tmp_path: Path, column: str, value: object) -> None:
    wrong = dataclasses.replace(COMPLETE, **{column: value})  # type: ignore[arg-type]
    with make_results(tmp_path) as results:
        with pytest.raises(UsageError, match=f"column '{column}'"):
            results.add_trial(wrong, {})
        assert results.records() == []


def test_the_api_opens_a_folder_or_its_file(tmp_path: Path) -> None:
    make_results(tmp_path).close()
    for path in (tmp_path, str(tmp_path / "results.db")):
        with pathlab.open(path) as results:
            assert results.campaign.name == "sample"


def test_import_is_light() -> None:
    heavy = ["pandas", "pyarrow", "sqlalchemy", "numpy", "pydantic", "matplotlib"]
    code = f"import sys, pathlab; print([n for n in {heavy} if n in sys.modules])"
    root = Path(pathlab.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "[]\n"
    assert pathlab.open.__name__ == "open"
    with pytest.raises(AttributeError, match="no attribute 'results'"):
        _ = pathlab.results


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
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        number = kind(1)
        assert len(results.series(number, "loaded_probes")) == 3
        assert results.series_table(number, "loaded_probes").equals(make_probes())
        assert results.series_kinds(number) == ("loaded_probes",)
        assert list(results.series_tables(number, {"loaded_probes": ["rtt_ns"]})) == ["loaded_probes"]
        assert results.record(number) == COMPLETE
        exported = json.loads(json.dumps(results.export_record(number)))
        assert exported["trial"]["trial_id"] == 1
        assert [trial.trial_id for trial in select_trials(results, [number]).trials] == [1]


def test_trials_are_selected_by_arrays_and_series(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {})
        results.add_trial(FAILED, {})
        frame = results.trials()
        for several in (
            frame["trial_id"],
            frame["trial_id"].to_numpy(),
            pd.Index([1, 2]),
            np.array([1.0, 2.0]),
        ):
            assert list(results.trials(trial_id=several)["trial_id"]) == [1, 2]
        assert list(results.trials(window_requested_bytes=frame["window_requested_bytes"])["trial_id"]) == [
            1,
            2,
        ]
        assert list(results.trials(window_requested_bytes=np.array([np.nan]))["trial_id"]) == [2]
        assert list(results.trials(flags=np.array(["lab"]))["trial_id"]) == [1]
        assert [trial.trial_id for trial in select_trials(results, frame["trial_id"]).trials] == [1, 2]


def test_started_utc_is_a_timestamp_and_selects_as_one(tmp_path: Path) -> None:
    later = dataclasses.replace(COMPLETE, started_utc="2026-01-02T04:05:00.250+01:00")
    never = dataclasses.replace(COMPLETE, attempt=2, started_utc="never")
    with make_results(tmp_path) as results:
        for record in (FAILED, later, never):
            results.add_trial(record, {})
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


def test_the_package_lists_what_it_offers() -> None:
    assert {"open", "explore", "__version__"} <= set(dir(pathlab))


def test_trials_are_read_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_results(tmp_path) as results:
        for attempt in range(1, 4):
            results.add_trial(dataclasses.replace(FAILED, attempt=attempt), {})
        results.add_trial(COMPLETE, {})
        whole, records = results.trials(), results.records()
        flagged = results.records(flags=None)
        monkeypatch.setattr(results_module, "_BATCH_ROWS", 3)
        assert [len(rows) for rows in results._trial_batches({})] == [3, 1]
        pd.testing.assert_frame_equal(results.trials(), whole)
        assert results.records() == records
        assert results.records(flags=None) == flagged
