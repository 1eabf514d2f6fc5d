/* The role of a sink: receives messages and checks their numbers. */
#include <errno.h>

#include "base/bytes.h"
#include "messages/breach.h"
#include "messages/roles.h"

/* The fast case: no head, no fields. Returns the bytes used. */
static size_t take_fixed(struct pl_sequence *sequence, const uint8_t *at, size_t have, size_t size)
{
    size_t used = 0;
    for (; have - used >= size; used += size)
        pl_sequence_add(sequence, pl_get32(at + used));
    return used;
}

/* Bytes of whole messages; -1 for bytes that are no message. */
static ssize_t take(const struct pl_worker *worker, struct pl_sequence *sequence, const uint8_t *at,
                    size_t have)
{
    const struct pl_message_settings *messages = worker->shared->messages;
    size_t size = (size_t)messages->bytes;
    if (messages->encoding == PL_ENCODING_FIXED)
        return (ssize_t)take_fixed(sequence, at, have, size);
    size_t used = 0;
    while (used < have) {
        uint32_t number;
        const uint8_t *content;
        ssize_t bytes = pl_decode(messages->encoding, at + used, have - used, size, &number, &content);
        if (bytes < 0)
            return -1;
        if (bytes == 0)
            break;
        pl_sequence_add(sequence, number);
        used += (size_t)bytes;
    }
    return (ssize_t)used;
}

/* Reads until the end of the data. 0, or an errno. */
static int receive(struct pl_worker *worker, struct pl_stream *stream, uint8_t *data)
{
    struct pl_endpoint *endpoint = stream->endpoint;
    for (size_t have = 0; !pl_role_is_over(worker);) {
        ssize_t count =
            pl_channel_read(&endpoint->channel, data + have, PL_MESSAGE_READ_BYTES - have, PL_NEVER);
        if (count == 0)
            return have == 0 ? 0 : PL_BREACH_PART;
        if (count < 0)
            return errno;
        pl_ns now_ns = pl_now_ns();
        pl_role_count_received(worker, stream, (size_t)count, now_ns);
        have += (size_t)count;
        ssize_t used = take(worker, &endpoint->sequence, data, have);
        if (used < 0)
            return PL_BREACH_MESSAGE;
        pl_role_publish_sequence(endpoint);
        pl_role_tick(worker, now_ns);
        if (pl_role_keep_rest(worker, data, (size_t)used, &have) != 0)
            return PL_BREACH_PART;
    }
    return ECANCELED;
}

void pl_sink_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    int cause = receive(worker, stream, worker->read_buffer);
    if (cause == 0 && worker->shared->messages->placement == PL_PLACEMENT_APART)
        pl_role_confirm(worker, stream);
    pl_role_end_stream(worker, stream, cause);
}
