/* `ping`: round-trip probes at even intervals; each is reported as answered or lost. */
#include <errno.h>
#include <stdio.h>

#include "base/events.h"
#include "base/histogram.h"
#include "base/options.h"
#include "base/program.h"
#include "base/resolve.h"
#include "base/subcommands.h"
#include "base/token.h"
#include "probe/ping_flags.h"
#include "probe/ping_report.h"

/* The defaults: ping(8)'s, and a size that holds the head of a probe to an echo. */
#define ICMP_PAYLOAD_BYTES 56
#define ECHOED_PAYLOAD_BYTES 100
#define CONNECT_TIMEOUT_NS (5 * PL_NS_PER_S)

struct ping {
    struct pl_ping_flags flags;
    struct pl_events *events;
    struct pl_probe_table *table;
    struct pl_probe_intervals *intervals; /* NULL: each probe has its record */
    struct pl_probe_socket socket;
    pl_ns start_ns;
    uint64_t next; /* sequence of the next probe */
    bool sending;
    const char *reason; /* why it ends early */
    struct pl_ping_counts counts;
    struct pl_histogram send_lateness;
    struct pl_ping_report report;
};

static bool read_settings(const struct ping *ping, struct pl_probe_settings *settings, struct pl_error *error)
{
    *settings = (struct pl_probe_settings){.payload_bytes = (size_t)ping->flags.payload_bytes,
                                           .marking = ping->flags.marking,
                                           .connect_timeout_ns = CONNECT_TIMEOUT_NS};
    if (!pl_resolve(ping->flags.address, (uint16_t)ping->flags.port, "address", &settings->to, error) ||
        (ping->flags.bind[0] != 0 && !pl_address_parse(ping->flags.bind, 0, "bind", &settings->from, error)))
        return false;
    return pl_token_read(ping->flags.token_text, settings->token, error);
}

static bool try_method(struct ping *ping, enum pl_method method, const struct pl_probe_settings *settings,
                       struct pl_error *error)
{
    struct pl_probe_settings own = *settings;
    if (own.payload_bytes == 0)
        own.payload_bytes = pl_method_is_echoed(method) ? ECHOED_PAYLOAD_BYTES : ICMP_PAYLOAD_BYTES;
    if (own.payload_bytes < pl_method_payload_min(method))
        return pl_error_usage(error, "--payload-bytes must be at least %zu for %s",
                              pl_method_payload_min(method), pl_method_name(method));
    if (pl_method_is_echoed(method) && ping->flags.port == 0)
        return pl_error_usage(error, "--method %s needs --port of an echo", pl_method_name(method));
    if (!pl_method_is_echoed(method))
        pl_address_set_port(&own.to, 0);
    bool opened = pl_probe_socket_open(&ping->socket, method, &own, error);
    if (!opened)
        pl_probe_socket_close(&ping->socket);
    return opened;
}

/* Opens the requested method, or the first that is possible. */
static bool open_socket(struct ping *ping, struct pl_error *error)
{
    struct pl_probe_settings settings;
    if (!read_settings(ping, &settings, error))
        return false;
    static const char *const methods[] = {"auto", "icmp-datagram", "icmp-raw", "udp", "tcp", NULL};
    int chosen = pl_parse_choice("method", ping->flags.method_text, methods, error);
    if (chosen != 0)
        return chosen > 0 && try_method(ping, (enum pl_method)(chosen - 1), &settings, error);
    struct pl_error attempts[PL_METHODS] = {{0}};
    for (int m = 0; m < (ping->flags.port != 0 ? PL_METHODS : PL_PROBE_UDP); m++)
        if (try_method(ping, (enum pl_method)m, &settings, &attempts[m]))
            return true;
    /* A failure other than a missing permission is the same for every method and more informative. */
    for (int m = 0; m < PL_METHODS; m++)
        if (attempts[m].status != PL_OK && attempts[m].errno_value != EPERM &&
            attempts[m].errno_value != EACCES) {
            *error = attempts[m];
            return false;
        }
    return pl_error_set(
        error, PL_SETUP, "socket", 0,
        "this user may not send ICMP (its group is not in ping_group_range, and CAP_NET_RAW is missing); "
        "give --port (and --token) of an echo to probe by UDP");
}

/* With `ends`, also an interval whose probes are not all answered or lost. */
static void write_intervals(struct ping *ping, bool ends)
{
    const struct pl_probe_interval *interval;
    while ((interval = pl_probe_intervals_next(ping->intervals, ends)) != NULL)
        pl_ping_report_interval(&ping->report, interval);
}

static void write_probe(struct ping *ping, const struct pl_probe *probe)
{
    if (ping->intervals == NULL) {
        pl_ping_report_probe(&ping->report, probe);
        return;
    }
    pl_probe_intervals_add(ping->intervals, probe);
    write_intervals(ping, false);
}

