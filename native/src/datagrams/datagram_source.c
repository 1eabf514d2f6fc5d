/* The role that sends datagrams: many with one system call, at an offered rate or as fast as possible. */
#include <errno.h>
#include <poll.h>
#include <stdalign.h>
#include <string.h>
#include <sys/socket.h>

#include "base/events.h"
#include "base/relaxed.h"
#include "datagrams/datagram_pacing.h"
#include "datagrams/datagram_stream.h"
#include "datagrams/datagram_worker.h"
#include "datagrams/send_schedule.h"
#include "messages/schedule.h"

/* From <asm/socket.h>, which older systems lack. */
#ifndef SCM_TXTIME
#define SCM_TXTIME 61
#endif

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

/* Handed over so long before they are due where the kernel keeps the time, in calls of half of it. */
#define AHEAD_NS (2 * PL_NS_PER_MS)

/* Room for the time at which a message is to leave. */
struct time_control {
    alignas(struct cmsghdr) uint8_t room[CMSG_SPACE(sizeof(uint64_t))];
};

struct source {
    struct pl_worker *worker;
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct time_control controls[BATCH];
    pl_ns at_ns[BATCH]; /* when each message of a call leaves */
    pl_ns ahead_ns;     /* 0: the kernel sends at once */
    pl_ns offset_ns;    /* of the kernel's clock for these times */
    size_t bytes;       /* payload of a datagram */
    uint32_t segments;  /* datagrams of a message */
    uint32_t batch;     /* messages of a call */
    pl_ns base_ns;      /* the sender's start */
    pl_ns steady_ns;
    pl_ns end_ns;
    pl_ns served_ns;
    uint32_t turn; /* the stream that is next */
};

static enum pl_datagram_phase find_phase(const struct source *source, pl_ns at_ns)
{
    return at_ns < source->steady_ns ? PL_DATAGRAM_WARMUP : PL_DATAGRAM_STEADY;
}

static void set_time(struct source *source, uint32_t message)
{
    uint64_t leaves_ns = (uint64_t)(source->at_ns[message] + source->offset_ns);
    struct cmsghdr *head = CMSG_FIRSTHDR(&source->messages[message].msg_hdr);
    if (head != NULL)
        memcpy(CMSG_DATA(head), &leaves_ns, sizeof leaves_ns);
}

static void fill(struct source *source, const struct pl_datagram_link *link, uint32_t messages,
                 enum pl_datagram_phase phase)
{
    struct pl_datagram_header header = {
        .sequence = pl_datagram_link_sent(link), .check = link->check_out, .phase = phase};
    uint8_t *at = source->worker->write_buffer;
    for (uint32_t i = 0; i < messages; i++) {
        header.sent_ns = source->at_ns[i] - source->base_ns;
        for (uint32_t j = 0; j < source->segments; j++, at += source->bytes, header.sequence++)
            pl_datagram_header_encode(&header, at);
        if (source->ahead_ns > 0)
            set_time(source, i);
    }
}

/* Whether an errno is what ICMP has reported of an earlier datagram. */
static bool is_unreachable(int cause)
{
    return cause == ECONNREFUSED || cause == EHOSTUNREACH || cause == ENETUNREACH || cause == EHOSTDOWN ||
           cause == ENOPROTOOPT || cause == ENONET || cause == EACCES;
}

/* Without an entry in the error queue it is this end's own routing that refuses. */
static void count_unreachable(struct pl_datagram_link *link, int cause)
{
    uint32_t reported = pl_datagram_link_take_errors(link);
    if (reported == 0 && cause == ECONNREFUSED)
        reported = 1;
    atomic_fetch_add_explicit(&link->unreachable, reported, memory_order_relaxed);
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
        count_unreachable(link, cause);
    else if (cause != ENOBUFS && cause != ENOMEM && cause != EPERM) {
        pl_datagram_fail_sending(worker, stream, cause);
        return 1;
    }
    pl_counter_add(&link->refused[phase], source->segments);
    return 1;
}

/* Sends up to `messages`, whose times are set and belong to one phase. Returns how many are over: sent, or
 * refused. */
static uint32_t send_messages(struct source *source, struct pl_stream *stream, uint32_t messages)
{
    struct pl_worker *worker = source->worker;
    struct pl_datagram_link *link = stream->link;
    enum pl_datagram_phase phase = find_phase(source, source->at_ns[0]);
    fill(source, link, messages, phase);
    int count = sendmmsg(link->fd, source->messages, messages, MSG_DONTWAIT | MSG_NOSIGNAL);
    worker->calls++;
    pl_counter_add(&link->calls, 1);
    if (count <= 0)
        return on_refusal(source, stream, phase, count < 0 ? errno : EAGAIN);
    uint64_t datagrams = (uint64_t)count * source->segments;
    size_t bytes = (size_t)datagrams * source->bytes;
    pl_counter_add(&link->sent[phase], datagrams);
    pl_counter_add(&stream->sent_bytes, bytes);
    (void)pl_worker_count(worker, bytes);
    return (uint32_t)count;
}

/* Whether the worker may go on sending at `now_ns`; serves the streams from time to time. */
static bool goes_on(struct source *source, pl_ns now_ns)
{
    struct pl_worker *worker = source->worker;
    if (now_ns - source->served_ns >= SERVE_NS) {
        source->served_ns = now_ns;
        if (source->ahead_ns > 0)
            source->offset_ns = pl_datagram_txtime_offset_ns(worker->streams[0]->link->fd);
        pl_datagram_serve(worker, 0, NULL);
        pl_datagram_tick(worker, now_ns);
    }
    return now_ns < source->end_ns && pl_load_relaxed(&worker->shared->mode) == PL_MODE_RUN;
}

