"""Every setting in a file is part of the condition: different tests share no cell, no median, no row."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pathlab.cli.console import TerminalConsole
from pathlab.cli.results_show import print_overview
from pathlab.report.blocks import TableBlock
from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import gather_inputs
from pathlab.report.sections.chapters import build_sections
from pathlab.report.sections.comparison_table import render_comparison
from pathlab.report.text import count_flags, tabulate_cells
from pathlab.store.importing import read_file, store_files
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from pathlab.study.comparison.rows import ChangeVerdict, ComparisonRules, compare_results
from tests.builders.foreign_files import (
    BEGIN_S,
    Node,
    change,
    make_crusader,
    make_flent,
    make_iperf3,
    make_iperf3_udp,
    make_irtt,
    make_pscheduler,
)
from tests.builders.stored import CAMPAIGN

DATA = Path(__file__).parents[3] / "data" / "iperf3-3.21"


def make_plain(**keys: Any) -> Node:
    """A TCP test of iperf3 with these keys of ``test_start``."""
    node = make_iperf3()
    node["start"]["test_start"] |= keys
    return node


def make_datagrams(rate: int, lost: int = 3, received: int = 1700) -> Node:
    node = make_iperf3_udp(received=received)
    node["start"]["test_start"]["target_bitrate"] = rate
    for key in ("sum", "sum_received"):
        node["end"][key] = {**node["end"][key], "lost_packets": lost}
    return node


def use_mss(node: Node, size: int) -> Node:
    del node["start"]["tcp_mss_default"]
    node["start"]["tcp_mss"] = size
    return node


def use_congestion(node: Node, name: str) -> Node:
    node["end"]["sender_tcp_congestion"] = name
    return node


#: Files that differ in one setting each, and what the importer calls it.
DIFFERENT: dict[str, tuple[Node, str, Any]] = {
    "rate": (make_plain(target_bitrate=20_000_000), "stream_target_bits_per_s", 20_000_000),
    "mss": (use_mss(make_plain(), 600), "mss_bytes", 600),
    "block": (make_plain(blksize=8192), "write_bytes", 8192),
    "tos": (make_plain(tos=0xB8), "dscp", 46),
    "ecn": (make_plain(tos=1), "ecn", 1),
    "pacing": (make_plain(fqrate=5_000_000), "stream_pacing_bits_per_s", 5_000_000),
    "amount": (make_plain(bytes=10_000), "transfer_bytes", 10_000),
    "blocks": (make_plain(blocks=12), "transfer_blocks", 12),
    "gso": (make_plain(gso=1), "gso", True),
    "duration": (make_plain(duration=20), "duration_ns", 20 * 10**9),
    "warm-up": (make_plain(omit=2), "warmup_ns", 2 * 10**9),
    "protocol": (make_plain(protocol="SCTP"), "transport", "sctp"),
}


def import_nodes(folder: Path, nodes: list[Node], *, prefix: str = "f") -> Path:
    """Results with these files, one test each, a second apart."""
    folder.mkdir()
    files = []
    for number, node in enumerate(nodes):
        later = change(node, "start.timestamp.timesecs", BEGIN_S + 60 * number)
        path = folder / f"{prefix}{number}.json"
        path.write_text(json.dumps(later), encoding="utf-8")
        files.append(read_file(path))
    with Results.create(folder / "results", CAMPAIGN, ()) as results:
        store_files(results, files)
    return folder / "results"


@pytest.mark.parametrize("name", DIFFERENT)
def test_one_other_setting_is_another_condition_everywhere(tmp_path: Path, name: str) -> None:
    node, setting, level = DIFFERENT[name]
    folder = import_nodes(tmp_path / "in", [make_plain(), node, make_plain(), node])
    with StudiedResults.open(folder) as results:
        settings = [row.settings for row in results.plan()]
        assert [row.get(setting) for row in settings[1::2]] == [level, level]
        assert settings[0] == settings[2] != settings[1]
        assert [row.cycle for row in results.plan()] == [0, 0, 1, 1]
        found = results.conditions()
        assert [len(cell.complete) for one in found for cell in one.all_cells] == [2, 2]
        assert len({one.name for one in found}) == 2
        assert [answer.selection.used for answer in results.cells()] == [2, 2]
        assert [answer.selection.trials for answer in gather_inputs(results).study.recommend()] == [2, 2]


def test_another_congestion_control_is_another_cell(tmp_path: Path) -> None:
    folder = import_nodes(tmp_path / "in", [make_plain(), use_congestion(make_plain(), "bbr")])
    with StudiedResults.open(folder) as results:
        found = {one.key.get("congestion"): len(one.complete) for one in results.conditions()}
        assert found == {"bbr": 1, "cubic": 1}
        assert len(results.cells()) == 2


def test_files_that_differ_are_never_compared(tmp_path: Path) -> None:
    """Not even where only one of the results tells the setting."""
    plain = import_nodes(tmp_path / "plain", [make_plain()] * 1)
    paced = import_nodes(tmp_path / "paced", [make_plain(fqrate=5_000_000), make_plain()], prefix="p")
    with StudiedResults.open(plain) as first, StudiedResults.open(paced) as second:
        found = compare_results(
            [("plain", first), ("paced", second)], ComparisonRules(metrics=("throughput",))
        )
    (row,) = found.rows
    assert dict(row.cell.settings)["stream_pacing_bits_per_s"] == "None"
    assert [dict(one.settings)["stream_pacing_bits_per_s"] for _, one in found.alone] == ["5000000"]
    assert found.ignored_settings == ()


def test_datagrams_are_never_expected_to_carry_anything(tmp_path: Path) -> None:
    """The issue's case: UDP at 100 and 400 Mbit/s and TCP, in one folder."""
    slow, fast = make_datagrams(100_000_000), make_datagrams(400_000_000, lost=9, received=1100)
    folder = import_nodes(tmp_path / "in", [slow, fast, make_plain()] * 7)
    with StudiedResults.open(folder) as results:
        answers = gather_inputs(results).study.recommend()
        kinds = {(a.condition.get("transport"), a.condition.get("stream_target_bits_per_s")) for a in answers}
        assert kinds == {("udp", 100_000_000), ("udp", 400_000_000), (None, None)}
        for answer in answers:
            if answer.condition.is_udp:
                assert answer.result.recommended is None
            else:
                assert answer.result.best is not None
                assert answer.result.best.throughput_bits_per_s.median == 16_000
        for found in (
            results.streams_vs_windows(),
            results.saturation(),
            results.optimum(),
            results.surface(),
            results.rfc6349(),
            results.planning(),
        ):
            assert not any(answer.condition.is_udp for answer in found)


