"""Half-written and hostile files: one clear line that names the file, never a traceback, nothing stored."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from pathlab.errors import PathlabError, StoreError
from pathlab.store import json_fields as document
from pathlab.store.importing import read_file
from tests.builders.foreign_files import (
    TEXTS,
    change,
    make_crusader,
    make_flent,
    make_iperf3,
    make_irtt,
    make_pscheduler,
    make_transfer,
)


def refuse(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "given.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    with pytest.raises(StoreError) as caught:
        read_file(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value.hint).startswith("Nothing was imported.")
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "'given.json' is empty"),
        ("  \n\n", "'given.json' is empty"),
        ("hello", "'given.json' is not JSON: line 1, column 1"),
        ("[1, 2]", "JSON of no program that is known here"),
        ('{"a": 1}', "JSON of no program that is known here"),
        (b"\xff\xfe\x00", "is not a text file (byte 0 is not UTF-8)"),
        (b"\x1f\x8bgarbage", "is damaged: it cannot be unpacked"),
        (gzip.compress(b"{}", mtime=0)[:-9], "ends in the middle"),
        ("[" * 100_000, "nested too deeply"),
        ('{"end": ' * 100_000, "nested too deeply"),
        ("9" * 5000, "a number without end"),
    ],
)
def test_files_that_are_nothing(tmp_path: Path, content: bytes | str, said: str) -> None:
    assert said in refuse(tmp_path, content)


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (
            change(make_iperf3(), "start", {"connected": [], "version": "iperf 3.12"}),
            "iperf3 measured nothing",
        ),
        (
            {"start": {"connected": []}, "intervals": [], "end": {}, "error": "unable to connect"},
            "iperf3 measured nothing: unable to connect",
        ),
        ({"event": "error", "data": "no route to host"}, "iperf3 measured nothing: no route to host"),
        ({"event": "start"}, "iperf3 measured nothing"),
        ({"error": "the server is busy"}, "iperf3 measured nothing: the server is busy"),
        (
            change(make_iperf3(), "intervals.0.streams.0.bytes", "many"),
            'intervals[0].streams[0].bytes is "many", not a number',
        ),
        (change(make_iperf3(), "intervals.1.streams", {"a": 1}), "intervals[1].streams is"),
        (change(make_iperf3(), "intervals.1", 7), "intervals[1] is 7, not an object"),
        (change(make_iperf3(), "intervals.0.streams.0.bytes", 2**63), "not a number within 64 bits"),
        (change(make_iperf3(), "intervals.0.streams.0.bytes", 1.5), "is 1.5, not a whole number"),
        (change(make_iperf3(), "start.timestamp.timesecs", 10**17), "is no time of day"),
        (change(make_iperf3(), "start.test_start.reverse", "yes"), 'is "yes", not true or false'),
        (change(make_irtt(), "round_trips", []), "irtt measured nothing"),
        (change(make_irtt(), "stats.start_time", "yesterday"), "'yesterday' is no time"),
        (change(make_irtt(), "round_trips.0", None), "round_trips[0] is null, not an object"),
        (change(make_flent(), "raw_values", {}), "results alone are interpolated"),
        (change(make_flent(), "version", 5), "version 5 of Flent's files is newer than 4"),
        (change(make_flent(), "metadata.T0", None) | {"metadata": {}}, "metadata.T0 does not say"),
        (change(make_flent(), "raw_values.TCP upload BE.0.val", -1), "less than nothing"),
        (change(make_crusader(), "stream_groups", []), "crusader measured nothing"),
        (
            change(make_crusader(), "stream_groups.0.streams.0.data.2.bytes", 1),
            "goes back in time or in bytes",
        ),
        (change(make_crusader(), "config", {}), "config has no 'bandwidth_interval'"),
        (change(make_pscheduler(diags=False), "schedule", {}), "schedule.start does not say"),
        (change(make_pscheduler(diags=False), "test.type", "dns"), "a pScheduler test of type 'dns'"),
        (change(make_pscheduler(diags=False), "result.succeeded", False), "pScheduler measured nothing"),
        (change(make_pscheduler(diags=False), "test.spec.duration", "soon"), "'soon' is not a duration"),
        (change(make_transfer(), "pathlab_transfer", 2), "pathlab_transfer is not 1"),
        (change(make_transfer(), "bytes", 0), "do not say what was carried"),
        (change(make_transfer(), "seconds", -1), "do not say what was carried"),
        (change(make_transfer(), "started_utc", "noon"), "'noon' is no time"),
    ],
)
def test_values_that_cannot_be(tmp_path: Path, node: object, said: str) -> None:
    assert said in refuse(tmp_path, json.dumps(node))


@pytest.mark.parametrize("name", ["iperf3", "irtt", "flent", "pscheduler", "crusader", "transfer"])
def test_every_cut_is_named_as_a_cut(tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    random_places = random.Random(8).sample(range(2, len(text) - 1), 15)
    for at in random_places:
        assert "'given.json' ends in the middle" in refuse(tmp_path, text[:at]), text[at - 20 : at]


def is_read(path: Path) -> bool:
    """Whether a file is read; when it is refused, its name is said."""
    try:
        read_file(path)
    except PathlabError as error:
        if path.name not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("name", TEXTS)
def test_no_damage_gives_a_traceback(tmp_path: Path, name: str) -> None:
    """Values swapped for others of every kind, at 100 places drawn: refused in house words, or read."""
    source = random.Random(name)
    odd = ["null", "-1", "1e400", "NaN", '""', '"x"', "[]", "{}", "true", "[[]]", "9007199254740993", "0"]
    text = TEXTS[name]
    starts = [at + 1 for at, character in enumerate(text) if character in ":,[" and text[at - 1] != "\\"]
    path = tmp_path / "given.json"
    refused = 0
    for _ in range(100):
        at = source.choice(starts)
        end = min((p for p in (text.find(c, at) for c in ",}]") if p >= 0), default=len(text))
        path.write_text(text[:at] + source.choice(odd) + text[end:], encoding="utf-8")
        refused += not is_read(path)
    assert 0 < refused < 100


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAXIMUM_BYTES", 1024 * 1024)
    assert "is larger than 1 MiB" in refuse(tmp_path, gzip.compress(b" " * 50_000_000))


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"'.*none.json' cannot be read: no such file or directory"):
        read_file(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot be read: is a directory"):
        read_file(tmp_path)
