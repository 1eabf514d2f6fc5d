"""The path's MTU: the largest packet that arrives whole, found by probes that may not be cut in pieces."""

from __future__ import annotations

from dataclasses import dataclass

from pathlab.discover.probes import FROM_TARGET, ProbePlan, Prober

FURTHEST_TTL = 64
TRIES = 3
MAX_HINTS = 8  # routers that narrow a path one after the other; beyond, ranges are halved


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMtu:
    """``mtu_bytes``: IP packet, headers included; None with the reason why it was not found.

    ``limited_by``: the router that said that a larger packet does not fit. ``black_hole``: larger packets
    vanish without a word, so TCP must find out by itself.
    """

    mtu_bytes: int | None
    first_link_bytes: int
    limited_by: str | None
    black_hole: bool
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What became of a size: it arrived, or a router named its limit, or nothing was heard."""

    arrived: bool
    mtu_bytes: int | None = None
    source: str | None = None


def find_path_mtu(prober: Prober, timeout_ns: int = 1_000_000_000) -> PathMtu:
    """Send the largest packet of the first link and follow what routers say, or halve the range where none
    does.

    HostError when the host cannot go on.
    """
    first_link = min(int(prober.opened["mtu_bytes"]), 65535)
    if prober.target.method == "tcp":
        return _unknown(first_link, "a SYN has no size of one's choosing; use udp or icmp")
    low, high = prober.smallest_bytes, first_link
    if not _try_size(prober, low, timeout_ns).arrived:
        return _unknown(first_link, "the target does not answer even the smallest probe")
    limited_by: str | None = None
    black_hole = False
    size = high
    hints = MAX_HINTS
    while low < high:
        trial = _try_size(prober, size, timeout_ns)
        if trial.arrived:
            low = size
        else:
            named = trial.mtu_bytes
            believed = hints > 0 and named is not None and low <= named < size
            high = named if believed and named is not None else size - 1
            limited_by = trial.source or limited_by
            black_hole = black_hole or trial.source is None
            if believed:
                size, hints = high, hints - 1
                continue
        size = (low + high + 1) // 2
    return PathMtu(
        mtu_bytes=low, first_link_bytes=first_link, limited_by=limited_by, black_hole=black_hole, reason=None
    )


def _unknown(first_link_bytes: int, reason: str) -> PathMtu:
    return PathMtu(
        mtu_bytes=None, first_link_bytes=first_link_bytes, limited_by=None, black_hole=False, reason=reason
    )


def _try_size(prober: Prober, size_bytes: int, timeout_ns: int) -> _Trial:
    for _ in range(TRIES):
        plan = ProbePlan(ttls=(FURTHEST_TTL,), sizes_bytes=(size_bytes,), timeout_ns=timeout_ns)
        (probe,) = prober.send(plan).probes
        if probe.kind in FROM_TARGET:
            return _Trial(arrived=True)
        if probe.kind == "too-big":
            return _Trial(arrived=False, mtu_bytes=probe.mtu_bytes, source=probe.source)
        if not probe.sent:
            return _Trial(arrived=False, source="the first link")
    return _Trial(arrived=False)
