#include "flow/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/delivery.h"

static bool create_tally(struct pl_tally *tally, uint32_t count)
{
    tally->now = calloc(count, sizeof *tally->now);
    tally->before = calloc(count, sizeof *tally->before);
    bool whole = tally->now != NULL && tally->before != NULL;
    for (size_t p = 0; p < PL_PHASE_COUNT; p++) {
        tally->phases[p] = calloc(count, sizeof *tally->phases[p]);
        whole = whole && tally->phases[p] != NULL;
    }
    return whole;
}

static void free_tally(struct pl_tally *tally)
{
    free(tally->now);
    free(tally->before);
    for (size_t p = 0; p < PL_PHASE_COUNT; p++)
        free(tally->phases[p]);
}

struct pl_account *pl_account_create(const struct pl_flow *flow, struct pl_stream *streams,
                                     struct pl_pool *pool, struct pl_error *error)
{
    struct pl_account *account = calloc(1, sizeof *account);
    if (account == NULL)
        goto no_memory;
    account->flow = flow;
    account->streams = streams;
    account->pool = pool;
    account->count = (uint32_t)flow->streams;
    account->workers = pl_pool_workers(pool);
    account->tcp_info = calloc(account->count, sizeof *account->tcp_info);
    account->windows = calloc(account->count, sizeof *account->windows);
    account->missing_bytes = calloc(account->count, sizeof *account->missing_bytes);
    account->use = calloc(account->workers, sizeof *account->use);
    account->use_before = calloc(account->workers, sizeof *account->use_before);
    bool raw = flow->tcp_info == PL_TCP_INFO_RAW;
    if (raw)
        account->tcp_info_raw = calloc(account->count, sizeof *account->tcp_info_raw);
    if (create_tally(&account->sent, account->count) && create_tally(&account->received, account->count) &&
        account->tcp_info != NULL && account->windows != NULL && account->missing_bytes != NULL &&
        account->use != NULL && account->use_before != NULL && (!raw || account->tcp_info_raw != NULL))
        return account;
    pl_account_free(account);
no_memory:
    pl_error_set(error, PL_RESOURCES, "trial", ENOMEM, "no memory for the trial's counters");
    return NULL;
}

void pl_account_free(struct pl_account *account)
{
    if (account == NULL)
        return;
    free_tally(&account->sent);
    free_tally(&account->received);
    free(account->tcp_info);
    free(account->tcp_info_raw);
    free(account->windows);
    free(account->missing_bytes);
    free(account->use);
    free(account->use_before);
    free(account);
}

static void read_use(const struct pl_account *account, struct pl_worker_use *use)
{
    for (uint32_t w = 0; w < account->workers; w++)
        use[w] = pl_pool_use(account->pool, w);
}

void pl_account_start(struct pl_account *account, pl_ns start_ns)
{
    const struct pl_flow *flow = account->flow;
    account->started = true;
    account->start_ns = start_ns;
    read_use(account, account->use_before);
    /* By bytes, the steady window lasts as long as they take. */
    pl_phases_begin(&account->phases, flow->interval_ns, flow->warmup_ns,
                    flow->bytes > 0 ? PL_UNPLANNED_NS : flow->duration_ns);
}

enum pl_transport pl_account_transport(const struct pl_account *account)
{
    enum pl_transport asked = account->flow->transport;
    for (uint32_t s = 0; s < account->count; s++) {
        enum pl_transport found = pl_transport_at_work(asked, account->streams[s].fd);
        if (found != asked)
            return found;
    }
    return asked;
}

static void turn(struct pl_tally *tally)
{
    uint64_t *oldest = tally->before;
    tally->before = tally->now;
    tally->now = oldest;
}

/* The byte counters are read first and in one sweep: they are what must belong to one instant. */
static pl_ns take_sample(struct pl_account *account)
{
    turn(&account->sent);
    turn(&account->received);
    pl_ns now_ns = pl_now_ns();
    for (uint32_t s = 0; s < account->count; s++) {
        const struct pl_stream *stream = &account->streams[s];
        account->sent.now[s] = atomic_load_explicit(&stream->sent_bytes, memory_order_relaxed);
        account->received.now[s] = atomic_load_explicit(&stream->received_bytes, memory_order_relaxed);
    }
    for (uint32_t s = 0; s < account->count && account->flow->tcp_info != PL_TCP_INFO_NONE; s++)
        pl_tcp_info_read(account->streams[s].fd, &account->tcp_info[s],
                         account->tcp_info_raw != NULL ? &account->tcp_info_raw[s] : NULL);
    read_use(account, account->use);
    return now_ns;
}

void pl_account_sample(struct pl_account *account)
{
    (void)take_sample(account);
}

static void book(struct pl_tally *tally, enum pl_phase phase, uint32_t count)
{
    for (uint32_t s = 0; s < count; s++)
        tally->phases[phase][s] += tally->now[s] - tally->before[s];
}

/* The window's first sample is the one that ends the warm-up. */
static void note_window(struct pl_window_account *window, const struct pl_tcp_info *info, pl_ns now_ns,
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

void pl_account_close_interval(struct pl_account *account)
{
    struct pl_worker_use *oldest = account->use_before;
    /* The first interval starts with what was used until the start, which `use_before` holds already. */
    if (account->interval.span.end_ns > 0) {
        account->use_before = account->use;
        account->use = oldest;
    }
    pl_ns now_ns = take_sample(account);
    account->interval = pl_phases_close(&account->phases, now_ns - account->start_ns);
    enum pl_phase phase = account->interval.phase;
    book(&account->sent, phase, account->count);
    book(&account->received, phase, account->count);
    bool enters = phase == PL_WARMUP && account->phases.current == PL_STEADY;
    for (uint32_t s = 0; s < account->count && (enters || phase == PL_STEADY); s++)
        note_window(&account->windows[s], &account->tcp_info[s], now_ns, enters);
}

void pl_account_settle_delivery(struct pl_account *account, bool resets)
{
    for (uint32_t s = 0; s < account->count; s++) {
        struct pl_stream *stream = &account->streams[s];
        int state = atomic_load(&stream->state);
        int failure = atomic_load(&stream->failure);
        account->missing_bytes[s] = pl_delivery_missing_bytes(stream, account->flow->transport);
        bool open = state == PL_STREAM_OPEN || state == PL_STREAM_SHUT;
        if (resets && open)
            pl_delivery_reset(stream);
        if ((resets && open) || failure == ECONNRESET || failure == EPIPE)
            account->reset_streams++;
    }
}

const struct pl_tally *pl_account_main(const struct pl_account *account)
{
    return account->flow->receives ? &account->received : &account->sent;
}

int64_t pl_account_effective_window(const struct pl_account *account, uint32_t stream)
{
    const struct pl_window_account *window = &account->windows[stream];
    pl_ns span_ns = window->last_ns - window->first_ns;
    if (!account->flow->transmits || window->rtt_count == 0 || span_ns <= 0)
        return -1;
    double bytes_per_s = (double)(window->acked_last - window->acked_first) * 1e9 / (double)span_ns;
    return (int64_t)(bytes_per_s * window->rtt_sum_us / (double)window->rtt_count / 1e6);
}

bool pl_account_sum(const struct pl_account *account, const char *field, uint64_t *sum)
{
    bool known = false;
    *sum = 0;
    for (uint32_t s = 0; s < account->count; s++) {
        uint64_t value;
        if (pl_tcp_info_find(&account->tcp_info[s], field, &value)) {
            *sum += value;
            known = true;
        }
    }
    return known;
}
