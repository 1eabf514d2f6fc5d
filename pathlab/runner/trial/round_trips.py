"""The engine's ``round_trip_ns``: figures that are exact, and their histogram (native/PROTOCOL.md)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np

from pathlab.remote.engine_records import RoundTrips
from pathlab.store.hdr_histogram import ExactFigures, Histogram, HistogramLayout

#: The engine's.
LAYOUT = HistogramLayout()


def decode_round_trips(stated: RoundTrips) -> Histogram:
    """The histogram of a ``round_trip_ns`` that counted any. Raises StoreError."""
    stated_figures = stated["count"], stated["min"], stated["max"], stated["mean"]
    figures = ExactFigures(*cast("tuple[int, int, int, float]", stated_figures))  # as checked on arrival
    return Histogram.decode(base64.b64decode(cast("str", stated["hdr"]), validate=True), figures)


def build_histogram_columns(stated: RoundTrips, further_ns: Sequence[int] = ()) -> dict[str, Any]:
    """The columns of a series for a ``round_trip_ns`` and further round trips.

    Where nothing was counted, only the count.
    """
    if further_ns:
        values = np.minimum(np.array(further_ns, dtype=np.int64), LAYOUT.highest)
        counted = [Histogram.count_values(values, LAYOUT)]
        if stated["count"]:
            counted.append(decode_round_trips(stated))
        whole = Histogram.merge(counted)
        figures = {} if whole.exact is None else asdict(whole.exact)
        return {**figures, "count": whole.count, "histogram": whole.encode(compressed=False)}
    encoded = stated["hdr"]
    return {
        **{"count": stated["count"], "min_ns": stated["min"], "max_ns": stated["max"]},
        "mean_ns": stated["mean"],
        "histogram": None if encoded is None else base64.b64decode(encoded, validate=True),
    }
