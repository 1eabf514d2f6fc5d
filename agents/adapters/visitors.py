"""Connections at a server's port that are none of the trial's: whoever reaches it can open one.

All connections of a trial are open when it starts and none is opened later. What comes later is somebody
else's, as is at the start what comes from neither the asking end nor this host. A connection that opens and
closes between two looks, a second apart, is not seen unless the server was the first to close it.
"""

from __future__ import annotations

import time
from typing import FrozenSet, Optional, Set, Tuple

from pathlab.agents.listeners import list_peers, normalize_address

LOOK_S = 1.0  # a look at a host with a thousand sockets takes about a millisecond
Peer = Tuple[str, int]


class VisitorCount:
    """Counts what is none of the trial's at the port of a server at ``address``.

    ``asker``: the address of the asking end as far as it is known; behind a translation of addresses it is
    another one, and the address with most connections at the start stands for it.
    """

    def __init__(self, protocol: str, address: str, port: int, asker: str) -> None:
        self._protocol, self._port = protocol, port
        self._address, self._asker = normalize_address(address), normalize_address(asker) if asker else ""
        self._own: FrozenSet[Peer] = frozenset()
        self._visitors: Set[Peer] = set()
        self._due_s: Optional[float] = None

    @property
    def counts(self) -> bool:
        """Whether the protocol has connections to count."""
        return self._protocol == "tcp"

    def begin(self) -> None:
        """Take what is open now as the trial's, but for what comes from elsewhere."""
        peers = list_peers(self._port) if self.counts else set()
        from_here = {peer for peer in peers if peer[0] == self._address or peer[0].startswith("127.")}
        far = [address for address, _port in peers - from_here]
        asker = self._asker if self._asker in far or not far else max(sorted(set(far)), key=far.count)
        self._own = frozenset(from_here | {peer for peer in peers if peer[0] == asker})
        self._visitors = set(peers - self._own)
        self._due_s = time.monotonic() + LOOK_S

    def look(self, *, now: bool = False) -> None:
        """Add what is there, at most every ``LOOK_S`` seconds unless it has to be ``now``."""
        if self._due_s is None or not self.counts or (not now and time.monotonic() < self._due_s):
            return
        self._visitors |= list_peers(self._port) - self._own
        self._due_s = time.monotonic() + LOOK_S

    def find_wait_s(self) -> Optional[float]:
        """Seconds until the next look is due; None: it has not begun, or there is nothing to count."""
        return None if self._due_s is None or not self.counts else max(0.0, self._due_s - time.monotonic())

    def read(self) -> Optional[int]:
        """Connections of others so far; None where they are not counted."""
        return len(self._visitors) if self.counts and self._due_s is not None else None
