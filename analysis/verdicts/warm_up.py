"""When a trial has settled, and whether the configured warm-up waits for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    Undecided,
    as_amounts,
    as_samples,
    check_lengths,
    check_sample_count,
)
from pathlab.analysis.estimators.trend import find_trend
from pathlab.errors import UsageError

BATCH_RECORDS = 5
MINIMUM_RECORDS = 100
#: Share of the mean rate that a warm-up which ends too early may cost before it is called so.
BIAS_RATIO = 0.01
#: Level of the trend test that separates a trial that never settled from one whose end agrees by chance.
TREND_ALPHA_RATIO = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """Where the rates of a trial settle, in ns from its first record; ``None`` when undecided.

    ``resolution_ns`` is the mean length of a batch of 5 records: the detected end is known no better.
    ``bias_ratio`` is the mean rate after the configured warm-up over that after the detected end, less 1.
    ``sufficient`` says whether the configured warm-up ends no earlier than the detected one, the resolution
    allowed, or costs no more than 1 % of the mean rate.
    """

    records: int
    detected_ns: float | None = None
    resolution_ns: float | None = None
    configured_ns: int
    bias_ratio: float | None = None
    sufficient: bool | None = None
    undecided: Undecided | None = None


def detect_warm_up(interval_bytes: ArrayLike, interval_ns: ArrayLike, configured_ns: int = 0) -> WarmUp:
    """End of the start-up transient by MSER-5, from a flow's records in order, warm-up included.

    ``interval_bytes`` are all streams' bytes per record, ``interval_ns`` the records' lengths (alike, but for
    the last). The drain after the traffic must be left out. Raises ``UsageError`` for unequal lengths,
    negative bytes or a record without length.

    Notes
    -----
    Rates are averaged in batches of 5; the truncation is where the squared standard error of the mean of
    what remains is smallest, in the first half. Assumption: one transient at the start, then a stationary
    rate. Minimum sample: 100 records (20 batches). Where cutting more than half would be better and what the
    first half leaves has a trend (1 %), the trial never settled: undecided (not settled). MSER tends to cut
    some records of a series that was settled from the start: hence ``bias_ratio``.
    Source: White, Cobb, Spratt, Winter Simulation Conference 2000; White, Simulation 69, 1997.
    """
    counts, spans = as_amounts(interval_bytes, "interval bytes"), as_samples(interval_ns, "interval ns")
    check_lengths(byte_counts=counts, lengths=spans)
    if counts.size and (spans.min() <= 0 or configured_ns < 0):
        raise UsageError("records: no length, or a warm-up below 0", hint="pass lengths above 0")
    batches = counts.size // BATCH_RECORDS
    reason = check_sample_count(counts.size, MINIMUM_RECORDS)
    if reason is not None:
        return WarmUp(records=counts.size, configured_ns=configured_ns, undecided=reason)
    whole = batches * BATCH_RECORDS
    lengths = spans[:whole].reshape(batches, BATCH_RECORDS).sum(axis=1)
    rates = counts[:whole].reshape(batches, BATCH_RECORDS).sum(axis=1) / lengths
    cut = find_truncation(rates)
    if cut is None:
        reason = Undecided.NOT_SETTLED
        return WarmUp(records=counts.size, configured_ns=configured_ns, undecided=reason)
    detected, resolution = float(lengths[:cut].sum()), float(lengths.mean())
    starts = np.cumsum(spans) - spans
    steady = starts >= configured_ns
    bias = None
    settled = float(counts[cut * BATCH_RECORDS :].sum() / spans[cut * BATCH_RECORDS :].sum())
    if steady.any() and settled > 0:
        bias = float(counts[steady].sum() / spans[steady].sum()) / settled - 1
    cheap = bias is not None and abs(bias) <= BIAS_RATIO
    return WarmUp(
        records=counts.size,
        detected_ns=detected,
        resolution_ns=resolution,
        configured_ns=configured_ns,
        bias_ratio=bias,
        sufficient=configured_ns + resolution >= detected or cheap,
    )


def find_truncation(batch_means: NDArray[np.float64]) -> int | None:
    """Batches to cut by MSER, the fewest where several do equally well; ``None`` if it never settles."""
    n = batch_means.size
    # About the series' own mean, so that the sums of squares keep their digits.
    backwards = (batch_means - batch_means.mean())[::-1]
    kept = np.arange(1, n + 1)
    squares = np.cumsum(backwards**2) - np.cumsum(backwards) ** 2 / kept
    errors = (np.maximum(squares, 0.0) / kept.astype(np.float64) ** 2)[::-1]
    # The last few batches alone can agree by chance: White's rule leaves them out.
    errors = errors[: n - BATCH_RECORDS]
    noise = 1e-24 * float((batch_means**2).sum())
    cut = int(np.flatnonzero(errors <= errors.min() + noise)[0])
    if cut <= n // 2:
        return cut
    cut = int(np.argmin(errors[: n // 2 + 1]))
    p_value = find_trend(batch_means[cut:]).p_value
    return None if p_value is not None and p_value < TREND_ALPHA_RATIO else cut
