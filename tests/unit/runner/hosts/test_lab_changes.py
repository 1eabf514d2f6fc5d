"""Settings of a running link, changed in the words of the file."""

from __future__ import annotations

import pytest

from pathlab.campaign.load import load_lab
from pathlab.campaign.ready_labs import list_ready_labs
from pathlab.lab.topology import Link, LinkSettings
from pathlab.runner.hosts.lab_changes import change_settings
from pathlab.runner.hosts.lab_topology import build_topology

LINK = Link(
    between=("a", "b"),
    rate_bits_per_s=40_000_000,
    delay_ns=20_000_000,
    queue_bytes=250_000,
    loss_ratio=0.015,
    burst_enter_ratio=0.001,
    burst_leave_ratio=0.5,
    burst_loss_ratio=1.0,
    reorder_ratio=0.1,
    reorder_ns=1_500_000,
    aqm="codel",
    reverse=LinkSettings(rate_bits_per_s=1_000_000),
)


@pytest.mark.parametrize("name", list_ready_labs())
def test_what_is_not_named_stays(name: str) -> None:
    for link in build_topology(load_lab(name)).links:
        for end in (0, 1):
            now = link.direction(end)
            changed = change_settings(link, end, ["loss=1%"])
            assert changed.loss_ratio == 0.01
            assert changed.delay_ns == now.delay_ns
            assert changed.queue_bytes == now.queue_bytes
            assert changed.burst_leave_ratio == now.burst_leave_ratio


def test_keys_are_those_of_the_file() -> None:
    changed = change_settings(LINK, 0, ["rate=10Mbit/s", "queue_time=100ms", "burst_loss=none", "aqm=none"])
    assert changed == LinkSettings(
        rate_bits_per_s=10_000_000,
        delay_ns=20_000_000,
        queue_bytes=125_000,
        loss_ratio=0.015,
        reorder_ratio=0.1,
        reorder_ns=1_500_000,
    )
    assert change_settings(LINK, 1, ["delay=1ms"]) == LinkSettings(
        rate_bits_per_s=1_000_000, delay_ns=1_000_000
    )
    assert change_settings(LINK, 1, ["rate=none"]) == LinkSettings()
