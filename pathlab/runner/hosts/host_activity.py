"""Whether a host is busy with something else, measured while nothing of ours runs there: the one definition.

Of 331 stored trials in labs of two cores, 1 % were lab-limited where less than half of the cores' time was
used in all, 12 % up to 70 % and nearly all beyond; a trial itself uses 12 to 15 %. With less than 3 % of it
stolen, 1 % were, with more a quarter. Where a task waits for a core, the engine will wait as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pathlab.errors import PathlabError
from pathlab.runner.hosts.facts_check import HostCheck, check_limit

#: From here on a host is busy: the share of its cores that others use, ...
BUSY_RATIO = 0.35
#: ... that of their time which its own host gives to other machines, ...
STEAL_RATIO = 0.03
#: ... and the share of the time in which a task waited for a core.
WAITING_RATIO = 0.25
#: With so many idle cores neither matters: a trial at 1 Gbit/s takes two.
FREE_CORES = 4
#: A first look, and a longer one where that finds a host busy: a moment's work must not be taken for load.
GLANCE_S, LOOK_S = 0.4, 0.8
PARALLEL_MAX = 64
#: The name of the machine of a lab, and of this one where it is an end.
THIS_MACHINE = "this machine"
#: What to do in a command that has the option, ...
FIX = "end what keeps it busy, or wait for it: --wait-idle 2m"
#: ... and in one that only checks.
CHECK_FIX = "end what keeps it busy, or wait for it: pathlab run CAMPAIGN --wait-idle 2m"

#: Gives an agent's answer to ``activity``.
Measure = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostActivity:
    """What others did on a host over a short time; None: not known.

    ``busiest`` is the name and number of the process that used most, ``busiest_cores`` how many cores.
    """

    cores: int
    busy_ratio: float | None
    steal_ratio: float | None
    waiting_ratio: float | None
    busiest: str | None = None
    busiest_cores: float | None = None

    @property
    def busy(self) -> bool:
        """Whether trials there would suffer."""
        busy, waiting = self.busy_ratio or 0.0, self.waiting_ratio or 0.0
        scarce = (1 - busy) * self.cores < FREE_CORES
        return (self.steal_ratio or 0.0) > STEAL_RATIO or (
            scarce and (busy > BUSY_RATIO or waiting > WAITING_RATIO)
        )

    def describe(self) -> str:
        """``72 % of 2 cores in use (python3, PID 7: 0.98 cores), tasks wait for a core 40 % ...``."""
        noun = f"{self.cores} {'core' if self.cores == 1 else 'cores'}"
        if self.busy_ratio is None:
            return noun
        named = ""
        if self.busiest is not None and self.busiest_cores is not None:
            named = f" ({self.busiest}: {self.busiest_cores:.2f} cores)"
        parts = [f"{100 * self.busy_ratio:.0f} % of {noun} in use{named}"]
        if self.waiting_ratio:
            parts.append(f"tasks wait for a core {100 * self.waiting_ratio:.0f} % of the time")
        if self.steal_ratio:
            parts.append(f"{100 * self.steal_ratio:.1f} % of the CPU time stolen by other machines")
        return ", ".join(parts)


def measure_activity(
    hosts: Mapping[str, Measure], pause: Callable[[float], object] = time.sleep
) -> dict[str, HostActivity]:
    """The activity of every host over the same short time; those that cannot tell are left out."""
    result = _look(hosts, GLANCE_S, pause)
    if any(item.busy for item in result.values()):
        result = _look({name: hosts[name] for name in result}, LOOK_S, pause)
    return result


def check_activity(activity: HostActivity | None) -> HostCheck:
    """The check of a host's processors, for ``doctor`` and ``hosts check`` alike."""
    if activity is None:
        return HostCheck("processors", "limited", "their activity cannot be read")
    fix = f"{CHECK_FIX}; otherwise the host is measured, not the path" if activity.busy else None
    return check_limit("processors", activity.describe(), fix)


def name_busy(busy: Mapping[str, HostActivity]) -> str:
    """The busy hosts, by name, with what was measured of each."""
    return "; ".join(f"{name} is busy: {item.describe()}" for name, item in busy.items())


def describe_busy(busy: Mapping[str, HostActivity], *, lab: bool) -> str:
    """What was measured, what it does to the results, and what to do, in a line; ``busy``: by name."""
    effect = (
        "trials may be lab-limited: packets come late, and rates and delays are wrong"
        if lab
        else "trials may be host-limited: rates too low, delays too long"
    )
    return f"{name_busy(busy)}. {effect[0].upper()}{effect[1:]}. {FIX[0].upper()}{FIX[1:]}"


def _look(
    hosts: Mapping[str, Measure], seconds: float, pause: Callable[[float], object]
) -> dict[str, HostActivity]:
    if not hosts:
        return {}
    with ThreadPoolExecutor(min(len(hosts), PARALLEL_MAX)) as pool:
        begun = list(pool.map(_measure, hosts.values()))
        if any(begun):
            pause(seconds)
        answers = dict(zip(hosts, pool.map(_measure, hosts.values()), strict=True))
    return {
        name: _read(answer)
        for (name, answer), first in zip(answers.items(), begun, strict=True)
        if first is not None and answer is not None
    }


def _measure(measure: Measure) -> Mapping[str, Any] | None:
    try:
        return measure()
    except (PathlabError, OSError, ValueError):  # an agent that cannot, or a /proc that shows nothing
        return None


def _read(answer: Mapping[str, Any]) -> HostActivity:
    busiest = answer["busiest"]
    return HostActivity(
        cores=answer["cores"],
        busy_ratio=answer["busy_ratio"],
        steal_ratio=answer["steal_ratio"],
        waiting_ratio=answer["waiting_ratio"],
        busiest=None if busiest is None else f"{busiest['name']}, PID {busiest['pid']}",
        busiest_cores=None if busiest is None else busiest["cores"],
    )
