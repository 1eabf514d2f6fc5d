"""A lab drawn as text; its picture is in ``lab_figure``, which needs more time to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pathlab.lab.topology import Link, LinkSettings, Topology, link_address
from pathlab.units import format_bytes, format_rate, format_ratio, format_time

NOT_SET = (None, 0, "none")
#: What a direction may have besides rate and delay.
OPTIONAL: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("queue_bytes", "queue {}", format_bytes),
    ("loss_ratio", "loss {}", format_ratio),
    ("burst_enter_ratio", "bursts of loss {}", format_ratio),
    ("jitter_ns", "jitter {}", format_time),
    ("reorder_ratio", "reordered {}", format_ratio),
    ("duplicate_ratio", "doubled {}", format_ratio),
    ("ecn_bytes", "ECN from {}", format_bytes),
    ("aqm", "{}", str),
    ("cross_bits_per_s", "others {}", format_rate),
)


def describe_direction(way: LinkSettings) -> str:
    """One direction in a few words."""
    words = ["not limited" if way.rate_bits_per_s is None else format_rate(way.rate_bits_per_s)]
    words.append(format_time(way.delay_ns))
    values = ((getattr(way, name), text, formatter) for name, text, formatter in OPTIONAL)
    words += [text.format(formatter(value)) for value, text, formatter in values if value not in NOT_SET]
    return ", ".join(words)


def draw_text(plan: Topology, counters: Sequence[Mapping[str, Any]] | None = None) -> str:
    """Every link on a line of its own, with addresses; both directions where they differ; then the counts."""
    width = max(len(node) for node in plan.nodes)
    lines = []
    for number, link in enumerate(plan.links):
        left, right = (
            f"{node:{width}} {link_address(number, end):14}" for end, node in enumerate(link.between)
        )
        arrow = "<->" if link.reverse is None else "-->"
        lines.append(f"  {left} {arrow}  {right}  {describe_direction(link.direction(0))}")
        if plan.ipv6:
            ends = (f"{'':{width}} {link_address(number, end, 6):14}" for end in (0, 1))
            lines.append(f"  {'      '.join(ends)}".rstrip())
        if link.reverse is not None:
            lines.append(
                f"  {'':{len(left)}} <--  {'':{len(right)}}  {describe_direction(link.direction(1))}"
            )
        if counters is not None:
            lines += [f"  {'':{len(left)}}      {words}" for words in _count_words(link, counters[number])]
    return "\n".join(lines)


def _count_words(link: Link, counted: Mapping[str, Any]) -> list[str]:
    words = []
    for way, (start, end) in (("forward", link.between), ("reverse", link.between[::-1])):
        counts = counted[way]
        parts = [f"{counts['delivered_packets']} packets delivered"]
        for key, what in (
            ("queue_dropped_packets", "dropped by the queue"),
            ("aqm_dropped_packets", "dropped by CoDel"),
            ("lost_packets", "lost"),
            ("dropped_packets", "dropped or lost"),
            ("marked_packets", "marked"),
        ):
            if counts.get(key):
                parts.append(f"{counts[key]} {what}")
        words.append(f"{start} to {end}: {', '.join(parts)}")
    return words
