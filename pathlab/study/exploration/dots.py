"""Which trials of a large group are drawn as dots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.study.base.selection import choose_evenly

#: Dots of one group at one x, above which some are chosen: the figure has no room for more.
DOTS_MAX = 40


def choose_dots(values: Floats) -> NDArray[np.intp]:
    """The places of at most 40 values, ascending: an even choice in their order, and both extremes."""
    if values.size <= DOTS_MAX:
        return np.arange(values.size)
    evenly = choose_evenly(range(values.size), DOTS_MAX - 2)
    return np.unique([*evenly, int(values.argmin()), int(values.argmax())])
