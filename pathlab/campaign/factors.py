"""The factors: everything that a campaign can vary, one entry each.

Campaign file, its schema and page, plan, the native engine's flags, what an end granted and the words for
readers follow from the entries. A new factor is an entry here and a field of ``pathlab.campaign.cell.Cell``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import eq
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from pathlab.campaign import native_option as native
from pathlab.campaign.file_table import MIB
from pathlab.campaign.native_option import NativeOption
from pathlab.campaign.quantities import BYTES, COUNT, HOUR_NS, RATE, TIME, Bounds, Unit
from pathlab.units import SECOND_NS

Level = int | str | bool | None
Transport = Literal["tcp", "mptcp"]
Direction = Literal["forward", "reverse", "both"]
Engine = Literal["native", "iperf3"]
Family = Literal["any", "ipv4", "ipv6"]

PairName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,30}$",
        json_schema_extra={"$comment": "a name of small letters, digits, '_' and '-'"},
    ),
]
#: Code points by name: RFC 2474, 2597, 3246, 5865, 8622, and QBSS as Internet2 defined it.
DSCP_NAMES: Mapping[str, int] = {
    "LE": 1,
    "QBSS": 8,
    **{f"CS{number}": 8 * number for number in range(8)},
    **{f"AF{group}{drop}": 8 * group + 2 * drop for group in range(1, 5) for drop in range(1, 4)},
    "EF": 46,
    "VA": 44,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One factor. Its levels are numbers (``unit``, ``bounds``), names (``pattern``) or of another ``kind``.

    ``unset`` is the word for a level that is left to the system, which is None everywhere else. ``default``
    is the level where a campaign does not have the factor; durations are then those of ``[trial]``.
    """

    key: str  # in a campaign file
    name: str  # attribute, and setting of a stored plan row; with the unit
    description: str
    unit: Unit | None = None  # of numbers, which may be given as a range
    bounds: tuple[int, int] = (0, 0)
    pattern: str = ""
    kind: Any = None
    expected: str = ""  # where pydantic's schema does not say it
    read: Callable[[Any], Any] | None = None  # a value of the file, before it is checked
    check: Callable[[Any], Any] | None = None  # a level, after it was checked
    default: Level = None
    unset: str | None = None
    always: bool = False  # every campaign has it, given or not
    native: NativeOption | None = None

    @property
    def level_type(self) -> Any:
        """The pydantic type of one level."""
        if self.kind is not None:
            return self.kind
        if self.unit not in (None, COUNT):
            return Annotated[int | None, Bounds(self.unit, *self.bounds, self.unset)]
        least, most = self.bounds
        limits = Field(pattern=self.pattern) if self.unit is None else Field(strict=True, ge=least, le=most)
        kind = str if self.unit is None else int
        if not self.expected:
            return Annotated[kind, limits]
        schema = {"type": "string" if self.unit is None else ["integer", "string"], "$comment": self.expected}
        steps = [AfterValidator(self.check)] if self.check else []
        return Annotated[kind | None, limits, *steps, BeforeValidator(self._read), WithJsonSchema(schema)]

    def _read(self, value: Any) -> Any:
        if value == self.unset and self.unset is not None:
            return None
        if self.unit is None and not isinstance(value, str):
            raise PydanticCustomError("name", "{text}", {"text": f"'{value}' is not a name in quotes"})
        return self.read(value) if self.read else value


def _read_dscp(value: Any) -> Any:
    if isinstance(value, str):
        return DSCP_NAMES.get(value.upper(), int(value) if value.isdecimal() else value)
    return value


def _check_cores(value: str | None) -> str | None:
    for part in (value or "").split(","):
        first, _, last = part.partition("-")
        if last and int(last) < int(first):
            raise PydanticCustomError("cores", "{text}", {"text": f"'{part}' ends below its start"})
    return value


