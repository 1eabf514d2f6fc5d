/* Probes as text for people at a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "probe/ping_records.h"
#include "probe/probe_socket.h"
#include "probe/probe_table.h"

/* The round trips so far. Zero-initialise; free with pl_ping_text_release(). */
struct pl_ping_text {
    pl_ns *rtts_ns;
    size_t count;
    size_t capacity;
    uint64_t unkept; /* round trips without memory to keep them */
};

/* Functions that print return false when the output is gone. */
bool pl_ping_text_start(const char *address, const struct pl_probe_socket *socket);
/* Keeps the round trip, and prints a line unless probes come too fast to be read. */
bool pl_ping_text_probe(struct pl_ping_text *text, const struct pl_probe *probe, pl_ns interval_ns);
/* Keeps the round trip of a late answer, and prints a line unless probes come too fast to be read. */
bool pl_ping_text_late(struct pl_ping_text *text, const struct pl_probe *probe, pl_ns interval_ns);
/* The summary; sorts the kept round trips. */
bool pl_ping_text_result(struct pl_ping_text *text, const struct pl_ping_counts *counts);
void pl_ping_text_release(struct pl_ping_text *text);
