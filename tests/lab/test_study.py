"""Physics over emulated links: what the analyses say of a link is what was set."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.flow_evidence import INDEPENDENT_RATIO, STEADINESS_RATIO
from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.pairs import PairVerdict
from pathlab.campaign.campaign_text import CampaignText
from pathlab.campaign.load import load_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.study.analyses import StudiedResults, Study
from tests.lab.trusting import Trusting
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

CAMPAIGN = """
format = 1
name = "physics"
title = "Physics"
seed = 3
cycles = {cycles}
lab_retries = 4
design = "{design}"
[[paths]]
source = "a"
destination = "b"
{cells}
[trial]
warmup = "{warmup}"
duration = "{duration}"
[probes]
interval = "20ms"
unloaded = 10
[lab]
hosts = ["a", "b"]
[[lab.links]]
between = ["a", "b"]
rate = "{rate}Mbit/s"
delay = "{delay}ms"
queue = "150kB"
loss = "{loss}%"
"""
DEFAULTS: dict[str, Any] = {
    "cycles": 1,
    "warmup": "500ms",
    "duration": "1s",
    "rate": 20,
    "delay": 10,
    "loss": 0,
    "design": "full",
}
LOSSY = """
[[rows]]
streams = 1
window = "256KiB"
congestion = "reno"
[[rows]]
streams = 8
window = "32KiB"
congestion = "reno"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    require_namespaces()
    require_engine()
    return tmp_path / "results"


def run(folder: Path, text: str = CAMPAIGN, **settings: Any) -> Study:
    text = text.format(**{**DEFAULTS, **settings})
    campaign = load_campaign(CampaignText(text=text, label="physics"))
    run_campaign(CampaignSource(campaign=campaign, text=text), folder, lambda _event: None)
    return Study(Trusting(StudiedResults.open(folder)))


def test_small_windows_carry_themselves_once_a_round_trip(folder: Path) -> None:
    cells = '[factors]\nstreams = 2\nwindow = "64KiB"\ncongestion = "cubic"'
    study = run(folder, cells=cells, delay=50, cycles=3)
    (cell,) = study.cells()
    rtt_ns = cell.result.loaded_rtt_mean_ns.median
    # No queue, so the set round trip, unless the machine has other work and the link is late
    assert 100e6 <= rtt_ns < 110e6
    assert cell.result.throughput_bits_per_s.median == pytest.approx(2 * 65536 * 8e9 / rtt_ns, rel=0.08)
    (limit,) = study.limits()
    assert limit.result.limit in (Limit.RECEIVER_WINDOW, Limit.SEND_BUFFER)


def test_the_fitted_capacity_is_the_bottlenecks(folder: Path) -> None:
    cells = '[factors]\nstreams = [1, 4]\nwindow = ["16KiB", "64KiB"]\ncongestion = "cubic"'
    study = run(folder, cells=cells, cycles=2)
    (surface,) = study.surface()
    assert surface.result.capacity.value == pytest.approx(20e6 * 1448 / 1500, rel=0.03)
    limits = {(one.streams, one.window_bytes): one.result.limit for one in study.limits()}
    assert limits[4, 65536] is Limit.PATH_CAPACITY


def test_random_loss_makes_many_streams_beat_one_window(folder: Path) -> None:
    # In 8 s the lone stream loses clearly more than the ten segments that a verdict needs.
    study = run(folder, cells=LOSSY, design="explicit", rate=80, loss=2, duration="8s")
    (pair,) = study.streams_vs_windows()
    assert (pair.result.many_streams, pair.result.large_streams) == (8, 1)
    assert pair.result.comparison.ratio > 1.5
    assert pair.result.comparison.verdict is PairVerdict.UNDECIDED  # one cycle
    limits = {(one.streams, one.window_bytes): one.result.limit for one in study.limits()}
    assert limits[1, 262144] is Limit.CONGESTION


def test_random_loss_on_many_streams_is_no_full_path(folder: Path) -> None:
    """1 % of loss holds every stream at Mathis' rate; together they are flat, and the queue is empty."""
    rows = [f'[[rows]]\nstreams = {count}\nwindow = "1MiB"\ncongestion = "reno"' for count in (8, 16, 32)]
    study = run(folder, cells="\n".join(rows), design="explicit", rate=400, loss=1, delay=20, duration="4s")
    verdicts = {one.streams: one.result.trials[0].verdict for one in study.limits()}
    assert set(verdicts) == {8, 16, 32}
    by_chance = []
    for count, verdict in verdicts.items():
        assert len(verdict.streams) == count
        assert verdict.streams[0].find("retransmit_ratio").met is True
        steadiness_ratio = verdict.flow.find("loss_steadiness_ratio").value
        if verdict.flow.limit is None:  # the rate may be as steady as a policer's by chance
            assert verdict.flow.undecided is Undecided.CONFLICTING_EVIDENCE
            assert STEADINESS_RATIO < steadiness_ratio < INDEPENDENT_RATIO
            by_chance.append(count)
        else:
            assert verdict.flow.limit is Limit.CONGESTION
    assert len(by_chance) < 2


def test_a_sender_that_keeps_a_rate_is_named(folder: Path) -> None:
    cells = '[factors]\nstreams = 2\nwindow = "1MiB"\npacing = "4Mbit/s"\ncongestion = "cubic"'
    (limit,) = run(folder, cells=cells).limits()
    assert limit.result.limit is Limit.APPLICATION


@contextlib.contextmanager
def keep_busy(core: int, programs: int) -> Iterator[None]:
    """So many programs on a core that are not the traffic, from before until after."""
    spin = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint(flush=True)\nwhile True: pass"
    with contextlib.ExitStack() as stack:
        for _ in range(programs):
            program = subprocess.Popen([sys.executable, "-I", "-c", spin], stdout=subprocess.PIPE)
            stack.enter_context(program)
            stack.callback(program.kill)
            assert program.stdout.readline()
        yield


@pytest.mark.parametrize("others", [0, 3])
def test_a_busy_core_of_the_traffic_is_named(folder: Path, others: int) -> None:
    """Both ends pinned to one core, over loopback; beside three others, each thread gets a tenth of it."""
    core = min(os.sched_getaffinity(0))
    local = CAMPAIGN[: CAMPAIGN.index("[lab]")].replace('"a"', '"local"').replace('"b"', '"local"')
    with keep_busy(core, others):
        study = run(
            folder, text=local, cells=f'[factors]\nstreams = 2\ncpus = "{core}"\ncongestion = "cubic"'
        )
    (limit,) = study.limits()
    assert limit.result.limit is Limit.HOST_CPU
    waiting = limit.result.trials[0].verdict.flow.find("waiting_ratio")
    assert waiting.met in (True, None)  # None: a kernel that does not tell
    assert study.surface()[0].selection.used == 0  # no property of the path
    assert [one.reason for one in study.surface()[0].selection.excluded] == ["host-limited"]


@pytest.mark.long
def test_the_verdict_on_random_loss_is_more_streams(folder: Path) -> None:
    study = run(folder, cells=LOSSY, design="explicit", rate=80, loss=2, cycles=8)
    (pair,) = study.streams_vs_windows()
    assert pair.result.comparison.verdict is PairVerdict.STREAMS
    assert pair.result.comparison.ratio_interval.low > 1
