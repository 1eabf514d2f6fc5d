#include "flow/records.h"

#include "base/bytes.h"
#include "base/record.h"
#include "flow/flow_kind.h"
#include "flow/hello.h"
#include "flow/sockopts.h"

static const char *name_direction(const struct pl_flow *flow)
{
    static const char *const names[] = {"none", "forward", "reverse", "both"};
    return names[pl_flow_direction(flow) & (PL_HELLO_FORWARD | PL_HELLO_REVERSE)];
}

static void write_pacing(struct pl_json *j, const struct pl_flow *flow)
{
    static const char *const names[] = {NULL, "kernel", "user", "txtime"};
    pl_json_begin_object(j, "pacing");
    pl_json_known_i64(j, "requested_bits_per_s", flow->rate_bits_per_s > 0 ? flow->rate_bits_per_s : -1);
    int64_t stream_rate = pl_flow_stream_rate(flow);
    pl_json_known_i64(j, "stream_bits_per_s", stream_rate > 0 ? stream_rate : -1);
    pl_json_string(j, "by", names[flow->pacing]);
    pl_json_end_object(j);
}

static void write_transfer(struct pl_json *j, const struct pl_counters *counters)
{
    struct pl_transfer transfer = pl_pool_transfer(counters->pool);
    pl_json_begin_object(j, "transfer");
    pl_json_string(j, "requested", counters->flow->zero_copy ? "zero-copy" : "copy");
    pl_json_string(j, "send", transfer.send);
    pl_json_string(j, "receive", transfer.receive);
    pl_json_string(j, "reason", transfer.reason);
    pl_json_end_object(j);
}

static void write_cores(struct pl_json *j, const struct pl_counters *counters)
{
    pl_json_begin_array(j, "cores");
    for (uint32_t w = 0; w < counters->workers; w++)
        pl_json_known_i64(j, NULL, pl_pool_core(counters->pool, w));
    pl_json_end_array(j);
}

bool pl_records_ready(struct pl_json *j, const struct pl_counters *counters, int64_t rejected)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_flow_kind *kind = counters->kind;
    struct pl_socket_facts facts;
    pl_read_socket_facts(pl_stream_data_fd(&counters->streams[0], counters->kind), &facts);
    pl_json_begin_record(j, "ready");
    pl_json_i64(j, "streams", flow->streams);
    if (rejected >= 0)
        pl_json_i64(j, "rejected", rejected);
    pl_json_u64(j, "workers", counters->workers);
    write_cores(j, counters);
    pl_json_string(j, "transport",
                   kind->transport != NULL ? kind->transport
                                           : pl_transport_name(pl_counters_transport(counters)));
    pl_json_string(j, "direction", name_direction(flow));
    pl_json_i64(j, "warmup_ns", flow->warmup_ns);
    pl_json_i64(j, "duration_ns", flow->duration_ns);
    pl_json_known_i64(j, "bytes", flow->bytes > 0 ? flow->bytes : -1);
    pl_json_known_i64(j, "write_bytes", flow->transmits ? flow->write_bytes : -1);
    pl_json_known_i64(j, "read_bytes", flow->receives ? flow->read_bytes : -1);
    if (flow->transmits)
        pl_json_bool(j, "unsent_limited", counters->streams[0].backlog.limit_bytes > 0);
    write_transfer(j, counters);
    write_pacing(j, flow);
    if (kind->counts != NULL)
        kind->counts->write_settings(j, counters);
    pl_write_window(j, flow->window_bytes, facts.sndbuf_bytes, facts.rcvbuf_bytes);
    pl_streams_write_sockets(j, counters->streams, counters->count, kind);
    return pl_json_end_record(j);
}

bool pl_records_start(struct pl_json *j, const struct pl_counters *counters)
{
    /* The start may be earlier than now: a worker stamped the first byte. */
    const struct pl_flow_start_record record = {
        .monotonic_ns = counters->start_ns,
        .realtime_ns = pl_realtime_ns() - (pl_now_ns() - counters->start_ns),
    };
    return pl_record_write(j, &pl_flow_start_type, &record);
}

static void write_span(struct pl_json *j, const struct pl_span *span)
{
    pl_json_i64(j, "start_ns", span->start_ns);
    pl_json_i64(j, "end_ns", span->end_ns);
}

/* A worker that had not run at the previous sample has waited since its start. */
static int64_t find_wait(int64_t now_ns, int64_t before_ns)
{
    return now_ns < 0 || before_ns < 0 ? now_ns : now_ns - before_ns;
}

