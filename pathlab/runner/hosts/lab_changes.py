"""Other settings of one direction of a running lab's link, with the keys of the ``[lab]`` table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pathlab.campaign.load import build_lab
from pathlab.campaign.overrides import put_override
from pathlab.campaign.source_text import Finding
from pathlab.errors import UsageError
from pathlab.lab.topology import Link, LinkSettings
from pathlab.runner.hosts.lab_topology import build_topology
from pathlab.units import format_exact_bytes, format_exact_rate, format_exact_time

NOT_SET = "none"
HINT = "keys and values are those of [[lab.links]] in campaigns/SCHEMA.md; KEY=none takes one back"
_QUEUES = {"queue", "queue_time"}
_FIXED = {"between", "mtu", "reverse"}


def change_settings(link: Link, end: int, written: Sequence[str]) -> LinkSettings:
    """The direction of a link from an end (0 or 1) with every ``key=value`` of ``written`` put in.

    Raises UsageError for the first that cannot be.
    """
    given: dict[str, Any] = {}
    for text in written:
        mistake = put_override(given, text)
        if mistake is not None:
            raise UsageError(f"'{text}': {mistake}", hint=HINT)
    for key in sorted(_FIXED & given.keys()):
        raise UsageError(f"{key}: cannot change while the lab runs", hint=HINT)
    table = serialize_settings(link.direction(end))
    for key in _QUEUES if _QUEUES & given.keys() else ():
        table.pop(key, None)
    table |= given
    table = {key: value for key, value in table.items() if value != NOT_SET}
    findings: list[Finding] = []
    whole = {**table, "between": list(link.between), "mtu": link.mtu_bytes}
    lab = build_lab({"lab": {"hosts": list(link.between), "links": [whole]}}, findings)
    if lab is None or findings:
        place, what = findings[0]
        raise UsageError(f"{'.'.join(map(str, place[3:]))}: {what}", hint=HINT)
    (changed,) = build_topology(lab).links
    return changed.as_settings()


def serialize_settings(settings: LinkSettings) -> dict[str, Any]:
    """What is set of a direction, as the table of a file says it."""
    burst = {
        "enter": settings.burst_enter_ratio,
        "leave": settings.burst_leave_ratio,
        "loss": settings.burst_loss_ratio,
    }
    table: dict[str, Any] = {
        "rate": settings.rate_bits_per_s and format_exact_rate(settings.rate_bits_per_s),
        "delay": settings.delay_ns and format_exact_time(settings.delay_ns),
        "queue": settings.queue_bytes and format_exact_bytes(settings.queue_bytes),
        "loss": settings.loss_ratio,
        "burst_loss": burst if settings.burst_enter_ratio else None,
        "jitter": settings.jitter_ns and format_exact_time(settings.jitter_ns),
        "reorder": settings.reorder_ratio,
        "reorder_delay": settings.reorder_ns and format_exact_time(settings.reorder_ns),
        "duplicate": settings.duplicate_ratio,
        "ecn": settings.ecn_bytes and format_exact_bytes(settings.ecn_bytes),
        "aqm": settings.aqm,
        "cross": settings.cross_bits_per_s and format_exact_rate(settings.cross_bits_per_s),
    }
    return {key: value for key, value in table.items() if value and value != NOT_SET}
