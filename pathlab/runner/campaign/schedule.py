"""Which rows may run at once: never two on one host, in the plan's order otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pathlab.campaign.order import PlanRow


class Schedule:
    """The rows of one cycle that wait and those that run. Not for several threads at once."""

    def __init__(self, rows: Iterable[PlanRow], lanes: int) -> None:
        self._waiting = list(rows)
        self._lanes = lanes
        self._running: dict[int, frozenset[str]] = {}

    @property
    def running(self) -> int:
        """Number of rows that run."""
        return len(self._running)

    def take(self) -> PlanRow | None:
        """The first waiting row whose hosts are free, now running; None when none can run now."""
        if len(self._running) >= self._lanes:
            return None
        busy: frozenset[str] = frozenset().union(*self._running.values())
        for at, row in enumerate(self._waiting):
            hosts = frozenset((row.path.source, row.path.destination))
            if not hosts & busy:
                self._running[row.row] = hosts
                return self._waiting.pop(at)
        return None

    def finish(self, row: PlanRow) -> None:
        """Its hosts are free again."""
        del self._running[row.row]

    def restore(self, row: PlanRow) -> None:
        """Undo ``take``: it waits again in front of all others."""
        self.finish(row)
        self._waiting.insert(0, row)

    def put_back(self, row: PlanRow) -> None:
        """Let it wait behind all others."""
        self._waiting.append(row)

    def drop(self, unwanted: Callable[[PlanRow], bool]) -> list[PlanRow]:
        """Take out and return the waiting rows that are not wanted."""
        dropped = [row for row in self._waiting if unwanted(row)]
        self._waiting = [row for row in self._waiting if not unwanted(row)]
        return dropped
