"""A path that drops large packets and says nothing: trials end in time, and say what finds the MTU."""

import shutil
from pathlib import Path

import pytest

from pathlab.lab.lab import Lab
from tests.integration.conducting import campaign_of, run, stored
from tests.require import require, require_engine, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]

LAB = {
    "hosts": ["a", "d"],
    "routers": ["b", "c"],
    "links": [
        {"between": ["a", "b"], "delay": "5ms"},
        {"between": ["b", "c"], "delay": "5ms", "mtu": 1300},
        {"between": ["c", "d"], "delay": "5ms"},
    ],
}
HINT = "the path may drop large packets silently: `pathlab path a d` finds its MTU"


@pytest.fixture
def silent_router(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first router of each lab sends no ICMP errors."""
    require_engine()
    require_namespaces()
    require(shutil.which("nft", path="/usr/sbin:/usr/bin"), "nft (Debian: nftables)")
    start = Lab.start

    def start_silent(lab: Lab) -> None:
        start(lab)
        for command in (
            "add table inet quiet",
            "add chain inet quiet out { type filter hook output priority 0 ; }",
            "add rule inet quiet out icmp type destination-unreachable drop",
        ):
            lab.namespaces.run("b", "nft", *command.split())

    monkeypatch.setattr(Lab, "start", start_silent)


@pytest.mark.usefixtures("silent_router")
@pytest.mark.parametrize("ended", ["time", "amount"])
def test_a_transfer_that_dies_silently_names_what_finds_the_mtu(tmp_path: Path, ended: str) -> None:
    amount = {"transfer": ["1MB"]} if ended == "amount" else {}
    campaign = campaign_of(
        lab=LAB,
        paths=[{"source": "a", "destination": "d"}],
        factors={"streams": [1], **amount},
        trial={"warmup": "0ms", "duration": "300ms", "interval": "50ms", "drain": "1s"},
    )
    run(campaign, tmp_path / "out")
    (record,) = stored(tmp_path / "out")
    assert (record.status, record.failed_stage) == ("failed", "engine")
    assert HINT in str(record.failure)
