/* The counts of a flow of messages at the boundaries of its intervals, and its round trips. */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "flow/byte_counters.h"
#include "flow/counters.h"
#include "flow/flow.h"
#include "messages/round_trips.h"

struct pl_message_samples {
    struct pl_byte_counters counts; /* received, or, at an end that only sends, sent */
    bool timed;                     /* this end's messages are returned */
    struct pl_round_trips round_trips;
};

/* The functions of struct pl_kind_counts; `samples` is a struct pl_message_samples. */
void *pl_message_samples_create(const struct pl_flow *flow);
void pl_message_samples_free(void *samples);
void pl_message_samples_take(void *samples, const struct pl_counters *counters);
void pl_message_samples_close_interval(void *samples, const struct pl_counters *counters, enum pl_phase phase,
                                       bool enters);
bool pl_message_samples_collect(void *samples, const struct pl_counters *counters, struct pl_json *j);