def test_loss_and_jitter_are_shown(tmp_path: Path) -> None:
    folder = import_nodes(tmp_path / "in", [make_datagrams(10**8), make_datagrams(10**8, lost=5)])
    with StudiedResults.open(folder) as results:
        trials = results.trials()
        assert list(trials["udp_sent_packets"]) == [20, 20]
        assert list(trials["udp_lost_packets"]) == [3, 5]
        assert list(trials["udp_jitter_ns"]) == [500_000, 500_000]
        (figures,) = results.cells()
        loss = figures.result.udp_loss
        assert (loss.sent, loss.lost, loss.loss_ratio) == (40, 8, 0.2)
        assert loss.interval_ratio.low == pytest.approx(0.10499, abs=1e-4)  # Wilson, by hand
        assert loss.interval_ratio.high == pytest.approx(0.34757, abs=1e-4)
        assert figures.result.udp_jitter_ns.median == 500_000
        tables = [
            block
            for section in build_sections(gather_inputs(results))
            for block in section.blocks
            if isinstance(block, TableBlock) and block.name == "udp-loss"
        ]
        assert len(tables) == 1
        (row,) = tables[0].narrow().rows
        assert row[3:] == ("6.8 kbit/s", "40", "8", "20 % (95 % CI 10.5–34.8 %)", "500 µs")
        console = Console(record=True, width=160)
        inputs = gather_inputs(results)
        render_summary(inputs.study, (), console)
    text = console.export_text()
    assert "UDP loss" in text
    assert "20 %" in text
    assert "500 µs" in text


def test_a_real_file_of_lost_datagrams() -> None:
    (trial,) = read_file(DATA / "udp.json").trials
    record = trial.record
    assert (record.udp_sent_packets, record.udp_lost_packets) == (41_681, 17_790)
    assert record.udp_jitter_ns == pytest.approx(4462.927)
    assert trial.settings == {
        "streams": 1,
        "window_bytes": 4096,
        "congestion": None,
        "duration_ns": 10**9,
        "warmup_ns": 0,
        "transport": "udp",
        "stream_target_bits_per_s": 400_000_000,
        "write_bytes": 1200,
    }
    (options,) = read_file(DATA / "tcp.json").trials
    stated = {"stream_target_bits_per_s", "stream_pacing_bits_per_s", "mss_bytes", "write_bytes", "dscp"}
    assert {name: options.settings[name] for name in stated} == {
        "stream_target_bits_per_s": 20_000_000,
        "stream_pacing_bits_per_s": 50_000_000,
        "mss_bytes": 600,
        "write_bytes": 8192,
        "dscp": 46,
    }


def test_datagrams_of_which_the_receiver_was_not_heard_are_not_counted(tmp_path: Path) -> None:
    """A client that sends and was stopped knows what it sent, not what arrived: that is no loss of 0."""
    node = make_datagrams(10**8, lost=0) | {"error": "interrupt - the client has terminated"}
    path = tmp_path / "stopped.json"
    path.write_text(json.dumps(node), encoding="utf-8")
    (trial,) = read_file(path).trials
    assert trial.record.status == "interrupted"
    assert trial.record.udp_lost_packets is None
    assert trial.record.udp_sent_packets is None


