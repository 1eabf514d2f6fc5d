"""Every program of examples/ runs, and prints what it promises."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.study.registry import ANALYSES
from tests.builders.results import make_quickstart, write_results
from tests.require import require_engine

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
IPERF3 = ROOT / "tests" / "data" / "iperf3-3.21"
CAMPAIGN = """
format = 1
name = "example"
title = "One and two streams over loopback"
seed = 7

[[paths]]
source = "local"
destination = "far"
destination_address = "127.0.0.2"

[hosts.far]
transport = "local"

[factors]
streams = [1, 2]

[trial]
warmup = "100ms"
duration = "300ms"

[probes]
unloaded = 5
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    levels = [(streams, size * 1024) for streams in (1, 2, 4) for size in (64, 256)]
    folder = tmp_path_factory.mktemp("examples") / "results"
    return write_results(make_quickstart(cycles=7, levels=levels), folder)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run_example(name: str, *words: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run_example


def test_every_example_is_listed_and_tested() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert programs == set(re.findall(r"\| `(\w+\.py)", (EXAMPLES / "README.md").read_text(encoding="utf-8")))
    assert programs == set(re.findall(r'run\("(\w+\.py)"', Path(__file__).read_text(encoding="utf-8")))


def test_open_results(run: Run, results: Path) -> None:
    text = run("open_results.py", results)
    assert "1 streams, window 65536: 7 trials, median 13" in text
    assert "4    38.6" in text


def test_all_analyses(run: Run, results: Path) -> None:
    text = run("all_analyses.py", results)
    assert re.findall(r"^(\w+): \d+ answers", text, re.MULTILINE) == list(ANALYSES)
    assert "capacity 38.6 Mbit/s" in text


def test_recommend(run: Run, results: Path) -> None:
    text = run("recommend.py", results)
    assert "west → east: use 1 streams, window 262144 bytes\n  throughput 38.6 Mbit/s" in text
    assert "limited by: path-capacity, confidence: high\n  preferred to 4 streams: fewer-streams\n" in text


def test_explain_limits(run: Run, results: Path) -> None:
    text = run("explain_limits.py", results)
    assert "1 streams, window 65536: window\n" in text
    assert "4 streams, window 262144: path-capacity\n" in text
    assert "  line_share_ratio: 1, threshold 0.9" in text


def test_read_series(run: Run, results: Path) -> None:
    text = run("read_series.py", results)
    assert re.search(r"^30 intervals, \d+\.\d to \d+\.\d Mbit/s$", text, re.MULTILINE)
    assert re.search(r"^20 probes, [01] lost, median RTT \d+\.\d ms$", text, re.MULTILINE)


def test_compare_results(run: Run, results: Path) -> None:
    lines = run("compare_results.py", results, results).splitlines()
    assert len(lines) == 12
    assert all("equivalent" in line for line in lines)


def test_compare_iperf3(run: Run) -> None:
    text = run("compare_iperf3.py", IPERF3 / "tcp.json", IPERF3 / "tcp.json")
    assert re.search(r"19\.9 -> 19\.9 Mbit/s: undecided \(.*too few trials", text)


def test_analyze_arrays(run: Run) -> None:
    text = run("analyze_arrays.py")
    assert "larger windows win" in text
    assert re.search(r"capacity 3[78]\.\d Mbit/s, 90 % of it from 7", text)


@pytest.mark.engine
def test_run_campaign(run: Run, tmp_path: Path) -> None:
    require_engine()
    campaign = tmp_path / "example.toml"
    campaign.write_text(CAMPAIGN, encoding="utf-8")
    text = run("run_campaign.py", campaign, tmp_path / "results")
    assert len(re.findall(r"^[12] streams: complete \d+ Mbit/s$", text, re.MULTILINE)) == 2
    assert "exit status 0" in text
