"""Names of columns for readers, as the report writes them, and the unit in which each is shown."""

from __future__ import annotations

from collections.abc import Mapping

from pathlab.campaign.factors import FACTORS, name_levels
from pathlab.quantities import DisplayUnit, drop_unit, resolve_unit

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
    "throughput_bits_per_s": "Throughput",
    "throughput_reverse_bits_per_s": "Throughput, reverse direction",
    "lossless_rate_bits_per_s": "Highest UDP rate within the loss limit",
    "drtt_ns": "Added delay (dRTT)",
    "drtt_median_ns": "Added delay (dRTT of medians)",
    "loaded_loss_ratio": "Loss, loaded",
    "unloaded_loss_ratio": "Loss, unloaded",
    "loaded_variability_ratio": "RV, loaded",
    "unloaded_variability_ratio": "RV, unloaded",
    "retransmitted_ratio": "Retransmitted share",
    "window_bdp_ratio": "Windows in use / BDP",
    "cpu_s_per_gb": "CPU, both ends",
    "sender_cpu_s_per_gb": "CPU, sender",
    "receiver_cpu_s_per_gb": "CPU, receiver",
    "cpu_ns_per_message": "CPU per message, both ends",
    "udp_loss_ratio": "Loss of datagrams",
    "messages_missing_ratio": "Missing messages",
    "fairness_jain": "Jain's index",
    "mss_bytes": "Data in one segment (MSS)",
    "messages_per_s": "Messages",
    "offered_messages_per_s": "Messages offered",
    "round_trips": "Round trips",
    "window_effective_bytes": "Effective window per stream",
    "window_in_flight_max_bytes": "Largest amount in flight per stream",
    "window_granted_sender_bytes": "Window granted, sender",
    "window_granted_receiver_bytes": "Window granted, receiver",
    "sender_busiest_core_ratio": "Busiest core, sender",
    "receiver_busiest_core_ratio": "Busiest core, receiver",
    "udp_jitter_ns": "Jitter of datagrams",
    **{
        f"{probes}_rtt_{figure}_ns": f"RTT, {name}, {probes}"
        for probes in ("loaded", "unloaded")
        for figure, name in (("min", "minimum"), ("mean", "mean"), ("median", "median"), ("iqr", "IQR"))
    },
    **{
        f"round_trip_{figure}_ns": f"Round trip of messages, {name}"
        for figure, name in (
            *(("min", "minimum"), ("mean", "mean"), ("median", "median"), ("max", "maximum")),
            *((f"p{one}", f"p{one.replace('_', '.')}") for one in ("90", "99", "99_9", "99_99", "99_999")),
        )
    },
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
