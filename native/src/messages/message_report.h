/* What records (PROTOCOL.md) and text state about the messages of a flow. */
#pragma once

#include "base/json.h"
#include "flow/counters.h"

/* The settings, as an object "messages" of the ready record. */
void pl_message_write_settings(struct pl_json *j, const struct pl_counters *counters);

/* The messages of each stream in an interval, and in a phase of the result. */
void pl_message_write_interval(struct pl_json *j, const struct pl_counters *counters);
void pl_message_write_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase);

/* The counts of every stream, as an object "messages" of the result. */
void pl_message_write_result(struct pl_json *j, const struct pl_counters *counters);

/* For people: a line at the start; lines of the summary: the rate of the steady window, what is missing, and
 * the round trips. */
void pl_message_print_settings(const struct pl_counters *counters);
void pl_message_print_result(const struct pl_counters *counters);
