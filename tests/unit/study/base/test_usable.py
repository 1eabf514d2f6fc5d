"""``usable`` of tables and frames says the same as the medians of the report take."""

import csv
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pathlab.store.exporting import load_format, select_trials
from pathlab.store.flags import Flag, Status
from pathlab.store.results import Results
from pathlab.store.usable import is_usable, parse_flags, serialize_flags
from pathlab.study.analyses import StudiedResults
from pathlab.study.base.selection import is_counted
from tests.builders.stored import COMPLETE, make_results

STATES = [
    *((Status.COMPLETE, (flag,), 1e6) for flag in Flag),
    (Status.COMPLETE, (), 1e6),
    (Status.COMPLETE, (), None),
    (Status.COMPLETE, (), 0.0),
    (Status.COMPLETE, ("transport-not-granted", Flag.LAB, Flag.LAB_LIMITED), 1e6),
    (Status.INTERRUPTED, (), 1e6),
    (Status.FAILED, (Flag.LAB,), 1e6),
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trial of each state, each in a combination of its own."""
    folder = tmp_path_factory.mktemp("usable") / "results"
    records = [
        replace(COMPLETE, status=status, flags=tuple(map(str, flags)), throughput_bits_per_s=rate, plan_row=0)
        for status, flags, rate in STATES
    ]
    with make_results(folder) as results:
        for attempt, record in enumerate(records, start=1):
            results.add_trial(replace(record, attempt=attempt, cycle=attempt), {})
    return folder


def test_what_is_usable_is_what_medians_take(stored: Path) -> None:
    with StudiedResults.open(stored) as studied:
        frame = studied.trials()
        records = studied.records()
        taken = {
            int(number)
            for one in studied.conditions()
            for cell in one.cells
            for number in cell.sample.get("trial_id")
        }
    assert [is_usable(record) for record in records] == [is_counted(record) for record in records]
    assert set(frame["trial_id"][frame["usable"]]) == taken
    assert 0 < len(taken) < len(STATES)


def test_probes_alone_are_usable_by_their_round_trips() -> None:
    probes = replace(COMPLETE, flags=(), throughput_bits_per_s=None, loaded_rtt_median_ns=None)
    probes = replace(probes, unloaded_rtt_median_ns=5.0)
    assert [is_usable(replace(probes, streams=streams)) for streams in (0, 4)] == [True, False]


def test_tables_and_frames_have_one_shape_of_flags(stored: Path, tmp_path: Path) -> None:
    with Results.open(stored) as results:
        frame = results.trials()
        for name in ("csv", "parquet", "jsonl"):
            load_format(name).export(select_trials(results), tmp_path / name)
        exported = [results.export_record(number)["trial"] for number in frame["trial_id"]]
        assert set(results.trials(usable=True)["trial_id"]) == set(frame["trial_id"][frame["usable"]])
    counts = frame["usable"].tolist()
    expected = [
        (serialize_flags(flags), usable) for (_, flags, _), usable in zip(STATES, counts, strict=True)
    ]
    assert list(zip(frame["flags"], frame["usable"], strict=True)) == expected
    table = pq.read_table(tmp_path / "parquet" / "trials.parquet")
    assert list(zip(table["flags"].to_pylist(), table["usable"].to_pylist(), strict=True)) == expected
    rows = list(csv.DictReader((tmp_path / "csv" / "trials.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["flags"], row["usable"] == "true") for row in rows] == expected
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text(encoding="utf-8").splitlines()]
    trials = [line for line in lines if line["type"] == "trial"]
    for one in (trials, exported):
        assert [(row["flags"], row["usable"]) for row in one] == expected


def test_flags_of_a_text_are_those_that_were_joined() -> None:
    for count in range(3):
        for flags in itertools.combinations(map(str, Flag), count):
            assert parse_flags(serialize_flags(flags)) == flags
