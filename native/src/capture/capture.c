/* `capture`: the headers of one flow's packets into a file. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/events.h"
#include "base/json.h"
#include "base/program.h"
#include "base/record.h"
#include "base/subcommands.h"
#include "capture/capture_file.h"
#include "capture/capture_flags.h"
#include "capture/packet_ring.h"

static const char NAME[] = "capture";
/* Packets between two looks at signals and commands. */
enum { BATCH_PACKETS = 4096 };
/* Longest wait for what is in the ring at the end. */
static const pl_ns LAST_WAIT_NS = 20 * PL_RING_WAIT_NS;

struct capture {
    struct pl_capture_plan plan;
    struct pl_interfaces interfaces;
    struct pl_events *events;
    struct pl_packet_ring *ring;
    struct pl_capture_file *file;
    struct pl_json json;
    bool written; /* the records, so far */
    uint64_t read_packets;
    pl_ns start_ns; /* since 1970, UTC */
};

static bool open_all(struct capture *capture, struct pl_error *error)
{
    static struct sock_filter program[PL_FILTER_INSTRUCTIONS_MAX];
    struct pl_capture_plan *plan = &capture->plan;
    const struct pl_capture_file_settings file = {
        .path = plan->path,
        .descriptor = (int)plan->descriptor,
        .limit_bytes = (uint64_t)plan->limit_bytes,
        .keep_free_bytes = (uint64_t)plan->keep_free_bytes,
        .snap_bytes = (uint32_t)plan->snap_bytes,
    };
    if (!pl_interfaces_find(plan->interfaces, &capture->interfaces, error))
        return false;
    plan->filter.interfaces = &capture->interfaces;
    size_t instructions = pl_packet_filter_build(&plan->filter, program);
    unsigned only = capture->interfaces.count == 1 ? capture->interfaces.list[0].index : 0;
    capture->events = pl_events_open(plan->control, error);
    if (capture->events == NULL)
        return false;
    /* The ring before the file: a refused capture leaves none. */
    capture->ring = pl_packet_ring_open(program, instructions, only, (size_t)plan->ring_bytes, error);
    if (capture->ring == NULL)
        return false;
    capture->file = pl_capture_file_open(&file, &capture->interfaces, error);
    return capture->file != NULL;
}

static void close_all(struct capture *capture)
{
    pl_capture_file_close(capture->file);
    pl_packet_ring_close(capture->ring);
    pl_events_close(capture->events);
    pl_json_release(&capture->json);
}

static void end_record(struct capture *capture)
{
    capture->written = pl_json_end_record(&capture->json) && capture->written;
}

static void write_ready(struct capture *capture)
{
    struct pl_json *j = &capture->json;
    capture->start_ns = pl_realtime_ns();
    if (capture->plan.human)
        return;
    pl_json_begin_record(j, "ready");
    pl_json_begin_array(j, "interfaces");
    for (size_t i = 0; i < capture->interfaces.count; i++)
        pl_json_string(j, NULL, capture->interfaces.list[i].name);
    pl_json_end_array(j);
    pl_json_i64(j, "snap_bytes", capture->plan.snap_bytes);
    pl_json_i64(j, "ring_bytes", capture->plan.ring_bytes);
    pl_json_i64(j, "limit_bytes", capture->plan.limit_bytes);
    pl_json_i64(j, "monotonic_ns", pl_now_ns());
    pl_json_i64(j, "realtime_ns", capture->start_ns);
    end_record(capture);
}

/* Moves packets from the ring to the file, at most a batch; false when the file takes no more. */
static bool record_batch(struct capture *capture, bool *more)
{
    struct pl_packet packet;
    for (unsigned i = 0; i < BATCH_PACKETS; i++) {
        *more = pl_packet_ring_next(capture->ring, &packet);
        if (!*more)
            return true;
        capture->read_packets++;
        if (!pl_capture_file_add(capture->file, &packet))
            return false;
    }
    return true;
}

/* Until a command, the time limit, the end of the file or of the interface; returns why it ended early, NULL:
 * as it should. */
