#include "probe/ping_records.h"

#include "base/record.h"

bool pl_ping_records_start(struct pl_json *j, const char *address, const struct pl_probe_socket *socket,
                           pl_ns start_ns)
{
    const struct pl_ping_start_record record = {
        .method = pl_method_name(socket->method),
        .stamps = pl_stamps_name(pl_probe_socket_stamps(socket)),
        .address = address,
        .payload_bytes = (int64_t)socket->payload_bytes,
        .monotonic_ns = start_ns,
        .realtime_ns = pl_realtime_ns() - (pl_now_ns() - start_ns),
    };
    return pl_record_write(j, &pl_ping_start_type, &record);
}

bool pl_ping_records_probe(struct pl_json *j, const struct pl_probe *probe)
{
    const struct pl_ping_probe_record record = {
        .sequence = (int64_t)probe->sequence,
        .intended_ns = probe->intended_ns,
        .sent_ns = probe->failed ? -1 : probe->sent_ns,
        .rtt_ns = probe->answered ? probe->rtt_ns : -1,
        .stamps = probe->answered ? pl_stamps_name(probe->stamps) : NULL,
        .held_ns = probe->answered ? probe->held_ns : -1,
        .reordered = probe->answered && probe->reordered,
    };
    return pl_record_write(j, &pl_ping_probe_type, &record);
}

bool pl_ping_records_interval(struct pl_json *j, const struct pl_probe_interval *interval)
{
    const struct pl_ping_round_trips_record record = {
        .start_ns = interval->start_ns,
        .end_ns = interval->end_ns,
        .sent = (int64_t)interval->sent,
        .lost = (int64_t)interval->lost,
        .reordered = (int64_t)interval->reordered,
        .round_trip_ns = &interval->round_trips,
    };
    return pl_record_write(j, &pl_ping_round_trips_type, &record);
}

bool pl_ping_records_overdue(struct pl_json *j, const struct pl_probe *probe, pl_ns overdue_ns)
{
    const struct pl_ping_overdue_record record = {
        .sequence = (int64_t)probe->sequence, .sent_ns = probe->sent_ns, .waited_ns = overdue_ns};
    return pl_record_write(j, &pl_ping_overdue_type, &record);
}

bool pl_ping_records_late(struct pl_json *j, const struct pl_probe *probe)
{
    const struct pl_ping_late_record record = {
        .sequence = (int64_t)probe->sequence,
        .intended_ns = probe->intended_ns,
        .sent_ns = probe->sent_ns,
        .rtt_ns = probe->rtt_ns,
        .stamps = pl_stamps_name(probe->stamps),
    };
    return pl_record_write(j, &pl_ping_late_type, &record);
}

bool pl_ping_records_result(struct pl_json *j, const char *reason, enum pl_method method,
                            const struct pl_ping_counts *counts, const struct pl_histogram *send_lateness)
{
    const struct pl_ping_result_record record = {
        .complete = reason == NULL,
        .reason = reason,
        .method = pl_method_name(method),
        .sent = (int64_t)counts->sent,
        .received = (int64_t)counts->received,
        .duplicates = (int64_t)counts->duplicates,
        .late = (int64_t)counts->late,
        .reordered = (int64_t)counts->reordered,
        .send_errors = (int64_t)counts->send_errors,
        .timeout_ns = counts->timeout_ns,
        .ended_ns = counts->ended_ns,
        .send_error_ns = send_lateness,
    };
    return pl_record_write(j, &pl_ping_result_type, &record);
}
