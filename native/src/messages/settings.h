/* What a flow of messages was asked to do. Both ends agree on the upper part, which the hello carries; the
 * lower part is of one end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "messages/channel.h"
#include "messages/encoding.h"

/* Streams of a flow of messages: each sink has a thread. */
#define PL_MESSAGE_STREAMS_MAX 256
#define PL_MESSAGE_RATE_MAX INT64_C(1000000000)
#define PL_BATCH_MAX_BYTES (1 << 20)
/* UDP carries 65,507 bytes; what an encoding adds has to fit as well. */
#define PL_DATAGRAM_MAX_BYTES 65000

/* Where source and sink are. */
enum pl_placement {
    PL_PLACEMENT_APART,    /* in two processes */
    PL_PLACEMENT_THREADED, /* two threads of one process, with a bounded queue between them */
    PL_PLACEMENT_FUSED     /* one thread */
};

const char *pl_placement_name(enum pl_placement placement);

struct pl_message_settings {
    int64_t bytes; /* the size of a message; 0: the flow carries a stream of bytes */
    enum pl_encoding encoding;
    enum pl_carrier carrier;
    bool replies;        /* the accepting end returns every message */
    int64_t queue_bytes; /* of a ring, in one direction */
    bool agreed;         /* receive: the first hello was adopted */

    enum pl_placement placement;
    int64_t rate_per_s;  /* offered, over all streams; 0: as fast as possible, with replies one at a time */
    int64_t batch_bytes; /* sent in one call; 0: each message on its own */
    int64_t batch_min_delay_ns;
    int64_t batch_max_delay_ns; /* 0: no limit */
    bool cork;
    bool polls;
    int64_t priority; /* SCHED_FIFO; 0: ordinary scheduling */
};

/* Values of flags that are words. */
struct pl_message_words {
    const char *encoding;
    const char *wait;
    const char *placement;
};

/* Whether a queue may have this size: a power of two that holds two messages of the largest size. */
bool pl_queue_is_possible(int64_t bytes);

/* Reads the words of the flags, and refuses flags that contradict each other. False with `error` set (usage).
 */
bool pl_message_settings_check(struct pl_message_settings *settings, const struct pl_message_words *words,
                               struct pl_error *error);
