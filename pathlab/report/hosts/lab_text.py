"""A lab drawn as text; its picture is in ``lab_figure``, which needs more time to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from rich.console import Console
from rich.text import Text

from pathlab.lab.topology import Link, LinkSettings, Topology, link_address
from pathlab.printed_table import PrintedParagraph
from pathlab.units import format_bytes, format_rate, format_ratio, format_time

NARROW_INDENT = " " * 6
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
    words.append(f"{format_time(way.delay_ns)} one way")
    values = ((getattr(way, name), text, formatter) for name, text, formatter in OPTIONAL)
    words += [text.format(formatter(value)) for value, text, formatter in values if value not in NOT_SET]
    return ", ".join(words)


def print_lab(plan: Topology, console: Console, counters: Sequence[Mapping[str, Any]] | None = None) -> None:
    """Print every link with addresses, both directions where they differ, the counts, and the round trips.

    A direction is described on the line of its link, or below it where the console is too narrow.
    """
    lines = list(_list_links(plan, counters))
    narrow = max(len(f"{head}  {text}") for head, text in lines) > console.width
    for head, text in lines:
        if narrow:
            if head.strip():
                console.print(Text(head.rstrip()), soft_wrap=True)
            console.print(PrintedParagraph(text, mark=NARROW_INDENT))
        else:
            console.print(Text(f"{head}  {text}".rstrip()), soft_wrap=True)
    for text in _list_round_trips(plan):
        console.print(PrintedParagraph(text))


def _list_links(plan: Topology, counters: Sequence[Mapping[str, Any]] | None) -> Iterator[tuple[str, str]]:
    """The ends of each direction, and what it is; then what it counted."""
    width = max(len(node) for node in plan.nodes)
    for number, link in enumerate(plan.links):
        left, right = (
            f"{node:{width}} {link_address(number, end):14}" for end, node in enumerate(link.between)
        )
        arrow = "<->" if link.reverse is None else "-->"
        yield f"  {left} {arrow}  {right}", describe_direction(link.direction(0))
        if plan.ipv6:
            ends = (f"{'':{width}} {link_address(number, end, 6):14}" for end in (0, 1))
            yield f"  {'      '.join(ends)}".rstrip(), ""
        if link.reverse is not None:
            yield f"  {'':{len(left)}} <--  {'':{len(right)}}", describe_direction(link.direction(1))
        if counters is not None:
            for words in _count_words(link, counters[number]):
                yield f"  {'':{len(left)}}    ", words


def _list_round_trips(plan: Topology) -> Iterator[str]:
    """The idle RTT between hosts, those of one value together."""
    pairs: dict[int, list[str]] = {}
    for host, peer in combinations(plan.hosts, 2):
        if plan.is_joined(host, peer):
            pairs.setdefault(plan.idle_rtt_ns(host, peer), []).append(f"{host} to {peer}")
    for rtt_ns, names in pairs.items():
        yield f"Round trip without load: {format_time(rtt_ns)} ({', '.join(names)})."


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
