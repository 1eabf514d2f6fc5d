"""Rows of trials and their series as the tables take them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from pathlab.store.schema import SERIES, TRIAL
from pathlab.store.series import encode_series


def encode_blobs(series: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """The rows of the series table for one trial, without its number. Raises as ``encode_series``."""
    rows = []
    for kind, table in series.items():
        blob = encode_series(kind, table)
        digest = hashlib.sha256(blob).hexdigest()
        rows.append({"kind": kind, "rows": table.num_rows, "sha256": digest, "blob": blob})
    return rows


def insert_trial(connection: sa.Connection, row: Mapping[str, Any], blobs: Sequence[dict[str, Any]]) -> int:
    """Insert a trial and its series in the caller's transaction and return its number."""
    key = connection.execute(sa.insert(TRIAL), dict(row)).inserted_primary_key
    trial_id = int(key[0]) if key else 0
    if blobs:
        connection.execute(sa.insert(SERIES), [{"trial_id": trial_id, **blob} for blob in blobs])
    return trial_id
