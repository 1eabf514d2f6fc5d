"""The numbers of a campaign: one cell per path and combination of streams, window and congestion control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pathlab.analysis.estimators.loss import Loss, pool_loss
from pathlab.campaign.factors import ALWAYS_GIVEN, FACTORS, find_default, format_levels
from pathlab.report.source import (
    ResultsSource,
    StoredTrial,
    find_arrived,
    find_congestion,
    read_trials,
    window_is_short,
)
from pathlab.store.flags import Flag, Status
from pathlab.store.records import JournalRecord, PlanRecord, TrialRecord
from pathlab.study.answer import Spread, measure_records
from pathlab.study.links import DirectLink, Traffic, find_direct_link
from pathlab.study.selection import CONTROL, is_counted, measure_drtt

TIMES = ("duration_ns", "warmup_ns")  # where they do not vary, they are those of the campaign
ENDED, FINISHED = "ended", "finished"  # kinds of the journal's last entry


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Path:
    """An ordered pair of hosts, as PathLab measured it or, in ``origin``, as another program did."""

    source: str
    destination: str
    origin: str = ""  # program and version of imported trials, which never share a cell with native ones
    setting: str = ""  # levels of the factors besides streams, window and congestion control

    def __str__(self) -> str:
        ends = f"{self.source} → {self.destination}"
        return " ".join([ends, *(f"({text})" for text in (self.origin, self.setting) if text)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """All trials of one combination on one path.

    Spreads and the loss are over the trials that count (``selection.is_counted``), as in every median of the
    report; what was granted and the flags are over its complete trials.
    """

    path: Path
    streams: int
    window_requested_bytes: int | None
    congestion: str | None
    trials: tuple[StoredTrial, ...]  # complete ones, in order of measurement
    counted: tuple[StoredTrial, ...]  # of them those that count
    failed: int
    interrupted: int

    throughput_bits_per_s: Spread
    drtt_ns: Spread
    loaded_loss: Loss
    udp_loss: Loss  # of datagrams, all trials that count together
    udp_jitter_ns: Spread
    jain_ratio: Spread
    retransmitted_segments: Spread
    window_granted_sender_bytes: int | None  # the least that any trial was granted
    window_granted_receiver_bytes: int | None
    window_effective_bytes: Spread
    short_windows: int  # trials whose grant fell short
    flags: tuple[tuple[str, int], ...]  # flag and number of trials that carry it

    @property
    def complete(self) -> int:
        """Number of complete trials."""
        return len(self.trials)

    @property
    def carried(self) -> bool:
        """Whether a throughput is known of one of its trials, whether it counts or not."""
        return any(trial.record.throughput_bits_per_s is not None for trial in self.trials)

    @property
    def product_bytes(self) -> int | None:
        """Streams times window asked; ``None`` for autotuning."""
        return None if self.window_requested_bytes is None else self.streams * self.window_requested_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSummary:
    """One path: its cells in the order streams, window, congestion, and the lab's truth if there is one."""

    path: Path
    cells: tuple[Cell, ...]
    truth: DirectLink | None

    @property
    def measured(self) -> tuple[Cell, ...]:
        """Cells with at least one throughput."""
        return tuple(cell for cell in self.cells if cell.carried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A campaign in numbers. ``failures`` holds every trial that did not complete, repeats included."""

    title: str
    paths: tuple[PathSummary, ...]
    planned: int
    done: int  # plan rows with a complete trial
    missing: int  # plan rows that another run has still to measure
    cycles: int
    complete: int
    failures: tuple[StoredTrial, ...]
    fallback: str | None
    lab: bool

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell of every path."""
        return tuple(cell for path in self.paths for cell in path.cells)

    @property
    def trials(self) -> tuple[StoredTrial, ...]:
        """Every trial, complete or not, in order of its number."""
        complete = [trial for cell in self.cells for trial in cell.trials]
        return tuple(sorted([*complete, *self.failures], key=lambda trial: trial.trial_id))


def summarise(results: ResultsSource, frame: pd.DataFrame | None = None) -> Summary:
    """Summarise every trial of a results file; ``frame``: its trials, where they were read already."""
    campaign, plan, trials = results.campaign, results.plan(), read_trials(results, frame)
    environment = campaign.environment
    apart = _list_apart(plan)
    settings = {row.row: _spell_setting(row.settings, apart) for row in plan}
    orders = {settings[row.row]: _order_setting(row.settings, apart) for row in plan}
    transports = {row.row: row.settings.get("transport") for row in plan}
    by_path: dict[Path, list[StoredTrial]] = {}
    for trial in trials:
        record = trial.record
        origin = record.engine_version or "imported" if Flag.IMPORTED in record.flags else ""
        path = Path(
            source=record.path_source,
            destination=record.path_destination,
            origin=origin,
            setting=settings.get(record.plan_row, ""),
        )
        by_path.setdefault(path, []).append(trial)
    lab = environment.get("lab")
    fallback = environment.get("fallback")
    done = len({trial.record.plan_row for trial in trials if trial.complete})
    return Summary(
        title=campaign.title or campaign.name,
        paths=tuple(
            PathSummary(
                path=path,
                cells=build_cells(path, by_path[path]),
                truth=_find_link(lab, path, by_path[path], transports),
            )
            for path in sorted(
                by_path,
                key=lambda path: (path.source, path.destination, path.origin, orders.get(path.setting, ())),
            )
        ),
        planned=len(plan),
        done=done,
        missing=_count_missing(results.journal(), len(plan) - done),
        cycles=len({row.cycle for row in plan} or {trial.record.cycle for trial in trials}),
        complete=sum(trial.complete for trial in trials),
        failures=tuple(trial for trial in trials if not trial.complete),
        fallback=str(fallback) if fallback else None,
        lab=bool(lab) and not fallback,
    )


def _count_missing(journal: Sequence[JournalRecord], without_result: int) -> int:
    """Of the rows without a result those that are still wanted: not so after a stop rule or a ceiling."""
    last = journal[-1] if journal else None
    if last is None or last.kind not in (ENDED, FINISHED):
        return without_result
    return min(without_result, 0 if last.kind == FINISHED else int(last.facts.get("missing", without_result)))


def _list_apart(plan: Sequence[PlanRecord]) -> tuple[str, ...]:
    """Settings, besides the three of a cell, that vary or are not where they stand by themselves.

    A campaign's factors first, then what only other programs' files tell.
    """
    rows = [row.settings for row in plan if not row.settings.get("control")]
    names = [*FACTORS, *sorted({name for row in rows for name in row} - FACTORS.keys())]
    levels = {name: {row[name] for row in rows if name in row} for name in names}
    return tuple(
        name
        for name, found in levels.items()
        if name not in ALWAYS_GIVEN
        and name != CONTROL
        and (len(found) > 1 or (name not in TIMES and found - {find_default(name)}))
    )


def _spell_setting(settings: Mapping[str, Any], apart: Sequence[str]) -> str:
    """What sets a plan row apart besides streams, window and congestion control: it never shares a cell."""
    if settings.get("control"):
        return "control rows"
    levels = format_levels({name: settings[name] for name in apart if name in settings})
    return ", ".join(f"{key} {text}" for key, text in levels.items())


def _order_setting(settings: Mapping[str, Any], apart: Sequence[str]) -> tuple[tuple[bool, float, str], ...]:
    """Numbers by size; what is left to the system behind them, control rows last."""
    levels = [bool(settings.get("control")), *(settings.get(name) for name in apart)]
    return tuple(
        (level is None, float(level) if isinstance(level, int) else 0.0, str(level)) for level in levels
    )


def build_cells(path: Path, trials: Sequence[StoredTrial]) -> tuple[Cell, ...]:
    """Group the trials of a path into cells."""
    groups: dict[tuple[int, float, str], list[StoredTrial]] = {}
    for trial in trials:
        record = trial.record
        window = float("inf") if record.window_requested_bytes is None else record.window_requested_bytes
        groups.setdefault((record.streams, window, find_congestion(record)), []).append(trial)
    return tuple(_build_cell(path, groups[key]) for key in sorted(groups))


def _find_link(
    lab: Any, path: Path, trials: Sequence[StoredTrial], transports: Mapping[int, str | None]
) -> DirectLink | None:
    """The lab's link under what was measured here; None for what another program did elsewhere."""
    if path.origin:
        return None
    records = [trial.record for trial in trials]
    traffic = Traffic.of(
        [one.destination_address for one in records],
        [one.mss_bytes for one in records],
        transport=transports.get(records[0].plan_row),
    )
    return find_direct_link(lab, path.source, path.destination, traffic)


def cpu_s_per_gbyte(user_s: float | None, system_s: float | None, total_bytes: int | None) -> float | None:
    """CPU seconds of an engine per 10^9 bytes received in the whole trial."""
    if user_s is None or system_s is None or not total_bytes:
        return None
    return (user_s + system_s) / (total_bytes / 1e9)


def _pooled_loss(pairs: Iterable[tuple[int | None, int | None]]) -> Loss:
    counts = np.array([(sent, received) for sent, received in pairs], dtype=np.float64).reshape(-1, 2)
    return pool_loss(counts[:, 0], counts[:, 1])


def _build_cell(path: Path, trials: Sequence[StoredTrial]) -> Cell:
    complete = tuple(trial for trial in trials if trial.complete)
    counted = tuple(trial for trial in complete if is_counted(trial.record))
    records = [trial.record for trial in complete]
    taken = [trial.record for trial in counted]
    first = trials[0].record

    def over(take: Callable[[TrialRecord], float | None]) -> Spread:
        return measure_records(take(record) for record in taken)

    def least(sizes: Iterable[int | None]) -> int | None:
        return min((size for size in sizes if size is not None), default=None)

    return Cell(
        path=path,
        streams=first.streams,
        window_requested_bytes=first.window_requested_bytes,
        congestion=first.congestion_requested or next((r.congestion_sender for r in records), None),
        trials=complete,
        counted=counted,
        failed=sum(trial.record.status == Status.FAILED for trial in trials),
        interrupted=sum(trial.record.status == Status.INTERRUPTED for trial in trials),
        throughput_bits_per_s=over(lambda r: r.throughput_bits_per_s),
        drtt_ns=over(measure_drtt),
        loaded_loss=_pooled_loss((r.loaded_sent, r.loaded_received) for r in taken),
        udp_loss=_pooled_loss((r.udp_sent_packets, find_arrived(r)) for r in taken),
        udp_jitter_ns=over(lambda r: r.udp_jitter_ns),
        jain_ratio=over(lambda r: r.fairness_jain),
        retransmitted_segments=over(lambda r: r.retransmitted_segments),
        window_granted_sender_bytes=least(r.window_granted_sender_bytes for r in records),
        window_granted_receiver_bytes=least(r.window_granted_receiver_bytes for r in records),
        window_effective_bytes=over(lambda r: r.window_effective_bytes),
        short_windows=sum(window_is_short(record) for record in records),
        flags=tuple(sorted(Counter(flag for record in records for flag in record.flags).items())),
    )
