"""A lab drawn as text; its picture is in ``lab_figure``, which needs more time to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pathlab.lab.topology import Link, LinkSettings, Topology, link_address
from pathlab.units import format_bytes, format_rate, format_ratio, format_time


def describe_direction(way: LinkSettings) -> str:
    """One direction in a few words."""
    words = ["not limited" if way.rate_bits_per_s is None else format_rate(way.rate_bits_per_s)]
    words.append(f"{format_time(way.delay_ns)}")
    if way.queue_bytes is not None:
        words.append(f"queue {format_bytes(way.queue_bytes)}")
    if way.loss_ratio:
        words.append(f"loss {format_ratio(way.loss_ratio)}")
    if way.burst_enter_ratio:
        words.append(f"bursts of loss {format_ratio(way.burst_enter_ratio)}")
    if way.jitter_ns:
        words.append(f"jitter {format_time(way.jitter_ns)}")
    if way.reorder_ratio:
        words.append(f"reordered {format_ratio(way.reorder_ratio)}")
    if way.duplicate_ratio:
        words.append(f"doubled {format_ratio(way.duplicate_ratio)}")
    if way.ecn_bytes is not None:
        words.append(f"ECN from {format_bytes(way.ecn_bytes)}")
    if way.aqm != "none":
        words.append(way.aqm)
    if way.cross_bits_per_s is not None:
        words.append(f"others {format_rate(way.cross_bits_per_s)}")
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
