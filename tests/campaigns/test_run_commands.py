"""``pathlab run`` as a program, which others pause, resume and stop; ``validate``."""

import json
import shutil
from pathlib import Path

import pytest

from tests.command_line import call
from tests.integration.running import running, write_campaign
from tests.require import require, require_engine

pytestmark = [pytest.mark.engine]


@pytest.fixture(autouse=True)
def _needs() -> None:
    require_engine()


def test_json_events_tell_the_run_that_others_pause_resume_and_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # So long that none of this comes too late.
    campaign, out = write_campaign(tmp_path, lab=False, cycles=500, duration="500ms"), str(tmp_path / "out")
    with running(["run", str(campaign), "--out", out, "--json-events"], tmp_path) as run:
        run.read_until('"event": "rate"')
        pid = str(run.process.pid)
        assert call(["resume", out], capsys).status == 2
        said = call(["pause", out], capsys)
        assert (said.status, pid in said.out) == (0, True)
        run.read_until('"event": "paused"')
        said = call(["resume", out], capsys)
        assert (said.status, pid in said.out) == (0, True)
        run.read_until(r'"event": "continued"[\s\S]*"event": "trial-ended"')
        said = call(["stop", out], capsys)
        assert (said.status, pid in said.out) == (0, True)
        status, screen = run.read_to_end()
    assert status == 4
    for name in ("pause", "resume", "stop"):
        late = call([name, out], capsys)
        assert (late.status, f"'{out}'" in late.err) == (2, True)
    events = [json.loads(line) for line in screen.replace("\r", "").splitlines() if line.startswith("{")]
    assert {event["format"] for event in events} == {1}
    first_names = ["preparing", "preparing", "campaign-started", "preparing"]
    assert [event["event"] for event in events[:4]] == first_names
    assert events[2]["preparation_ns"] >= 8 * 10**8
    names = list(dict.fromkeys(event["event"] for event in events))
    order = [
        "campaign-started",
        "trial-started",
        "rate",
        "trial-ended",
        "paused",
        "continued",
        "campaign-ended",
        "report",
    ]
    assert [name for name in names if name in order] == order
    assert "rtt" in names
    ended = next(event for event in events if event["event"] == "campaign-ended")
    assert ended["reason"] == "stopped by `pathlab stop`"
    assert ended["complete"] < ended["rows"] == 500
    first = next(event for event in events if event["event"] == "trial-ended")
    assert first["record"]["status"] == "complete"
    assert first["settings"]["streams"] == 2
    assert Path(tmp_path, next(e["path"] for e in events if e["event"] == "report")).exists()


def test_validate_prints_the_ratio_of_both_engines(capsys: pytest.CaptureFixture[str]) -> None:
    require(shutil.which("iperf3"), "iperf3 (apt-get install iperf3)")
    words = ["validate", "local", "local", "--streams", "2", "--cycles", "1", "--time", "0.8", "--json"]
    said = call([*words, "--warmup", "200ms"], capsys)
    assert said.status == 0, said.err
    (ratio,) = json.loads(said.out)["ratios"]
    assert (ratio["streams"], ratio["ratio_low"]) == (2, None)
    assert ratio["pairs"] in (0, 1)  # 0: a host stalled
    if ratio["pairs"]:
        assert ratio["ratio"] == pytest.approx(ratio["native_bits_per_s"] / ratio["iperf3_bits_per_s"])
    wrong = call(["validate", "local", "nowhere", "--streams", "1;4"], capsys)
    assert (wrong.status, "--streams: '1;4'" in wrong.err) == (2, True)
