"""The ``[factors]`` table: what is varied, and single combinations of it (``[[rows]]``, ``[control]``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from pathlab.campaign.levels import Levels
from pathlab.campaign.part import MIB, Added, Part
from pathlab.campaign.quantities import STORED, Quantity
from pathlab.units import SECOND_NS

CONGESTION_PATTERN = r"^[a-z0-9_-]{1,15}$"
CPUS_PATTERN = r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$"
PAIR_NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,30}$"
STREAMS_MAX = 4096
WORKERS_MAX = 256
HOUR_NS = 3600 * SECOND_NS

#: Code points by name: RFC 2474, 2597, 3246, 5865, 8622, and QBSS as Internet2 defined it.
DSCP_NAMES: Mapping[str, int] = {
    "LE": 1,
    "QBSS": 8,
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{group}{drop}": 8 * group + 2 * drop for group in range(1, 5) for drop in range(1, 4)},
    "EF": 46,
    "VA": 44,
}

Level = TypeVar("Level")


def _read_name(value: Any, info: ValidationInfo) -> Any:
    if value is None and info.context == STORED:
        return None
    if not isinstance(value, str):
        raise PydanticCustomError("name", "{text}", {"text": f"'{value}' is not a name in quotes"})
    return None if value in ("default", "any") else value


def _read_dscp(value: Any, info: ValidationInfo) -> Any:
    if value == "none" or (value is None and info.context == STORED):
        return None
    if isinstance(value, str):
        if value.upper() in DSCP_NAMES:
            return DSCP_NAMES[value.upper()]
        return int(value) if value.isdecimal() else value
    return value


def _refuse_turned(value: str | None) -> str | None:
    for part in (value or "").split(","):
        first, _, last = part.partition("-")
        if last and int(last) < int(first):
            raise PydanticCustomError("cores", "{text}", {"text": f"'{part}' ends below its start"})
    return value


def _read_automatic(value: Any, info: ValidationInfo) -> Any:
    return None if value == "auto" or (value is None and info.context == STORED) else value


Streams = Annotated[int, Field(strict=True, ge=1, le=STREAMS_MAX)]
Window = Annotated[int | None, Quantity.bytes(1024, 1024 * MIB, word="auto")]
Congestion = Annotated[str | None, Field(pattern=CONGESTION_PATTERN), BeforeValidator(_read_name)]
Duration = Annotated[int, Quantity.time(SECOND_NS // 100, 24 * HOUR_NS)]
WarmUp = Annotated[int, Quantity.time(0, HOUR_NS)]
Message = Annotated[int | None, Quantity.bytes(1, 64 * MIB, word="auto")]
Transport = Literal["tcp", "mptcp"]
Direction = Literal["forward", "reverse", "both"]
Dscp = Annotated[
    int | None,
    Field(strict=True, ge=0, le=63),
    BeforeValidator(_read_dscp),
    WithJsonSchema(
        {"type": ["integer", "string"], "$comment": 'a name such as "LE" or "EF", 0 to 63, or "none"'}
    ),
]
Pacing = Annotated[int | None, Quantity.rate(1000, 10**12, word="none")]
Mss = Annotated[int | None, Quantity.bytes(88, 65535, word="auto")]
Switch = Annotated[bool, Field(strict=True)]
WorkerThreads = Annotated[
    int | None,
    Field(strict=True, ge=1, le=WORKERS_MAX),
    BeforeValidator(_read_automatic),
    WithJsonSchema(
        {"type": ["integer", "string"], "$comment": f'a whole number from 1 to {WORKERS_MAX}, or "auto"'}
    ),
]
Cpus = Annotated[
    str | None,
    Field(pattern=CPUS_PATTERN),
    AfterValidator(_refuse_turned),
    BeforeValidator(_read_name),
    WithJsonSchema({"type": "string", "$comment": 'a list of cores such as "0,2-3", or "any"'}),
]
Engine = Literal["native", "iperf3"]
Family = Literal["any", "ipv4", "ipv6"]
PairName = Annotated[str, Field(pattern=PAIR_NAME_PATTERN)]

#: A factor that need not be given; None: it is not.
Given = Annotated[Levels[Level] | None, Added()]

_STREAMS = "Number of parallel TCP connections."
_WINDOW = "Socket buffer asked for, per stream, at both ends; `auto` leaves it to the kernel."
_CONGESTION = "Congestion control, set per socket; `default` is the kernel's choice."
_WINDOW_SENDER = "Socket buffer asked for at the sending end, where the two differ (instead of `window`)."
_WINDOW_RECEIVER = "Socket buffer asked for at the receiving end, where the two differ."
_DURATION = "The steady window, instead of the one in `[trial]`."
_WARMUP = "Traffic before the steady window, instead of the one in `[trial]`."
_MESSAGE = "Bytes handed to the kernel in one call; `auto` is the engine's choice."
_TRANSPORT = "Transport protocol."
_DIRECTION = "Which way the data goes: as the path leads, against it, or both ways at once."
_DSCP = "DiffServ code point of the traffic, by name (LE, QBSS, AF11, EF ...) or number; `none` sets none."
_PACING = "Rate that the flow's sender does not exceed, all streams together; `none` leaves it unpaced."
_MSS = "Largest segment; `auto` is what the path gives."
_NO_DELAY = "Whether small writes are sent at once (TCP_NODELAY)."
_ZERO_COPY = "Whether data is sent and received without copying it."
_WORKERS = "Threads that carry the streams; `auto` is one per core, and no more than streams."
_CPUS = "Cores that the threads are bound to, such as `0,2-3`; `any` leaves it to the kernel."
_ENGINE = "The program that moves the data."
_FAMILY = "IP version between the hosts."
_ADDRESSES = "Pair of addresses, by its name in `addresses` of the path."


class Factors(Part):
    """What is varied: every combination of the levels is one cell, measured once per cycle and path."""

    streams: Levels[Streams] = Field(description=f"{_STREAMS} Needed, here or in every one of `[[rows]]`.")
    window_bytes: Levels[Window] = Field((None,), alias="window", description=_WINDOW)
    congestion: Levels[Congestion] = Field((None,), description=_CONGESTION)
    window_sender_bytes: Given[Window] = Field(None, alias="window_sender", description=_WINDOW_SENDER)
    window_receiver_bytes: Given[Window] = Field(None, alias="window_receiver", description=_WINDOW_RECEIVER)
    duration_ns: Given[Duration] = Field(None, alias="duration", description=_DURATION)
    warmup_ns: Given[WarmUp] = Field(None, alias="warmup", description=_WARMUP)
    message_bytes: Given[Message] = Field(None, alias="message", description=_MESSAGE)
    transport: Given[Transport] = Field(None, description=_TRANSPORT)
    direction: Given[Direction] = Field(None, description=_DIRECTION)
    dscp: Given[Dscp] = Field(None, description=_DSCP)
    pacing_bits_per_s: Given[Pacing] = Field(None, alias="pacing", description=_PACING)
    mss_bytes: Given[Mss] = Field(None, alias="mss", description=_MSS)
    no_delay: Given[Switch] = Field(None, description=_NO_DELAY)
    zero_copy: Given[Switch] = Field(None, description=_ZERO_COPY)
    worker_threads: Given[WorkerThreads] = Field(None, alias="workers", description=_WORKERS)
    cpus: Given[Cpus] = Field(None, description=_CPUS)
    engine: Given[Engine] = Field(None, description=_ENGINE)
    family: Given[Family] = Field(None, description=_FAMILY)
    addresses: Given[PairName] = Field(None, description=_ADDRESSES)

    @property
    def given(self) -> tuple[str, ...]:
        """The factors that this campaign has, by attribute; the first three always are."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)


