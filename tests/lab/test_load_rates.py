"""Loads beside trials get the share of an idle machine that their trials then state."""

from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.runner.trial import background
from tests.integration.conducting import AB, LAB, campaign_of, run, stored
from tests.require import require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]

#: On a disk, as the checkout is.
SETTINGS = {"cpu_threads": 1, "disk_folder": str(Path(__file__).parent), "disk_bytes": "1MiB"}
ROUND_TRIPS: dict[str, Any] = {"streams": 1, "message": 64, "reply": True}
TRIAL = {"warmup": "50ms", "duration": "250ms", "interval": "20ms"}


def test_loads_get_cores_disk_and_the_other_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_namespaces()
    monkeypatch.setattr(background, "ALONE_NS", 100_000_000)
    campaign = campaign_of(
        lab=LAB,
        paths=AB,
        factors={**ROUND_TRIPS, "background": ["cpu", "disk", "network"]},
        trial=TRIAL,
        background={**SETTINGS, "network_path": "c:d", "least_share": "0.01%"},
    )
    assert run(campaign, tmp_path / "out").missing == 0
    cpu, disk, network = sorted(stored(tmp_path / "out"), key=lambda record: record.plan_row)
    assert 0 < (cpu.background_cpu_ratio or 0) <= 1.1
    assert (disk.background_disk_bytes_per_s or 0) > 2 << 20
    with pathlab.open(tmp_path / "out") as results:
        lines = results.series_table(3, "lab_links").to_pylist()
    carried = max(line["value"] for line in lines if (line["link"], line["name"]) == (1, "delivered_bytes"))
    stated = (network.background_network_bits_per_s or 0) / 8 * 0.25
    assert 0 < stated < carried  # what was counted in the steady window, of all that the link carried
