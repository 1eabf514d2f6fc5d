"""``pathlab inspect``: what it prints and writes, and files, flows and trials that cannot be inspected."""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.builders.packets import ACK, SYN, build_ethernet, build_ipv4, build_tcp, sack, stamp, write_pcap
from tests.builders.results import make_quickstart, write_results
from tests.command_line import call
from tests.length import LENGTH, choose_runs

MS = 1_000_000
OFFER = bytes((2, 4, 5, 0xB4, 1, 3, 3, 7, 4, 2, 8, 10)) + bytes(8)


def make_connection(path: Path) -> Path:
    """A handshake over 20 ms, 40 segments, one of which is sent again by SACK; captured near the sender."""
    packets: list[tuple[int, bytes]] = []

    def add(side: int, time_ms: float, header: bytes, payload: int = 0) -> None:
        ends = ("10.0.0.1", "10.0.0.2") if side == 0 else ("10.0.0.2", "10.0.0.1")
        number = 100 + len(packets)
        frame = build_ethernet(build_ipv4(header, payload_bytes=payload, addresses=ends, ip_id=number))
        packets.append((int(time_ms * MS), frame))

    there, back = (1000, 2000), (2000, 1000)
    add(0, 0, build_tcp(seq=99, flags=SYN, options=OFFER, ports=there))
    add(1, 20, build_tcp(seq=499, ack=100, flags=SYN | ACK, options=OFFER, ports=back))
    add(0, 20.1, build_tcp(seq=100, ack=500, options=stamp(20, 0), ports=there))
    for number in range(40):
        seq, at = 100 + number * 1000, 30 + number
        add(0, at, build_tcp(seq=seq, ack=500, options=stamp(at, 1), ports=there), 1000)
    hole = sack((1100, 2100))
    add(1, 80, build_tcp(seq=500, ack=100, options=stamp(2, 20) + hole, ports=back))
    add(0, 81, build_tcp(seq=100, ack=500, options=stamp(81, 2), ports=there), 1000)
    add(1, 101, build_tcp(seq=500, ack=40_100, options=stamp(3, 81), ports=back))
    return write_pcap(path, packets)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = call(["inspect", str(make_connection(tmp_path / "a.pcap"))], capsys)
    assert max(map(len, said.out.splitlines())) <= width


