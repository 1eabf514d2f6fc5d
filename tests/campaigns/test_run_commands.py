"""``pathlab run``, ``stop`` and ``validate`` as programs: what they print, and with which status they end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import ROOT, running, write_campaign
from tests.require import require

pytestmark = [pytest.mark.engine]


@pytest.fixture(autouse=True)
def _needs() -> None:
    require((ROOT / "native" / "build" / "pathlab-engine").exists(), "the native engine (make engine)")


def read_events(screen: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in screen.replace("\r", "").splitlines() if line.startswith("{")]


def test_json_events_tell_the_run_and_stop_ends_it(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, lab=False, cycles=100, duration="200ms")  # stops long before
    arguments = ["run", str(campaign), "--out", "out"]
    with running([*arguments, "--json-events"], tmp_path) as run:
        run.read_until('"event": "rate"')
        with running(["stop", "out"], tmp_path) as stop:
            status, said = stop.read_to_end()
        assert status == 0
        assert f"the run (process {run.process.pid}) stops after the current trial" in said
        status, screen = run.read_to_end()
    assert status == 4
    events = read_events(screen)
    assert {event["format"] for event in events} == {1}
    names = list(dict.fromkeys(event["event"] for event in events))
    first_names = ["preparing", "preparing", "campaign-started", "preparing"]
    assert [event["event"] for event in events[:4]] == first_names
    steps = [event["text"] for event in events[:4] if event["event"] == "preparing"]
    assert steps == [f"reading campaign {campaign}", "connecting to local", "calibrating local"]
    assert events[2]["preparation_ns"] >= 8 * 10**8
    order = ["campaign-started", "trial-started", "rate", "trial-ended", "campaign-ended", "report"]
    assert [name for name in names if name in order] == order
    assert "rtt" in names
    ended = next(event for event in events if event["event"] == "campaign-ended")
    assert ended["reason"] == "stopped by `pathlab stop`"
    assert ended["complete"] < ended["rows"] == 100
    first = next(event for event in events if event["event"] == "trial-ended")
    assert first["record"]["status"] == "complete"
    assert first["settings"]["streams"] == 2
    assert Path(tmp_path, next(e["path"] for e in events if e["event"] == "report")).exists()
    with running(["stop", "out"], tmp_path) as stop:
        status, said = stop.read_to_end()
    assert status == 2
    assert "nothing runs in 'out'" in said


def test_validate_prints_the_ratio_of_both_engines(tmp_path: Path) -> None:
    require(shutil.which("iperf3"), "iperf3 (apt-get install iperf3)")
    arguments = ["validate", "local", "local", "--streams", "2", "--cycles", "1", "--time", "0.8", "--json"]
    with running([*arguments, "--warmup", "200ms"], tmp_path) as run:
        status, screen = run.read_to_end()
    assert status == 0, screen
    (answer,) = read_events(screen)
    (ratio,) = answer["ratios"]
    assert (ratio["streams"], ratio["pairs"], ratio["ratio_low"]) == (2, 1, None)
    assert ratio["ratio"] == pytest.approx(ratio["native_bits_per_s"] / ratio["iperf3_bits_per_s"])


def test_validate_names_an_option_that_does_not_fit(tmp_path: Path) -> None:
    with running(["validate", "local", "nowhere", "--streams", "1;4"], tmp_path) as run:
        status, screen = run.read_to_end()
    assert status == 2
    assert "--streams: '1;4' is not a list of numbers" in screen
