/* Reading of the messages of one stream: whole ones are handled, a part is kept until its rest comes. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "flow/worker.h"
#include "messages/breach.h"
#include "messages/encoding.h"
#include "messages/endpoint.h"

/* Bytes read in one call. */
#define PL_MESSAGE_READ_BYTES (256 << 10)

struct pl_message_reader {
    struct pl_worker *worker;
    struct pl_stream *stream;
    /* Handles the whole ones among `have` bytes that were read at `now_ns`. The bytes used, or -1 with errno.
     */
    ssize_t (*handle)(const struct pl_message_reader *reader, const uint8_t *data, size_t have, pl_ns now_ns);
    const void *context; /* of `handle` */
    bool returns; /* messages are counted and timed after they were handled: they are on their way back */
    size_t have;  /* bytes of a part */
};

/* Takes one message. 0, or an errno. */
typedef int pl_on_message(const struct pl_message_reader *reader, uint32_t number, const uint8_t *content,
                          pl_ns now_ns);

/* Calls `on_message` for each whole message among `have` bytes. The bytes used, or -1 with errno. Inline, so
 * that the call is none. */
static inline ssize_t pl_read_messages(const struct pl_message_reader *reader, const uint8_t *data,
                                       size_t have, pl_ns now_ns, pl_on_message *on_message)
{
    const struct pl_message_settings *messages = reader->worker->shared->messages;
    const size_t size = (size_t)messages->bytes;
    size_t used = 0;
    int cause = 0;
    /* The fast case: no head, no fields. */
    if (messages->encoding == PL_ENCODING_FIXED) {
        for (; cause == 0 && have - used >= size; used += size)
            cause = on_message(reader, pl_get32(data + used), data + used + PL_NUMBER_BYTES, now_ns);
        if (cause == 0)
            return (ssize_t)used;
        errno = cause;
        return -1;
    }
    while (used < have) {
        uint32_t number;
        const uint8_t *content;
        ssize_t bytes = pl_decode(messages->encoding, data + used, have - used, size, &number, &content);
        if (bytes == 0)
            break;
        cause = bytes < 0 ? PL_BREACH_MESSAGE : on_message(reader, number, content, now_ns);
        if (cause != 0) {
            errno = cause;
            return -1;
        }
        used += (size_t)bytes;
    }
    return (ssize_t)used;
}

/* Counts the message alone. */
static inline int pl_count_message(const struct pl_message_reader *reader, uint32_t number,
                                   const uint8_t *content, pl_ns now_ns)
{
    (void)content;
    (void)now_ns;
    pl_sequence_add(&reader->stream->endpoint->sequence, number);
    return 0;
}

/* Handles `count` further bytes, which were read behind the part. 0, or an errno; ECANCELED when the trial is
 * given up. */
int pl_reader_take(struct pl_message_reader *reader, size_t count);
/* One read, which waits until `deadline_ns`, and its messages. 1; 0 at the end of the data; -1 with errno:
 * EAGAIN at the deadline, ECANCELED when the trial is given up. */
int pl_reader_step(struct pl_message_reader *reader, pl_ns deadline_ns);
/* Reads to the end of the data. 0, or an errno. */
int pl_reader_run(struct pl_message_reader *reader);
