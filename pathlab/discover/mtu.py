"""The path's MTU: the largest packet that arrives whole, found by probes that may not be cut in pieces."""

from __future__ import annotations

from dataclasses import dataclass

from pathlab.discover.probes import FROM_TARGET, SHORTEST_TIMEOUT_NS, ProbePlan, RemoteProber

FURTHEST_TTL = 64
TRIES = 3
CONFIRMING_TRIES = 6
MAX_RESTARTS = 4  # searches begun anew, however lossy the path
MAX_HINTS = 8  # routers that narrow a path one after the other; beyond, ranges are halved


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMtu:
    """``mtu_bytes``: IP packet, headers included; None with the reason why it was not found.

    ``limited_by``: the router that said that a larger packet does not fit. ``black_hole``: larger packets
    vanish without a word, so TCP must find out by itself.
    """

    mtu_bytes: int | None
    first_link_bytes: int
    limited_by: str | None = None
    black_hole: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What became of a size: it arrived, or a router named its limit, or nothing came back."""

    arrived: bool
    rtt_ns: int | None = None
    mtu_bytes: int | None = None
    source: str | None = None


def find_path_mtu(prober: RemoteProber, timeout_ns: int = 1_000_000_000) -> PathMtu:
    """Send the largest packet of the first link and follow what routers say, or halve the range where none
    does.

    HostError when the host cannot go on.
    """
    first_link = min(prober.opened["mtu_bytes"], 65535)
    if prober.target.method == "tcp":
        reason = "the size of a SYN cannot be chosen; use udp or icmp"
        return PathMtu(mtu_bytes=None, first_link_bytes=first_link, reason=reason)
    waits_ns = (timeout_ns, timeout_ns)  # for the answer to a first try, and to a further one
    smallest = _try_size(prober, prober.smallest_bytes, waits_ns, TRIES)
    if smallest.rtt_ns is None:
        reason = "the target does not answer even the smallest probe"
        return PathMtu(mtu_bytes=None, first_link_bytes=first_link, reason=reason)
    # A host may answer once a second, so that only the first wait is short.
    waits_ns = (min(timeout_ns, max(SHORTEST_TIMEOUT_NS, 4 * smallest.rtt_ns)), timeout_ns)
    search = _Search(low=prober.smallest_bytes, high=first_link, named_high=first_link)
    for _ in range(MAX_RESTARTS):
        _narrow(prober, search, waits_ns)
        if not search.silent:
            break
        # A lossy path loses every try of a size now and then, which looks like a black hole above it.
        trial = _try_size(prober, search.low + 1, waits_ns, CONFIRMING_TRIES)
        search.limited_by = trial.source or search.limited_by
        search.silent = not trial.arrived and trial.source is None
        if not trial.arrived:
            break
        search.low, search.high = search.low + 1, search.named_high
    return PathMtu(
        mtu_bytes=search.low,
        first_link_bytes=first_link,
        limited_by=search.limited_by,
        black_hole=search.silent,
    )


@dataclass(slots=True, kw_only=True)
class _Search:
    """Bytes that arrive, that may arrive, and that may by what was said.

    ``silent``: nothing larger was answered.
    """

    low: int
    high: int
    named_high: int
    limited_by: str | None = None
    silent: bool = False
    hints: int = MAX_HINTS


def _narrow(prober: RemoteProber, search: _Search, waits_ns: tuple[int, int]) -> None:
    """Until the largest that arrives is known."""
    size = search.high
    while search.low < search.high:
        trial = _try_size(prober, size, waits_ns, TRIES)
        if trial.arrived:
            search.low = size
        else:
            named = trial.mtu_bytes
            believed = search.hints > 0 and named is not None and search.low <= named < size
            search.high = named if believed and named is not None else size - 1
            search.limited_by = trial.source or search.limited_by
            if trial.source is None:
                search.silent = True
            else:
                search.named_high = search.high
            if believed:
                size, search.hints = search.high, search.hints - 1
                continue
        size = (search.low + search.high + 1) // 2
    search.silent = search.silent and search.low < search.named_high


def _try_size(prober: RemoteProber, size_bytes: int, waits_ns: tuple[int, int], tries: int) -> _Trial:
    for number in range(tries):
        timeout_ns = waits_ns[min(number, 1)]
        plan = ProbePlan(ttls=(FURTHEST_TTL,), sizes_bytes=(size_bytes,), timeout_ns=timeout_ns)
        (probe,) = prober.send(plan).probes
        if probe.kind in FROM_TARGET:
            return _Trial(arrived=True, rtt_ns=probe.rtt_ns)
        if probe.kind == "too-big":
            return _Trial(arrived=False, mtu_bytes=probe.mtu_bytes, source=probe.source)
        if not probe.sent:
            return _Trial(arrived=False, source="the first link")
    return _Trial(arrived=False)
