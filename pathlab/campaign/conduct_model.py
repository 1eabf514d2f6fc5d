"""How a campaign conducts itself: budgets, safety limits, the stop rule and the cool-down."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from pathlab.campaign.file_table import FileTable
from pathlab.campaign.hours import DayHours
from pathlab.campaign.levels import AllowLevels, wrap_text
from pathlab.campaign.quantities import BYTES, HOUR_NS, RATE, RATIO, TIME, Bounds, Unit
from pathlab.errors import UsageError
from pathlab.units import SECOND_NS, format_exact_ratio, parse_ratio

CYCLES_MIN_DEFAULT = 6  # the median's interval needs six values at 95 %
_UNTIL = re.compile(r"\s*(\S+)\s+of\s+the\s+median\s*")


def _parse_stop_rule(text: Any) -> float:
    match = _UNTIL.fullmatch(text) if isinstance(text, str) else None
    try:
        ratio = parse_ratio(match.group(1)) if match else 0.0
    except UsageError:
        ratio = 0.0
    if not 0 < ratio < 1:
        raise UsageError(f"'{text}' is not a stop rule")
    return ratio


def format_stop_rule(ratio: float) -> str:
    """As in a campaign file: ``5% of the median``."""
    return f"{format_exact_ratio(ratio)} of the median"


STOP_RULE = Unit(
    parse=_parse_stop_rule,
    format_exact=format_stop_rule,
    format=format_stop_rule,
    expected='expected a share of the median such as "5% of the median"',
)


def _read_hours(value: Any) -> Any:
    try:
        return DayHours.parse(value).text
    except UsageError as error:
        raise PydanticCustomError("hours", "{text}", {"text": f"{error.message}; {error.hint}"}) from error


Hours = Annotated[
    str,
    BeforeValidator(_read_hours),
    WithJsonSchema({"type": "string", "$comment": 'hours of the day such as "22:00-06:00", local time'}),
]
Size = Annotated[int | None, Bounds(BYTES, 1, 2**60)]


class Budget(FileTable):
    """What the campaign may use. It stops, and can be continued, before it would use more."""

    bytes_per_campaign: Size = Field(None, description="Data that the whole campaign may send.")
    bytes_per_day: Size = Field(None, description="Data that it may send in a day (local time).")
    rate_bits_per_s: Annotated[int | None, Bounds(RATE, 1000, 10**12)] = Field(
        None,
        alias="rate",
        description="Rate that no trial exceeds, all its streams together. Linux sends a connection's first "
        "ten segments at once: without a warm-up a short trial counts them on top.",
    )
    hours: Annotated[tuple[Hours, ...], Field(min_length=1), AllowLevels(), BeforeValidator(wrap_text)] = (
        Field((), description="Hours of the day in which trials may run, in the controller's local time.")
    )

    @property
    def day_hours(self) -> tuple[DayHours, ...]:
        """``hours`` parsed; empty: always."""
        return tuple(DayHours.parse(text) for text in self.hours)


class SafetyLimits(FileTable):
    """What a trial may do to the path at most: beyond a limit it ends early and is recorded so."""

    loaded_rtt_ns: Annotated[int | None, Bounds(TIME, SECOND_NS // 10**6, 60 * SECOND_NS)] = Field(
        None, alias="loaded_rtt", description="Limit of the loaded RTT (median of one second)."
    )
    loss_ratio: Annotated[float | None, Bounds(RATIO)] = Field(
        None, alias="loss", description="Limit of the share of probes lost."
    )


class CoolDown(FileTable):
    """The pause between two trials."""

    until_idle: Annotated[bool, Field(strict=True)] = Field(
        False, description="Whether to wait until probes measure the RTT of the idle path again."
    )
    max_wait_ns: Annotated[int, Bounds(TIME, 0, HOUR_NS)] = Field(
        10 * SECOND_NS, alias="max_wait", description="The longest wait for an idle path."
    )
    pause_ns: Annotated[int, Bounds(TIME, 0, 24 * HOUR_NS)] = Field(
        0, alias="pause", description="Silence after that, before the next trial."
    )
