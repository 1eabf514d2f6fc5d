"""``pathlab inspect``: what it prints and writes, and files, flows and trials that cannot be inspected."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.captures.capture import open_capture
from pathlab.study.captures import inspection
from tests.builders.packets import SYN, build_ethernet, build_ipv4, build_tcp, write_pcap
from tests.builders.results import make_quickstart, write_results
from tests.command_line import Said, call
from tests.golden.conftest import Say
from tests.unit.cli.test_inspect import make_connection, write_captured

MS = 1_000_000
Inspect = Callable[..., Said]
Frames = list[tuple[int, bytes]]
UDP = build_ipv4(bytes((3, 232, 7, 208, 0, 108, 0, 0)), payload_bytes=100, protocol=17)
LATE: Frames = [
    (number * MS, build_ethernet(build_ipv4(build_tcp(seq=number * 100), payload_bytes=100)))
    for number in range(5)
]
OPENED: Frames = [
    (number * MS, build_ethernet(build_ipv4(build_tcp(seq=number * 7, flags=SYN)))) for number in range(5)
]


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]) -> Inspect:
    return lambda path, *options: call(["inspect", str(path), *map(str, options)], capsys)


def read_records(path: Path) -> Frames:
    _, batches = open_capture(path)
    return [
        (int(time_ns), batch.data[at : at + size].tobytes())
        for batch in batches
        for time_ns, at, size in zip(batch.times_ns, batch.places, batch.captured_bytes, strict=True)
    ]


def test_a_capture_is_explained(say: Say, tmp_path: Path, inspect: Inspect) -> None:
    path = make_connection(tmp_path / "a.pcap")
    said = inspect(path)
    assert said.status == 0
    say(said.out)
    write_pcap(path, [(time_ns, data[:60]) for time_ns, data in read_records(path)])
    say(inspect(path).out)  # options that were cut


@pytest.mark.parametrize(
    "frames",
    [[], LATE, OPENED, [(1, build_ethernet(UDP))]],
    ids=["empty", "one direction and a late start", "more connections than are analysed", "no TCP"],
)
def test_what_a_capture_lacks_is_stated(
    say: Say, tmp_path: Path, inspect: Inspect, monkeypatch: pytest.MonkeyPatch, frames: Frames
) -> None:
    monkeypatch.setattr(inspection, "ANALYSED_USES", 2)
    out = tmp_path / "page.json"
    said = inspect(write_pcap(tmp_path / "a.pcap", frames), "--out", out)
    assert said.status == 0
    say(said.out)
    if frames and frames[0][0] == 1:
        say(out.read_text(encoding="utf-8"))


def test_trials_without_and_with_captures(say: Say, tmp_path: Path, inspect: Inspect) -> None:
    results = write_results(make_quickstart(), tmp_path / "results")
    for trial in (1, 999):
        said = inspect(results, "--trial", trial)
        say(f"exit status {said.status}")
        say(said.err)
    (results / "captures").mkdir()
    for end in ("sender", "receiver"):
        make_connection(results / "captures" / f"trial-1-{end}.pcapng")
    out = tmp_path / "page.json"
    said = inspect(results, "--trial", 1, "--out", out)
    assert said.status == 0
    say(said.out)
    names = [
        block["name"]
        for section in json.loads(out.read_text(encoding="utf-8"))["sections"]
        for block in section["blocks"]
        if block["type"] in ("figure", "table")
    ]
    assert len(names) == len(set(names))
    assert "time-sequence-2" in names


def test_a_figure_of_nothing_is_an_error_and_no_path(say: Say, tmp_path: Path, inspect: Inspect) -> None:
    figure = tmp_path / "a.svg"
    said = inspect(write_pcap(tmp_path / "a.pcap", []), "--figure", figure)
    assert (said.status, str(figure) in said.out, figure.exists()) == (2, False, False)
    say(said.err)


def test_why_a_trial_has_no_capture_is_stated(say: Say, tmp_path: Path, inspect: Inspect) -> None:
    columns = {"capture_sender_missing": "no privilege", "capture_receiver_missing": "pruned"}
    said = inspect(write_captured(tmp_path / "results", **columns), "--trial", 1)
    assert said.status == 5
    say(said.err)
