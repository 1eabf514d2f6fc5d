"""How a campaign conducts itself: budgets, harm, the stop rule, rest, and times of day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from pathlab.campaign.factor_model import HOUR_NS
from pathlab.campaign.hours import DayHours
from pathlab.campaign.levels import AllowLevels
from pathlab.campaign.part import Added, Part
from pathlab.campaign.quantities import Quantity
from pathlab.errors import UsageError
from pathlab.units import SECOND_NS, format_exact_ratio, parse_ratio

CYCLES_MIN_DEFAULT = 6  # the median's interval needs six values at 95 %
UNTIL_EXPECTED = 'expected a share of the median such as "5% of the median"'
_UNTIL = re.compile(r"\s*(\S+)\s+of\s+the\s+(median)\s*")


def _read_hours(value: Any) -> Any:
    try:
        return DayHours.parse(value).spelled
    except UsageError as error:
        raise PydanticCustomError("hours", "{text}", {"text": f"{error.message}; {error.hint}"}) from error


def _wrap_hours(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Hours = Annotated[
    str,
    BeforeValidator(_read_hours),
    WithJsonSchema({"type": "string", "$comment": 'hours of the day such as "22:00-06:00", local time'}),
]
Size = Annotated[int | None, Quantity.bytes(1, 2**60), Added()]


class Budget(Part):
    """What the campaign may use. It stops, and can be continued, before it would use more."""

    bytes_per_campaign: Size = Field(None, description="Data that the whole campaign may send.")
    bytes_per_day: Size = Field(None, description="Data that it may send in a day (local time).")
    rate_bits_per_s: Annotated[int | None, Quantity.rate(1000, 10**12), Added()] = Field(
        None, alias="rate", description="Rate that no trial exceeds, all its streams together."
    )
    only: Annotated[
        tuple[Hours, ...], Field(min_length=1), AllowLevels(), BeforeValidator(_wrap_hours), Added()
    ] = Field((), description="Hours of the day in which trials may run, in the controller's local time.")

    @property
    def hours(self) -> tuple[DayHours, ...]:
        """``only`` as hours that can be asked whether they are open; empty: always."""
        return tuple(DayHours.parse(text) for text in self.only)


class Harm(Part):
    """What the campaign must not do to others: beyond a ceiling a trial is ended early, and recorded so."""

    loaded_rtt_ns: Annotated[int | None, Quantity.time(SECOND_NS // 10**6, 60 * SECOND_NS), Added()] = Field(
        None, alias="loaded_rtt", description="Ceiling of the loaded round-trip time (median of one second)."
    )
    loss_ratio: Annotated[float | None, Quantity.ratio(), Added()] = Field(
        None, alias="loss", description="Ceiling of the share of probes lost."
    )


class Until(Part):
    """The stop rule: a cell is done when the interval of its statistic is within this of it, either side."""

    relative: Annotated[float, Field(gt=0, lt=1)] = Field(
        description="Half-width, relative to the statistic."
    )
    statistic: Literal["median"] = Field("median", description="What is estimated.")
    metric: Literal["goodput"] = Field("goodput", description="Of which measure.")

    @model_validator(mode="before")
    @classmethod
    def _read_words(cls, value: Any) -> Any:
        return read_until(value) if isinstance(value, str) else value

    def spell(self) -> str:
        """As the file says it."""
        return f"{format_exact_ratio(self.relative)} of the {self.statistic}"


def read_until(text: str) -> Mapping[str, Any]:
    """Return the parts of ``"5% of the median"``. Raises PydanticCustomError, as a validator does."""
    found = _UNTIL.fullmatch(text)
    try:
        relative = parse_ratio(found.group(1)) if found else 0.0
    except UsageError:
        relative = 0.0
    if found is None or not 0 < relative < 1:
        raise PydanticCustomError("until", "{text}", {"text": f"'{text}' is no stop rule; {UNTIL_EXPECTED}"})
    return {"relative": relative, "statistic": found.group(2)}


class Rest(Part):
    """The pause between two trials."""

    drained: Annotated[bool, Field(strict=True), Added()] = Field(
        False, description="Whether to wait until probes see the round trip of the idle path again."
    )
    cap_ns: Annotated[int, Quantity.time(0, HOUR_NS), Added()] = Field(
        10 * SECOND_NS, alias="cap", description="The longest wait for that."
    )
    quiet_ns: Annotated[int, Quantity.time(0, 24 * HOUR_NS), Added()] = Field(
        0, alias="quiet", description="Silence after that, before the next trial."
    )
