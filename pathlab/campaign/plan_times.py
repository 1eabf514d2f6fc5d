"""How long each row of a plan is expected to take, as the journal keeps it: whoever follows a run can tell
the time that is left without the campaign's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pathlab.campaign.budget import Estimator
from pathlab.campaign.order import PlanRow

#: Name of the fact in the journal.
PLAN_TIMES = "plan_times"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLeft:
    """Of rows still to be measured: expected, and with every wait at its cap."""

    expected_ns: int
    at_most_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTimes:
    """``rows`` by number: expected ns, and ns with every wait at its cap. ``at_once_ratio``: duration of the
    plan, with as many trials at once as the campaign allows, over the sum of its rows.
    """

    rows: Mapping[int, tuple[int, int]]
    at_once_ratio: float

    @classmethod
    def of(cls, rows: Sequence[PlanRow], estimator: Estimator) -> Self:
        """The times of a plan."""
        times = {row.row: estimator.trial(row) for row in rows}
        work_ns = sum(time.time_ns for time in times.values())
        return cls(
            rows={row: (time.time_ns, time.time_max_ns) for row, time in times.items()},
            at_once_ratio=estimator.span_ns(rows) / work_ns if work_ns else 1.0,
        )

    def sum_left(self, rows: Iterable[int]) -> TimeLeft | None:
        """What these rows take together; None where the time of one is not known."""
        try:
            times = [self.rows[row] for row in rows]
        except KeyError:
            return None
        expected_ns, at_most_ns = (sum(column) for column in zip(*times, strict=True)) if times else (0, 0)
        return TimeLeft(
            expected_ns=round(expected_ns * self.at_once_ratio),
            at_most_ns=round(at_most_ns * self.at_once_ratio),
        )

    def to_facts(self) -> dict[str, Any]:
        """As JSON: rows of equal times together, as text such as ``0-3,8``."""
        groups: dict[tuple[int, int], list[int]] = {}
        for row, times in sorted(self.rows.items()):
            groups.setdefault(times, []).append(row)
        listed = [[*times, _format_rows(rows)] for times, rows in groups.items()]
        return {"at_once_ratio": self.at_once_ratio, "groups": listed}

    @classmethod
    def from_facts(cls, facts: object, planned: int) -> Self | None:
        """Read what ``to_facts`` made of a plan of so many rows; None for anything else."""
        try:
            assert isinstance(facts, Mapping)
            rows = {
                row: (int(expected_ns), int(at_most_ns))
                for expected_ns, at_most_ns, text in facts["groups"]
                for row in _parse_rows(text, planned)
            }
            return cls(rows=rows, at_once_ratio=float(facts["at_once_ratio"]))
        except (AssertionError, KeyError, TypeError, ValueError):
            return None


def _format_rows(rows: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for row in rows:
        if parts and row == parts[-1][1] + 1:
            parts[-1][1] = row
        else:
            parts.append([row, row])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def _parse_rows(text: str, planned: int) -> Iterable[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) >= planned:
            raise ValueError(text)
        yield from range(int(first), int(last or first) + 1)
