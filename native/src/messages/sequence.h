/* The order and completeness of the messages that one sink receives, from their numbers modulo 2^32. */
#pragma once

#include <stdint.h>

/* Zero-initialise. A message that arrives after one with a higher number fills a gap: it is no longer
 * missing. On transports that keep the order both stay 0, and neither is exact where messages are duplicated.
 */
struct pl_sequence {
    uint32_t expected;
    uint64_t received;
    uint64_t missing;
    uint64_t out_of_order; /* arrived after one with a higher number */
};

/* For a number that is not the expected one. */
void pl_sequence_jump(struct pl_sequence *sequence, uint32_t number);

static inline void pl_sequence_add(struct pl_sequence *sequence, uint32_t number)
{
    sequence->received++;
    if (number == sequence->expected)
        sequence->expected++;
    else
        pl_sequence_jump(sequence, number);
}
