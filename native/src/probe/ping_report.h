/* What `ping` states: records (PROTOCOL.md), or text for people at a terminal. */
#pragma once

#include <stdbool.h>

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

/* Zero-initialise and set the first three; free with pl_ping_report_release(). */
struct pl_ping_report {
    bool human;
    bool written;      /* false once the output is gone */
    pl_ns interval_ns; /* between two probes: people get no lines that come too fast to be read */
    struct pl_json json;
    pl_ns *rtts_ns; /* for people: the round trips so far */
    size_t count;
    size_t capacity;
    uint64_t unkept; /* round trips without memory to keep them */
};

/* `start_ns` is on pl_now_ns()'s clock. */
void pl_ping_report_start(struct pl_ping_report *report, const char *address,
                          const struct pl_probe_socket *socket, pl_ns start_ns);

/* A probe that was answered or given up. */
void pl_ping_report_probe(struct pl_ping_report *report, const struct pl_probe *probe);

/* An answer to a probe that was given up. */
void pl_ping_report_late(struct pl_ping_report *report, const struct pl_probe *probe);

/* A probe that is not answered yet, `overdue_ns` after it was sent; people see it later. */
void pl_ping_report_overdue(struct pl_ping_report *report, const struct pl_probe *probe, pl_ns overdue_ns);

/* An interval of probes, as a record in either form. */
void pl_ping_report_interval(struct pl_ping_report *report, const struct pl_probe_interval *interval);

/* The summary. `reason`: why the run ended early; NULL: it did not. */
void pl_ping_report_result(struct pl_ping_report *report, const char *reason, enum pl_method method,
                           const struct pl_ping_counts *counts, const struct pl_histogram *send_lateness);

void pl_ping_report_release(struct pl_ping_report *report);
