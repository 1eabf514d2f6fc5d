"""Where the load of the factor ``background`` runs, and what it does there with no trial alongside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pathlab.campaign.background_checks import NETWORK, PARTS
from pathlab.campaign.factor_types import Background
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError
from pathlab.runner.hosts.environment import Environment
from pathlab.runner.trial.background import ALONE_NS, BackgroundLoad, BackgroundRates, LoadedHost, LoadPlan
from pathlab.units import SECOND_NS, format_rate, format_ratio, format_volume

#: What a load measured alone may take: its time, its start and its end.
ALONE_SECONDS = ALONE_NS / SECOND_NS + 30.0

_Place = tuple[str, str, Background]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAlone:
    """A load with no trial alongside it; ``rates`` is None where it does not run, for this ``reason``."""

    source: str
    destination: str
    level: Background
    rates: BackgroundRates | None
    reason: str = ""

    @property
    def text(self) -> str:
        """One line for the journal."""
        name = f"background load '{self.level}' from {self.source} to {self.destination}"
        return (
            f"{name} does not run: {self.reason}"
            if self.rates is None
            else f"{name}, alone: {describe_rates(self.rates)}"
        )

    @property
    def facts(self) -> dict[str, object]:
        """For the journal: ends, level, and the figures by the names of their columns."""
        figures = {} if self.rates is None else self.rates.figures
        return {"source": self.source, "destination": self.destination, "level": self.level, **figures}


class BackgroundLoads:
    """The loads of one campaign. Methods may raise HostError."""

    def __init__(self, campaign: Campaign, environment: Environment) -> None:
        self._campaign, self._environment = campaign, environment
        self._alone: dict[_Place, BackgroundRates] = {}

    def plan(self, path: TrialPath, level: Background) -> LoadPlan | None:
        """What a level means for a path; None: nothing."""
        settings, parts = self._campaign.background, PARTS[level]
        if not parts:
            return None
        names = {"source": [path.source], "destination": [path.receiving_host]}.get(
            settings.on, [path.source, path.receiving_host]
        )
        network = None
        if NETWORK in parts:
            source, destination = settings.network_hosts
            sessions = self._environment.session(source), self._environment.session(destination)
            network = (*sessions, self._environment.network_path(source, destination))
        return LoadPlan(
            parts=parts,
            settings=settings,
            interval_ns=self._campaign.trial.interval_ns,
            hosts=tuple(self._load_host(name) for name in dict.fromkeys(names)),
            network=network,
        )

    def _load_host(self, name: str) -> LoadedHost:
        own = self._campaign.hosts.get(name)
        folder = (own.disk_folder if own is not None else None) or self._campaign.background.disk_folder
        return LoadedHost(session=self._environment.session(name), disk_folder=folder)

    def measure_alone(self, path: TrialPath, level: Background) -> BackgroundRates:
        """What the load does with no trial alongside it; measured once."""
        index = (path.source, path.receiving_host, level)
        if index not in self._alone:
            plan = self.plan(path, level)
            assert plan is not None
            self._alone[index] = BackgroundLoad(plan, ALONE_SECONDS, lambda _job: None).run_alone()
        return self._alone[index]

    def measure_all_alone(self, rows: Iterable[PlanRow]) -> Iterator[LoadAlone]:
        """Measure every load of a plan; one that does not run says why."""
        kinds: dict[_Place, PlanRow] = {}
        for row in rows:
            destination = row.path.source if row.cell.is_on_one_host else row.path.destination
            kinds.setdefault((row.path.source, destination, row.cell.background), row)
        for (source, destination, level), row in kinds.items():
            if level == "none":
                continue
            rates, reason = None, ""
            try:
                rates = self.measure_alone(self._environment.trial_path(row), level)
            except HostError as error:
                reason = str(error)
            yield LoadAlone(source=source, destination=destination, level=level, rates=rates, reason=reason)


def describe_rates(rates: BackgroundRates) -> str:
    """In words: ``cores 98 % busy, disk 1.2 GB/s``."""
    words = []
    if rates.cpu_ratio is not None:
        words.append(f"{format_ratio(rates.cpu_ratio)} of the cores' time")
    if rates.disk_bytes_per_s is not None:
        words.append(f"disk {format_volume(rates.disk_bytes_per_s)}/s")
    if rates.network_bits_per_s is not None:
        words.append(f"network {format_rate(rates.network_bits_per_s)}")
    return ", ".join(words)