class Combination(Part):
    """Keys of `[factors]`, each with one level; what is left out is as there."""

    streams: Streams = Field(1, description=_STREAMS)
    window_bytes: Annotated[Window, Added()] = Field(None, alias="window", description=_WINDOW)
    congestion: Annotated[Congestion, Added()] = Field(None, description=_CONGESTION)
    window_sender_bytes: Annotated[Window, Added()] = Field(
        None, alias="window_sender", description=_WINDOW_SENDER
    )
    window_receiver_bytes: Annotated[Window, Added()] = Field(
        None, alias="window_receiver", description=_WINDOW_RECEIVER
    )
    duration_ns: Annotated[Duration | None, Added()] = Field(None, alias="duration", description=_DURATION)
    warmup_ns: Annotated[WarmUp | None, Added()] = Field(None, alias="warmup", description=_WARMUP)
    message_bytes: Annotated[Message, Added()] = Field(None, alias="message", description=_MESSAGE)
    transport: Annotated[Transport, Added()] = Field("tcp", description=_TRANSPORT)
    direction: Annotated[Direction, Added()] = Field("forward", description=_DIRECTION)
    dscp: Annotated[Dscp, Added()] = Field(None, description=_DSCP)
    pacing_bits_per_s: Annotated[Pacing, Added()] = Field(None, alias="pacing", description=_PACING)
    mss_bytes: Annotated[Mss, Added()] = Field(None, alias="mss", description=_MSS)
    no_delay: Annotated[Switch, Added()] = Field(False, description=_NO_DELAY)
    zero_copy: Annotated[Switch, Added()] = Field(False, description=_ZERO_COPY)
    worker_threads: Annotated[WorkerThreads, Added()] = Field(None, alias="workers", description=_WORKERS)
    cpus: Annotated[Cpus, Added()] = Field(None, description=_CPUS)
    engine: Annotated[Engine, Added()] = Field("native", description=_ENGINE)
    family: Annotated[Family, Added()] = Field("any", description=_FAMILY)
    addresses: Annotated[PairName | None, Added()] = Field(None, description=_ADDRESSES)


class Control(Combination):
    """A combination, as in `[[rows]]`, repeated at fixed places of the plan, on one path after the other."""

    every_rows: Annotated[int, Field(strict=True, ge=2, le=100_000)] = Field(
        alias="every", description="Rows of the plan from one control row to the next."
    )
