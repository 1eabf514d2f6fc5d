/* The role that sends datagrams: many with one system call, at an offered rate or as fast as possible. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/events.h"
#include "datagrams/send_schedule.h"
#include "flow/datagram_worker.h"
#include "messages/schedule.h"

#define BATCH 64
/* A wait is cut into pieces, since a command does not end it. */
#define RECHECK_NS (5 * PL_NS_PER_MS)
/* Between two looks at what the peer states, and at the worker's mode. */
#define SERVE_NS (10 * PL_NS_PER_MS)
#define IDLE_MS 100
#define START_MS 1
#define ROOM_MS 10
/* What is later than this is given up, so that a stall is not followed by a burst without end. */
#define LATE_NS (20 * PL_NS_PER_MS)

struct source {
    struct pl_worker *worker;
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    size_t bytes;      /* payload of a datagram */
    uint32_t segments; /* datagrams of a message */
    uint32_t batch;    /* messages of a call */
    pl_ns base_ns;     /* the sender's start */
    pl_ns steady_ns;
    pl_ns end_ns;
    pl_ns served_ns;
    uint32_t turn; /* the stream that is next */
};

static void add(_Atomic uint64_t *counter, uint64_t count)
{
    /* Single writer: no read-modify-write is needed. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count,
                          memory_order_relaxed);
}

static void fill(const struct source *source, const struct pl_datagram_link *link, uint32_t messages,
                 enum pl_datagram_phase phase, pl_ns now_ns)
{
    struct pl_datagram_header header = {.sequence = pl_datagram_link_sent(link),
                                        .sent_ns = now_ns - source->base_ns,
                                        .check = link->check_out,
                                        .phase = phase};
    uint8_t *at = source->worker->write_buffer;
    for (uint32_t i = 0; i < messages * source->segments; i++, at += source->bytes, header.sequence++)
        pl_datagram_header_encode(&header, at);
}

/* Whether an errno is what ICMP has reported of an earlier datagram. */
static bool is_unreachable(int cause)
{
    return cause == ECONNREFUSED || cause == EHOSTUNREACH || cause == ENETUNREACH || cause == EHOSTDOWN ||
           cause == ENOPROTOOPT || cause == ENONET || cause == EACCES;
}

/* The first message of a call was not taken. Returns how many are over: 1 where the kernel has refused it, 0
 * where it has no room now. A failure ends the stream. */
static uint32_t on_refusal(struct source *source, struct pl_stream *stream, enum pl_datagram_phase phase,
                           int cause)
{
    struct pl_worker *worker = source->worker;
    struct pl_datagram_link *link = stream->link;
    if (cause == EINTR)
        return 0;
    if (cause == EAGAIN) {
        struct pollfd room = {.fd = link->fd, .events = POLLOUT};
        (void)poll(&room, 1, ROOM_MS);
        worker->calls++;
        return 0;
    }
    if (is_unreachable(cause))
        atomic_fetch_add_explicit(&link->unreachable, 1, memory_order_relaxed);
    else if (cause != ENOBUFS && cause != ENOMEM && cause != EPERM) {
        pl_datagram_fail_sending(worker, stream, cause);
        return 1;
    }
    add(&link->refused[phase], source->segments);
    return 1;
}

/* Sends up to `messages` at `now_ns`. Returns how many are over: sent, or refused. */
static uint32_t send_messages(struct source *source, struct pl_stream *stream, uint32_t messages,
                              pl_ns now_ns)
{
    struct pl_worker *worker = source->worker;
    struct pl_datagram_link *link = stream->link;
    enum pl_datagram_phase phase = now_ns < source->steady_ns ? PL_DATAGRAM_WARMUP : PL_DATAGRAM_STEADY;
    fill(source, link, messages, phase, now_ns);
    int count = sendmmsg(link->fd, source->messages, messages, MSG_DONTWAIT | MSG_NOSIGNAL);
    worker->calls++;
    add(&link->calls, 1);
    if (count <= 0)
        return on_refusal(source, stream, phase, count < 0 ? errno : EAGAIN);
    uint64_t datagrams = (uint64_t)count * source->segments;
    size_t bytes = (size_t)datagrams * source->bytes;
    add(&link->sent[phase], datagrams);
    add(&stream->sent_bytes, bytes);
    (void)pl_worker_count(worker, bytes);
    return (uint32_t)count;
}

/* Whether the worker may go on sending at `now_ns`; serves the streams from time to time. */
static bool goes_on(struct source *source, pl_ns now_ns)
{
    struct pl_worker *worker = source->worker;
    if (now_ns - source->served_ns >= SERVE_NS) {
        source->served_ns = now_ns;
        pl_datagram_serve(worker, 0, NULL);
        pl_datagram_tick(worker, now_ns);
    }
    return now_ns < source->end_ns &&
           atomic_load_explicit(&worker->shared->mode, memory_order_relaxed) == PL_MODE_RUN;
}

/* The next stream that is open; NULL when none is. */
static struct pl_stream *take_turn(struct source *source)
{
    struct pl_worker *worker = source->worker;
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[source->turn];
        source->turn = source->turn + 1 < worker->count ? source->turn + 1 : 0;
        if (pl_datagram_is_open(stream) &&
            !atomic_load_explicit(&stream->link->sends_over, memory_order_relaxed))
            return stream;
    }
    return NULL;
}

