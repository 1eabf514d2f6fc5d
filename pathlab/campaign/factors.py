"""Factor levels expanded into cells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pathlab.campaign.factor_model import Combination, Direction, Engine, Factors, Family, Transport
from pathlab.campaign.levels import FILE_KEYS
from pathlab.campaign.model import Campaign, Trial
from pathlab.units import SECOND_NS, format_bytes, format_rate, format_time

Level = int | str | bool | None
#: What a level that is left to the system is called in a file, where it is not ``auto``.
WORDS: Mapping[str, str] = {"congestion": "default", "pacing": "none", "dscp": "none", "cpus": "any"}
FACTOR_FORMATTERS: Mapping[str, Callable[[int], str]] = {
    **dict.fromkeys(("window", "window_sender", "window_receiver", "message", "mss"), format_bytes),
    **dict.fromkeys(("duration", "warmup"), format_time),
    "pacing": format_rate,
}
#: Settings that only files of other programs tell, by what they are called for reading.
IMPORTED_KEYS: Mapping[str, str] = {
    "stream_target_bits_per_s": "target rate per stream",
    "stream_pacing_bits_per_s": "pacing per stream",
    "transfer_bytes": "transfer",
    "transfer_blocks": "blocks",
    "probe_interval_ns": "probe interval",
    "probe_bytes": "probe size",
    "stagger_ns": "stagger",
    "test_parameters": "test parameters",
}
FORMATTERS: Mapping[str, Callable[[int], str]] = {
    **FACTOR_FORMATTERS,
    **dict.fromkeys(("target rate per stream", "pacing per stream"), format_rate),
    **dict.fromkeys(("transfer", "probe size"), format_bytes),
    **dict.fromkeys(("probe interval", "stagger"), format_time),
}
#: The factors that every campaign has, and every stored plan row.
ALWAYS_GIVEN = ("streams", "window_bytes", "congestion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of factor levels; None leaves the choice to the kernel or the engine.

    ``window_bytes`` is the smaller window where the two ends' differ. ``given`` names the factors that the
    campaign has; the others stand at what the trial's table or the engine has anyway.
    """

    streams: int
    window_bytes: int | None
    congestion: str | None
    window_sender_bytes: int | None
    window_receiver_bytes: int | None
    duration_ns: int
    warmup_ns: int
    message_bytes: int | None = None
    transport: Transport = "tcp"
    direction: Direction = "forward"
    dscp: int | None = None
    pacing_bits_per_s: int | None = None
    mss_bytes: int | None = None
    no_delay: bool = False
    zero_copy: bool = False
    worker_threads: int | None = None
    cpus: str | None = None
    engine: Engine = "native"
    family: Family = "any"
    addresses: str | None = None  # name of a pair of the path
    given: tuple[str, ...] = ALWAYS_GIVEN

    @property
    def traffic_ns(self) -> int:
        """Warm-up and steady window; iperf3 sends for whole seconds."""
        requested_ns = self.warmup_ns + self.duration_ns
        return -(-requested_ns // SECOND_NS) * SECOND_NS if self.engine == "iperf3" else requested_ns

    @property
    def levels(self) -> dict[str, Level]:
        """The levels of the factors that the campaign has, by attribute."""
        return {name: getattr(self, name) for name in self.given}


def list_factors(factors: Factors) -> dict[str, tuple[Level, ...]]:
    """Return the levels of every factor that is given, by attribute, in the order in which they vary."""
    return {name: getattr(factors, name) for name in factors.given}


def expand_levels(factors: Factors) -> Iterator[tuple[Level, ...]]:
    """Yield every combination of the given factors' levels, the first varying slowest, in the order given."""
    return itertools.product(*list_factors(factors).values())


def build_cells(
    names: Sequence[str], combinations: Iterable[Sequence[Level]], trial: Trial
) -> Iterator[Cell]:
    """Yield the cells with these levels of the given factors, which ``names`` are in the same order."""
    given = tuple(names)
    base: dict[str, Any] = {"duration_ns": trial.duration_ns, "warmup_ns": trial.warmup_ns, "given": given}
    apart = "window_sender_bytes" in given or "window_receiver_bytes" in given
    for levels in combinations:
        values = {**base, **dict(zip(given, levels, strict=True))}
        both = values["window_bytes"]
        sender = receiver = both
        if apart:
            sender, receiver = (values.get(f"window_{end}_bytes", both) for end in ("sender", "receiver"))
            values["window_bytes"] = min((end for end in (sender, receiver) if end is not None), default=None)
        values["window_sender_bytes"], values["window_receiver_bytes"] = sender, receiver
        yield Cell(**values)


def build_combination(combination: Combination, campaign: Campaign) -> Cell:
    """Return the cell of an explicit row or of the control row."""
    names = campaign.factors.given
    levels = [getattr(combination, name) for name in names]
    return next(build_cells(names, [levels], campaign.trial))


def name_levels(levels: Mapping[str, Level]) -> dict[str, Level]:
    """Return levels by the keys of the file instead of by attribute; imported settings by their words."""
    keys = {**FILE_KEYS, **IMPORTED_KEYS}
    return {keys.get(name, name): level for name, level in levels.items()}


def find_default(name: str) -> Level:
    """Where a setting stands that a plan row does not name, by attribute; None: left to the system."""
    field = Combination.model_fields.get(name)
    return None if field is None else cast(Level, field.default)


def format_level(key: str, level: Level) -> str:
    """Write one level for reading: ``64 KiB``, ``auto``; ``key`` is the factor's in the file."""
    if level is None:
        return WORDS.get(key, "auto")
    if isinstance(level, bool):
        return "yes" if level else "no"
    if isinstance(level, int) and key in FORMATTERS:
        return FORMATTERS[key](level)
    return str(level)
