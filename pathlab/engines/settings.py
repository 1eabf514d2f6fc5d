"""From a trial's specification to the flags of the native engine (native/PROTOCOL.md), and the grants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pathlab.engines.spec import BOTH, FORWARD, REVERSE, Allowed, TrialSpec

Options = dict[str, str | int]

TIMESTAMP_BYTES = 12
#: Settings that both ends read back, and their names in flags.
_CHECKED = {
    "transport": "transport",
    "message_bytes": "message",
    "dscp": "dscp",
    "mss_bytes": "mss",
    "zero_copy": "zero-copy",
    "worker_threads": "workers",
    "cpus": "cpus",
}


def engine_direction(spec: TrialSpec, *, sender_connects: bool) -> str:
    """The engine's direction, which is told from the side that opens the connections."""
    if spec.settings.direction == BOTH:
        return BOTH
    return FORWARD if sender_connects else REVERSE


def flow_options(spec: TrialSpec, allowed: Allowed, *, sends: bool) -> Options:
    """The flags of one end; ``sends`` tells whether it is the end whose data are counted."""
    settings = spec.settings
    transmits = sends or settings.direction == BOTH
    options: Options = {
        "streams": spec.streams,
        "window-bytes": spec.windows_bytes[0 if sends else 1] or 0,
        "warmup-ns": spec.warmup_ns,
        "duration-ns": spec.duration_ns,
        "interval-ns": spec.interval_ns,
        "drain-timeout-ns": spec.drain_ns,
        "tcp-info": "raw",
    }
    requested: dict[str, str | int | None] = {
        "transport": settings.transport if settings.transport != "tcp" else None,
        "congestion": allowed.congestion,
        "dscp": settings.dscp,
        "mss-bytes": settings.mss_bytes,
        "no-delay": "yes" if settings.no_delay else None,
        "transfer": "zero-copy" if settings.zero_copy else None,
        "workers": settings.worker_threads,
        "pin": ",".join(map(str, list_cores(settings.cpus))) if settings.cpus else None,
        "write-bytes": settings.message_bytes if transmits else None,
        "rate-bits-per-s": spec.rate_bits_per_s if transmits else None,
        "volume-limit-bytes": spec.volume_limit_bytes if transmits else None,  # who stops says why
    }
    return options | {name: value for name, value in requested.items() if value is not None}


def list_cores(text: str) -> list[int]:
    """The cores of a list such as ``0,2-3``."""
    cores: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cores += range(int(first), int(last or first) + 1)
    return cores


def list_settings(
    spec: TrialSpec, sender: Mapping[str, Any] | None, receiver: Mapping[str, Any] | None
) -> list[dict[str, str | None]]:
    """Every setting as asked and as both ends state it in their ``ready``: null where one does not tell."""
    settings = spec.settings
    window_sender, window_receiver = spec.windows_bytes
    requested: dict[str, Any] = {
        "engine": settings.engine,
        "direction": settings.direction,
        "transport": settings.transport,
        "streams": spec.streams,
        "window_sender_bytes": window_sender,
        "window_receiver_bytes": window_receiver,
        "congestion": spec.congestion,
        "message_bytes": settings.message_bytes,
        "dscp": settings.dscp,
        "pacing_bits_per_s": settings.pacing_bits_per_s,
        "rate_cap_bits_per_s": spec.rate_cap_bits_per_s,
        "mss_bytes": settings.mss_bytes,
        "no_delay": settings.no_delay,
        "zero_copy": settings.zero_copy,
        "worker_threads": settings.worker_threads,
        "cpus": settings.cpus,
    }
    ends = (_granted(sender), _granted(receiver))
    return [
        {"name": name, "requested": _say(value), "sender": ends[0].get(name), "receiver": ends[1].get(name)}
        for name, value in requested.items()
    ]


def find_refused(settings: Sequence[Mapping[str, str | None]]) -> list[str]:
    """Flags ``NAME-not-granted`` of settings at which an end states something else than was asked."""
    flags = []
    for line in settings:
        name, requested = str(line["name"]), line["requested"]
        if name not in _CHECKED or requested in (None, "no"):
            continue
        if not all(_is_granted(name, requested, line[end]) for end in ("sender", "receiver")):
            flags.append(f"{_CHECKED[name]}-not-granted")
    return flags


def _is_granted(name: str, requested: str | None, stated: str | None) -> bool:
    if stated is None or requested is None:
        return True
    if name == "mss_bytes":  # the kernel states it less the room that timestamps take
        return int(requested) - TIMESTAMP_BYTES <= int(stated) <= int(requested)
    if name == "cpus":  # fewer workers than cores use the first ones
        return set(list_cores(stated)) <= set(list_cores(requested))
    return stated == requested


def _granted(ready: Mapping[str, Any] | None) -> dict[str, str | None]:
    """What one end's ``ready`` says, in the same words."""
    if not ready:
        return {}
    transfer, pacing = ready.get("transfer") or {}, ready.get("pacing") or {}
    modes = [transfer.get("send"), transfer.get("receive")]
    classes = _least(ready, "traffic_class")
    cores = [core for core in ready.get("cores", ()) if core is not None]
    window = _least(ready, "sndbuf_bytes"), _least(ready, "rcvbuf_bytes")
    copied = None if not any(modes) else "no" if "copy" in modes else "yes"
    return {
        "direction": ready.get("direction"),
        "transport": ready.get("transport"),
        "streams": _say(ready.get("streams")),
        "window_sender_bytes": _say(window[0]),
        "window_receiver_bytes": _say(window[1]),
        "congestion": next((line.get("congestion") for line in ready.get("sockets", ())), None),
        "message_bytes": _say(ready.get("write_bytes")),
        "dscp": None if classes is None else str(classes >> 2),
        "pacing_bits_per_s": _say(pacing.get("requested_bits_per_s")),
        "mss_bytes": _say(_least(ready, "mss_bytes")),
        "zero_copy": copied,
        "worker_threads": _say(ready.get("workers")),
        "cpus": ",".join(map(str, dict.fromkeys(cores))) or None,
    }


def _least(ready: Mapping[str, Any], key: str) -> int | None:
    """The smallest value over an end's sockets: what the worst-off stream was granted."""
    values = [line[key] for line in ready.get("sockets", ()) if line.get(key) is not None]
    return min(values) if values else None


def _say(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
