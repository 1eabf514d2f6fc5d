/* The settings that both ends of a flow share, and their flags. */
#ifndef PL_FLOW_H
#define PL_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "options.h"
#include "wire.h"

#define PL_MAX_STREAMS 4096

/* As given by the flags; all integers are int64_t because the option table wants them so. */
struct pl_flow {
    const char *address; /* send: of the receiver */
    const char *bind;
    const char *token_text;
    const char *congestion;
    const char *control;
    int64_t port;
    int64_t streams;
    int64_t window_bytes;
    int64_t warmup_ns;
    int64_t duration_ns;
    int64_t interval_ns;
    int64_t workers;
    int64_t chunk_bytes;      /* one read or one write */
    int64_t greet_timeout_ns; /* until every stream is connected and admitted */
    int64_t drain_timeout_ns;
    int64_t max_bytes;
    uint8_t token[PL_TOKEN_BYTES];
};

/* Parses the flags of `send` (sending) or `receive` and settles what depends on others: the token's bytes,
 * the number of workers and the size of a write. */
enum pl_options_outcome pl_flow_parse(struct pl_flow *flow, bool sending, int argc, char **argv,
                                      struct pl_error *error);

#endif
