"""Margins that verdicts are held against: differences that do not matter, and the share that is enough."""

from __future__ import annotations

import math

from pathlab.errors import UsageError

#: Two settings are equivalent within this.
MARGIN_RATIO = 0.05
#: Share of a path's capacity that a sufficient setting carries: METHOD section 2 (streams-sweep) asks for the
#: smallest setting that reaches 90 %.
SUFFICIENT_RATIO = 0.9


def log_margins(margin_ratio: float) -> tuple[float, float]:
    """Margins of a log ratio, -log(1 + margin) and log(1 + margin): the same whichever side is divided."""
    if not 0 < margin_ratio < 1:
        raise UsageError(
            f"margin {margin_ratio} is not between 0 and 1", hint="0.05 stands for differences up to 5 %"
        )
    return -math.log1p(margin_ratio), math.log1p(margin_ratio)


def list_thresholds(margin_ratio: float) -> tuple[float, float, float]:
    """The ratios that a verdict depends on: the lower margin, 1, the upper margin (as ``log_margins``)."""
    return 1 / (1 + margin_ratio), 1.0, 1 + margin_ratio
