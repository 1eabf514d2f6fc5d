"""What comes in is stored with its origin; its figures are in ``tests/golden/store``."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from pathlab.store.importing import read_file, store_files
from pathlab.store.results import Results
from pathlab.store.series_columns import SERIES_KINDS
from pathlab.study.analyses import Study
from tests.builders.foreign_files import (
    BEGIN_S,
    TEXTS,
    Node,
    change,
    make_iperf3,
    make_irtt,
    pause_iperf3,
    read_node,
    write_sample,
)
from tests.builders.results import make_quickstart
from tests.builders.stored import COMPLETE, make_results


@pytest.mark.parametrize("name", TEXTS)
def test_every_import_is_stored_with_its_origin_and_drawn(tmp_path: Path, name: str) -> None:
    path = write_sample(tmp_path, name)
    file = read_file(path)
    with make_results(tmp_path / "into") as results:
        results.add_trial(COMPLETE, {})
        numbers = store_files(results, [file])
    with Results.open(tmp_path / "into") as results:
        origins = results.origins()
        assert list(origins) == numbers
        for number, trial in zip(numbers, file.trials, strict=True):
            assert origins[number].file_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
            assert origins[number].file_name == f"{name}.json"
            record = results.record(number)
            assert "imported" in record.flags
            assert results.plan()[record.plan_row].settings == trial.settings
            for kind, table in trial.series.items():
                assert kind in SERIES_KINDS
                assert results.series_table(number, kind).equals(table)
        assert [row.row for row in results.unfinished()] == [1]  # the campaign's own, and no imported one
        media = [one.medium for one in Study(results).conditions()]
        assert len(media) >= 2
        assert media.count("imported") == len(media) - 1


def pause_irtt(late_ns: int) -> Node:
    node = make_irtt()
    for trip in node["round_trips"][2:]:
        trip["timestamps"]["client"]["send"]["monotonic"] += late_ns
        trip["timestamps"]["client"]["send"]["wall"] += late_ns
    return node


@pytest.mark.parametrize(
    ("node", "stalled"),
    [
        (pause_iperf3(1.5, reported=False), True),
        (pause_iperf3(1.5, reported=True), True),
        (pause_iperf3(0.05, reported=True), False),
        (pause_irtt(2_000_000_000), True),
        (pause_irtt(50_000_000), False),
    ],
)
def test_a_gap_in_what_a_program_times_itself_is_a_program_that_did_not_run(
    tmp_path: Path, node: Node, stalled: bool
) -> None:
    assert [("host-stalled" in trial.record.flags) for trial in read_node(tmp_path, node)] == [stalled]


def test_the_labs_truth_is_not_held_against_other_programs() -> None:
    results = make_quickstart(levels=[(1, 65_536)])
    (own,) = Study(results).conditions()
    assert own.direct_link is not None
    flags = ("imported",)
    results.records[0] = dataclasses.replace(results.records[0], flags=flags, engine_version="iperf3 3.12")
    both = {one.medium: one.direct_link for one in Study(results).conditions()}
    assert both == {"lab": own.direct_link, "imported": None}


def test_files_of_one_condition_become_cycles_in_the_order_of_time(tmp_path: Path) -> None:
    paths = []
    for number, offset_s in enumerate((20, 0, 10)):
        node = change(make_iperf3(), "start.timestamp.timesecs", BEGIN_S + offset_s)
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(node))
    with make_results(tmp_path / "into") as results:
        store_files(results, [read_file(path, source="a", destination="b") for path in paths])
        records = results.records()
    assert [record.cycle for record in records] == [0, 1, 2]
    assert [record.started_utc for record in records] == sorted(record.started_utc for record in records)
    assert {(record.path_source, record.path_destination) for record in records} == {("a", "b")}


def test_renaming_turns_around_with_the_direction(tmp_path: Path) -> None:
    path = tmp_path / "reverse.json"
    path.write_text(json.dumps(make_iperf3(reverse=1)))
    (trial,) = read_file(path, source="west", destination="east").trials
    assert (trial.record.path_source, trial.record.path_destination) == ("east", "west")
