"""The records of the store: one frozen dataclass per table, the one place where columns are named.

``pathlab.store.schema`` makes the tables from these classes. Units stand in the names: ``_ns`` integer
nanoseconds, ``_bytes`` integer bytes, ``_bits_per_s`` decimal bit/s, ``_s`` seconds, ``_ratio`` 0 to 1.
``None`` means "not measured" and is never replaced by a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRecord:
    """What was asked for, and by which program; one row per results file."""

    name: str
    title: str
    digest: str  # SHA-256 of the canonical model; decides whether a file may be resumed
    text: str  # the campaign file as it was given
    model: dict[str, Any]  # the validated model as JSON
    seed: int
    created_utc: str  # ISO 8601
    program_version: str
    environment: dict[str, Any]  # lab back end, fallback and its reason, controller's facts


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord:
    """Facts of one host as its agent stated them at the start of a run."""

    name: str
    recorded_utc: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """One row of the plan, stored before the first packet."""

    row: int  # 0-based, order of execution
    cycle: int  # 0-based
    path_source: str
    path_destination: str
    settings: dict[str, Any]  # factor levels: streams, window_bytes, congestion, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One measurement at one combination of factor levels, complete or failed."""

    plan_row: int
    attempt: int  # 1 for the first
    status: str  # complete | failed | interrupted
    failed_stage: str | None  # connect, agent, engine, network, probes, store, controller
    failure: str | None
    started_utc: str
    cycle: int

    path_source: str
    path_destination: str
    source_address: str | None
    destination_address: str | None

    streams: int
    window_requested_bytes: int | None  # None: autotuning
    window_granted_sender_bytes: int | None  # SO_SNDBUF as the kernel reports it (Linux doubles)
    window_granted_receiver_bytes: int | None  # SO_RCVBUF as the kernel reports it
    window_effective_bytes: float | None  # throughput per stream x mean loaded RTT
    window_in_flight_max_bytes: int | None  # largest tcpi_unacked x tcpi_snd_mss seen on one stream
    congestion_requested: str | None  # None: the kernel's default
    congestion_sender: str | None  # read back
    congestion_receiver: str | None
    mss_bytes: int | None

    interval_ns: int
    warmup_ns: int
    duration_ns: int  # asked length of the steady window
    steady_ns: int | None  # measured length of the steady window, receiver's clock
    received_steady_bytes: int | None
    received_total_bytes: int | None
    sent_total_bytes: int | None
    retransmitted_bytes: int | None
    retransmitted_segments: int | None
    throughput_bits_per_s: float | None  # counted by the receiver in the steady window
    fairness_jain: float | None

    probe_method: str | None  # icmp-raw | icmp-datagram | udp
    probe_stamps: str | None  # kernel | kernel-receive | user
    loaded_sent: int | None
    loaded_received: int | None
    loaded_rtt_min_ns: float | None
    loaded_rtt_mean_ns: float | None
    loaded_rtt_median_ns: float | None
    loaded_rtt_iqr_ns: float | None
    unloaded_sent: int | None
    unloaded_received: int | None
    unloaded_rtt_min_ns: float | None
    unloaded_rtt_mean_ns: float | None
    unloaded_rtt_median_ns: float | None
    unloaded_rtt_iqr_ns: float | None

    sender_cpu_user_s: float | None  # the engine's threads, whole trial
    sender_cpu_system_s: float | None
    receiver_cpu_user_s: float | None
    receiver_cpu_system_s: float | None
    sender_busiest_core_ratio: float | None  # busy share of the busiest core, steady window, softirq included
    receiver_busiest_core_ratio: float | None

    engine_version: str | None
    rejected_connections: int | None  # strangers turned away from the data port
    # lab, lab-limited (the lab was beyond what it emulates truly: series lab), loopback-fallback,
    # window-short, congestion-not-granted, over-line-rate, busy-core (one core at 95 % or more), host-limited
    # (a busy core, and neither the windows nor the lab's line explain the rate), route-changed (since the
    # reading before, at most a minute and a trial older: trials since then may have been touched as well),
    # imported (another program measured it: table origin), sender-counted (imported, and its throughput is
    # what the sender counted, since the file holds no count of the receiver), undelivered-data (the drain
    # time was up before all data had arrived, and the connections were reset: the steady window is whole)
    flags: tuple[str, ...] = ()
    # Traffic both ways at once: what came back meanwhile, counted by the sending end in its steady window.
    received_reverse_steady_bytes: int | None = None
    throughput_reverse_bits_per_s: float | None = None
    retransmitted_steady_segments: int | None = None  # retransmitted_segments is of the whole trial
    # Traffic of datagrams: what the receiver counted in the steady window.
    udp_sent_packets: int | None = None
    udp_lost_packets: int | None = None
    udp_jitter_ns: float | None = None  # RFC 3550
    # Sent less received, of both directions, when the trial was over. None: not known, or one end failed.
    undelivered_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRecord:
    """Where an imported trial comes from; trials that PathLab measured have none."""

    trial_id: int
    program: str  # iperf3 | flent | pscheduler | irtt | crusader
    program_version: str | None
    file_name: str  # without its folder
    file_sha256: str
    part: str  # which of the file's measurements: forward | reverse | probes
    imported_utc: str
    details: dict[str, Any]  # what the file tells and no column holds


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """What happened to a run and is no trial: a start, a change, a host set aside, a missed slot."""

    recorded_utc: str  # ISO 8601
    kind: str  # a name of pathlab/runner/journal.py
    plan_row: int | None  # the row that was about to run, or had just run
    text: str  # one line for people
    facts: dict[str, Any]