static const char *record(struct capture *capture)
{
    const pl_ns limit_ns =
        capture->plan.time_limit_ns > 0 ? pl_now_ns() + capture->plan.time_limit_ns : PL_NEVER;
    bool more = false;
    while (capture->written) {
        struct pl_wait wait = {.deadline_ns = more ? 0 : limit_ns,
                               .fds = {pl_packet_ring_fd(capture->ring), -1}};
        enum pl_command command = pl_events_wait(capture->events, &wait);
        if (!record_batch(capture, &more))
            return pl_capture_file_state(capture->file).reason;
        if (wait.ready[0] && pl_packet_ring_failure(capture->ring) != 0)
            return "the interface is down or gone";
        if (pl_command_ends(command))
            return command == PL_COMMAND_STOP ? NULL : pl_command_reason(command);
        if (pl_now_ns() >= limit_ns)
            return NULL;
    }
    return NULL;
}

/* Records what is in the ring, and lets nothing more in. */
static const char *record_rest(struct capture *capture)
{
    const pl_ns deadline_ns = pl_now_ns() + LAST_WAIT_NS;
    bool more = true;
    pl_packet_ring_stop(capture->ring);
    for (;;) {
        struct pl_wait wait = {.deadline_ns = more ? 0 : deadline_ns,
                               .fds = {pl_packet_ring_fd(capture->ring), -1}};
        if (!record_batch(capture, &more))
            return pl_capture_file_state(capture->file).reason;
        struct pl_ring_counts counts = pl_packet_ring_counts(capture->ring);
        if (!more &&
            (capture->read_packets + counts.dropped >= counts.accepted || pl_now_ns() >= deadline_ns))
            return NULL;
        (void)pl_events_wait(capture->events, &wait);
    }
}

static pl_ns process_cpu_ns(void)
{
    struct timespec used;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 ? pl_timespec_ns(&used) : -1;
}

static void write_result(struct capture *capture, const char *reason, const struct pl_ring_counts *counts)
{
    const struct pl_capture_file_state file = pl_capture_file_state(capture->file);
    if (capture->plan.human) {
        (void)printf("%llu packets in %llu bytes, %llu dropped%s%s\n", (unsigned long long)file.packets,
                     (unsigned long long)file.bytes, (unsigned long long)counts->dropped,
                     reason == NULL ? "" : "; ended early: ", reason == NULL ? "" : reason);
        return;
    }
    const struct pl_capture_result_record record = {
        .complete = reason == NULL,
        .reason = reason,
        .captured_packets = (int64_t)file.packets,
        .dropped_packets = (int64_t)counts->dropped,
        .file_bytes = (int64_t)file.bytes,
        .cpu_ns = process_cpu_ns(),
    };
    capture->written = pl_record_write(&capture->json, &pl_capture_result_type, &record) && capture->written;
}

static int run(struct capture *capture, struct pl_error *error)
{
    if (!open_all(capture, error))
        return pl_error_output(error, NAME, capture->plan.human);
    write_ready(capture);
    const char *reason = record(capture);
    pl_ns end_ns = pl_realtime_ns();
    const char *rest_reason =
        pl_capture_file_state(capture->file).reason == NULL ? record_rest(capture) : NULL;
    struct pl_ring_counts counts = pl_packet_ring_counts(capture->ring);
    if (!pl_capture_file_finish(capture->file, &counts, capture->start_ns, end_ns))
        rest_reason = pl_capture_file_state(capture->file).reason;
    if (reason == NULL)
        reason = rest_reason;
    write_result(capture, reason, &counts);
    if (!capture->written || pl_capture_file_state(capture->file).failed)
        return PL_RESOURCES;
    return reason == NULL ? PL_OK : PL_ENDED;
}

int pl_capture_main(int argc, char **argv)
{
    static struct capture capture;
    struct pl_error error = {0};
    int status;
    capture.written = true;
    enum pl_options_outcome outcome = pl_capture_plan_parse(&capture.plan, argc, argv, &error);
    if (!pl_program_begin(NAME, outcome, capture.plan.human, &error, &status))
        return status;
    status = run(&capture, &error);
    close_all(&capture);
    return status;
}
