"""RFC 4737, RFC 5236 and the jitter of RFC 3550 by their definitions, without regard to time and memory."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

WINDOW = 4096
"""Numbers among which the engine knows a duplicate from a late datagram."""
DISPLACEMENT_MAX = 32
OCCUPANCY_MAX = 32
N_REORDERING_MAX = 128


class Arrival(NamedTuple):
    """One datagram as it arrives: its number, and when it was sent and received (ns)."""

    number: int
    sent_ns: int
    arrived_ns: int


@dataclass
class Reordering:
    """What a stream lost and reordered; of the measured window."""

    received: int = 0
    duplicates: int = 0
    reordered: int = 0
    unclassified: int = 0
    jitter_ns: int | None = None
    loss_runs: list[int] = field(default_factory=list)
    reorder_extents: list[int] = field(default_factory=list)
    late_times_ns: list[int] = field(default_factory=list)
    n_reordering: list[int] = field(default_factory=list)


def compute_reordering(arrivals: list[Arrival], first: int, measured: range, numbers: range) -> Reordering:
    """Of datagrams sent in ``measured`` (ns), whose numbers are ``numbers``; ``first`` was sent first."""
    found = Reordering()
    unique: list[Arrival] = []
    seen: set[int] = set()
    expected = first
    jitter_16ths = 0
    for arrival in arrivals:
        counts = arrival.sent_ns in measured
        if arrival.number < first or arrival.number < expected - WINDOW:
            found.unclassified += counts
            continue
        if arrival.number in seen:
            found.duplicates += counts
            continue
        seen.add(arrival.number)
        if unique:
            change = (arrival.arrived_ns - unique[-1].arrived_ns) - (arrival.sent_ns - unique[-1].sent_ns)
            jitter_16ths += abs(change) - ((jitter_16ths + 8) >> 4)
        if counts:
            found.received += 1
            found.jitter_ns = jitter_16ths >> 4 if unique else None
        if arrival.number >= expected:
            expected = arrival.number + 1
        elif counts:
            found.reordered += 1
            place, earliest = next(
                (i, other) for i, other in enumerate(unique) if other.number > arrival.number
            )
            found.reorder_extents.append(len(unique) - place)
            found.late_times_ns.append(arrival.arrived_ns - earliest.arrived_ns)
            found.n_reordering.append(_compute_n(unique, arrival.number))
        unique.append(arrival)
    found.loss_runs = list_runs([number for number in numbers if number not in seen])
    return found


def _compute_n(before: list[Arrival], number: int) -> int:
    """The highest n for which a datagram is n-reordered (RFC 4737 section 5.4), as far as it is counted."""
    higher = 0
    for other in reversed(before[-N_REORDERING_MAX:]):
        if other.number < number:
            break
        higher += 1
    return higher


def list_runs(lost: list[int]) -> list[int]:
    """The lengths of the runs in ascending numbers."""
    runs: list[int] = []
    for place, number in enumerate(lost):
        if place and lost[place - 1] == number - 1:
            runs[-1] += 1
        else:
            runs.append(1)
    return runs


def list_first_arrivals(arrivals: list[Arrival], first: int) -> list[int]:
    """Numbers without duplicates, and without those that are too old to be classified."""
    unique: dict[int, None] = {}
    expected = first
    for arrival in arrivals:
        if arrival.number >= max(first, expected - WINDOW):
            unique[arrival.number] = None
            expected = max(expected, arrival.number + 1)
    return list(unique)


def compute_displacements(unique: list[int], first: int) -> tuple[dict[int, int], list[int]]:
    """The displacement of each number, and the numbers beyond the threshold (RFC 5236 section 6.1)."""
    displacements: dict[int, int] = {}
    beyond: list[int] = []
    coming = iter(unique)
    window: list[int] = []
    early: list[int] = []

    def fill() -> None:
        while len(window) < DISPLACEMENT_MAX + 1:
            number = next(coming, None)
            if number is None:
                return
            if number < index:
                beyond.append(number)
            else:
                window.append(number)

    index = first
    fill()
    while window:
        if index not in window and index not in early:
            index += 1
            continue
        number = window.pop(0)
        displacement = index - number
        if abs(displacement) > DISPLACEMENT_MAX:
            beyond.append(number)
        else:
            displacements[number] = displacement
            if displacement < 0:
                early.append(number)
            if index in early:
                early.remove(index)
            index += 1
        fill()
    return displacements, beyond


def compute_occupancies(unique: list[int], first: int) -> tuple[dict[int, int], list[int]]:
    """How many datagrams wait at the arrival of each number, and the numbers that came too late (6.2)."""
    occupancies: dict[int, int] = {}
    beyond: list[int] = []
    expected = first
    held: set[int] = set()
    for number in unique:
        if number < expected:
            beyond.append(number)
            continue
        if number > expected and len(held) == OCCUPANCY_MAX:
            expected = min(held | {number})
        held.add(number)
        while expected in held:
            held.remove(expected)
            expected += 1
        occupancies[number] = len(held)
    return occupancies, beyond


def count_places(values: list[int], places: list[list[int]]) -> list[list[int]]:
    """``values`` in the places [low, high, count] of a histogram of the engine; empty where it lacks one."""
    counted = [[low, high, sum(low <= value <= high for value in values)] for low, high, _ in places]
    return counted if sum(count for _, _, count in counted) == len(values) else []


def count_density(by_number: dict[int, int], numbers: range) -> list[list[int]]:
    """[value, count] pairs of the numbers in ``numbers``, ascending."""
    return [list(pair) for pair in sorted(Counter(by_number[n] for n in by_number if n in numbers).items())]
