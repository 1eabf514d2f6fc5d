"""Links in netem's words; how the kernel behaves is tested where it has netem (tests/lab/test_netem.py)."""

import pytest

from pathlab.lab.netem import UNLIMITED_PACKETS, format_netem, is_possible, limit_packets
from pathlab.lab.topology import LinkSettings

WAN = LinkSettings(rate_bits_per_s=40_000_000, delay_ns=20_000_000, queue_bytes=250_000)


def test_the_limit_holds_the_line_and_the_queue() -> None:
    assert limit_packets(WAN, 1500) == (100_000 + 250_000) // 1500 + 1
    assert limit_packets(LinkSettings(rate_bits_per_s=10**9), 1500) == UNLIMITED_PACKETS
    assert limit_packets(LinkSettings(queue_bytes=10**6), 1500) == UNLIMITED_PACKETS
    assert limit_packets(LinkSettings(rate_bits_per_s=1000, queue_bytes=1500), 1500) == 2


def test_losses() -> None:
    assert format_netem(LinkSettings(loss_ratio=0.001), 1500)[2:] == ["loss", "random", "0.1%"]
    burst = LinkSettings(burst_enter_ratio=0.01, burst_leave_ratio=0.25, burst_loss_ratio=1.0)
    assert format_netem(burst, 1500)[2:] == ["loss", "gemodel", "1%", "25%", "100%", "0%"]
    assert format_netem(LinkSettings(duplicate_ratio=0.02), 1500)[2:] == ["duplicate", "2%"]


@pytest.mark.parametrize(
    "settings",
    [
        LinkSettings(jitter_ns=1),
        LinkSettings(reorder_ratio=0.1, reorder_ns=1000),
        LinkSettings(rate_bits_per_s=10**6, ecn_bytes=1500),
        LinkSettings(rate_bits_per_s=10**6, aqm="codel"),
        LinkSettings(rate_bits_per_s=10**6, cross_bits_per_s=1000),
    ],
)
def test_what_netem_means_otherwise_is_not_left_to_it(settings: LinkSettings) -> None:
    assert not is_possible(settings)
    assert is_possible(WAN)
