/* The messages of one sink that wait to be sent together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/events.h"
#include "messages/encoding.h"
#include "messages/settings.h"

struct pl_batch {
    enum pl_encoding encoding;
    size_t message_bytes;
    size_t room_bytes; /* of `data`: the size of a batch, at least one message */
    size_t used_bytes;
    uint32_t messages; /* in it */
    uint64_t number;   /* of the next message */
    pl_ns min_delay_ns;
    pl_ns max_delay_ns; /* PL_NEVER: none */
    pl_ns first_ns;     /* when its first message was added */
    uint8_t *data;
    const uint8_t *content; /* borrowed: of every message */
};

/* False when memory ran out. `content` holds a message's size and is borrowed. */
bool pl_batch_open(struct pl_batch *batch, const struct pl_message_settings *settings,
                   const uint8_t *content);
void pl_batch_close(struct pl_batch *batch);

/* Adds the next message, for which there is room. `now_ns` counts where there are delays. */
void pl_batch_add(struct pl_batch *batch, pl_ns now_ns);
/* Fills it with messages; the fast way to pl_batch_add() until there is no room, and at most `most` of them.
 */
void pl_batch_fill(struct pl_batch *batch, uint64_t most);
bool pl_batch_is_full(const struct pl_batch *batch);
/* When it has to be sent though it is not full: its first message is then as old as the maximum delay.
 * PL_NEVER where nothing waits or there is no maximum. */
pl_ns pl_batch_deadline_ns(const struct pl_batch *batch);
/* When it may be sent though it is not full, because no further message is due. */
pl_ns pl_batch_earliest_ns(const struct pl_batch *batch);
/* After it was sent. */
void pl_batch_clear(struct pl_batch *batch);
