"""The engine's ``round_trip_ns``: figures that are exact, and their histogram (native/PROTOCOL.md)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from pathlab.store.hdr_histogram import ExactFigures, Histogram


def decode_round_trips(stated: Mapping[str, Any]) -> Histogram:
    """The histogram of a ``round_trip_ns`` that counted any. Raises StoreError."""
    figures = ExactFigures(*(stated[name] for name in ("count", "min", "max", "mean")))
    return Histogram.decode(base64.b64decode(stated["hdr"], validate=True), figures)


def build_histogram_columns(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a series for a ``round_trip_ns``; where nothing was counted, only the count."""
    encoded = stated["hdr"]
    return {
        **{"count": stated["count"], "min_ns": stated["min"], "max_ns": stated["max"]},
        "mean_ns": stated["mean"],
        "histogram": None if encoded is None else base64.b64decode(encoded, validate=True),
    }
