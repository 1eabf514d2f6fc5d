"""One answer of an analysis: of which condition and cell, on which trials, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, SupportsIndex, TypeVar, overload

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Interval, IntervalBuilder, Undecided
from pathlab.analysis.estimators.modes import Mode, find_modes
from pathlab.analysis.estimators.quantiles import quartiles
from pathlab.analysis.estimators.repetition import estimate_once
from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.analysis.fits.curve_fit import FitOptions
from pathlab.store.records import TrialRecord
from pathlab.study.base.frames import build_frame, format_answer
from pathlab.study.base.selection import Sample, SampleSelection
from pathlab.study.base.trials import Condition

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")
#: Answers that are printed where a tuple of them is shown.
LINES = 20


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer(Generic[Result]):
    """What an analysis says of one condition, or of one part of it.

    ``streams`` and ``window_bytes`` name the part; None: all of them. ``autotuned``: the part is that of
    windows left to the kernel. ``quantity`` names what was looked at where an analysis looks at several.
    ``result`` is one of the frozen dataclasses of ``pathlab.analysis`` or of this package; what is
    not known is ``None`` there, with the reason in its ``undecided``.
    """

    condition: Condition
    selection: SampleSelection
    result: Result
    streams: int | None = None
    window_bytes: int | None = None
    autotuned: bool = False
    quantity: str | None = None

    def __repr__(self) -> str:
        return f"<Answer {format_answer(self)}>"

    def to_frame(self) -> pd.DataFrame:
        """The answer as a data frame of one row; columns as ``Answers.to_frame``."""
        return build_frame((self,))


class Answers(tuple[Answer[Result], ...]):
    """All answers of one analysis, a tuple that also becomes a data frame."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Answer[Result]: ...

    @overload
    def __getitem__(self, key: slice, /) -> Answers[Result]: ...

    def __getitem__(self, key: SupportsIndex | slice, /) -> Answer[Result] | Answers[Result]:
        """One answer, or a part of them, which becomes a data frame too."""
        if isinstance(key, slice):
            return Answers(super().__getitem__(key))
        return super().__getitem__(key)

    def __repr__(self) -> str:
        kinds = " or ".join(sorted({type(answer.result).__name__ for answer in self})) or "no analysis"
        lines = "".join(f"\n  {format_answer(answer)}" for answer in self[:LINES])
        rest = f"\n  and {len(self) - LINES} more" if len(self) > LINES else ""
        return f"<{len(self)} answers of {kinds}>{lines}{rest}"

    def to_frame(self) -> pd.DataFrame:
        """The answers as a data frame, one row each; ``build_frame`` in ``frames`` names the columns.

        Units are those of the names' endings; what is not known is missing.
        """
        return build_frame(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median, quartiles, extremes and the median's distribution-free interval, in the unit of the values.

    The interval allows for serial correlation (``serial.ordered_median_interval``). ``modes``: the levels of
    rates that lie about several, so that the median is no single value to expect. ``above_ns``: some values
    are known to be above a bound alone (late probes), and so is the median: it is above this.
    """

    n: int
    median: float | None
    q1: float | None
    q3: float | None
    interval: Interval
    least: float | None = None
    most: float | None = None
    modes: tuple[Mode, ...] = ()
    above_ns: float | None = None

    @property
    def quartile_range(self) -> float | None:
        """The inter-quartile range; None for fewer than two values."""
        return None if self.q1 is None or self.q3 is None or self.n < 2 else self.q3 - self.q1


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """What draws and intervals are made with. ``seed`` None: the campaign's."""

    seed: int | None = None
    fit: FitOptions = field(default_factory=FitOptions)


@estimate_once
def measure_spread(values: Floats) -> Spread:
    """The spread of values in the order of measurement; NaN is left out."""
    known = values[~np.isnan(values)]
    result = quartiles(known)
    return Spread(
        n=result.n,
        median=result.median,
        q1=result.q1,
        q3=result.q3,
        interval=ordered_median_interval(known),
        least=float(known.min()) if known.size else None,
        most=float(known.max()) if known.size else None,
    )


def measure_rates(values: Floats) -> Spread:
    """``measure_spread`` of rates, with their levels where they lie about several (``modes.find_modes``)."""
    return replace(measure_spread(values), modes=find_modes(values[values > 0]).modes)


def measure_bounded_spread(values: Floats, above: Floats) -> Spread:
    """The same where values that are NaN may have a lower bound in ``above`` instead (NaN: none).

    A bounded value counts at its bound. Without any statement on how far above it is, the median is known
    where it is below all bounds, and has no interval; quartiles and maximum are not known.
    """
    bounded = np.isnan(values) & ~np.isnan(above)
    if not bounded.any():
        return measure_spread(values)
    least = measure_spread(np.where(bounded, above, values))
    interval = IntervalBuilder(
        n=least.n, method=least.interval.method, confidence_ratio=least.interval.confidence_ratio
    ).build_undecided(Undecided.TOO_FEW_SAMPLES)
    unknown = replace(least, q1=None, q3=None, most=None, interval=interval)
    ordered = np.sort(np.where(bounded, above, values)[bounded | ~np.isnan(values)])
    if ordered[ordered.size // 2] < above[bounded].min():
        return unknown
    return replace(unknown, median=None, above_ns=least.median)


def measure_records(values: Iterable[float | None]) -> Spread:
    """``measure_spread`` of one figure of each trial, None where it was not measured, in their order."""
    return measure_spread(
        np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    )


def measure_bounded_records(
    records: Sequence[TrialRecord],
    read: Callable[[TrialRecord], float | None],
    read_bound: Callable[[TrialRecord], float | None],
) -> Spread:
    """``measure_bounded_spread`` of one figure of each trial and what it is above, None where not known."""
    values, above = (
        np.array([np.nan if (item := part(record)) is None else item for record in records], dtype=np.float64)
        for part in (read, read_bound)
    )
    return measure_bounded_spread(values, above)


def make_answer(sample: Sample, result: Result, quantity: str | None = None) -> Answer[Result]:
    """The answer of a condition, over all of the sample's cells."""
    return Answer(condition=sample.condition, selection=sample.selection, result=result, quantity=quantity)


def make_cell_answer(
    sample: Sample, cell: tuple[int | None, int | None], result: Result, *, quantity: str | None = None
) -> Answer[Result]:
    """The answer of one cell (streams, window requested; None: autotuned)."""
    streams, window = cell
    return Answer(
        condition=sample.condition,
        selection=sample.selection,
        result=result,
        streams=streams,
        window_bytes=window,
        autotuned=window is None,
        quantity=quantity,
    )
