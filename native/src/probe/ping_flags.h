/* The flags of `ping` (PROTOCOL.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/marking.h"
#include "base/options.h"

/* Texts lie in argv or are static; none is NULL. */
struct pl_ping_flags {
    const char *address;
    const char *method_text;
    const char *token_text;
    const char *bind;
    const char *control;
    const char *output_text;
    struct pl_marking marking;
    int64_t port;
    int64_t count; /* 0: until stopped */
    int64_t interval_ns;
    int64_t histogram_interval_ns; /* 0: a record for each probe */
    int64_t payload_bytes;         /* 0: the default of the method */
    int64_t timeout_ns;
    int64_t timeout_max_ns;
    int64_t final_wait_ns;
    int64_t overdue_ns; /* 0: none is stated */

    bool human; /* derived from output_text */
};

/* Reads the flags. PL_OPTIONS_WRONG: `error` (PL_USAGE) names the flag at fault. */
enum pl_options_outcome pl_ping_flags_parse(struct pl_ping_flags *flags, int argc, char **argv,
                                            struct pl_error *error);