def test_the_page_and_the_document_have_the_section(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = make_connection(tmp_path / "a.pcap"), tmp_path / "page"
    forms = ["--format", "html", "--format", "json", "--format", "md", "--out", str(out)]
    said = call(["inspect", str(source), *forms, "--quiet"], capsys)
    assert said.status == 0
    assert said.out.split() == [f"{out}.html", f"{out}.json", f"{out}.md"]
    page = Path(f"{out}.html").read_text(encoding="utf-8")
    assert 'id="inspection"' in page
    document = json.loads(Path(f"{out}.json").read_text(encoding="utf-8"))
    sections = {section["key"]: section for section in document["sections"]}
    assert {"inspection", "capture-1", "definitions"} <= sections.keys()
    figures = {one["name"]: one for one in sections["capture-1"]["blocks"] if one["type"] == "figure"}
    assert figures.keys() == {
        *("time-sequence", "in-flight", "captured-rtt", "captured-rate"),
        *("retransmission-causes", "reordering-extent"),
    }
    assert figures["reordering-extent"]["empty"] == "no segment was reordered"
    assert figures["time-sequence"].get("empty") is None


def test_a_span_of_time_is_drawn_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = make_connection(tmp_path / "a.pcap"), tmp_path / "page.json"
    said = call(["inspect", str(source), "--from", "40ms", "--to", "50ms", "--out", str(out)], capsys)
    assert said.status == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    (section,) = [one for one in document["sections"] if one["key"] == "capture-1"]
    figure = next(one for one in section["blocks"] if one.get("name") == "time-sequence")
    rows = figure["data"]["rows"]
    assert {row[1] for row in rows} == {"data"}
    assert [row[2] for row in rows] == pytest.approx([place / 1000 for place in range(40, 51)])


def test_a_figure_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure = tmp_path / "sequence.svg"
    said = call(["inspect", str(make_connection(tmp_path / "a.pcap")), "--figure", str(figure)], capsys)
    assert said.status == 0
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_a_span_without_an_end_reaches_to_the_last_packet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = [
        (day * 86_400_000 * MS, build_ethernet(build_ipv4(build_tcp(seq=day * 100), payload_bytes=100)))
        for day in range(4)
    ]
    out = tmp_path / "page.json"
    source = write_pcap(tmp_path / "a.pcap", days)
    assert call(["inspect", str(source), "--from", "30h", "--out", str(out)], capsys).status == 0
    blocks = [block for one in json.loads(out.read_text("utf-8"))["sections"] for block in one["blocks"]]
    figure = next(one for one in blocks if one.get("name") == "time-sequence")
    assert [row[2] for row in figure["data"]["rows"]] == [2 * 86_400, 3 * 86_400]


def write_captured(folder: Path, *ends: str, **columns: Any) -> Path:
    """Results of which trial 1 has files of these ends and these columns."""
    synthetic = make_quickstart()
    synthetic.records[0] = dataclasses.replace(synthetic.records[0], **columns)
    results = write_results(synthetic, folder)
    (folder / "captures").mkdir()
    for end in ends:
        make_connection(folder / "captures" / f"trial-1-{end}.pcapng")
    return results


@pytest.mark.parametrize(
    ("columns", "notice"),
    [
        ({"capture_sender_missing": "its file is full"}, "lacks packets of the trial: its file is full."),
        ({"capture_receiver_missing": "no privilege"}, "! The receiver's end has no capture: no privilege."),
        ({"capture_receiver_sha256": "0" * 64}, "'trial-1-receiver.pcapng' was deleted."),
    ],
)
def test_what_a_trial_knows_of_its_captures_is_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], columns: dict[str, str], notice: str
) -> None:
    results = write_captured(tmp_path / "results", "sender", **columns)
    said = call(["inspect", str(results), "--trial", "1"], capsys)
    assert said.status == 0
    assert notice in " ".join(said.out.split())
    (row,) = [line.split() for line in said.out.splitlines() if line.startswith("Retransmitted segments")]
    # what a part of the trial shows is not compared with the whole
    assert row[3] == ("–" if "capture_sender_missing" in columns else "1")


@pytest.mark.parametrize(
    ("destination", "counted"), [("10.0.0.2", ["1"]), ("10.0.0.1", ["0"]), ("10.0.0.3", []), (None, [])]
)
def test_a_trial_in_both_directions_is_compared_by_the_data_along_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], destination: str | None, counted: list[str]
) -> None:
    both: dict[str, Any] = {"received_reverse_steady_bytes": 5, "destination_address": destination}
    results = write_captured(tmp_path / "results", "sender", **both)
    said = call(["inspect", str(results), "--trial", "1"], capsys)
    (row,) = [line.split() for line in said.out.splitlines() if line.startswith("Retransmitted segments")]
    assert row[3:4] == counted


def test_a_damaged_capture_is_read_or_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bits, bytes, lengths and the end of a file: figures, or one line that names it and a fix."""
    draw = random.Random(5)
    whole = make_connection(tmp_path / "whole.pcap").read_bytes()
    path, statuses = tmp_path / "bad.pcap", set()
    for _ in range(choose_runs(200, short=40) if LENGTH != "full" else 2000):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 4, 40))):
            at = draw.randrange(len(data))
            size = draw.choice((1, 1, 2, 4))
            data[at : at + size] = draw.choice((draw.randbytes(size), b"\xff" * size, bytes(size), b""))
        path.write_bytes(data if draw.random() < 0.8 else data[: draw.randrange(len(data))])
        said = call(["inspect", str(path)], capsys)
        statuses.add(said.status)
        if said.status:
            assert "bad.pcap" in said.err
            assert said.err.splitlines()[-1].startswith("  fix: ")
    assert {0} < statuses <= {0, 2, 5}
