"""Types of the records that the engine writes; native/PROTOCOL.md says what each value means.

Generated from native/records.toml by tools/engine_records.py: not to be edited.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args

from pathlab.remote.field_types import (
    Count,
    Figure,
    Flag,
    Histogram,
    Most,
    Name,
    Port,
    Size,
    Stream,
    Streams,
    Structures,
    Text,
    Whole,
)


# No blank lines between the classes.
# fmt: off
class CommonHello(TypedDict):
    type: Literal["hello"]
    program: NotRequired[Name]
    version: NotRequired[Name]
    protocol: NotRequired[Count]
    record: NotRequired[Count]
    control: NotRequired[Count]
    subcommand: NotRequired[Name]
    pid: NotRequired[Count]
class CommonError(TypedDict):
    type: Literal["error"]
    stage: Name
    errno: NotRequired[Whole | None]
    errno_name: NotRequired[Name | None]
    text: Text
class Quantiles(TypedDict):
    median: NotRequired[Figure | None]
    p99: NotRequired[Figure | None]
    max: NotRequired[Figure | None]
class RoundTrips(TypedDict):
    count: Count
    min: Count | None
    max: Count | None
    mean: Figure | None
    hdr: Histogram | None
class Worker(TypedDict):
    user_ns: Count
    system_ns: Count
    waiting_ns: NotRequired[Count | None]
    spun_ns: NotRequired[Count | None]
    wake_ups: NotRequired[Count | None]
    system_calls: NotRequired[Count | None]
class Raw(TypedDict):
    bytes: Size
    base64: Structures
class Subflow(TypedDict):
    stream: Stream
    id: Count | None
    local: Name
    local_port: Port | None
    remote: Name
    remote_port: Port | None
class Socket(TypedDict):
    stream: NotRequired[Stream]
    sndbuf_bytes: NotRequired[Count | None]
    rcvbuf_bytes: NotRequired[Count | None]
    congestion: NotRequired[Name | None]
    mss_bytes: NotRequired[Count | None]
    traffic_class: NotRequired[Count | None]
    max_pacing_bytes_per_s: NotRequired[Count | None]
    local_port: NotRequired[Port | None]
    remote_port: NotRequired[Port | None]
class Transfer(TypedDict):
    requested: NotRequired[Name | None]
    send: NotRequired[Name | None]
    receive: NotRequired[Name | None]
    reason: NotRequired[Name | None]
class Window(TypedDict):
    requested_bytes: NotRequired[Count | None]
    sndbuf_bytes: NotRequired[Count | None]
    rcvbuf_bytes: NotRequired[Count | None]
class Pacing(TypedDict):
    requested_bits_per_s: NotRequired[Figure | None]
    stream_bits_per_s: NotRequired[Figure | None]
    by: NotRequired[Name | None]
class MessageSettings(TypedDict):
    bytes: NotRequired[Count | None]
    encoding: NotRequired[Name | None]
    carrier: NotRequired[Name | None]
    placement: NotRequired[Name | None]
    replies: NotRequired[Flag | None]
    wait: NotRequired[Name | None]
    priority: NotRequired[Count | None]
    queue_bytes: NotRequired[Count | None]
    offered_per_s: NotRequired[Figure | None]
    batch_bytes: NotRequired[Count | None]
    batch_min_delay_ns: NotRequired[Count | None]
    batch_max_delay_ns: NotRequired[Count | None]
    cork: NotRequired[Flag | None]
    clock_ns: NotRequired[Figure | None]
    record_ns: NotRequired[Figure | None]
class DatagramSettings(TypedDict):
    bytes: NotRequired[Count | None]
    gso: NotRequired[Flag | None]
    segments: NotRequired[Count | None]
    pacing: NotRequired[Name | None]
    offered_packets_per_s: NotRequired[Figure | None]
    gro: NotRequired[Flag | None]
class IntervalDatagrams(TypedDict):
    sent: NotRequired[list[Count]]
    refused: NotRequired[list[Count]]
    given_up: NotRequired[list[Count]]
    received: NotRequired[list[Count]]
    lost: NotRequired[list[Whole]]
    duplicate: NotRequired[list[Count]]
    reordered: NotRequired[list[Count]]
    socket_dropped: NotRequired[list[Count | None] | None]
    peer_sent: NotRequired[list[Count | None] | None]
    jitter_ns: NotRequired[list[Figure | None]]
class PhaseDatagrams(TypedDict):
    sent: NotRequired[list[Count]]
    refused: NotRequired[list[Count]]
    given_up: NotRequired[list[Count]]
    received: NotRequired[list[Count]]
    lost: NotRequired[list[Whole | None] | None]
    duplicate: NotRequired[list[Count]]
    reordered: NotRequired[list[Count]]
    socket_dropped: NotRequired[list[Count | None] | None]
    peer_sent: NotRequired[list[Count | None] | None]
    jitter_ns: NotRequired[list[Figure | None]]
class HostLost(TypedDict):
    socket: NotRequired[Count | None]
class Reordering(TypedDict):
    reorder_extents: NotRequired[Annotated[list[Annotated[list[Count], Most(3)]], Most(1000000)]]
    late_times_ns: NotRequired[Annotated[list[Annotated[list[Count], Most(3)]], Most(1000000)]]
    n_reordering: NotRequired[Annotated[list[Annotated[list[Count], Most(3)]], Most(1000000)]]
    reorder_density: NotRequired[Annotated[list[Annotated[list[Whole], Most(2)]], Most(1000000)]]
    displaced_beyond: NotRequired[Count]
    buffer_density: NotRequired[Annotated[list[Annotated[list[Whole], Most(2)]], Most(1000000)]]
    occupied_beyond: NotRequired[Count]
class DatagramTotals(TypedDict):
    sent: NotRequired[list[Count]]
    refused: NotRequired[list[Count]]
    given_up: NotRequired[list[Count]]
    pacing_error_ns: NotRequired[Quantiles | None]
    send_call_ns: NotRequired[Quantiles | None]
    icmp_unreachable: NotRequired[Count | None]
    confirmed: NotRequired[dict[str, list[Whole | None] | None] | None]
    host_lost: NotRequired[HostLost | None]
    foreign: NotRequired[Count | None]
    unclassified: NotRequired[Count | None]
    ecn: NotRequired[dict[str, Count | None] | None]
    histograms: NotRequired[Reordering | None]
class MessageTotals(TypedDict):
    sent: NotRequired[list[Count | None]]
    send_calls: NotRequired[list[Count | None]]
    received: NotRequired[list[Count | None]]
    missing: NotRequired[list[Count | None]]
    out_of_order: NotRequired[list[Count | None]]
    first_arrival_ns: NotRequired[list[Count | None]]
    last_arrival_ns: NotRequired[list[Count | None]]
    send_error_ns: NotRequired[Quantiles | None]
    round_trip_ns: NotRequired[RoundTrips | None]
class FlowPhase(TypedDict):
    start_ns: Count
    end_ns: Count
    bytes: list[Count]
    sent_bytes: NotRequired[list[Count]]
    messages: NotRequired[list[Count]]
    datagrams: NotRequired[PhaseDatagrams | None]
class Phases(TypedDict):
    warmup: NotRequired[FlowPhase]
    steady: NotRequired[FlowPhase]
    drain: NotRequired[FlowPhase]
class FlowListening(TypedDict):
    type: Literal["listening"]
    address: NotRequired[Name]
    port: Port | None
    window: NotRequired[Window | None]
class FlowReady(TypedDict):
    type: Literal["ready"]
    streams: Streams
    rejected: NotRequired[Count | None]
    workers: NotRequired[Count | None]
    cores: NotRequired[Annotated[list[Count | None], Most(8192)]]
    transport: NotRequired[Name | None]
    direction: NotRequired[Name | None]
    warmup_ns: NotRequired[Count | None]
    duration_ns: NotRequired[Count | None]
    bytes: NotRequired[Count | None]
    write_bytes: NotRequired[Count | None]
    read_bytes: NotRequired[Count | None]
    unsent_limited: NotRequired[Flag | None]
    no_delay: NotRequired[Flag | None]
    transfer: NotRequired[Transfer | None]
    pacing: NotRequired[Pacing | None]
    messages: NotRequired[MessageSettings | None]
    datagrams: NotRequired[DatagramSettings | None]
    window: NotRequired[Window | None]
    congestion: NotRequired[Name | None]
    sockets: NotRequired[Annotated[list[Socket], Most(4096)]]
class FlowStart(TypedDict):
    type: Literal["start"]
    monotonic_ns: Count
    realtime_ns: Count | None
class FlowInterval(TypedDict):
    type: Literal["interval"]
    index: Count
    phase: Name
    start_ns: Count
    end_ns: Count
    late_ns: NotRequired[Count | None]
    bytes: list[Count]
    sent_bytes: NotRequired[list[Count]]
    messages: NotRequired[list[Count]]
    datagrams: NotRequired[IntervalDatagrams | None]
    tcp_info: NotRequired[dict[str, list[Count | None]]]
    subflows: NotRequired[Annotated[list[Subflow], Most(65536)] | None]
    tcp_info_raw: NotRequired[Raw | None]
    workers: Annotated[list[Worker], Most(8192)]
class FlowRoundTrips(TypedDict):
    type: Literal["round_trips"]
    phase: Name
    stream: Stream
    start_ns: Count
    end_ns: Count
    round_trip_ns: RoundTrips
class FlowResult(TypedDict):
    type: Literal["result"]
    complete: Flag
    reason: Text | None
    phases: Phases
    total_bytes: list[Count]
    total_sent_bytes: NotRequired[list[Count]]
    confirmed_bytes: NotRequired[list[Count | None] | None]
    undelivered_bytes: NotRequired[list[Count | None] | None]
    reset_streams: NotRequired[Count | None]
    effective_window_bytes: NotRequired[list[Figure | None] | None]
    rejected: NotRequired[Count | None]
    messages: NotRequired[MessageTotals | None]
    datagrams: NotRequired[DatagramTotals | None]
    transfer: NotRequired[Transfer | None]
    workers: Annotated[list[Worker], Most(8192)]
    tcp_info: NotRequired[dict[str, list[Count | None]]]
    subflows: NotRequired[Annotated[list[Subflow], Most(65536)] | None]
    tcp_info_raw: NotRequired[Raw | None]
class PingStart(TypedDict):
    type: Literal["start"]
    method: Name
    stamps: Name | None
    address: NotRequired[Name]
    payload_bytes: Count
    monotonic_ns: Count
    realtime_ns: Count | None
class PingProbe(TypedDict):
    type: Literal["probe"]
    sequence: Count
    intended_ns: Count
    sent_ns: Count | None
    rtt_ns: Count | None
    stamps: Name | None
    held_ns: NotRequired[Count | None]
    reordered: NotRequired[Flag]
class PingLate(TypedDict):
    type: Literal["late"]
    sequence: Count
    intended_ns: Count
    sent_ns: Count
    rtt_ns: Count
    stamps: Name | None
class PingOverdue(TypedDict):
    type: Literal["overdue"]
    sequence: Count
    sent_ns: Count
    waited_ns: Count
class PingRoundTrips(TypedDict):
    type: Literal["round_trips"]
    start_ns: Count
    end_ns: Count
    sent: Count
    lost: Count
    reordered: Count
    round_trip_ns: RoundTrips
class PingResult(TypedDict):
    type: Literal["result"]
    complete: Flag
    reason: Text | None
    method: NotRequired[Name]
    sent: Count
    received: Count
    duplicates: NotRequired[Count | None]
    late: NotRequired[Count | None]
    reordered: NotRequired[Count | None]
    send_errors: NotRequired[Count | None]
    timeout_ns: NotRequired[Count]
    ended_ns: NotRequired[Count]
    send_error_ns: NotRequired[Quantiles | None]
class EchoListening(TypedDict):
    type: Literal["listening"]
    address: NotRequired[Name]
    port: Port
    transport: NotRequired[Name]
class EchoResult(TypedDict):
    type: Literal["result"]
    complete: Flag
    reason: Text | None
    echoed: NotRequired[Count]
    refused: NotRequired[Count]
    other_version: NotRequired[Count]
class Disk(TypedDict):
    file_bytes: NotRequired[Count]
    write_bytes: NotRequired[Count]
    reads: NotRequired[Flag]
class DiskWork(TypedDict):
    written_bytes: Count
    read_bytes: Count | None
    syncs: NotRequired[Count | None]
    sync_ns: NotRequired[Quantiles | None]
class LoadReady(TypedDict):
    type: Literal["ready"]
    cpu_threads: NotRequired[Count]
    nice: NotRequired[Whole]
    disk: NotRequired[Disk | None]
class LoadStart(TypedDict):
    type: Literal["start"]
    monotonic_ns: Count
    realtime_ns: Count | None
class LoadLoad(TypedDict):
    type: Literal["load"]
    start_ns: Count
    end_ns: Count
    cpu_ns: Annotated[list[Count], Most(4096)]
    disk: DiskWork | None
class LoadResult(TypedDict):
    type: Literal["result"]
    complete: Flag
    reason: Text | None
    start_ns: Count
    end_ns: Count
    cpu_ns: Annotated[list[Count], Most(4096)]
    disk: DiskWork | None
    quiet: NotRequired[Flag | None]
    quiet_after_ns: NotRequired[Count | None]
class CaptureReady(TypedDict):
    type: Literal["ready"]
    interfaces: NotRequired[Annotated[list[Name], Most(4096)]]
    snap_bytes: NotRequired[Count]
    ring_bytes: NotRequired[Count]
    limit_bytes: NotRequired[Count]
    monotonic_ns: NotRequired[Count]
    realtime_ns: NotRequired[Count]
class CaptureResult(TypedDict):
    type: Literal["result"]
    complete: Flag
    reason: Text | None
    captured_packets: Count
    dropped_packets: Count
    file_bytes: Count
    cpu_ns: NotRequired[Count | None]
class CalibrateClock(TypedDict):
    type: Literal["clock"]
    clock: NotRequired[Name]
    resolution_ns: Count
    step_ns: NotRequired[Count]
    read_ns: Figure | None
class CalibrateTimer(TypedDict):
    type: Literal["timer"]
    interval_ns: NotRequired[Count]
    wake_ups: NotRequired[Count]
    late_ns: Quantiles | None
class CalibrateLoopback(TypedDict):
    type: Literal["loopback"]
    streams: Count
    transfer: Name
    congestion: Name | None
    sender_workers: NotRequired[Count]
    receiver_workers: NotRequired[Count]
    bytes: NotRequired[Count]
    length_ns: NotRequired[Count]
    bits_per_s: Figure
    cpu_s_per_gb: NotRequired[Figure | None]
    tcp_info_read_ns: Figure | None
class CalibrateResult(TypedDict):
    type: Literal["result"]
    complete: Flag
#: The types of other keys of an object.
FURTHER: Mapping[type, Any] = {
    Subflow: Count | None,
    Transfer: Name | None,
    Window: Count | None,
    Reordering: Annotated[list[Annotated[list[Count], Most(3)]], Most(1000000)],
}
_COMMON = (CommonHello, CommonError)
_FLOW = (FlowListening, FlowReady, FlowStart, FlowInterval, FlowRoundTrips, FlowResult)
_PING = (PingStart, PingProbe, PingLate, PingOverdue, PingRoundTrips, PingResult)
_ECHO = (EchoListening, EchoResult)
_LOAD = (LoadReady, LoadStart, LoadLoad, LoadResult)
_CAPTURE = (CaptureReady, CaptureResult)
_CALIBRATE = (CalibrateClock, CalibrateTimer, CalibrateLoopback, CalibrateResult)
#: The records of a program, by type.
ENGINE_RECORDS: Mapping[str, Mapping[str, type]] = {
    program: {get_args(kind.__annotations__["type"])[0]: kind for kind in (*_COMMON, *kinds)}
    for program, kinds in (
        ("send", _FLOW),
        ("receive", _FLOW),
        ("ping", _PING),
        ("echo", _ECHO),
        ("load", _LOAD),
        ("capture", _CAPTURE),
        ("calibrate", _CALIBRATE),
    )
}