# Series kept with a trial, one Arrow table each. Times are integer ns since the sender's "go", on the clock
# of the host that took them (unloaded probes and both sides' own clocks included), save receiver_* tables,
# which count from the first byte received.
#
# sender_intervals, receiver_intervals   one row per interval and stream: index, phase, start_ns, end_ns,
#                                        stream, bytes, then the tcp_info columns of native/PROTOCOL.md
# sender_tcp_info_raw, receiver_…        index (null: the reading at the end), stream, tcp_info: the kernel's
#                                        struct tcp_info as it came, in the host's byte order: a field that
#                                        this release does not know is not lost
# sender_workers, receiver_workers       index, start_ns, end_ns, worker, user_ns, system_ns, waiting_ns
#                                        (null: not told), wake_ups, system_calls
# loaded_probes, unloaded_probes         sequence, intended_ns, sent_ns, rtt_ns (null: lost), stamps
# sender_cpu, receiver_cpu               time_ns, span_ns, core, user_ratio, system_ratio, softirq_ratio,
#                                        irq_ratio, steal_ratio, idle_ratio
# sender_nics, receiver_nics             time_ns, span_ns, interface, rx_bytes, rx_packets, rx_errors,
#                                        rx_dropped, tx_bytes, tx_packets, tx_errors, tx_dropped
# sender_softnet, receiver_softnet       time_ns, span_ns, core (null: the kernel does not tell), processed,
#                                        dropped, time_squeeze (whole host, as *_cpu)
# sender_tcp, receiver_tcp               time_ns, span_ns, name (the kernel's), value: a row per counter that
#                                        changed (the others stood still), or one with name and value null
#                                        for a span in which they were not read
# sender_qdiscs, receiver_qdiscs         time_ns, span_ns, interface, handle, parent, kind, bytes, packets,
#                                        drops, requeues, overlimits, hw_bytes, hw_packets, and the levels at
#                                        time_ns: backlog_bytes, qlen (packets)
#
# settings                               name, asked, sender, receiver (texts): every factor as it was asked
#                                        for and as each end read it back; null: not asked, not told
# route                                  the route that the trial began with: hop (1: the first), address
#                                        (null: silent), fingerprint (of the whole route, in each row)
# lab                                    one row: what the lab did during the traffic (outside_packets,
#                                        late_p99_ns, emulator_cores, host_busy_ratio, steal_ratio), and in
#                                        reasons why it is not to be trusted (empty: it is)
# lab_links                              link (as in the lab's description), direction, name, value: what each
#                                        emulated direction counted meanwhile (native/PROTOCOL.md, emulate)
#
# Imported trials keep the same series, as far as their file tells, with times since the first stamp of the
# file and these columns besides: snd_cwnd_bytes, packets, lost_packets, jitter_ns in *_intervals, and in
# *_probes send_delay_ns, receive_delay_ns (one-way, only as true as the hosts' clocks).
#
# The host's counters (nics, softnet, tcp, qdiscs) hold differences over span_ns as agents/PROTOCOL.md tells;
# null: not known (a counter went backwards). A part that the host does not show has no series, a span
# in which it was not read no rows.
SERIES_KINDS = (
    "sender_intervals",
    "receiver_intervals",
    "sender_tcp_info_raw",
    "receiver_tcp_info_raw",
    "sender_workers",
    "receiver_workers",
    "loaded_probes",
    "unloaded_probes",
    "sender_cpu",
    "receiver_cpu",
    "sender_nics",
    "receiver_nics",
    "sender_softnet",
    "receiver_softnet",
    "sender_tcp",
    "receiver_tcp",
    "sender_qdiscs",
    "receiver_qdiscs",
    "settings",
    "route",
    "lab",
    "lab_links",
)