@pytest.mark.parametrize(
    ("make", "place", "value", "setting", "level"),
    [
        (make_flent, "metadata.NAME", "tcp_8up", "test", "tcp_8up"),
        (make_flent, "metadata.TEST_PARAMETERS", {"cc": "bbr"}, "test_parameters", '{"cc": "bbr"}'),
        (make_irtt, "config.params.length", 1400, "probe_bytes", 1400),
        (make_irtt, "config.params.interval", 5_000_000, "probe_interval_ns", 5_000_000),
        (make_irtt, "config.params.dscp", 46, "dscp", 46),
        (make_crusader, "config.stagger", {"secs": 1, "nanos": 0}, "stagger_ns", 10**9),
        (
            lambda: make_pscheduler(diags=False),
            "test.spec.bandwidth",
            10**7,
            "stream_target_bits_per_s",
            10**7,
        ),
        (lambda: make_pscheduler(diags=False), "test.spec.ip-tos", 0xB9, "ecn", 1),
        (lambda: make_pscheduler(diags=False), "test.spec.udp", True, "transport", "udp"),
    ],
)
def test_other_programs_settings_are_conditions_too(
    tmp_path: Path, make: Callable[[], Node], place: str, value: Any, setting: str, level: Any
) -> None:
    found = []
    for number, node in enumerate((make(), change(make(), place, value))):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(node), encoding="utf-8")
        found.append(read_file(path).trials[0].settings)
    assert found[0] != found[1]
    assert found[1][setting] == level


def test_pscheduler_tells_loss_by_stream(tmp_path: Path) -> None:
    """Later iperf3s state the sender's sum, in which nothing is lost."""
    node = change(make_pscheduler(diags=False), "test.spec.udp", True)
    for stream, lost in zip(node["result"]["summary"]["streams"], (1, 4), strict=True):
        stream |= {"sent": 50, "lost": lost, "jitter": 0.25}
    node["result"]["summary"]["summary"] |= {"sent": 100, "lost": 0, "jitter": 0}
    path = tmp_path / "udp.json"
    path.write_text(json.dumps(node), encoding="utf-8")
    (trial,) = read_file(path).trials
    assert (trial.record.udp_sent_packets, trial.record.udp_lost_packets) == (100, 5)
    assert trial.record.udp_jitter_ns == 250_000


def test_results_show_has_loss_and_jitter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = import_nodes(tmp_path / "in", [make_datagrams(10**8), make_plain()])
    print_overview(folder, TerminalConsole(), limit=None, offset=0)
    lines = capsys.readouterr().out.splitlines()
    assert any("target rate per stream 100 Mbit/s" in line and "transport udp" in line for line in lines)
    (heading,) = [line.split("  ") for line in lines if "UDP loss" in line]
    assert "Jitter" in [cell.strip() for cell in heading]
    assert any("3 of 20 (15 %)" in line and "500 µs" in line for line in lines)
    plain = import_nodes(tmp_path / "tcp", [make_plain()], prefix="t")
    print_overview(plain, TerminalConsole(), limit=None, offset=0)
    assert "UDP loss" not in capsys.readouterr().out


def test_a_test_of_an_amount_has_no_duration(tmp_path: Path) -> None:
    node = make_plain(bytes=10_000, duration=0)
    with StudiedResults.open(import_nodes(tmp_path / "in", [node, make_plain()])) as results:
        amount, plain = (row.settings for row in results.plan())
        assert "duration_ns" not in amount
        assert plain["duration_ns"] > 0
        assert not any("duration 0" in one.name for one in results.conditions())
        assert len(results.duration()) == 2


def test_loss_of_datagrams_is_compared_by_its_difference(tmp_path: Path) -> None:
    before = import_nodes(
        tmp_path / "before", [make_datagrams(10_000_000, lost=n * 7 % 3) for n in range(12)]
    )
    after = import_nodes(
        tmp_path / "after", [make_datagrams(10_000_000, lost=9 + n * 7 % 3) for n in range(12)]
    )
    with Results.open(before) as first, Results.open(after) as second:
        found = compare_results(
            [("before", first), ("after", second)], ComparisonRules(metrics=("udp-loss", "loss"))
        )
    (row,) = found.rows
    assert (row.metric.name, row.verdict) == ("udp-loss", ChangeVerdict.WORSE)
    assert row.estimate == pytest.approx(9 / 20)
    out = io.StringIO()
    render_comparison(found, Console(file=out, width=80))
    title, table = out.getvalue().split("Combination ", 1)
    assert "target rate per stream=10 Mbit/s, transport=udp" in " ".join(title.split())
    assert "…" not in table


def test_the_terminals_table_of_datagrams_has_their_columns(tmp_path: Path) -> None:
    with StudiedResults.open(import_nodes(tmp_path / "in", [make_datagrams(10_000_000)])) as results:
        (condition,) = results.conditions()
        out = io.StringIO()
        Console(file=out, width=60).print(tabulate_cells(condition))
        assert count_flags(condition) == "1 imported"
    assert "UDP loss" in out.getvalue()
    assert "Retr." not in out.getvalue()
