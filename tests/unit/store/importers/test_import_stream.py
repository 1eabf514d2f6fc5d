"""iperf3's --json-stream, with and without --json-stream-full-output, whole and cut off.

The files in ``tests/data/iperf3-3.21`` were written by iperf3 3.21 over loopback, with both options; the
host's name and kernel in ``system_info`` were replaced. ``server.json`` is the server's view of the tests of
the other three, one after the other.
"""

import json
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.store.importing import read_file
from tests.builders.foreign_files import make_iperf3, read_node

DATA = Path(__file__).parents[3] / "data" / "iperf3-3.21"


def split(name: str) -> tuple[str, str]:
    """The events and the whole output of a file."""
    text = (DATA / f"{name}.json").read_text(encoding="utf-8")
    at = text.index("\n{\n") + 1
    return text[:at], text[at:]


@pytest.mark.parametrize("name", ["tcp", "udp", "interrupted"])
def test_full_output_is_one_test(tmp_path: Path, name: str) -> None:
    events, whole = split(name)
    (both,) = read_file(DATA / f"{name}.json").trials
    for text in (events, whole):
        (alone,) = read_node(tmp_path, text)
        assert (alone.record, alone.settings) == (both.record, both.settings)
        assert alone.series.keys() == both.series.keys()
        for kind, table in alone.series.items():
            assert table.equals(both.series[kind])


def test_several_whole_outputs_in_a_row_are_as_many_trials(tmp_path: Path) -> None:
    first, second = make_iperf3(), make_iperf3(reverse=1)
    text = json.dumps(first) + "\n" + json.dumps(second)
    assert [trial.part for trial in read_node(tmp_path, text)] == ["forward", "2-reverse"]
    (cut,) = read_node(tmp_path, text[:-200])
    assert cut.part == "forward"
    (beside,) = read_node(tmp_path, json.dumps(first) + '\n{"a": 1}')
    assert beside.record == cut.record
    assert beside.details["notes"] == ["1 JSON value of no known program left out"]


@pytest.mark.parametrize("left", [0.999, 0.9, 0.5, 0.1, 0.001])
def test_a_stream_cut_off_in_its_full_output_is_complete(tmp_path: Path, left: float) -> None:
    events, whole = split("tcp")
    (trial,) = read_node(tmp_path, events + whole[: int(len(whole) * left)])
    (known,) = read_file(DATA / "tcp.json").trials
    assert trial.record == known.record


def test_a_stream_cut_off_anywhere_is_what_is_there_or_a_clear_line(tmp_path: Path) -> None:
    events, _ = split("tcp")
    lines = events.splitlines(keepends=True)
    seen = set()
    for cut in range(1, len(events), 97):
        kept = events[:cut]
        if cut < len(lines[0]) - 1:
            with pytest.raises(StoreError, match=r"^'given.json' (ends in the middle|is not JSON)"):
                read_node(tmp_path, kept)
            continue
        (trial,) = read_node(tmp_path, kept)
        whole_lines = sum(1 for end in range(1, 5) if cut >= len("".join(lines[:end])) - 1)
        rows = trial.series["sender_intervals"].num_rows if trial.series else 0
        assert rows == min(whole_lines, 4) - 1
        assert trial.record.status == "interrupted"
        seen.add(rows)
    assert seen == {0, 1, 2, 3}
