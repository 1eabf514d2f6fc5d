/* The settings of an adapter's program: its last argument, one JSON object (agents/adapters/CONTRACT.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapter/harness.h"
#include "base/clock.h"

enum {
    PL_PLAN_NAME_BYTES = 64,
    PL_PLAN_SCOPE_BYTES = 33,
    PL_PLAN_ADDRESS_BYTES = 128,
    PL_PLAN_FOLDER_BYTES = 1024,
    PL_PLAN_CORES = 1024,
    PL_PLAN_STREAMS_MAX = 1024
};

struct pl_plan {
    char name[PL_PLAN_NAME_BYTES];
    char variant[PL_PLAN_NAME_BYTES];
    char role[PL_PLAN_NAME_BYTES];
    char address[PL_PLAN_ADDRESS_BYTES];
    char local_address[PL_PLAN_ADDRESS_BYTES];
    char folder[PL_PLAN_FOLDER_BYTES];
    char scope[PL_PLAN_SCOPE_BYTES];
    int64_t contract;
    int64_t port;
    int64_t bytes;
    int64_t streams;
    pl_ns interval_ns;
    pl_ns warmup_ns;
    pl_ns duration_ns;
    int64_t rate_per_s; /* over all streams; 0: one after the other */
    pl_ns stall_ns;
    int64_t priority;          /* 0: none */
    int64_t requests;          /* over all streams; 0: the trial ends by time */
    bool cores[PL_PLAN_CORES]; /* none: those of the parent */
};

/* Reads the settings for a role, with the contract's defaults. False with `error` set to stage "contract",
 * naming the key. */
bool pl_plan_parse(const char *json, const char *role, struct pl_plan *plan, struct pl_adapter_error *error);

/* What a stream's functions get; it borrows the plan. */
struct pl_adapter_settings pl_plan_settings(const struct pl_plan *plan, unsigned stream);
