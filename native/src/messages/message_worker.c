#include "messages/message_worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/message.h"
#include "messages/breach.h"
#include "messages/roles.h"

#define PUBLISH_NS (10 * PL_NS_PER_MS)
#define WAKE_SIGNAL SIGUSR1
#define CONFIRMATION_POLL_MS 100

uint32_t pl_message_workers(const struct pl_flow *flow)
{
    const struct pl_message_settings *messages = &flow->messages;
    uint32_t streams = (uint32_t)flow->streams;
    if (messages->placement != PL_PLACEMENT_APART)
        return messages->placement == PL_PLACEMENT_THREADED ? 2 * streams : streams;
    if (!messages->replies && flow->transmits)
        return flow->workers > 0 && flow->workers < flow->streams ? (uint32_t)flow->workers : 1;
    bool pairs = messages->replies && !flow->accepting && messages->rate_per_s > 0 && !messages->polls;
    return pairs ? 2 * streams : streams;
}

static enum pl_role find_role(const struct pl_flow *flow, uint32_t worker)
{
    const struct pl_message_settings *messages = &flow->messages;
    if (messages->placement == PL_PLACEMENT_FUSED)
        return PL_ROLE_FUSED;
    if (messages->placement == PL_PLACEMENT_THREADED)
        return worker < (uint32_t)flow->streams ? PL_ROLE_SINK : PL_ROLE_SOURCE;
    if (!messages->replies)
        return flow->transmits ? PL_ROLE_SOURCE : PL_ROLE_SINK;
    if (flow->accepting)
        return PL_ROLE_RELAY;
    if (messages->rate_per_s == 0)
        return PL_ROLE_ASKER;
    if (messages->polls)
        return PL_ROLE_POLLER;
    return worker < (uint32_t)flow->streams ? PL_ROLE_RECEIVER : PL_ROLE_SENDER;
}

static void on_signal(int number)
{
    (void)number;
}

void pl_message_prepare(struct pl_worker *worker, const struct pl_flow *flow, uint32_t number)
{
    /* Without SA_RESTART, so that the call returns. */
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(WAKE_SIGNAL, &action, NULL);
    worker->role = (int)find_role(flow, number);
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_channel *channel = &worker->streams[i]->endpoint->channel;
        channel->is_over = pl_role_is_over;
        channel->context = worker;
    }
}

void pl_message_kick(const struct pl_worker *worker)
{
    if (worker->started)
        (void)pthread_kill(worker->thread, WAKE_SIGNAL);
}

bool pl_role_sends(const struct pl_worker *worker)
{
    return atomic_load_explicit(&worker->shared->mode, memory_order_relaxed) == PL_MODE_RUN;
}

bool pl_role_is_over(const void *context)
{
    const struct pl_worker *worker = context;
    return atomic_load_explicit(&worker->shared->mode, memory_order_relaxed) == PL_MODE_QUIT;
}

/* Moves the calls of the streams' channels to the worker that made them. */
static void publish(struct pl_worker *worker, pl_ns now_ns)
{
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_channel *channel = &worker->streams[i]->endpoint->channel;
        if (worker->role != PL_ROLE_RECEIVER && worker->role != PL_ROLE_SINK) {
            worker->calls += channel->write_calls;
            channel->write_calls = 0;
        }
        if (worker->role != PL_ROLE_SENDER && worker->role != PL_ROLE_SOURCE) {
            worker->calls += channel->read_calls;
            channel->read_calls = 0;
        }
    }
    pl_worker_publish(worker, now_ns);
}

void pl_role_tick(struct pl_worker *worker, pl_ns now_ns)
{
    if (now_ns - worker->published_ns >= PUBLISH_NS)
        publish(worker, now_ns);
}

static void add(_Atomic uint64_t *counter, uint64_t count)
{
    /* Single writer: no read-modify-write is needed. */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count,
                          memory_order_relaxed);
}

void pl_role_count_sent(struct pl_stream *stream, size_t bytes, uint64_t messages)
{
    add(&stream->sent_bytes, bytes);
    add(&stream->endpoint->sent, messages);
    add(&stream->endpoint->batches, 1);
}

uint64_t pl_role_find_quota(const struct pl_worker *worker, const struct pl_stream *stream)
{
    if (stream->quota_bytes == UINT64_MAX)
        return UINT64_MAX;
    uint64_t most = stream->quota_bytes / (uint64_t)worker->shared->messages->bytes;
    uint64_t sent = stream->endpoint->batch.number;
    return sent < most ? most - sent : 0;
}

int pl_role_send(struct pl_worker *worker, struct pl_stream *stream, const uint8_t *data, size_t bytes,
                 uint32_t messages)
{
    int cause = pl_channel_write(&stream->endpoint->channel, data, bytes);
    if (cause != 0)
        return cause;
    pl_role_count_sent(stream, bytes, messages);
    return pl_worker_count(worker, bytes) ? 0 : ECANCELED;
}

int pl_role_send_batch(struct pl_worker *worker, struct pl_stream *stream)
{
    struct pl_batch *batch = &stream->endpoint->batch;
    int cause = pl_role_send(worker, stream, batch->data, batch->used_bytes, batch->messages);
    pl_batch_clear(batch);
    return cause;
}

