"""Links in netem's words; how the kernel behaves is tested where it has netem (tests/lab/test_netem.py)."""

from __future__ import annotations

from pathlab.lab.netem import format_netem
from pathlab.lab.topology import LinkSettings
from tests.golden.conftest import Say

WAN = LinkSettings(rate_bits_per_s=40_000_000, delay_ns=20_000_000, queue_bytes=250_000)


def test_a_wan_in_the_words_of_tc(say: Say) -> None:
    say(" ".join(format_netem(WAN, 1500)))
