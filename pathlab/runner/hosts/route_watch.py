"""The route under each path while a campaign runs: read again when the last reading is old, compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pathlab.discover.probes import ProbeTarget, RemoteProber
from pathlab.discover.route import Route, RouteOptions, discover_route, has_route_changed
from pathlab.engines.spec import TrialPath
from pathlab.errors import PathlabError
from pathlab.remote.session import Session
from pathlab.runner.events import Emit, RunNotice
from pathlab.runner.hosts.changes import is_other_route
from pathlab.runner.trial.choreography import RouteReading

#: A reading is valid for this long; a longer trial begins with a fresh one anyway.
FRESH_S = 60.0
#: In a pause that is long enough for a reading, where it delays nobody, it is renewed from this age on ...
RENEW_S = 30.0
#: One flow of UDP, which every user may send, and few probes: enough to see another route, not to measure it.
OPTIONS = RouteOptions(scouts=1, repeats=2, give_up_hops=3, budget_s=5.0, timeout_ns=500_000_000)
#: ... which this is.
PAUSE_NS = int(OPTIONS.budget_s * 1e9)
PROBER_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Last:
    route: Route
    read_s: float


class RouteWatch:
    """Readings of the routes of a run's paths, both directions being paths of their own."""

    def __init__(
        self,
        session: Callable[[str], Session],
        emit: Emit,
        earlier: Mapping[tuple[str, str], tuple[str | None, ...]] | None = None,
    ) -> None:
        """``earlier``: addresses by hop, by source and destination, of the routes of the run before."""
        self._session = session
        self._emit = emit
        self._earlier = dict(earlier or {})
        self._last: dict[TrialPath, _Last] = {}
        self._without: set[TrialPath] = set()

    def close(self) -> None:
        """Read every route a last time, so that a change under the last trials is reported as well."""
        for path, last in list(self._last.items()):
            self._last[path] = _Last(route=last.route, read_s=last.read_s - FRESH_S)
            self.read(path)

    def read(self, path: TrialPath, fresh_s: float = FRESH_S) -> RouteReading | None:
        """The route now, or a reading that is still fresh; None where it cannot be read, as a notice says."""
        last = self._last.get(path)
        if path in self._without or (last is not None and time.monotonic() - last.read_s < fresh_s):
            return RouteReading(route=last.route, changed=False) if last is not None else None
        target = ProbeTarget(address=path.destination_address, method="udp", flows=1, port=None, family=0)
        try:
            with RemoteProber(self._session(path.source), target, seconds=PROBER_S) as prober:
                route = discover_route(prober, OPTIONS)
        except PathlabError as error:
            self._without.add(path)
            text = f"{path.source} to {path.destination}: the route is not watched ({error})"
            self._emit(RunNotice(text=text))
            return None
        self._last[path] = _Last(route=route, read_s=time.monotonic())
        if last is not None:
            changed = has_route_changed(last.route, route) is True
        else:
            changed = is_other_route(self._earlier.get((path.source, path.destination), ()), route)
        if changed:
            self._emit(RunNotice(text=f"{path.source} to {path.destination}: the route has changed"))
        return RouteReading(route=route, changed=changed)
