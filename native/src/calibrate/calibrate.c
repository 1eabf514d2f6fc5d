/* `calibrate`: the host's own limits, to distinguish them from the path's. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/events.h"
#include "base/histogram.h"
#include "base/json.h"
#include "base/options.h"
#include "base/output.h"
#include "base/program.h"
#include "base/record.h"
#include "base/subcommands.h"
#include "base/units.h"
#include "calibrate/loopback.h"

#define CLOCK_READS 100000
#define MAX_COUNTS 16
#define MAX_STREAMS 1024

static const char *const TRANSFERS[] = {"copy", "zero-copy", "both", NULL};

struct calibration {
    const char *streams_text;
    const char *transfer_text;
    const char *congestion;
    const char *control;
    const char *output_text;
    int64_t duration_ns;
    int64_t warmup_ns;
    int64_t timer_count;
    int64_t timer_ns;

    int64_t streams[MAX_COUNTS];
    size_t stream_counts;
    int transfer; /* place in TRANSFERS: 2 is both */
    bool human;
    bool written;
    struct pl_events *events;
    struct pl_json json;
};

static bool parse_counts(struct calibration *calibration, struct pl_error *error)
{
    char entry[8];
    for (const char *at = calibration->streams_text; at != NULL; calibration->stream_counts++)
        if (calibration->stream_counts == MAX_COUNTS || !pl_next_entry(&at, entry, sizeof entry) ||
            !pl_parse_int64(entry, 1, MAX_STREAMS, &calibration->streams[calibration->stream_counts]))
            return pl_error_usage(
                error, "--streams: '%.40s' is not a list of up to %d numbers from 1 to %d such as 1,4,16",
                calibration->streams_text, MAX_COUNTS, MAX_STREAMS);
    return true;
}

static enum pl_options_outcome parse(struct calibration *calibration, int argc, char **argv,
                                     struct pl_error *error)
{
    const struct pl_option table[] = {
        pl_option_text(NULL, "streams", &calibration->streams_text, "numbers of streams over loopback"),
        pl_option_text(NULL, "transfer", &calibration->transfer_text,
                       "copy, zero-copy, or both: how they carry the data"),
        pl_option_text(NULL, "congestion", &calibration->congestion,
                       "congestion control; none: the kernel's default"),
        pl_option_integer(NULL, "duration-ns", &calibration->duration_ns, 10 * PL_NS_PER_MS, 60 * PL_NS_PER_S,
                          "duration of each run after the warm-up"),
        pl_option_integer(NULL, "warmup-ns", &calibration->warmup_ns, 0, 60 * PL_NS_PER_S,
                          "warm-up of each run"),
        pl_option_integer(NULL, "timer-count", &calibration->timer_count, 10, 1000000,
                          "number of timed wake-ups"),
        pl_option_integer(NULL, "timer-ns", &calibration->timer_ns, 10000, PL_NS_PER_S,
                          "time between wake-ups"),
        pl_output_option(NULL, &calibration->output_text),
        pl_option_text(NULL, "control", &calibration->control, "stdin: read the command stop from there"),
    };
    enum pl_options_outcome outcome =
        pl_options_parse(PL_OPTIONS("calibrate", "Measures this host's clock, timers and loopback.", table),
                         argc, argv, error);
    if (outcome == PL_OPTIONS_OK && (!pl_output_parse(calibration->output_text, &calibration->human, error) ||
                                     !parse_counts(calibration, error)))
        return PL_OPTIONS_WRONG;
    if (outcome == PL_OPTIONS_OK) {
        calibration->transfer = pl_parse_choice("transfer", calibration->transfer_text, TRANSFERS, error);
        if (calibration->transfer < 0)
            return PL_OPTIONS_WRONG;
    }
    return outcome;
}

static void write_record(struct calibration *calibration, const struct pl_record_type *type,
                         const void *values)
{
    calibration->written = pl_record_write(&calibration->json, type, values) && calibration->written;
}

static void measure_clock(struct calibration *calibration)
{
    struct timespec resolution = {0};
    (void)clock_getres(CLOCK_MONOTONIC, &resolution);
    pl_ns begin_ns = pl_now_ns();
    pl_ns least_step_ns = INT64_MAX;
    pl_ns last_ns = begin_ns;
    for (int i = 0; i < CLOCK_READS; i++) {
        pl_ns now_ns = pl_now_ns();
        if (now_ns > last_ns && now_ns - last_ns < least_step_ns)
            least_step_ns = now_ns - last_ns;
        last_ns = now_ns;
    }
    double read_ns = (double)(last_ns - begin_ns) / CLOCK_READS;
    if (calibration->human) {
        (void)printf("clock     read in %.0f ns, smallest step %lld ns\n", read_ns, (long long)least_step_ns);
        return;
    }
    const struct pl_calibrate_clock_record record = {
        .clock = "CLOCK_MONOTONIC",
        .resolution_ns = pl_timespec_ns(&resolution),
        .step_ns = least_step_ns,
        .read_ns = read_ns,
    };
    write_record(calibration, &pl_calibrate_clock_type, &record);
}

