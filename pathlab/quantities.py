"""Every unit once: how names end with it, how readers see it, its format and its name in OpenMetrics.

Stored numbers have one unit for each quantity, which the name of the column ends with (``drtt_ns``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from pathlab.units import format_bytes, format_frequency, format_rate, format_ratio, format_time

Format = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class DisplayUnit:
    """A unit for readers, and how much of the stored unit it is."""

    unit: str
    size: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUnit:
    """A unit of stored numbers.

    Names end with ``before``, ``suffix`` and ``after``; only ``suffix`` is dropped where the unit is written
    behind the number. ``base`` is the unit without what is counted. ``shown`` is that of a column of numbers
    for readers, ``difference`` that of a difference of two. ``axis_units`` are those of an axis, from large
    to small: one is used where the largest value is at least ``least_count`` of it. ``format`` writes one
    value; None: as a bare number. ``openmetrics`` is the unit's name there, of which one is
    ``openmetrics_size``.
    """

    name: str
    suffix: str = ""
    before: str = ""
    after: str = ""
    base: str = ""
    shown: DisplayUnit
    difference: DisplayUnit | None = None
    axis_units: tuple[DisplayUnit, ...] = ()
    least_count: float = 0.0
    format: Format | None = None
    openmetrics: str = ""
    openmetrics_size: float = 1.0
    is_number: bool = True

    @property
    def ending(self) -> str:
        """What names end with; empty: no name says that it has this unit."""
        return f"{self.before}{self.suffix}{self.after}"

    @property
    def is_quantity(self) -> bool:
        """Whether a name with this ending holds a number that is not below 0, such as a time or a rate."""
        return self.is_number and bool(self.suffix)

    def find_axis_unit(self, unit: str) -> DisplayUnit:
        """The unit of an axis by its text. Raises KeyError for one that there is not."""
        return {axis_unit.unit: axis_unit for axis_unit in self.axis_units}[unit]

    def choose_axis_unit(self, most: float) -> DisplayUnit:
        """The largest unit of which ``most`` is enough, else the smallest; times of 0 are in milliseconds."""
        if self.name == "ns" and not most:
            return self.shown
        units = self.axis_units or (self.shown,)
        return next((unit for unit in units if most >= self.least_count * unit.size), units[-1])


def _list_units(*given: tuple[str, float]) -> tuple[DisplayUnit, ...]:
    return tuple(DisplayUnit(unit, size) for unit, size in given)


_UNITS = (
    StoredUnit(
        name="bit/s",
        suffix="_bits_per_s",
        shown=DisplayUnit("Mbit/s", 1e6),
        axis_units=_list_units(("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)),
        least_count=2.0,
        format=format_rate,
        openmetrics="bits_per_second",
    ),
    StoredUnit(
        name="byte/s", suffix="_bytes_per_s", shown=DisplayUnit("MB/s", 1e6), openmetrics="bytes_per_second"
    ),
    StoredUnit(
        name="messages/s",
        before="messages",
        suffix="_per_s",
        base="1/s",
        shown=DisplayUnit("1/s", 1),
        format=format_frequency,
        openmetrics="per_second",
    ),
    StoredUnit(
        name="packets/s",
        before="packets",
        suffix="_per_s",
        base="1/s",
        shown=DisplayUnit("1/s", 1),
        format=format_frequency,
        openmetrics="per_second",
    ),
    StoredUnit(
        name="1/s",
        suffix="_per_s",
        shown=DisplayUnit("1/s", 1),
        format=format_frequency,
        openmetrics="per_second",
    ),
    StoredUnit(
        name="ns",
        suffix="_ns",
        shown=DisplayUnit("ms", 1e6),
        axis_units=_list_units(("s", 1e9), ("ms", 1e6), ("µs", 1e3)),
        least_count=1.0,
        format=format_time,
        openmetrics="seconds",
        openmetrics_size=1e9,
    ),
    StoredUnit(
        name="ns per message",
        suffix="_ns",
        after="_per_message",
        base="ns",
        shown=DisplayUnit("ns", 1),
        format=format_time,
        openmetrics="seconds_per_message",
        openmetrics_size=1e9,
    ),
    StoredUnit(
        name="ns per packet",
        suffix="_ns",
        after="_per_packet",
        base="ns",
        shown=DisplayUnit("ns", 1),
        format=format_time,
        openmetrics="seconds_per_packet",
        openmetrics_size=1e9,
    ),
    StoredUnit(name="µs", suffix="_us", shown=DisplayUnit("ms", 1e3)),
    StoredUnit(name="s/GB", suffix="_s", after="_per_gb", shown=DisplayUnit("s/GB", 1)),
    StoredUnit(name="s", suffix="_s", shown=DisplayUnit("s", 1), openmetrics="seconds"),
    StoredUnit(
        name="bytes",
        suffix="_bytes",
        shown=DisplayUnit("B", 1),
        axis_units=_list_units(("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
        least_count=2.0,
        format=format_bytes,
        openmetrics="bytes",
    ),
    StoredUnit(
        name="ratio",
        suffix="_ratio",
        shown=DisplayUnit("%", 0.01),
        difference=DisplayUnit("pp", 0.01),
        format=format_ratio,
        openmetrics="ratio",
    ),
    StoredUnit(name="segments", before="_segments", shown=DisplayUnit("segments", 1)),
    StoredUnit(name="packets", before="_packets", shown=DisplayUnit("packets", 1)),
    StoredUnit(name="cores", before="_cores", shown=DisplayUnit("cores", 1)),
    StoredUnit(name="ISO 8601, UTC", suffix="_utc", shown=DisplayUnit("", 1), is_number=False),
    StoredUnit(name="count", shown=DisplayUnit("", 1)),
    StoredUnit(name="count from 0", shown=DisplayUnit("", 1)),
    StoredUnit(name="count from 1", shown=DisplayUnit("", 1)),
)
#: Every unit by its name.
UNITS: Mapping[str, StoredUnit] = MappingProxyType({unit.name: unit for unit in _UNITS})
_ENDINGS = tuple((unit.ending, unit) for unit in _UNITS if unit.ending)


@lru_cache(maxsize=4096)
def find_unit(name: str) -> StoredUnit | None:
    """The unit of a column by the end of its name; None for texts, names and plain counts."""
    return next((unit for ending, unit in _ENDINGS if name.endswith(ending)), None)


def name_unit(name: str, stated: str | None = None) -> str | None:
    """The name of a column's unit, as ``stated`` or by the column's name; None for one without."""
    unit = None if stated else find_unit(name)
    return unit.name if unit else stated


def resolve_unit(stated: str | None) -> StoredUnit:
    """The unit of that name; one of another name is shown as it is stored."""
    return UNITS.get(stated or "") or StoredUnit(name=stated or "", shown=DisplayUnit(stated or "", 1))


def drop_unit(name: str) -> str:
    """The name without its unit: ``sender_cpu_ns_per_message`` becomes ``sender_cpu_per_message``."""
    unit = find_unit(name)
    return name.removesuffix(unit.ending) + unit.before + unit.after if unit else name


def find_format(name: str) -> Format | None:
    """The format of a value by the unit that its name ends with; None: a bare number."""
    unit = find_unit(name)
    return unit.format if unit else None
