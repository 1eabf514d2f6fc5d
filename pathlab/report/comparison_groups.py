"""Which trials of several results are compared with each other: groups by condition, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pathlab.campaign.factors import find_default
from pathlab.report.source import ResultsSource, StoredTrial, find_congestion, read_trials
from pathlab.report.summary import TIMES
from pathlab.store.records import PlanRecord

#: A trial under one of these says more of the lab than of what is compared.
LEFT_OUT_FLAGS = ("lab-limited",)
_OWN_SETTINGS = {"streams", "window_bytes", "congestion"}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Condition:
    """What has to be equal for trials to be compared; ``settings`` are the other factors, spelled."""

    source: str
    destination: str
    streams: int
    window_bytes: int  # -1: autotuning
    congestion: str
    settings: tuple[tuple[str, str], ...] = ()

    def describe(self) -> dict[str, Any]:
        """The condition as JSON."""
        return {
            "source": self.source,
            "destination": self.destination,
            "streams": self.streams,
            "window_bytes": None if self.window_bytes < 0 else self.window_bytes,
            "congestion": self.congestion or None,
            "settings": dict(self.settings),
        }


Groups = dict[Condition, list[StoredTrial]]


class ReadSource:
    """The plan and the trials of one of the results, read once."""

    def __init__(self, source: ResultsSource) -> None:
        self._plan, self.trials = source.plan(), read_trials(source)
        self.holds_imported = any("imported" in trial.record.flags for trial in self.trials)

    def plan(self) -> Sequence[PlanRecord]:
        """The plan in its order."""
        return self._plan


def share_settings(sources: Sequence[ReadSource]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Settings that trials are grouped by, and those that only some results tell, which are not compared.

    Files of other programs tell every setting that is out of the ordinary: beside them, what a row does not
    tell stands at its default. Only of a trial's times nobody knows where that is.
    """
    told = [{name for row in source.plan() for name in row.settings} for source in sources]
    every = {name for names in told for name in names} - _OWN_SETTINGS
    ignored = {name for name in every if any(name not in names for names in told)}
    if any(source.holds_imported for source in sources):
        ignored &= {*TIMES}
    rows = [row.settings for source in sources for row in source.plan()]
    alike = {name for name in TIMES if len({row.get(name) for row in rows}) == 1}
    return tuple(sorted(every - ignored - alike)), tuple(sorted(ignored))


def group_trials(source: ReadSource, shared: Sequence[str], *, any_path: bool) -> tuple[Groups, int]:
    """The trials that count, by their condition with the ``shared`` settings, and how many were left out.

    ``any_path``: conditions bear no names of hosts. Trials of other programs count where there are no others.
    """
    settings = {row.row: row.settings for row in source.plan()}
    groups: Groups = {}
    left_out = 0
    trials = source.trials
    native = any("imported" not in trial.record.flags for trial in trials)
    refused = {*LEFT_OUT_FLAGS, *(("imported",) if native else ())}  # two programs are not one group
    for trial in trials:
        record = trial.record
        if not trial.complete or set(record.flags) & refused:
            left_out += 1
            continue
        own = settings.get(record.plan_row, {})
        condition = Condition(
            source="" if any_path else record.path_source,
            destination="" if any_path else record.path_destination,
            streams=record.streams,
            window_bytes=-1 if record.window_asked_bytes is None else record.window_asked_bytes,
            congestion=find_congestion(record),
            settings=tuple((name, str(own.get(name, find_default(name)))) for name in shared),
        )
        groups.setdefault(condition, []).append(trial)
    return groups, left_out
