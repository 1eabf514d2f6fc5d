"""Texts of the columns status, failed_stage and flags, each with its meaning."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class _Described(StrEnum):
    """Members are the stored texts; ``meaning`` is one line for docs/COLUMNS.md."""

    meaning: str

    def __new__(cls, value: str, meaning: str) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class Status(_Described):
    """How a trial ended."""

    COMPLETE = "complete", "measured as planned"
    FAILED = "failed", "ended by a failure; see failed_stage and failure"
    INTERRUPTED = "interrupted", "ended by the user or by a signal"


class Phase(_Described):
    """What an interval of a trial belongs to; the texts of the series' column ``phase``."""

    WARMUP = "warmup", "before the steady window; not counted"
    STEADY = "steady", "the steady window, which the trial's columns describe"
    DRAIN = "drain", "after the steady window, until all data has arrived"


class Stage(_Described):
    """Where a trial failed; ``HostError.stage`` has these texts too."""

    CONNECT = "connect", "connection to a host"
    HOST_KEY = "host key", "identity of an SSH server"
    AUTHENTICATION = "authentication", "login at an SSH server"
    INTERPRETER = "interpreter", "Python on a host"
    DEPLOY = "deploy", "files put on a host"
    AGENT = "agent", "program on a host that starts engines and reads counters"
    LOCK = "lock", "lock that keeps a host to one run"
    ENGINE = "engine", "program that sends and receives"
    ADAPTER = "adapter", "program or server of a technology"
    BACKGROUND = "background", "load beside the traffic"
    NETWORK = "network", "traffic or name resolution between the hosts"
    LAB = "lab", "emulated network"
    SAFETY_LIMIT = "safety-limit", "safety limit of the campaign"
    CONTROLLER = "controller", "the machine that conducts the run"


#: A factor at whose level an end states another one than requested gives the flag ``NAME-not-granted``.
NOT_GRANTED = "-not-granted"


class Flag(_Described):
    """What to know before reading the figures of a trial; factors add their own (``NOT_GRANTED``)."""

    LAB = "lab", "measured in a lab on one machine"
    LOOPBACK_FALLBACK = "loopback-fallback", "no lab could be built: measured over loopback"
    LAB_LIMITED = "lab-limited", "the machine could not keep up with the emulation (series lab)"
    HOST_LIMITED = (
        "host-limited",
        "a core was busy, and neither windows nor the lab's link explain the rate; of a UDP flow also: the "
        "receiving host lost 0.1 % of the datagrams or more",
    )
    HOST_STALLED = (
        "host-stalled",
        "for more than an interval a program of the trial was stopped or starved, or its machine paused; the "
        "trial counts nowhere",
    )
    BUSY_CORE = "busy-core", "one core was busy for 95 % or more of the steady window"
    OVER_LINE_RATE = "over-line-rate", "faster than the lab's link can carry"
    RATE_MISSED = (
        "rate-missed",
        "less than 99 % of the offered messages arrived in the steady window; of a UDP flow: less than 99 % "
        "of the offered datagrams were sent in it",
    )
    UNEVEN_WINDOWS = "uneven-windows", "the window of one of several receivers was not within 1 % of the plan"
    ROUTE_CHANGED = "route-changed", "not the route of the reading before, up to a minute and a trial older"
    WINDOW_SHORT = "window-short", "the kernel granted a smaller window than requested"
    CONGESTION_NOT_GRANTED = "congestion-not-granted", "another congestion control than requested was in use"
    TRANSPORT_NOT_GRANTED = "transport-not-granted", "another transport than requested was in use"
    UNDELIVERED_DATA = "undelivered-data", "reset before all data had arrived; the steady window is whole"
    NOT_DRAINED = "not-drained", "the cool-down before the trial ended before the queue had drained"
    CONTROL_TRAFFIC = (
        "control-traffic",
        "the conversation with an agent took more than 1 % of the rate while the trial was measured "
        "(control_bits_per_s); it may have used the path",
    )
    PROBE_SHARE = "probe-share", "the probes took more than 1 % of the rate (probe_share_ratio)"
    CLOCK_JUMPED = "clock-jumped", "the controller's clock jumped during the trial"
    CHANGED_SINCE_START = "changed-since-start", "a host, program or route changed since the campaign began"
    CONTROL = "control", "control trial, repeated to show drift"
    ADAPTER_HOP = "adapter-hop", "the way to the technology's program took over 3 % of the median round trip"
    FOREIGN_CONNECTIONS = (
        "foreign-connections",
        "others connected to the technology's server during the trial (foreign_connections)",
    )
    BACKGROUND_WEAK = (
        "background-weak",
        "a background load had less than `least_share` of its rate alone, or of its threads' time",
    )
    BOND_CHANGED = (
        "bond-changed",
        "a bond of an end changed during the trial: its mode, members or their state",
    )
    CAPTURE_INCOMPLETE = (
        "capture-incomplete",
        "packet headers were requested, and an end has none, or not all (capture_sender_missing, "
        "capture_sender_dropped_packets and those of the receiver)",
    )
    IPERF3 = "iperf3", "iperf3 carried the traffic"
    IMPORTED = "imported", "measured by another program (table origin)"
    SENDER_COUNTED = "sender-counted", "the throughput is what the sender counted"
    FAR_END_BY_HAND = (
        "far-end-by-hand",
        "the far engine was started by hand: CPU, sockets and kernel of that host were not observed",
    )
    TOTAL_COMPUTED = (
        "total-computed",
        "imported; the file has no total of what arrived: it was computed from streams, intervals or loss",
    )
    TOTALS_DIFFER = "totals-differ", "imported; a total of the file contradicts the parts that it sums up"


#: Meaning of a flag that a factor adds.
NOT_GRANTED_MEANING = "an end states another level of the factor NAME than requested"


def describe_flag(flag: str) -> str | None:
    """The meaning of a flag in one line; None where it is not known, as in files of other programs."""
    meaning = next((one.meaning for one in Flag if one == flag), None)
    if meaning is None and flag.endswith(NOT_GRANTED):
        return NOT_GRANTED_MEANING.replace("NAME", flag.removesuffix(NOT_GRANTED))
    return meaning
