/* `ping`: isochronous round-trip probes; every one is reported, answered or lost. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/events.h"
#include "base/json.h"
#include "base/lateness.h"
#include "base/options.h"
#include "base/output.h"
#include "base/program.h"
#include "base/resolve.h"
#include "base/subcommands.h"
#include "base/token.h"
#include "probe/ping_text.h"
#include "probe/probe_socket.h"
#include "probe/probe_table.h"

/* The defaults of ping(8), and room for what an echo is told. */
#define ICMP_PAYLOAD_BYTES 56
#define ECHOED_PAYLOAD_BYTES 100
#define CONNECT_TIMEOUT_NS (5 * PL_NS_PER_S)

struct ping {
    const char *address;
    const char *method_text;
    const char *token_text;
    const char *bind;
    const char *control;
    const char *output_text;
    struct pl_marking marking;
    bool human;
    int64_t port;
    int64_t count;
    int64_t interval_ns;
    int64_t payload_bytes;
    int64_t timeout_ns;

    struct pl_events *events;
    struct pl_probe_table *table;
    struct pl_probe_socket socket;
    struct pl_json json;
    pl_ns start_ns;
    uint64_t next; /* sequence of the next probe */
    bool sending;
    bool written;       /* false once the output is gone */
    const char *reason; /* why it ends early */
    uint64_t received, late, duplicates, reordered, send_errors;
    struct pl_lateness send_lateness;
    struct pl_ping_text text; /* for people */
};

static const char probing[] = "Probes";
static const char sockets[] = "Socket";
static const char output[] = "Output";

static enum pl_options_outcome parse(struct ping *ping, int argc, char **argv, struct pl_error *error)
{
    const struct pl_option table[] = {
        {.name = "address",
         .kind = PL_OPTION_STRING,
         .target = &ping->address,
         .required = true,
         .positional = true,
         .group = probing,
         .help = "host to probe: a name or a numeric address"},
        {.name = "method",
         .kind = PL_OPTION_STRING,
         .target = &ping->method_text,
         .group = probing,
         .help = "auto, icmp-datagram, icmp-raw, udp or tcp (the last two to `pathlab-engine echo`)"},
        {.name = "port",
         .kind = PL_OPTION_INT64,
         .target = &ping->port,
         .maximum = 65535,
         .group = probing,
         .help = "udp, tcp: port of the echo"},
        {.name = "token",
         .kind = PL_OPTION_STRING,
         .target = &ping->token_text,
         .group = probing,
         .help = "udp, tcp: the echo's token, 32 hexadecimal digits or stdin: its first line"},
        {.name = "count",
         .kind = PL_OPTION_INT64,
         .target = &ping->count,
         .maximum = INT64_MAX,
         .group = probing,
         .help = "probes to send; 0: until stopped"},
        {.name = "interval-ns",
         .kind = PL_OPTION_INT64,
         .target = &ping->interval_ns,
         .minimum = 100000,
         .maximum = 3600 * PL_NS_PER_S,
         .group = probing,
         .help = "time between two probes"},
        {.name = "payload-bytes",
         .kind = PL_OPTION_INT64,
         .target = &ping->payload_bytes,
         .maximum = PL_PROBE_PAYLOAD_MAX,
         .group = probing,
         .help = "data in one probe; 0: 56, by udp and tcp 100"},
        {.name = "timeout-ns",
         .kind = PL_OPTION_INT64,
         .target = &ping->timeout_ns,
         .minimum = PL_NS_PER_MS,
         .maximum = 3600 * PL_NS_PER_S,
         .group = probing,
         .help = "a probe without an answer for so long is lost"},
        {.name = "bind",
         .kind = PL_OPTION_STRING,
         .target = &ping->bind,
         .group = sockets,
         .help = "own numeric address"},
        {.name = "device",
         .kind = PL_OPTION_STRING,
         .target = &ping->marking.device,
         .group = sockets,
         .help = "device to use (SO_BINDTODEVICE)"},
        {.name = "dscp",
         .kind = PL_OPTION_INT64,
         .target = &ping->marking.dscp,
         .minimum = -1,
         .maximum = 63,
         .group = sockets,
         .help = "differentiated services code point; -1: none set"},
        {.name = "ecn",
         .kind = PL_OPTION_INT64,
         .target = &ping->marking.ecn,
         .minimum = -1,
         .maximum = 3,
         .group = sockets,
         .help = "ECN bits; -1: none set"},
        {.name = "fwmark",
         .kind = PL_OPTION_INT64,
         .target = &ping->marking.fwmark,
         .minimum = -1,
         .maximum = UINT32_MAX,
         .group = sockets,
         .help = "mark for routing and firewall; -1: none"},
        {.name = "output",
         .kind = PL_OPTION_STRING,
         .target = &ping->output_text,
         .group = output,
         .help = "human, json, or auto: human at a terminal"},
        {.name = "control",
         .kind = PL_OPTION_STRING,
         .target = &ping->control,
         .group = output,
         .help = "stdin: read the command stop from there"},
    };
    const struct pl_options options = {
        .subcommand = "ping",
        .about = "Probes the round trip of a path at even intervals.",
        .table = table,
        .count = sizeof table / sizeof table[0],
    };
    enum pl_options_outcome outcome = pl_options_parse(&options, argc, argv, error);
    if (outcome == PL_OPTIONS_OK && (!pl_output_parse(ping->output_text, &ping->human, error) ||
                                     !pl_token_check(ping->token_text, error)))
        return PL_OPTIONS_WRONG;
    return outcome;
}

