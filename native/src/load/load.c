/* `load`: work in the background, at low priority, that states its own rate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/events.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lower_priority.h"
#include "base/options.h"
#include "base/output.h"
#include "base/program.h"
#include "base/record.h"
#include "base/subcommands.h"
#include "base/units.h"
#include "load/cpu.h"
#include "load/disk.h"
#include "load/quiet.h"

#define MIB (INT64_C(1) << 20)
#define BLOCK_MAX (64 * MIB)
#define FILE_MAX (INT64_C(1) << 40)
#define WEEK_NS (INT64_C(7) * 24 * 3600 * PL_NS_PER_S)

struct background {
    const char *folder; /* "": no load of a disk */
    const char *control;
    const char *output_text;
    const char *cpu_text; /* a number of threads, or "all" */
    int64_t cpu;
    int64_t file_bytes;
    int64_t write_bytes;
    int64_t nice;
    int64_t interval_ns;
    int64_t time_limit_ns;

    bool human;
    bool written;
    struct pl_events *events;
    struct pl_cpu_load *threads;
    struct pl_disk_load *disk; /* NULL: none */
    pl_ns begin_ns;            /* of the run; other times count from here */
    pl_ns interval_begin_ns;
    pl_ns *cpu_ns; /* of each thread up to the interval */
    struct pl_disk_work latest;
    struct pl_disk_work total;
    struct pl_json json;
};

static enum pl_options_outcome parse(struct background *load, int argc, char **argv, struct pl_error *error)
{
    const struct pl_option table[] = {
        pl_option_text("Load", "cpu", &load->cpu_text, "threads that compute; all: as many as cores"),
        pl_option_text("Load", "disk", &load->folder,
                       "folder on a disk: a file without a name there is written, synced and read"),
        pl_option_integer("Load", "file-bytes", &load->file_bytes, MIB, FILE_MAX, "size of that file"),
        pl_option_integer("Load", "write-bytes", &load->write_bytes, PL_DISK_ALIGNMENT, BLOCK_MAX,
                          "bytes of one write, a multiple of 4096"),
        pl_option_integer("Load", "nice", &load->nice, 1, PL_NICE_MAX,
                          "niceness: 19 gives way to everything else"),
        pl_option_integer("Records", "interval-ns", &load->interval_ns, 10 * PL_NS_PER_MS, 10 * PL_NS_PER_S,
                          "time between two records"),
        pl_output_option("Records", &load->output_text),
        pl_option_text("Records", "control", &load->control, "stdin: read the command stop from there"),
        pl_option_integer("Limits", "time-limit-ns", &load->time_limit_ns, 0, WEEK_NS,
                          "end after this time; 0: no limit"),
    };
    enum pl_options_outcome outcome = pl_options_parse(
        PL_OPTIONS("load",
                   "Keeps the cores and a disk of this host busy, at low priority, and states the rate.",
                   table),
        argc, argv, error);
    if (outcome != PL_OPTIONS_OK)
        return outcome;
    if (!pl_output_parse(load->output_text, &load->human, error))
        return PL_OPTIONS_WRONG;
    if (strcmp(load->cpu_text, "all") == 0) {
        load->cpu = pl_count_cores();
    } else if (!pl_parse_int64(load->cpu_text, 0, PL_CPU_LOAD_MAX, &load->cpu)) {
        pl_error_usage(error, "--cpu: '%.40s' is neither a number of threads from 0 to %d nor all",
                       load->cpu_text, PL_CPU_LOAD_MAX);
        return PL_OPTIONS_WRONG;
    }
    if (load->cpu == 0 && load->folder[0] == 0) {
        pl_error_usage(error, "nothing to do: --cpu for a number of threads, --disk for a folder, or both");
        return PL_OPTIONS_WRONG;
    }
    return outcome;
}

static void end_record(struct background *load)
{
    load->written = pl_json_end_record(&load->json) && load->written;
}

static bool start(struct background *load, struct pl_error *error)
{
    const struct pl_disk_settings disk = {
        .folder = load->folder, .file_bytes = load->file_bytes, .write_bytes = load->write_bytes};
    load->cpu_ns = calloc((size_t)load->cpu + 1, sizeof *load->cpu_ns);
    if (load->cpu_ns == NULL)
        return pl_error_set(error, PL_RESOURCES, "load", 0, "no memory for the counters");
    if (!pl_lower_priority(load->nice, error))
        return false;
    if (load->folder[0] != 0 && (load->disk = pl_disk_load_start(&disk, error)) == NULL)
        return false;
    load->threads = pl_cpu_load_start((uint32_t)load->cpu, error);
    return load->threads != NULL;
}

