"""The quickstart as it ships, with one short cycle, as a user runs it."""

from pathlib import Path

import pytest

import pathlab
from pathlab.store.flags import Flag
from tests.integration.running import running
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]

SHORT = (
    "cycles=1",
    "trial.duration=200ms",
    "trial.warmup=50ms",
    "probes.unloaded=2",
    "lab_retries=0",
    "factors.streams=[1, 4]",
)


def test_the_quickstart_measures_and_shows_its_report(tmp_path: Path) -> None:
    require_namespaces()
    require_engine()
    overrides = [word for setting in SHORT for word in ("--set", setting)]
    with running(["run", "quickstart", "--out", "out", *overrides], tmp_path) as run:
        status, screen = run.read_to_end()
    assert status in (0, 7), screen  # 7: this machine is too busy to emulate the link
    assert "report.html" in screen
    assert "</html>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    with pathlab.open(tmp_path / "out") as results:
        records = results.records(status="complete")
    assert sorted({record.plan_row for record in records}) == list(range(4))
    assert len({(record.streams, record.window_requested_bytes) for record in records}) == 4
    for record in records:
        assert Flag.LAB in record.flags
        assert record.congestion_sender == "cubic"
        assert record.sent_total_bytes == (record.received_total_bytes or 0) + (record.undelivered_bytes or 0)
        assert record.window_granted_sender_bytes == 2 * (record.window_requested_bytes or 0)
