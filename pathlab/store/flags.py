"""Texts of the columns status and flags, each with its meaning; those of failed_stage: ``errors.Stage``."""

from __future__ import annotations

from typing import NamedTuple, Self

from pathlab.described_text import DescribedText


class Status(DescribedText):
    """How a trial ended."""

    COMPLETE = "complete", "measured as planned"
    FAILED = "failed", "ended by a failure; see failed_stage and failure"
    INTERRUPTED = "interrupted", "ended by the user or by a signal"


class Phase(DescribedText):
    """What an interval of a trial belongs to; the texts of the series' column ``phase``."""

    WARMUP = "warmup", "before the steady window; not counted"
    STEADY = "steady", "the steady window, which the trial's columns describe"
    DRAIN = "drain", "after the steady window, until all data has arrived"


#: A factor at whose level an end states another one than requested gives the flag ``NAME-not-granted``.
NOT_GRANTED = "-not-granted"


COUNTED, NOT_COUNTED = True, False


class FlagNotice(NamedTuple):
    """Warning of a report on combinations with trials of a flag, which ``{where}`` or ``{within}`` names."""

    short: str
    details: str = ""
    fix: str = ""
    of_most: bool = False  # only where more than half of a combination's trials bear the flag


class Flag(DescribedText):
    """What to know before reading the figures of a trial; factors add their own (``NOT_GRANTED``).

    ``counted``: whether figures that use such trials state their number; ``notice``: what a report warns of.
    A new flag is one member here, and the function that finds it.
    """

    counted: bool
    notice: FlagNotice | None

    def __new__(
        cls, value: str, meaning: str, counted: bool = False, notice: FlagNotice | None = None
    ) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning, member.counted, member.notice = meaning, counted, notice
        return member

    LAB = (
        "lab",
        "measured in a lab on one machine",
        COUNTED,
    )
    LOOPBACK_FALLBACK = (
        "loopback-fallback",
        "no lab could be built: measured over loopback",
        COUNTED,
    )
    LAB_LIMITED = (
        "lab-limited",
        "the machine could not keep up with the emulation (series lab)",
        NOT_COUNTED,
        FlagNotice(
            short="{where} the machine could not keep up with the emulation.",
            details="Packets were lost outside the links, deliveries were late, or no CPU time was left. "
            "These numbers describe the lab, not the path.",
            fix="Repeat the run on an idle machine (--wait-idle 2m).",
            of_most=True,
        ),
    )
    HOST_LIMITED = (
        "host-limited",
        "a core was busy, and neither windows nor the lab's link explain the rate; of a UDP flow also: the "
        "receiving host lost 0.1 % of the datagrams or more",
        COUNTED,
        FlagNotice(
            short="{where} a host's CPU limited the rate.",
            details="These numbers describe the host, not the path.",
            of_most=True,
        ),
    )
    HOST_STALLED = (
        "host-stalled",
        "for more than an interval a program of the trial was stopped or starved, or its machine paused; the "
        "trial counts nowhere",
        NOT_COUNTED,
        FlagNotice(
            short="{where} a program was stopped or starved during trials.",
            details="These trials are in no figure. Their figures describe the pause, not the path.",
        ),
    )
    BUSY_CORE = (
        "busy-core",
        "one core was busy for 95 % or more of the steady window",
        COUNTED,
    )
    OVER_LINE_RATE = (
        "over-line-rate",
        "faster than the lab's link can carry",
        COUNTED,
        FlagNotice(
            short="Some trials {within} show more than the link rate.",
            details="After a loss the receiver delivers held-back data in one burst, which can inflate a "
            "short measurement.",
            fix="Treat these rates as too high.",
        ),
    )
    RATE_MISSED = (
        "rate-missed",
        "less than 99 % of the offered messages arrived in the steady window; of a UDP flow: less than 99 % "
        "of the offered datagrams were sent in it",
    )
    UNEVEN_WINDOWS = (
        "uneven-windows",
        "the window of one of several receivers was not within 1 % of the plan",
        COUNTED,
    )
    ROUTE_CHANGED = (
        "route-changed",
        "not the route of the reading before, up to a minute and a trial older",
        COUNTED,
        FlagNotice("The route changed during the campaign. {where} it may have affected trials."),
    )
    WINDOW_SHORT = (
        "window-short",
        "the kernel granted a smaller window than requested",
        COUNTED,
    )
    CONGESTION_NOT_GRANTED = (
        "congestion-not-granted",
        "another congestion control than requested was in use",
        COUNTED,
    )
    TRANSPORT_NOT_GRANTED = "transport-not-granted", "another transport than requested was in use"
    UNDELIVERED_DATA = (
        "undelivered-data",
        "reset before all data had arrived; the steady window is whole",
        COUNTED,
        FlagNotice(
            "{where} some data had not arrived when the drain time was up, and the connections were reset. "
            "The steady window was over by then, so its figures are valid."
        ),
    )
    NOT_DRAINED = "not-drained", "the cool-down before the trial ended before the queue had drained"
    CONTROL_TRAFFIC = (
        "control-traffic",
        "the conversation with an agent took more than 1 % of the rate while the trial was measured "
        "(control_bits_per_s); it may have used the path",
    )
    PROBE_SHARE = "probe-share", "the probes took more than 1 % of the rate (probe_share_ratio)"
    CLOCK_JUMPED = "clock-jumped", "the controller's clock jumped during the trial"
    CHANGED_SINCE_START = (
        "changed-since-start",
        "a host, program or route changed since the campaign began",
        NOT_COUNTED,
        FlagNotice("{where} a host or a program had changed since the campaign began (see the journal)."),
    )
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
        NOT_COUNTED,
        FlagNotice(
            short="{where} packet headers of one end are missing or incomplete.",
            details="The figures do not depend on them. The trials' columns capture_sender_missing and "
            "capture_receiver_missing say why.",
        ),
    )
    IPERF3 = "iperf3", "iperf3 carried the traffic"
    IMPORTED = (
        "imported",
        "measured by another program (table origin)",
        COUNTED,
    )
    SENDER_COUNTED = (
        "sender-counted",
        "the throughput is what the sender counted",
        COUNTED,
    )
    FAR_END_BY_HAND = (
        "far-end-by-hand",
        "the far engine was started by hand: CPU, sockets and kernel of that host were not observed",
        COUNTED,
    )
    TOTAL_COMPUTED = (
        "total-computed",
        "imported; the file has no total of what arrived: it was computed from streams, intervals or loss",
        COUNTED,
    )
    TOTALS_DIFFER = "totals-differ", "imported; a total of the file contradicts the parts that it sums up"


#: Meaning of a flag that a factor adds.
NOT_GRANTED_MEANING = "an end states another level of the factor NAME than requested"


def describe_flag(flag: str) -> str | None:
    """The meaning of a flag in one line; None where it is not known, as in files of other programs."""
    meaning = next((known.meaning for known in Flag if known == flag), None)
    if meaning is None and flag.endswith(NOT_GRANTED):
        return NOT_GRANTED_MEANING.replace("NAME", flag.removesuffix(NOT_GRANTED))
    return meaning
