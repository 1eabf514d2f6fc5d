"""Rates that are requested or allowed are those that are measured: each is compared with a second run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.measuring import SHORT, measure
from tests.integration.conducting import campaign_of, run, stored
from tests.require import require_engine

pytestmark = pytest.mark.engine


def read_rates(folder: Path) -> list[float]:
    rates = [record.throughput_bits_per_s for record in stored(folder)]
    assert None not in rates
    return [rate or 0.0 for rate in rates]


def test_both_directions_together_have_the_rate_of_the_budget(tmp_path: Path) -> None:
    budget = {"rate": "80Mbit/s", "bytes_per_campaign": "60MB"}
    # The kernel paces no stream's first ten segments, 64 KB each over loopback; bbr paces by its own mind.
    trial = {"warmup": "200ms", "duration": "1s", "interval": "50ms", "drain": "100ms"}
    factors = {"streams": [2], "direction": ["forward", "both"], "congestion": ["reno"]}
    run(campaign_of(budget=budget, factors=factors, trial=trial), tmp_path / "out")
    forward, both = read_rates(tmp_path / "out")
    assert forward / both == pytest.approx(2, rel=0.15)


def test_iperf3_keeps_the_requested_rate(tmp_path: Path) -> None:
    factors = {
        **{"streams": [2], "engine": ["iperf3"], "congestion": ["reno"], "mss": ["1000B"]},
        **{"pacing": ["40Mbit/s", "80Mbit/s"], "duration": ["800ms"], "warmup": ["200ms"]},
    }
    run(campaign_of(factors=factors), tmp_path / "out")
    slow, fast = read_rates(tmp_path / "out")
    assert fast / slow == pytest.approx(2, rel=0.1)


def measure_at(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """The trial of a measurement whose limit is the rate that was requested."""
    require_engine()
    done = measure(capsys, *options, "--json")
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert "the requested rate" in document["limit"]["text"]
    return dict(document["trial"])


def test_a_single_trial_keeps_the_requested_rate(capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = (measure_at(capsys, *SHORT, "-R", "--rate", rate, "-P", "2") for rate in ("25M", "50M"))
    ratio = fast["throughput_bits_per_s"] / slow["throughput_bits_per_s"]
    assert ratio == pytest.approx(2, rel=0.2)
    # Linux does not pace the first ten segments of a connection: 640 kB on loopback.
    both = measure_at(capsys, "--both", "--bytes", "16M", "--rate", "80Mbit/s")
    ratio = both["throughput_bits_per_s"] / both["throughput_reverse_bits_per_s"]
    assert ratio == pytest.approx(1, rel=0.2)
