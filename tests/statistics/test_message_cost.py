"""Message cost: the published tables by R, intervals that hold, reasons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.fits.message_cost import fit_cycles, fit_message_cost
from pathlab.reference.series import load_table
from tests.length import choose_runs, list_long
from tests.statistics.noise import check_share, draw_autoregressive
from tests.statistics.r_values import read_r

SIZES_BYTES = 2.0 ** np.arange(2, 15)


def test_published_internode_table_is_rs_fit() -> None:
    table, expected = load_table("ibm-streams-3.0-internode"), read_r("message")
    sizes, rates = table.columns["message_bytes"], table.columns["tcp_gbps"]
    found = fit_message_cost(sizes, [m * 8 / rate for m, rate in zip(sizes, rates, strict=True)])
    assert found.message_ns == pytest.approx(expected["a_ns"], rel=1e-6)
    assert found.rate_bits_per_s == pytest.approx(expected["r_bits_per_s"], rel=1e-6)
    assert found.half_size_bytes == pytest.approx(expected["half_bytes"], rel=1e-6)
    assert found.message_interval_ns.low == pytest.approx(expected["a_low"], rel=1e-5)
    assert found.rate_interval_bits_per_s.low == pytest.approx(expected["r_low"], rel=1e-5)
    assert found.half_size_interval_bytes.low == pytest.approx(expected["half_low"], rel=1e-5)
    assert found.half_size_interval_bytes.high == pytest.approx(expected["half_high"], rel=1e-5)
    # A gigabit link: what the bytes cost is the line itself, to a tenth.
    assert found.rate_bits_per_s == pytest.approx(1e9, rel=0.1)


@pytest.mark.parametrize(
    ("cycles", "correlation", "shared", "runs"),
    [
        *((*case, choose_runs(40, short=15)) for case in ((7, 0.7, 0.0), (13, 0.7, 0.05))),
        *list_long((7, 13), (0.0, 0.7), (0.0, 0.05), runs=500),
    ],
)
def test_intervals_of_cycles_cover(cycles: int, correlation: float, shared: float, runs: int) -> None:
    """Scatter of 5 % of each size in each cycle, and of ``shared`` in the cycle, both correlated."""
    rng = np.random.default_rng([runs, cycles, int(10 * correlation), int(100 * shared)])
    sizes = SIZES_BYTES[::2]
    scale = np.sqrt(1 - correlation**2)
    found = []
    for _ in range(runs):
        own = 0.05 * scale * draw_autoregressive(rng, sizes.size, cycles, correlation)
        common = shared * scale * draw_autoregressive(rng, 1, cycles, correlation)
        times = (500 + sizes)[:, None] * np.exp(own + common)
        numbers = np.tile(np.arange(cycles), sizes.size)
        found.append(fit_cycles(np.repeat(sizes, cycles), times.ravel(), numbers))
    for name, truth in (
        ("message_interval_ns", 500.0),
        ("rate_interval_bits_per_s", 8e9),
        ("half_size_interval_bytes", 500.0),
    ):
        # a ramp over all cycles now and then is undecided (too correlated)
        decided = [getattr(cost, name) for cost in found if getattr(cost, name).decided]
        assert len(decided) >= 0.8 * runs
        check_share(sum(one.contains(truth) for one in decided), len(decided), 0.92, 1.0)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_cost_follows_the_unit_of_time_and_ignores_the_order(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    times = (500 + SIZES_BYTES) * rng.uniform(0.9, 1.1, SIZES_BYTES.size)
    order = rng.permutation(times.size)
    before = fit_message_cost(SIZES_BYTES, times)
    after = fit_message_cost(SIZES_BYTES[order], times[order] * scale)
    assert after.message_ns == pytest.approx(before.message_ns * scale, rel=1e-6)
    assert after.rate_bits_per_s == pytest.approx(before.rate_bits_per_s / scale, rel=1e-6)
    assert after.half_size_bytes == pytest.approx(before.half_size_bytes, rel=1e-6)
