"""The campaign file as a frozen model: the one place where its keys, defaults and bounds are named.

Keys in the file are short (``duration = "2s"``); attributes carry their unit (``duration_ns``). A file is
read by ``pathlab.campaign.load``, which also finds contradictions between keys and reports every mistake at
once.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pathlab.campaign.background_model import BackgroundSettings
from pathlab.campaign.conduct_model import CYCLES_MIN_DEFAULT, STOP_RULE, Budget, CoolDown, SafetyLimits
from pathlab.campaign.factor_model import Combination, Control, Factors
from pathlab.campaign.factor_types import PairName
from pathlab.campaign.factors import FactorKey
from pathlab.campaign.failover_model import FailoverSettings
from pathlab.campaign.file_table import Address, FileTable, HostName, Seed
from pathlab.campaign.host_model import Host
from pathlab.campaign.lab_model import LabSettings
from pathlab.campaign.levels import AllowLevels, wrap_text
from pathlab.campaign.quantities import BYTES, COUNT, HOUR_NS, RATE, RATIO, TIME, Bounds
from pathlab.campaign.search_model import SearchSettings
from pathlab.host_names import LOCAL
from pathlab.units import SECOND_NS

CAMPAIGN_NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"
PROFILE_NAME_PATTERN = r"^[a-z][a-z0-9_-]{0,30}$"
#: Lengths of one record that engine and agent know.
INTERVAL_MIN_NS, INTERVAL_MAX_NS = SECOND_NS // 100, 10 * SECOND_NS

ProfileName = Annotated[
    str,
    Field(
        pattern=PROFILE_NAME_PATTERN,
        json_schema_extra={"$comment": "a name of small letters, digits, '_' and '-'"},
    ),
]


class AddressPair(FileTable):
    """Addresses of both ends of a path."""

    source: Address = Field(description="Address to send from.")
    destination: Address = Field(description="Address to send to.")


class MeasuredPath(FileTable):
    """An ordered pair of hosts and the addresses used; the reverse direction is another path."""

    source: HostName = Field(description="The host that sends.")
    destination: HostName = Field(description="The host that receives.")
    sinks: tuple[HostName, ...] = Field(
        (),
        max_length=63,
        description="Further hosts that receive messages: the streams are shared evenly by the destination "
        "and these.",
    )
    source_address: Address | None = Field(None, description="Address to send from; else the system chooses.")
    destination_address: Address | None = Field(None, description="Address to send to; else the host's own.")
    connect_from: Literal["sender", "receiver"] = Field(
        "sender",
        description="The end that opens the data connections: `receiver` where the sender alone can be "
        "reached, as from behind a NAT or a firewall.",
    )
    addresses: dict[PairName, AddressPair] = Field(
        default_factory=dict, description="Pairs of addresses by name, for the factor `addresses`."
    )
    capacity_bits_per_s: Annotated[int | None, Bounds(RATE, 1000, 10**12)] = Field(
        None,
        alias="capacity",
        description="Rate of the path as far as known: for estimates of the plan only.",
    )
    rtt_ns: Annotated[int | None, Bounds(TIME, 1000, 60 * SECOND_NS)] = Field(
        None, alias="rtt", description="Idle round-trip time as far as known: for estimates of the plan only."
    )

    @property
    def hosts(self) -> tuple[str, ...]:
        """All that a trial on this path may need."""
        return self.source, self.destination, *self.sinks


class TrialSettings(FileTable):
    """How one measurement runs."""

    warmup_ns: Annotated[int, Bounds(TIME, 0, HOUR_NS)] = Field(
        SECOND_NS, alias="warmup", description="Traffic before the steady window; not counted."
    )
    duration_ns: Annotated[int, Bounds(TIME, SECOND_NS // 100, 24 * HOUR_NS)] = Field(
        10 * SECOND_NS, alias="duration", description="The steady window, in which throughput is counted."
    )
    interval_ns: Annotated[int, Bounds(TIME, INTERVAL_MIN_NS, INTERVAL_MAX_NS)] = Field(
        SECOND_NS // 10, alias="interval", description="Length of one record of bytes, TCP state and CPU."
    )
    drain_ns: Annotated[int, Bounds(TIME, SECOND_NS // 100, HOUR_NS)] = Field(
        10 * SECOND_NS,
        alias="drain",
        description="The longest wait, after the sender stopped, for what is still queued to arrive. Then "
        "the connections are reset; the trial is complete and marked undelivered-data.",
    )
    capture: Literal["none", "headers"] = Field(
        "none",
        description="Whether packet headers of the traffic are recorded at both ends (docs/CAPTURES.md). A "
        "host without the privilege records none; see `on_missing`.",
    )
    capture_limit_bytes: Annotated[int, Bounds(BYTES, 64 * 1024, 16 * 1024**3)] = Field(
        128 * 1024**2,
        alias="capture_bytes",
        description="Size of one capture at which it ends; about 90 bytes for each packet.",
    )


#: The time-out of probes grows with the round trips, up to this multiple of its length or to the drain time.
TIMEOUT_GROWTH_MAX = 3


class ProbeSettings(FileTable):
    """Round-trip probes: during the steady window, and after the traffic ended and the queue drained."""

    interval_ns: Annotated[int, Bounds(TIME, 100_000, 60 * SECOND_NS)] = Field(
        SECOND_NS // 50,
        alias="interval",
        description="Time between two probes. Of more than 100 000 in a trial, only histograms are kept.",
    )
    payload_bytes: Annotated[int, Bounds(BYTES, 16, 8 * 1024)] = Field(
        56,
        alias="payload",
        description="Data in one probe; by UDP, where ICMP does not work, at least 40 bytes.",
    )
    timeout_ns: Annotated[int, Bounds(TIME, SECOND_NS // 100, 300 * SECOND_NS)] = Field(
        SECOND_NS,
        alias="timeout",
        description="A probe without an answer for so long is given up; a later answer counts too. The "
        "time-out grows to three times the longest RTT, up to three times this value or up to `drain`.",
    )
    unloaded: Annotated[int, Bounds(COUNT, 0, 1_000_000)] = Field(
        50, description="Number of probes after the traffic."
    )

    def find_longest_wait_ns(self, drain_ns: int) -> int:
        """The longest wait for an answer in a trial with this drain time."""
        return max(TIMEOUT_GROWTH_MAX * self.timeout_ns, drain_ns)


class Campaign(FileTable):
    """A path set, factor levels and cycles: what is measured, in which order, and how."""

    format: Annotated[Literal[1], Field(description="Version of this file format.")]
    name: Annotated[
        str,
        Field(
            pattern=CAMPAIGN_NAME_PATTERN,
            description="Short name.",
            json_schema_extra={"$comment": "a name of small letters, digits and '-'"},
        ),
    ]
    title: Annotated[str, Field(min_length=1, max_length=200, description="Title of the report.")]
    description: str = Field("", description="What the campaign is for, in a few sentences.")
    seed: Seed = Field(description="Seed of the random order; the same seed gives the same order.")
    cycles: Annotated[int, Bounds(COUNT, 1, 100_000)] = Field(
        1, description="Passes over all combinations; with `until` see `cycles_max`."
    )
    cycles_min: Annotated[int | None, Bounds(COUNT, 2, 100_000)] = Field(
        None, description="With `until`: cycles before any cell may be done (6 if left out)."
    )
    cycles_max: Annotated[int | None, Bounds(COUNT, 2, 100_000)] = Field(
        None, description="With `until`, and then instead of `cycles`: where the campaign ends in any case."
    )
    until_ratio: Annotated[float | None, Bounds(STOP_RULE)] = Field(
        None,
        alias="until",
        description="Stop rule: a cell is done when the interval of its median is within this.",
    )
    order: Literal["random", "given"] = Field(
        "random",
        description="Order within a cycle: a new random order for each cycle, or as the factors are given.",
    )
    block: Literal["cycle", "cycle+hour"] = Field(
        "cycle",
        description="What the random order is balanced over: cycles, or hours within them as well.",
    )
    design: Literal["full", "lhs", "fraction", "explicit"] = Field(
        "full",
        description="Which combinations: all, a Latin hypercube, a random part, or those of `[[rows]]`.",
    )
    points: Annotated[int | None, Bounds(COUNT, 1, 1_000_000)] = Field(
        None, description="Combinations of a Latin hypercube, or of a random part."
    )
    fraction: Annotated[float | None, Bounds(RATIO)] = Field(
        None, description="Share of all combinations in a random part (instead of `points`)."
    )
    where: Annotated[tuple[str, ...], AllowLevels(), BeforeValidator(wrap_text)] = Field(
        (), description="Constraints that every combination meets, such as `streams * window <= 16MiB`."
    )
    rows: tuple[Combination, ...] = Field(
        (), description="The combinations of an explicit design, in their order."
    )
    compare: FactorKey | None = Field(
        None,
        description="Factor whose levels the report compares with its first one, cycle by cycle; left out: "
        "`build`.",
    )
    control: Control | None = Field(
        None, description="A combination repeated at fixed places, which shows drift."
    )
    retries: Annotated[int, Bounds(COUNT, 0, 100)] = Field(
        1,
        description="How often a failed or host-stalled trial is tried again, at the end of its cycle.",
    )
    lab_retries: Annotated[int, Bounds(COUNT, 0, 10_000)] = Field(
        0,
        description="How many lab-limited trials of a run are measured again, at the end of their cycle.",
    )
    cool_down: CoolDown = Field(CoolDown.model_validate({}), description="The pause between two trials.")
    budget: Budget = Field(Budget.model_validate({}), description="What the campaign may use.")
    safety_limits: SafetyLimits = Field(
        SafetyLimits.model_validate({}),
        description="What a trial may do to the path at most.",
    )
    every_ns: Annotated[int | None, Bounds(TIME, 60 * SECOND_NS, 366 * 24 * HOUR_NS)] = Field(
        None, alias="every", description="A cycle begins this often; left out: one after the other."
    )
    every_jitter_ns: Annotated[int, Bounds(TIME, 0, 24 * HOUR_NS)] = Field(
        0, alias="every_jitter", description="Up to so much later each time, drawn from the seed."
    )
    on_change: Literal["mark", "refuse"] = Field(
        "mark", description="When a host has changed since an unfinished run began: mark it, or refuse."
    )
    on_missing: Literal["skip", "fail"] = Field(
        "skip",
        description="When a host lacks what a technology of `engine` needs: leave its trials out, or fail. "
        "When it may not record packets (`capture`): measure without, or fail.",
    )
    concurrency: Annotated[int, Bounds(COUNT, 1, 1000)] = Field(
        1, description="Trials at once, on paths that have no host in common."
    )
    survey: Literal["none", "before", "before and after"] = Field(
        "none",
        description="When to find out MTU and capacity of every hop, besides the route of each trial.",
    )
    profile: ProfileName | None = Field(None, description="The profile that applies; `--profile` sets it.")
    profiles: dict[ProfileName, dict[str, Any]] = Field(
        default_factory=dict, description="Other values of any keys, by name; `quick` is for trying it out."
    )
    paths: tuple[MeasuredPath, ...] = Field(
        min_length=1, description="What is measured, each from source to destination."
    )
    hosts: dict[HostName, Host] = Field(default_factory=dict, description="Hosts by name.")
    factors: Factors = Field(description="What is varied.")
    trial: TrialSettings = Field(TrialSettings.model_validate({}), description="How one measurement runs.")
    probes: ProbeSettings = Field(ProbeSettings.model_validate({}), description="Round-trip probes.")
    background: BackgroundSettings = Field(
        BackgroundSettings.model_validate({}), description="The load of the factor `background`."
    )
    search: SearchSettings | None = Field(
        None, description="The search for the highest rate of UDP with little loss."
    )
    failover: FailoverSettings = Field(
        FailoverSettings.model_validate({}), description="The failing link of the factor `failover`."
    )
    lab: LabSettings | None = Field(None, description="Hosts and links emulated on this machine.")

    def to_stored(self) -> dict[str, Any]:
        """The model as JSON, keyed by attribute names (``duration_ns``), as a results file keeps it."""
        return self.model_dump(mode="json", by_alias=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of the model; decides whether a results file may be resumed."""
        canonical = json.dumps(self.to_stored(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()

    @property
    def cycles_planned(self) -> int:
        """Cycles that are planned; with a stop rule as many as it may take."""
        return self.cycles if self.until_ratio is None or self.cycles_max is None else self.cycles_max

    @property
    def cycles_least(self) -> int:
        """Cycles that run in any case; all of them without a stop rule."""
        if self.until_ratio is None:
            return self.cycles
        return min(self.cycles_min or CYCLES_MIN_DEFAULT, self.cycles_planned)

    @property
    def measured_hosts(self) -> list[str]:
        """The hosts of all paths, each once."""
        return list(dict.fromkeys(host for path in self.paths for host in path.hosts))

    @property
    def host_names(self) -> tuple[str, ...]:
        """Every host that a path may name: ``local``, the declared ones, and those of the lab."""
        return (LOCAL, *self.hosts, *(self.lab.hosts if self.lab else ()))
