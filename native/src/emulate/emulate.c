/* `emulate`: one link between two interfaces. This file has the control commands and the records;
 * emulation_plan.c parses the flags, forwarder.c carries the packets. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/control.h"
#include "base/descriptor.h"
#include "base/events.h"
#include "base/json.h"
#include "base/program.h"
#include "base/subcommands.h"
#include "emulate/emulation_plan.h"
#include "emulate/emulation_records.h"
#include "emulate/forwarder.h"

static const char NAME[] = "emulate";
static const pl_ns CHECK_NS =
    PL_NS_PER_MS; /* interval at which a busy forwarder checks signals and commands */

enum ending { ENDING_NONE, ENDING_STOP, ENDING_SIGNAL, ENDING_CONTROLLER, ENDING_DEVICE, ENDING_OUTPUT };

struct emulator {
    struct pl_forwarder forwarder;
    struct pl_device devices[2];
    struct pl_trace trace;
    bool tracing;
    struct pl_control *control; /* NULL: stdin is not read */
    struct pl_json json;
    int signal_fd;
    pl_ns started_ns, cpu_before_ns;
    enum ending ending;
    const char *reason;
};

static const char *const DIRECTIONS[2] = {"forward", "reverse"};

/* ---------- records ---------- */

static void flush(struct emulator *emulator)
{
    if (!pl_json_flush_line(&emulator->json) && emulator->ending != ENDING_OUTPUT) {
        emulator->ending = ENDING_OUTPUT;
        emulator->reason = "the output cannot be written";
    }
}

/* The lateness of deliveries, both directions together. */
static void write_total_lateness(struct emulator *emulator)
{
    struct pl_histogram total = {.count = 0};
    for (unsigned i = 0; i < 2; i++)
        pl_histogram_merge(&total, &emulator->forwarder.directions[i].lateness);
    pl_histogram_write_summary(&total, &emulator->json, "late_ns");
}

/* `counters` during the run, `result` at the end. */
static void print_counters(struct emulator *emulator, const char *type)
{
    struct pl_json *j = &emulator->json;
    pl_json_begin_record(j, type);
    if (emulator->ending != ENDING_NONE) {
        pl_json_bool(j, "complete", emulator->ending == ENDING_STOP);
        pl_json_string(j, "reason", emulator->reason);
    }
    pl_json_i64(j, "elapsed_ns", pl_now_ns() - emulator->started_ns);
    pl_ns cpu_ns = pl_thread_cpu_ns(pthread_self());
    bool known = cpu_ns >= 0 && emulator->cpu_before_ns >= 0;
    pl_json_known_i64(j, "cpu_ns", known ? cpu_ns - emulator->cpu_before_ns : -1);
    write_total_lateness(emulator);
    if (emulator->tracing) {
        pl_trace_flush(&emulator->trace);
        pl_write_trace(j, "trace", &emulator->trace);
    } else {
        pl_json_null(j, "trace");
    }
    for (unsigned i = 0; i < 2; i++)
        pl_write_direction(j, DIRECTIONS[i], &emulator->forwarder.directions[i]);
    pl_json_end_object(j);
    flush(emulator);
}

static void print_listening(struct emulator *emulator, const struct pl_emulation_plan *plan)
{
    struct pl_json *j = &emulator->json;
    pl_json_begin_record(j, "listening");
    pl_json_string(j, "backend", plan->backend);
    pl_json_string(j, "interface_a", plan->interfaces[0]);
    pl_json_string(j, "interface_b", plan->interfaces[1]);
    pl_json_end_object(j);
    flush(emulator);
}

/* The answer to a change of settings: all keys of both directions. */
static void print_settings(struct emulator *emulator)
{
    struct pl_json *j = &emulator->json;
    pl_json_begin_record(j, "settings");
    for (unsigned i = 0; i < 2; i++)
        pl_link_settings_write(j, DIRECTIONS[i], &emulator->forwarder.directions[i].link.settings);
    pl_json_end_object(j);
    flush(emulator);
}

