"""By what factor two settings differ that were measured in the same cycles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.corrections import ALPHA_RATIO
from pathlab.analysis.estimators.interval import IntervalBuilder, Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.verdicts.equivalence import log_ratios
from pathlab.analysis.verdicts.pairs import match_pairs
from pathlab.analysis.verdicts.two_samples import GroupShift


def compare_paired(
    first: ArrayLike,
    second: ArrayLike,
    *,
    margin_ratio: float = MARGIN_RATIO,
    alpha_ratio: float = ALPHA_RATIO,
    drawn_tests: int = 0,
) -> GroupShift:
    """By what factor ``second`` differs from ``first``, cycle by cycle: the shift of the logarithms.

    Both arrays have one value for each cycle in time order; NaN marks a missing trial. ``drawn_tests``: as
    ``shifts.hodges_lehmann``. Raises ``UsageError``
    as ``match_pairs``, and for a margin or level out of range.

    Notes
    -----
    The Hodges-Lehmann shift of log(second / first), its interval and its tests: assumption, minimum sample
    (6 pairs), serial correlation and coverage as ``shifts.hodges_lehmann``. What drifts from cycle to cycle
    is in both values of a pair and cancels. A value that is not above 0 makes it undecided (not positive).
    """
    margins = log_margins(margin_ratio)
    before, after, _ = match_pairs(first, second)
    logs, reason = log_ratios(after, before)
    result = hodges_lehmann(logs, drawn_tests=drawn_tests)
    if reason is Undecided.NOT_POSITIVE:
        builder = IntervalBuilder(n=before.size, method=result.interval.method)
        result = replace(result, n=before.size, interval=builder.build_undecided(reason))
    change = GroupShift(
        first_n=int(np.size(before)),
        second_n=int(np.size(after)),
        shift=result.shift,
        interval=result.at(1 - alpha_ratio),
        pairs=result,
        undecided=result.interval.undecided,
    )
    if not result.tested:
        return change
    return replace(change, p_value=result.p_value, equivalence_p_value=result.equivalence_p_value(margins))
