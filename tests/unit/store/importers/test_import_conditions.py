"""Every setting in a file is part of the condition: different tests share no cell, no median, no row."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.report.report_builder import gather_inputs
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
    read_node,
)
from tests.builders.stored import CAMPAIGN


def make_plain(**keys: Any) -> Node:
    """A TCP test of iperf3 with these keys of ``test_start``."""
    node = make_iperf3()
    node["start"]["test_start"] |= keys
    return node


def make_datagrams(rate: int, lost: int = 3) -> Node:
    node = make_iperf3_udp(received=2000 - 100 * lost)
    node["start"]["test_start"]["target_bitrate"] = rate
    for key in ("sum", "sum_received"):
        node["end"][key] = {**node["end"][key], "lost_packets": lost}
    return node


def use_mss(node: Node, size: int) -> Node:
    del node["start"]["tcp_mss_default"]
    node["start"]["tcp_mss"] = size
    return node


#: Files that differ in one setting each, and what the importer calls it.
DIFFERENT: list[tuple[Node, str, Any]] = [
    (make_plain(target_bitrate=20_000_000), "stream_target_bits_per_s", 20_000_000),
    (use_mss(make_plain(), 600), "mss_bytes", 600),
    (make_plain(blksize=8192), "write_bytes", 8192),
    (make_plain(tos=0xB8), "dscp", 46),
    (make_plain(tos=1), "ecn", 1),
    (make_plain(fqrate=5_000_000), "stream_pacing_bits_per_s", 5_000_000),
    (make_plain(bytes=10_000), "transfer_bytes", 10_000),
    (make_plain(blocks=12), "transfer_blocks", 12),
    (make_plain(gso=1), "gso", True),
    (make_plain(duration=20), "duration_ns", 20 * 10**9),
    (make_plain(omit=2), "warmup_ns", 2 * 10**9),
    (make_plain(protocol="SCTP"), "transport", "sctp"),
    (change(make_plain(), "end.sender_tcp_congestion", "bbr"), "congestion", "bbr"),
]


def make_rows() -> Node:
    """pScheduler's rows without what its tool printed."""
    return make_pscheduler(diags=False)


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


def test_one_other_setting_is_another_condition_everywhere(tmp_path: Path) -> None:
    nodes = [make_plain(), *(node for node, _, _ in DIFFERENT)]
    folder = import_nodes(tmp_path / "in", [*nodes, *nodes])
    twice = [2] * len(nodes)
    with StudiedResults.open(folder) as results:
        plan = results.plan()
        assert [row.cycle for row in plan] == [0] * len(nodes) + [1] * len(nodes)
        for row, (_, setting, level) in zip(plan[1:], DIFFERENT, strict=False):
            assert row.settings.get(setting) == level
            assert plan[0].settings.get(setting) != level
        found = results.conditions()
        assert [len(cell.complete) for one in found for cell in one.all_cells] == twice
        assert len({one.name for one in found}) == len(nodes)
        assert [answer.selection.used for answer in results.cells()] == twice
        assert [answer.selection.trials for answer in gather_inputs(results).study.recommend()] == twice


def test_loss_and_jitter_are_figures_of_a_cell(tmp_path: Path) -> None:
    folder = import_nodes(tmp_path / "in", [make_datagrams(10**8), make_datagrams(10**8, lost=5)])
    with StudiedResults.open(folder) as results:
        trials = results.trials()
        assert list(trials["udp_sent_packets"]) == [20, 20]
        assert list(trials["udp_lost_packets"]) == [3, 5]
        assert list(trials["udp_jitter_ns"]) == [500_000, 500_000]
        (figures,) = results.cells()
        loss = figures.result.udp_loss
        assert (loss.sent, loss.lost, loss.loss_ratio) == (40, 8, 0.2)
        assert loss.interval_ratio.undecided is Undecided.TOO_FEW_SAMPLES  # of trials
        assert figures.result.udp_jitter_ns.median == 500_000


@pytest.mark.parametrize(
    ("make", "place", "value", "setting", "level"),
    [
        (make_flent, "metadata.NAME", "tcp_8up", "test", "tcp_8up"),
        (make_flent, "metadata.TEST_PARAMETERS", {"cc": "bbr"}, "test_parameters", '{"cc": "bbr"}'),
        (make_irtt, "config.params.length", 1400, "probe_bytes", 1400),
        (make_irtt, "config.params.interval", 5_000_000, "probe_interval_ns", 5_000_000),
        (make_irtt, "config.params.dscp", 46, "dscp", 46),
        (make_crusader, "config.stagger", {"secs": 1, "nanos": 0}, "stagger_ns", 10**9),
        (make_rows, "test.spec.bandwidth", 10**7, "stream_target_bits_per_s", 10**7),
        (make_rows, "test.spec.ip-tos", 0xB9, "ecn", 1),
        (make_rows, "test.spec.udp", True, "transport", "udp"),
    ],
)
def test_other_programs_settings_are_conditions_too(
    tmp_path: Path, make: Callable[[], Node], place: str, value: Any, setting: str, level: Any
) -> None:
    without, with_it = (read_node(tmp_path, node)[0] for node in (make(), change(make(), place, value)))
    assert without.settings != with_it.settings
    assert with_it.settings[setting] == level


def test_pscheduler_tells_loss_by_stream(tmp_path: Path) -> None:
    """Later iperf3s state the sender's sum, in which nothing is lost."""
    node = change(make_rows(), "test.spec.udp", True)
    for stream, lost in zip(node["result"]["summary"]["streams"], (1, 4), strict=True):
        stream |= {"sent": 50, "lost": lost, "jitter": 0.25}
    node["result"]["summary"]["summary"] |= {"sent": 100, "lost": 0, "jitter": 0}
    (trial,) = read_node(tmp_path, node)
    assert (trial.record.udp_sent_packets, trial.record.udp_lost_packets) == (100, 5)
    assert trial.record.udp_jitter_ns == 250_000


def test_loss_of_datagrams_is_compared_by_its_difference(tmp_path: Path) -> None:
    lost = [n * 7 % 3 for n in range(12)]
    before = import_nodes(tmp_path / "before", [make_datagrams(10_000_000, lost=n) for n in lost])
    after = import_nodes(tmp_path / "after", [make_datagrams(10_000_000, lost=9 + n) for n in lost])
    with Results.open(before) as first, Results.open(after) as second:
        rules = ComparisonRules(metrics=("udp-loss", "loss"))
        found = compare_results([("before", first), ("after", second)], rules)
    (row,) = found.rows
    assert (row.metric.name, row.verdict) == ("udp-loss", ChangeVerdict.WORSE)
    assert row.estimate == pytest.approx(9 / 20)