static void send_fast(struct source *source)
{
    struct pl_stream *stream;
    for (pl_ns now_ns = pl_now_ns(); goes_on(source, now_ns) && (stream = take_turn(source)) != NULL;
         now_ns = pl_now_ns())
        (void)send_messages(source, stream, source->batch, now_ns);
}

static void begin_schedule(const struct source *source, struct pl_send_schedule *schedule, pl_ns start_ns)
{
    const struct pl_shared *shared = source->worker->shared;
    pl_send_schedule_begin(schedule, start_ns, source->bytes * source->segments,
                           (uint64_t)shared->datagram_rate_bits_per_s, source->worker->count,
                           shared->streams);
}

/* Gives up what is too late. */
static void give_up(struct source *source, struct pl_send_schedule *schedule, pl_ns now_ns)
{
    pl_ns late_ns = now_ns - schedule->due_ns - LATE_NS;
    if (late_ns <= 0)
        return;
    double period_ns = (double)schedule->step_ns + (double)schedule->part / (double)schedule->whole;
    enum pl_datagram_phase phase = now_ns < source->steady_ns ? PL_DATAGRAM_WARMUP : PL_DATAGRAM_STEADY;
    add(&source->worker->streams[0]->link->given_up[phase],
        (uint64_t)((double)late_ns / period_ns) * source->segments);
    begin_schedule(source, schedule, now_ns - LATE_NS);
}

/* Messages of one stream that are due at `now_ns`: with several streams, one each in turn. */
static uint32_t count_due(const struct source *source, struct pl_send_schedule schedule, pl_ns now_ns)
{
    uint32_t due = 0;
    uint32_t most = source->worker->count > 1 ? 1 : source->batch;
    for (; due < most && schedule.due_ns <= now_ns; due++)
        pl_send_schedule_advance(&schedule);
    return due;
}

/* Sends what is due at `now_ns`. False when no stream is left. */
static bool send_due(struct source *source, struct pl_send_schedule *schedule, pl_ns now_ns)
{
    struct pl_pacing_errors *errors = source->worker->pacing_errors;
    struct pl_stream *stream = take_turn(source);
    if (stream == NULL)
        return false;
    give_up(source, schedule, now_ns);
    uint32_t over = send_messages(source, stream, count_due(source, *schedule, now_ns), now_ns);
    pl_histogram_add(&errors->call_ns, pl_now_ns() - now_ns);
    for (uint32_t i = 0; i < over; i++) {
        pl_histogram_add(&errors->error_ns, now_ns - schedule->due_ns);
        pl_send_schedule_advance(schedule);
    }
    return true;
}

