"""Which rows are tried again, and which hosts are quarantined because they keep failing."""

from __future__ import annotations

from collections.abc import Collection

from pathlab.errors import Stage
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord

#: This many failures in a row quarantine a host, or a pair of hosts, until the next cycle.
FAILURES_IN_A_ROW = 3
#: Stages at which a failure is one host's own; at the others it is the pair's.
HOST_STAGES = frozenset(
    {
        Stage.CONNECT,
        Stage.HOST_KEY,
        Stage.AUTHENTICATION,
        Stage.INTERPRETER,
        Stage.DEPLOY,
        Stage.AGENT,
        Stage.LAB,
    }
)
#: Stages at which only what the row measured has failed: no host is given up for it.
PASSED_OVER = frozenset({Stage.ADAPTER, Stage.BACKGROUND})
Place = tuple[str, ...]  # one host, or source and destination
LAB: Place = ("lab",)


class Failures:
    """Counts failures by place; a success at a place starts the count anew.

    The hosts in ``lab_hosts`` share the place ``lab``, whose failures are those of the lab itself.
    """

    def __init__(self, retries: int, lab_hosts: Collection[str] = (), lab_retries: int = 0) -> None:
        self._retries, self._lab_retries = retries, lab_retries
        self._lab_hosts = frozenset(lab_hosts)
        self._tries: dict[int, int] = {}
        self._in_a_row: dict[Place, int] = {}
        self._quarantined: set[Place] = set()

    def add(self, record: TrialRecord, host: str | None, sinks: Collection[str] = ()) -> Place | None:
        """Count an ended trial; the place that is quarantined with it, else None.

        ``host`` is the one that the error named, None where it named none; ``sinks`` are further receivers.
        """
        pair = (record.path_source, record.path_destination)
        if record.status == Status.COMPLETE:
            lab = (LAB,) if pair[0] in self._lab_hosts else ()
            for index in (pair, *((host,) for host in (*pair, *sinks)), *lab):
                self._in_a_row.pop(index, None)
            return None
        self._tries[record.plan_row] = self._tries.get(record.plan_row, 0) + 1
        if record.failed_stage in PASSED_OVER:
            return None
        own = host is not None and record.failed_stage in HOST_STAGES
        index = (host,) if own and host is not None else pair
        self._in_a_row[index] = self._in_a_row.get(index, 0) + 1
        if self._in_a_row[index] < FAILURES_IN_A_ROW or index in self._quarantined:
            return None
        self._quarantined.add(index)
        return index

    def may_retry(self, row: int) -> bool:
        """Whether a failed row is tried again in this run."""
        return self._tries.get(row, 0) <= self._retries

    def use_stall_retry(self, record: TrialRecord) -> bool:
        """Whether a trial in which a program did not run is measured again: as often as a failed one."""
        if Flag.HOST_STALLED not in record.flags:
            return False
        self._tries[record.plan_row] = self._tries.get(record.plan_row, 0) + 1
        return self.may_retry(record.plan_row)

    def use_lab_retry(self, record: TrialRecord) -> bool:
        """Whether a trial in which the lab was at its limit is measured again; counts it if so."""
        if Flag.LAB_LIMITED not in record.flags or self._lab_retries == 0:
            return False
        self._lab_retries -= 1
        return True

    def is_quarantined(self, source: str, destination: str, *sinks: str) -> bool:
        """Whether a path's rows are left out for now; a quarantined ``lab`` means all of them."""
        hosts = (source, destination, *sinks)
        places: tuple[Place, ...] = ((source, destination), *((host,) for host in hosts), LAB)
        return any(place in self._quarantined for place in places)

    def release_quarantined(self) -> None:
        """A new cycle: each place quarantined has one trial to show that it works again; the lab has none.

        It was made anew after each of its failures.
        """
        for index in self._quarantined - {LAB}:
            self._in_a_row[index] = FAILURES_IN_A_ROW - 1
            self._quarantined.remove(index)
