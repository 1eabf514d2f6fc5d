#include "messages/message_reader.h"

#include <string.h>

#include "messages/roles.h"

/* Moves what is left behind the `used` bytes, a part of a message, to the front. 0, or PL_BREACH_PART: a
 * datagram has whole messages. */
static int keep_rest(struct pl_message_reader *reader, size_t used)
{
    uint8_t *data = reader->worker->read_buffer;
    reader->have -= used;
    memmove(data, data + used, reader->have);
    bool datagrams = pl_carrier_is_datagram(reader->worker->shared->messages->carrier);
    return reader->have > 0 && datagrams ? PL_BREACH_PART : 0;
}

int pl_reader_take(struct pl_message_reader *reader, size_t count)
{
    struct pl_worker *worker = reader->worker;
    pl_ns now_ns = reader->returns ? 0 : pl_now_ns();
    reader->have += count;
    ssize_t used = reader->handle(reader, worker->read_buffer, reader->have, now_ns);
    if (used < 0)
        return errno;
    if (reader->returns)
        now_ns = pl_now_ns();
    pl_role_count_received(worker, reader->stream, count, now_ns);
    pl_role_publish_sequence(reader->stream->endpoint);
    pl_role_tick(worker, now_ns);
    return pl_role_is_over(worker) ? ECANCELED : keep_rest(reader, (size_t)used);
}

int pl_reader_step(struct pl_message_reader *reader, pl_ns deadline_ns)
{
    ssize_t count =
        pl_channel_read(&reader->stream->endpoint->channel, reader->worker->read_buffer + reader->have,
                        PL_MESSAGE_READ_BYTES - reader->have, deadline_ns);
    if (count <= 0)
        return (int)count;
    int cause = pl_reader_take(reader, (size_t)count);
    errno = cause;
    return cause == 0 ? 1 : -1;
}

int pl_reader_run(struct pl_message_reader *reader)
{
    while (!pl_role_is_over(reader->worker)) {
        int step = pl_reader_step(reader, PL_NEVER);
        if (step < 0)
            return errno;
        if (step == 0)
            return reader->have == 0 ? 0 : PL_BREACH_PART;
    }
    return ECANCELED;
}
