/* The records of `ping` as JSON lines (PROTOCOL.md). All return false when the output is gone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/json.h"
#include "probe/probe_intervals.h"
#include "probe/probe_socket.h"
#include "probe/probe_table.h"

struct pl_ping_counts {
    uint64_t sent, received, duplicates, late, reordered, send_errors;
    pl_ns timeout_ns; /* the last time-out */
    pl_ns ended_ns;   /* when it stopped to listen */
};

/* `start_ns` is on pl_now_ns()'s clock. */
bool pl_ping_records_start(struct pl_json *j, const char *address, const struct pl_probe_socket *socket,
                           pl_ns start_ns);
bool pl_ping_records_probe(struct pl_json *j, const struct pl_probe *probe);
bool pl_ping_records_interval(struct pl_json *j, const struct pl_probe_interval *interval);
/* A probe that is not answered yet, `overdue_ns` after it was sent. */
bool pl_ping_records_overdue(struct pl_json *j, const struct pl_probe *probe, pl_ns overdue_ns);
/* An answer to a probe that was given up. */
bool pl_ping_records_late(struct pl_json *j, const struct pl_probe *probe);
/* `reason`: why the run ended early; NULL: it did not. */
bool pl_ping_records_result(struct pl_json *j, const char *reason, enum pl_method method,
                            const struct pl_ping_counts *counts, const struct pl_histogram *send_lateness);
