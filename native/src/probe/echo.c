/* `echo`: answers probes that carry the token's digest, by UDP and TCP, with no more bytes than arrived. */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/events.h"
#include "base/options.h"
#include "base/output.h"
#include "base/port_range.h"
#include "base/program.h"
#include "base/record.h"
#include "base/stamp.h"
#include "base/subcommands.h"
#include "base/token.h"
#include "base/units.h"
#include "probe/echo_idle.h"
#include "probe/echo_streams.h"
#include "probe/echo_wire.h"

#define DATAGRAM_BYTES 65536
#define ALL_ADDRESSES "all addresses"
#define ANSWERS_PER_TURN 256
#define DEFAULT_PORT "5211"
/* With any port for both transports: the port that UDP got may be taken for TCP. */
#define PORT_ATTEMPTS 16
#define IDLE_TIMEOUT_MAX_NS (INT64_C(7) * 24 * 3600 * PL_NS_PER_S)

struct echo {
    const char *bind;
    const char *token_text;
    const char *transport_text;
    const char *control;
    const char *output_text;
    const char *port_text;
    struct pl_port_range ports;
    uint8_t token[PL_TOKEN_BYTES];
    bool human;
    bool datagrams; /* UDP is served */
    int fd;         /* of UDP; -1 */
    struct pl_echo_streams *streams;
    struct pl_echo_counts counts; /* of UDP */
    int64_t idle_timeout_ns;
    struct pl_echo_idle idle;
    char idle_reason[64]; /* after the idle time-out */
    uint8_t datagram[DATAGRAM_BYTES];
};

static enum pl_options_outcome read_flags(struct echo *echo, int argc, char **argv, struct pl_error *error)
{
    const struct pl_option table[] = {
        pl_option_text(NULL, "port", &echo->port_text,
                       "port, the same for both transports, or a range such as 5201-5300; 0: any"),
        pl_option_text(
            NULL, "token", &echo->token_text,
            "token of the probes, 32 hexadecimal digits or stdin: its first line; without one, all "
            "probes are answered"),
        pl_option_text(NULL, "transport", &echo->transport_text, "udp, tcp or both"),
        pl_option_integer(
            NULL, "idle-timeout-ns", &echo->idle_timeout_ns, 0, IDLE_TIMEOUT_MAX_NS,
            "end after this time without an admitted peer; 0: never (default 1min; with --control never)"),
        pl_option_text(NULL, "bind", &echo->bind, "own numeric address; any: all of IPv4 and IPv6"),
        pl_output_option(NULL, &echo->output_text),
        pl_option_text(NULL, "control", &echo->control, "stdin: read the command stop from there"),
    };
    return pl_options_parse(
        PL_OPTIONS("echo", "Answers the UDP and TCP probes of `pathlab-engine ping`.", table), argc, argv,
        error);
}

static enum pl_options_outcome parse(struct echo *echo, int argc, char **argv, struct pl_error *error)
{
    enum pl_options_outcome outcome = read_flags(echo, argc, argv, error);
    if (outcome != PL_OPTIONS_OK)
        return outcome;
    static const char *const transports[] = {"udp", "tcp", "both", NULL};
    int transport = pl_parse_choice("transport", echo->transport_text, transports, error);
    echo->datagrams = transport != 1;
    return transport >= 0 && pl_token_check(echo->token_text, error) &&
                   pl_port_range_parse(echo->port_text, &echo->ports, error) &&
                   pl_output_parse(echo->output_text, &echo->human, error)
               ? PL_OPTIONS_OK
               : PL_OPTIONS_WRONG;
}

/* A bound socket; -1 with errno set. That of all addresses of IPv6 takes those of IPv4 as well. */
static int bind_socket(int kind, const struct pl_address *address)
{
    int fd = socket(pl_address_family(address), kind | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP);
    if (fd < 0)
        return -1;
    if (pl_address_family(address) == AF_INET6)
        (void)pl_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (kind == SOCK_STREAM)
        (void)pl_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    else
        (void)pl_set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    if (pl_address_bind(fd, address) == 0 && (kind == SOCK_DGRAM || listen(fd, PL_ECHO_STREAMS) == 0))
        return fd;
    int cause = errno;
    (void)close(fd);
    errno = cause;
    return -1;
}

/* One attempt at both sockets on one port; 0, or the errno. */
static int try_port(struct echo *echo, struct pl_address *own, bool streams, int *listen_fd)
{
    if (echo->datagrams) {
        echo->fd = bind_socket(SOCK_DGRAM, own);
        if (echo->fd < 0)
            return errno;
        (void)pl_address_of_socket(echo->fd, own); /* the kernel's port, for the other socket */
    }
    if (!streams)
        return 0;
    *listen_fd = bind_socket(SOCK_STREAM, own);
    if (*listen_fd >= 0) {
        (void)pl_address_of_socket(*listen_fd, own);
        return 0;
    }
    int cause = errno;
    pl_close(echo->fd);
    echo->fd = -1;
    return cause;
}

