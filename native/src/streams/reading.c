#include "streams/reading.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/message.h"
#include "base/relaxed.h"
#include "streams/stream_state.h"

/* The connecting side's first byte starts the accepting side's stream. */
static void on_first_read(struct pl_worker *worker, struct pl_stream *stream)
{
    stream->received_any = true;
    if (!worker->first_byte_seen)
        pl_worker_record_first_byte(worker, pl_now_ns());
    if (worker->shared->transmits && worker->shared->accepting) {
        stream->writing = true;
        pl_stream_watch(worker, stream);
    }
}

/* The peer has shut its side. */
static bool on_end_of_file(struct pl_worker *worker, struct pl_stream *stream)
{
    const struct pl_shared *shared = worker->shared;
    int state = pl_load_relaxed(&stream->state);
    stream->ended = true;
    if (!shared->transmits) {
        /* The byte count and the end of file confirm to the sender that everything was read. The descriptor
         * stays open for a last TCP_INFO. */
        uint8_t count[PL_CONFIRMATION_BYTES];
        pl_put64(count, pl_load_relaxed(&stream->received_bytes));
        (void)pl_message_send(stream->fd, count, sizeof count, true);
        (void)shutdown(stream->fd, SHUT_WR);
        pl_worker_close(worker, stream, 0);
        return false;
    }
    /* A peer that ends before its start byte will never start this stream. */
    bool idle = shared->accepting && !stream->received_any;
    if (state == PL_STREAM_SHUT && shared->receives) {
        pl_stream_finish(worker, stream);
        return false;
    }
    if (state == PL_STREAM_SHUT || !shared->receives || idle) {
        pl_worker_close(worker, stream, state == PL_STREAM_SHUT ? 0 : EPIPE);
        return false;
    }
    pl_stream_watch(worker, stream);
    return true;
}

/* Counts data; false when this turn is over. */
static bool count_data(struct pl_worker *worker, struct pl_stream *stream, size_t bytes)
{
    /* Single writer: no read-modify-write is needed. */
    uint64_t before = pl_load_relaxed(&stream->received_bytes);
    pl_store_relaxed(&stream->received_bytes, before + bytes);
    return pl_worker_count(worker, bytes) && bytes == worker->shared->read_bytes;
}

/* A side that only sends reads the start byte, and at the end the confirmation. */
static void read_confirmation(struct pl_stream *stream, uint8_t byte, bool confirms)
{
    if (confirms && stream->confirmed < PL_CONFIRMATION_BYTES)
        stream->confirmation[stream->confirmed++] = byte;
}

bool pl_read_turn(struct pl_worker *worker, struct pl_stream *stream)
{
    const struct pl_shared *shared = worker->shared;
    size_t chunk = shared->receives ? shared->read_bytes : 1;
    int flags = shared->discards && shared->receives ? MSG_TRUNC : 0;
    /* Beyond the byte limit the other streams of this batch stay unread. */
    for (int i = 0; i < worker->turn && pl_worker_runs(worker); i++) {
        ssize_t count = recv(stream->fd, worker->read_buffer, chunk, flags);
        worker->calls++;
        if (count > 0) {
            bool confirms = stream->received_any || !shared->accepting;
            if (!stream->received_any)
                on_first_read(worker, stream);
            if (!shared->receives)
                read_confirmation(stream, worker->read_buffer[0], confirms);
            else if (!count_data(worker, stream, (size_t)count))
                return true;
        } else if (count == 0) {
            return on_end_of_file(worker, stream);
        } else if (errno != EINTR) {
            if (errno == EAGAIN)
                return true;
            pl_worker_close(worker, stream, errno);
            return false;
        }
    }
    return true;
}
