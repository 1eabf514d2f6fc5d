/* The role of a relay: returns every message on the connection that it came by, and as it came. */
#include "messages/message_reader.h"
#include "messages/roles.h"

/* Serialises the message again and returns it. */
static int return_message(const struct pl_message_reader *reader, uint32_t number, const uint8_t *content,
                          pl_ns now_ns)
{
    struct pl_batch *batch = &reader->stream->endpoint->batch;
    (void)pl_count_message(reader, number, content, now_ns);
    batch->number = number;
    batch->content = content;
    pl_batch_fill(batch, 1);
    return pl_role_send_batch(reader->worker, reader->stream);
}

/* Messages of a fixed layout go back as they came, those that came together in one call. */
static ssize_t return_messages(const struct pl_message_reader *reader, const uint8_t *data, size_t have,
                               pl_ns now_ns)
{
    const struct pl_message_settings *messages = reader->worker->shared->messages;
    if (messages->encoding != PL_ENCODING_FIXED)
        return pl_read_messages(reader, data, have, now_ns, return_message);
    size_t size = (size_t)messages->bytes;
    size_t bytes = have - have % size;
    int cause =
        bytes > 0 ? pl_role_send(reader->worker, reader->stream, data, bytes, (uint32_t)(bytes / size)) : 0;
    if (cause != 0) {
        errno = cause;
        return -1;
    }
    return pl_read_messages(reader, data, bytes, now_ns, pl_count_message);
}

void pl_relay_run(struct pl_worker *worker)
{
    struct pl_message_reader reader = {
        .worker = worker, .stream = worker->streams[0], .handle = return_messages, .returns = true};
    int cause = pl_reader_run(&reader);
    if (cause == 0)
        pl_channel_end_writing(&reader.stream->endpoint->channel);
    pl_role_end_stream(worker, reader.stream, cause);
}