/* The lateness of wake-ups of an idle thread by the timer that all deadlines of the engine use. */
static bool measure_timer(struct calibration *calibration, struct pl_error *error)
{
    struct pl_histogram lateness = {.count = 0};
    pl_ns begin_ns = pl_now_ns();
    for (int64_t i = 1; i <= calibration->timer_count; i++) {
        struct pl_wait wait = {.deadline_ns = begin_ns + i * calibration->timer_ns, .fds = {-1, -1}};
        if (wait.deadline_ns <= pl_now_ns())
            continue; /* the previous wake-up was late beyond this one: counted once */
        enum pl_command command = pl_events_wait(calibration->events, &wait);
        if (pl_command_ends(command))
            return pl_error_set(error, PL_ENDED, "calibrate", 0, "%s", pl_command_reason(command));
        pl_histogram_add(&lateness, pl_now_ns() - wait.deadline_ns);
    }
    pl_ns median_ns = 0;
    pl_ns p99_ns = 0;
    if (!pl_histogram_quantile(&lateness, 0.5, &median_ns) ||
        !pl_histogram_quantile(&lateness, 0.99, &p99_ns))
        return pl_error_set(error, PL_ENDED, "calibrate", 0, "no timer expired in time");
    if (calibration->human) {
        (void)printf("timer     late by %.1f us (median), %.1f us (p99), %.1f us (max)\n",
                     (double)median_ns / 1e3, (double)p99_ns / 1e3, (double)lateness.max_ns / 1e3);
        return true;
    }
    const struct pl_calibrate_timer_record record = {
        .interval_ns = calibration->timer_ns, .wake_ups = (int64_t)lateness.count, .late_ns = &lateness};
    write_record(calibration, &pl_calibrate_timer_type, &record);
    return true;
}

static void write_loopback(struct calibration *calibration, const struct pl_loopback_settings *settings,
                           const struct pl_loopback_result *result)
{
    double rate = (double)result->bytes * 8e9 / (double)result->length_ns;
    double cost = (double)result->cpu_ns / (double)result->cpu_bytes; /* ns per byte are seconds per GB */
    const char *transfer = settings->zero_copy ? "zero-copy" : "copy";
    char text[PL_QUANTITY_BYTES];
    if (calibration->human) {
        (void)printf(
            "loopback  %4lld streams  %-9s  %-6s  %12s  %.3f CPU-s per GB  TCP_INFO read in %lld ns\n",
            (long long)settings->streams, transfer, result->congestion,
            pl_format_quantity(rate, PL_UNIT_BITS_PER_S, text), cost, (long long)result->tcp_info_ns);
        calibration->written = pl_output_flush() && calibration->written;
        return;
    }
    const struct pl_calibrate_loopback_record record = {
        .streams = settings->streams,
        .transfer = transfer,
        .congestion = result->congestion[0] != 0 ? result->congestion : NULL,
        .sender_workers = result->sender_workers,
        .receiver_workers = result->receiver_workers,
        .bytes = (int64_t)result->bytes,
        .length_ns = result->length_ns,
        .bits_per_s = rate,
        .cpu_s_per_gb = cost,
        .tcp_info_read_ns = (double)result->tcp_info_ns,
    };
    write_record(calibration, &pl_calibrate_loopback_type, &record);
}

static bool measure_loopback(struct calibration *calibration, struct pl_error *error)
{
    for (size_t i = 0; i < calibration->stream_counts; i++) {
        for (int zero_copy = 0; zero_copy < 2; zero_copy++) {
            if (calibration->transfer != zero_copy && calibration->transfer != 2)
                continue;
            const struct pl_loopback_settings settings = {.streams = calibration->streams[i],
                                                          .zero_copy = zero_copy != 0,
                                                          .congestion = calibration->congestion,
                                                          .warmup_ns = calibration->warmup_ns,
                                                          .duration_ns = calibration->duration_ns};
            struct pl_loopback_result result;
            if (!pl_loopback_measure(&settings, calibration->events, &result, error))
                return false;
            write_loopback(calibration, &settings, &result);
        }
    }
    return true;
}

static int run(struct calibration *calibration, struct pl_error *error)
{
    calibration->events = pl_events_open(calibration->control, error);
    if (calibration->events == NULL)
        return pl_error_output(error, "calibrate", calibration->human);
    measure_clock(calibration);
    if (!measure_timer(calibration, error) || !measure_loopback(calibration, error))
        return pl_error_output(error, "calibrate", calibration->human);
    if (!calibration->human) {
        const struct pl_calibrate_result_record record = {.complete = true};
        write_record(calibration, &pl_calibrate_result_type, &record);
    }
    return calibration->written ? PL_OK : PL_RESOURCES;
}

int pl_calibrate_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct calibration calibration = {
        .streams_text = "1,4,16",
        .transfer_text = "both",
        .congestion = "",
        .control = "",
        .output_text = "auto",
        .duration_ns = 500 * PL_NS_PER_MS,
        .warmup_ns = 100 * PL_NS_PER_MS,
        .timer_count = 500,
        .timer_ns = PL_NS_PER_MS,
        .written = true,
    };
    enum pl_options_outcome outcome = parse(&calibration, argc, argv, &error);
    int status;
    if (!pl_program_begin("calibrate", outcome, calibration.human, &error, &status))
        return status;
    status = run(&calibration, &error);
    pl_events_close(calibration.events);
    pl_json_release(&calibration.json);
    return status;
}
