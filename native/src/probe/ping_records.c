#include "probe/ping_records.h"

bool pl_ping_records_start(struct pl_json *j, const char *address, const struct pl_probe_socket *socket,
                           pl_ns start_ns)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "start");
    pl_json_string(j, "method", pl_method_name(socket->method));
    pl_json_string(j, "stamps", pl_stamps_name(pl_probe_socket_stamps(socket)));
    pl_json_string(j, "address", address);
    pl_json_u64(j, "payload_bytes", socket->payload_bytes);
    pl_json_i64(j, "monotonic_ns", start_ns);
    pl_json_i64(j, "realtime_ns", pl_realtime_ns() - (pl_now_ns() - start_ns));
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

bool pl_ping_records_probe(struct pl_json *j, const struct pl_probe *probe)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "probe");
    pl_json_u64(j, "sequence", probe->sequence);
    pl_json_i64(j, "intended_ns", probe->intended_ns);
    pl_json_known_i64(j, "sent_ns", probe->failed ? -1 : probe->sent_ns);
    pl_json_known_i64(j, "rtt_ns", probe->answered ? probe->rtt_ns : -1);
    pl_json_string(j, "stamps", probe->answered ? pl_stamps_name(probe->stamps) : NULL);
    pl_json_known_i64(j, "held_ns", probe->answered ? probe->held_ns : -1);
    pl_json_bool(j, "reordered", probe->answered && probe->reordered);
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

bool pl_ping_records_interval(struct pl_json *j, const struct pl_probe_interval *interval)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "round_trips");
    pl_json_i64(j, "start_ns", interval->start_ns);
    pl_json_i64(j, "end_ns", interval->end_ns);
    pl_json_u64(j, "sent", interval->sent);
    pl_json_u64(j, "lost", interval->lost);
    pl_json_u64(j, "reordered", interval->reordered);
    pl_histogram_write(&interval->round_trips, j, "round_trip_ns");
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

bool pl_ping_records_overdue(struct pl_json *j, const struct pl_probe *probe, pl_ns overdue_ns)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "overdue");
    pl_json_u64(j, "sequence", probe->sequence);
    pl_json_i64(j, "sent_ns", probe->sent_ns);
    pl_json_i64(j, "waited_ns", overdue_ns);
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

bool pl_ping_records_late(struct pl_json *j, const struct pl_probe *probe)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "late");
    pl_json_u64(j, "sequence", probe->sequence);
    pl_json_i64(j, "intended_ns", probe->intended_ns);
    pl_json_i64(j, "sent_ns", probe->sent_ns);
    pl_json_i64(j, "rtt_ns", probe->rtt_ns);
    pl_json_string(j, "stamps", pl_stamps_name(probe->stamps));
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

bool pl_ping_records_result(struct pl_json *j, const char *reason, enum pl_method method,
                            const struct pl_ping_counts *counts, const struct pl_histogram *send_lateness)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "result");
    pl_json_bool(j, "complete", reason == NULL);
    pl_json_string(j, "reason", reason);
    pl_json_string(j, "method", pl_method_name(method));
    pl_json_u64(j, "sent", counts->sent);
    pl_json_u64(j, "received", counts->received);
    pl_json_u64(j, "duplicates", counts->duplicates);
    pl_json_u64(j, "late", counts->late);
    pl_json_u64(j, "reordered", counts->reordered);
    pl_json_u64(j, "send_errors", counts->send_errors);
    pl_json_i64(j, "timeout_ns", counts->timeout_ns);
    pl_json_i64(j, "ended_ns", counts->ended_ns);
    pl_histogram_write_summary(send_lateness, j, "send_error_ns");
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}
