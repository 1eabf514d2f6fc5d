"""The path's MTU: the largest packet that arrives whole, found by probes that may not be cut in pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    limited_by: str | None
    black_hole: bool
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What became of a size: it arrived, or a router named its limit, or nothing was heard."""

    arrived: bool
    rtt_ns: int | None = None
    mtu_bytes: int | None = None
    source: str | None = None


def find_path_mtu(prober: RemoteProber, timeout_ns: int = 1_000_000_000) -> PathMtu:
    """Send the largest packet of the first link and follow what routers say, or halve the range where none
    does.

    HostError when the host cannot go on.
    """
    first_link = min(int(prober.opened["mtu_bytes"]), 65535)
    if prober.target.method == "tcp":
        return _unknown(first_link, "the size of a SYN cannot be chosen; use udp or icmp")
    patience = _Patience(first_ns=timeout_ns, again_ns=timeout_ns)
    smallest = _try_size(prober, prober.smallest_bytes, patience, TRIES)
    if smallest.rtt_ns is None:
        return _unknown(first_link, "the target does not answer even the smallest probe")
    patience = replace(patience, first_ns=min(timeout_ns, max(SHORTEST_TIMEOUT_NS, 4 * smallest.rtt_ns)))
    search = _Search(low=prober.smallest_bytes, high=first_link, named_high=first_link)
    for _ in range(MAX_RESTARTS):
        _narrow(prober, search, patience)
        if not search.silent:
            break
        # A lossy path loses every try of a size now and then, which looks like a black hole above it.
        trial = _try_size(prober, search.low + 1, patience, CONFIRMING_TRIES)
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
        reason=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patience:
    """How long a size's first try and its further ones are waited for: hosts may answer once a second."""

    first_ns: int
    again_ns: int


@dataclass(slots=True, kw_only=True)
class _Search:
    """Bytes that arrive, that may arrive, and that may by what was said.

    ``silent``: of more than that nothing was heard.
    """

    low: int
    high: int
    named_high: int
    limited_by: str | None = None
    silent: bool = False
    hints: int = MAX_HINTS


def _narrow(prober: RemoteProber, search: _Search, patience: _Patience) -> None:
    """Until the largest that arrives is known."""
    size = search.high
    while search.low < search.high:
        trial = _try_size(prober, size, patience, TRIES)
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


def _unknown(first_link_bytes: int, reason: str) -> PathMtu:
    return PathMtu(
        mtu_bytes=None, first_link_bytes=first_link_bytes, limited_by=None, black_hole=False, reason=reason
    )


def _try_size(prober: RemoteProber, size_bytes: int, patience: _Patience, tries: int) -> _Trial:
    for number in range(tries):
        timeout_ns = patience.again_ns if number else patience.first_ns
        plan = ProbePlan(ttls=(FURTHEST_TTL,), sizes_bytes=(size_bytes,), timeout_ns=timeout_ns)
        (probe,) = prober.send(plan).probes
        if probe.kind in FROM_TARGET:
            return _Trial(arrived=True, rtt_ns=probe.rtt_ns)
        if probe.kind == "too-big":
            return _Trial(arrived=False, mtu_bytes=probe.mtu_bytes, source=probe.source)
        if not probe.sent:
            return _Trial(arrived=False, source="the first link")
    return _Trial(arrived=False)
