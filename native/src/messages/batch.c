#include "messages/batch.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/events.h"

bool pl_batch_open(struct pl_batch *batch, const struct pl_message_settings *settings, const uint8_t *content)
{
    size_t most = pl_encoded_max(settings->encoding, (size_t)settings->bytes);
    *batch = (struct pl_batch){
        .encoding = settings->encoding,
        .message_bytes = (size_t)settings->bytes,
        .room_bytes = settings->batch_bytes > (int64_t)most ? (size_t)settings->batch_bytes : most,
        .min_delay_ns = settings->batch_min_delay_ns,
        .max_delay_ns = settings->batch_max_delay_ns > 0 ? settings->batch_max_delay_ns : PL_NEVER,
        .content = content,
    };
    batch->data = malloc(batch->room_bytes);
    if (batch->data == NULL)
        return false;
    /* The content of fixed messages never changes: written once, only their numbers are written later. */
    for (size_t at = 0; batch->encoding == PL_ENCODING_FIXED && at + most <= batch->room_bytes; at += most)
        (void)pl_encode(batch->encoding, batch->data + at, 0, content, batch->message_bytes);
    return true;
}

void pl_batch_close(struct pl_batch *batch)
{
    free(batch->data);
    batch->data = NULL;
}

bool pl_batch_is_full(const struct pl_batch *batch)
{
    return batch->room_bytes - batch->used_bytes < pl_encoded_max(batch->encoding, batch->message_bytes);
}

static void add(struct pl_batch *batch)
{
    uint8_t *at = batch->data + batch->used_bytes;
    if (batch->encoding == PL_ENCODING_FIXED) {
        pl_put32(at, (uint32_t)batch->number);
        batch->used_bytes += batch->message_bytes;
    } else {
        batch->used_bytes +=
            pl_encode(batch->encoding, at, (uint32_t)batch->number, batch->content, batch->message_bytes);
    }
    batch->number++;
    batch->messages++;
}

void pl_batch_add(struct pl_batch *batch, pl_ns now_ns)
{
    if (batch->messages == 0)
        batch->first_ns = now_ns;
    add(batch);
}

void pl_batch_fill(struct pl_batch *batch, uint64_t most)
{
    for (; most > 0 && !pl_batch_is_full(batch); most--)
        add(batch);
}

pl_ns pl_batch_deadline_ns(const struct pl_batch *batch)
{
    if (batch->messages == 0 || batch->max_delay_ns == PL_NEVER)
        return PL_NEVER;
    return batch->first_ns + batch->max_delay_ns;
}

pl_ns pl_batch_earliest_ns(const struct pl_batch *batch)
{
    return batch->first_ns + batch->min_delay_ns;
}

void pl_batch_clear(struct pl_batch *batch)
{
    batch->used_bytes = 0;
    batch->messages = 0;
}
