#include "messages/roles.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/message.h"
#include "base/relaxed.h"

#define CONFIRMATION_POLL_MS 100

bool pl_role_sends(const struct pl_worker *worker)
{
    return pl_load_relaxed(&worker->shared->mode) == PL_MODE_RUN;
}

bool pl_role_is_over(const void *context)
{
    const struct pl_worker *worker = context;
    return pl_load_relaxed(&worker->shared->mode) == PL_MODE_QUIT;
}

void pl_role_publish(struct pl_worker *worker, pl_ns now_ns)
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
    if (now_ns - worker->published_ns >= PL_PUBLISH_NS)
        pl_role_publish(worker, now_ns);
}

void pl_role_count_sent(struct pl_stream *stream, size_t bytes, uint64_t messages)
{
    pl_counter_add(&stream->sent_bytes, bytes);
    pl_counter_add(&stream->endpoint->sent, messages);
    pl_counter_add(&stream->endpoint->batches, 1);
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
        pl_store_relaxed(&endpoint->first_arrival_ns, now_ns);
        pl_worker_record_first_byte(worker, now_ns);
    }
    pl_store_relaxed(&endpoint->last_arrival_ns, now_ns);
    pl_counter_add(&stream->received_bytes, bytes);
    (void)pl_worker_count(worker, bytes);
}

void pl_role_publish_sequence(struct pl_endpoint *endpoint)
{
    const struct pl_sequence *sequence = &endpoint->sequence;
    pl_store_relaxed(&endpoint->received, sequence->received);
    pl_store_relaxed(&endpoint->missing, sequence->missing);
    pl_store_relaxed(&endpoint->out_of_order, sequence->out_of_order);
}

void pl_role_confirm(struct pl_worker *worker, struct pl_stream *stream)
{
    uint8_t count[PL_CONFIRMATION_BYTES];
    pl_put64(count, pl_load_relaxed(&stream->received_bytes));
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
