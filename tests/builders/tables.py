"""Tables of trials made by chance, as the explorer reads them: for tests in Python and in the browser."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MadeColumn:
    """A column of a made table."""

    name: str
    label: str = "Label"
    unit: str = ""
    role: str = "factor"
    kind: str = "number"
    log_suggested: bool = False
    meaning: str = ""
    missing_label: str = "not set"
    level_count: int = 0


@dataclass(frozen=True, kw_only=True)
class MadeSource:
    """One of the results of a made table."""

    label: str
    title: str
    name: str = "campaign"
    path: str = "/home/someone/results/campaign"
    created_utc: str = "2026-11-21T05:03:05+00:00"
    program_version: str = "1"
    medium: str = ""
    planned: int = 0
    trials: int = 0
    order_drawn: bool = False
    notes: tuple[str, ...] = ()


SOURCES = (MadeSource(label="A", title="first"), MadeSource(label="B", title="<b>"))


@dataclass(kw_only=True)
class MadeTable:
    """A table of ``count`` trials; ``values`` has the numbers of numeric columns, the codes of categories."""

    count: int
    sources: tuple[MadeSource, ...] = SOURCES
    columns: list[MadeColumn] = field(default_factory=list)
    values: dict[str, NDArray[Any]] = field(default_factory=dict)
    names: dict[str, tuple[str | float | int | bool, ...]] = field(default_factory=dict)
    flags: tuple[str, ...] = ("lab-limited", "busy-core", "imported")
    reasons: tuple[str, ...] = ("lab-limited", "failed")
    flag_bits: NDArray[np.uint64] = field(init=False)
    counted: NDArray[np.bool_] = field(init=False)
    reason_codes: NDArray[np.int16] = field(init=False)

    def __post_init__(self) -> None:
        self.flag_bits = np.zeros(self.count, dtype=np.uint64)
        self.counted = np.ones(self.count, dtype=np.bool_)
        self.reason_codes = np.full(self.count, -1, dtype=np.int16)

    def __len__(self) -> int:
        return self.count

    def add(self, column: MadeColumn, values: Any, levels: tuple[str | float | int | bool, ...] = ()) -> None:
        """One more column."""
        kind = np.int32 if column.kind == "category" else np.float64
        self.columns.append(column)
        self.values[column.name] = np.asarray(values, dtype=kind)
        if column.kind == "category":
            self.names[column.name] = levels

    def exclude(self, rows: Any, reason: int) -> None:
        """These trials do not count."""
        self.counted[rows] = False
        self.reason_codes[rows] = reason

    def column(self, name: str) -> MadeColumn:
        return next(column for column in self.columns if column.name == name)

    def numbers(self, name: str) -> Floats:
        return self.values[name]

    def codes(self, name: str) -> NDArray[np.int32]:
        return self.values[name]

    def levels(self, name: str) -> tuple[str | float | int | bool, ...]:
        return self.names[name]


def make_table(rng: np.random.Generator, count: int, *, noise: str = "normal", levels: int = 5) -> MadeTable:
    """A table with two varied numbers, a category, two measured columns, missing values, flags and ties."""
    table = MadeTable(count=count)
    table.add(
        MadeColumn(name="results", label="results", role="identity", kind="category"),
        np.arange(count) * 2 // max(1, count),
        ("A", "B"),
    )
    table.columns.append(MadeColumn(name="flags", label="flags", role="identity", kind="flags"))
    start = np.sort(rng.uniform(1.7e9, 1.7e9 + 86400, count)) if count else np.zeros(0)
    table.add(MadeColumn(name="started_utc", label="started", kind="time", role="identity"), start)
    table.add(
        MadeColumn(name="cycle", label="cycle", role="identity"), np.arange(count) // max(1, levels * 3)
    )
    streams = 2.0 ** rng.integers(0, levels, count)
    table.add(MadeColumn(name="streams", label="streams", log_suggested=True), streams)
    window = rng.choice([65536.0, 262144.0, 1048576.0, np.nan], count, p=[0.4, 0.3, 0.2, 0.1])
    table.add(MadeColumn(name="window", label="window", unit="B", missing_label="auto"), window)
    congestion = rng.integers(-1, 2, count)
    table.add(
        MadeColumn(name="congestion", label="congestion control", kind="category"),
        congestion,
        ("bbr", "cubic"),
    )
    draws: dict[str, Callable[[], Floats]] = {
        "normal": lambda: rng.normal(100, 10, count),
        "log-normal": lambda: rng.lognormal(3, 1, count),
        "ties": lambda: rng.integers(0, 4, count).astype(float),
        "equal": lambda: np.full(count, 12.5),
        "drift": lambda: np.cumsum(rng.normal(size=count)) + 50,
        "zero": lambda: np.where(rng.random(count) < 0.7, 0.0, rng.random(count)),
        "large": lambda: rng.normal(1e12, 1e3, count),
    }
    throughput = draws[noise]() + 0.1 * np.log2(streams) * (noise == "normal")
    throughput[rng.random(count) < 0.05] = np.nan
    table.add(MadeColumn(name="throughput", label="throughput", unit="Mbit/s", role="measured"), throughput)
    rtt = rng.lognormal(2, 0.4, count)
    rtt[rng.random(count) < 0.3] = np.nan
    table.add(MadeColumn(name="rtt", label="RTT", unit="ms", role="measured", log_suggested=True), rtt)
    table.add(MadeColumn(name="duration", label="duration", unit="s"), np.full(count, 10.0))
    table.flag_bits[:] = np.where(rng.random(count) < 0.1, 2, 0) | 4
    lost = np.flatnonzero(rng.random(count) < 0.08)
    table.flag_bits[lost] |= np.uint64(1)
    table.exclude(lost, 0)
    table.exclude(np.flatnonzero(rng.random(count) < 0.03), 1)
    return table


#: Of ``make_two_windows``.
WINDOW_CYCLES = 12


def make_two_windows() -> MadeTable:
    """12 cycles of two windows, one after the other; the second run has 20 % more."""
    rng = np.random.default_rng(8)
    made = MadeTable(count=2 * WINDOW_CYCLES)
    cycles, windows = np.repeat(np.arange(WINDOW_CYCLES), 2), np.tile([65536.0, 262144.0], WINDOW_CYCLES)
    start = MadeColumn(name="started_utc", label="start", kind="time", role="identity")
    made.add(start, np.arange(2 * WINDOW_CYCLES))
    made.add(MadeColumn(name="cycle", label="cycle", role="identity"), cycles)
    results = MadeColumn(name="results", label="results", role="identity", kind="category")
    made.add(results, (cycles >= WINDOW_CYCLES / 2).astype(int), ("A", "B"))
    made.add(MadeColumn(name="streams", label="streams"), np.full(2 * WINDOW_CYCLES, 4.0))
    made.add(MadeColumn(name="window", label="window", unit="B"), windows)
    rates = rng.lognormal(3, 0.05, 2 * WINDOW_CYCLES) * np.where(windows > 1e5, 1.2, 1.0)
    made.add(MadeColumn(name="rate", label="rate", role="measured"), rates)
    return made
