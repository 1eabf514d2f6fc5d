/* The flags of `capture`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "capture/packet_filter.h"

struct pl_capture_plan {
    const char *path; /* "": the descriptor */
    const char *interfaces;
    const char *addresses;
    const char *peers;
    const char *ports;
    const char *protocols;
    const char *control;
    const char *output;
    int64_t descriptor; /* -1: none */
    int64_t snap_bytes;
    int64_t udp_payload_bytes;
    int64_t ring_bytes;
    int64_t limit_bytes;
    int64_t keep_free_bytes;
    int64_t time_limit_ns;

    bool human;
    struct pl_packet_filter filter; /* but for its interfaces */
};

/* Parses and checks all flags; `error` names the wrong one. */
enum pl_options_outcome pl_capture_plan_parse(struct pl_capture_plan *plan, int argc, char **argv,
                                              struct pl_error *error);
