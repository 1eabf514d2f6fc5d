"""The factors: everything that a campaign can vary, one entry each.

Campaign file, its schema and page, plan, the native engine's flags, what an end granted and the words for
readers follow from the entries. A new factor is an entry here, or in ``message_factors``,
``datagram_factors`` or ``multipath_factors``, and a field of ``pathlab.campaign.cell.PlannedCell``.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import eq
from typing import TYPE_CHECKING, Literal

from pathlab.agents.protocol import OWN_BUILD
from pathlab.campaign import native_option as native
from pathlab.campaign.datagram_factors import DATAGRAM_FACTORS
from pathlab.campaign.engine_names import DEFAULT_ENGINE, EngineName
from pathlab.campaign.factor import Factor, Level
from pathlab.campaign.factor_types import (
    SWITCH,
    Background,
    Build,
    Direction,
    Family,
    PacingBy,
    PairName,
    Recording,
    Transport,
)
from pathlab.campaign.file_table import MIB
from pathlab.campaign.message_factors import MESSAGE_FACTORS
from pathlab.campaign.multipath_factors import MULTIPATH_FACTORS
from pathlab.campaign.native_option import NativeOption
from pathlab.campaign.quantities import (
    BYTES,
    COUNT,
    DSCP_NAMES,
    ECN_NAMES,
    HOUR_NS,
    RATE,
    TIME,
    Bounds,
    Name,
    Unit,
)
from pathlab.units import SECOND_NS


def _write_window(level: Level) -> int:
    return int(level or 0)


def _pin(end: Literal["sender", "receiver"]) -> NativeOption:
    """An end's cores, which the other end does not state."""
    return NativeOption(
        "pin", end, native.write_cores, native.read_cores, native.are_granted_cores, is_of_one_end=True
    )


