"""Hours of the day in which a campaign may run, in local time."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pathlab.errors import UsageError

DAY_MINUTES = 24 * 60
HOURS_EXPECTED = 'expected hours of the day such as "22:00-06:00"'
_HOURS = re.compile(r"\s*(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DayHours:
    """From one minute of the day up to, and not with, another; over midnight where the end is the earlier."""

    start_minute: int
    end_minute: int

    @classmethod
    def parse(cls, text: Any) -> DayHours:
        """Read ``"22:00-06:00"``; ``24:00`` ends a day. Raises UsageError."""
        match = _HOURS.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise UsageError(f"'{text}' is not hours of the day", hint=HOURS_EXPECTED)
        hours = [int(match.group(part)) for part in (1, 3)]
        minutes = [int(match.group(part)) for part in (2, 4)]
        start, end = (hour * 60 + minute for hour, minute in zip(hours, minutes, strict=True))
        if max(minutes) > 59 or start >= DAY_MINUTES or end > DAY_MINUTES:
            raise UsageError(f"'{text}' names a time that no day has", hint=HOURS_EXPECTED)
        if start == end:
            raise UsageError(f"'{text}' is empty: it ends as it starts", hint=HOURS_EXPECTED)
        return cls(start_minute=start, end_minute=end)

    @property
    def text(self) -> str:
        """As in a campaign file."""
        return "-".join(
            f"{minute // 60:02}:{minute % 60:02}" for minute in (self.start_minute, self.end_minute)
        )

    @property
    def length_minutes(self) -> int:
        """Minutes from start to end."""
        return (self.end_minute - self.start_minute) % DAY_MINUTES or DAY_MINUTES

    def contains(self, minute: int) -> bool:
        """Whether a minute of the day (0 to 1439) lies within."""
        return (minute - self.start_minute) % DAY_MINUTES < self.length_minutes


def is_open(hours: Sequence[DayHours], moment: datetime.datetime) -> bool:
    """Whether a moment, in local time, lies within one of them; always where there are none."""
    minute = moment.hour * 60 + moment.minute
    return not hours or any(part.contains(minute) for part in hours)


def find_opening(hours: Sequence[DayHours], moment: datetime.datetime) -> datetime.datetime:
    """Return the moment itself where it is open, else the next full minute that is."""
    return moment if is_open(hours, moment) else _find_minute(hours, moment, opened=True) or moment


def find_closing(hours: Sequence[DayHours], moment: datetime.datetime) -> datetime.datetime | None:
    """Return the next full minute that is closed, or None."""
    return _find_minute(hours, moment, opened=False)


def _find_minute(
    hours: Sequence[DayHours], moment: datetime.datetime, *, opened: bool
) -> datetime.datetime | None:
    start = moment.replace(second=0, microsecond=0)
    minutes = (start + datetime.timedelta(minutes=number) for number in range(1, DAY_MINUTES + 1))
    return next((minute for minute in minutes if is_open(hours, minute) == opened), None)
