#include "flow/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/relaxed.h"
#include "flow/delivery.h"
#include "flow/flow_kind.h"

struct pl_counters *pl_counters_create(const struct pl_flow *flow, struct pl_stream *streams,
                                       struct pl_pool *pool, struct pl_error *error)
{
    struct pl_counters *counters = calloc(1, sizeof *counters);
    if (counters == NULL)
        goto no_memory;
    counters->flow = flow;
    counters->kind = flow->kind;
    counters->streams = streams;
    counters->pool = pool;
    counters->count = (uint32_t)flow->streams;
    counters->workers = pl_pool_workers(pool);
    counters->tcp_info = calloc(counters->count, sizeof *counters->tcp_info);
    counters->windows = calloc(counters->count, sizeof *counters->windows);
    counters->missing_bytes = calloc(counters->count, sizeof *counters->missing_bytes);
    counters->usage = calloc(counters->workers, sizeof *counters->usage);
    counters->previous_usage = calloc(counters->workers, sizeof *counters->previous_usage);
    bool raw = flow->tcp_info == PL_TCP_INFO_RAW;
    if (raw)
        counters->tcp_info_raw = calloc(counters->count, sizeof *counters->tcp_info_raw);
    bool subflows = flow->transport == PL_MPTCP && flow->tcp_info != PL_TCP_INFO_NONE;
    if (subflows)
        counters->subflows = calloc(counters->count, sizeof *counters->subflows);
    const struct pl_kind_counts *counts = counters->kind->counts;
    if (counts != NULL)
        counters->samples = counts->create(flow);
    if ((counts == NULL || counters->samples != NULL) &&
        pl_byte_counters_create(&counters->sent, counters->count) &&
        pl_byte_counters_create(&counters->received, counters->count) && counters->tcp_info != NULL &&
        counters->windows != NULL && counters->missing_bytes != NULL && counters->usage != NULL &&
        counters->previous_usage != NULL && (!raw || counters->tcp_info_raw != NULL) &&
        (!subflows || counters->subflows != NULL))
        return counters;
    pl_counters_free(counters);
no_memory:
    pl_error_set(error, PL_RESOURCES, "trial", ENOMEM, "no memory for the trial's counters");
    return NULL;
}

