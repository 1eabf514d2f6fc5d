/* Reads cases of tests/data/intervals.txt on stdin and writes each with the intervals that the C harness
 * makes of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "messages/latency_log.h"

static void write_slot(const struct pl_latency_slot *slot)
{
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_json_i64(&j, "start_ns", slot->start_ns);
    pl_json_i64(&j, "end_ns", slot->end_ns);
    pl_histogram_write(&slot->durations, &j, "round_trip_ns");
    pl_json_end_object(&j);
    (void)pl_json_flush_line(&j);
    pl_json_release(&j);
}

static void drain(struct pl_latency_log *log)
{
    const struct pl_latency_slot *slot;
    while ((slot = pl_latency_log_next(log)) != NULL) {
        write_slot(slot);
        pl_latency_log_release(log);
    }
}

static void end_case(struct pl_latency_log *log)
{
    if (log == NULL)
        return;
    pl_latency_log_finish(log);
    drain(log);
    free(log);
}

int main(void)
{
    char line[256];
    struct pl_latency_log *log = NULL;
    while (fgets(line, sizeof line, stdin) != NULL) {
        int64_t first;
        int64_t second;
        int64_t times;
        if (sscanf(line, "case %" SCNd64 " %" SCNd64, &first, &second) == 2) {
            end_case(log);
            log = pl_latency_log_create(first, second);
        } else if (sscanf(line, "add %" SCNd64 " %" SCNd64 " %" SCNd64, &first, &second, &times) == 3) {
            for (int64_t i = 0; log != NULL && i < times; i++) {
                pl_latency_log_add(log, first, second);
                drain(log);
            }
        }
    }
    end_case(log);
    return log == NULL ? EXIT_FAILURE : EXIT_SUCCESS;
}
