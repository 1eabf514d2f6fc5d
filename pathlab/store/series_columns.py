"""The series of a trial: kinds, columns with type, unit and meaning, and what a stored one has to have.

A kind is stored once for each trial, or for each end (``sender_cpu``, ``receiver_cpu``). Times are integer ns
since the sender's "go", on the clock of the host that took them; in ``receiver_`` series since the first byte
received; of imported trials since the first time in the file. Host counters (nics, softnet, tcp, qdiscs)
are differences over ``span_ns``; null: unknown, since a counter went backwards. What a host does not show has
no series, a span that was not read no rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from pathlab.quantities import name_unit
from pathlab.store.interval_histograms import find_histogram_fault

WHOLE, NUMBER, TEXT, BINARY = pa.int64(), pa.float64(), pa.string(), pa.binary()
TEXTS = pa.list_(TEXT)


@dataclass(frozen=True, slots=True)
class SeriesColumn:
    """One column; ``needed``: a series without it means nothing, ``complete``: every row has a value."""

    meaning: str
    type: pa.DataType = WHOLE
    unit: str | None = None  # where the name does not end with it
    needed: bool = False
    complete: bool = False


@dataclass(frozen=True, slots=True)
class SeriesKind:
    """The columns of a kind by name; ``both_ends``: sender and receiver keep one each."""

    columns: Mapping[str, SeriesColumn]
    both_ends: bool

    @property
    def schema(self) -> pa.Schema:
        """All columns in order."""
        return pa.schema([(name, column.type) for name, column in self.columns.items()])


def _kind(described: Mapping[str, SeriesColumn | str], *, both_ends: bool = True) -> SeriesKind:
    """A bare text is the meaning of a column of whole numbers."""
    columns = {
        name: SeriesColumn(item) if isinstance(item, str) else item for name, item in described.items()
    }
    result = {name: replace(column, unit=name_unit(name, column.unit)) for name, column in columns.items()}
    return SeriesKind(result, both_ends)


_SPAN: Mapping[str, SeriesColumn | str] = {
    "time_ns": "end of the span",
    "span_ns": "length of the span",
}
_INTERVAL: Mapping[str, SeriesColumn | str] = {
    "index": SeriesColumn("number of the interval", unit="count from 0", needed=True, complete=True),
    "start_ns": SeriesColumn("begin of the interval", needed=True, complete=True),
    "end_ns": SeriesColumn("end of the interval", needed=True, complete=True),
}
_PROBES: Mapping[str, SeriesColumn | str] = {
    "sequence": SeriesColumn("number of the probe", unit="count from 0"),
    "intended_ns": "when it was due",
    "sent_ns": SeriesColumn("when it was sent", needed=True),
    "rtt_ns": SeriesColumn("round trip; empty: lost, or late where `waited_ns` says so", needed=True),
    "stamps": SeriesColumn(
        "where RTT was taken: kernel, kernel-receive or user; empty: lost, or not known", TEXT
    ),
    "waited_ns": SeriesColumn(
        "late: no answer within this time, which is less than three times the longest RTT that probes or TCP "
        "saw; the RTT is longer, and the probe is not lost"
    ),
    "send_delay_ns": "imported: one-way delay there, as accurate as the hosts' clocks agree",
    "receive_delay_ns": "imported: one-way delay back, as accurate as the hosts' clocks agree",
}
_DURATIONS: Mapping[str, SeriesColumn | str] = {
    "count": SeriesColumn("round trips in it", unit="count", needed=True, complete=True),
    "min_ns": "shortest of them",
    "max_ns": "longest of them",
    "mean_ns": SeriesColumn("their mean", NUMBER),
    "histogram": SeriesColumn(
        "their histogram in ns: HdrHistogram's V2 encoding, not compressed, 2 digits (CSV, JSON: base64)",
        BINARY,
        needed=True,
    ),
}
_PROBE_HISTOGRAMS: Mapping[str, SeriesColumn | str] = {
    "start_ns": SeriesColumn("begin of the interval", needed=True, complete=True),
    "end_ns": SeriesColumn("end of the interval", needed=True, complete=True),
    "sent": SeriesColumn("probes due in it that were sent", unit="count", needed=True, complete=True),
    "lost": SeriesColumn(
        "of them not answered; late where `waited_ns` says so", unit="count", needed=True, complete=True
    ),
    "waited_ns": SeriesColumn(
        "those without an answer are late, as in the series of single probes, and were waited for so long"
    ),
    "reordered": SeriesColumn("answered after a later probe (RFC 4737)", unit="count"),
    **_DURATIONS,
}
_REORDERING: Mapping[str, SeriesColumn | str] = {
    "reord_seen_events": SeriesColumn("how often it saw reordering since the connection began", unit="count"),
    "dsack_dups_segments": "retransmitted ones that the peer had already (DSACK), since the connection began",
    "rcv_ooopack_segments": "received before an earlier one since the connection began",
}
SERIES: Mapping[str, SeriesKind] = {
    "intervals": _kind(
        {
            "index": SeriesColumn("number of the interval", unit="count from 0", needed=True, complete=True),
            "phase": SeriesColumn("warmup, steady or drain", TEXT, complete=True),
            "start_ns": SeriesColumn("begin of the interval", needed=True, complete=True),
            "end_ns": SeriesColumn("end of the interval", needed=True, complete=True),
            "stream": SeriesColumn(
                "stream that the row is of", unit="count from 0", needed=True, complete=True
            ),
            "bytes": SeriesColumn(
                "received in it; at an end that only sends: taken by its kernel", unit="bytes", complete=True
            ),
            "sent_bytes": "taken by the kernel, at an end that sends and receives",
            "messages": SeriesColumn(
                "messages received in it; at an end that only sends: sent; empty: a stream of bytes",
                unit="count",
            ),
            "rtt_us": "kernel's smoothed RTT",
            "rttvar_us": "its mean deviation",
            "min_rtt_us": "minimum RTT that the kernel saw",
            "snd_cwnd_segments": "congestion window",
            "snd_ssthresh_segments": "slow-start threshold",
            "snd_mss_bytes": "segment size",
            "unacked_segments": "segments in flight",
            "lost_segments": "segments estimated as lost at this time",
            "total_retrans_segments": "segments retransmitted since the connection began",
            "reordering_segments": "reordering that the kernel allows for",
            "delivery_rate_bytes_per_s": "kernel's latest delivery rate",
            "delivery_rate_app_limited": SeriesColumn(
                "whether that rate was limited by the application", unit="1: yes, 0: no"
            ),
            "busy_time_us": "time with data to send since the connection began",
            "rwnd_limited_us": "of it limited by the receiver's window",
            "sndbuf_limited_us": "of it limited by the send buffer",
            "bytes_sent": "bytes sent since the connection began, retransmissions included",
            "bytes_acked": "bytes acknowledged since the connection began",
            "bytes_retrans": "bytes retransmitted since the connection began",
            "bytes_received": "bytes received since the connection began",
            "delivered_segments": "segments delivered since the connection began",
            "rcv_space_bytes": "receive window that the kernel aims at",
            "snd_wnd_bytes": "window that the peer allows",
            "pmtu_bytes": "path MTU that the kernel knows",
            "max_pacing_bytes_per_s": "pacing rate of the socket; empty: not limited",
            "reord_seen_events": _REORDERING["reord_seen_events"],
            "dsack_dups_segments": _REORDERING["dsack_dups_segments"],
            "rcv_ooopack_segments": _REORDERING["rcv_ooopack_segments"],
            "snd_cwnd_bytes": "imported: congestion window",
            "packets": SeriesColumn("imported: datagrams in the interval", unit="packets"),
            "lost_packets": "imported: lost datagrams in the interval",
            "jitter_ns": "imported: jitter as the program counts it",
        },
    ),
    "datagrams": _kind(
        {
            **_INTERVAL,
            "phase": SeriesColumn("warmup, steady or drain", TEXT, complete=True),
            "stream": SeriesColumn(
                "stream that the row is of", unit="count from 0", needed=True, complete=True
            ),
            "sent": SeriesColumn("datagrams sent in it; empty: the end sends none", unit="packets"),
            "refused": SeriesColumn("datagrams that the kernel refused in it", unit="packets"),
            "received": SeriesColumn(
                "datagrams received in it, each counted once; empty: the end receives none", unit="packets"
            ),
            "lost": SeriesColumn(
                "change of the count of missing numbers in it; below 0 where some arrived late",
                unit="packets",
            ),
            "duplicate": SeriesColumn("further copies received in it", unit="packets"),
            "reordered": SeriesColumn(
                "received in it after one with a higher number (RFC 4737)", unit="packets"
            ),
            "jitter_ns": SeriesColumn("jitter at its end (RFC 3550)", NUMBER),
        },
    ),
    "datagram_histograms": _kind(
        {
            "metric": SeriesColumn(
                "what is counted, over all streams and the steady window: loss_runs, reorder_extents, "
                "late_times_ns, n_reordering, reorder_density, buffer_density; displaced_beyond, "
                "occupied_beyond: what is in no bin of the densities",
                TEXT,
                needed=True,
                complete=True,
            ),
            "low": SeriesColumn("smallest value of the bin", needed=True, complete=True),
            "high": SeriesColumn("largest value of the bin", needed=True, complete=True),
            "count": SeriesColumn(
                "datagrams in it; of loss_runs: runs", unit="count", needed=True, complete=True
            ),
        },
        both_ends=False,
    ),
    "subflows": _kind(
        {
            **_INTERVAL,
            "stream": SeriesColumn("MPTCP connection", unit="count from 0", needed=True, complete=True),
            "id": SeriesColumn("the kernel's number of the subflow; empty: not stated", unit="number"),
            "local": SeriesColumn("address of this end", TEXT, needed=True),
            "local_port": SeriesColumn("port of this end", unit="number"),
            "remote": SeriesColumn("address of the other end", TEXT, needed=True),
            "remote_port": SeriesColumn("port of the other end", unit="number"),
            "bytes_sent": "sent since the subflow began, retransmissions included",
            "bytes_acked": "acknowledged since the subflow began",
            "bytes_received": "received since the subflow began",
            "bytes_retrans": "retransmitted since the subflow began",
            "rtt_us": "kernel's smoothed RTT",
            "min_rtt_us": "minimum RTT that the kernel saw",
            "snd_cwnd_segments": "congestion window",
            "total_retrans_segments": "segments retransmitted since the subflow began",
            "lost_segments": "segments estimated as lost at this time",
            **_REORDERING,
            "snd_mss_bytes": "segment size",
        }
    ),
    "tcp_info_raw": _kind(
        {
            "index": SeriesColumn(
                "interval; empty: the reading at the end", unit="count from 0", needed=True
            ),
            "stream": SeriesColumn("stream that the row is of", unit="count from 0", needed=True),
            "tcp_info": SeriesColumn(
                "the kernel's struct tcp_info in the host's byte order (CSV, JSON: base64)",
                BINARY,
                needed=True,
            ),
        },
    ),
    "workers": _kind(
        {
            **_INTERVAL,
            "worker": SeriesColumn("thread of the engine", unit="count from 0", needed=True, complete=True),
            "user_ns": "user CPU time in it",
            "system_ns": "system CPU time in it",
            "waiting_ns": "ready to run, without a core; empty: not stated by the kernel",
            "spun_ns": "CPU time in it in which the thread spun until messages were due",
            "wake_ups": "returns from waiting",
            "system_calls": "system calls of the data loop",
        },
    ),
    "loaded_probes": _kind(_PROBES, both_ends=False),
    "unloaded_probes": _kind(_PROBES, both_ends=False),
    "loaded_probe_histograms": _kind(_PROBE_HISTOGRAMS, both_ends=False),
    "unloaded_probe_histograms": _kind(_PROBE_HISTOGRAMS, both_ends=False),
    "round_trips": _kind(
        {
            "phase": SeriesColumn(
                "warmup or steady, by when messages were due", TEXT, needed=True, complete=True
            ),
            "start_ns": SeriesColumn("begin of the interval", needed=True, complete=True),
            "end_ns": SeriesColumn("end of the interval", needed=True, complete=True),
            "stream": SeriesColumn(
                "stream that the row is of", unit="count from 0", needed=True, complete=True
            ),
            **_DURATIONS,
        },
        both_ends=False,
    ),
    "cpu": _kind(
        {
            **_SPAN,
            "core": SeriesColumn("core that the row is of", unit="count from 0"),
            "user_ratio": SeriesColumn("share of the span in user code, nice included", NUMBER),
            "system_ratio": SeriesColumn("share in the kernel", NUMBER),
            "softirq_ratio": SeriesColumn(
                "share in soft interrupts, where the network stack receives", NUMBER
            ),
            "irq_ratio": SeriesColumn("share in hard interrupts", NUMBER),
            "steal_ratio": SeriesColumn("share that the hypervisor took", NUMBER),
            "idle_ratio": SeriesColumn("share idle, waiting for disks included", NUMBER),
        },
    ),
    "nics": _kind(
        {
            **_SPAN,
            "interface": SeriesColumn("network interface", TEXT),
            "rx_bytes": "received bytes in the span",
            "rx_packets": "received packets in the span",
            "rx_errors": "received with an error in the span",
            "rx_dropped": "received but dropped in the span",
            "rx_missed": "part of rx_dropped: the host had no room, such as a full ring",
            "rx_fifo": "dropped in the span since the device's own buffer was full",
            "rx_nohandler": "dropped in the span by an inactive member of a bond",
            "tx_bytes": "sent bytes in the span",
            "tx_packets": "sent packets in the span",
            "tx_errors": "sent with an error in the span",
            "tx_dropped": "sent but dropped in the span",
        },
    ),
    "softnet": _kind(
        {
            **_SPAN,
            "core": SeriesColumn(
                "core that the row is of; empty: not stated by the kernel", unit="count from 0"
            ),
            "processed": "packets taken from the queues in the span",
            "dropped": "packets dropped for a full backlog in the span",
            "time_squeeze": "times that the budget ran out in the span",
        },
    ),
    "tcp": _kind(
        {
            **_SPAN,
            "name": SeriesColumn("counter, the kernel's name; empty: not read in this span", TEXT),
            "value": "increase in the span",
        },
    ),
    "udp": _kind(
        {
            **_SPAN,
            "name": SeriesColumn("counter, the kernel's name; empty: not read in this span", TEXT),
            "value": "increase in the span",
        },
    ),
    "qdiscs": _kind(
        {
            **_SPAN,
            "interface": SeriesColumn("network interface", TEXT),
            "handle": SeriesColumn("handle of the queueing discipline", TEXT),
            "parent": SeriesColumn("handle of its parent", TEXT),
            "kind": SeriesColumn("name of the discipline", TEXT),
            "bytes": SeriesColumn("bytes sent in the span", unit="bytes"),
            "packets": SeriesColumn("packets sent in the span", unit="packets"),
            "drops": SeriesColumn("packets dropped in the span", unit="packets"),
            "requeues": SeriesColumn("packets requeued in the span", unit="packets"),
            "overlimits": "packets over its rate limit in the span",
            "hw_bytes": "of the bytes sent by the hardware",
            "hw_packets": "of the packets sent by the hardware",
            "backlog_bytes": "bytes waiting at the end of the span",
            "qlen": SeriesColumn("packets waiting at the end of the span", unit="packets"),
        },
    ),
    "members": _kind(
        {
            "end": SeriesColumn("sender or receiver", TEXT, needed=True, complete=True),
            "member": SeriesColumn("interface of a member link", TEXT, needed=True, complete=True),
            "link": SeriesColumn("link of the lab's description; empty: no lab", unit="count from 0"),
            "tx_bytes": SeriesColumn(
                "sent in the steady window, acknowledgements and headers included", needed=True
            ),
            "tx_packets": "sent in it; a virtual interface counts a super-packet once",
            "rx_bytes": SeriesColumn(
                "received in the steady window, acknowledgements and headers included", needed=True
            ),
            "rx_packets": "received in it; a virtual interface counts a super-packet once",
            "tx_dropped": SeriesColumn("dropped instead of sent in it", unit="packets"),
            "rx_dropped": SeriesColumn("received and dropped in it", unit="packets"),
            "covered_ns": "spans of the counters that lie wholly in the steady window, all these are of",
            "rate_bits_per_s": "rate of the lab's link from this end, or speed of the interface",
            "gso_max_segments": SeriesColumn(
                "most packets that the stack handed over as one; 1: each on its own", unit="packets"
            ),
            "gro": SeriesColumn(
                "whether received packets are joined (GRO), which hides reordering from TCP's counters",
                unit="1: yes, 0: no",
            ),
            "state": SeriesColumn("state in the bond before the trial; empty: no bond of the kernel", TEXT),
        },
        both_ends=False,
    ),
    "settings": _kind(
        {
            "name": SeriesColumn("factor", TEXT),
            "requested": SeriesColumn("level requested; empty: none requested", TEXT),
            "sender": SeriesColumn("as the sender read it back; empty: not stated", TEXT),
            "receiver": SeriesColumn("as the receiver read it back; empty: not stated", TEXT),
        },
        both_ends=False,
    ),
    "route": _kind(
        {
            "hop": SeriesColumn("distance from the source", unit="count from 1"),
            "address": SeriesColumn("address that answered; empty: silent", TEXT),
            "fingerprint": SeriesColumn(
                "digest of the hops of the first flow, after its format and a colon",
                TEXT,
            ),
        },
        both_ends=False,
    ),
    "lab": _kind(
        {
            "outside_packets": "packets lost outside the lab's links",
            "late_p99_ns": "99th percentile of the emulator's lateness",
            "emulator_cores": SeriesColumn("CPU that the emulator used", NUMBER),
            "host_busy_ratio": SeriesColumn("busy share of the machine", NUMBER),
            "steal_ratio": SeriesColumn("share that the hypervisor took", NUMBER),
            "reasons": SeriesColumn("why the lab's figures are not valid; none: they are", TEXTS),
        },
        both_ends=False,
    ),
    "lab_links": _kind(
        {
            "link": SeriesColumn("link of the lab's description", unit="count from 0"),
            "direction": SeriesColumn("forward or reverse", TEXT),
            "name": SeriesColumn("counter of the emulator (native/PROTOCOL.md)", TEXT),
            "value": "increase during the traffic",
        },
        both_ends=False,
    ),
}

#: Every kind as it is stored, such as ``sender_cpu``.
SERIES_KINDS = tuple(
    f"{end}{name}"
    for name, kind in SERIES.items()
    for end in (("sender_", "receiver_") if kind.both_ends else ("",))
)


def find_series_kind(kind: str) -> SeriesKind:
    """The description of a stored kind: that of ``cpu`` for ``sender_cpu``."""
    return SERIES[kind.removeprefix("sender_").removeprefix("receiver_")]


def find_column_fault(kind: str, table: pa.Table, *, whole: bool = True) -> str | None:
    """Return what keeps a series from being read as what it is stored as, None where nothing does.

    ``whole``: the table has every column that was stored.
    """
    known = find_series_kind(kind).columns
    for field in table.schema:
        if field.name in known and not _is_fit(field.type, known[field.name].type):
            return f"column '{field.name}' is of the type {field.type}"
    for name, column in known.items():
        if name not in table.column_names:
            if whole and column.needed:
                return f"column '{name}' is missing"
        elif column.complete and table[name].null_count:
            return f"column '{name}' has rows without a value"
    for field in table.schema:
        if pa.types.is_floating(field.type) and pc.any(pc.is_inf(table[field.name])).as_py():
            return f"column '{field.name}' holds an infinite number"
    return find_histogram_fault(table)


def _is_fit(data_type: pa.DataType, wanted: pa.DataType) -> bool:
    number = (
        pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_boolean(data_type)
    )
    return bool(data_type in (wanted, pa.null()) or (number and wanted in (WHOLE, NUMBER)))
