/* Source and sink in one thread: the sink is a function that the source calls with each message. */
#include <string.h>

#include "base/bytes.h"
#include "messages/roles.h"

/* Messages between two looks at the mode and the clock. */
#define MESSAGES_OF_A_TURN 1024

/* A real call, as between two operators of one process: the compiler must not merge it into the loop. */
static void __attribute__((noinline))
receive(struct pl_sequence *sequence, const struct pl_message_settings *messages, const uint8_t *at,
        size_t bytes)
{
    uint32_t number;
    const uint8_t *content;
    if (pl_decode(messages->encoding, at, bytes, (size_t)messages->bytes, &number, &content) > 0)
        pl_sequence_add(sequence, number);
    /* The sink may keep the message, so that the source has to write each one. */
    __asm__ volatile("" : : "r"(content) : "memory");
}

/* The messages of one turn, or fewer at the limit of bytes. */
static uint64_t send_turn(struct pl_worker *worker, struct pl_stream *stream, uint64_t most)
{
    struct pl_endpoint *endpoint = stream->endpoint;
    struct pl_batch *batch = &endpoint->batch;
    size_t bytes = 0;
    uint64_t count = most < MESSAGES_OF_A_TURN ? most : MESSAGES_OF_A_TURN;
    for (uint64_t i = 0; i < count; i++) {
        size_t size = pl_encode(batch->encoding, batch->data, (uint32_t)batch->number, batch->content,
                                batch->message_bytes);
        receive(&endpoint->sequence, worker->shared->messages, batch->data, size);
        batch->number++;
        bytes += size;
    }
    pl_role_count_sent(stream, bytes, count);
    pl_role_count_received(worker, stream, bytes, pl_now_ns());
    pl_role_publish_sequence(endpoint);
    return count;
}

void pl_fused_run(struct pl_worker *worker)
{
    struct pl_stream *stream = worker->streams[0];
    uint64_t left = pl_role_find_quota(worker, stream);
    while (left > 0 && pl_role_sends(worker)) {
        left -= send_turn(worker, stream, left);
        pl_role_tick(worker, pl_now_ns());
    }
    pl_worker_note_exhausted(worker, 1);
    pl_role_end_stream(worker, stream, 0);
}
