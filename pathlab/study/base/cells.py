"""The conditions of a results file with their trials by cell, and how both are named."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.fits.surface import Surface
from pathlab.campaign.factors import format_levels
from pathlab.store.flags import Flag, Status
from pathlab.store.trial_table import format_exact_utc
from pathlab.study.base.answer import Spread, measure_rates, measure_spread
from pathlab.study.base.links import find_bottleneck, find_direct_link
from pathlab.study.base.selection import (
    PROVISIONAL_FLAGS,
    ExclusionCount,
    Rules,
    Sample,
    collect_sample,
    name_exclusions,
    select,
)
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.units import format_window

Levels = tuple[int, int | None]  # streams, window requested (None: autotuned)
MEDIA = {
    "hosts": "real path",
    Flag.LAB: "lab",
    Flag.LOOPBACK_FALLBACK: "LOOPBACK FALLBACK",
    Flag.IMPORTED: "imported",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cell:
    """The trials of one combination: streams and window requested (None: autotuned).

    ``sample`` are those that count, of all ``complete`` ones; ``failed`` did not complete, and of these
    ``interrupted`` were ended by the user or by a signal. ``provisional`` are those whose only flaw is that
    the lab was at its limit, where none counts; no fit, test or verdict takes them.
    """

    streams: int
    window_bytes: int | None
    sample: Sample
    complete: Sample
    failed: int = 0
    interrupted: int = 0
    provisional: Sample | None = None

    @property
    def name(self) -> str:
        """The cell in short: ``4 × 64 KiB``."""
        return f"{self.streams} × {format_window(self.window_bytes)}"

    @property
    def shown(self) -> Sample:
        """The trials whose medians are shown: those that count, else the provisional ones."""
        return self.sample if self.provisional is None else self.provisional

    @property
    def is_provisional(self) -> bool:
        """Whether what is shown is provisional."""
        return self.provisional is not None

    @property
    def unreplaced(self) -> Sample:
        """The complete trials without those that a usable repetition of their row of the plan replaced."""
        rows, usable = self.complete.get("plan_row"), self.sample.get("plan_row")
        counts = np.isin(self.complete.places, self.sample.places)
        return self.complete.take(counts | ~np.isin(rows, usable))

    @property
    def throughput(self) -> Spread:
        """The spread of the throughput, bit/s, of the trials that count."""
        return measure_rates(self.sample.rates_bits_per_s)

    def measure(self, take: Callable[[Sample], Floats]) -> Spread:
        """The spread of another figure of the trials that count."""
        return measure_spread(take(self.sample))

    @property
    def fairness_min_ratio(self) -> float:
        """Jain's index where one stream carries everything."""
        return 1 / self.streams

    def choose_trial(self) -> int:
        """The number of the trial whose throughput is nearest to the median, the earliest of equals.

        Where none is usable, the complete one nearest to the median of all complete ones.
        """
        trials = self.sample if len(self.sample) else self.complete
        rates = trials.rates_bits_per_s
        distance = np.abs(np.nan_to_num(rates) - (measure_spread(rates).median or 0.0))
        return int(trials.get("trial_id")[np.argmin(distance)])

    @property
    def carried(self) -> bool:
        """Whether the throughput of one of its trials is known, whether it counts or not."""
        return not np.isnan(self.complete.rates_bits_per_s).all()