static void write_result(struct ping *ping)
{
    if (ping->intervals != NULL)
        write_intervals(ping, true);
    ping->counts.sent = ping->next - ping->counts.send_errors;
    ping->counts.timeout_ns = pl_probe_table_timeout_ns(ping->table);
    ping->counts.ended_ns = pl_now_ns() - ping->start_ns;
    pl_ping_report_result(&ping->report, ping->reason, ping->socket.method, &ping->counts,
                          &ping->send_lateness);
    bool unanswered = ping->counts.received == 0 && ping->counts.sent > 0;
    if (ping->flags.human && ping->socket.method == PL_PROBE_UDP && unanswered)
        (void)fprintf(stderr, "pathlab-engine: no reply: check that an echo of the same PathLab runs there, "
                              "with this --token\n");
}

static pl_ns intended_ns(const struct ping *ping)
{
    return ping->sending ? (pl_ns)ping->next * ping->flags.interval_ns : INT64_MAX;
}

/* Failures of the first send that concern every probe: route, permission, size. */
static bool is_setup_failure(int cause)
{
    return cause == ENETUNREACH || cause == EHOSTUNREACH || cause == EADDRNOTAVAIL || cause == EPERM ||
           cause == EACCES || cause == EMSGSIZE;
}

static void send_probe(struct ping *ping, struct pl_error *error)
{
    struct pl_probe probe = {
        .sequence = ping->next, .intended_ns = intended_ns(ping), .stamp_key = UINT64_MAX};
    probe.sent_realtime_ns = pl_realtime_ns();
    probe.sent_ns = pl_now_ns() - ping->start_ns;
    uint64_t key = ping->socket.sends;
    int cause = pl_probe_socket_send(&ping->socket, ping->next);
    if (cause == 0) {
        probe.stamp_key = key;
    } else if (ping->next == 0 && is_setup_failure(cause)) {
        pl_error_set(error, PL_SETUP, "send", cause, "cannot probe %.64s with %zu bytes", ping->flags.address,
                     ping->socket.payload_bytes);
        return;
    } else {
        probe.failed = true;
        ping->counts.send_errors++;
    }
    pl_histogram_add(&ping->send_lateness, probe.sent_ns - probe.intended_ns);
    pl_probe_table_enter(ping->table, &probe);
    ping->next++;
    ping->sending = ping->flags.count == 0 || ping->next < (uint64_t)ping->flags.count;
}

static void read_answers(struct ping *ping)
{
    uint64_t key;
    pl_ns kernel_ns;
    struct pl_probe_answer answer;
    /* Timestamps first: a transmit timestamp is available before the answer to its probe. */
    while (pl_probe_socket_next_stamp(&ping->socket, &key, &kernel_ns))
        pl_probe_table_stamp(ping->table, key, kernel_ns);
    while (pl_probe_socket_next_answer(&ping->socket, &answer)) {
        const struct pl_arrival arrival = {.received_ns = pl_now_ns() - ping->start_ns,
                                           .kernel_received_ns = answer.kernel_received_ns,
                                           .held_ns = answer.held_ns};
        struct pl_probe probe;
        switch (pl_probe_table_answer(ping->table, answer.sequence, &arrival, &probe)) {
        case PL_ANSWERED:
            ping->counts.received++;
            ping->counts.reordered += probe.reordered;
            if (ping->flags.overdue_ns > 0 && probe.rtt_ns > ping->flags.overdue_ns &&
                !pl_probe_table_was_overdue(ping->table, probe.sequence))
                pl_ping_report_overdue(&ping->report, &probe, ping->flags.overdue_ns);
            write_probe(ping, &probe);
            break;
        case PL_LATE:
            ping->counts.late++;
            if (probe.answered)
                pl_ping_report_late(&ping->report, &probe);
            break;
        case PL_DUPLICATE:
            ping->counts.duplicates++;
            break;
        case PL_FOREIGN:
            break;
        }
    }
    if (pl_probe_socket_failure(&ping->socket) != 0 && ping->reason == NULL)
        ping->reason = ping->counts.received > 0
                           ? "the echo ended the connection"
                           : "the echo ended the connection without a reply: it may have another --token";
}

static void apply_command(struct ping *ping, enum pl_command command)
{
    /* At a terminal an interrupt is the normal end. */
    if (command == PL_COMMAND_STOP || (command == PL_COMMAND_SIGNAL && ping->flags.human && ping->sending))
        ping->sending = false;
    else if (pl_command_ends(command))
        ping->reason = pl_command_reason(command);
}

/* When the wait for the last answers ends. Where a queue is deeper than the time-out, the latest probes were
 * all given up and their answers are still to come. */