static bool listens_on_all(const struct echo *echo)
{
    return strcmp(echo->bind, PL_ANY_ADDRESS) == 0;
}

/* Listens on a port; of all addresses, on those of IPv4 alone where this host has no IPv6. 0, or the errno;
 * -1 with `error` set. */
static int listen_on(struct echo *echo, int64_t port, struct pl_address *own, int *listen_fd,
                     struct pl_error *error)
{
    bool all = listens_on_all(echo);
    bool streams = strcmp(echo->transport_text, "udp") != 0;
    if (!pl_address_parse(all ? "::" : echo->bind, (uint16_t)port, "bind", own, error))
        return -1;
    int cause = try_port(echo, own, streams, listen_fd);
    if (!all || (cause != EAFNOSUPPORT && cause != EADDRNOTAVAIL))
        return cause;
    return pl_address_parse("0.0.0.0", (uint16_t)port, "bind", own, error)
               ? try_port(echo, own, streams, listen_fd)
               : -1;
}

static bool open_sockets(struct echo *echo, struct pl_address *own, struct pl_error *error)
{
    bool streams = strcmp(echo->transport_text, "udp") != 0;
    int listen_fd = -1;
    int cause = EADDRINUSE;
    int64_t last = echo->ports.first == 0 ? PORT_ATTEMPTS - 1 : echo->ports.last;
    int64_t port = echo->ports.first;
    for (; port <= last && cause == EADDRINUSE; port++) {
        cause = listen_on(echo, echo->ports.first == 0 ? 0 : port, own, &listen_fd, error);
        if (cause < 0)
            return false;
    }
    if (cause != 0)
        return pl_port_range_refuse(&echo->ports, echo->ports.first == 0 ? 0 : port - 1,
                                    listens_on_all(echo) ? ALL_ADDRESSES : echo->bind, cause, error);
    if (streams)
        echo->streams = pl_echo_streams_open(listen_fd, echo->token, error);
    return !streams || echo->streams != NULL;
}

/* Answers pending datagrams, a bounded number at a time so that commands are read in between. */
static void answer_datagrams(struct echo *echo)
{
    for (int i = 0; i < ANSWERS_PER_TURN; i++) {
        struct sockaddr_storage from;
        _Alignas(struct cmsghdr) uint8_t ancillary[128];
        struct iovec data = {.iov_base = echo->datagram, .iov_len = sizeof echo->datagram};
        struct msghdr message = {.msg_name = &from,
                                 .msg_namelen = sizeof from,
                                 .msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = ancillary,
                                 .msg_controllen = sizeof ancillary};
        ssize_t count = recvmsg(echo->fd, &message, MSG_DONTWAIT);
        pl_ns received_ns = pl_now_ns();
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (count < 0)
            continue; /* the ICMP error of an earlier answer */
        struct pl_probe_head head;
        enum pl_probe_verdict verdict =
            pl_probe_decode(echo->datagram, (size_t)count, PL_PROBE_REQUEST, echo->token, &head);
        echo->counts.refused += verdict != PL_PROBE_ADMITTED;
        echo->counts.other_version += verdict == PL_PROBE_OTHER_VERSION;
        if (verdict != PL_PROBE_ADMITTED)
            continue;
        pl_probe_make_reply(&head, pl_stamp_read(&message), received_ns, (size_t)count, echo->token,
                            echo->datagram);
        if (sendto(echo->fd, echo->datagram, (size_t)count, MSG_DONTWAIT | MSG_NOSIGNAL,
                   (const struct sockaddr *)&from, message.msg_namelen) == count)
            echo->counts.echoed++;
    }
}

static bool write_listening(const struct echo *echo, const struct pl_address *own)
{
    char text[PL_ADDRESS_TEXT_BYTES];
    pl_address_text(own, text);
    if (listens_on_all(echo))
        (void)snprintf(text, sizeof text, "%s", echo->human ? ALL_ADDRESSES : PL_ANY_ADDRESS);
    if (echo->human) {
        (void)printf("echoing %s on %s port %lld%s\n", echo->transport_text, text,
                     (long long)pl_address_port(own),
                     echo->token_text[0] == 0 ? ", without authentication (no --token)" : "");
        return pl_output_flush();
    }
    const struct pl_echo_listening_record record = {
        .address = text, .port = pl_address_port(own), .transport = echo->transport_text};
    return pl_record_print(&pl_echo_listening_type, &record);
}

