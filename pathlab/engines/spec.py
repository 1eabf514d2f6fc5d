"""What one trial asks for: path, factor levels, times, and the ceilings over which it ends early."""

from __future__ import annotations

from dataclasses import dataclass, field

FORWARD = "forward"
REVERSE = "reverse"
BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPath:
    """An ordered pair of hosts and the addresses used between them.

    ``connect_from`` is the end that opens the data connections: the ``sender`` (the source) or, where only
    the source can be reached, the ``receiver``. Ports are those that an end may listen on: "0" (any) or a
    range such as "5201-5300".
    """

    source: str
    destination: str
    source_address: str
    destination_address: str
    connect_from: str = "sender"
    source_ports: str = "0"
    destination_ports: str = "0"

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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSettings:
    """Factor levels besides streams, window and congestion control. None leaves the choice to the host.

    The sender is the end whose data are counted: the destination of the path where ``direction`` is reverse.
    """

    engine: str = "native"  # native | iperf3
    direction: str = FORWARD  # forward | reverse | both, of data along the path
    transport: str = "tcp"  # tcp | mptcp
    window_sender_bytes: int | None = None
    window_receiver_bytes: int | None = None
    message_bytes: int | None = None  # of one write
    dscp: int | None = None
    pacing_bits_per_s: int | None = None  # all streams of one direction together
    mss_bytes: int | None = None
    no_delay: bool = False
    zero_copy: bool = False
    worker_threads: int | None = None
    cpus: str | None = None  # cores to pin the workers to, at both ends, such as 0,2-3


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmCeiling:
    """What a trial may do to the path at most; beyond it the trial ends early. None: no ceiling."""

    loaded_rtt_ns: int | None = None  # median of the latest probes
    loss_ratio: float | None = None  # of the latest probes


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """Everything one trial asks for. Times in ns, sizes in bytes; ``window_bytes`` None means autotuning."""

    row: int
    cycle: int
    path: TrialPath
    streams: int
    window_bytes: int | None  # of both ends; where they differ, the smaller one
    congestion: str | None
    warmup_ns: int
    duration_ns: int
    interval_ns: int
    drain_ns: int
    probe_interval_ns: int
    probe_payload_bytes: int
    probe_timeout_ns: int
    unloaded_count: int
    settings: TrialSettings = field(default_factory=TrialSettings)
    rate_cap_bits_per_s: int | None = None  # of the campaign's budget; none where it is above the pacing
    volume_limit_bytes: int | None = None  # at which an end stops, by what it sends and receives
    harm: HarmCeiling = field(default_factory=HarmCeiling)

    @property
    def traffic_s(self) -> float:
        """Seconds from go until the slowest permitted end of the drain."""
        return (self.warmup_ns + self.duration_ns + self.drain_ns) / 1e9

    @property
    def flow_path(self) -> TrialPath:
        """The path in the direction of the data that are counted."""
        return self.path.turned() if self.settings.direction == REVERSE else self.path

    @property
    def windows_bytes(self) -> tuple[int | None, int | None]:
        """What is asked for at the sending and at the receiving end."""
        settings = self.settings
        if settings.window_sender_bytes is None and settings.window_receiver_bytes is None:
            return self.window_bytes, self.window_bytes
        return settings.window_sender_bytes, settings.window_receiver_bytes

    @property
    def rate_bits_per_s(self) -> int | None:
        """The lower one of pacing and cap."""
        requested = [rate for rate in (self.settings.pacing_bits_per_s, self.rate_cap_bits_per_s) if rate]
        return min(requested, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the hosts let a trial do of what it asks for."""

    probe_method: str  # icmp, or udp (to an echo at the destination)
    congestion: str | None  # to set on the sockets; None leaves the kernel's default