static pl_ns end_ns(const struct ping *ping)
{
    pl_ns deadline_ns = pl_probe_table_last_deadline_ns(ping->table);
    if (deadline_ns > 0 && !pl_probe_table_answered_within(ping->table, ping->flags.timeout_ns)) {
        pl_ns final_ns = pl_probe_table_last_sent_ns(ping->table) + ping->flags.final_wait_ns;
        return final_ns > deadline_ns ? final_ns : deadline_ns;
    }
    return deadline_ns;
}

/* The time of the next event; INT64_MAX: all is done. */
static pl_ns next_event_ns(struct ping *ping)
{
    pl_ns expiry_ns = pl_probe_table_deadline_ns(ping->table);
    pl_ns due_ns = pl_probe_table_has_room(ping->table) ? intended_ns(ping) : INT64_MAX;
    pl_ns next_ns = due_ns < expiry_ns ? due_ns : expiry_ns;
    if (next_ns == INT64_MAX && end_ns(ping) > pl_now_ns() - ping->start_ns)
        next_ns = end_ns(ping); /* none pending, but late answers may come */
    if (ping->flags.overdue_ns > 0 && next_ns != INT64_MAX) {
        pl_ns overdue_ns = pl_probe_table_overdue_ns(ping->table, ping->flags.overdue_ns);
        next_ns = overdue_ns < next_ns ? overdue_ns : next_ns;
    }
    return next_ns;
}

static void run_probes(struct ping *ping, struct pl_error *error)
{
    struct pl_probe lost;
    struct pl_wait wait = {.fds = {ping->socket.fd, -1}};
    while (ping->report.written && ping->reason == NULL && error->status == PL_OK) {
        pl_ns next_ns = next_event_ns(ping);
        if (next_ns == INT64_MAX)
            return;
        wait.deadline_ns = ping->start_ns + next_ns; /* a past deadline returns at once */
        apply_command(ping, pl_events_wait(ping->events, &wait));
        read_answers(ping);
        pl_ns now_ns = pl_now_ns() - ping->start_ns;
        while (ping->flags.overdue_ns > 0 &&
               pl_probe_table_overdue(ping->table, ping->flags.overdue_ns, now_ns, &lost))
            pl_ping_report_overdue(&ping->report, &lost, ping->flags.overdue_ns);
        while (pl_probe_table_give_up(ping->table, now_ns, &lost))
            write_probe(ping, &lost);
        if (intended_ns(ping) <= now_ns && pl_probe_table_has_room(ping->table))
            send_probe(ping, error);
    }
    /* After an early end, pending probes are neither answered nor lost; only the result states them. */
}

static int run(struct ping *ping, struct pl_error *error)
{
    ping->events = pl_events_open(ping->flags.control, error);
    if (ping->events == NULL || !open_socket(ping, error))
        return pl_error_output(error, "ping", ping->flags.human);
    ping->table = pl_probe_table_create(ping->flags.interval_ns, ping->flags.timeout_ns,
                                        ping->flags.timeout_max_ns, error);
    if (ping->table == NULL)
        return pl_error_output(error, "ping", ping->flags.human);
    if (ping->flags.histogram_interval_ns > 0 && !ping->flags.human) {
        ping->intervals =
            pl_probe_intervals_create(ping->flags.histogram_interval_ns, ping->flags.interval_ns,
                                      pl_probe_table_timeout_max_ns(ping->table), error);
        if (ping->intervals == NULL)
            return pl_error_output(error, "ping", ping->flags.human);
    }
    ping->sending = true;
    ping->start_ns = pl_now_ns();
    ping->report.human = ping->flags.human;
    ping->report.written = true;
    ping->report.interval_ns = ping->flags.interval_ns;
    pl_ping_report_start(&ping->report, ping->flags.address, &ping->socket, ping->start_ns);
    run_probes(ping, error);
    if (error->status != PL_OK)
        return pl_error_output(error, "ping", ping->flags.human);
    write_result(ping);
    if (!ping->report.written)
        return PL_RESOURCES;
    if (ping->flags.human && ping->reason != NULL)
        (void)fprintf(stderr, "pathlab-engine: ended early: %s\n", ping->reason);
    return ping->reason == NULL ? PL_OK : PL_ENDED;
}

int pl_ping_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct ping ping = {.socket = {.fd = -1}};
    enum pl_options_outcome outcome = pl_ping_flags_parse(&ping.flags, argc, argv, &error);
    int status;
    if (!pl_program_begin("ping", outcome, ping.flags.human, &error, &status))
        return status;
    status = run(&ping, &error);
    pl_probe_socket_close(&ping.socket);
    pl_probe_table_free(ping.table);
    pl_probe_intervals_free(ping.intervals);
    pl_events_close(ping.events);
    pl_ping_report_release(&ping.report);
    return status;
}
