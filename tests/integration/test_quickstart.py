"""The quickstart's numbers against the lab's settings. CI has an ordinary user run it too: `.ci/newcomer`."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

import pathlab
from pathlab.store.results import Results
from tests.integration.running import running
from tests.require import require_namespaces

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.netns, pytest.mark.quiet]

RATE_BITS_PER_S = 40e6 * 1448 / 1500
BASE_RTT_NS = 40e6


def check_against_truth(folder: Path) -> None:
    """Full cells within 3 % of the line, idle RTT within 1 ms, one small window within 10 % of W / RTT."""
    with pathlab.open(folder) as results:
        records = results.records(status="complete")
        check_lab_series(results, int(results.trials(status="complete")["trial_id"].iloc[0]))
    assert len(records) == 16
    assert {record.congestion_sender for record in records} == {"cubic"}
    assert {record.window_granted_sender_bytes for record in records} == {131072, 524288}
    rates: dict[tuple[int, int], list[float]] = {}
    for record in records:
        assert record.window_requested_bytes is not None
        assert record.throughput_bits_per_s is not None
        cell = (record.streams, record.window_requested_bytes)
        rates.setdefault(cell, []).append(record.throughput_bits_per_s)
        assert record.unloaded_rtt_median_ns == pytest.approx(BASE_RTT_NS, abs=1e6)
    medians = {cell: statistics.median(values) for cell, values in rates.items()}
    product = RATE_BITS_PER_S * BASE_RTT_NS / 8e9
    full = [rate for (streams, window), rate in medians.items() if streams * window > 1.2 * product]
    assert full == pytest.approx([RATE_BITS_PER_S] * 6, rel=0.03)
    assert medians[1, 65536] == pytest.approx(65536 * 8e9 / BASE_RTT_NS, rel=0.10)


def check_lab_series(results: Results, trial_id: int) -> None:
    """The lab's verdict, what its links counted and the route are kept with a trial."""
    verdict = results.series_table(trial_id, "lab")
    assert verdict.num_rows == 1
    row = verdict.to_pylist()[0]
    assert row["outside_packets"] == 0
    assert 0 < row["emulator_cores"] < 1
    assert 0 < row["host_busy_ratio"] <= 1
    counted = {
        (line["direction"], line["name"]): line["value"]
        for line in results.series_table(trial_id, "lab_links").to_pylist()
    }
    assert counted["forward", "delivered_bytes"] > 10**6
    assert counted["reverse", "delivered_packets"] > 100
    hops = results.series_table(trial_id, "route").to_pylist()
    assert [(hop["hop"], hop["address"]) for hop in hops] == [(1, "198.18.0.2")]
    assert re.fullmatch(r"2:[0-9a-f]{32}", hops[0]["fingerprint"])


def test_the_numbers_agree_with_the_lab(tmp_path: Path) -> None:
    require_namespaces()
    with running(["run", "quickstart", "--out", "out"], tmp_path) as run:
        run.read_until(r"trial 1/16 .* \d+(\.\d+)? [kM]bit/s .* left")
        status, screen = run.read_to_end(timeout_s=240)
    assert status == 0, screen
    assert screen.splitlines()[-1].strip().endswith("out/report.html")
    # which of them depends on what the lab could bear on this machine
    assert "Tentatively, use" in screen or "Nothing can be recommended" in screen
    check_against_truth(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") > 4
    assert not re.search(r'(src|href)="https?://', re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
