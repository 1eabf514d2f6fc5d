"""Cells: combinations of factor levels, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pathlab.campaign.factor import Level
from pathlab.campaign.factor_model import Combination
from pathlab.campaign.factor_types import (
    Background,
    Build,
    Direction,
    Encoding,
    Family,
    PacingBy,
    Placement,
    Recording,
    Transport,
    Wait,
)
from pathlab.campaign.factors import ALWAYS_GIVEN, FACTORS
from pathlab.campaign.model import Campaign, TrialSettings
from pathlab.campaign.multipath_factors import Bond, Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One combination of factor levels, typed; None leaves the choice to the kernel or the engine.

    ``window_bytes`` is the smaller window where the two ends' differ. ``given`` names the factors that the
    campaign has; the others have the trial's or their default level.
    """

    streams: int
    window_bytes: int | None
    congestion: str | None
    window_sender_bytes: int | None
    window_receiver_bytes: int | None
    duration_ns: int
    warmup_ns: int
    transfer_bytes: int | None  # in each direction; None: by time
    write_bytes: int | None  # of one call
    transport: Transport
    direction: Direction
    dscp: int | None
    ecn: int | None
    pacing_bits_per_s: int | None  # all streams of one direction together
    pacing_by: PacingBy
    mss_bytes: int | None
    no_delay: bool
    zero_copy: bool
    worker_threads: int | None
    cpus: str | None  # at both ends; None where the two differ
    cpus_sender: str | None
    cpus_receiver: str | None
    engine: str
    message_bytes: int | None  # None: a stream of bytes
    reply: bool
    message_rate_per_s: int | None  # all streams together
    datagram_bytes: int | None  # None: the largest that fits the path's MTU
    gso: bool
    gro: bool
    batch_bytes: int | None
    batch_min_delay_ns: int | None
    batch_max_delay_ns: int | None
    cork: bool
    encoding: Encoding
    placement: Placement
    wait: Wait
    priority: int | None
    build: Build  # of the native engine
    recording: Recording
    background: Background
    bond: Bond  # how the links between the hosts are used
    tcp_reordering: int | None  # in segments, before any was seen
    mptcp_subflows: int | None  # at most, the first one included
    mptcp_scheduler: str | None
    failover: Failure  # of a link in the steady window
    family: Family
    addresses: str | None  # name of a pair of the path
    given: tuple[str, ...] = ALWAYS_GIVEN

    @property
    def is_on_one_host(self) -> bool:
        """Whether both ends run on the source host."""
        return self.placement != "host"

    @property
    def levels(self) -> dict[str, Level]:
        """The levels of the factors that the campaign has, by attribute."""
        return {name: getattr(self, name) for name in self.given}


#: The factor that a search for the lossless rate sets, by attribute.
RATE_FACTOR = "pacing_bits_per_s"
_DEFAULTS = {name: factor.default for name, factor in FACTORS.items()}


def build_cell(levels: Mapping[str, Level], trial: TrialSettings) -> PlannedCell:
    """Return the cell with these levels, by attribute; the others are the trial's times and the defaults."""
    times = {"duration_ns": trial.duration_ns, "warmup_ns": trial.warmup_ns}
    values: dict[str, Any] = {**_DEFAULTS, **times, **levels}
    both = values["window_bytes"]
    ends = ("window_sender_bytes", "window_receiver_bytes")
    values |= {end: levels.get(end, both) for end in ends}
    values |= {end: levels.get(end, values["cpus"]) for end in ("cpus_sender", "cpus_receiver")}
    if not levels.keys().isdisjoint(ends):
        values["window_bytes"] = min((values[end] for end in ends if values[end] is not None), default=None)
    return PlannedCell(**values, given=tuple(levels))


def build_combination(combination: Combination, campaign: Campaign) -> PlannedCell:
    """Return the cell of an explicit row or of the control row."""
    return build_cell({name: getattr(combination, name) for name in campaign.factors.given}, campaign.trial)


def pace_cell(cell: PlannedCell, rate_bits_per_s: int) -> PlannedCell:
    """Return the cell of a trial at this rate, which a search sets instead of the factor `pacing`."""
    given = {*cell.given, RATE_FACTOR}
    return replace(
        cell, pacing_bits_per_s=rate_bits_per_s, given=tuple(name for name in FACTORS if name in given)
    )