_WINDOW = Bounds(BYTES, 1024, 1024 * MIB, "auto")
_CORES = Name(
    r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$",
    'a list of cores such as "0,2-3", or "any"',
    "any",
    native.check_cores,
)
_FACTORS = (
    Factor(
        "streams",
        Bounds(COUNT, 1, 4096),
        "Number of parallel TCP connections.",
        default=1,
        always=True,
        native=NativeOption("streams", read=native.read_key("streams")),
    ),
    Factor(
        "window_bytes",
        _WINDOW,
        "Socket buffer requested per stream, at both ends; `auto` leaves it to the kernel.",
        always=True,
    ),
    Factor(
        "congestion",
        Name(r"^[a-z0-9_-]{1,15}$", 'a name such as "cubic" or "bbr", or "default"', "default"),
        "Congestion control, set per socket; `default` is the kernel's choice.",
        always=True,
        native=NativeOption("congestion", read=native.read_congestion),
    ),
    Factor(
        "window_sender_bytes",
        _WINDOW,
        "Socket buffer requested at the sending end, where the two differ (instead of `window`).",
        native=NativeOption("window-bytes", "sender", _write_window, native.read_least("sndbuf_bytes")),
    ),
    Factor(
        "window_receiver_bytes",
        _WINDOW,
        "Socket buffer requested at the receiving end, where the two differ.",
        native=NativeOption("window-bytes", "receiver", _write_window, native.read_least("rcvbuf_bytes")),
    ),
    Factor(
        "duration_ns",
        Bounds(TIME, SECOND_NS // 100, 24 * HOUR_NS),
        "The steady window, instead of the one in `[trial]`.",
    ),
    Factor(
        "warmup_ns",
        Bounds(TIME, 0, HOUR_NS),
        "Traffic before the steady window, instead of the one in `[trial]`.",
    ),
    Factor(
        "transfer_bytes",
        Bounds(BYTES, 1, 2**60, "none"),
        "Data to carry in each direction, those of the warm-up included; the steady window then lasts until "
        "they are carried, and `duration` is the longest time for it.",
        native=NativeOption("bytes", grants=eq, read=native.read_key("bytes")),
    ),
    Factor(
        "write_bytes",
        Bounds(BYTES, 1, 64 * MIB, "auto"),
        "Bytes handed to the kernel in one call; `auto` is the engine's choice.",
        native=NativeOption("write-bytes", "transmitting", read=native.read_key("write_bytes"), grants=eq),
    ),
    Factor(
        "transport",
        Transport,
        "What carries the data: a transport protocol, or, between two programs of one host, a Unix socket or "
        "a queue. All but `tcp`, `mptcp` and `unix` carry messages alone.",
        default="tcp",
        native=NativeOption("transport", "both", native.write_unless("tcp"), native.read_transport, eq),
    ),
    Factor(
        "direction",
        Direction,
        "Direction of the data: along the path, against it, or both at once.",
        default="forward",
        native=NativeOption(read=native.read_key("direction")),  # the engine's depends on who connects
    ),
    Factor(
        "dscp",
        Bounds(COUNT, 0, 63, "none", DSCP_NAMES, 'a name such as "LE" or "EF", 0 to 63, or "none"'),
        "DiffServ code point of the traffic, by name (LE, QBSS, AF11, EF ...) or number; `none` sets none.",
        native=NativeOption("dscp", read=native.read_code_point, grants=eq),
    ),
    Factor(
        "ecn",
        Bounds(COUNT, 0, 3, "none", ECN_NAMES, 'a name such as "ECT0" or "CE", 0 to 3, or "none"'),
        "ECN bits of UDP datagrams (RFC 3168), by name (ECT0, ECT1, CE) or number; `none` sets none.",
        native=NativeOption("ecn", read=native.read_ecn_bits, grants=eq),
    ),
    Factor(
        "pacing_bits_per_s",
        Bounds(RATE, 1000, 10**12, "none"),
        "Rate that the flow's sender does not exceed, all streams together; `none` leaves it unpaced. Of a "
        "UDP flow: the rate offered, of payload.",
        native=NativeOption(
            "rate-bits-per-s", "transmitting", read=native.read_key("pacing", "requested_bits_per_s")
        ),
    ),
    Factor(
        "pacing_by",
        PacingBy,
        "Who paces: the `kernel` (SO_MAX_PACING_RATE; UDP needs the fq qdisc), the engine (`user`), or the "
        "qdisc, at a time given with each datagram (`txtime`, SO_TXTIME); `auto` is the engine's choice.",
        default="auto",
        native=NativeOption("pacing", "transmitting", native.write_unless("auto"), native.read_pacing_by, eq),
    ),
    Factor(
        "mss_bytes",
        Bounds(BYTES, 88, 65535, "auto"),
        "Largest segment; `auto` is what the path gives.",
        native=NativeOption("mss-bytes", read=native.read_least("mss_bytes"), grants=native.is_granted_mss),
    ),
    Factor(
        "no_delay",
        SWITCH,
        "Whether small writes are sent at once (TCP_NODELAY).",
        default=False,
        native=NativeOption(
            "no-delay", write=native.write_switch, read=native.read_key("no_delay"), grants=eq
        ),
    ),
    Factor(
        "zero_copy",
        SWITCH,
        "Whether data is sent and received without copying it.",
        default=False,
        native=NativeOption(
            "transfer", "both", lambda level: "zero-copy" if level else None, native.read_zero_copy, eq
        ),
    ),
    Factor(
        "worker_threads",
        Bounds(COUNT, 1, 256, "auto"),
        "Threads that carry the streams; `auto` is one per core, and no more than streams.",
        native=NativeOption("workers", read=native.read_key("workers"), grants=eq),
        file_key="workers",
    ),
    Factor(
        "cpus",
        _CORES,
        "Cores that the threads of both ends are bound to, such as `0,2-3`; `any` leaves it to the kernel.",
    ),
    Factor(
        "cpus_sender",
        _CORES,
        "Cores of the sending end, where the two differ (instead of `cpus`).",
        native=_pin("sender"),
    ),
    Factor(
        "cpus_receiver",
        _CORES,
        "Cores of the receiving end, where the two differ; of a technology, those of its server's processes.",
        native=_pin("receiver"),
    ),
    Factor(
        "engine",
        EngineName,
        "The program that moves the data, or a technology whose round trips are measured; `technologies` "
        "stands for all of these.",
        default=DEFAULT_ENGINE,
        native=NativeOption(),
    ),
    *MESSAGE_FACTORS,
    *DATAGRAM_FACTORS,
    Factor(
        "build",
        Build,
        "Build of the native engine, to compare releases: `this` one, the same `again` (their ratio is the "
        "noise floor), or the one `against` which it is held (`pathlab run --against ENGINE`).",
        default=OWN_BUILD,
    ),
    Factor(
        "recording",
        Recording,
        "What is recorded during the traffic: `off` is totals alone, without probes, host counters and TCP "
        "state; `default` is everything every `interval`; `full` is everything every 10 ms.",
        default="default",
    ),
    Factor(
        "background",
        Background,
        "Load during the traffic: `cpu`, `disk`, `network`, all three `combined`, or `none`; `[background]` "
        "says where.",
        default="none",
    ),
    *MULTIPATH_FACTORS,
    Factor("family", Family, "IP version between the hosts.", default="any"),
    Factor("addresses", PairName, "Pair of addresses, by its name in `addresses` of the path."),
)
#: Every factor by its attribute, in the order in which they vary (the first one slowest).
FACTORS: Mapping[str, Factor] = {factor.name: factor for factor in _FACTORS}
#: The same by the key of the file.
FACTORS_BY_KEY: Mapping[str, Factor] = {factor.key: factor for factor in _FACTORS}
#: Keys of what sets cells of one condition apart.
CELL_KEYS = ("streams", "window")
if TYPE_CHECKING:
    FactorKey = str
else:
    FactorKey = Literal[tuple(FACTORS_BY_KEY)]
#: Attributes of the factors that every campaign has, and every stored plan row.
ALWAYS_GIVEN = tuple(factor.name for factor in _FACTORS if factor.always)

#: Settings that only files of other programs have: their words for reading, and their unit.
_IMPORTED: Mapping[str, tuple[str, Unit | None]] = {
    "stream_target_bits_per_s": ("target rate per stream", RATE),
    "stream_pacing_bits_per_s": ("pacing per stream", RATE),
    "transfer_blocks": ("blocks", None),
    "probe_interval_ns": ("probe interval", TIME),
    "probe_bytes": ("probe size", BYTES),
    "stagger_ns": ("stagger", TIME),
    "test_parameters": ("test parameters", None),
}


def name_levels(levels: Mapping[str, Level]) -> dict[str, Level]:
    """Return levels by the keys of the file instead of by attribute; imported settings by their words."""
    return {_find_key(name): level for name, level in levels.items()}


def format_levels(levels: Mapping[str, Level]) -> dict[str, str]:
    """Return levels, by attribute, for reading: by the keys that ``name_levels`` gives."""
    return {_find_key(name): format_level(name, level) for name, level in levels.items()}


def format_level(name: str, level: Level) -> str:
    """Write one level of a setting, by attribute, for reading: ``64 KiB``, ``auto``."""
    factor = FACTORS.get(name)
    if level is None:
        return (factor.unset if factor else None) or "auto"
    if isinstance(level, bool):
        return "yes" if level else "no"
    unit = factor.unit if factor else _IMPORTED.get(name, ("", None))[1]
    return unit.format(level) if isinstance(level, int) and unit is not None else str(level)


def find_default(name: str) -> Level:
    """The level of a setting, by attribute, that a plan row does not name; None: left to the system."""
    factor = FACTORS.get(name)
    return None if factor is None else factor.default


def _find_key(name: str) -> str:
    return FACTORS[name].key if name in FACTORS else _IMPORTED.get(name, (name, None))[0]
