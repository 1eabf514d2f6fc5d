"""Every program of examples/ runs, and prints what it promises."""

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.study.base.registry import ANALYSES
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


#: By program: its arguments, where RESULTS are stored results, and patterns of what it prints.
PROMISES: dict[str, tuple[list[object], list[str]]] = {
    "open_results.py": (["RESULTS"], [r"1 streams, window 65536: 7 trials, median 13", r"4    38\.6"]),
    "recommend.py": (
        ["RESULTS"],
        [
            r"west → east: use 1 streams, window 262144 bytes\n  throughput 38\.6 Mbit/s",
            r"limited by: path-capacity, confidence: high\n  preferred to 4 streams: fewer-streams\n",
        ],
    ),
    "explain_limits.py": (
        ["RESULTS"],
        [
            r"1 streams, window 65536: window\n",
            r"4 streams, window 262144: path-capacity\n",
            r"  line_share_ratio: 1, threshold 0\.9",
        ],
    ),
    "read_series.py": (
        ["RESULTS"],
        [r"^30 intervals, \d+\.\d to \d+\.\d Mbit/s$", r"^20 probes, [01] lost, median RTT \d+\.\d ms$"],
    ),
    "compare_results.py": (["RESULTS", "RESULTS"], [r"^(.*equivalent.*\n){12}\Z"]),
    "compare_iperf3.py": (
        [IPERF3 / "tcp.json", IPERF3 / "tcp.json"],
        [r"19\.9 -> 19\.9 Mbit/s: undecided \(.*too few trials"],
    ),
    "analyze_arrays.py": ([], [r"larger windows win", r"capacity 3[78]\.\d Mbit/s, 90 % of it from 7"]),
}


def test_every_example_is_listed_and_tested() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    assert programs == set(re.findall(r"\| `(\w+\.py)", (EXAMPLES / "README.md").read_text(encoding="utf-8")))
    assert programs == {*PROMISES, "all_analyses.py", "run_campaign.py"}


@pytest.mark.parametrize("name", PROMISES)
def test_an_example_prints_what_it_promises(name: str, run: Run, results: Path) -> None:
    words, patterns = PROMISES[name]
    text = run(name, *(results if word == "RESULTS" else word for word in words))
    for pattern in patterns:
        assert re.search(pattern, text, re.MULTILINE), (pattern, text)


def test_all_analyses(run: Run, results: Path) -> None:
    text = run("all_analyses.py", results)
    assert re.findall(r"^(\w+): \d+ answers", text, re.MULTILINE) == list(ANALYSES)
    assert "capacity 38.6 Mbit/s" in text


@pytest.mark.engine
def test_run_campaign(run: Run, tmp_path: Path) -> None:
    require_engine()
    campaign = tmp_path / "example.toml"
    campaign.write_text(CAMPAIGN, encoding="utf-8")
    text = run("run_campaign.py", campaign, tmp_path / "results")
    assert set(re.findall(r"^([12]) streams: complete \d+ Mbit/s$", text, re.MULTILINE)) == {"1", "2"}
    assert re.search(r"^exit status [07]$", text, re.MULTILINE)  # 7: this machine was busy
