"""What one trial requests: path, factor levels, times, and the safety limits beyond which it ends early."""

from __future__ import annotations

from dataclasses import dataclass, field

from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.conduct_model import SafetyLimits
from pathlab.campaign.model import INTERVAL_MAX_NS, INTERVAL_MIN_NS, ProbeSettings, TrialSettings

FORWARD = "forward"
REVERSE = "reverse"
BOTH = "both"
#: Of an engine that was started without a token.
NO_TOKEN = 32 * "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSink:
    """A further host that receives: its name, its address, and the ports that it may listen on."""

    host: str
    address: str
    ports: str = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandStarted:
    """An engine that somebody started by hand: its ``host``, and the ``port`` that it listens on.

    No agent runs there: of that end only what its engine states over the data connections is known.
    """

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPath:
    """An ordered pair of hosts and the addresses used between them.

    ``connect_from`` is the end that opens the data connections: the ``sender`` (the source) or, where only
    the source can be reached, the ``receiver``. Ports are those that an end may listen on: "0" (any) or a
    range such as "5201-5300". With ``one_host`` both ends run on the source host, and both addresses are its
    own; ``destination`` remains that of the plan. ``by_hand``: the engine at one end is not this program's.
    """

    source: str
    destination: str
    source_address: str
    destination_address: str
    connect_from: str = "sender"
    source_ports: str = "0"
    destination_ports: str = "0"
    one_host: bool = False
    sinks: tuple[TrialSink, ...] = ()
    by_hand: HandStarted | None = None

    @property
    def receiving_host(self) -> str:
        """Where the end that the source connects to runs."""
        return self.source if self.one_host else self.destination

    @property
    def hosts(self) -> tuple[str, ...]:
        """All at which the trial runs something."""
        hosts = self.source, self.receiving_host, *(sink.host for sink in self.sinks)
        return tuple(host for host in hosts if self.by_hand is None or host != self.by_hand.host)

    def turned(self) -> TrialPath:
        """The way back."""
        return TrialPath(
            source=self.destination,
            destination=self.source,
            source_address=self.destination_address,
            destination_address=self.source_address,
            connect_from="receiver" if self.connect_from == "sender" else "sender",
            source_ports=self.destination_ports,
            destination_ports=self.source_ports,
            by_hand=self.by_hand,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """Everything that one trial requests. Times in ns, sizes in bytes.

    The sender is the end whose data are counted: the destination of the path where the direction is reverse.
    """

    row: int
    cycle: int
    path: TrialPath
    cell: PlannedCell
    trial: TrialSettings
    probes: ProbeSettings
    rate_cap_bits_per_s: int | None = None  # of the campaign's budget; none where it is above the pacing
    volume_limit_bytes: int | None = None  # at which an end stops, by what it sends and receives
    safety_limits: SafetyLimits = field(default_factory=lambda: SafetyLimits.model_validate({}))

    @property
    def traffic_s(self) -> float:
        """Seconds from go until the slowest permitted end of the drain."""
        return (self.cell.warmup_ns + self.cell.duration_ns + self.trial.drain_ns) / 1e9

    @property
    def flow_path(self) -> TrialPath:
        """The path in the direction of the data that are counted."""
        return self.path.turned() if self.cell.direction == REVERSE else self.path

    @property
    def windows_bytes(self) -> tuple[int | None, int | None]:
        """What is requested at the sending and at the receiving end."""
        return self.cell.window_sender_bytes, self.cell.window_receiver_bytes

    @property
    def records_totals(self) -> bool:
        """Whether totals alone are recorded: no loaded probes, no host counters, no TCP state."""
        return self.cell.recording == "off"

    @property
    def interval_ns(self) -> int:
        """The length of one record."""
        lengths = {"off": INTERVAL_MAX_NS, "full": INTERVAL_MIN_NS}
        return lengths.get(self.cell.recording, self.trial.interval_ns)

    @property
    def rate_bits_per_s(self) -> int | None:
        """The lower one of pacing and cap."""
        requested = [rate for rate in (self.cell.pacing_bits_per_s, self.rate_cap_bits_per_s) if rate]
        return min(requested, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the hosts permit of what a trial requests."""

    probe_method: str  # icmp, udp (to an echo at the destination), or none
    congestion: str | None  # to set on the sockets; None leaves the kernel's default
