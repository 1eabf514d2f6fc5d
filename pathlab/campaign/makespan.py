"""How long rows take that may run at once: so many at a time, never two on one host, in the plan's order.

The same choice as the run makes (``pathlab/runner/campaign/schedule.py``), on the expected times: whenever
hosts are free, the first waiting row whose hosts are both free begins. A cycle begins when the one before
is over.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterable, Sequence

from pathlab.campaign.order import PlanRow

Hosts = frozenset[str]


def span_rows(rows: Sequence[PlanRow], times_ns: Sequence[int], lanes: int) -> int:
    """Return the time from the first row's begin to the last one's end, in ns.

    ``times_ns`` is what each row takes, ``lanes`` how many may run at once.
    """
    if lanes == 1:
        return sum(times_ns)
    timed = zip(rows, times_ns, strict=True)
    cycles = itertools.groupby(timed, lambda pair: pair[0].cycle)
    return sum(_Cycle(group).run(lanes) for _, group in cycles)


class _Cycle:
    """Rows of one cycle, queued by the hosts that they need: of one queue only the first can begin.

    A queue is either ready, or parked at a host that is busy; when that host is free again, the queue parked
    there whose row comes first is ready, and the next one once that turns out to be parked elsewhere.
    """

    def __init__(self, timed: Iterable[tuple[PlanRow, int]]) -> None:
        self._queues: dict[Hosts, deque[tuple[int, int]]] = {}  # place in the order, time in ns
        for place, (row, time_ns) in enumerate(timed):
            hosts = frozenset((row.path.source, row.path.destination))
            self._queues.setdefault(hosts, deque()).append((place, time_ns))
        self._ready = [(queue[0][0], "", hosts) for hosts, queue in self._queues.items()]
        heapq.heapify(self._ready)
        self._parked: dict[str, list[tuple[int, Hosts]]] = {}
        self._busy: set[str] = set()
        self._running: list[tuple[int, int, Hosts]] = []  # end in ns, place, hosts

    def run(self, lanes: int) -> int:
        """The time until the last row has ended, in ns."""
        now_ns = 0
        while True:
            while len(self._running) < lanes and self._begin_next(now_ns):
                pass
            if not self._running:
                return now_ns
            now_ns = self._running[0][0]
            while self._running and self._running[0][0] == now_ns:
                self._finish(heapq.heappop(self._running)[2])

    def _begin_next(self, now_ns: int) -> bool:
        while self._ready:
            place, freed, hosts = heapq.heappop(self._ready)
            busy = next((host for host in hosts if host in self._busy), None)
            if busy is None:
                _, time_ns = self._queues[hosts].popleft()
                self._busy |= hosts
                heapq.heappush(self._running, (now_ns + time_ns, place, hosts))
                return True
            heapq.heappush(self._parked.setdefault(busy, []), (place, hosts))
            if freed and freed not in self._busy:
                self._unpark(freed)
        return False

    def _finish(self, hosts: Hosts) -> None:
        self._busy -= hosts
        queue = self._queues[hosts]
        if queue:
            heapq.heappush(self._ready, (queue[0][0], "", hosts))
        for host in sorted(hosts):
            self._unpark(host)

    def _unpark(self, host: str) -> None:
        parked = self._parked.get(host)
        if parked:
            place, hosts = heapq.heappop(parked)
            heapq.heappush(self._ready, (place, host, hosts))