static bool read_settings(const struct ping *ping, struct pl_probe_settings *settings, struct pl_error *error)
{
    *settings = (struct pl_probe_settings){.payload_bytes = (size_t)ping->payload_bytes,
                                           .marking = ping->marking,
                                           .connect_timeout_ns = CONNECT_TIMEOUT_NS};
    if (!pl_resolve(ping->address, (uint16_t)ping->port, "address", &settings->to, error) ||
        (ping->bind[0] != 0 && !pl_address_parse(ping->bind, 0, "bind", &settings->from, error)))
        return false;
    return pl_token_read(ping->token_text, settings->token, error);
}

static bool try_method(struct ping *ping, enum pl_method method, const struct pl_probe_settings *settings,
                       struct pl_error *error)
{
    struct pl_probe_settings own = *settings;
    if (own.payload_bytes == 0)
        own.payload_bytes = pl_method_is_echoed(method) ? ECHOED_PAYLOAD_BYTES : ICMP_PAYLOAD_BYTES;
    if (own.payload_bytes < pl_method_payload_min(method)) {
        pl_error_set(error, PL_USAGE, "options", 0, "--payload-bytes must be at least %zu for %s",
                     pl_method_payload_min(method), pl_method_name(method));
        return false;
    }
    if (pl_method_is_echoed(method) && ping->port == 0) {
        pl_error_set(error, PL_USAGE, "options", 0, "--method %s needs --port of an echo",
                     pl_method_name(method));
        return false;
    }
    if (!pl_method_is_echoed(method))
        pl_address_clear_port(&own.to);
    bool opened = pl_probe_socket_open(&ping->socket, method, &own, error);
    if (!opened)
        pl_probe_socket_close(&ping->socket);
    return opened;
}

/* The method asked for, or the first that can be opened. */
static bool open_socket(struct ping *ping, struct pl_error *error)
{
    struct pl_probe_settings settings;
    if (!read_settings(ping, &settings, error))
        return false;
    for (int m = 0; m < PL_METHODS; m++)
        if (strcmp(ping->method_text, pl_method_name((enum pl_method)m)) == 0)
            return try_method(ping, (enum pl_method)m, &settings, error);
    if (strcmp(ping->method_text, "auto") != 0) {
        pl_error_set(error, PL_USAGE, "options", 0,
                     "--method: '%.20s' is none of auto, icmp-datagram, icmp-raw, udp, tcp",
                     ping->method_text);
        return false;
    }
    struct pl_error attempts[PL_METHODS] = {{0}};
    for (int m = 0; m < (ping->port != 0 ? PL_METHODS : PL_PROBE_UDP); m++)
        if (try_method(ping, (enum pl_method)m, &settings, &attempts[m]))
            return true;
    /* A failure other than a missing right is the same for every method and says more. */
    for (int m = 0; m < PL_METHODS; m++)
        if (attempts[m].status != PL_OK && attempts[m].errno_value != EPERM &&
            attempts[m].errno_value != EACCES) {
            *error = attempts[m];
            return false;
        }
    pl_error_set(
        error, PL_SETUP, "socket", 0,
        "this user may send no ICMP (ping_group_range does not hold its group, CAP_NET_RAW is missing); "
        "give --port (and --token) of an echo to probe by UDP");
    return false;
}

static void write_start(struct ping *ping)
{
    if (ping->human) {
        ping->written = pl_ping_text_start(ping->address, &ping->socket) && ping->written;
        return;
    }
    struct pl_json *j = &ping->json;
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "start");
    pl_json_string(j, "method", pl_method_name(ping->socket.method));
    pl_json_string(j, "stamps",
                   ping->socket.keyed     ? "kernel"
                   : ping->socket.stamped ? "kernel-receive"
                                          : "user");
    pl_json_string(j, "address", ping->address);
    pl_json_u64(j, "payload_bytes", ping->socket.payload_bytes);
    pl_json_i64(j, "monotonic_ns", ping->start_ns);
    pl_json_i64(j, "realtime_ns", pl_realtime_ns() - (pl_now_ns() - ping->start_ns));
    pl_json_end_object(j);
    ping->written = pl_json_flush_line(j) && ping->written;
}