_FACTORS = (
    Factor(
        key="streams",
        name="streams",
        description="Number of parallel TCP connections.",
        unit=COUNT,
        bounds=(1, 4096),
        default=1,
        always=True,
        native=NativeOption(flag="streams", read=native.read_key("streams")),
    ),
    Factor(
        key="window",
        name="window_bytes",
        description="Socket buffer requested per stream, at both ends; `auto` leaves it to the kernel.",
        unit=BYTES,
        bounds=(1024, 1024 * MIB),
        unset="auto",
        always=True,
    ),
    Factor(
        key="congestion",
        name="congestion",
        description="Congestion control, set per socket; `default` is the kernel's choice.",
        pattern=r"^[a-z0-9_-]{1,15}$",
        expected='a name such as "cubic" or "bbr", or "default"',
        unset="default",
        always=True,
        native=NativeOption(flag="congestion", read=native.read_congestion),
    ),
    Factor(
        key="window_sender",
        name="window_sender_bytes",
        description="Socket buffer requested at the sending end, where the two differ (instead of `window`).",
        unit=BYTES,
        bounds=(1024, 1024 * MIB),
        unset="auto",
        native=NativeOption(
            flag="window-bytes",
            ends="sender",
            write=lambda level: level or 0,
            read=native.read_least("sndbuf_bytes"),
        ),
    ),
    Factor(
        key="window_receiver",
        name="window_receiver_bytes",
        description="Socket buffer requested at the receiving end, where the two differ.",
        unit=BYTES,
        bounds=(1024, 1024 * MIB),
        unset="auto",
        native=NativeOption(
            flag="window-bytes",
            ends="receiver",
            write=lambda level: level or 0,
            read=native.read_least("rcvbuf_bytes"),
        ),
    ),
    Factor(
        key="duration",
        name="duration_ns",
        description="The steady window, instead of the one in `[trial]`.",
        unit=TIME,
        bounds=(SECOND_NS // 100, 24 * HOUR_NS),
    ),
    Factor(
        key="warmup",
        name="warmup_ns",
        description="Traffic before the steady window, instead of the one in `[trial]`.",
        unit=TIME,
        bounds=(0, HOUR_NS),
    ),
    Factor(
        key="message",
        name="message_bytes",
        description="Bytes handed to the kernel in one call; `auto` is the engine's choice.",
        unit=BYTES,
        bounds=(1, 64 * MIB),
        unset="auto",
        native=NativeOption(
            flag="write-bytes", ends="transmitting", read=native.read_key("write_bytes"), grants=eq
        ),
    ),
    Factor(
        key="transport",
        name="transport",
        description="Transport protocol.",
        kind=Transport,
        default="tcp",
        native=NativeOption(
            flag="transport",
            write=lambda level: None if level == "tcp" else level,
            read=native.read_key("transport"),
            grants=eq,
        ),
    ),
    Factor(
        key="direction",
        name="direction",
        description="Direction of the data: along the path, against it, or both at once.",
        kind=Direction,
        default="forward",
        native=NativeOption(read=native.read_key("direction")),  # the engine's depends on who connects
    ),
    Factor(
        key="dscp",
        name="dscp",
        description="DiffServ code point of the traffic, by name (LE, QBSS, AF11, EF ...) or number; `none` "
        "sets none.",
        unit=COUNT,
        bounds=(0, 63),
        expected='a name such as "LE" or "EF", 0 to 63, or "none"',
        read=_read_dscp,
        unset="none",
        native=NativeOption(flag="dscp", read=native.read_code_point, grants=eq),
    ),
    Factor(
        key="pacing",
        name="pacing_bits_per_s",
        description="Rate that the flow's sender does not exceed, all streams together; `none` leaves it "
        "unpaced.",
        unit=RATE,
        bounds=(1000, 10**12),
        unset="none",
        native=NativeOption(flag="rate-bits-per-s", ends="transmitting", read=native.read_pacing),
    ),
    Factor(
        key="mss",
        name="mss_bytes",
        description="Largest segment; `auto` is what the path gives.",
        unit=BYTES,
        bounds=(88, 65535),
        unset="auto",
        native=NativeOption(
            flag="mss-bytes", read=native.read_least("mss_bytes"), grants=native.is_granted_mss
        ),
    ),
    Factor(
        key="no_delay",
        name="no_delay",
        description="Whether small writes are sent at once (TCP_NODELAY).",
        kind=Annotated[bool, Field(strict=True)],
        default=False,
        native=NativeOption(flag="no-delay", write=lambda level: "yes" if level else None),
    ),
    Factor(
        key="zero_copy",
        name="zero_copy",
        description="Whether data is sent and received without copying it.",
        kind=Annotated[bool, Field(strict=True)],
        default=False,
        native=NativeOption(
            flag="transfer",
            write=lambda level: "zero-copy" if level else None,
            read=native.read_zero_copy,
            grants=eq,
        ),
    ),
    Factor(
        key="workers",
        name="worker_threads",
        description="Threads that carry the streams; `auto` is one per core, and no more than streams.",
        unit=COUNT,
        bounds=(1, 256),
        expected='a whole number from 1 to 256, or "auto"',
        unset="auto",
        native=NativeOption(flag="workers", read=native.read_key("workers"), grants=eq),
    ),
    Factor(
        key="cpus",
        name="cpus",
        description="Cores that the threads are bound to, such as `0,2-3`; `any` leaves it to the kernel.",
        pattern=r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$",
        expected='a list of cores such as "0,2-3", or "any"',
        check=_check_cores,
        unset="any",
        native=NativeOption(
            flag="pin", write=native.write_cores, read=native.read_cores, grants=native.are_granted_cores
        ),
    ),
    Factor(
        key="engine",
        name="engine",
        description="The program that moves the data.",
        kind=Engine,
        default="native",
        native=NativeOption(),
    ),
    Factor(
        key="family",
        name="family",
        description="IP version between the hosts.",
        kind=Family,
        default="any",
    ),
    Factor(
        key="addresses",
        name="addresses",
        description="Pair of addresses, by its name in `addresses` of the path.",
        kind=PairName,
    ),
)
#: Every factor by its attribute, in the order in which they vary (the first one slowest).
FACTORS: Mapping[str, Factor] = {factor.name: factor for factor in _FACTORS}
#: The same by the key of the file.
FACTORS_BY_KEY: Mapping[str, Factor] = {factor.key: factor for factor in _FACTORS}
#: Attributes of the factors that every campaign has, and every stored plan row.
ALWAYS_GIVEN = tuple(factor.name for factor in _FACTORS if factor.always)

#: Settings that only files of other programs tell: what they are called for reading, and their unit.
_IMPORTED: Mapping[str, tuple[str, Unit | None]] = {
    "stream_target_bits_per_s": ("target rate per stream", RATE),
    "stream_pacing_bits_per_s": ("pacing per stream", RATE),
    "transfer_bytes": ("transfer", BYTES),
    "transfer_blocks": ("blocks", None),
    "probe_interval_ns": ("probe interval", TIME),
    "probe_bytes": ("probe size", BYTES),
    "stagger_ns": ("stagger", TIME),
    "test_parameters": ("test parameters", None),
}
_KEYS = {factor.name: factor.key for factor in _FACTORS} | {
    name: words for name, (words, _) in _IMPORTED.items()
}
_UNITS = {factor.key: factor.unit for factor in _FACTORS} | dict(_IMPORTED.values())


def name_levels(levels: Mapping[str, Level]) -> dict[str, Level]:
    """Return levels by the keys of the file instead of by attribute; imported settings by their words."""
    return {_KEYS.get(name, name): level for name, level in levels.items()}


def find_default(name: str) -> Level:
    """The level of a setting, by attribute, that a plan row does not name; None: left to the system."""
    factor = FACTORS.get(name)
    return None if factor is None else factor.default


def format_level(key: str, level: Level) -> str:
    """Write one level for reading: ``64 KiB``, ``auto``; ``key`` is the factor's in the file."""
    factor, unit = FACTORS_BY_KEY.get(key), _UNITS.get(key)
    if level is None:
        return (factor.unset if factor else None) or "auto"
    if isinstance(level, bool):
        return "yes" if level else "no"
    return unit.format(level) if isinstance(level, int) and unit is not None else str(level)
