"""``pathlab inspect``: what it prints and writes, and files, flows and trials that cannot be inspected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pathlab.captures.capture import open_capture
from pathlab.study import inspection
from tests.builders.packets import (
    SYN,
    build_ethernet,
    build_ipv4,
    build_tcp,
    write_pcap,
)
from tests.builders.results import make_quickstart, write_results
from tests.command_line import call
from tests.golden.conftest import Say
from tests.unit.cli.test_inspect import make_connection, write_captured

MS = 1_000_000


def read_records(path: Path) -> list[tuple[int, bytes]]:
    _, batches = open_capture(path)
    return [
        (int(time_ns), batch.data[at : at + size].tobytes())
        for batch in batches
        for time_ns, at, size in zip(batch.times_ns, batch.places, batch.captured_bytes, strict=True)
    ]


def test_a_capture_is_explained(say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(["inspect", str(make_connection(tmp_path / "a.pcap"))], capsys)
    assert said.status == 0
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    say(lines[0])
    say(lines)


def test_one_direction_and_a_late_start_are_stated(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = [
        (number * MS, build_ethernet(build_ipv4(build_tcp(seq=number * 100), payload_bytes=100)))
        for number in range(5)
    ]
    said = call(["inspect", str(write_pcap(tmp_path / "a.pcap", frames))], capsys)
    assert said.status == 0
    say(said.out)


def test_a_capture_without_tcp_is_no_error(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    udp = bytes((3, 232, 7, 208, 0, 108, 0, 0))
    frame = build_ethernet(build_ipv4(udp, payload_bytes=100, protocol=17))
    out = tmp_path / "page.json"
    said = call(["inspect", str(write_pcap(tmp_path / "a.pcap", [(1, frame)])), "--out", str(out)], capsys)
    assert said.status == 0
    say(said.out)
    say(out.read_text(encoding="utf-8"))


def test_options_that_were_cut_are_stated(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_connection(tmp_path / "a.pcap")
    packets = [(time_ns, data[:60]) for time_ns, data in read_records(path)]
    said = call(["inspect", str(write_pcap(path, packets))], capsys)
    assert said.status == 0
    say(said.out)


def test_connections_beyond_those_analysed_are_counted(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "ANALYSED_USES", 2)
    frames = [
        (number * MS, build_ethernet(build_ipv4(build_tcp(seq=number * 7, flags=SYN)))) for number in range(5)
    ]
    said = call(["inspect", str(write_pcap(tmp_path / "a.pcap", frames))], capsys)
    say(said.out)


def test_an_empty_capture(say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(["inspect", str(write_pcap(tmp_path / "a.pcap", []))], capsys)
    assert said.status == 0
    say(said.out)


def test_trials_without_and_with_captures(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = write_results(make_quickstart(), tmp_path / "results")
    said = call(["inspect", str(results), "--trial", "1"], capsys)
    assert said.status == 5
    say(said.err)
    say(call(["inspect", str(results), "--trial", "999"], capsys).err)
    folder = (results if results.is_dir() else results.parent) / "captures"
    folder.mkdir()
    make_connection(folder / "trial-1-sender.pcapng")
    make_connection(folder / "trial-1-receiver.pcapng")
    out = tmp_path / "page.json"
    said = call(["inspect", str(results), "--trial", "1", "--out", str(out)], capsys)
    assert said.status == 0
    say(said.out)
    rows = [line.split() for line in said.out.splitlines() if line.startswith("Retransmitted segments")]
    assert rows[0][3] == "1"
    names = [
        block["name"]
        for section in json.loads(out.read_text(encoding="utf-8"))["sections"]
        for block in section["blocks"]
        if block["type"] in ("figure", "table")
    ]
    assert len(names) == len(set(names))
    assert "time-sequence-2" in names


def test_a_figure_of_nothing_is_an_error_and_no_path(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = tmp_path / "a.svg"
    said = call(["inspect", str(write_pcap(tmp_path / "a.pcap", [])), "--figure", str(figure)], capsys)
    assert said.status == 2
    say(said.err)
    assert not figure.exists()
    assert str(figure) not in said.out


def test_why_a_trial_has_no_capture_is_stated(
    say: Say, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {"capture_sender_missing": "no privilege", "capture_receiver_missing": "pruned"}
    results = write_captured(tmp_path / "results", **columns)
    said = call(["inspect", str(results), "--trial", "1"], capsys)
    assert said.status == 5
    say(said.err)
