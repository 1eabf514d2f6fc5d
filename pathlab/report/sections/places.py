"""Where and how trials were measured: one place for each condition, numbered as its figures are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathlab.campaign.factors import format_level, name_levels
from pathlab.report.sections.material import Material
from pathlab.store.trial_table import format_exact_time
from pathlab.study.answer import Answer
from pathlab.study.lines import Line, know_line
from pathlab.study.selection import PATH_FLAGS, WINDOW_FLAG, Rules, Sample, select
from pathlab.study.source import Condition
from pathlab.units import format_bytes

#: Trials drawn in one figure, and in all figures of one kind.
POINTS_PER_FIGURE = 400
POINTS_IN_ALL = 1600
POINTS_LEAST = 120
MEDIA = {"hosts": "real path", "lab": "lab", "loopback-fallback": "LOOPBACK FALLBACK", "imported": "imported"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """The trials of one cell: streams and window asked for (None: autotuned).

    ``marks`` holds, by the figure of a trial that they were found in, which trials are outliers.
    """

    streams: int
    window_bytes: int | None
    sample: Sample
    marks: dict[Any, NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The cell in short: ``4 × 64 KiB``."""
        return f"{self.streams} × {spell_window(self.window_bytes)}"


class Place:
    """One condition: ``sample`` are the trials that medians and fits are made of, ``aside`` those drawn only.

    ``aside``: complete trials that measured a host, the lab, another window or another congestion control
    than was asked for. ``number``: from 1, in the order in which conditions were first measured. ``levels``:
    what sets it apart from the other conditions of these results, by the campaign file's names.
    """

    def __init__(
        self, number: int, samples: tuple[Sample, Sample], levels: Mapping[str, str], line: Line | None
    ) -> None:
        self.number = number
        self.sample, self.aside = samples
        self.settings = levels
        self.line = line  # the lab's narrowest link; None: not known

    @property
    def key(self) -> Condition:
        """The condition as answers name it."""
        return self.sample.condition

    @property
    def path(self) -> str:
        """``a → b``."""
        return f"{self.key.path_source} → {self.key.path_destination}"

    @property
    def name(self) -> str:
        """Path and setting."""
        return self.name_without("")

    def name_without(self, factor: str) -> str:
        """Path and setting but for one factor, which is varied where it is shown."""
        told = [f"{name} {level}" for name, level in self.settings.items() if name != factor]
        return ", ".join([self.path, *told])

    @property
    def title(self) -> str:
        """Path, setting, medium and date: what a figure's title says besides its subject."""
        return self.title_without("")

    def title_without(self, factor: str) -> str:
        """The title but for one factor."""
        dates = self.sample.table.frame["started_utc"].iloc[[*self.sample.places[:1], *self.aside.places[:1]]]
        started = [date for stamp in dates if (date := format_exact_time(stamp)[:10])]
        medium = MEDIA.get(self.key.medium, self.key.medium)
        return " · ".join([self.name_without(factor), medium, *started[:1]])

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Every cell with a trial that counts, by window, then streams."""
        return tuple(
            Part(streams=streams, window_bytes=window, sample=sample)
            for streams, window, sample in self.sample.by_cell()
        )

    @cached_property
    def every_part(self) -> tuple[Part, ...]:
        """Every complete trial by cell: those that count, then those aside as parts of their own."""
        return self.parts + tuple(
            Part(streams=streams, window_bytes=window, sample=sample)
            for streams, window, sample in self.aside.by_cell()
        )

    @property
    def cells(self) -> tuple[tuple[int, int | None], ...]:
        """Every cell with a complete trial, by window, then streams."""
        found = {(part.streams, part.window_bytes) for part in self.every_part}
        return tuple(sorted(found, key=lambda cell: (cell[1] is None, cell[1] or 0, cell[0])))

    @property
    def windows(self) -> tuple[int | None, ...]:
        """The windows asked for, ascending, autotuned last."""
        return tuple(dict.fromkeys(part.window_bytes for part in self.parts))

    @property
    def levels(self) -> tuple[int, ...]:
        """The numbers of streams, ascending."""
        return tuple(sorted({part.streams for part in self.parts}))

    @property
    def every_window(self) -> tuple[int | None, ...]:
        """The windows of every complete trial, ascending, autotuned last."""
        return tuple(dict.fromkeys(window for _, window in self.cells))

    def along(self, window_bytes: int | None) -> tuple[Part, ...]:
        """The cells of one window, by streams."""
        return tuple(part for part in self.parts if part.window_bytes == window_bytes)


class Book:
    """The material of all chapters, with its places."""

    def __init__(self, material: Material) -> None:
        self.material = material

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Every condition with a complete trial, control rows left out."""
        table = self.material.study.study_table()
        chosen = select(table, Rules(as_requested=True))
        wide = select(table, Rules(flags=(), needed=()))
        settings = _spell_settings([one.condition for one in chosen])
        environment = self.material.source.campaign.environment
        found: list[Place] = []
        for counted, every in zip(chosen, wide, strict=True):
            aside = every.take(~np.isin(every.places, counted.places))
            if len(counted) or len(aside):
                line = know_line(environment, counted if len(counted) else aside)
                found.append(Place(len(found) + 1, (counted, aside), settings[counted.condition], line))
        return tuple(found)

    @property
    def points(self) -> int:
        """Trials that one figure may draw: fewer, where there are many conditions."""
        return int(np.clip(POINTS_IN_ALL // max(len(self.places), 1), POINTS_LEAST, POINTS_PER_FIGURE))

    def answers(self, name: str, place: Place | None = None) -> tuple[Answer[Any], ...]:
        """The answers of an analysis, all or those of one place."""
        found = self.material.answers(name)
        return tuple(one for one in found if place is None or one.condition == place.key)


def number_places(places: Sequence[Place]) -> int:
    """The number of a figure that several places share: that of the one measured first."""
    return min(place.number for place in places)


def spell_window(window_bytes: int | None) -> str:
    """A window in figures: its size, or ``auto``."""
    return "auto" if window_bytes is None else format_bytes(window_bytes)


def name_reasons(sample: Sample) -> NDArray[np.object_]:
    """Why each trial is in no median: its first flag that says so, else that its figure is missing."""
    reasons = np.full(len(sample), "", dtype=object)
    for flag in (*PATH_FLAGS, WINDOW_FLAG):
        marked = sample.table.flagged(flag)[sample.places]
        reasons[marked & (reasons == "")] = flag
    reasons[reasons == ""] = "without throughput"
    return reasons


def _spell_settings(conditions: Sequence[Condition]) -> Mapping[Condition, Mapping[str, str]]:
    """For each condition the levels that not all of them share, as the campaign file names them."""
    every = [dict(one.settings) for one in conditions]
    names = dict.fromkeys(name for levels in every for name in levels)
    apart = [name for name in names if len({levels.get(name) for levels in every}) > 1]
    spelt: dict[Condition, Mapping[str, str]] = {}
    for condition, levels in zip(conditions, every, strict=True):
        named = name_levels({name: levels[name] for name in apart if levels.get(name) is not None})
        spelt[condition] = {name: format_level(name, level) for name, level in named.items()}
    return spelt
