/* The flags of `emulate` (PROTOCOL.md). */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "emulate/link_settings.h"

/* Texts lie in argv or are static; none is NULL. */
struct pl_emulation_plan {
    const char *backend, *namespaces[2], *interfaces[2], *specs[2];
    const char *control; /* "" or "stdin" */
    const char *trace;   /* path; "": none */
    int64_t seed, spin_ns, mtu_bytes, buffer_bytes, trace_limit_bytes;
    struct pl_link_settings settings[2]; /* the parsed specs */
};

/* Parse the flags. PL_OPTIONS_WRONG: `error` (PL_USAGE) names the wrong one. */
enum pl_options_outcome pl_emulation_plan_parse(struct pl_emulation_plan *plan, int argc, char **argv,
                                                struct pl_error *error);