static struct pl_echo_counts sum_counts(const struct echo *echo)
{
    struct pl_echo_counts counts = echo->counts;
    if (echo->streams != NULL) {
        const struct pl_echo_counts *more = pl_echo_streams_counts(echo->streams);
        counts.echoed += more->echoed;
        counts.refused += more->refused;
        counts.other_version += more->other_version;
    }
    return counts;
}

static bool write_result(const struct echo *echo, const char *reason)
{
    const struct pl_echo_counts counts = sum_counts(echo);
    if (echo->human) {
        if (echo->idle_reason[0] != 0)
            (void)printf("ended: %s (--idle-timeout 0: never)\n", echo->idle_reason);
        (void)printf("%llu probes echoed, %llu refused\n", (unsigned long long)counts.echoed,
                     (unsigned long long)counts.refused);
        if (counts.other_version > 0)
            (void)printf(
                "%llu of the refused probes are of another version, this echo uses version %d: use the "
                "same PathLab at both ends\n",
                (unsigned long long)counts.other_version, PL_PROBE_VERSION);
        return pl_output_flush();
    }
    const struct pl_echo_result_record record = {
        .complete = reason == NULL,
        .reason = reason,
        .echoed = (int64_t)counts.echoed,
        .refused = (int64_t)counts.refused,
        .other_version = (int64_t)counts.other_version,
    };
    return pl_record_print(&pl_echo_result_type, &record);
}

/* Answers pending probes. False after the idle time-out. */
static bool serve(struct echo *echo)
{
    if (echo->fd >= 0)
        answer_datagrams(echo);
    if (echo->streams != NULL)
        pl_echo_streams_serve(echo->streams);
    bool connected = echo->streams != NULL && pl_echo_streams_admitted(echo->streams) > 0;
    pl_ns now_ns = pl_now_ns();
    pl_echo_idle_note(&echo->idle, sum_counts(echo).echoed, connected, now_ns);
    if (now_ns < pl_echo_idle_deadline_ns(&echo->idle))
        return true;
    char time[PL_QUANTITY_BYTES];
    (void)snprintf(echo->idle_reason, sizeof echo->idle_reason, "no admitted peer for %s",
                   pl_format_exact_quantity(echo->idle.timeout_ns, PL_UNIT_NS, time));
    return false;
}

static int run_echo(struct echo *echo, struct pl_events *events, const struct pl_address *own)
{
    if (!write_listening(echo, own))
        return PL_RESOURCES;
    struct pl_wait wait = {.fds = {echo->fd, echo->streams != NULL ? pl_echo_streams_fd(echo->streams) : -1}};
    pl_echo_idle_start(&echo->idle, echo->idle_timeout_ns, pl_events_controlled(events), pl_now_ns());
    for (;;) {
        wait.deadline_ns = pl_echo_idle_deadline_ns(&echo->idle);
        pl_ns handshake_ns = echo->streams != NULL ? pl_echo_streams_deadline_ns(echo->streams) : PL_NEVER;
        if (handshake_ns < wait.deadline_ns)
            wait.deadline_ns = handshake_ns;
        enum pl_command command = pl_events_wait(events, &wait);
        bool idle = !serve(echo);
        if (!idle && !pl_command_ends(command))
            continue;
        const char *reason = pl_command_ends(command) ? pl_command_reason(command) : echo->idle_reason;
        if (command == PL_COMMAND_STOP)
            reason = NULL;
        if (!write_result(echo, reason))
            return PL_RESOURCES;
        /* At a terminal an interrupt or the idle time-out is the normal end. */
        return reason == NULL || echo->human ? PL_OK : PL_ENDED;
    }
}

int pl_echo_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct pl_address own;
    struct echo echo = {.bind = PL_ANY_ADDRESS,
                        .token_text = "",
                        .transport_text = "both",
                        .control = "",
                        .output_text = "auto",
                        .port_text = DEFAULT_PORT,
                        .idle_timeout_ns = PL_ECHO_IDLE_UNSET,
                        .fd = -1};
    int status;
    enum pl_options_outcome outcome = parse(&echo, argc, argv, &error);
    if (!pl_program_begin("echo", outcome, echo.human, &error, &status))
        return status;
    struct pl_events *events = pl_events_open(echo.control, &error);
    if (events != NULL && pl_token_read(echo.token_text, echo.token, &error) &&
        open_sockets(&echo, &own, &error))
        status = run_echo(&echo, events, &own);
    else
        status = pl_error_output(&error, "echo", echo.human);
    pl_echo_streams_close(echo.streams);
    pl_events_close(events);
    pl_close(echo.fd);
    return status;
}
