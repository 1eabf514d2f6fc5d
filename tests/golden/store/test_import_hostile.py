"""Half-written and hostile files: one clear line that names the file, never a traceback, nothing stored."""

import gzip
import json
import random
from pathlib import Path

import pytest

from pathlab.errors import StoreError
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
from tests.golden.conftest import Say, catch


def refuse(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "given.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    with pytest.raises(StoreError) as caught:
        read_file(path)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "  \n\n",
        "hello",
        "[1, 2]",
        '{"a": 1}',
        b"\xff\xfe\x00",
        b"\x1f\x8bgarbage",
        gzip.compress(b"{}", mtime=0)[:-9],
        "[" * 100000,
        '{"end": ' * 100000,
        "9" * 5000,
    ],
)
def test_files_that_are_nothing(say: Say, tmp_path: Path, content: bytes | str) -> None:
    say(refuse(tmp_path, content))


@pytest.mark.parametrize(
    "node",
    [
        change(make_iperf3(), "start", {"connected": [], "version": "iperf 3.12"}),
        {"start": {"connected": []}, "intervals": [], "end": {}, "error": "unable to connect"},
        {"event": "error", "data": "no route to host"},
        {"event": "start"},
        {"error": "the server is busy"},
        change(make_iperf3(), "intervals.0.streams.0.bytes", "many"),
        change(make_iperf3(), "intervals.1.streams", {"a": 1}),
        change(make_iperf3(), "intervals.1", 7),
        change(make_iperf3(), "intervals.0.streams.0.bytes", 2**63),
        change(make_iperf3(), "intervals.0.streams.0.bytes", 1.5),
        change(make_iperf3(), "start.timestamp.timesecs", 10**17),
        change(make_iperf3(), "start.test_start.reverse", "yes"),
        change(make_irtt(), "round_trips", []),
        change(make_irtt(), "stats.start_time", "yesterday"),
        change(make_irtt(), "round_trips.0", None),
        change(make_flent(), "raw_values", {}),
        change(make_flent(), "version", 5),
        change(make_flent(), "metadata.T0", None) | {"metadata": {}},
        change(make_flent(), "raw_values.TCP upload BE.0.val", -1),
        change(make_crusader(), "stream_groups", []),
        change(make_crusader(), "stream_groups.0.streams.0.data.2.bytes", 1),
        change(make_crusader(), "config", {}),
        change(make_pscheduler(diags=False), "schedule", {}),
        change(make_pscheduler(diags=False), "test.type", "dns"),
        change(make_pscheduler(diags=False), "result.succeeded", False),
        change(make_pscheduler(diags=False), "test.spec.duration", "soon"),
        change(make_transfer(), "pathlab_transfer", 2),
        change(make_transfer(), "bytes", 0),
        change(make_transfer(), "seconds", -1),
        change(make_transfer(), "started_utc", "noon"),
    ],
)
def test_values_that_cannot_be(say: Say, tmp_path: Path, node: object) -> None:
    say(refuse(tmp_path, json.dumps(node)))


@pytest.mark.parametrize("name", ["iperf3", "irtt", "flent", "pscheduler", "crusader", "transfer"])
def test_every_cut_is_named_as_a_cut(say: Say, tmp_path: Path, name: str) -> None:
    text = TEXTS[name]
    random_places = random.Random(8).sample(range(2, len(text) - 1), 15)
    for at in random_places:
        say(refuse(tmp_path, text[:at]))


def test_a_bomb_is_not_unpacked(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAXIMUM_BYTES", 1024 * 1024)
    say(refuse(tmp_path, gzip.compress(b" " * 50000000)))


def test_what_cannot_be_opened_is_named(say: Say, tmp_path: Path) -> None:
    say(catch(StoreError, read_file, tmp_path / "none.json"))
    say(catch(StoreError, read_file, tmp_path))
