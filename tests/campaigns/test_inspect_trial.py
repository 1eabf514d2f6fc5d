"""``pathlab inspect RESULTS --trial N``: a trial over a lossy link, explained by its captures."""

import json
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.study.captures.inspection import inspect_trial
from tests.command_line import call
from tests.integration.conducting import AB, campaign_of, run, stored

pytestmark = [pytest.mark.engine, pytest.mark.netns]

LINK = {"between": ["a", "b"], "rate": "20Mbit/s", "delay": "5ms", "queue": "250kB", "loss": "1%"}
LOSSY = {"hosts": ["a", "b"], "links": [LINK]}
TRIAL = {"warmup": "100ms", "duration": "1s", "interval": "100ms", "drain": "2s", "capture": "headers"}


def test_a_trials_captures_agree_with_the_engines_counters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = {"streams": [2], "direction": ["forward", "reverse"]}
    run(campaign_of(paths=AB, lab=LOSSY, trial=TRIAL, factors=factors), tmp_path)
    assert [record.status for record in stored(tmp_path)] == ["complete"] * 2
    for number in (1, 2):
        found = inspect_trial(tmp_path, number)
        assert [one.end for one in found.captures] == ["sender", "receiver"]
        segments, size, rtt = found.checks
        assert (segments.counted or 0) > 3
        assert segments.difference == size.difference == 0
        assert rtt.difference is not None
        assert abs(rtt.difference) < 2_000_000
        assert not any(notice.kind == "missed" for notice in found.captures[0].notices)
    page = tmp_path / "page.json"
    said = call(["inspect", str(tmp_path), "--trial", "1", "--out", str(page)], capsys)
    assert said.status == 0
    assert "Sender's capture against the engine's counters" in said.out
    keys = {section["key"] for section in json.loads(page.read_text(encoding="utf-8"))["sections"]}
    assert {"inspection", "capture-1", "capture-2"} <= keys
    place = tmp_path / "captures" / "trial-1-receiver.pcapng"
    place.unlink()
    (alone,) = inspect_trial(tmp_path, 1).captures
    assert alone.end == "sender"
    assert "The receiver's end has no capture: 'trial-1-receiver.pcapng' was deleted." in {
        notice.text for notice in alone.notices
    }
    (tmp_path / "captures" / "trial-1-sender.pcapng").unlink()
    with pytest.raises(StoreError, match=r"no capture \(sender: .* was deleted; receiver: .* was deleted\)"):
        inspect_trial(tmp_path, 1)
