/* The roles of an end whose messages are returned: one at a time, or at an offered rate with many under way.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "flow/message_pace.h"
#include "flow/roles.h"

/* A datagram without an answer for this time is lost; streams lose none. */
#define LOST_NS PL_NS_PER_S
#define UNDER_WAY_BYTES (32 << 10)

/* Reads one whole answer. 0, or an errno; EAGAIN at `deadline_ns`. */
static int await_answer(struct pl_worker *worker, struct pl_endpoint *endpoint, pl_ns deadline_ns,
                        uint32_t *number)
{
    const struct pl_message_settings *messages = worker->shared->messages;
    uint8_t *data = worker->read_buffer;
    for (size_t have = 0;;) {
        ssize_t count =
            pl_channel_read(&endpoint->channel, data + have, PL_MESSAGE_READ_BYTES - have, deadline_ns);
        if (count <= 0)
            return count == 0 ? EPIPE : errno;
        have += (size_t)count;
        const uint8_t *content;
        ssize_t bytes = pl_decode(messages->encoding, data, have, (size_t)messages->bytes, number, &content);
        if (bytes < 0 || (bytes > 0 && (size_t)bytes != have))
            return EPROTO;
        if (bytes > 0)
            return 0;
    }
}

/* One message there and back. 0, or an errno. */
static int ask(struct pl_worker *worker, struct pl_stream *stream, pl_ns run_ns)
{
    struct pl_endpoint *endpoint = stream->endpoint;
    struct pl_batch *batch = &endpoint->batch;
    uint32_t asked = (uint32_t)batch->number;
    uint32_t number = asked;
    pl_batch_fill(batch, 1);
    size_t bytes = batch->used_bytes;
    pl_ns sent_ns = pl_now_ns();
    bool datagrams = pl_carrier_is_datagram(endpoint->channel.carrier);
    pl_ns deadline_ns = datagrams ? sent_ns + LOST_NS : PL_NEVER;
    int cause = pl_role_send_batch(worker, stream);
    do
        cause = cause == 0 ? await_answer(worker, endpoint, deadline_ns, &number) : cause;
    while (cause == 0 && number != asked && datagrams && pl_now_ns() < deadline_ns);
    if (cause == 0 && number != asked)
        cause = datagrams ? EAGAIN : EPROTO;
    if (cause != 0)
        return cause == EAGAIN ? 0 : cause; /* the number that follows will show the loss */
    pl_ns now_ns = pl_now_ns();
    pl_latency_log_add(endpoint->round_trips, sent_ns - run_ns, now_ns - sent_ns);
    pl_sequence_add(&endpoint->sequence, number);
    pl_role_count_received(worker, stream, bytes, now_ns);
    pl_role_publish_sequence(endpoint);
    pl_role_tick(worker, now_ns);
    return 0;
}

/* Reads what still returns, up to the end that the relay states. 0, or an errno. */
static int drain(struct pl_worker *worker, struct pl_stream *stream)
{
    struct pl_channel *channel = &stream->endpoint->channel;
    pl_channel_end_writing(channel);
    pl_ns deadline_ns = pl_now_ns() + LOST_NS;
    ssize_t count = 1;
    while (count > 0 && pl_now_ns() < deadline_ns)
        count = pl_channel_read(channel, worker->read_buffer, PL_MESSAGE_READ_BYTES, deadline_ns);
    return count >= 0 || errno == EAGAIN ? 0 : errno;
}

void pl_asker_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    pl_ns run_ns = atomic_load(&worker->shared->run_ns);
    int cause = 0;
    while (cause == 0 && pl_role_sends(worker) && pl_role_find_quota(worker, stream) > 0)
        cause = ask(worker, stream, run_ns);
    if (cause == ECANCELED && !pl_role_is_over(worker)) /* the limit of bytes */
        cause = 0;
    pl_latency_log_finish(stream->endpoint->round_trips);
    if (cause == 0)
        cause = drain(worker, stream);
    pl_role_end_stream(worker, stream, cause);
}

/* What has come of returned messages: counts and times the whole ones. The bytes used, or -1 with errno. */
static ssize_t take_answers(struct pl_worker *worker, struct pl_endpoint *endpoint,
                            const struct pl_schedule *schedule, const uint8_t *data, size_t have,
                            pl_ns now_ns)
{
    const struct pl_message_settings *messages = worker->shared->messages;
    size_t used = 0;
    while (used < have) {
        uint32_t number;
        const uint8_t *content;
        ssize_t bytes = pl_decode(messages->encoding, data + used, have - used, (size_t)messages->bytes,
                                  &number, &content);
        if (bytes < 0) {
            errno = EPROTO;
            return -1;
        }
        if (bytes == 0)
            break;
        /* The whole number: the nearest to the one that is expected, of which the message carries 32 bits. */
        uint64_t whole =
            endpoint->answered + (uint64_t)(int64_t)(int32_t)(number - (uint32_t)endpoint->answered);
        pl_ns due_ns = (int64_t)whole < 0 ? PL_NEVER : pl_schedule_due_ns(schedule, whole);
        if (due_ns > now_ns) { /* it was never sent */
            errno = EPROTO;
            return -1;
        }
        if (whole >= endpoint->answered)
            endpoint->answered = whole + 1;
        pl_latency_log_add(endpoint->round_trips, due_ns - schedule->start_ns, now_ns - due_ns);
        pl_sequence_add(&endpoint->sequence, number);
        used += (size_t)bytes;
    }
    return (ssize_t)used;
}

