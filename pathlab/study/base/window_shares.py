"""Windows in use over the bandwidth-delay product of a lab's narrowest link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.rfc6349 import PathFigures, compute_rfc6349_capacity
from pathlab.study.base.links import find_bottleneck
from pathlab.study.base.selection import Sample, collect_sample


def measure_window_shares(sample: Sample, environment: Mapping[str, Any]) -> Floats:
    """Windows in use over the bandwidth-delay product of each trial; NaN without a lab's link."""
    result = np.full(len(sample), np.nan)
    in_use, idle_ns = (
        sample.streams * sample.get("window_effective_bytes"),
        sample.get("unloaded_rtt_median_ns"),
    )
    known = (in_use > 0) & (idle_ns > 0)
    conditions = np.array([id(sample.table.conditions[index]) for index in sample.places], dtype=np.int64)
    for condition in np.unique(conditions[known]):
        group = np.flatnonzero(known & (conditions == condition))
        part = collect_sample(sample.table, sample.places[group])
        line = find_bottleneck(environment, part)
        if line is None:
            continue
        path = PathFigures(bottleneck_bits_per_s=line.rate_bits_per_s, rtt_ns=1.0, segment=line.segment)
        product_bytes = compute_rfc6349_capacity(path).bdp_bytes * idle_ns[group]
        result[group] = in_use[group] / product_bytes
    return result
