/* The role of a sink: receives messages and checks their numbers. */
#include "messages/message_reader.h"
#include "messages/roles.h"

static ssize_t take(const struct pl_message_reader *reader, const uint8_t *data, size_t have, pl_ns now_ns)
{
    return pl_read_messages(reader, data, have, now_ns, pl_count_message);
}

void pl_sink_run(struct pl_worker *worker)
{
    struct pl_message_reader reader = {.worker = worker, .stream = worker->streams[0], .handle = take};
    int cause = pl_reader_run(&reader);
    if (cause == 0 && worker->shared->messages->placement == PL_PLACEMENT_APART)
        pl_role_confirm(worker, reader.stream);
    pl_role_end_stream(worker, reader.stream, cause);
}
