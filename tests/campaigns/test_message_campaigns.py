"""Shipped campaigns of messages, builds and recording, with few levels, over loopback: from run to report."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import pathlab
from pathlab.campaign.load import load_campaign
from pathlab.remote.engine import find_engine
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.store.flags import Flag
from tests import command_line
from tests.integration.conducting import Watch
from tests.require import require_engine

pytestmark = pytest.mark.engine
SHORT = ("cycles=1", "trial.duration=200ms", "trial.warmup=20ms", "trial.interval=50ms", "probes.unloaded=2")
#: Levels that keep one combination of each kind.
FEW = {
    "message-size": (
        *("factors.message=[64]", 'factors.transport=["tcp", "shared-memory"]'),
        *('factors.batch="none"', 'factors.encoding="fixed"'),
    ),
    "fan-out": ("factors.streams=[1, 3]", "factors.message=[22]", 'factors.transport="unix"'),
    "relay-latency": (
        *("factors.message=[128]", 'factors.transport=["udp", "pipe"]', "factors.no_delay=false"),
        'factors.message_rate=["max", 1000, 20000]',
    ),
    "releases": ('factors.message=["none", "64B"]', 'factors.transport="tcp"', "factors.streams=1"),
    "observer-cost": ('factors.message="64B"', "factors.streams=1"),
}
#: A chapter that each fills.
CHAPTERS = {
    "message-size": "message-size",
    "fan-out": "message-size",
    "relay-latency": "message-latency",
    "releases": "releases",
    "observer-cost": "observer-cost",
}


def measure(name: str, folder: Path, *overrides: str, against: Path | None = None) -> Sequence[str]:
    """The flags of all trials."""
    require_engine()
    campaign = load_campaign(name, [*SHORT, *overrides], paths=["local:local"])
    outcome = run_campaign(CampaignSource(campaign=campaign, text="", against=against), folder, Watch())
    assert outcome.complete == outcome.rows  # on busy cores one may have failed, and was repeated
    assert outcome.rows >= 4
    with pathlab.open(folder) as results:
        return [flag for record in results.records() for flag in record.flags]


@pytest.mark.parametrize("name", list(FEW))
def test_a_campaign_runs_on_one_machine_and_fills_its_report(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    against = find_engine() if name == "releases" else None
    flags = measure(name, tmp_path / "out", *FEW[name], against=against)
    assert not [flag for flag in flags if flag.endswith("-not-granted")]
    with pathlab.open(tmp_path / "out") as results:
        carried = [record for record in results.records() if record.messages_per_s is not None]
        assert carried
        assert all(record.messages_total for record in carried)
        assert all(not record.messages_out_of_order for record in carried)
    said = command_line.call(
        ("report", str(tmp_path / "out"), "--format", "json", "--out", str(tmp_path / "report.json")), capsys
    )
    assert (said.status, said.err) == (0, "")
    sections = {one["key"] for one in json.loads((tmp_path / "report.json").read_text())["sections"]}
    assert CHAPTERS[name] in sections


def test_two_configurations_are_compared_with_a_noise_floor(tmp_path: Path) -> None:
    levels = ('factors.build=["this", "again"]', "factors.no_delay=[false, true]", "compare=no_delay")
    fewer = ('factors.transport="tcp"', 'factors.message=["none", "64B"]', "factors.streams=1")
    flags = measure("releases", tmp_path / "out", *levels, *fewer)
    with pathlab.open(tmp_path / "out") as results:
        found = results.compare_releases()
        assert (found.baseline, {row.label for row in found.found.rows}) == ("no", {"yes"})
        assert {"messages", "round-trip-p99"} <= set(found.floors)
        # Of messages alone, host-limited trials count.
        assert "throughput" in found.floors or {Flag.HOST_LIMITED, Flag.HOST_STALLED}.intersection(flags)