/* An invalid command changes nothing and does not end the run. */
static void print_refusal(struct emulator *emulator, const char *text)
{
    struct pl_json *j = &emulator->json;
    pl_json_begin_record(j, "refused");
    pl_json_string(j, "text", text);
    pl_json_end_object(j);
    flush(emulator);
}

/* ---------- control ---------- */

static void change_settings(struct emulator *emulator, unsigned index, const char *spec)
{
    struct pl_link *link = &emulator->forwarder.directions[index].link;
    struct pl_link_settings settings = link->settings;
    struct pl_error error = {0};
    if (!pl_link_settings_parse(&settings, DIRECTIONS[index], spec, &error)) {
        print_refusal(emulator, error.text);
        return;
    }
    pl_link_change(link, &settings, pl_now_ns());
    print_settings(emulator);
}

static void execute_command(struct emulator *emulator, const char *line)
{
    for (unsigned i = 0; i < 2; i++) {
        size_t length = strlen(DIRECTIONS[i]);
        if (strncmp(line, DIRECTIONS[i], length) == 0 && line[length] == ' ') {
            change_settings(emulator, i, line + length + 1);
            return;
        }
    }
    if (strcmp(line, "stats") == 0 || strcmp(line, "lap") == 0) {
        print_counters(emulator, "counters");
        for (unsigned i = 0; i < 2 && line[0] == 'l'; i++)
            emulator->forwarder.directions[i].lateness = (struct pl_histogram){0};
    } else if (strcmp(line, "stop") == 0) {
        emulator->ending = ENDING_STOP;
    } else {
        print_refusal(emulator, "the commands are: stats, lap, stop, forward SPEC, reverse SPEC");
    }
}

static void read_commands(struct emulator *emulator)
{
    char line[PL_CONTROL_LINE_BYTES + 1];
    while (emulator->ending == ENDING_NONE) {
        switch (pl_control_next(emulator->control, line)) {
        case PL_CONTROL_NONE:
            return;
        case PL_CONTROL_LINE:
            execute_command(emulator, line);
            break;
        case PL_CONTROL_TOO_LONG:
            print_refusal(emulator, "the command is too long");
            break;
        case PL_CONTROL_END:
            emulator->ending = ENDING_CONTROLLER;
            emulator->reason = pl_command_reason(PL_COMMAND_GONE);
            break;
        }
    }
}

static void read_signal(struct emulator *emulator)
{
    struct signalfd_siginfo info;
    if (read(emulator->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        emulator->ending = ENDING_SIGNAL;
        emulator->reason = pl_command_reason(PL_COMMAND_SIGNAL);
    }
}

/* ---------- the run ---------- */

static bool open_all(struct emulator *emulator, const struct pl_emulation_plan *plan, struct pl_error *error)
{
    struct pl_forwarder_plan forwarding = {
        .devices = emulator->devices,
        .settings = {plan->settings[0], plan->settings[1]},
        .trace = emulator->tracing ? &emulator->trace : NULL,
        .seed = (uint64_t)plan->seed,
        .buffer_bytes = (uint64_t)plan->buffer_bytes,
        .spin_ns = plan->spin_ns,
    };
    emulator->signal_fd = pl_signals_open();
    if (emulator->signal_fd < 0)
        return pl_error_set(error, PL_RESOURCES, "signals", errno, "cannot wait for signals");
    if (!pl_forwarder_init(&emulator->forwarder, &forwarding, error))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        struct pl_device_settings settings = {
            .backend = strcmp(plan->backend, "tun") == 0 ? PL_BACKEND_TUN : PL_BACKEND_PACKET,
            .namespace_path = plan->namespaces[i],
            .interface = plan->interfaces[i],
            .mtu_bytes = (uint32_t)plan->mtu_bytes,
        };
        if (!pl_device_open(&emulator->devices[i], &settings, error))
            return false;
    }
    /* Opened last, so that a run that cannot begin overwrites no trace. */
    if (emulator->tracing &&
        !pl_trace_open(&emulator->trace, plan->trace, (uint64_t)plan->trace_limit_bytes, error))
        return false;
    if (plan->control[0] != '\0')
        emulator->control = pl_control_open(STDIN_FILENO, error);
    return plan->control[0] == '\0' || emulator->control != NULL;
}

