"""What every column means, in one line each; the unit follows from the end of its name.

Tables: ``trial``, ``plan``, ``host``, ``campaign``, ``origin``; series by kind without ``sender_`` and
``receiver_``. A test holds these names against the records and against the series of a real trial.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Ending of a name and the unit that it stands for; the first that fits counts.
UNITS: Mapping[str, str] = {
    "_bits_per_s": "bit/s",
    "_bytes_per_s": "byte/s",
    "_ns": "ns",
    "_us": "µs",
    "_s": "s",
    "_bytes": "bytes",
    "_segments": "segments",
    "_packets": "packets",
    "_ratio": "ratio",
    "_utc": "ISO 8601, UTC",
    "_cores": "cores",
}
_WHOLE_NAMES: Mapping[str, str] = {
    "bytes": "bytes",
    "packets": "packets",
    "drops": "packets",
    "requeues": "packets",
    "qlen": "packets",
    "streams": "count",
    "cycle": "count from 0",
    "row": "count from 0",
    "plan_row": "count from 0",
    "attempt": "count from 1",
    "hop": "count from 1",
    "index": "count from 0",
    "stream": "count from 0",
    "worker": "count from 0",
    "core": "count from 0",
    "sequence": "count from 0",
    "link": "count from 0",
    "delivery_rate_app_limited": "1: yes, 0: no",
}


def unit_of(name: str) -> str | None:
    """Return the unit of a column, or None where it is a text, a name or a plain count."""
    if name in _WHOLE_NAMES:
        return _WHOLE_NAMES[name]
    return next((unit for ending, unit in UNITS.items() if name.endswith(ending)), None)


TABLE_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "trial": {
        "trial_id": "number of the trial in its file",
        "plan_row": "row of the plan that it measured",
        "attempt": "how often the row had been tried, this one included",
        "status": "complete, failed or interrupted",
        "failed_stage": "where it failed: connect, agent, engine, network, probes, store, controller",
        "failure": "why it failed, as it was said",
        "started_utc": "when it was begun, by the controller's clock",
        "cycle": "pass over all combinations that it belongs to",
        "path_source": "host that the path begins at; it sends, unless the direction is reverse",
        "path_destination": "host that the path ends at",
        "source_address": "address that was sent from; empty: the system chose",
        "destination_address": "address that was sent to; empty: the host's own",
        "streams": "parallel connections; 0: none, only probes",
        "window_requested_bytes": "socket buffer requested per stream; empty: autotuning",
        "window_granted_sender_bytes": "SO_SNDBUF as the kernel reports it; Linux doubles what it grants",
        "window_granted_receiver_bytes": "SO_RCVBUF as the kernel reports it",
        "window_effective_bytes": "throughput per stream x mean loaded RTT",
        "window_in_flight_max_bytes": "most that one stream had unacknowledged",
        "congestion_requested": "congestion control requested; empty: the kernel's default",
        "congestion_sender": "congestion control at work at the sender",
        "congestion_receiver": "congestion control at work at the receiver",
        "mss_bytes": "data in one segment",
        "interval_ns": "length of one record",
        "warmup_ns": "traffic before the steady window",
        "duration_ns": "requested length of the steady window",
        "steady_ns": "measured length of the steady window, receiver's clock",
        "received_steady_bytes": "received in the steady window",
        "received_total_bytes": "received in the whole trial",
        "sent_total_bytes": "sent in the whole trial",
        "retransmitted_bytes": "sent again by the kernel, whole trial",
        "retransmitted_segments": "sent again by the kernel, whole trial (warm-up and drain included)",
        "throughput_bits_per_s": "counted by the receiver in the steady window, of data without headers",
        "fairness_jain": "Jain's index over the streams, 1 / streams to 1",
        "probe_method": "icmp-raw, icmp-datagram, udp or tcp",
        "probe_stamps": "where RTT was taken: kernel, kernel-receive or user",
        "loaded_sent": "probes sent in the steady window",
        "loaded_received": "of these answered in time",
        "loaded_rtt_min_ns": "least RTT of these",
        "loaded_rtt_mean_ns": "mean RTT of these",
        "loaded_rtt_median_ns": "median RTT of these",
        "loaded_rtt_iqr_ns": "interquartile range of these",
        "unloaded_sent": "probes sent over the idle path",
        "unloaded_received": "of these answered in time",
        "unloaded_rtt_min_ns": "least RTT of these",
        "unloaded_rtt_mean_ns": "mean RTT of these",
        "unloaded_rtt_median_ns": "median RTT of these",
        "unloaded_rtt_iqr_ns": "interquartile range of these",
        "sender_cpu_user_s": "user CPU time of the sending engine, whole trial",
        "sender_cpu_system_s": "system CPU time of the sending engine, whole trial",
        "receiver_cpu_user_s": "user CPU time of the receiving engine, whole trial",
        "receiver_cpu_system_s": "system CPU time of the receiving engine, whole trial",
        "sender_busiest_core_ratio": "busy share of the sender's busiest core in the steady window",
        "receiver_busiest_core_ratio": "busy share of the receiver's busiest core in the steady window",
        "engine_version": "version of the engine, or program and version that the trial was imported from",
        "rejected_connections": "strangers turned away from the data port",
        "flags": "what to know before reading the figures: lab, lab-limited, loopback-fallback, "
        "window-short, congestion-not-granted, over-line-rate, busy-core, host-limited, route-changed, "
        "imported, sender-counted, undelivered-data and others that this release sets",
        "received_reverse_steady_bytes": "traffic in both directions: bytes of the reverse direction "
        "received by the sending end in its steady window; empty: one direction only, or not measured",
        "throughput_reverse_bits_per_s": "throughput of the reverse direction in that window; "
        "throughput_bits_per_s is of the forward direction only",
        "retransmitted_steady_segments": "sent again by the kernel in the steady window, by the sender's "
        "clock; empty: not measured, or stored before format 4",
        "udp_sent_packets": "UDP: datagrams sent in the steady window, by the sender's count; by the highest "
        "number that arrived where that count is not known",
        "udp_lost_packets": "UDP: datagrams lost in the steady window, by the receiver's count of missing "
        "sequence numbers",
        "udp_jitter_ns": "UDP: interarrival jitter of RFC 3550 at the end of the steady window, mean over "
        "the streams",
        "undelivered_bytes": "sent and not received when the drain time was up, both directions together; "
        "0: everything arrived; empty: not known",
    },
    "plan": {
        "row": "order of execution",
        "cycle": "pass over all combinations",
        "path_source": "host that sends",
        "path_destination": "host that receives",
        "settings": "factor levels by name",
    },
    "host": {
        "name": "host as the campaign calls it",
        "recorded_utc": "when its agent stated the facts",
        "facts": "kernel, CPU, NICs, offloads, limits",
    },
    "campaign": {
        "name": "short name",
        "title": "title of the report",
        "digest": "SHA-256 of the campaign's model",
        "text": "the campaign file as it was given",
        "model": "the campaign's model",
        "seed": "seed of the order",
        "created_utc": "when the file was made",
        "program_version": "PathLab that made the file",
        "environment": "lab, fallback and its reason",
    },
    "journal": {
        "recorded_utc": "when it was noted",
        "kind": "what kind of thing happened",
        "plan_row": "the row that was about to run, or had just run",
        "text": "what happened, in one line",
        "facts": "what there is to it in figures",
    },
    "origin": {
        "trial_id": "the imported trial",
        "program": "iperf3, flent, pscheduler, irtt or crusader",
        "program_version": "its version, where the file tells",
        "file_name": "file that was imported, without its folder",
        "file_sha256": "SHA-256 of that file",
        "part": "which of the file's measurements: forward, reverse or probes",
        "imported_utc": "when it was imported",
        "details": "what the file tells and no column holds",
    },
}

_STAMPS: Mapping[str, str] = {
    "time_ns": "end of the span",
    "span_ns": "length of the span",
}
_PROBES: Mapping[str, str] = {
    "sequence": "number of the probe",
    "intended_ns": "when it was due",
    "sent_ns": "when it was sent",
    "rtt_ns": "round trip; empty: lost",
    "stamps": "where RTT was taken: kernel, kernel-receive or user; empty: lost, or not told",
    "send_delay_ns": "imported: one way there, as true as the hosts' clocks agree",
    "receive_delay_ns": "imported: one way back, as true as the hosts' clocks agree",
}
#: Kind of series, without the side it was taken at, to its columns.
SERIES_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "intervals": {
        "index": "number of the interval",
        "phase": "warmup, steady or drain",
        "start_ns": "begin of the interval",
        "end_ns": "end of the interval",
        "stream": "stream that the row is of",
        "bytes": "received in it; at an end that only sends: taken by its kernel",
        "sent_bytes": "taken by the kernel, at an end that does both",
        "rtt_us": "kernel's smoothed RTT",
        "rttvar_us": "its mean deviation",
        "min_rtt_us": "least RTT that the kernel saw",
        "snd_cwnd_segments": "congestion window",
        "snd_ssthresh_segments": "slow-start threshold",
        "snd_mss_bytes": "segment size",
        "unacked_segments": "segments under way",
        "lost_segments": "segments thought lost at the moment",
        "total_retrans_segments": "segments sent again since the connection began",
        "reordering_segments": "reordering that the kernel allows for",
        "delivery_rate_bytes_per_s": "kernel's latest delivery rate",
        "delivery_rate_app_limited": "whether that rate was bound by the application",
        "busy_time_us": "time with data to send since the connection began",
        "rwnd_limited_us": "of it held up by the receiver's window",
        "sndbuf_limited_us": "of it held up by the send buffer",
        "bytes_sent": "bytes sent since the connection began, repeats included",
        "bytes_acked": "bytes acknowledged since the connection began",
        "bytes_retrans": "bytes sent again since the connection began",
        "bytes_received": "bytes received since the connection began",
        "delivered_segments": "segments delivered since the connection began",
        "rcv_space_bytes": "receive window that the kernel aims at",
        "snd_wnd_bytes": "window that the peer allows",
        "pmtu_bytes": "path MTU that the kernel knows",
        "max_pacing_bytes_per_s": "rate that the socket is told to keep; empty: not bound",
        "snd_cwnd_bytes": "imported: congestion window",
        "packets": "imported: datagrams in the interval",
        "lost_packets": "imported: of these lost",
        "jitter_ns": "imported: jitter as the program counts it",
    },
    "tcp_info_raw": {
        "index": "interval; empty: the reading at the end",
        "stream": "stream that the row is of",
        "tcp_info": "the kernel's struct tcp_info in the host's byte order (CSV, JSON: base64)",
    },
    "workers": {
        "index": "number of the interval",
        "start_ns": "begin of the interval",
        "end_ns": "end of the interval",
        "worker": "thread of the engine",
        "user_ns": "user CPU time in it",
        "system_ns": "system CPU time in it",
        "waiting_ns": "ready to run, without a core; empty: the kernel does not tell",
        "wake_ups": "returns from waiting",
        "system_calls": "system calls of the data loop",
    },
    "loaded_probes": _PROBES,
    "unloaded_probes": _PROBES,
    "cpu": {
        **_STAMPS,
        "core": "core that the row is of",
        "user_ratio": "share of the span in user code, nice included",
        "system_ratio": "share in the kernel",
        "softirq_ratio": "share in soft interrupts, where the network stack receives",
        "irq_ratio": "share in hard interrupts",
        "steal_ratio": "share that the hypervisor took",
        "idle_ratio": "share idle, waiting for disks included",
    },
    "nics": {
        **_STAMPS,
        "interface": "network interface",
        **{
            f"{way}_{what}": f"{word} {text} in the span"
            for way, word in (("rx", "received"), ("tx", "sent"))
            for what, text in (
                ("bytes", "bytes"),
                ("packets", "packets"),
                ("errors", "with an error"),
                ("dropped", "but dropped"),
            )
        },
    },
    "softnet": {
        **_STAMPS,
        "core": "core that the row is of; empty: the kernel does not tell",
        "processed": "packets taken from the queues in the span",
        "dropped": "packets dropped for a full backlog in the span",
        "time_squeeze": "times that the budget ran out in the span",
    },
    "tcp": {
        **_STAMPS,
        "name": "counter, the kernel's name; empty: not read in this span",
        "value": "how far it rose in the span",
    },
    "qdiscs": {
        **_STAMPS,
        "interface": "network interface",
        "handle": "handle of the queueing discipline",
        "parent": "where it hangs",
        "kind": "name of the discipline",
        "bytes": "bytes sent in the span",
        "packets": "packets sent in the span",
        "drops": "packets dropped in the span",
        "requeues": "packets put back in the span",
        "overlimits": "times over its limit in the span",
        "hw_bytes": "of the bytes sent by the hardware",
        "hw_packets": "of the packets sent by the hardware",
        "backlog_bytes": "bytes waiting at the end of the span",
        "qlen": "packets waiting at the end of the span",
    },
    "settings": {
        "name": "factor",
        "requested": "level requested; empty: none requested",
        "sender": "as the sender read it back; empty: not told",
        "receiver": "as the receiver read it back; empty: not told",
    },
    "route": {
        "hop": "distance from the source",
        "address": "address that answered; empty: silent",
        "fingerprint": "digest of the hops of the first flow, after its format and a colon; one without a "
        "colon is of format 1, which covered all flows, and not comparable",
    },
    "lab": {
        "outside_packets": "packets lost outside the lab's model",
        "late_p99_ns": "99th percentile of the emulator's lateness",
        "emulator_cores": "CPU that the emulator used",
        "host_busy_ratio": "busy share of the machine",
        "steal_ratio": "share that the hypervisor took",
        "reasons": "why the lab is not to be trusted; none: it is",
    },
    "lab_links": {
        "link": "link of the lab's description",
        "direction": "forward or reverse",
        "name": "counter of the emulator (native/PROTOCOL.md)",
        "value": "how far it rose in the traffic",
    },
}


def kind_of(series: str) -> str:
    """Return a kind of series without the side that it was taken at: ``sender_cpu`` is ``cpu``."""
    return series.removeprefix("sender_").removeprefix("receiver_")