/* The next stream that is open; NULL when none is. */
static struct pl_stream *take_turn(struct source *source)
{
    struct pl_worker *worker = source->worker;
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[source->turn];
        source->turn = source->turn + 1 < worker->count ? source->turn + 1 : 0;
        if (pl_datagram_is_open(stream) && !pl_load_relaxed(&stream->link->sends_over))
            return stream;
    }
    return NULL;
}

static void send_fast(struct source *source)
{
    struct pl_stream *stream;
    for (pl_ns now_ns = pl_now_ns(); goes_on(source, now_ns) && (stream = take_turn(source)) != NULL;
         now_ns = pl_now_ns()) {
        for (uint32_t i = 0; i < source->batch; i++)
            source->at_ns[i] = now_ns;
        (void)send_messages(source, stream, source->batch);
    }
}

static void begin_schedule(const struct source *source, struct pl_send_schedule *schedule, pl_ns start_ns)
{
    const struct pl_shared *shared = source->worker->shared;
    pl_send_schedule_begin(schedule, start_ns, source->bytes * source->segments,
                           (uint64_t)shared->datagrams->offered_bits_per_s, source->worker->count,
                           shared->streams);
}

/* Books messages that are not sent at the streams whose turns they were. */
static void book_given_up(struct source *source, enum pl_datagram_phase phase, uint64_t messages)
{
    struct pl_worker *worker = source->worker;
    uint32_t count = worker->count;
    if (messages == 0 || count == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct pl_datagram_link *link = worker->streams[(source->turn + i) % count]->link;
        uint64_t share = messages / count + (i < messages % count);
        pl_counter_add(&link->given_up[phase], share * source->segments);
    }
    source->turn = (uint32_t)((source->turn + messages) % count);
}

/* Gives up what was due before `until_ns`, in the phases in which it was. */
static void give_up(struct source *source, struct pl_send_schedule *schedule, pl_ns until_ns)
{
    uint64_t warmup = pl_send_schedule_skip(schedule, pl_earlier(until_ns, source->steady_ns));
    book_given_up(source, PL_DATAGRAM_WARMUP, warmup);
    book_given_up(source, PL_DATAGRAM_STEADY, pl_send_schedule_skip(schedule, until_ns));
}

/* The messages of one stream that are to be handed over at `now_ns`, all in one phase: with several streams,
 * one each in turn. Sets their times. */
static uint32_t collect_due(struct source *source, struct pl_send_schedule schedule, pl_ns now_ns)
{
    uint32_t due = 0;
    uint32_t most = source->worker->count > 1 ? 1 : source->batch;
    pl_ns until_ns = pl_earlier(now_ns + source->ahead_ns, source->end_ns - 1);
    for (; due < most && schedule.due_ns <= until_ns; due++) {
        bool early = source->ahead_ns > 0 && schedule.due_ns > now_ns;
        source->at_ns[due] = early ? schedule.due_ns : now_ns;
        if (find_phase(source, source->at_ns[due]) != find_phase(source, source->at_ns[0]))
            break;
        pl_send_schedule_advance(&schedule);
    }
    return due;
}

/* Sends what is due at `now_ns`. False when no stream is left. */
static bool send_due(struct source *source, struct pl_send_schedule *schedule, pl_ns now_ns)
{
    struct pl_pacing_errors *errors = source->worker->pacing_errors;
    give_up(source, schedule, now_ns - LATE_NS);
    struct pl_stream *stream = take_turn(source);
    if (stream == NULL)
        return false;
    uint32_t over = send_messages(source, stream, collect_due(source, *schedule, now_ns));
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
    pl_ns now_ns = pl_now_ns();
    for (; goes_on(source, now_ns); now_ns = pl_now_ns()) {
        if (schedule.due_ns <= now_ns + source->ahead_ns && schedule.due_ns < source->end_ns) {
            if (!send_due(source, &schedule, now_ns))
                return;
            continue;
        }
        pl_ns spun_ns = pl_load_relaxed(&worker->spun_ns);
        pl_ns next_ns = schedule.due_ns - source->ahead_ns / 2;
        pl_ns until_ns = pl_earlier(pl_earlier(next_ns, source->end_ns), now_ns + RECHECK_NS);
        (void)pl_wait_until(until_ns, &spun_ns);
        pl_store_relaxed(&worker->spun_ns, spun_ns);
        worker->calls++;
    }
    give_up(source, &schedule, pl_earlier(now_ns, source->end_ns));
}

/* Waits until the trial has started. False when it never does. */
static bool await_start(struct pl_worker *worker)
{
    const struct pl_shared *shared = worker->shared;
    struct pollfd wake = {.fd = worker->wake_fd, .events = POLLIN};
    while (shared->accepting && atomic_load(&shared->first_byte_ns) == 0 && !pl_datagram_is_over(worker))
        if (worker->listens)
            pl_datagram_serve(worker, IDLE_MS, NULL);
        else
            (void)poll(&wake, 1, START_MS);
    return !pl_datagram_is_over(worker);
}

static void add_time_control(struct source *source, uint32_t message)
{
    struct msghdr *head = &source->messages[message].msg_hdr;
    head->msg_control = source->controls[message].room;
    head->msg_controllen = sizeof source->controls[message].room;
    *CMSG_FIRSTHDR(head) = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_TXTIME, .cmsg_len = CMSG_LEN(sizeof(uint64_t))};
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
        if (shared->datagrams->hands_over_early)
            add_time_control(source, i);
    }
    source->ahead_ns = shared->datagrams->hands_over_early ? AHEAD_NS : 0;
    if (shared->datagrams->hands_over_early)
        source->offset_ns = pl_datagram_txtime_offset_ns(worker->streams[0]->link->fd);
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
    if (worker->shared->datagrams->offered_bits_per_s > 0 && worker->shared->datagrams->paced_here)
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
