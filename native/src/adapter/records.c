#include "adapter/records.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/histogram.h"
#include "base/json_reader.h"
#include "messages/recording_cost.h"

static void write_description(struct pl_json *j, const char *versions, const char *settings_json)
{
    pl_json_string(j, "versions", versions[0] != 0 ? versions : NULL);
    if (pl_json_is_object(settings_json))
        pl_json_raw(j, "settings", settings_json);
    else
        pl_json_null(j, "settings");
}

bool pl_adapter_write_hello(const char *program, const char *language)
{
    struct pl_json j = {0};
    pl_json_begin_record(&j, "hello");
    pl_json_i64(&j, "contract", PL_CONTRACT);
    pl_json_string(&j, "program", program);
    pl_json_string(&j, "language", language);
    pl_json_i64(&j, "monotonic_ns", pl_now_ns());
    pl_json_i64(&j, "pid", (int64_t)getpid());
    return pl_json_end_only_record(&j);
}

bool pl_adapter_write_listening(unsigned port, const char *versions, const char *settings_json)
{
    struct pl_json j = {0};
    pl_json_begin_record(&j, "listening");
    pl_json_u64(&j, "port", port);
    write_description(&j, versions, settings_json);
    return pl_json_end_only_record(&j);
}

bool pl_adapter_write_ready(struct pl_json *j, const struct pl_loops *loops, bool priority_granted)
{
    const struct pl_plan *plan = loops->plan;
    struct pl_recording_cost cost = pl_measure_recording();
    pl_json_begin_record(j, "ready");
    pl_json_begin_object(j, "messages");
    pl_json_i64(j, "bytes", plan->bytes);
    pl_json_bool(j, "replies", true);
    pl_json_known_i64(j, "offered_per_s", plan->rate_per_s > 0 ? plan->rate_per_s : -1);
    pl_json_known_i64(j, "priority", priority_granted ? plan->priority : -1);
    pl_json_double(j, "clock_ns", cost.clock_ns);
    pl_json_double(j, "record_ns", cost.record_ns);
    pl_json_end_object(j);
    pl_json_i64(j, "streams", plan->streams);
    pl_json_begin_array(j, "cores");
    for (int core = 0; core < PL_PLAN_CORES; core++)
        if (plan->cores[core])
            pl_json_i64(j, NULL, core);
    pl_json_end_array(j);
    pl_json_begin_object(j, "adapter");
    write_description(j, loops->versions, loops->settings_json);
    if (loops->hop_ns >= 0)
        pl_json_double(j, "hop_ns", loops->hop_ns);
    else
        pl_json_null(j, "hop_ns");
    pl_json_end_object(j);
    return pl_json_end_record(j);
}

bool pl_adapter_write_start(struct pl_json *j, pl_ns run_ns)
{
    pl_json_begin_record(j, "start");
    pl_json_i64(j, "monotonic_ns", run_ns);
    pl_json_i64(j, "realtime_ns", pl_realtime_ns() - (pl_now_ns() - run_ns));
    return pl_json_end_record(j);
}

enum count { SENT, RECEIVED, MISSING, OUT_OF_ORDER, COUNTS };

/* Any deviation ends the trial, so that at most one request of a stream is missing and none out of order. */
static uint64_t find_count(const struct pl_loop *loop, enum count count)
{
    uint64_t sent = atomic_load(&loop->sent);
    uint64_t received = atomic_load(&loop->received);
    const uint64_t values[COUNTS] = {[SENT] = sent, [RECEIVED] = received, [MISSING] = sent - received};
    return values[count];
}

static void write_messages(struct pl_json *j, const struct pl_ask_result *result)
{
    static const char *const keys[COUNTS] = {"sent", "received", "missing", "out_of_order"};
    pl_json_begin_object(j, "messages");
    for (int count = 0; count < COUNTS; count++) {
        pl_json_begin_array(j, keys[count]);
        for (uint32_t s = 0; s < result->streams; s++)
            pl_json_u64(j, NULL, find_count(&result->loops[s], (enum count)count));
        pl_json_end_array(j);
    }
    if (result->lateness != NULL)
        pl_histogram_write_summary(result->lateness, j, "send_error_ns");
    else
        pl_json_null(j, "send_error_ns");
    pl_histogram_write(&result->trips->steady, j, "round_trip_ns");
    pl_json_end_object(j);
}

static void write_steady(struct pl_json *j, const struct pl_ask_result *result)
{
    const struct pl_ask_sample *from = result->begin;
    const struct pl_ask_sample *to = result->end;
    pl_json_begin_object(j, "steady");
    pl_json_i64(j, "start_ns", from->at_ns);
    pl_json_i64(j, "end_ns", to->at_ns);
    pl_json_begin_array(j, "messages");
    for (uint32_t s = 0; s < result->streams; s++)
        pl_json_u64(j, NULL, to->received[s] - from->received[s]);
    pl_json_end_array(j);
    pl_ns sum_ns = to->cpu_ns > from->cpu_ns ? to->cpu_ns - from->cpu_ns : 0;
    double user = (double)(to->user_ns > from->user_ns ? to->user_ns - from->user_ns : 0);
    double system = (double)(to->system_ns > from->system_ns ? to->system_ns - from->system_ns : 0);
    pl_ns user_ns = (pl_ns)((double)sum_ns * (user + system > 0 ? user / (user + system) : 0.5));
    pl_json_i64(j, "user_ns", user_ns);
    pl_json_i64(j, "system_ns", sum_ns - user_ns);
    pl_json_end_object(j);
}

bool pl_adapter_write_ask_result(struct pl_json *j, const struct pl_ask_result *result)
{
    pl_json_begin_record(j, "result");
    pl_json_bool(j, "complete", result->reason == NULL);
    pl_json_string(j, "reason", result->reason);
    write_messages(j, result);
    pl_json_begin_object(j, "phases");
    if (result->begin != NULL && result->end != NULL)
        write_steady(j, result);
    else
        pl_json_null(j, "steady");
    pl_json_end_object(j);
    return pl_json_end_record(j);
}

bool pl_adapter_write_answer_result(const char *reason)
{
    struct pl_json j = {0};
    pl_json_begin_record(&j, "result");
    pl_json_bool(&j, "complete", reason == NULL);
    pl_json_string(&j, "reason", reason);
    return pl_json_end_only_record(&j);
}

static enum pl_status find_status(const char *stage)
{
    static const struct {
        const char *stage;
        enum pl_status status;
    } statuses[] = {{"contract", PL_USAGE}, {"needs", PL_SETUP},   {"start", PL_SETUP},
                    {"port", PL_SETUP},     {"connect", PL_SETUP}, {"limit", PL_RESOURCES}};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (strcmp(statuses[i].stage, stage) == 0)
            return statuses[i].status;
    return PL_PEER;
}

enum pl_status pl_adapter_write_error(const char *program, const struct pl_adapter_error *error)
{
    char text[2 * sizeof error->text];
    struct pl_json j = {0};
    pl_json_begin_record(&j, "error");
    pl_json_string(&j, "stage", error->stage);
    pl_json_string(&j, "text", error->text);
    bool written = pl_json_end_only_record(&j);
    pl_error_escape(error->text, text, sizeof text);
    (void)fprintf(stderr, "%s: %s\n", program, text);
    return written ? find_status(error->stage) : PL_RESOURCES;
}
