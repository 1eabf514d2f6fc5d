"""Which trials of several results are compared with each other: groups by combination, and exclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathlab.campaign.factors import find_default
from pathlab.store.flags import Flag
from pathlab.study.base.selection import (
    COMPARISON_FLAGS,
    ExclusionCount,
    Rules,
    Sample,
    collect_sample,
    find_reasons,
    select_everywhere,
)
from pathlab.study.base.trials import CELL_SETTINGS, StudySource, is_searching, list_values, read_study_trials
from pathlab.study.lossless.lossless_rate import read_found_rates
from pathlab.study.lossless.rate_searches import drop_rate
from pathlab.study.measures import LOSSLESS_COLUMN

STREAMS, WINDOW = CELL_SETTINGS
CONGESTION = "congestion"
_OWN_SETTINGS = {STREAMS, WINDOW, CONGESTION}
#: Settings whose default nobody knows where a file does not name them.
TIMES = ("duration_ns", "warmup_ns")


#: Instead of the streams or the window of a combination: their levels are what is compared.
COMPARED = -2


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ComparedCell:
    """What has to be equal for trials to be compared; ``settings`` are the other factors, as text."""

    source: str
    destination: str
    streams: int  # or COMPARED
    window_bytes: int  # -1: autotuning; or COMPARED
    congestion: str
    settings: tuple[tuple[str, str], ...] = ()

    def describe(self) -> dict[str, Any]:
        """The combination as JSON."""
        return {
            "source": self.source,
            "destination": self.destination,
            "streams": None if self.streams == COMPARED else self.streams,
            "window_bytes": None if self.window_bytes < 0 else self.window_bytes,
            "congestion": self.congestion or None,
            "settings": dict(self.settings),
        }


CellSamples = Mapping[ComparedCell, Sample]


class ComparedResults:
    """The plan's settings and the trials of one of the results, read once."""

    def __init__(self, source: StudySource) -> None:
        plan, model = source.plan(), source.campaign.model
        self.settings = {row.row: row.settings for row in plan}
        self.table = read_study_trials(source, plan)
        if is_searching(model):  # whose rates are steps towards one answer of each cycle
            self.settings = {row: drop_rate(settings) for row, settings in self.settings.items()}
            self.table.frame[LOSSLESS_COLUMN] = read_found_rates(self.table, plan, model)
        self.imported = self.table.flagged(Flag.IMPORTED)
        self.host_facts = {host.name: host.facts for host in source.hosts()}  # the latest ones


def share_settings(sources: Sequence[ComparedResults]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Settings that trials are grouped by, and those that only some results name, which are not compared.

    Files of other programs name every setting that is out of the ordinary: alongside them, an unnamed setting
    has its default. Nobody knows the default of a trial's times.
    """
    rows = [settings for source in sources for settings in source.settings.values()]
    named = [{name for settings in source.settings.values() for name in settings} for source in sources]
    every = {name for names in named for name in names} - _OWN_SETTINGS
    ignored = {name for name in every if any(name not in names for names in named)}
    if any(source.imported.any() for source in sources):
        ignored &= {*TIMES}
    alike = {name for name in TIMES if len({settings.get(name) for settings in rows}) == 1}
    return tuple(sorted(every - ignored - alike)), tuple(sorted(ignored))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How trials become combinations. ``shared``: the settings that tell them apart besides their own.

    ``any_path``: combinations have no names of hosts. ``ignored``: settings, by attribute, that combinations
    do not have. ``flagged``: trials count whatever their flags.
    """

    shared: Sequence[str]
    any_path: bool = False
    ignored: Sequence[str] = ()
    flagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedTrials:
    """The trials taken by combination, and how many were excluded or taken in spite of a flag, by reason.

    ``measured``: every combination that has a trial, usable or not.
    """

    samples: CellSamples
    measured: frozenset[ComparedCell]
    excluded: tuple[ExclusionCount, ...]
    flagged: tuple[ExclusionCount, ...] = ()


def group_combinations(source: ComparedResults, matching: Matching) -> GroupedTrials:
    """The usable trials by combination.

    Usable as for every other figure, control rows included, with four differences. Trials that a host
    limited are taken: its limit may be the difference. Messages with replies need no throughput.
    Imported trials among others are excluded: two programs are not one group. Where all are imported,
    throughput is not needed: a file of pings is compared by its RTT.
    """
    table, imported = source.table, source.imported
    rules = Rules(flags=COMPARISON_FLAGS, as_requested=True, controls=True, messages=True, unrated=True)
    if imported.all():
        rules = replace(rules, needed=())
    indices, selection = select_everywhere(table, replace(rules, flagged=matching.flagged))
    excluded = selection.excluded
    mixed = imported[indices] & (not imported.all())
    if mixed.any():
        excluded = (*excluded, ExclusionCount(reason=Flag.IMPORTED, trials=int(mixed.sum())))
    indices = indices[~mixed]
    cells = _name_cells(source, np.flatnonzero(~imported | imported.all()), matching)
    result: dict[ComparedCell, list[int]] = {}
    for index in indices:
        result.setdefault(cells[index], []).append(int(index))
    flaws = Counter(find_reasons(table, rules)[indices].tolist()) if matching.flagged else Counter()
    return GroupedTrials(
        samples={cell: collect_sample(table, np.array(group)) for cell, group in result.items()},
        measured=frozenset(cells.values()),
        excluded=excluded,
        flagged=tuple(ExclusionCount(reason=flaw, trials=flaws[flaw]) for flaw in sorted(flaws) if flaw),
    )


def _name_cells(
    source: ComparedResults, indices: NDArray[np.int64], matching: Matching
) -> dict[int, ComparedCell]:
    """The combination of each of these trials that names its streams."""
    table, imported, ignored = source.table, source.imported, matching.ignored
    names = ("path_source", "path_destination", "streams", "window_requested_bytes")
    columns = (*names, "congestion_requested", "congestion_sender", "plan_row")
    kept = list_values(table.frame.iloc[indices], columns)
    result: dict[int, ComparedCell] = {}
    for index, *values in zip(indices, *kept, strict=True):
        sender, receiver, streams, window, requested, used, row = values
        if streams is None:
            continue
        own = source.settings.get(row, {})
        result[int(index)] = ComparedCell(
            source="" if matching.any_path else sender,
            destination="" if matching.any_path else receiver,
            streams=COMPARED if STREAMS in ignored else int(streams),
            window_bytes=COMPARED if WINDOW in ignored else -1 if window is None else int(window),
            congestion="" if CONGESTION in ignored else requested or (imported[index] and used) or "",
            settings=tuple(
                (name, str(own.get(name, find_default(name))))
                for name in matching.shared
                if name not in ignored
            ),
        )
    return result


def list_trial_levels(sample: Sample, factor: str) -> list[Any]:
    """The level of each trial; None: left to the system."""
    if factor == STREAMS:
        return [int(streams) for streams in sample.streams]
    if factor == WINDOW:
        return [None if np.isnan(window) else int(window) for window in sample.window_bytes]
    return [sample.table.conditions[index].get(factor) for index in sample.places]