static void send_at_rate(struct source *source)
{
    struct pl_worker *worker = source->worker;
    struct pl_send_schedule schedule;
    begin_schedule(source, &schedule, source->base_ns);
    for (pl_ns now_ns = pl_now_ns(); goes_on(source, now_ns); now_ns = pl_now_ns()) {
        if (schedule.due_ns <= now_ns) {
            if (!send_due(source, &schedule, now_ns))
                return;
            continue;
        }
        pl_ns spun_ns = atomic_load_explicit(&worker->spun_ns, memory_order_relaxed);
        pl_ns until_ns = pl_earlier(pl_earlier(schedule.due_ns, source->end_ns), now_ns + RECHECK_NS);
        (void)pl_wait_until(until_ns, &spun_ns);
        atomic_store_explicit(&worker->spun_ns, spun_ns, memory_order_relaxed);
        worker->calls++;
    }
}

/* Waits until the trial has started. False when it never does. */
static bool await_start(struct pl_worker *worker)
{
    const struct pl_shared *shared = worker->shared;
    struct pollfd wake = {.fd = worker->wake_fd, .events = POLLIN};
    while (shared->accepting && atomic_load(&shared->first_byte_ns) == 0 && !pl_datagram_is_over(worker)) {
        if (worker->listens)
            pl_datagram_serve(worker, IDLE_MS, NULL);
        else
            (void)poll(&wake, 1, START_MS);
    }
    return !pl_datagram_is_over(worker);
}

static void prepare(struct source *source, struct pl_worker *worker)
{
    const struct pl_shared *shared = worker->shared;
    const struct pl_datagram_settings *datagrams = shared->datagrams;
    source->worker = worker;
    source->bytes = (size_t)datagrams->bytes;
    source->segments = datagrams->segments;
    source->batch = datagrams->batch;
    size_t room = source->bytes * source->segments;
    for (uint32_t i = 0; i < source->batch; i++) {
        source->parts[i] = (struct iovec){.iov_base = worker->write_buffer + i * room, .iov_len = room};
        source->messages[i].msg_hdr = (struct msghdr){.msg_iov = &source->parts[i], .msg_iovlen = 1};
    }
    source->base_ns = shared->accepting ? atomic_load(&shared->first_byte_ns) : atomic_load(&shared->run_ns);
    source->steady_ns = source->base_ns + shared->warmup_ns;
    source->end_ns = source->base_ns + shared->offered_ns;
}

static void state_end(struct pl_worker *worker, struct pl_stream *stream)
{
    struct pl_datagram_link *link = stream->link;
    struct pl_statement end = {.kind = PL_STATEMENT_END};
    for (int p = 0; p < PL_DATAGRAM_PHASES; p++)
        end.sent[p] = atomic_load(&link->sent[p]);
    atomic_store(&link->sends_over, true); /* before the peer can answer */
    pl_datagram_state(worker, stream, &end);
}

static bool is_any_open(const struct pl_worker *worker)
{
    for (uint32_t i = 0; i < worker->count; i++)
        if (pl_datagram_is_open(worker->streams[i]))
            return true;
    return false;
}

void pl_datagram_source_run(struct pl_worker *worker)
{
    struct source source;
    memset(&source, 0, sizeof source);
    if (!await_start(worker))
        return;
    prepare(&source, worker);
    if (worker->shared->datagram_rate_bits_per_s > 0 && worker->shared->paces_datagrams)
        send_at_rate(&source);
    else
        send_fast(&source);
    for (uint32_t i = 0; i < worker->count; i++)
        if (pl_datagram_is_open(worker->streams[i]))
            state_end(worker, worker->streams[i]);
    while (worker->listens && is_any_open(worker) && !pl_datagram_is_over(worker)) {
        pl_datagram_serve(worker, IDLE_MS, NULL);
        pl_datagram_tick(worker, pl_now_ns());
    }
}