class MeasuredCondition:
    """One condition: ``sample`` are the trials that medians and fits are made of, of all ``complete`` ones.

    ``stored`` are all of its trials, ``lab_limited`` the complete ones whose only flaw is that. ``number``:
    from 1, in the order in which conditions were first measured. ``settings``: what sets it apart from the
    other conditions, by the campaign file's names.
    ``bottleneck`` is the lab's narrowest link, ``direct_link`` its only one (None: not known).
    """

    def __init__(
        self,
        number: int,
        samples: tuple[Sample, Sample, Sample, Sample],
        settings: Mapping[str, str],
        environment: Mapping[str, Any],
    ) -> None:
        self.number = number
        self.stored, self.complete, self.lab_limited, self.sample = samples
        self.settings = settings
        known = self.sample if len(self.sample) else self.complete
        self.bottleneck = find_bottleneck(environment, known)
        self.direct_link = find_direct_link(environment, known)
        self.is_ambiguous = False  # another medium alone sets a condition of this name apart

    @property
    def key(self) -> Condition:
        """The condition as answers name it."""
        return self.sample.condition

    @property
    def path(self) -> str:
        """``a → b``."""
        return self.key.path

    @property
    def name(self) -> str:
        """Path and settings; the medium as well where nothing else sets the condition apart."""
        return self.name_without("") + (f" ({self.medium})" if self.is_ambiguous else "")

    @property
    def medium(self) -> str:
        """What was measured over, in words."""
        return MEDIA.get(self.key.medium, self.key.medium)

    def name_without(self, factor: str) -> str:
        """Path and settings but for one factor, which is varied where it is shown."""
        levels = [f"{name} {level}" for name, level in self.settings.items() if name != factor]
        return ", ".join([self.path, *levels])

    @property
    def title(self) -> str:
        """Path, settings, medium and date: what a figure's title says besides its subject."""
        return self.title_without("")

    def title_without(self, factor: str) -> str:
        """The title but for one factor."""
        return self.title_of(self.name_without(factor))

    def title_of(self, name: str) -> str:
        """The title with another name: medium and date behind it."""
        first = [*self.sample.places[:1], *self.excluded.places[:1]]
        dates = self.sample.table.frame["started_utc"].iloc[first]
        started = [date for stamp in dates if (date := format_exact_utc(stamp)[:10])]
        return " · ".join([name, self.medium, *started[:1]])

    @cached_property
    def excluded(self) -> Sample:
        """Complete trials that are drawn only.

        They measured a host, the lab, another window or another congestion control than was requested.
        """
        return self.complete.take(~np.isin(self.complete.places, self.sample.places))

    def measure_excluded(self, take: Callable[[Sample], Floats]) -> Spread:
        """The spread of a figure of the excluded trials."""
        return measure_spread(take(self.excluded))

    def count_exclusions(self, cell: Cell) -> tuple[ExclusionCount, ...]:
        """The complete trials of a cell that are excluded, by reason."""
        outside = cell.complete.take(~np.isin(cell.complete.places, self.sample.places))
        counts = Counter(name_exclusions(outside).tolist())
        return tuple(ExclusionCount(reason=reason, trials=trials) for reason, trials in counts.items())

    @cached_property
    def all_cells(self) -> tuple[Cell, ...]:
        """Every cell with a stored trial, complete or not, by window, then streams."""
        return tuple(itertools.starmap(self._build_cell, self.stored.by_cell()))

    def _build_cell(self, streams: int, window_bytes: int | None, part: Sample) -> Cell:
        statuses = part.table.statuses[part.places]
        complete = part.take(statuses == Status.COMPLETE)
        sample = part.take(np.isin(part.places, self.sample.places))
        limited = part.take(np.isin(part.places, self.lab_limited.places))
        return Cell(
            streams=streams,
            window_bytes=window_bytes,
            sample=sample,
            complete=complete,
            failed=len(part) - len(complete),
            interrupted=int((statuses == Status.INTERRUPTED).sum()),
            provisional=limited if len(limited) and not len(sample) else None,
        )

    @property
    def measured_cells(self) -> tuple[Cell, ...]:
        """Every cell of which a throughput is known."""
        return tuple(cell for cell in self.all_cells if cell.carried)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell with a trial that counts, by window, then streams."""
        return tuple(cell for cell in self.all_cells if len(cell.sample))

    @property
    def has_provisional(self) -> bool:
        """Whether one of its cells has provisional figures alone."""
        return any(cell.is_provisional for cell in self.all_cells)

    @cached_property
    def every_cell(self) -> tuple[Cell, ...]:
        """Every complete trial by cell: those that count, then the excluded ones as cells of their own."""
        excluded = (
            Cell(streams=streams, window_bytes=window, sample=part, complete=part)
            for streams, window, part in self.excluded.by_cell()
        )
        return (*self.cells, *excluded)

    @property
    def levels(self) -> tuple[Levels, ...]:
        """Every combination with a complete trial, by window, then streams."""
        result = {(cell.streams, cell.window_bytes) for cell in self.every_cell}
        return tuple(sorted(result, key=lambda item: (item[1] is None, item[1] or 0, item[0])))

    @property
    def windows(self) -> tuple[int | None, ...]:
        """The windows requested, ascending, autotuned last."""
        return tuple(dict.fromkeys(cell.window_bytes for cell in self.cells))

    @property
    def stream_counts(self) -> tuple[int, ...]:
        """The numbers of streams, ascending."""
        return tuple(sorted({cell.streams for cell in self.cells}))

    @property
    def every_window(self) -> tuple[int | None, ...]:
        """The windows of every complete trial, ascending, autotuned last."""
        return tuple(dict.fromkeys(window for _, window in self.levels))

    @cached_property
    def by_total_window(self) -> Mapping[int, tuple[Cell, ...]]:
        """The cells of every streams × window requested that at least two share, ascending, by streams."""
        groups: dict[int, list[Cell]] = {}
        for cell in self.cells:
            if cell.window_bytes is not None:
                groups.setdefault(cell.streams * cell.window_bytes, []).append(cell)
        return {
            total: tuple(sorted(cells, key=lambda cell: cell.streams))
            for total, cells in sorted(groups.items())
            if len(cells) > 1
        }

    def find_largest_ratio(self) -> tuple[float, int] | None:
        """The largest ratio of two medians at one total window, and that window, bytes.

        Medians of 0 are left out; None where no total window has two others.
        """
        ratios = []
        for total, cells in self.by_total_window.items():
            rates = [rate for cell in cells if (rate := cell.throughput.median)]
            if len(rates) > 1:
                ratios.append((max(rates) / min(rates), total))
        return max(ratios, key=lambda item: item[0], default=None)

    def along(self, window_bytes: int | None) -> tuple[Cell, ...]:
        """The cells of one window, by streams."""
        return tuple(cell for cell in self.cells if cell.window_bytes == window_bytes)

    def relate_residuals(self, surface: Surface) -> Mapping[Cell, float]:
        """Observed / fitted - 1 of the mean of every cell that the surface was fitted to."""
        if surface.residuals is None:
            return {}
        ratios = dict(zip(surface.residuals.cell_levels, surface.residuals.cell_ratio, strict=True))
        levels = {cell: (float(cell.streams), *cell.sample.usable_window_bytes[:1]) for cell in self.cells}
        return {cell: ratios[level] for cell, level in levels.items() if level in ratios}


def find_extremes(cells: Iterable[Cell], read: Callable[[Cell], float | None]) -> tuple[Cell, Cell] | None:
    """The cells with the least and the most of a figure, the first of equals; None where no cell has it."""
    known = [(value, cell) for cell in cells if (value := read(cell)) is not None]
    if not known:
        return None
    return min(known, key=lambda item: item[0])[1], max(known, key=lambda item: item[0])[1]


def sort_by_throughput(cells: Iterable[Cell]) -> list[Cell]:
    """The cells with the highest median throughput first."""
    return sorted(cells, key=lambda cell: -(cell.throughput.median or 0.0))


def list_conditions(table: TrialTable, environment: Mapping[str, Any]) -> tuple[MeasuredCondition, ...]:
    """Every condition in the order of first measurement, control rows left out.

    ``environment``: the campaign record's. Those without a complete trial have the number 0.
    """
    counted = select(table, Rules(as_requested=True, messages=True))
    complete = select(table, Rules(flags=(), needed=(), messages=True))
    including_lab_limited = select(table, Rules(as_requested=True, flags=PROVISIONAL_FLAGS, messages=True))
    settings = _format_settings([item.condition for item in counted])
    conditions: list[MeasuredCondition] = []
    for sample, wide, every in zip(counted, including_lab_limited, complete, strict=True):
        number = table.distinct_conditions.index(sample.condition)
        stored = collect_sample(table, np.flatnonzero(table.condition_numbers == number))
        number = 1 + sum(bool(item.number) for item in conditions) if len(every) else 0
        lab_limited = wide.take(~np.isin(wide.places, sample.places))
        samples = (stored, every, lab_limited, sample)
        conditions.append(MeasuredCondition(number, samples, settings[sample.condition], environment))
    shared = Counter(item.name for item in conditions)
    for item in conditions:
        item.is_ambiguous = shared[item.name_without("")] > 1
    return tuple(conditions)


def _format_settings(conditions: Sequence[Condition]) -> Mapping[Condition, Mapping[str, str]]:
    """For each condition the levels that not all of them share, as the campaign file names them."""
    every = [dict(item.settings) for item in conditions]
    names = dict.fromkeys(name for levels in every for name in levels)
    apart = [name for name in names if len({levels.get(name) for levels in every}) > 1]
    result: dict[Condition, Mapping[str, str]] = {}
    for condition, levels in zip(conditions, every, strict=True):
        named = {name: levels[name] for name in apart if levels.get(name) is not None}
        result[condition] = format_levels(named)
    return result
