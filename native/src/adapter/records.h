/* The records of an adapter's program (agents/adapters/CONTRACT.md). Functions return false when the output
 * is gone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "adapter/loop.h"
#include "adapter/plan.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "messages/round_trips.h"

/* The program's CPU time without the control thread's, and what each stream had received then; `at_ns` after
 * the start of the trial. The sum is exact; the kernel states the shares of user and system time apart, with
 * the control thread. */
struct pl_ask_sample {
    bool taken;
    pl_ns at_ns;
    pl_ns cpu_ns;
    pl_ns user_ns;
    pl_ns system_ns;
    uint64_t *received; /* one per stream */
};

/* How an end's run ended: `reason` is NULL when it is complete. */
struct pl_ask_result {
    const struct pl_loop *loops;
    const struct pl_round_trips *trips;
    const struct pl_histogram *lateness; /* NULL: no offered rate */
    const struct pl_ask_sample *begin; /* of the steady window, and its end; NULL where it was not reached */
    const struct pl_ask_sample *end;
    uint32_t streams;
    const char *reason;
};

bool pl_adapter_write_hello(const char *program, const char *language);
bool pl_adapter_write_listening(unsigned port, const char *versions, const char *settings_json);
bool pl_adapter_write_ready(struct pl_json *j, const struct pl_loops *loops, bool priority_granted);
bool pl_adapter_write_start(struct pl_json *j, pl_ns run_ns);
bool pl_adapter_write_ask_result(struct pl_json *j, const struct pl_ask_result *result);
bool pl_adapter_write_answer_result(const char *reason);
/* Writes the error record, and the text on stderr; the exit status of its stage. */
enum pl_status pl_adapter_write_error(const char *program, const struct pl_adapter_error *error);
