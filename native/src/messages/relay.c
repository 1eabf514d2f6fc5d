/* The role of a relay: returns every message on the connection that it came by, and as it came. */
#include <errno.h>

#include "base/bytes.h"
#include "messages/breach.h"
#include "messages/roles.h"

/* Parses the whole messages among `have` bytes, serialises each again and returns it. The bytes used, or -1
 * with errno. */
static ssize_t return_parsed(struct pl_worker *worker, struct pl_stream *stream, const uint8_t *data,
                             size_t have)
{
    const struct pl_message_settings *messages = worker->shared->messages;
    struct pl_endpoint *endpoint = stream->endpoint;
    size_t used = 0;
    while (used < have) {
        uint32_t number;
        const uint8_t *content;
        ssize_t bytes = pl_decode(messages->encoding, data + used, have - used, (size_t)messages->bytes,
                                  &number, &content);
        if (bytes == 0)
            break;
        int cause = bytes < 0 ? PL_BREACH_MESSAGE : 0;
        if (cause == 0) {
            pl_sequence_add(&endpoint->sequence, number);
            endpoint->batch.number = number;
            endpoint->batch.content = content;
            pl_batch_fill(&endpoint->batch, 1);
            cause = pl_role_send_batch(worker, stream);
        }
        if (cause != 0) {
            errno = cause;
            return -1;
        }
        used += (size_t)bytes;
    }
    return (ssize_t)used;
}

/* Messages of a fixed layout go back as they came, those that came together in one call. */
static ssize_t return_messages(struct pl_worker *worker, struct pl_stream *stream, const uint8_t *data,
                               size_t have)
{
    const struct pl_message_settings *messages = worker->shared->messages;
    if (messages->encoding != PL_ENCODING_FIXED)
        return return_parsed(worker, stream, data, have);
    size_t size = (size_t)messages->bytes;
    size_t used = have - have % size;
    int cause = used > 0 ? pl_role_send(worker, stream, data, used, (uint32_t)(used / size)) : 0;
    if (cause != 0) {
        errno = cause;
        return -1;
    }
    for (size_t at = 0; at < used; at += size)
        pl_sequence_add(&stream->endpoint->sequence, pl_get32(data + at));
    return (ssize_t)used;
}

static int relay(struct pl_worker *worker, struct pl_stream *stream, uint8_t *data)
{
    struct pl_endpoint *endpoint = stream->endpoint;
    for (size_t have = 0; !pl_role_is_over(worker);) {
        ssize_t count =
            pl_channel_read(&endpoint->channel, data + have, PL_MESSAGE_READ_BYTES - have, PL_NEVER);
        if (count == 0)
            return have == 0 ? 0 : PL_BREACH_PART;
        if (count < 0)
            return errno;
        have += (size_t)count;
        ssize_t used = return_messages(worker, stream, data, have);
        if (used < 0)
            return errno;
        /* Counted and timed when the messages are on their way back, so that no round trip contains it. */
        pl_ns now_ns = pl_now_ns();
        pl_role_count_received(worker, stream, (size_t)count, now_ns);
        pl_role_publish_sequence(endpoint);
        pl_role_tick(worker, now_ns);
        if (pl_role_keep_rest(worker, data, (size_t)used, &have) != 0)
            return PL_BREACH_PART;
    }
    return ECANCELED;
}

void pl_relay_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    int cause = relay(worker, stream, worker->read_buffer);
    if (cause == 0)
        pl_channel_end_writing(&stream->endpoint->channel);
    pl_role_end_stream(worker, stream, cause);
}
