"""Which trials an analysis takes, which it leaves out and why, and what is doubtful about those taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.cells import Floats
from pathlab.study.source import LINUX_WINDOW_FACTOR, Condition, TrialTable

#: Trials that say nothing of their path: a host, the lab or another congestion control was measured instead.
PATH_FLAGS = ("host-limited", "lab-limited", "congestion-not-granted")
#: Trials that say nothing at all: the lab was beyond what it emulates truly.
LAB_FLAGS = ("lab-limited",)
#: What was asked for is not what was measured, where a cell is named by the window that was asked for.
WINDOW_FLAG = "window-short"
#: Flags of trials that are kept, and said.
CAUTION_FLAGS = (
    *("over-line-rate", "busy-core", "route-changed", "sender-counted", "imported"),
    *("loopback-fallback", "host-limited", "lab"),
)
#: Setting of a plan's row that is repeated to show drift.
CONTROL = "control"
MIXED_VERSIONS = "mixed-versions"
NOT_MEASURED = "not-measured"
BELOW_ZERO = "below-zero"
BELOW_ONE = "below-one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """So many trials for one reason; ``reason`` is a stable name."""

    reason: str
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What an answer rests on.

    ``trials`` are all stored ones of the condition, ``used`` those taken. ``left_out`` names every reason
    (status or flag; the first that applies); ``cautions`` what is doubtful about those taken.
    """

    trials: int
    used: int
    left_out: tuple[Count, ...] = ()
    cautions: tuple[Count, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The trials taken of one condition, as arrays of equal length, and what they rest on.

    ``window_bytes`` is what was asked for (NaN: autotuned), ``usable_window_bytes`` what each end granted.
    """

    condition: Condition
    basis: Basis
    table: TrialTable
    places: NDArray[np.int64]  # of these trials in the table

    def __len__(self) -> int:
        return int(self.places.size)

    def get(self, name: str) -> Floats:
        """A column of the store as floats; NaN where it was not measured."""
        return self.table.get(name)[self.places]

    @property
    def rates_bits_per_s(self) -> Floats:
        """Aggregate throughput."""
        return self.get("throughput_bits_per_s")

    @property
    def streams(self) -> Floats:
        """Streams of each trial."""
        return self.get("streams")

    @property
    def window_bytes(self) -> Floats:
        """Window asked for; NaN: autotuned."""
        return self.get("window_asked_bytes")

    @property
    def usable_window_bytes(self) -> Floats:
        """The window that a stream could use: the lesser grant, or what was asked for; NaN: autotuned."""
        granted = np.fmin(self.get("window_granted_sender_bytes"), self.get("window_granted_receiver_bytes"))
        usable = np.where(np.isnan(granted), self.window_bytes, granted / LINUX_WINDOW_FACTOR)
        return np.where(np.isnan(self.window_bytes), np.nan, np.fmin(usable, self.window_bytes))

    @property
    def cycles(self) -> Floats:
        """Cycle of each trial."""
        return self.get("cycle")

    @property
    def rise_ns(self) -> Floats:
        """DRTT: loaded less unloaded mean RTT."""
        return self.get("loaded_rtt_mean_ns") - self.get("unloaded_rtt_mean_ns")

    @property
    def loss_ratio(self) -> Floats:
        """Loss of the loaded probes."""
        sent, received = self.get("loaded_sent"), self.get("loaded_received")
        return np.where(sent > 0, 1 - received / np.where(sent > 0, sent, 1), np.nan)

    @property
    def variability_ratio(self) -> Floats:
        """RV of the loaded probes, 1 - min / mean."""
        least, mean = self.get("loaded_rtt_min_ns"), self.get("loaded_rtt_mean_ns")
        return np.where(mean > 0, 1 - least / np.where(mean > 0, mean, 1), np.nan)

    @property
    def cpu_s(self) -> dict[str, Floats]:
        """CPU seconds of the engine over the whole trial by ``sender`` and ``receiver``: user plus kernel."""
        return {
            end: self.get(f"{end}_cpu_user_s") + self.get(f"{end}_cpu_system_s")
            for end in ("sender", "receiver")
        }

    @property
    def cpu_s_per_gb(self) -> Floats:
        """CPU seconds of both ends per 10^9 bytes received."""
        carried, spent = self.get("received_total_bytes"), self.cpu_s
        both = spent["sender"] + spent["receiver"]
        return np.where(carried > 0, both / np.where(carried > 0, carried / 1e9, 1), np.nan)

    def take(self, mask: Iterable[bool] | NDArray[np.bool_]) -> Sample:
        """The trials for which the mask holds; the basis counts them anew."""
        places = self.places[np.asarray(mask, dtype=bool)]
        basis = Basis(
            trials=self.basis.trials,
            used=int(places.size),
            left_out=self.basis.left_out,
            cautions=_list_cautions(self.table, places),
        )
        return Sample(condition=self.condition, basis=basis, table=self.table, places=places)

    def by_window(self) -> Iterator[tuple[int | None, Sample]]:
        """The trials of each window asked for, ascending; None: autotuned, last."""
        windows = self.window_bytes
        for window in np.unique(windows[~np.isnan(windows)]):
            yield int(window), self.take(windows == window)
        if np.isnan(windows).any():
            yield None, self.take(np.isnan(windows))

    def by_cell(self) -> Iterator[tuple[int, int | None, Sample]]:
        """The trials of each cell (streams, window asked for), ascending."""
        for window, sample in self.by_window():
            for streams in np.unique(sample.streams):
                yield int(streams), window, sample.take(sample.streams == streams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which trials an analysis wants; those without one of the ``needed`` figures are left out as well.

    ``apart`` is a setting whose levels the analysis compares, so that it does not split the condition.
    Control rows, which are no cells of the design, are taken with ``controls`` alone.
    """

    flags: Sequence[str] = PATH_FLAGS
    as_asked: bool = False  # the cell is named by the window asked for: a shorter grant is another cell
    needed: Sequence[str] = ("throughput_bits_per_s",)
    apart: str | None = None
    controls: bool = False


def select(table: TrialTable, rules: Rules | None = None) -> tuple[Sample, ...]:
    """The trials of every condition that fit the rules, in the order in which conditions came first."""
    rules = rules or Rules()
    apart = rules.apart
    numbers: dict[Condition, int] = {}
    known = {one: one if apart is None else one.without(apart) for one in dict.fromkeys(table.conditions)}
    members = np.array(
        [numbers.setdefault(known[one], len(numbers)) for one in table.conditions], dtype=np.int64
    )
    reasons = _find_reasons(table, rules)
    samples = []
    for condition, number in numbers.items():
        if condition.get(CONTROL) and not rules.controls:
            continue
        inside = members == number
        places = np.flatnonzero(inside & (reasons == ""))
        left = Counter(reasons[inside & (reasons != "")].tolist())
        basis = Basis(
            trials=int(inside.sum()),
            used=int(places.size),
            left_out=tuple(Count(reason=name, trials=left[name]) for name in sorted(left)),
            cautions=_list_cautions(table, places),
        )
        samples.append(Sample(condition=condition, basis=basis, table=table, places=places))
    return tuple(samples)


def _find_reasons(table: TrialTable, rules: Rules) -> NDArray[np.object_]:
    """Why a trial is left out: the first reason of its own, empty for none."""
    reasons = np.full(len(table), "", dtype=object)

    def mark(where: NDArray[np.bool_], reason: str) -> None:
        reasons[where & (reasons == "")] = reason

    status = table.frame["status"].astype(object).to_numpy()
    for name in sorted({str(one) for one in status} - {"complete"}):
        mark(status == name, name)
    for name in (*rules.flags, *((WINDOW_FLAG,) if rules.as_asked else ())):
        mark(table.flagged(name), name)
    for name in ("streams", "cycle", *rules.needed):
        values = table.get(name)
        mark(np.isnan(values), f"{name}: {NOT_MEASURED}")
        mark(np.nan_to_num(values) < 0, f"{name}: {BELOW_ZERO}")
    for name in ("streams", "window_asked_bytes"):
        mark(table.get(name) < 1, f"{name}: {BELOW_ONE}")
    return reasons


def _list_cautions(table: TrialTable, places: NDArray[np.int64]) -> tuple[Count, ...]:
    counts = [(name, int(table.flagged(name)[places].sum())) for name in (*CAUTION_FLAGS, WINDOW_FLAG)]
    versions = np.unique(table.versions[places])
    if np.count_nonzero(versions >= 0) > 1:
        counts.append((MIXED_VERSIONS, int(places.size)))
    return tuple(Count(reason=name, trials=count) for name, count in counts if count)