/* Handles `count` further bytes behind the `have` ones that are kept. 0, or an errno. */
static int on_bytes(struct pl_worker *worker, struct pl_stream *stream, const struct pl_schedule *schedule,
                    size_t count, size_t *have)
{
    struct pl_endpoint *endpoint = stream->endpoint;
    uint8_t *data = worker->read_buffer;
    pl_ns now_ns = pl_now_ns();
    *have += count;
    ssize_t used = take_answers(worker, endpoint, schedule, data, *have, now_ns);
    if (used < 0)
        return errno;
    pl_role_count_received(worker, stream, count, now_ns);
    pl_role_publish_sequence(endpoint);
    pl_role_tick(worker, now_ns);
    return pl_role_is_over(worker) ? ECANCELED : pl_role_keep_rest(worker, data, (size_t)used, have);
}

void pl_receiver_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    struct pl_endpoint *endpoint = stream->endpoint;
    const struct pl_schedule schedule = pl_pace_begin(worker).schedule;
    int cause = 0;
    size_t have = 0;
    while (cause == 0) {
        bool over = atomic_load(&endpoint->sends_over);
        ssize_t count = pl_channel_read(&endpoint->channel, worker->read_buffer + have,
                                        PL_MESSAGE_READ_BYTES - have, pl_now_ns() + LOST_NS);
        if (count > 0)
            cause = on_bytes(worker, stream, &schedule, (size_t)count, &have);
        else if (count < 0 && errno != EAGAIN)
            cause = errno;
        else if (count == 0 || over) /* nothing for a second after the last message: the rest is lost */
            break;
    }
    if (cause == 0)
        cause = atomic_load(&endpoint->send_failure);
    pl_latency_log_finish(endpoint->round_trips);
    pl_role_end_stream(worker, stream, cause);
}

/* How many messages may be sent now. The one thread must not wait for room to write while the relay waits for
 * it to read, so that only few bytes are under way, or one message. Datagrams are dropped instead of waited
 * for. */
static uint64_t count_allowed(const struct pl_worker *worker, const struct pl_endpoint *endpoint)
{
    const struct pl_message_settings *messages = worker->shared->messages;
    uint64_t under_way = endpoint->batch.number - endpoint->answered;
    uint64_t most = UNDER_WAY_BYTES / (uint64_t)messages->bytes;
    if (pl_carrier_is_datagram(messages->carrier))
        return UINT64_MAX;
    most = most > 0 ? most : 1;
    return under_way < most ? most - under_way : 0;
}

void pl_poller_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    struct pl_channel *channel = &stream->endpoint->channel;
    struct pl_pace pace = pl_pace_begin(worker);
    pl_ns next_ns = 0;
    uint32_t failed = 0;
    int cause = 0;
    size_t have = 0;
    while (cause == 0 && pl_role_sends(worker)) {
        pl_ns now_ns = pl_now_ns();
        if (now_ns >= next_ns) /* where none is allowed, a batch may have to go */
            next_ns =
                pl_pace_step(&pace, worker, now_ns, count_allowed(worker, stream->endpoint), &cause, &failed);
        if (cause != 0)
            break;
        ssize_t count =
            pl_channel_try_read(channel, worker->read_buffer + have, PL_MESSAGE_READ_BYTES - have);
        if (count > 0)
            cause = on_bytes(worker, stream, &pace.schedule, (size_t)count, &have);
        else if (count == 0)
            cause = EPIPE;
        else if (errno != EAGAIN && errno != EINTR)
            cause = errno;
    }
    if (cause == ECANCELED && !pl_role_is_over(worker))
        cause = 0;
    if (cause == 0)
        pl_channel_end_writing(channel);
    while (cause == 0) {
        ssize_t count = pl_channel_read(channel, worker->read_buffer + have, PL_MESSAGE_READ_BYTES - have,
                                        pl_now_ns() + LOST_NS);
        if (count <= 0) {
            cause = count == 0 || errno == EAGAIN ? 0 : errno;
            break;
        }
        cause = on_bytes(worker, stream, &pace.schedule, (size_t)count, &have);
    }
    pl_latency_log_finish(stream->endpoint->round_trips);
    pl_role_end_stream(worker, stream, cause);
}