static void write_probe(struct ping *ping, const struct pl_probe *probe)
{
    static const char *const names[] = {"user", "kernel-receive", "kernel"};
    if (ping->human) {
        ping->written = pl_ping_text_probe(&ping->text, probe, ping->interval_ns) && ping->written;
        return;
    }
    struct pl_json *j = &ping->json;
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "probe");
    pl_json_u64(j, "sequence", probe->sequence);
    pl_json_i64(j, "intended_ns", probe->intended_ns);
    if (probe->failed)
        pl_json_null(j, "sent_ns");
    else
        pl_json_i64(j, "sent_ns", probe->sent_ns);
    if (probe->answered)
        pl_json_i64(j, "rtt_ns", probe->rtt_ns);
    else
        pl_json_null(j, "rtt_ns");
    pl_json_string(j, "stamps", probe->answered ? names[probe->stamps] : NULL);
    if (probe->answered && probe->held_ns >= 0)
        pl_json_i64(j, "held_ns", probe->held_ns);
    else
        pl_json_null(j, "held_ns");
    pl_json_bool(j, "reordered", probe->answered && probe->reordered);
    pl_json_end_object(j);
    ping->written = pl_json_flush_line(j) && ping->written;
}

static void write_result(struct ping *ping)
{
    if (ping->human) {
        const struct pl_ping_counts counts = {.sent = ping->next - ping->send_errors,
                                              .duplicates = ping->duplicates,
                                              .late = ping->late,
                                              .reordered = ping->reordered,
                                              .send_errors = ping->send_errors};
        ping->written = pl_ping_text_result(&ping->text, &counts) && ping->written;
        if (ping->socket.method == PL_PROBE_UDP && ping->received == 0 && counts.sent > 0)
            (void)fprintf(stderr, "pathlab-engine: no reply: see whether an echo of the same PathLab runs "
                                  "there, with this --token\n");
        return;
    }
    struct pl_json *j = &ping->json;
    pl_ns median_ns;
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "result");
    pl_json_bool(j, "complete", ping->reason == NULL);
    pl_json_string(j, "reason", ping->reason);
    pl_json_string(j, "method", pl_method_name(ping->socket.method));
    pl_json_u64(j, "sent", ping->next - ping->send_errors);
    pl_json_u64(j, "received", ping->received);
    pl_json_u64(j, "duplicates", ping->duplicates);
    pl_json_u64(j, "late", ping->late);
    pl_json_u64(j, "reordered", ping->reordered);
    pl_json_u64(j, "send_errors", ping->send_errors);
    pl_json_begin_object(j, "send_error_ns");
    if (pl_lateness_percentile(&ping->send_lateness, 0.5, &median_ns)) {
        pl_ns p99_ns = median_ns;
        (void)pl_lateness_percentile(&ping->send_lateness, 0.99, &p99_ns);
        pl_json_i64(j, "median", median_ns);
        pl_json_i64(j, "p99", p99_ns);
        pl_json_i64(j, "max", ping->send_lateness.max_ns);
    } else {
        pl_json_null(j, "median");
        pl_json_null(j, "p99");
        pl_json_null(j, "max");
    }
    pl_json_end_object(j);
    pl_json_end_object(j);
    ping->written = pl_json_flush_line(j) && ping->written;
}

static pl_ns intended_ns(const struct ping *ping)
{
    return ping->sending ? (pl_ns)ping->next * ping->interval_ns : INT64_MAX;
}

/* What the first send says of the way and of this user's rights concerns every probe. */
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
        pl_error_set(error, PL_SETUP, "send", cause, "cannot probe %.64s with %zu bytes", ping->address,
                     ping->socket.payload_bytes);
        return;
    } else {
        probe.failed = true;
        ping->send_errors++;
    }
    pl_lateness_add(&ping->send_lateness, probe.sent_ns - probe.intended_ns);
    pl_probe_table_enter(ping->table, &probe);
    ping->next++;
    ping->sending = ping->count == 0 || ping->next < (uint64_t)ping->count;
}

