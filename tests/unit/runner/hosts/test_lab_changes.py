"""Settings of a running link, changed in the words of the file."""

from pathlab.lab.topology import Link, LinkSettings
from pathlab.runner.hosts.lab_changes import change_settings

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


def test_keys_are_those_of_the_file_and_what_is_not_named_stays() -> None:
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
