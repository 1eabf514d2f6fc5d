"""What a campaign may still use: bytes in all, bytes a day, hours of the day."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from pathlab.campaign.conduct_model import Budget
from pathlab.campaign.hours import find_closing, find_opening, is_open
from pathlab.store.records import TrialRecord
from pathlab.units import format_bytes, format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether a trial may start: now, not before ``wait_until``, or not at all (``spent`` says why).

    ``volume_limit_bytes`` is what it may send at most in all, None without a limit.
    """

    wait_until: datetime.datetime | None = None
    spent: str | None = None
    reason: str | None = None
    volume_limit_bytes: int | None = None


class BudgetAccount:
    """The budget of a campaign and what its trials have used, over all its runs."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._used_bytes = 0
        self._used_by_day: dict[datetime.date, int] = {}
        self._reserved_bytes: dict[int, int] = {}  # of trials under way, by row: what they may send at most

    @property
    def is_counting(self) -> bool:
        """Whether the budget limits bytes."""
        return self._budget.bytes_per_campaign is not None or self._budget.bytes_per_day is not None

    def count(self, started_utc: str, sent_bytes: int) -> None:
        """Add what a trial sent to the local day on which it started."""
        day = datetime.datetime.fromisoformat(started_utc).astimezone().date()
        self._used_bytes += sent_bytes
        self._used_by_day[day] = self._used_by_day.get(day, 0) + sent_bytes

    def reserve(self, row: int, volume_limit_bytes: int | None) -> None:
        """Reserve what a trial that starts may send, until ``release``."""
        if volume_limit_bytes is not None:
            self._reserved_bytes[row] = volume_limit_bytes

    def release(self, row: int) -> None:
        """A trial has ended; ``count`` adds what it sent."""
        self._reserved_bytes.pop(row, None)

    def check(self, now: datetime.datetime, trial_ns: int, trial_bytes: int | None) -> Permission:
        """Whether a trial of this length and at most this many bytes (None: unknown) may start now."""
        budget, reserved = self._budget, sum(self._reserved_bytes.values())
        left = self._left(budget.bytes_per_campaign, self._used_bytes + reserved)
        if left is not None and left < (trial_bytes or 1):
            return Permission(spent=_format_spent("bytes_per_campaign", trial_bytes, left))
        today = self._left(budget.bytes_per_day, self._used_by_day.get(now.date(), 0) + reserved)
        if today is not None and today < (trial_bytes or 1):
            if trial_bytes is not None and trial_bytes > (budget.bytes_per_day or 0):
                return Permission(
                    spent=_format_spent("bytes_per_day", trial_bytes, budget.bytes_per_day or 0)
                )
            midnight = (now + datetime.timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
            return Permission(
                wait_until=midnight, reason="today's byte budget is used up (budget.bytes_per_day)"
            )
        closed = self._find_hours(now, trial_ns)
        if closed is not None:
            return closed
        known = [limit for limit in (left, today) if limit is not None]
        return Permission(volume_limit_bytes=min(known, default=None))

    def _find_hours(self, now: datetime.datetime, trial_ns: int) -> Permission | None:
        """A trial starts where the hours are open and will be until its end, or as soon as they open."""
        hours = self._budget.day_hours
        reason = f"outside the hours {', '.join(self._budget.hours)} (budget.hours)"
        if not is_open(hours, now):
            return Permission(wait_until=find_opening(hours, now), reason=reason)
        closing = find_closing(hours, now) if hours else None
        if closing is None or now + datetime.timedelta(microseconds=trial_ns / 1000) <= closing:
            return None
        longest_ns = max(part.length_minutes for part in hours) * 60 * 10**9
        if trial_ns > longest_ns:
            text = f"budget.hours: a trial takes about {format_time(trial_ns)}, longer than any of the hours"
            return Permission(spent=text)
        return Permission(wait_until=find_opening(hours, closing), reason=reason)

    @staticmethod
    def _left(limit: int | None, used: int) -> int | None:
        return None if limit is None else limit - used


def count_sent(record: TrialRecord) -> int | None:
    """What a trial sent; what arrived where the sender's own count is missing; None where both are."""
    return record.sent_total_bytes if record.sent_total_bytes is not None else record.received_total_bytes


def _format_spent(key: str, trial_bytes: int | None, left: int) -> str:
    if trial_bytes is None:
        return f"budget.{key} is used up"
    needs, has = format_bytes(trial_bytes), format_bytes(max(left, 0))
    return f"budget.{key} is used up: the next trial may take {needs}, {has} is left"