static void write_beginning(struct background *load)
{
    struct pl_json *j = &load->json;
    load->begin_ns = load->interval_begin_ns = pl_now_ns();
    if (load->human)
        return;
    pl_json_begin_record(j, "ready");
    pl_json_i64(j, "cpu_threads", load->cpu);
    pl_json_i64(j, "nice", load->nice);
    if (load->disk == NULL) {
        pl_json_null(j, "disk");
    } else {
        pl_json_begin_object(j, "disk");
        pl_json_i64(j, "file_bytes", load->file_bytes);
        pl_json_i64(j, "write_bytes", load->write_bytes);
        pl_json_bool(j, "reads", pl_disk_load_reads(load->disk));
        pl_json_end_object(j);
    }
    end_record(load);
    const struct pl_load_start_record start = {.monotonic_ns = load->begin_ns,
                                               .realtime_ns = pl_realtime_ns()};
    load->written = pl_record_write(j, &pl_load_start_type, &start) && load->written;
}

/* What was done between two times since the start, at both places alike. */
static void write_work(struct background *load, pl_ns start_ns, pl_ns end_ns, const pl_ns *cpu_ns,
                       const struct pl_disk_work *disk)
{
    struct pl_json *j = &load->json;
    pl_json_i64(j, "start_ns", start_ns - load->begin_ns);
    pl_json_i64(j, "end_ns", end_ns - load->begin_ns);
    pl_json_begin_array(j, "cpu_ns");
    for (int64_t i = 0; i < load->cpu; i++)
        pl_json_known_i64(j, NULL, cpu_ns[i]);
    pl_json_end_array(j);
    if (load->disk == NULL) {
        pl_json_null(j, "disk");
        return;
    }
    pl_json_begin_object(j, "disk");
    pl_json_u64(j, "written_bytes", disk->written_bytes);
    if (pl_disk_load_reads(load->disk))
        pl_json_u64(j, "read_bytes", disk->read_bytes);
    else
        pl_json_null(j, "read_bytes");
    pl_json_u64(j, "syncs", disk->sync_ns.count);
    pl_histogram_write_summary(&disk->sync_ns, j, "sync_ns");
    pl_json_end_object(j);
}

static void print_interval(struct background *load, pl_ns now_ns, const pl_ns *cpu_ns)
{
    double seconds = (double)(now_ns - load->interval_begin_ns) / 1e9;
    double used_ns = 0;
    for (int64_t i = 0; i < load->cpu; i++)
        used_ns += (double)cpu_ns[i];
    (void)printf("%6.1f s  cpu %.2f of %lld threads", (double)(now_ns - load->begin_ns) / 1e9,
                 used_ns / 1e9 / seconds, (long long)load->cpu);
    if (load->disk != NULL) {
        pl_ns p99_ns = 0;
        (void)pl_histogram_quantile(&load->latest.sync_ns, 0.99, &p99_ns);
        (void)printf("  disk %.1f MB/s written, %.1f MB/s read, fdatasync p99 %.1f ms",
                     (double)load->latest.written_bytes / 1e6 / seconds,
                     (double)load->latest.read_bytes / 1e6 / seconds, (double)p99_ns / 1e6);
    }
    (void)printf("\n");
    load->written = pl_output_flush() && load->written;
}

/* Ends the interval: its record, and its work into the totals. */
static void end_interval(struct background *load, pl_ns *spent_ns)
{
    pl_ns now_ns = pl_now_ns();
    for (int64_t i = 0; i < load->cpu; i++) {
        pl_ns used_ns = pl_cpu_load_used_ns(load->threads, (uint32_t)i);
        spent_ns[i] = used_ns - load->cpu_ns[i];
        load->cpu_ns[i] = used_ns;
    }
    if (load->disk != NULL)
        pl_disk_load_take(load->disk, &load->latest, &load->total);
    if (load->human) {
        print_interval(load, now_ns, spent_ns);
    } else {
        pl_json_begin_record(&load->json, "load");
        write_work(load, load->interval_begin_ns, now_ns, spent_ns, &load->latest);
        end_record(load);
    }
    load->interval_begin_ns = now_ns;
}

