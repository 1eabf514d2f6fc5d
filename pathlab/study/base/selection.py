"""Which trials an analysis takes, which it leaves out and why, and what to be warned of in those taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.loss import Loss, pool_loss
from pathlab.store import usable
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.study.base.trials import LINUX_WINDOW_FACTOR, Condition, TrialTable

#: Trials that say nothing of their path, which the store knows too.
PATH_FLAGS = usable.PATH_FLAGS
#: The lab was beyond what it emulates truly.
LAB_FLAGS = (Flag.LAB_LIMITED,)
#: Trials that say nothing at all.
VOID_FLAGS = usable.VOID_FLAGS
#: Flags that provisional trials do not bear: a lab at its limit is their only flaw.
PROVISIONAL_FLAGS = tuple(flag for flag in PATH_FLAGS if flag not in LAB_FLAGS)
#: Flags of trials that no comparison takes; a host's limit may be the very difference.
COMPARISON_FLAGS = (Flag.LAB_LIMITED, Flag.CONGESTION_NOT_GRANTED, Flag.TOTALS_DIFFER)
#: Setting of a plan's row that is repeated to show drift.
CONTROL = "control"
MIXED_VERSIONS = "mixed-versions"
NOT_MEASURED = "not-measured"
BELOW_ZERO = "below-zero"
BELOW_ONE = "below-one"
BEYOND_RANGE = "beyond-range"
NOT_POSITIVE = "not-positive"
#: More connections than a host has ports: a stored count beyond it is a fault of who wrote it.
STREAMS_MAX = 2**16
#: The columns, loaded and unloaded, whose difference is dRTT: that of the averages. Whatever says dRTT alone
#: means it; that of the medians stands alongside it where its name says so.
DRTT_COLUMNS = ("loaded_rtt_mean_ns", "unloaded_rtt_mean_ns")
DRTT_MEDIAN_COLUMNS = ("loaded_rtt_median_ns", "unloaded_rtt_median_ns")
#: A mean of equal figures may come out lower than they are by so little.
ROUNDING_RATIO = 1e-9
Item = TypeVar("Item")


def name_bound(column: str) -> str:
    """The column of what ``column`` (an RTT, ``.._ns``) is above where probes are late."""
    return f"{column.removesuffix('_ns')}_above_ns"


def choose_evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of the items (one at least), the first and the last among them, in their order."""
    most = max(most, 1)
    if len(items) <= most:
        return list(items)
    return [items[index] for index in np.unique(np.linspace(0, len(items) - 1, most).round().astype(int))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusionCount:
    """So many trials for one reason; ``reason`` is a stable name."""

    reason: str
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSelection:
    """What an answer rests on.

    ``trials`` are all stored ones of the condition, ``used`` those taken. ``excluded`` names every reason
    (status or flag; the first that applies); ``warnings`` the flags of those taken.
    """

    trials: int
    used: int
    excluded: tuple[ExclusionCount, ...] = ()
    warnings: tuple[ExclusionCount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The trials taken of one condition, as arrays of equal length, and what they rest on.

    ``window_bytes`` is what was requested (NaN: autotuned), ``usable_window_bytes`` what each end granted.
    """

    condition: Condition
    selection: SampleSelection
    table: TrialTable
    places: NDArray[np.int64]  # of these trials in the table

    def __len__(self) -> int:
        return int(self.places.size)

    def get(self, name: str) -> Floats:
        """A column of the store as floats; NaN where it was not measured."""
        return self.table.get(name)[self.places]

    def drawn_tests(self, tests: int) -> int:
        """The argument of ``hodges_lehmann`` for one of ``tests`` tests: 0 where the order was given."""
        return tests if self.table.order_drawn else 0

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
        """Window requested; NaN: autotuned."""
        return self.get("window_requested_bytes")

    @property
    def usable_window_bytes(self) -> Floats:
        """The window that a stream could use: the lesser grant, or what was requested; NaN: autotuned."""
        granted = np.fmin(self.get("window_granted_sender_bytes"), self.get("window_granted_receiver_bytes"))
        usable = np.where(np.isnan(granted), self.window_bytes, granted / LINUX_WINDOW_FACTOR)
        return np.where(np.isnan(self.window_bytes), np.nan, np.fmin(usable, self.window_bytes))

    @property
    def cell_numbers(self) -> NDArray[np.int64]:
        """A number for each trial that those of its cell (streams, window requested) share."""
        levels = np.stack([self.streams, np.nan_to_num(self.window_bytes)], axis=1)
        numbers: NDArray[np.int64] = np.unique(levels, axis=0, return_inverse=True)[1].ravel()
        return numbers

    @property
    def cycles(self) -> Floats:
        """Cycle of each trial."""
        return self.get("cycle")

    @property
    def rise_ns(self) -> Floats:
        """DRTT: loaded less unloaded mean RTT."""
        return self._subtract(DRTT_COLUMNS)

    @property
    def idle_rtt_ns(self) -> float:
        """Median over trials of the mean RTT without load; 0 where none was measured."""
        idle = self.get("unloaded_rtt_mean_ns")
        return 0.0 if np.isnan(idle).all() else float(np.nanmedian(idle))

    @property
    def loaded_median_ns(self) -> Floats:
        """Median loaded RTT; where too many probes were late, what it is above."""
        known = self.get("loaded_rtt_median_ns")
        return np.where(np.isnan(known), self.get("loaded_rtt_median_above_ns"), known)

    @property
    def rise_above_ns(self) -> Floats:
        """What dRTT is above where loaded probes are late, so that it is not known; else NaN."""
        return self._subtract((name_bound(DRTT_COLUMNS[0]), DRTT_COLUMNS[1]))

    @property
    def rise_median_above_ns(self) -> Floats:
        """The same of the medians."""
        return self._subtract((name_bound(DRTT_MEDIAN_COLUMNS[0]), DRTT_MEDIAN_COLUMNS[1]))

    @property
    def rise_median_ns(self) -> Floats:
        """DRTT of the medians: loaded less unloaded median RTT."""
        return self._subtract(DRTT_MEDIAN_COLUMNS)

    def _subtract(self, columns: tuple[str, str]) -> Floats:
        difference: Floats = self.get(columns[0]) - self.get(columns[1])
        return difference

    def measure_loss(self, probes: str = "loaded") -> Floats:
        """Loss of the ``loaded`` or ``unloaded`` probes; NaN without any, or by counts that cannot be."""
        sent, received = self.get(f"{probes}_sent"), self._count_not_lost(probes)
        known = (sent > 0) & (received >= 0) & (received <= sent)
        return np.where(known, 1 - received / np.where(known, sent, 1), np.nan)

    def measure_retransmitted(self) -> Floats:
        """Bytes retransmitted of all bytes sent, retransmissions included, over the whole trial."""
        again = self.get("retransmitted_bytes")
        every = self.get("sent_total_bytes") + again
        return np.where((every > 0) & (again >= 0), again / np.where(every > 0, every, 1), np.nan)

    def measure_datagram_loss(self) -> Floats:
        """Loss of UDP's datagrams in each trial; NaN where it was not measured."""
        sent, lost = self.get("udp_sent_packets"), self.get("udp_lost_packets")
        return np.where(sent > 0, lost / np.where(sent > 0, sent, 1), np.nan)

    def pool_loss(self, probes: str = "loaded") -> Loss:
        """Loss over the ``loaded`` or ``unloaded`` probes of all trials, with its interval."""
        return pool_loss(self.get(f"{probes}_sent"), self._count_not_lost(probes))

    def _count_not_lost(self, probes: str) -> Floats:
        """Answered and late probes of each trial."""
        counted: Floats = self.get(f"{probes}_received") + np.nan_to_num(self.get(f"{probes}_late"))
        return counted

    @property
    def fairness_ratio(self) -> Floats:
        """Jain's index over the streams of each trial; NaN for a single stream."""
        return np.where(self.streams > 1, self.get("fairness_jain"), np.nan)

    def pool_rtt_mean(self, probes: str = "loaded") -> float | None:
        """The mean over all answered probes, ns: trials' means, weighted by their answered probes.

        None where any probe is late.
        """
        if np.nansum(self.get(f"{probes}_late")) > 0:
            return None  # the slowest are not known
        means, counts = self.get(f"{probes}_rtt_mean_ns"), self.get(f"{probes}_received")
        known = ~np.isnan(means) & (counts > 0)
        return float(np.average(means[known], weights=counts[known])) if known.any() else None

    def find_least_granted(self, end: str) -> int | None:
        """The smallest window that the kernel of one end granted."""
        granted = self.get(f"window_granted_{end}_bytes")
        return None if np.isnan(granted).all() else int(np.nanmin(granted))

    def pool_datagram_loss(self) -> Loss:
        """Loss of UDP's datagrams over all trials, with its interval."""
        sent = self.get("udp_sent_packets")
        return pool_loss(sent, sent - self.get("udp_lost_packets"))

    def measure_variability(self, probes: str = "loaded") -> Floats:
        """RV of the ``loaded`` or ``unloaded`` probes, 1 - min / mean; NaN where these cannot be."""
        least, mean = self.get(f"{probes}_rtt_min_ns"), self.get(f"{probes}_rtt_mean_ns")
        known = (least > 0) & (least <= mean * (1 + ROUNDING_RATIO))
        return np.where(known, np.maximum(0.0, 1 - least / np.where(known, mean, 1)), np.nan)

    def read_setting(self, name: str) -> Floats:
        """A setting of the plan as a number; NaN where it is none."""
        result = [condition.get(name) for condition in self.table.distinct_conditions]
        levels = np.array([float(item) if isinstance(item, (int, float)) else np.nan for item in result])
        return levels[self.table.condition_numbers[self.places]]

    @property
    def cpu_s(self) -> dict[str, Floats]:
        """CPU seconds of the engine over the whole trial by ``sender`` and ``receiver``: user plus kernel."""
        return {
            end: self.get(f"{end}_cpu_user_s") + self.get(f"{end}_cpu_system_s")
            for end in ("sender", "receiver")
        }

    def measure_cpu_cost(self, *ends: str) -> Floats:
        """CPU seconds of these ends together per 10^9 bytes received."""
        carried = self.get("received_total_bytes")
        spent = sum((self.cpu_s[end] for end in ends), np.zeros(len(self)))
        return np.where(carried > 0, spent / np.where(carried > 0, carried / 1e9, 1), np.nan)

    @property
    def cpu_s_per_gb(self) -> Floats:
        """CPU seconds of both ends per 10^9 bytes received."""
        return self.measure_cpu_cost("sender", "receiver")

    def measure_cpu_percent(self, end: str, parts: Sequence[str]) -> Floats:
        """CPU % of one end's engine while it carries the throughput; 100 is one core, NaN: not measured.

        CPU time over the time that the bytes of the whole trial take at the throughput: engines count CPU
        until the last byte is drained, which the requested duration does not include.
        """
        carried_bits, rates = 8 * self.get("received_total_bytes"), self.rates_bits_per_s
        known = (carried_bits > 0) & (rates > 0)
        spent = sum((self.get(f"{end}_cpu_{part}_s") for part in parts), np.zeros(len(self)))
        return np.where(known, 100 * spent * rates / np.where(known, carried_bits, 1), np.nan)

    def read_texts(self, name: str) -> NDArray[np.object_]:
        """A column of texts; None where one was not stored."""
        values = self.table.frame[name].iloc[self.places].astype(object)
        result: NDArray[np.object_] = values.where(values.notna(), None).to_numpy()
        return result

    @property
    def is_short(self) -> NDArray[np.bool_]:
        """Whether the kernel of either end granted less than the window requested."""
        granted = np.fmin(self.get("window_granted_sender_bytes"), self.get("window_granted_receiver_bytes"))
        flagged = self.table.flagged(Flag.WINDOW_SHORT)[self.places]
        short: NDArray[np.bool_] = (granted < LINUX_WINDOW_FACTOR * self.window_bytes) | flagged
        return short & ~np.isnan(self.window_bytes)

    def average_cycles(self, values: Floats) -> dict[int, float]:
        """The value of each cycle, by its number: the mean of its trials; no cycle without a value."""
        known, cycles = ~np.isnan(values), self.cycles
        return {
            int(cycle): float(values[known & (cycles == cycle)].mean()) for cycle in np.unique(cycles[known])
        }

    def count_flags(self) -> dict[str, int]:
        """How many of the trials bear each flag, by name; none that no trial bears."""
        counts = {name: int(marked[self.places].sum()) for name, marked in self.table.flags.items()}
        return {name: count for name, count in counts.items() if count}

    def take(self, mask: Iterable[bool] | NDArray[np.bool_]) -> Sample:
        """The trials for which the mask holds; the selection counts them anew."""
        places = self.places[np.asarray(mask, dtype=bool)]
        warnings = _list_warnings(self.table, places)
        selection = replace(self.selection, used=int(places.size), warnings=warnings)
        return replace(self, selection=selection, places=places)

    def exclude(self, mask: Iterable[bool] | NDArray[np.bool_], reason: str) -> Sample:
        """The other trials; those for which the mask holds are counted in the selection under the reason."""
        dropped = np.asarray(mask, dtype=bool)
        kept = self.take(~dropped)
        if not dropped.any():
            return kept
        left = (*kept.selection.excluded, ExclusionCount(reason=reason, trials=int(dropped.sum())))
        selection = replace(kept.selection, excluded=tuple(sorted(left, key=lambda count: count.reason)))
        return replace(kept, selection=selection)

    def by_window(self) -> Iterator[tuple[int | None, Sample]]:
        """The trials of each window requested, ascending; None: autotuned, last."""
        windows = self.window_bytes
        for window in np.unique(windows[~np.isnan(windows)]):
            yield int(window), self.take(windows == window)
        if np.isnan(windows).any():
            yield None, self.take(np.isnan(windows))

    def by_cell(self) -> Iterator[tuple[int, int | None, Sample]]:
        """The trials of each cell (streams, window requested), ascending."""
        for window, sample in self.by_window():
            for streams in np.unique(sample.streams):
                yield int(streams), window, sample.take(sample.streams == streams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which trials an analysis wants; those without one of the ``needed`` figures are left out as well.

    ``apart`` are settings whose levels the analysis compares, so that they do not split the condition.
    Control rows, which are no cells of the design, are taken with ``controls`` alone. With ``windowed``
    conditions of UDP, which has no window, are passed over; without ``messages`` those of messages are, whose
    rate is that of hosts or the one offered, and no path's. With ``unrated`` messages with replies need none
    of the figures: technologies have no throughput. With ``flagged`` no flag leaves a trial out.
    """

    flags: Sequence[str] = PATH_FLAGS
    as_requested: bool = False  # the cell is named by the window requested: a shorter grant is another cell
    needed: Sequence[str] = ("throughput_bits_per_s",)
    apart: str | tuple[str, ...] = ()
    controls: bool = False
    windowed: bool = False
    messages: bool = False
    unrated: bool = False
    flagged: bool = False

    def list_flags(self) -> tuple[str, ...]:
        """The flags by which a trial is left out, in the order in which they are named as the reason."""
        if self.flagged:
            return ()
        return (Flag.HOST_STALLED, *self.flags, *((Flag.WINDOW_SHORT,) if self.as_requested else ()))


def select(table: TrialTable, rules: Rules | None = None) -> tuple[Sample, ...]:
    """The trials of every condition that fit the rules, in the order in which conditions came first."""
    rules = rules or Rules()
    apart = (rules.apart,) if isinstance(rules.apart, str) else rules.apart
    numbers: dict[Condition, int] = {}
    known = [item.without(*apart) if apart else item for item in table.distinct_conditions]
    joined = np.array([numbers.setdefault(item, len(numbers)) for item in known], dtype=np.int64)
    members = joined[table.condition_numbers]
    names, reasons = _number_reasons(table, rules)
    samples = []
    for condition, number in numbers.items():
        if condition.get(CONTROL) and not rules.controls:
            continue
        if (rules.windowed and condition.is_udp) or (condition.is_of_messages and not rules.messages):
            continue
        inside = members == number
        indices = np.flatnonzero(inside & (reasons == 0))
        counts = np.bincount(reasons[inside], minlength=len(names))
        left = Counter({name: int(count) for name, count in zip(names[1:], counts[1:], strict=True) if count})
        selection = SampleSelection(
            trials=int(inside.sum()),
            used=int(indices.size),
            excluded=_list_counts(left),
            warnings=_list_warnings(table, indices),
        )
        samples.append(Sample(condition=condition, selection=selection, table=table, places=indices))
    return tuple(samples)


def collect_sample(table: TrialTable, indices: NDArray[np.int64]) -> Sample:
    """The trials at these places of the table as one sample, whose condition is that of the first."""
    selection = SampleSelection(
        trials=indices.size, used=indices.size, warnings=_list_warnings(table, indices)
    )
    return Sample(condition=table.conditions[indices[0]], selection=selection, table=table, places=indices)


def is_counted(record: TrialRecord, flags: Sequence[str] = PATH_FLAGS) -> bool:
    """Whether ``select`` takes a trial by these flags where cells are named by the requested window."""
    rate = record.throughput_bits_per_s
    flagged = {*flags, Flag.WINDOW_SHORT, Flag.HOST_STALLED}.intersection(record.flags)
    return record.status == Status.COMPLETE and not flagged and rate is not None and rate >= 0


def name_exclusions(sample: Sample) -> NDArray[np.object_]:
    """Why each trial is in no median: its first flag that says so, else that its throughput is missing."""
    reasons = np.full(len(sample), "", dtype=object)
    for flag in (Flag.HOST_STALLED, *PATH_FLAGS, Flag.WINDOW_SHORT):
        reasons[sample.table.flagged(flag)[sample.places] & (reasons == "")] = flag
    reasons[reasons == ""] = "without throughput"
    return reasons


def select_everywhere(table: TrialTable, rules: Rules) -> tuple[NDArray[np.int64], SampleSelection]:
    """The places of the trials that ``select`` takes in all conditions together, and what they rest on."""
    samples = select(table, rules)
    left: Counter[str] = Counter()
    for sample in samples:
        left.update({count.reason: count.trials for count in sample.selection.excluded})
    places = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *(sample.places for sample in samples)]))
    return places, SampleSelection(
        trials=len(table),
        used=int(places.size),
        excluded=_list_counts(left),
        warnings=_list_warnings(table, places),
    )


#: Trials that figures of any kind rest on, by the windows requested.
SURVEY_RULES = Rules(as_requested=True, controls=True, messages=True, unrated=True)


def survey_table(table: TrialTable) -> SampleSelection:
    """The selection of all conditions together, by the windows requested."""
    return select_everywhere(table, SURVEY_RULES)[1]


def find_reasons(table: TrialTable, rules: Rules) -> NDArray[np.object_]:
    """Why a trial is left out: the first reason of its own, empty for none.

    One in which a program did not run is left out by all rules but ``flagged``.
    """
    names, numbers = _number_reasons(table, rules)
    reasons: NDArray[np.object_] = np.array(names, dtype=object)[numbers]
    return reasons


def _number_reasons(table: TrialTable, rules: Rules) -> tuple[list[str], NDArray[np.int64]]:
    """The reasons, the first one empty, and the place of each trial's in them."""
    names, reasons = [""], np.zeros(len(table), dtype=np.int64)

    def mark(where: NDArray[np.bool_], reason: str) -> None:
        reasons[where & (reasons == 0)] = len(names)
        names.append(reason)

    status = table.statuses
    for name in sorted({str(item) for item in np.unique(status)} - {Status.COMPLETE}):
        mark(status == name, name)
    for name in rules.list_flags():
        mark(table.flagged(name), name)
    rated = [
        not (rules.unrated and condition.is_of_messages and condition.get("reply"))
        for condition in table.distinct_conditions
    ]
    needs_figures = np.array(rated, dtype=bool)[table.condition_numbers]
    for name in ("streams", "cycle", *rules.needed):
        values = table.get(name)
        mark(np.isnan(values) & (needs_figures | (name not in rules.needed)), f"{name}: {NOT_MEASURED}")
        mark(np.nan_to_num(values) < 0, f"{name}: {BELOW_ZERO}")
    for name in ("streams", "window_requested_bytes"):
        mark(table.get(name) < 1, f"{name}: {BELOW_ONE}")
    mark(table.get("streams") > STREAMS_MAX, f"streams: {BEYOND_RANGE}")
    return names, reasons


def _list_counts(counts: Counter[str]) -> tuple[ExclusionCount, ...]:
    return tuple(ExclusionCount(reason=name, trials=trials) for name, trials in sorted(counts.items()))


def _list_warnings(table: TrialTable, indices: NDArray[np.int64]) -> tuple[ExclusionCount, ...]:
    counts = [(str(flag), int(table.flagged(flag)[indices].sum())) for flag in Flag if flag.counted]
    versions = np.unique(table.versions[indices])
    if np.count_nonzero(versions >= 0) > 1:
        counts.append((MIXED_VERSIONS, int(indices.size)))
    return tuple(ExclusionCount(reason=name, trials=count) for name, count in counts if count)
