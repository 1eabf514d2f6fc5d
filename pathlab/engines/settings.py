"""From a trial's specification to the flags of the native engine (native/PROTOCOL.md), and the grants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pathlab.campaign.factors import FACTORS
from pathlab.engines.message_limits import LOCAL_TRANSPORTS
from pathlab.engines.spec import BOTH, FORWARD, REVERSE, Allowed, TrialSpec
from pathlab.store.flags import NOT_GRANTED

Options = dict[str, str | int]

#: The factors that reach the engine, by attribute.
OPTIONS = {name: factor.native for name, factor in FACTORS.items() if factor.native is not None}


def engine_direction(spec: TrialSpec, *, sender_connects: bool) -> str:
    """The engine's direction, seen from the side that opens the connections."""
    if spec.cell.direction == BOTH:
        return BOTH
    return FORWARD if sender_connects else REVERSE


def flow_options(spec: TrialSpec, allowed: Allowed, *, sends: bool, connects: bool) -> Options:
    """The flags of one end.

    ``sends``: it is the end whose data are counted; ``connects``: it opens the connections.
    """
    both_ways = spec.cell.direction == BOTH
    options: Options = {
        "warmup-ns": spec.cell.warmup_ns,
        "duration-ns": spec.cell.duration_ns,
        "interval-ns": spec.interval_ns,
        "drain-timeout-ns": spec.trial.drain_ns,
        "tcp-info": "none" if spec.records_totals else "raw",
    }
    if (sends or both_ways) and spec.volume_limit_bytes is not None:  # who stops says why
        options["volume-limit-bytes"] = spec.volume_limit_bytes
    permitted = {"congestion": allowed.congestion, "pacing_bits_per_s": spec.rate_bits_per_s}
    for name, option in OPTIONS.items():
        if option.flag is not None and option.is_for(sends=sends, both_ways=both_ways, connects=connects):
            value = option.write(permitted.get(name, getattr(spec.cell, name)))
            if not sends and value in LOCAL_TRANSPORTS:
                value = "unix"  # the rest comes with the hello
            if value is not None:
                options[option.flag] = value
    return options


def list_settings(
    spec: TrialSpec, sender: Mapping[str, Any] | None, receiver: Mapping[str, Any] | None
) -> list[dict[str, str | None]]:
    """Every setting as requested and as both ends state it in their ``ready``: null where one does not.

    A technology's own settings, ``adapter.NAME``, are stated alone.
    """
    lines = []
    for name, option in OPTIONS.items():
        granted = [
            option.read(ready) if ready and option.read and option.states(end) else None
            for end, ready in (("sender", sender), ("receiver", receiver))
        ]
        lines.append(_setting_line(name, getattr(spec.cell, name), *granted))
    lines.append(_setting_line("rate_cap_bits_per_s", spec.rate_cap_bits_per_s, None, None))
    own = [((ready or {}).get("adapter") or {}).get("settings") or {} for ready in (sender, receiver)]
    names = dict.fromkeys(name for stated in own for name in stated)
    return [
        *lines,
        *(_setting_line(f"adapter.{name}", None, *(end.get(name) for end in own)) for name in names),
    ]


def find_refused(settings: Sequence[Mapping[str, str | None]]) -> list[str]:
    """Flags ``NAME-not-granted`` of settings at which an end states something else than was requested."""
    return [
        f"{FACTORS[name].key.replace('_', '-')}{NOT_GRANTED}"
        for line in settings
        if _is_refused(name := str(line["name"]), line)
    ]


def _is_refused(name: str, line: Mapping[str, str | None]) -> bool:
    option, requested = OPTIONS.get(name), line["requested"]
    if option is None or option.grants is None or requested in (None, "no", "auto"):
        return False
    stated = [text for text in (line["sender"], line["receiver"]) if text is not None]
    return not all(option.grants(str(requested), text) for text in stated)


def _setting_line(name: str, requested: Any, sender: Any, receiver: Any) -> dict[str, str | None]:
    values = {"requested": requested, "sender": sender, "receiver": receiver}
    return {"name": name} | {key: _format_value(value) for key, value in values.items()}


def _format_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value)
