/* What the records of a flow say about its messages (PROTOCOL.md). */
#pragma once

#include "base/json.h"
#include "flow/counters.h"

/* The settings, as an object "messages" of the ready record. */
void pl_message_records_settings(struct pl_json *j, const struct pl_counters *counters);
/* The messages of each stream in an interval, and in a phase of the result. */
void pl_message_records_interval(struct pl_json *j, const struct pl_counters *counters);
void pl_message_records_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase);
/* The counts of every stream, as an object "messages" of the result. */
void pl_message_records_result(struct pl_json *j, const struct pl_counters *counters);