static void close_all(struct emulator *emulator)
{
    pl_forwarder_free(&emulator->forwarder);
    pl_trace_close(&emulator->trace);
    pl_device_close(&emulator->devices[0]);
    pl_device_close(&emulator->devices[1]);
    if (emulator->control != NULL)
        pl_control_close(emulator->control);
    pl_close(emulator->signal_fd);
    pl_json_release(&emulator->json);
}

/* Carry packets until the run ends; `emulator` then has the reason. */
static enum pl_status carry(struct emulator *emulator, struct pl_error *error)
{
    pl_ns checked_ns = 0;
    while (emulator->ending == ENDING_NONE) {
        struct pollfd others[2] = {
            {.fd = emulator->signal_fd, .events = POLLIN},
            {.fd = emulator->control == NULL ? -1 : pl_control_fd(emulator->control), .events = POLLIN},
        };
        bool busy = false;
        if (!pl_forwarder_step(&emulator->forwarder, &busy, error)) {
            emulator->ending = ENDING_DEVICE;
            emulator->reason = error->text;
            return PL_ENDED;
        }
        if (busy) {
            if (pl_now_ns() - checked_ns < CHECK_NS)
                continue;
            (void)poll(others, 2, 0);
        } else {
            pl_forwarder_wait(&emulator->forwarder, others, 2);
        }
        checked_ns = pl_now_ns();
        if (others[0].revents != 0)
            read_signal(emulator);
        if (others[1].revents != 0 && emulator->ending == ENDING_NONE)
            read_commands(emulator);
    }
    return emulator->ending == ENDING_STOP ? PL_OK : PL_ENDED;
}

static int run(struct emulator *emulator, const struct pl_emulation_plan *plan)
{
    struct pl_error error = {0};
    if (!open_all(emulator, plan, &error))
        return pl_error_report(&error, NAME);
    /* Without this the kernel adds up to 50 us to each sleep. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    emulator->started_ns = pl_now_ns();
    emulator->cpu_before_ns = pl_thread_cpu_ns(pthread_self());
    print_listening(emulator, plan);
    enum pl_status status = carry(emulator, &error);
    print_counters(emulator, "result");
    if (emulator->ending == ENDING_OUTPUT)
        pl_error_set(&error, PL_RESOURCES, "output", 0, "%s", emulator->reason);
    return error.status != PL_OK ? pl_error_report(&error, NAME) : (int)status;
}

int pl_emulate_main(int argc, char **argv)
{
    struct pl_emulation_plan plan;
    struct pl_error error = {0};
    enum pl_options_outcome outcome = pl_emulation_plan_parse(&plan, argc, argv, &error);
    int status;
    if (!pl_program_begin(NAME, outcome, false, &error, &status))
        return status;
    struct emulator *emulator = calloc(1, sizeof *emulator);
    if (emulator == NULL) {
        pl_error_set(&error, PL_RESOURCES, "buffers", ENOMEM, "no memory for the emulator");
        return pl_error_report(&error, NAME);
    }
    emulator->signal_fd = emulator->trace.fd = -1;
    emulator->tracing = plan.trace[0] != '\0';
    for (unsigned i = 0; i < 2; i++)
        emulator->devices[i].fd = emulator->devices[i].netlink_fd = -1;
    status = run(emulator, &plan);
    close_all(emulator);
    free(emulator);
    return status;
}
