"""The columns of a trial of a technology, from what its programs stated. Missing pieces stay None."""

from __future__ import annotations

import json
from typing import Any

from pathlab.engines.base import first
from pathlab.runner.trial.choreography import TrialData
from pathlab.store.records import TrialRecord

#: Share of the median round trip above which the way to a program behind a pipe is flagged.
HOP_RATIO = 0.03


def describe_adapter(data: TrialData) -> dict[str, Any]:
    """The columns of a technology, by name; none for other engines."""
    ready = {"sender": first(data.sender, "ready"), "receiver": first(data.receiver, "ready")}
    stated = {end: record["adapter"] for end, record in ready.items() if record and record.get("adapter")}
    if not stated:
        return {}
    settings = {end: item["settings"] for end, item in stated.items() if item.get("settings")}
    versions = [
        part for item in stated.values() if item.get("versions") for part in item["versions"].split(", ")
    ]
    return {
        "adapter_versions": ", ".join(dict.fromkeys(versions)) or None,
        "adapter_settings": json.dumps(settings, sort_keys=True) if settings else None,
        "adapter_hop_ns": stated.get("sender", {}).get("hop_ns"),
        "foreign_connections": (first(data.receiver, "result") or {}).get("foreign_connections"),
        "server_start_ns": stated.get("receiver", {}).get("server_start_ns"),
    }


def is_hop_long(record: TrialRecord) -> bool:
    """Whether more than ``HOP_RATIO`` of the median round trip was the way to the program that asked."""
    hop_ns, median_ns = record.adapter_hop_ns, record.round_trip_median_ns
    return hop_ns is not None and median_ns is not None and hop_ns > HOP_RATIO * median_ns