void pl_role_count_received(struct pl_worker *worker, struct pl_stream *stream, size_t bytes, pl_ns now_ns)
{
    struct pl_endpoint *endpoint = stream->endpoint;
    if (!stream->received_any) {
        stream->received_any = true;
        atomic_store_explicit(&endpoint->first_arrival_ns, now_ns, memory_order_relaxed);
        pl_worker_record_first_byte(worker, now_ns);
    }
    atomic_store_explicit(&endpoint->last_arrival_ns, now_ns, memory_order_relaxed);
    add(&stream->received_bytes, bytes);
    (void)pl_worker_count(worker, bytes);
}

int pl_role_keep_rest(const struct pl_worker *worker, uint8_t *data, size_t used, size_t *have)
{
    *have -= used;
    memmove(data, data + used, *have);
    return *have > 0 && pl_carrier_is_datagram(worker->shared->messages->carrier) ? PL_BREACH_PART : 0;
}

void pl_role_publish_sequence(struct pl_endpoint *endpoint)
{
    const struct pl_sequence *sequence = &endpoint->sequence;
    atomic_store_explicit(&endpoint->received, sequence->received, memory_order_relaxed);
    atomic_store_explicit(&endpoint->missing, sequence->missing, memory_order_relaxed);
    atomic_store_explicit(&endpoint->out_of_order, sequence->out_of_order, memory_order_relaxed);
}

void pl_role_confirm(struct pl_worker *worker, struct pl_stream *stream)
{
    uint8_t count[PL_CONFIRMATION_BYTES];
    pl_put64(count, atomic_load_explicit(&stream->received_bytes, memory_order_relaxed));
    (void)pl_message_send(stream->fd, count, sizeof count, true);
    (void)shutdown(stream->fd, SHUT_WR);
    worker->calls += 2;
}

int pl_role_await_confirmation(struct pl_worker *worker, struct pl_stream *stream)
{
    struct pollfd event = {.fd = stream->fd, .events = POLLIN};
    while (!pl_role_is_over(worker)) {
        uint8_t *at = stream->confirmation + stream->confirmed;
        uint8_t rest[PL_CONFIRMATION_BYTES];
        size_t left = PL_CONFIRMATION_BYTES - stream->confirmed;
        (void)poll(&event, 1, CONFIRMATION_POLL_MS);
        ssize_t count = recv(stream->fd, left > 0 ? at : rest, left > 0 ? left : sizeof rest, MSG_DONTWAIT);
        worker->calls += 2;
        if (count == 0)
            return left == 0 ? 0 : EPIPE;
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            return errno;
        if (count > 0 && left > 0)
            stream->confirmed += (uint32_t)count;
    }
    return ECANCELED;
}

void pl_role_end_stream(struct pl_worker *worker, struct pl_stream *stream, int cause)
{
    if (cause != ECANCELED)
        pl_worker_close(worker, stream, cause);
}

/* Waits until the trial runs. False when it never does. */
static bool await_run(struct pl_worker *worker)
{
    struct pollfd event = {.fd = worker->wake_fd, .events = POLLIN};
    int mode;
    while ((mode = atomic_load(&worker->shared->mode)) == PL_MODE_WAIT)
        (void)poll(&event, 1, -1);
    return mode != PL_MODE_QUIT;
}

/* The accepting end of a flow begins when the peer's first byte comes, which the connecting end sends where
 * it has no data to send. False when the stream ended before. */
static bool exchange_start(struct pl_worker *worker)
{
    static const uint8_t go = 'g';
    const struct pl_shared *shared = worker->shared;
    bool reverse = shared->accepting ? shared->transmits && !shared->receives : !shared->transmits;
    for (uint32_t i = 0; reverse && i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[i];
        int cause = 0;
        if (!shared->accepting) {
            cause = pl_message_send(stream->fd, &go, sizeof go, true);
        } else {
            struct pollfd event = {.fd = stream->fd, .events = POLLIN};
            uint8_t byte;
            ssize_t count = -1;
            while (!pl_role_is_over(worker) && (count = recv(stream->fd, &byte, 1, MSG_DONTWAIT)) < 0 &&
                   (errno == EAGAIN || errno == EINTR))
                (void)poll(&event, 1, CONFIRMATION_POLL_MS);
            cause = count == 1 ? 0 : count == 0 ? EPIPE : pl_role_is_over(worker) ? ECANCELED : errno;
            if (cause == 0)
                pl_worker_record_first_byte(worker, pl_now_ns());
        }
        if (cause != 0) {
            pl_role_end_stream(worker, stream, cause);
            return false;
        }
    }
    return true;
}

void *pl_message_worker_run(void *argument)
{
    static void (*const bodies[])(struct pl_worker *) = {
        [PL_ROLE_SOURCE] = pl_source_run, [PL_ROLE_SINK] = pl_sink_run,
        [PL_ROLE_RELAY] = pl_relay_run,   [PL_ROLE_ASKER] = pl_asker_run,
        [PL_ROLE_SENDER] = pl_sender_run, [PL_ROLE_RECEIVER] = pl_receiver_run,
        [PL_ROLE_POLLER] = pl_poller_run, [PL_ROLE_FUSED] = pl_fused_run,
    };
    struct pl_worker *worker = argument;
    if (!await_run(worker))
        return NULL;
    /* Sleeps for intended times end within a microsecond instead of 50. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    pl_worker_open_schedule(worker);
    pl_worker_publish(worker, pl_now_ns());
    pl_worker_show_cpu_clock(worker);
    if (exchange_start(worker))
        bodies[worker->role](worker);
    publish(worker, pl_now_ns());
    pl_worker_hide_cpu_clock(worker);
    return NULL;
}
