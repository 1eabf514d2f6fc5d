"""The columns of a trial of messages, of a technology's adapter and of the background load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pathlab.store.columns import Column
from pathlab.store.reordering_columns import ReorderingColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageColumns(ReorderingColumns):
    """Part of ``TrialRecord``."""

    messages_per_s: Annotated[
        float | None,
        "messages received per second of the steady window; with replies: round trips completed per second",
    ] = None
    offered_messages_per_s: Annotated[
        float | None, "rate at which messages were due, over all streams; empty: as fast as possible"
    ] = None
    messages_total: Annotated[
        int | None, Column("messages received in the whole trial, at the end that they were sent to", "count")
    ] = None
    messages_missing: Annotated[
        int | None,
        Column("messages that never arrived; with replies: that never returned", "count"),
    ] = None
    messages_out_of_order: Annotated[
        int | None,
        Column("messages that arrived after one with a higher number (RFC 4737), whole trial", "count"),
    ] = None
    send_calls: Annotated[
        int | None, Column("calls in which the sender handed over messages, whole trial", "count")
    ] = None
    first_arrival_ns: Annotated[
        int | None, "arrival of the first message, since the receiver's start; of several streams the first"
    ] = None
    last_arrival_ns: Annotated[
        int | None, "arrival of the last message, since the receiver's start; of several streams the last"
    ] = None
    round_trips: Annotated[int | None, Column("messages due in the steady window that returned", "count")] = (
        None
    )
    round_trip_min_ns: Annotated[
        float | None, "minimum of those round trips, each from when the message was due until it had returned"
    ] = None
    round_trip_mean_ns: Annotated[float | None, "their mean"] = None
    round_trip_median_ns: Annotated[
        float | None,
        "their median; quantiles are read from a histogram, at most 0.8 % too high; empty: fewer than 10 "
        "round trips are longer",
    ] = None
    round_trip_p90_ns: Annotated[float | None, "their 90th percentile"] = None
    round_trip_p99_ns: Annotated[float | None, "their 99th percentile"] = None
    round_trip_p99_9_ns: Annotated[float | None, "their 99.9th percentile"] = None
    round_trip_p99_99_ns: Annotated[float | None, "their 99.99th percentile"] = None
    round_trip_p99_999_ns: Annotated[float | None, "their 99.999th percentile"] = None
    round_trip_max_ns: Annotated[float | None, "the longest of them"] = None
    send_late_median_ns: Annotated[
        float | None,
        "median time by which messages were handed over later than they were due, whole trial; empty: no "
        "offered rate",
    ] = None
    send_late_p99_ns: Annotated[float | None, "99th percentile of that time"] = None
    send_late_max_ns: Annotated[float | None, "maximum of that time"] = None
    sender_cpu_ns_per_message: Annotated[
        float | None,
        "CPU time of the sending engine's threads in the steady window, per message sent in it (replies: "
        "returned), without what it spun at an offered rate until messages were due; with wait poll the "
        "spinning for messages is part of it; placement fused: of both ends, which are one thread",
    ] = None
    receiver_cpu_ns_per_message: Annotated[
        float | None,
        "CPU time of the receiving engine's threads in the steady window, per message received in it; with "
        "wait poll the spinning for messages is part of it; placement fused: empty; of a technology that of "
        "its server's processes in the whole trial, per request",
    ] = None
    clock_cost_ns: Annotated[
        float | None, "mean cost of one reading of the clock, measured by the sender before the trial"
    ] = None
    record_cost_ns: Annotated[
        float | None, "mean cost of counting one round trip, measured by the sender before the trial"
    ] = None
    engine_sha256: Annotated[
        str | None,
        "SHA-256 of the native engine's file at the sending end; empty: another program, or not started",
    ] = None
    adapter_versions: Annotated[
        str | None, "versions of a technology's libraries and server; empty: the engine is not a technology"
    ] = None
    adapter_settings: Annotated[
        str | None, "settings of both ends of a technology as read back, a JSON object in text"
    ] = None
    adapter_hop_ns: Annotated[
        float | None,
        "median of null requests to a program that is asked over a pipe, before the trial; it is part of "
        "every round trip; empty: the loop is in the program itself",
    ] = None
    server_start_ns: Annotated[
        int | None, "from the start of a technology's server until it listened; its build is not included"
    ] = None
    foreign_connections: Annotated[
        int | None,
        "connections of others at the port of a technology's server during the trial, as far as looks once a "
        "second saw them; empty: not counted (UDP, or no technology)",
    ] = None
    background_cpu_ratio: Annotated[
        float | None,
        "background load: CPU time of its threads in the steady window, of the time that they could have "
        "had; 1: all of them ran all the time; of two loaded ends, the one with less",
    ] = None
    background_disk_bytes_per_s: Annotated[
        float | None,
        "background load: written to disk and read from it in the steady window; of two loaded ends, the one "
        "with less",
    ] = None
    background_network_bits_per_s: Annotated[
        float | None, "background load: received over its path in the steady window"
    ] = None
