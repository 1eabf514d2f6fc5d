/* The settings of one direction of an emulated link, and their text form. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

enum { PL_LINES_MAX = 16 };

/* Active queue management in front of the drop-tail bound. */
enum pl_aqm { PL_AQM_NONE, PL_AQM_CODEL };

struct pl_link_settings {
    uint64_t rate_bits_per_s; /* 0: unlimited */
    uint64_t queue_bytes;     /* 0: unlimited; see pl_link_backlog_bytes */
    uint64_t delay_ns;
    uint64_t jitter_ns;  /* up to this much more delay, uniform; keeps the order of packets */
    uint64_t reorder_ns; /* extra delay of the share `reorder_ratio`; only these packets may be overtaken */
    uint64_t slice_ns;   /* segments of one super-packet due within this time are delivered together */
    double loss_ratio;   /* of packets; in the good state only when `ge_enter_ratio` is above 0 */
    double ge_enter_ratio, ge_leave_ratio; /* Gilbert-Elliott: good to bad and back, per packet */
    double ge_loss_ratio;                  /* loss in the bad state */
    double reorder_ratio, duplicate_ratio;
    uint64_t cross_bits_per_s; /* cross traffic on the same link, in bursts of one packet; 0: none */
    uint64_t ecn_bytes;        /* an ECN-capable packet that meets a longer queue is marked; 0: never */
    enum pl_aqm aqm;
    uint64_t lines;                  /* that take the packets in turn, each of this rate and queue; 0: one */
    uint64_t line_delay_ns;          /* by which each further line is longer than the one before it */
    uint64_t target_ns, interval_ns; /* of CoDel; above 0 where `aqm` is PL_AQM_CODEL */
};

/* Overwrite the keys named in `spec` ("key=value,..."; empty: none) and leave the others. CoDel's times of 0
 * become 5 ms and 100 ms (RFC 8289, 4.4). False with `error` (PL_USAGE) naming the wrong key as `name`:
 * unknown, given twice, not a number, out of range, or a target above the interval; `settings` is then
 * unchanged. */
bool pl_link_settings_parse(struct pl_link_settings *settings, const char *name, const char *spec,
                            struct pl_error *error);

/* All keys of a SPEC, as an object. */
void pl_link_settings_write(struct pl_json *j, const char *key, const struct pl_link_settings *settings);
