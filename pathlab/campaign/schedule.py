"""Which rows may run at once: so many at a time, never two on one host, in the plan's order otherwise.

Whenever hosts are free, the first waiting row whose hosts are both free begins. A cycle begins when the one
before is over.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from pathlab.campaign.order import PlanRow

Hosts = frozenset[str]


class Schedule:
    """The rows of one cycle that wait and those that run. Not for several threads at once.

    Rows are queued by the hosts that they need: of one queue only the first can begin. A queue is either
    ready, or parked at a host that is busy; when that host is free again, the queue parked there whose row
    comes first is ready, and the next one once that turns out to be parked elsewhere.
    """

    def __init__(self, rows: Iterable[PlanRow], lanes: int) -> None:
        self._lanes = lanes
        self._first = self._end = 0  # places in the order
        self._queues: dict[Hosts, deque[tuple[int, PlanRow]]] = {}
        self._ready: list[tuple[int, str, Hosts]] = []  # place of the first row, host that came free
        self._parked: dict[str, list[tuple[int, Hosts]]] = {}
        self._busy: set[str] = set()
        self.running = 0
        for row in rows:
            self.put_back(row)

    def take(self) -> PlanRow | None:
        """The first waiting row whose hosts are free, now running; None when none can run now."""
        while self._ready and self.running < self._lanes:
            place, freed, hosts = heapq.heappop(self._ready)
            queue = self._queues[hosts]
            if queue and queue[0][0] != place:  # its first row was dropped, or another one restored
                heapq.heappush(self._ready, (queue[0][0], freed, hosts))
                if freed not in self._busy:  # one that is parked there may now come before it
                    self._unpark(freed)
                continue
            busy = next((host for host in hosts if host in self._busy), None)
            if queue and busy is None:
                self._busy |= hosts
                self.running += 1
                return queue.popleft()[1]
            if queue and busy is not None:
                heapq.heappush(self._parked.setdefault(busy, []), (place, hosts))
            if freed not in self._busy:
                self._unpark(freed)
        return None

    def finish(self, row: PlanRow) -> None:
        """Its hosts are free again."""
        hosts = frozenset(row.path.hosts)
        self._busy -= hosts
        self.running -= 1
        self._make_ready(hosts)
        for host in hosts:
            self._unpark(host)

    def restore(self, row: PlanRow) -> None:
        """Undo ``take``: it waits again in front of all others."""
        self._first -= 1
        self._queues[frozenset(row.path.hosts)].appendleft((self._first, row))
        self.finish(row)

    def put_back(self, row: PlanRow) -> None:
        """Let it wait behind all others."""
        hosts = frozenset(row.path.hosts)
        queue = self._queues.setdefault(hosts, deque())
        queue.append((self._end, row))
        self._end += 1
        if len(queue) == 1:
            self._make_ready(hosts)

    def drop(self, unwanted: Callable[[PlanRow], bool]) -> None:
        """Take out the waiting rows that are not wanted."""
        for hosts, queue in self._queues.items():
            self._queues[hosts] = deque(item for item in queue if not unwanted(item[1]))

    def _make_ready(self, hosts: Hosts) -> None:
        queue = self._queues[hosts]
        if queue:
            heapq.heappush(self._ready, (queue[0][0], "", hosts))

    def _unpark(self, host: str) -> None:
        parked = self._parked.get(host)
        if parked:
            place, hosts = heapq.heappop(parked)
            heapq.heappush(self._ready, (place, host, hosts))


def span_rows(rows: Sequence[PlanRow], times_ns: Sequence[int], lanes: int) -> int:
    """Return the time from the first row's begin to the last one's end, in ns.

    ``times_ns`` is what each row takes, ``lanes`` how many may run at once.
    """
    if lanes == 1:
        return sum(times_ns)
    now_ns, times = 0, dict(zip(map(id, rows), times_ns, strict=True))
    for _, cycle in itertools.groupby(rows, lambda row: row.cycle):
        schedule = Schedule(cycle, lanes)
        running: list[tuple[int, int, PlanRow]] = []  # end in ns, number, row
        number = itertools.count()
        while True:
            while (row := schedule.take()) is not None:
                heapq.heappush(running, (now_ns + times[id(row)], next(number), row))
            if not running:
                break
            now_ns = running[0][0]
            while running and running[0][0] == now_ns:
                schedule.finish(heapq.heappop(running)[2])
    return now_ns