/* Until a command, the time limit, or a failure of the disk; returns why it ended early, NULL: as it should.
 */
static const char *work(struct background *load, pl_ns *spent_ns, struct pl_error *error)
{
    pl_ns limit_ns = load->time_limit_ns > 0 ? load->begin_ns + load->time_limit_ns : PL_NEVER;
    while (load->written) {
        struct pl_wait wait = {.deadline_ns =
                                   pl_earlier(load->interval_begin_ns + load->interval_ns, limit_ns),
                               .fds = {load->disk != NULL ? pl_disk_load_fd(load->disk) : -1, -1}};
        enum pl_command command = pl_events_wait(load->events, &wait);
        if (wait.ready[0]) {
            pl_disk_load_failure(load->disk, error);
            end_interval(load, spent_ns);
            return error->text;
        }
        if (pl_command_ends(command) || pl_now_ns() >= limit_ns) {
            end_interval(load, spent_ns);
            return command == PL_COMMAND_SIGNAL || command == PL_COMMAND_GONE ? pl_command_reason(command)
                                                                              : NULL;
        }
        if (pl_now_ns() >= wait.deadline_ns)
            end_interval(load, spent_ns);
    }
    return NULL;
}

/* Stops the work and waits until the disk is quiet; false where a thread does not end. */
static bool write_end(struct background *load, const char *reason)
{
    struct pl_json *j = &load->json;
    pl_json_begin_record(j, "result");
    pl_json_bool(j, "complete", reason == NULL);
    pl_json_string(j, "reason", reason);
    write_work(load, load->begin_ns, load->interval_begin_ns, load->cpu_ns, &load->total);
    pl_cpu_load_stop(load->threads);
    load->threads = NULL;
    dev_t device = load->disk != NULL ? pl_disk_load_device(load->disk) : 0;
    bool stopped = load->disk == NULL || pl_disk_load_stop(load->disk);
    if (load->disk != NULL) {
        pl_ns quiet_ns = -1;
        bool quiet = stopped && pl_await_quiet_disk(device, &quiet_ns);
        pl_json_bool(j, "quiet", quiet);
        pl_json_known_i64(j, "quiet_after_ns", quiet_ns);
        load->disk = NULL;
    }
    if (load->human)
        j->length = 0;
    else
        end_record(load);
    return stopped;
}

static int run(struct background *load, struct pl_error *error)
{
    load->events = pl_events_open(load->control, error);
    if (load->events == NULL || !start(load, error))
        return pl_error_output(error, "load", load->human);
    write_beginning(load);
    pl_ns *spent_ns = calloc((size_t)load->cpu + 1, sizeof *spent_ns);
    if (spent_ns == NULL) {
        pl_error_set(error, PL_RESOURCES, "load", 0, "no memory for the counters");
        return pl_error_output(error, "load", load->human);
    }
    const char *reason = work(load, spent_ns, error);
    free(spent_ns);
    bool stopped = write_end(load, reason);
    int status = reason == NULL ? PL_OK : PL_ENDED;
    if (error->status != PL_OK)
        status = pl_error_output(error, "load", load->human);
    if (!load->written)
        status = PL_RESOURCES;
    if (!stopped)
        _exit(status); /* the thread that waits for the disk uses what would be freed */
    return status;
}

int pl_load_main(int argc, char **argv)
{
    /* Two histograms do not belong on the stack, nor, as zeros, into the program's file. */
    static struct background load;
    load.folder = "";
    load.cpu_text = "0";
    load.control = "";
    load.output_text = "auto";
    load.file_bytes = 256 * MIB;
    load.write_bytes = MIB;
    load.nice = PL_NICE_MAX;
    load.interval_ns = PL_NS_PER_S;
    load.written = true;
    struct pl_error error = {0};
    enum pl_options_outcome outcome = parse(&load, argc, argv, &error);
    int status;
    if (!pl_program_begin("load", outcome, load.human, &error, &status))
        return status;
    status = run(&load, &error);
    pl_cpu_load_stop(load.threads);
    if (load.disk != NULL)
        (void)pl_disk_load_stop(load.disk);
    pl_events_close(load.events);
    pl_json_release(&load.json);
    free(load.cpu_ns);
    return status;
}