static void read_answers(struct ping *ping)
{
    uint64_t key;
    pl_ns kernel_ns;
    struct pl_probe_answer answer;
    /* Stamps first: one is there before the answer to its probe can be. */
    while (pl_probe_socket_next_stamp(&ping->socket, &key, &kernel_ns))
        pl_probe_table_stamp(ping->table, key, kernel_ns);
    while (pl_probe_socket_next_answer(&ping->socket, &answer)) {
        const struct pl_arrival arrival = {.received_ns = pl_now_ns() - ping->start_ns,
                                           .kernel_received_ns = answer.kernel_received_ns,
                                           .held_ns = answer.held_ns};
        struct pl_probe probe;
        switch (pl_probe_table_answer(ping->table, answer.sequence, &arrival, &probe)) {
        case PL_ANSWERED:
            ping->received++;
            ping->reordered += probe.reordered;
            write_probe(ping, &probe);
            break;
        case PL_LATE:
            ping->late++;
            break;
        case PL_DUPLICATE:
            ping->duplicates++;
            break;
        case PL_FOREIGN:
            break;
        }
    }
    if (pl_probe_socket_failure(&ping->socket) != 0 && ping->reason == NULL)
        ping->reason = ping->received > 0
                           ? "the echo ended the connection"
                           : "the echo ended the connection without a reply: it may have another --token";
}

static void apply_command(struct ping *ping, enum pl_command command)
{
    /* At a terminal an interrupt is how it is meant to end. */
    if (command == PL_COMMAND_STOP || (command == PL_COMMAND_SIGNAL && ping->human && ping->sending))
        ping->sending = false;
    else if (pl_command_ends(command))
        ping->reason = pl_command_reason(command);
}

static void run_probes(struct ping *ping, struct pl_error *error)
{
    struct pl_probe lost;
    struct pl_wait wait = {.fds = {ping->socket.fd, -1}};
    while (ping->written && ping->reason == NULL && error->status == PL_OK) {
        pl_ns expiry_ns = pl_probe_table_deadline_ns(ping->table);
        pl_ns due_ns = pl_probe_table_has_room(ping->table) ? intended_ns(ping) : INT64_MAX;
        pl_ns next_ns = due_ns < expiry_ns ? due_ns : expiry_ns;
        if (next_ns == INT64_MAX)
            return;                                  /* all sent, none under way */
        wait.deadline_ns = ping->start_ns + next_ns; /* one that has passed returns at once */
        apply_command(ping, pl_events_wait(ping->events, &wait));
        read_answers(ping);
        pl_ns now_ns = pl_now_ns() - ping->start_ns;
        while (pl_probe_table_give_up(ping->table, now_ns, &lost))
            write_probe(ping, &lost);
        if (intended_ns(ping) <= now_ns && pl_probe_table_has_room(ping->table))
            send_probe(ping, error);
    }
    /* Ended early: what is under way is neither answered nor lost, and said so by the result alone. */
}

static int refuse(const struct ping *ping, const struct pl_error *error)
{
    return ping->human ? pl_error_print(error, "ping") : pl_error_report(error, "ping");
}

static int run(struct ping *ping, struct pl_error *error)
{
    ping->events = pl_events_open(ping->control, error);
    if (ping->events == NULL || !open_socket(ping, error))
        return refuse(ping, error);
    ping->table = pl_probe_table_create(ping->interval_ns, ping->timeout_ns, error);
    if (ping->table == NULL)
        return refuse(ping, error);
    ping->sending = ping->written = true;
    ping->start_ns = pl_now_ns();
    write_start(ping);
    run_probes(ping, error);
    if (error->status != PL_OK)
        return refuse(ping, error);
    write_result(ping);
    if (!ping->written)
        return PL_RESOURCES;
    if (ping->human && ping->reason != NULL)
        (void)fprintf(stderr, "pathlab-engine: ended early: %s\n", ping->reason);
    return ping->reason == NULL ? PL_OK : PL_ENDED;
}

int pl_ping_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct ping ping = {
        .method_text = "auto",
        .token_text = "",
        .bind = "",
        .control = "",
        .output_text = "auto",
        .marking = PL_UNMARKED,
        .interval_ns = PL_NS_PER_S,
        .timeout_ns = 2 * PL_NS_PER_S,
        .socket = {.fd = -1},
    };
    switch (parse(&ping, argc, argv, &error)) {
    case PL_OPTIONS_HELP:
        return PL_OK;
    case PL_OPTIONS_WRONG:
        return pl_program_refuse("ping", &error);
    case PL_OPTIONS_OK:
        break;
    }
    if (!ping.human && !pl_program_write_hello("ping"))
        return PL_RESOURCES;
    int status = run(&ping, &error);
    pl_probe_socket_close(&ping.socket);
    pl_probe_table_free(ping.table);
    pl_events_close(ping.events);
    pl_json_release(&ping.json);
    pl_ping_text_release(&ping.text);
    return status;
}
