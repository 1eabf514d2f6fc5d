/* One trial through its phases: takes each sample when it is due and writes it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json.h"
#include "flow/counters.h"
#include "flow/ending.h"

struct pl_trial {
    struct pl_counters *counters;
    struct pl_json json;
};

void pl_trial_close(struct pl_trial *trial);

/* Writes the ready record; `rejected` as in pl_ending. Functions that write return false when the output is
 * gone. */
bool pl_trial_ready(struct pl_trial *trial, int64_t rejected);
/* Writes the start record; `start_ns` is on pl_now_ns()'s clock. */
bool pl_trial_start(struct pl_trial *trial, pl_ns start_ns);

/* When the next sample is due, on pl_now_ns()'s clock; PL_NEVER before the start. */
pl_ns pl_trial_next_ns(const struct pl_trial *trial);

/* A number that grows, modulo 2^64, whenever anything was delivered in either direction on any stream. */
uint64_t pl_trial_progress(const struct pl_trial *trial);

/* The main thread ran `late_ns` later than planned; 0 and less: in time. */
void pl_trial_note_late(struct pl_trial *trial, pl_ns late_ns);
/* Samples now and writes the interval record that ends here. */
bool pl_trial_sample(struct pl_trial *trial);
/* Samples now and enters the drain, regardless of the plan. */
bool pl_trial_cut(struct pl_trial *trial);
/* Joins the workers, takes the last sample and writes the result. */
bool pl_trial_finish(struct pl_trial *trial, const struct pl_ending *ending);
