/* Deliveries in the order of their due times: a power-of-two ring that grows up to a bound.
 *
 * Nearly every delivery is due after all the others and is appended; an earlier one is moved forward past the
 * later ones. Deliveries due at the same time keep their order of arrival. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

struct pl_packet;

struct pl_delivery {
    pl_ns due_ns;
    struct pl_packet *packet; /* not owned by the line */
    uint32_t first_segment;
    uint32_t segments; /* 0: the packet as it was read */
    bool mark;         /* set CE in the copy that is sent */
};

struct pl_delay_line {
    struct pl_delivery *ring;
    size_t capacity; /* 0 or a power of two */
    size_t maximum;  /* capacity never exceeds this */
    size_t head, tail;
};

/* Begin an empty line that holds at most `maximum` deliveries, rounded down to a power of two, at least 64.
 */
void pl_delay_line_init(struct pl_delay_line *line, size_t maximum);

/* Free the ring; the packets are the caller's. */
void pl_delay_line_free(struct pl_delay_line *line);

/* Insert a copy of `delivery`. False: full at its bound, or no memory; the line is then unchanged. */
bool pl_delay_line_push(struct pl_delay_line *line, const struct pl_delivery *delivery);

/* The delivery due first, valid until the next push or pop; NULL when empty. */
const struct pl_delivery *pl_delay_line_peek(const struct pl_delay_line *line);

/* Remove the delivery due first. The line must not be empty. */
void pl_delay_line_pop(struct pl_delay_line *line);

size_t pl_delay_line_count(const struct pl_delay_line *line);
