/* Generated from native/records.toml by tools/engine_records.py: not to be edited.
 * PL_RECORDS() and PL_FIELDS_...() give the macro that they are called with a row for each. */
/* clang-format off */
#pragma once
#define PL_FIELDS_common_hello(FIELD, name) \
    FIELD(name, TEXT, program) FIELD(name, TEXT, version) FIELD(name, NUMBER, protocol) \
    FIELD(name, NUMBER, record) FIELD(name, NUMBER, control) FIELD(name, TEXT, subcommand) \
    FIELD(name, NUMBER, pid)
#define PL_FIELDS_flow_start(FIELD, name) \
    FIELD(name, NUMBER, monotonic_ns) FIELD(name, NULLABLE, realtime_ns)
#define PL_FIELDS_load_start(FIELD, name) \
    FIELD(name, NUMBER, monotonic_ns) FIELD(name, NULLABLE, realtime_ns)
#define PL_FIELDS_ping_start(FIELD, name) \
    FIELD(name, TEXT, method) FIELD(name, TEXT, stamps) FIELD(name, TEXT, address) \
    FIELD(name, NUMBER, payload_bytes) FIELD(name, NUMBER, monotonic_ns) FIELD(name, NULLABLE, realtime_ns)
#define PL_FIELDS_ping_probe(FIELD, name) \
    FIELD(name, NUMBER, sequence) FIELD(name, NUMBER, intended_ns) FIELD(name, NULLABLE, sent_ns) \
    FIELD(name, NULLABLE, rtt_ns) FIELD(name, TEXT, stamps) FIELD(name, NULLABLE, held_ns) \
    FIELD(name, FLAG, reordered)
#define PL_FIELDS_ping_late(FIELD, name) \
    FIELD(name, NUMBER, sequence) FIELD(name, NUMBER, intended_ns) FIELD(name, NUMBER, sent_ns) \
    FIELD(name, NUMBER, rtt_ns) FIELD(name, TEXT, stamps)
#define PL_FIELDS_ping_overdue(FIELD, name) \
    FIELD(name, NUMBER, sequence) FIELD(name, NUMBER, sent_ns) FIELD(name, NUMBER, waited_ns)
#define PL_FIELDS_ping_round_trips(FIELD, name) \
    FIELD(name, NUMBER, start_ns) FIELD(name, NUMBER, end_ns) FIELD(name, NUMBER, sent) \
    FIELD(name, NUMBER, lost) FIELD(name, NUMBER, reordered) FIELD(name, ROUND_TRIPS, round_trip_ns)
#define PL_FIELDS_ping_result(FIELD, name) \
    FIELD(name, FLAG, complete) FIELD(name, TEXT, reason) FIELD(name, TEXT, method) \
    FIELD(name, NUMBER, sent) FIELD(name, NUMBER, received) FIELD(name, NULLABLE, duplicates) \
    FIELD(name, NULLABLE, late) FIELD(name, NULLABLE, reordered) FIELD(name, NULLABLE, send_errors) \
    FIELD(name, NUMBER, timeout_ns) FIELD(name, NUMBER, ended_ns) FIELD(name, QUANTILES, send_error_ns)
#define PL_FIELDS_echo_listening(FIELD, name) \
    FIELD(name, TEXT, address) FIELD(name, NUMBER, port) FIELD(name, TEXT, transport)
#define PL_FIELDS_echo_result(FIELD, name) \
    FIELD(name, FLAG, complete) FIELD(name, TEXT, reason) FIELD(name, NUMBER, echoed) \
    FIELD(name, NUMBER, refused) FIELD(name, NUMBER, other_version)
#define PL_FIELDS_capture_result(FIELD, name) \
    FIELD(name, FLAG, complete) FIELD(name, TEXT, reason) FIELD(name, NUMBER, captured_packets) \
    FIELD(name, NUMBER, dropped_packets) FIELD(name, NUMBER, file_bytes) FIELD(name, NULLABLE, cpu_ns)
#define PL_FIELDS_calibrate_clock(FIELD, name) \
    FIELD(name, TEXT, clock) FIELD(name, NUMBER, resolution_ns) FIELD(name, NUMBER, step_ns) \
    FIELD(name, FIGURE, read_ns)
#define PL_FIELDS_calibrate_timer(FIELD, name) \
    FIELD(name, NUMBER, interval_ns) FIELD(name, NUMBER, wake_ups) FIELD(name, QUANTILES, late_ns)
#define PL_FIELDS_calibrate_loopback(FIELD, name) \
    FIELD(name, NUMBER, streams) FIELD(name, TEXT, transfer) FIELD(name, TEXT, congestion) \
    FIELD(name, NUMBER, sender_workers) FIELD(name, NUMBER, receiver_workers) FIELD(name, NUMBER, bytes) \
    FIELD(name, NUMBER, length_ns) FIELD(name, FIGURE, bits_per_s) FIELD(name, FIGURE, cpu_s_per_gb) \
    FIELD(name, FIGURE, tcp_info_read_ns)
#define PL_FIELDS_calibrate_result(FIELD, name) \
    FIELD(name, FLAG, complete)
#define PL_FIELDS_flow_round_trips(FIELD, name) \
    FIELD(name, TEXT, phase) FIELD(name, NUMBER, stream) FIELD(name, NUMBER, start_ns) \
    FIELD(name, NUMBER, end_ns) FIELD(name, ROUND_TRIPS, round_trip_ns)
#define PL_FIELDS_socket(FIELD, name) \
    FIELD(name, NUMBER, stream) FIELD(name, NULLABLE, sndbuf_bytes) FIELD(name, NULLABLE, rcvbuf_bytes) \
    FIELD(name, TEXT, congestion) FIELD(name, NULLABLE, mss_bytes) FIELD(name, NULLABLE, traffic_class) \
    FIELD(name, NULLABLE, max_pacing_bytes_per_s) FIELD(name, NULLABLE, local_port) \
    FIELD(name, NULLABLE, remote_port)
#define PL_FIELDS_worker(FIELD, name) \
    FIELD(name, NUMBER, user_ns) FIELD(name, NUMBER, system_ns) FIELD(name, NULLABLE, waiting_ns) \
    FIELD(name, NULLABLE, spun_ns) FIELD(name, NULLABLE, wake_ups) FIELD(name, NULLABLE, system_calls)
#define PL_RECORDS(RECORD) \
    RECORD(common_hello, "hello") RECORD(flow_start, "start") RECORD(load_start, "start") \
    RECORD(ping_start, "start") RECORD(ping_probe, "probe") RECORD(ping_late, "late") \
    RECORD(ping_overdue, "overdue") RECORD(ping_round_trips, "round_trips") RECORD(ping_result, "result") \
    RECORD(echo_listening, "listening") RECORD(echo_result, "result") RECORD(capture_result, "result") \
    RECORD(calibrate_clock, "clock") RECORD(calibrate_timer, "timer") RECORD(calibrate_loopback, "loopback") \
    RECORD(calibrate_result, "result") RECORD(flow_round_trips, "round_trips") RECORD(socket, NULL) \
    RECORD(worker, NULL)
