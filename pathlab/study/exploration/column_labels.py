"""Names of columns for readers, as the report writes them, and the unit in which each is shown."""

from __future__ import annotations

from collections.abc import Mapping

from pathlab.campaign.factors import FACTORS, name_levels
from pathlab.quantities import DisplayUnit, drop_unit, resolve_unit
from pathlab.study.measures import MEASURES

#: What a level that is missing means, where no factor has a word for it.
NOT_MEASURED, NOT_SET = "not measured", "not set"

LABELS: Mapping[str, str] = {
    "results": "Results",
    "trial": "Trial",
    "started_utc": "Start (UTC)",
    "status": "Status",
    "failed_stage": "Failed at",
    "failure": "Failure",
    "flags": "Flags",
    "cycle": "Cycle",
    "path": "Path",
    "path_source": "Source",
    "path_destination": "Destination",
    "control": "Control trial",
    "medium": "Measured over",
    "attempt": "Attempt",
    "plan_row": "Plan row",
    "kernel": "Kernel",
    "cpu_model": "CPU",
    "congestion_sender": "Congestion control in use, sender",
    "congestion_receiver": "Congestion control in use, receiver",
    "interval_ns": "Interval of records",
    "probe_method": "Probes",
    "probe_stamps": "Probes' time stamps",
    "engine_version": "Engine",
    "program_version": "PathLab",
    "source_address": "Source address",
    "destination_address": "Destination address",
    "failover_member": "Failed member link",
    **{measure.key: measure.label for measure in MEASURES},
}
_CAPITALS = {"ns": "ns", **{word: word.upper() for word in ("rtt", "tcp", "udp", "cpu", "mss", "dsack")}}
#: Beginnings of names whose figures are far from the unit of the others of their kind.
_BEGINNINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ns": {
        "s": (
            *("duration_ns", "warmup_ns", "steady_ns", "failover_", "server_start"),
            *("first_arrival", "last_arrival"),
        ),
        "µs": (
            *("round_trip_", "send_late_", "udp_pacing_error_", "adapter_hop"),
            *("batch_", "clock_cost", "record_cost"),
        ),
    },
    "bytes": {"MB": ("received_", "sent_total", "retransmitted_", "undelivered", "capture_")},
}


def find_label(name: str) -> str:
    """What readers call a column: as the report does, else the words of its name."""
    if name in LABELS:
        return LABELS[name]
    if name in FACTORS:
        return _capitalize(FACTORS[name].key)
    (known,) = name_levels({name: None})  # settings of other programs have words of their own
    words = known if known != name else drop_unit(name)
    return _capitalize(words)


def find_shown_unit(name: str, stored: str | None) -> DisplayUnit:
    """The unit in which a column of this name and stored unit is shown."""
    unit = resolve_unit(stored)
    for shown, beginnings in _BEGINNINGS.get(unit.name, {}).items():
        if name.startswith(beginnings):
            return unit.find_axis_unit(shown)
    return unit.shown


def _capitalize(words: str) -> str:
    text = " ".join(_CAPITALS.get(word, word) for word in words.replace("_", " ").split())
    return text[:1].upper() + text[1:]
