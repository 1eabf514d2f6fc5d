"""What every path is, before a run's first trial and after its last: route, MTU, capacity hop by hop.

The route alone is read with the trials (``routes``). The journal keeps all that is found, so that a
path that was another one afterwards is seen there and in the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.fits.per_hop import HopEstimate
from pathlab.discover.capacity import CapacityOptions
from pathlab.discover.path import PathOptions, PathReport, discover_path
from pathlab.discover.route import has_route_changed
from pathlab.engines.spec import TrialPath
from pathlab.errors import PathlabError
from pathlab.remote.session import Session
from pathlab.runner.journal import Journal
from pathlab.units import format_rate

KIND, CHANGED_KIND = "path", "path-changed"
BEFORE, AFTER = "before", "after"
#: Longest time for the capacity of the hops of one path, each time.
BUDGET_S = 15.0
#: Less precise than `pathlab path`: enough to see a change, and every run waits for it.
OPTIONS = PathOptions(methods=("udp",), capacity=CapacityOptions(budget_s=BUDGET_S, target_ratio=0.1))


class PathSurveys:
    """The surveys of one run's paths; both directions are paths of their own."""

    def __init__(self, session: Callable[[str], Session], journal: Journal) -> None:
        self._session = session
        self._journal = journal
        self._before: dict[TrialPath, PathReport] = {}

    def take(self, paths: Iterable[TrialPath], when: str) -> None:
        """Survey the paths one after the other, and compare those after with those before.

        A path that cannot be surveyed is named in the journal; the run goes on. Raises StoreError.
        """
        for path in paths:
            name = f"{path.source} to {path.destination}"
            try:
                report = discover_path(self._session(path.source), path.destination_address, OPTIONS)
            except PathlabError as error:
                self._journal.add(KIND, f"{name}, {when}: not surveyed ({error})", facts={"when": when})
                continue
            facts = {"when": when, "destination": path.destination, "report": report.as_document()}
            self._journal.add(KIND, f"{name}, {when}: {describe(report)}", facts=facts)
            if when == BEFORE:
                self._before[path] = report
            elif path in self._before:
                for change in list_changes(self._before[path], report):
                    self._journal.add(CHANGED_KIND, f"{name}: {change}")


def describe(report: PathReport) -> str:
    """Hops, MTU and capacities in one line."""
    route = report.route
    hops = f"{len(route.hops)} {'hop' if len(route.hops) == 1 else 'hops'}"
    mtu = report.mtu.mtu_bytes if report.mtu is not None else None
    words = [hops if route.reached else f"{hops}, the end was not reached"]
    words.append(f"MTU {mtu} bytes" if mtu is not None else "MTU not found")
    if report.capacity is not None:
        rates = [_format_capacity(hop.estimate) for hop in report.capacity.hops]
        words.append(f"capacity {', '.join(rates)}")
    return "; ".join(words)


def list_changes(before: PathReport, after: PathReport) -> list[str]:
    """What is another one than before, in words; capacities count when their intervals lie apart."""
    changes = []
    if has_route_changed(before.route, after.route) is True:
        changes.append("the route is another one than before the first trial")
    mtus = [report.mtu.mtu_bytes if report.mtu is not None else None for report in (before, after)]
    if None not in mtus and mtus[0] != mtus[1]:
        changes.append(f"the path MTU was {mtus[0]} bytes and is {mtus[1]} bytes")
    if before.capacity is not None and after.capacity is not None:
        for old, new in zip(before.capacity.hops, after.capacity.hops, strict=False):
            if _intervals_disjoint(old.estimate.capacity_interval, new.estimate.capacity_interval):
                rates = f"{_format_capacity(old.estimate)} and is {_format_capacity(new.estimate)}"
                changes.append(f"the capacity of hop {old.hop} was {rates}")
    return changes


def _intervals_disjoint(interval: Interval, other: Interval) -> bool:
    if interval.low is None or interval.high is None or other.low is None or other.high is None:
        return False
    return interval.high < other.low or other.high < interval.low


def _format_capacity(estimate: HopEstimate) -> str:
    if estimate.capacity_bits_per_s is None:
        return "undecided"
    return format_rate(estimate.capacity_bits_per_s)