static void write_usage(struct pl_json *j, const struct pl_worker_usage *now,
                        const struct pl_worker_usage *before, uint32_t count)
{
    static const struct pl_worker_usage none;
    pl_json_begin_array(j, "workers");
    for (uint32_t w = 0; w < count; w++) {
        const struct pl_worker_usage *base = before != NULL ? &before[w] : &none;
        const struct pl_worker_record record = {
            .user_ns = now[w].user_ns - base->user_ns,
            .system_ns = now[w].system_ns - base->system_ns,
            .waiting_ns = find_wait(now[w].waiting_ns, base->waiting_ns),
            .spun_ns = now[w].spun_ns - base->spun_ns,
            .wake_ups = (int64_t)(now[w].wake_ups - base->wake_ups),
            .system_calls = (int64_t)(now[w].system_calls - base->system_calls),
        };
        pl_record_write_object(j, NULL, &pl_worker_type, &record);
    }
    pl_json_end_array(j);
}

static void write_tcp_info(struct pl_json *j, const struct pl_counters *counters)
{
    if (counters->flow->tcp_info == PL_TCP_INFO_NONE)
        return;
    pl_tcp_info_write(j, "tcp_info", counters->tcp_info, counters->count);
    if (counters->subflows != NULL)
        pl_subflows_write(j, "subflows", counters->subflows, counters->count);
    if (counters->tcp_info_raw != NULL)
        pl_tcp_info_write_raw(j, "tcp_info_raw", counters->tcp_info_raw, counters->count);
}

bool pl_records_interval(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_interval *interval = &counters->interval;
    bool both = counters->flow->transmits && counters->flow->receives;
    pl_json_begin_record(j, "interval");
    pl_json_i64(j, "index", interval->index);
    pl_json_string(j, "phase", pl_phase_name(interval->phase));
    write_span(j, &interval->span);
    pl_json_i64(j, "late_ns", counters->interval_late_ns);
    pl_byte_counters_write_steps(j, "bytes", pl_counters_reported(counters), counters->count);
    if (both)
        pl_byte_counters_write_steps(j, "sent_bytes", &counters->sent, counters->count);
    if (counters->kind->counts != NULL)
        counters->kind->counts->write_interval(j, counters);
    write_tcp_info(j, counters);
    write_usage(j, counters->usage, counters->previous_usage, counters->workers);
    return pl_json_end_record(j);
}

static void write_phases(struct pl_json *j, const struct pl_counters *counters)
{
    bool both = counters->flow->transmits && counters->flow->receives;
    pl_json_begin_object(j, "phases");
    for (size_t p = 0; p < PL_PHASE_COUNT; p++) {
        pl_json_begin_object(j, pl_phase_name((enum pl_phase)p));
        write_span(j, &counters->phases.spans[p]);
        pl_json_u64s(j, "bytes", pl_counters_reported(counters)->phases[p], counters->count);
        if (both)
            pl_json_u64s(j, "sent_bytes", counters->sent.phases[p], counters->count);
        if (counters->kind->counts != NULL)
            counters->kind->counts->write_phase(j, counters, (enum pl_phase)p);
        pl_json_end_object(j);
    }
    pl_json_end_object(j);
}

/* Bytes received, as stated by the peer; null where it stated none. */
static void write_confirmed(struct pl_json *j, const struct pl_counters *counters)
{
    pl_json_begin_array(j, "confirmed_bytes");
    for (uint32_t s = 0; s < counters->count; s++)
        if (counters->streams[s].confirmed == PL_CONFIRMATION_BYTES)
            pl_json_u64(j, NULL, pl_get64(counters->streams[s].confirmation));
        else
            pl_json_null(j, NULL);
    pl_json_end_array(j);
}

bool pl_records_result(struct pl_json *j, const struct pl_counters *counters, const struct pl_ending *ending)
{
    const struct pl_flow *flow = counters->flow;
    pl_json_begin_record(j, "result");
    pl_json_bool(j, "complete", ending->reason == NULL);
    pl_json_string(j, "reason", ending->reason);
    write_phases(j, counters);
    pl_json_u64s(j, "total_bytes", pl_counters_reported(counters)->current, counters->count);
    if (flow->transmits && flow->receives)
        pl_json_u64s(j, "total_sent_bytes", counters->sent.current, counters->count);
    if (flow->transmits && !flow->receives)
        write_confirmed(j, counters);
    if (flow->transmits) {
        pl_json_begin_array(j, "undelivered_bytes");
        for (uint32_t s = 0; s < counters->count; s++)
            pl_json_known_i64(j, NULL, counters->missing_bytes[s]);
        pl_json_end_array(j);
    }
    pl_json_u64(j, "reset_streams", counters->reset_streams);
    if (flow->transmits && pl_transport_is_tcp(flow->transport) && counters->kind->by_streams) {
        pl_json_begin_array(j, "effective_window_bytes");
        for (uint32_t s = 0; s < counters->count; s++)
            pl_json_known_i64(j, NULL, pl_counters_effective_window(counters, s));
        pl_json_end_array(j);
    }
    if (ending->rejected >= 0)
        pl_json_i64(j, "rejected", ending->rejected);
    if (counters->kind->counts != NULL)
        counters->kind->counts->write_result(j, counters);
    write_transfer(j, counters);
    write_usage(j, counters->usage, NULL, counters->workers);
    write_tcp_info(j, counters);
    return pl_json_end_record(j);
}