void pl_counters_free(struct pl_counters *counters)
{
    if (counters == NULL)
        return;
    pl_byte_counters_free(&counters->sent);
    pl_byte_counters_free(&counters->received);
    if (counters->samples != NULL)
        counters->kind->counts->free(counters->samples);
    free(counters->tcp_info);
    free(counters->tcp_info_raw);
    free(counters->subflows);
    free(counters->windows);
    free(counters->missing_bytes);
    free(counters->usage);
    free(counters->previous_usage);
    free(counters);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* User and system CPU time grow though the latest share of both may be estimated; their sum is exact. */
static void read_usage(const struct pl_counters *counters, struct pl_worker_usage *usage)
{
    for (uint32_t w = 0; w < counters->workers; w++) {
        const struct pl_worker_usage before = counters->previous_usage[w];
        usage[w] = pl_pool_usage(counters->pool, w);
        int64_t spent_ns = usage[w].user_ns + usage[w].system_ns;
        usage[w].system_ns = larger(usage[w].system_ns, before.system_ns);
        usage[w].user_ns = larger(spent_ns - usage[w].system_ns, before.user_ns);
    }
}

void pl_counters_start(struct pl_counters *counters, pl_ns start_ns)
{
    const struct pl_flow *flow = counters->flow;
    counters->started = true;
    counters->start_ns = start_ns;
    /* A connecting end's threads with one role have only slept, and may send already. */
    if (!counters->kind->one_role || flow->accepting)
        read_usage(counters, counters->previous_usage);
    /* In a flow by bytes the steady window lasts until they are carried. */
    pl_phases_begin(&counters->phases, flow->interval_ns, flow->warmup_ns,
                    flow->bytes > 0 ? PL_UNPLANNED_NS : flow->duration_ns);
}

enum pl_transport pl_counters_transport(const struct pl_counters *counters)
{
    enum pl_transport requested = counters->flow->transport;
    for (uint32_t s = 0; s < counters->count; s++) {
        enum pl_transport found = pl_transport_in_use(requested, counters->streams[s].fd);
        if (found != requested)
            return found;
    }
    return requested;
}

/* The byte counters are read first and in one pass, since they must belong to one instant. */
static pl_ns take_sample(struct pl_counters *counters)
{
    pl_byte_counters_swap(&counters->sent);
    pl_byte_counters_swap(&counters->received);
    pl_ns now_ns = pl_now_ns();
    for (uint32_t s = 0; s < counters->count; s++) {
        const struct pl_stream *stream = &counters->streams[s];
        counters->sent.current[s] = pl_load_relaxed(&stream->sent_bytes);
        counters->received.current[s] = pl_load_relaxed(&stream->received_bytes);
    }
    if (counters->samples != NULL)
        counters->kind->counts->take(counters->samples, counters);
    for (uint32_t s = 0; s < counters->count && counters->flow->tcp_info != PL_TCP_INFO_NONE; s++)
        (void)pl_tcp_info_read(pl_stream_data_fd(&counters->streams[s], counters->kind),
                               &counters->tcp_info[s],
                               counters->tcp_info_raw != NULL ? &counters->tcp_info_raw[s] : NULL);
    for (uint32_t s = 0; s < counters->count && counters->subflows != NULL; s++)
        pl_subflows_read(pl_stream_data_fd(&counters->streams[s], counters->kind), &counters->subflows[s]);
    read_usage(counters, counters->usage);
    return now_ns;
}

void pl_counters_sample(struct pl_counters *counters)
{
    (void)take_sample(counters);
}

/* The sample that ends the warm-up is the window's first one. */
static void sample_window(struct pl_window_samples *window, const struct pl_tcp_info *info, pl_ns now_ns,
                          bool first)
{
    uint64_t acked;
    uint64_t rtt_us;
    if (!pl_tcp_info_find(info, "bytes_acked", &acked) || !pl_tcp_info_find(info, "rtt_us", &rtt_us))
        return;
    if (first || window->first_ns == 0) {
        window->acked_first = acked;
        window->first_ns = now_ns;
    } else {
        window->rtt_sum_us += (double)rtt_us;
        window->rtt_count++;
    }
    window->acked_last = acked;
    window->last_ns = now_ns;
}

void pl_counters_close_interval(struct pl_counters *counters)
{
    struct pl_worker_usage *oldest = counters->previous_usage;
    /* The first interval starts with the usage at the start, which `previous_usage` holds already. */
    if (counters->interval.span.end_ns > 0) {
        counters->previous_usage = counters->usage;
        counters->usage = oldest;
    }
    pl_ns now_ns = take_sample(counters);
    counters->interval = pl_phases_close(&counters->phases, now_ns - counters->start_ns);
    counters->interval_late_ns = counters->late_ns;
    counters->late_ns = 0;
    enum pl_phase phase = counters->interval.phase;
    pl_byte_counters_add_interval(&counters->sent, phase, counters->count);
    pl_byte_counters_add_interval(&counters->received, phase, counters->count);
    bool enters = phase == PL_WARMUP && counters->phases.current == PL_STEADY;
    if (counters->samples != NULL)
        counters->kind->counts->close_interval(counters->samples, counters, phase, enters);
    for (uint32_t s = 0; s < counters->count && (enters || phase == PL_STEADY); s++)
        sample_window(&counters->windows[s], &counters->tcp_info[s], now_ns, enters);
}

void pl_counters_close_delivery(struct pl_counters *counters, bool resets)
{
    for (uint32_t s = 0; s < counters->count; s++) {
        struct pl_stream *stream = &counters->streams[s];
        int state = atomic_load(&stream->state);
        int failure = atomic_load(&stream->failure);
        bool carries = counters->flow->messages.carrier == PL_CARRIER_STREAM ||
                       stream->confirmed == PL_CONFIRMATION_BYTES;
        counters->missing_bytes[s] =
            carries ? pl_delivery_missing_bytes(stream, counters->flow->transport) : -1;
        bool open = state == PL_STREAM_OPEN || state == PL_STREAM_SHUT;
        if (resets && open)
            pl_delivery_reset(stream);
        if ((resets && open) || failure == ECONNRESET || failure == EPIPE)
            counters->reset_streams++;
    }
}

const struct pl_byte_counters *pl_counters_reported(const struct pl_counters *counters)
{
    return counters->flow->receives ? &counters->received : &counters->sent;
}

int64_t pl_counters_effective_window(const struct pl_counters *counters, uint32_t stream)
{
    const struct pl_window_samples *window = &counters->windows[stream];
    pl_ns span_ns = window->last_ns - window->first_ns;
    if (!counters->flow->transmits || window->rtt_count == 0 || span_ns <= 0)
        return -1;
    double bytes_per_s = (double)(window->acked_last - window->acked_first) * 1e9 / (double)span_ns;
    return (int64_t)(bytes_per_s * window->rtt_sum_us / (double)window->rtt_count / 1e6);
}

bool pl_counters_sum(const struct pl_counters *counters, const char *field, uint64_t *sum)
{
    bool known = false;
    *sum = 0;
    for (uint32_t s = 0; s < counters->count; s++) {
        uint64_t value;
        if (pl_tcp_info_find(&counters->tcp_info[s], field, &value)) {
            *sum += value;
            known = true;
        }
    }
    return known;
}

void pl_counters_write(struct pl_json *j, const struct pl_counters *counters, const char *const *names,
                       size_t count, pl_find_numbers *find, int phase)
{
    for (size_t n = 0; n < count; n++) {
        pl_json_begin_array(j, names[n]);
        for (uint32_t s = 0; s < counters->count; s++) {
            int64_t numbers[PL_NUMBERS_MAX];
            find(counters, s, phase, numbers);
            pl_json_known_i64(j, NULL, numbers[n]);
        }
        pl_json_end_array(j);
    }
}
