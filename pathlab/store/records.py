"""The records of the store: one frozen dataclass per table; each column with its type, meaning and unit.

From these classes follow the SQL tables, the checks of rows, the exports and docs/COLUMNS.md. A unit is at
the end of the name, or in ``Column``. ``None`` means "not measured" and is never replaced by a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pathlab.store.columns import Column
from pathlab.store.message_columns import MessageColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRecord:
    """What was requested, and by which program; one row per results file."""

    name: Annotated[str, "short name"]
    title: Annotated[str, "title of the report"]
    digest: Annotated[str, "SHA-256 of the campaign's canonical model; decides whether a file may be resumed"]
    text: Annotated[str, "the campaign file as it was given"]
    model: Annotated[dict[str, Any], "the campaign's validated model"]
    seed: Annotated[int, "seed of the order"]
    created_utc: Annotated[str, "when the file was made"]
    program_version: Annotated[str, "PathLab that made the file"]
    environment: Annotated[dict[str, Any], "lab back end, fallback and its reason, the controller's facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord:
    """Facts of one host as its agent stated them at the start of a run."""

    name: Annotated[str, "host as the campaign calls it"]
    recorded_utc: Annotated[str, "time at which its agent stated the facts"]
    facts: Annotated[dict[str, Any], "kernel, CPU, NICs, offloads, limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """One row of the plan, stored before the first packet."""

    row: Annotated[int, Column("row of the plan, in order of execution", "count from 0")]
    cycle: Annotated[int, Column("pass over all combinations", "count from 0")]
    path_source: Annotated[str, "host that sends"]
    path_destination: Annotated[str, "host that receives"]
    settings: Annotated[dict[str, Any], "factor levels by name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord(MessageColumns):
    """One measurement at one combination of factor levels, complete or failed.

    Further columns: ``pathlab/store/message_columns.py``, ``reordering_columns.py``.
    """

    plan_row: Annotated[int, Column("row of the plan", "count from 0")]
    attempt: Annotated[int, Column("attempts at its plan row so far, this one included", "count from 1")]
    status: Annotated[str, "how it ended: a status of the list below"]
    failed_stage: Annotated[str | None, "where it failed: a stage of the list below"]
    failure: Annotated[str | None, "reason of the failure"]
    started_utc: Annotated[str, "start, by the controller's clock"]
    cycle: Annotated[int, Column("pass over all combinations", "count from 0")]
    path_source: Annotated[str, "host that the path begins at; it sends, unless the direction is reverse"]
    path_destination: Annotated[str, "host that the path ends at"]
    source_address: Annotated[str | None, "address of the source; empty: the system chose"]
    destination_address: Annotated[str | None, "address of the destination; empty: the host's own"]
    streams: Annotated[int, Column("parallel connections; 0: none, only probes", "count")]
    window_requested_bytes: Annotated[int | None, "socket buffer requested per stream; empty: autotuning"]
    window_granted_sender_bytes: Annotated[
        int | None,
        "SO_SNDBUF as the kernel reports it; Linux reports double the usable size",
    ]
    window_granted_receiver_bytes: Annotated[
        int | None,
        "SO_RCVBUF as the kernel reports it; Linux reports double the usable size",
    ]
    window_effective_bytes: Annotated[
        float | None, "throughput per stream x mean loaded RTT; empty: not measured, or less than one segment"
    ]
    window_in_flight_max_bytes: Annotated[
        int | None,
        "most that one stream had unacknowledged: largest tcpi_unacked x tcpi_snd_mss",
    ]
    congestion_requested: Annotated[str | None, "congestion control requested; empty: the kernel's default"]
    congestion_sender: Annotated[str | None, "congestion control in use at the sender, read back"]
    congestion_receiver: Annotated[str | None, "congestion control in use at the receiver, read back"]
    mss_bytes: Annotated[int | None, "data in one segment (MSS)"]
    interval_ns: Annotated[int, "length of one interval record"]
    warmup_ns: Annotated[int, "traffic before the steady window"]
    duration_ns: Annotated[int, "requested length of the steady window; 0: until some amount was carried"]
    steady_ns: Annotated[int | None, "measured length of the steady window, by the receiver's clock"]
    received_steady_bytes: Annotated[int | None, "received in the steady window"]
    received_total_bytes: Annotated[int | None, "received in the whole trial"]
    sent_total_bytes: Annotated[int | None, "sent in the whole trial"]
    retransmitted_bytes: Annotated[int | None, "retransmitted by the kernel, whole trial"]
    retransmitted_segments: Annotated[
        int | None,
        "retransmitted by the kernel, whole trial (warm-up and drain included)",
    ]
    throughput_bits_per_s: Annotated[
        float | None,
        "counted by the receiver in the steady window, of data without headers; empty where the engine is a "
        "technology, whose server counts nothing",
    ]
    fairness_jain: Annotated[float | None, "Jain's index over the streams, 1 / streams to 1"]
    probe_method: Annotated[str | None, "icmp-raw, icmp-datagram, udp or tcp"]
    probe_timeout_ns: Annotated[
        int | None,
        "a probe was given up after this time: `probes.timeout`, or three times the longest RTT of a probe",
    ]
    probe_stamps: Annotated[str | None, "where the RTT was taken: kernel, kernel-receive or user"]
    probe_share_ratio: Annotated[
        float | None,
        "rate of the loaded probes, as IP packets, as a share of the lab's link, else of the throughput",
    ]
    control_bits_per_s: Annotated[
        float | None,
        "highest rate, both ways, of the conversation with an agent during the traffic or the unloaded "
        "probes, without what SSH, TCP and IP add; empty: no agent was reached over a network",
    ]
    loaded_sent: Annotated[
        int | None,
        "probes sent in the steady window; of more than 100 000 in a trial, kept as histograms, those of the "
        "intervals wholly inside it",
    ]
    loaded_received: Annotated[int | None, "loaded probes answered"]
    loaded_late: Annotated[
        int | None,
        "loaded probes without an answer that are not lost: they were waited for less than three times the "
        "longest RTT that probes or TCP saw, and their RTT is longer than the wait",
    ]
    loaded_rtt_min_ns: Annotated[float | None, "minimum RTT of the loaded probes"]
    loaded_rtt_mean_ns: Annotated[float | None, "mean RTT of the loaded probes; empty where any is late"]
    loaded_rtt_median_ns: Annotated[
        float | None, "median RTT of the loaded probes; empty where too many are late"
    ]
    loaded_rtt_iqr_ns: Annotated[float | None, "interquartile range of the RTT of the loaded probes"]
    loaded_rtt_mean_above_ns: Annotated[
        float | None, "where loaded probes are late: their mean RTT is above this"
    ]
    loaded_rtt_median_above_ns: Annotated[
        float | None, "where the median of loaded probes is not known since many are late: it is above this"
    ]
    unloaded_sent: Annotated[int | None, "probes sent over the idle path"]
    unloaded_received: Annotated[int | None, "unloaded probes answered"]
    unloaded_late: Annotated[int | None, "unloaded probes without an answer that are not lost"]
    unloaded_rtt_min_ns: Annotated[float | None, "minimum RTT of the unloaded probes"]
    unloaded_rtt_mean_ns: Annotated[float | None, "mean RTT of the unloaded probes"]
    unloaded_rtt_median_ns: Annotated[float | None, "median RTT of the unloaded probes"]
    unloaded_rtt_iqr_ns: Annotated[float | None, "interquartile range of the RTT of the unloaded probes"]
    unloaded_rtt_mean_above_ns: Annotated[
        float | None, "where unloaded probes are late: their mean is above this"
    ]
    unloaded_rtt_median_above_ns: Annotated[
        float | None, "where too many unloaded probes are late: their median is above this"
    ]
    sender_cpu_user_s: Annotated[
        float | None,
        "user CPU time of the sending engine's threads, whole trial; placement fused: of both ends",
    ]
    sender_cpu_system_s: Annotated[
        float | None,
        "system CPU time of the sending engine's threads, whole trial",
    ]
    receiver_cpu_user_s: Annotated[
        float | None,
        "user CPU time of the receiving engine's threads, whole trial; placement fused: empty",
    ]
    receiver_cpu_system_s: Annotated[
        float | None,
        "system CPU time of the receiving engine's threads, whole trial",
    ]
    sender_busiest_core_ratio: Annotated[
        float | None,
        "busy share of the sender's busiest core in the steady window, softirq included",
    ]
    receiver_busiest_core_ratio: Annotated[
        float | None,
        "busy share of the receiver's busiest core in the steady window, softirq included",
    ]
    engine_version: Annotated[
        str | None,
        "version of the engine, or program and version that the trial was imported from",
    ]
    rejected_connections: Annotated[
        int | None,
        "connections without the token of the trial that the data port refused",
    ]
    flags: Annotated[tuple[str, ...], "what to know before reading the figures: flags of the list below"] = ()
    received_reverse_steady_bytes: Annotated[
        int | None,
        "traffic in both directions: bytes of the reverse direction received by the sending end in its "
        "steady window; empty: one direction only, or not measured",
    ] = None
    throughput_reverse_bits_per_s: Annotated[
        float | None,
        "throughput of the reverse direction in that window; throughput_bits_per_s is of the forward "
        "direction only",
    ] = None
    retransmitted_steady_segments: Annotated[
        int | None,
        "retransmitted by the kernel in the steady window, by the sender's clock",
    ] = None
    udp_sent_packets: Annotated[
        int | None,
        "UDP: datagrams sent in the steady window, by the sender's count; by the highest number that arrived "
        "where that count is not known",
    ] = None
    udp_lost_packets: Annotated[
        int | None,
        "UDP: datagrams sent in the steady window that never arrived: sent less received, where both ends "
        "state their numbers; else the receiver's count of missing sequence numbers",
    ] = None
    udp_jitter_ns: Annotated[
        float | None,
        "UDP: interarrival jitter of RFC 3550 at the end of the steady window, mean over the streams",
    ] = None
    undelivered_bytes: Annotated[
        int | None,
        "sent and not received when the drain time was over, both directions together; 0: everything "
        "arrived; empty: not known, or one end failed",
    ] = None
    failover_at_ns: Annotated[
        int | None, "when a member link failed, from the start of the steady window; empty: none failed"
    ] = None
    failover_member: Annotated[str | None, "the member link that failed"] = None
    failover_dip_ratio: Annotated[
        float | None,
        "least rate of one interval from the failure on, of the mean rate before it in the steady window",
    ] = None
    failover_recovery_ns: Annotated[
        int | None,
        "from the failure until the mean rate of three intervals was again 90 % of what the other links "
        "carry, or of the rate before where that is lower; empty: not recovered in the steady window "
        "(failover_censored), or none failed",
    ] = None
    failover_censored: Annotated[
        str | None, "why there is no time of recovery; empty: there is one, or none failed"
    ] = None
    failover_returned_at_ns: Annotated[
        int | None, "when that link worked again, from the start of the steady window; empty: it did not"
    ] = None
    failover_retransmitted_bytes: Annotated[
        int | None, "retransmitted from the failure until the recovery, else until the end of the window"
    ] = None
    datagram_bytes: Annotated[int | None, "UDP: payload of each datagram, as the sender states it"] = None
    udp_received_packets: Annotated[
        int | None,
        "UDP: datagrams sent in the steady window that arrived, each counted once",
    ] = None
    udp_duplicate_packets: Annotated[
        int | None, "UDP: further copies of datagrams sent in the steady window that had arrived before"
    ] = None
    udp_reordered_packets: Annotated[
        int | None,
        "UDP: datagrams sent in the steady window that arrived after one with a higher number (RFC 4737)",
    ] = None
    udp_lost_host_packets: Annotated[
        int | None,
        "UDP: of the lost datagrams, those that counters of the receiving host explain: full socket buffers, "
        "backlog and ring; empty: no such counter was read",
    ] = None
    udp_lost_path_packets: Annotated[
        int | None,
        "UDP: lost datagrams that no counter of the receiving host explains; empty: not known, since a "
        "counter of the host was not read",
    ] = None
    udp_refused_packets: Annotated[
        int | None,
        "UDP: datagrams that the sender's kernel refused in the steady window (ENOBUFS, EPERM ...); they are "
        "not part of those sent",
    ] = None
    udp_foreign_packets: Annotated[
        int | None,
        "UDP: datagrams that came to the receiver's ports without the check of the trial; part of no other "
        "count",
    ] = None
    udp_offered_packets_per_s: Annotated[
        float | None, "UDP: rate at which datagrams were due, over all streams; empty: as fast as possible"
    ] = None
    udp_sent_packets_per_s: Annotated[
        float | None, "UDP: datagrams sent per second of the sender's steady window"
    ] = None
    udp_received_packets_per_s: Annotated[
        float | None, "UDP: datagrams received per second of the receiver's steady window"
    ] = None
    udp_pacing_error_median_ns: Annotated[
        float | None,
        "UDP: median time by which datagrams were handed over later than they were due, whole trial; empty: "
        "no offered rate",
    ] = None
    udp_pacing_error_p99_ns: Annotated[float | None, "UDP: 99th percentile of that time"] = None
    udp_pacing_error_max_ns: Annotated[float | None, "UDP: maximum of that time"] = None
    udp_reorder_extent_max_packets: Annotated[
        int | None,
        "UDP: largest reordering extent of the steady window (RFC 4737, section 4.2); empty: none was "
        "reordered",
    ] = None
    udp_n_reordered_3_packets: Annotated[
        int | None,
        "UDP: datagrams of the steady window that were 3-reordered (RFC 4737, section 5): three "
        "duplicate acknowledgements of TCP would be due",
    ] = None
    udp_late_time_max_ns: Annotated[
        int | None,
        "UDP: longest late time of the steady window (RFC 4737, section 4.3), by the receiver's clock; "
        "empty: none reordered",
    ] = None
    sender_cpu_ns_per_packet: Annotated[
        float | None,
        "UDP: CPU time of the sending engine's threads in the steady window, per datagram sent in it, "
        "without what they spun until datagrams were due",
    ] = None
    receiver_cpu_ns_per_packet: Annotated[
        float | None,
        "UDP: CPU time of the receiving engine's threads in the steady window, per datagram received in it",
    ] = None
    capture_sender_packets: Annotated[int | None, "packets in the sender's capture; empty: none was kept"] = (
        None
    )
    capture_sender_dropped_packets: Annotated[
        int | None, "packets that the sender's capture lost, since its ring was full"
    ] = None
    capture_sender_bytes: Annotated[
        int | None, "size of `captures/trial-N-sender.pcapng` next to this file; N is `trial_id`"
    ] = None
    capture_sender_sha256: Annotated[str | None, "SHA-256 of that file"] = None
    capture_sender_missing: Annotated[
        str | None, "why the sender's capture was requested and has no packets, or ends before the traffic"
    ] = None
    capture_receiver_packets: Annotated[
        int | None, "packets in the receiver's capture; empty: none was kept"
    ] = None
    capture_receiver_dropped_packets: Annotated[
        int | None, "packets that the receiver's capture lost, since its ring was full"
    ] = None
    capture_receiver_bytes: Annotated[
        int | None, "size of `captures/trial-N-receiver.pcapng` next to this file; N is `trial_id`"
    ] = None
    capture_receiver_sha256: Annotated[str | None, "SHA-256 of that file"] = None
    capture_receiver_missing: Annotated[
        str | None, "why the receiver's capture was requested and has no packets, or ends before the traffic"
    ] = None

    @property
    def traffic_ns(self) -> int:
        """Warm-up and steady window as requested; of a trial by amount, the steady window as measured."""
        return self.warmup_ns + (self.duration_ns or self.steady_ns or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginRecord:
    """Where an imported trial comes from; trials that PathLab measured have none."""

    trial_id: Annotated[int, "the imported trial"]
    program: Annotated[str, "iperf3, flent, pscheduler, irtt or crusader"]
    program_version: Annotated[str | None, "its version, where the file has it"]
    file_name: Annotated[str, "file that was imported, without its folder"]
    file_sha256: Annotated[str, "SHA-256 of that file"]
    part: Annotated[str, "which of the file's measurements: forward, reverse or probes"]
    imported_utc: Annotated[str, "when it was imported"]
    details: Annotated[dict[str, Any], "what the file contains and no column holds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """What happened to a run and is no trial: a start, a change, a quarantined host, a missed slot."""

    recorded_utc: Annotated[str, "time of the entry"]
    kind: Annotated[str, "kind of entry"]
    plan_row: Annotated[int | None, Column("row that was about to run, or had just run", "count from 0")]
    text: Annotated[str, "what happened, in one line"]
    facts: Annotated[dict[str, Any], "details as figures"]
