/* `receive`: admits the streams of a flow, carries their bytes, and states what was received. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/limits.h"
#include "base/lower_priority.h"
#include "base/output.h"
#include "base/program.h"
#include "base/subcommands.h"
#include "base/token.h"
#include "base/units.h"
#include "flow/flow_settings.h"
#include "flow/session.h"
#include "flow/sockopts.h"

/* With any port: the one that a family got may be taken in the other. */
#define PORT_ATTEMPTS 16
#define ALL_ADDRESSES "all addresses"

static bool listens_on_all(const struct pl_flow *flow)
{
    return strcmp(flow->bind, PL_ANY_ADDRESS) == 0 && flow->transport != PL_UNIX &&
           flow->transport != PL_VSOCK;
}

static bool refuse_address(const struct pl_flow *flow, int64_t port, int cause, struct pl_error *error)
{
    if (flow->transport != PL_UNIX)
        return pl_port_range_refuse(&flow->ports, port, listens_on_all(flow) ? ALL_ADDRESSES : flow->bind,
                                    cause, error);
    if (cause == EADDRINUSE)
        return pl_error_set(error, PL_SETUP, "bind", cause,
                            "%.108s exists: remove it if no receiver listens on it", flow->bind);
    return pl_error_set(error, PL_SETUP, "bind", cause, "cannot create the socket %.108s", flow->bind);
}

/* 0, or the errno. */
static int listen_on(int fd, const struct pl_address *address)
{
    (void)pl_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (pl_address_bind(fd, address) != 0)
        return errno;
    /* A long queue, so that a burst of unauthenticated peers does not delay a stream by a SYN retransmission.
     * listen() refuses the second of two sockets that are bound to one port. */
    return listen(fd, PL_MAX_STREAMS) == 0 ? 0 : errno;
}

/* The path of a Unix socket outlives it and would block the next run. */
static void close_listener(int fd)
{
    struct pl_address address;
    if (pl_address_of_socket(fd, &address) && pl_address_family(&address) == AF_UNIX) {
        const struct sockaddr_un *own = (const struct sockaddr_un *)&address.storage;
        if (own->sun_path[0] != 0)
            (void)unlink(own->sun_path);
    }
    (void)close(fd);
}

static void close_listeners(struct pl_listeners *listeners)
{
    for (size_t i = 0; i < listeners->count; i++)
        close_listener(listeners->fds[i]);
    listeners->count = 0;
}

/* Listens on one port of an address. Returns the socket, or -1: with `cause` set to the errno when the port
 * is refused, else with `error` set. */
static int try_address(const struct pl_flow *flow, const char *text, int64_t port, int *cause,
                       struct pl_error *error)
{
    struct pl_address address;
    *cause = 0;
    if (!pl_transport_address(flow->transport, text, (uint16_t)port, "bind", &address, error))
        return -1;
    int fd = pl_open_stream_socket(pl_address_family(&address), flow, error);
    if (fd < 0)
        return -1;
    /* Alongside a socket of IPv4 on the same port. */
    if (listens_on_all(flow) && pl_address_family(&address) == AF_INET6)
        (void)pl_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    *cause = listen_on(fd, &address);
    if (*cause == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Whether a family cannot be used here, and not only this port of it. */
static bool lacks_family(int cause, const struct pl_error *error)
{
    int found = cause != 0 ? cause : error->errno_value;
    return found == EAFNOSUPPORT || found == EADDRNOTAVAIL;
}

/* Listens on one port; of all addresses, those of each family that this host has. 0 with the sockets, else as
 * try_address(). */
static bool try_port(const struct pl_flow *flow, int64_t port, struct pl_listeners *listeners, int *cause,
                     struct pl_error *error)
{
    static const char *const all[] = {"0.0.0.0", "::"};
    listeners->count = 0;
    if (!listens_on_all(flow)) {
        listeners->fds[0] = try_address(flow, flow->bind, port, cause, error);
        listeners->count = listeners->fds[0] >= 0;
        return listeners->count > 0;
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct pl_error refused = {0};
        struct pl_address own;
        int fd = try_address(flow, all[i], port, cause, &refused);
        if (fd >= 0) {
            listeners->fds[listeners->count++] = fd;
            if (pl_address_of_socket(fd, &own))
                port = pl_address_port(&own);
        } else if (!lacks_family(*cause, &refused) || (i > 0 && listeners->count == 0)) {
            *error = refused;
            close_listeners(listeners);
            return false;
        }
    }
    *cause = 0;
    return true;
}

/* Opens the listening sockets. The window is set before listen, so that connections offer it from the first
 * segment. */
static bool open_listeners(const struct pl_flow *flow, struct pl_listeners *listeners, struct pl_error *error)
{
    int64_t streams =
        flow->streams > 0 ? flow->streams : 1; /* a larger number in the hello is checked then */
    if (!pl_raise_descriptor_limit(pl_flow_descriptors(flow, streams) + PL_HANDSHAKE_SPARE + 64, error))
        return false;
    int cause = EADDRINUSE;
    int64_t port = flow->ports.first;
    int attempts = flow->ports.first == 0 ? PORT_ATTEMPTS : 1;
    for (; cause == EADDRINUSE && port <= flow->ports.last; port++)
        for (int i = 0; cause == EADDRINUSE && i < attempts; i++)
            if (try_port(flow, port, listeners, &cause, error))
                return true;
    if (cause != 0)
        (void)refuse_address(flow, port - 1, cause, error);
    return false;
}

static bool write_listening(const struct pl_flow *flow, const struct pl_listeners *listeners)
{
    int listen_fd = listeners->fds[0];
    struct pl_json j = {0};
    struct pl_socket_facts facts;
    struct pl_address address;
    char text[PL_ADDRESS_TEXT_BYTES] = "";
    pl_read_socket_facts(listen_fd, &facts);
    if (listens_on_all(flow))
        (void)snprintf(text, sizeof text, "%s", flow->human ? ALL_ADDRESSES : PL_ANY_ADDRESS);
    else if (pl_address_of_socket(listen_fd, &address))
        pl_address_text(&address, text);
    if (flow->human) {
        (void)printf("listening on %s", text);
        if (facts.local_port >= 0)
            (void)printf(" port %lld", (long long)facts.local_port);
        (void)printf("%s\n", flow->open ? ", without authentication (no --token)" : "");
        return pl_output_flush();
    }
    pl_json_begin_record(&j, "listening");
    pl_json_string(&j, "address", text);
    pl_json_known_i64(&j, "port", facts.local_port);
    pl_write_window(&j, flow->window_bytes, facts.sndbuf_bytes, facts.rcvbuf_bytes);
    return pl_json_end_only_record(&j);
}

/* When the wait for the other streams of a flow ends that has begun. */
static pl_ns idle_end_ns(const struct pl_session *session)
{
    pl_ns latest_ns = pl_acceptor_state(session->acceptor).latest_ns;
    return latest_ns > 0 && session->flow.idle_timeout_ns > 0 ? latest_ns + session->flow.idle_timeout_ns
                                                              : PL_NEVER;
}

/* False with `error` set when streams are missing. */
static bool admit_streams(struct pl_session *session, struct pl_error *error)
{
    struct pl_acceptor *acceptor = session->acceptor;
    const struct pl_flow *flow = &session->flow;
    pl_ns end_ns = flow->admission_timeout_ns > 0 ? pl_now_ns() + flow->admission_timeout_ns : PL_NEVER;
    bool limited = session->limit_ns < end_ns;
    end_ns = limited ? session->limit_ns : end_ns;
    struct pl_wait wait = {.fds = {pl_acceptor_fd(acceptor), -1}};
    while (!pl_acceptor_state(acceptor).complete) {
        pl_ns idle_ns = idle_end_ns(session);
        wait.deadline_ns = pl_earlier(pl_earlier(pl_acceptor_state(acceptor).deadline_ns, end_ns), idle_ns);
        enum pl_command command = pl_events_wait(session->events, &wait);
        session->earliest_ns = pl_now_ns();
        if (!pl_acceptor_serve(acceptor, error))
            return false;
        if (pl_command_ends(command))
            return pl_session_early_end(command, "accept", error);
        if (pl_now_ns() >= idle_end_ns(session) && !pl_acceptor_state(acceptor).complete) {
            char time[PL_QUANTITY_BYTES];
            pl_format_exact_quantity(flow->idle_timeout_ns, PL_UNIT_NS, time);
            return pl_error_set(error, PL_ENDED, "accept", 0,
                                "%u of %lld streams connected, and no other one within %s",
                                pl_acceptor_state(acceptor).admitted, (long long)flow->streams, time);
        }
        if (pl_now_ns() >= end_ns && !pl_acceptor_state(acceptor).complete) {
            const char *which = limited ? "--time-limit-ns" : "--accept-timeout-ns";
            unsigned long long rejected = pl_acceptor_state(acceptor).rejected;
            if (flow->streams == 0) /* the first hello states the number */
                return pl_error_set(error, PL_ENDED, "accept", 0,
                                    "no stream connected within %s; unauthenticated peers rejected: %llu",
                                    which, rejected);
            return pl_error_set(
                error, PL_ENDED, "accept", 0,
                "%u of %lld streams connected within %s; unauthenticated peers rejected: %llu",
                pl_acceptor_state(acceptor).admitted, (long long)flow->streams, which, rejected);
        }
    }
    return true;
}

/* Serves one flow with the requested settings. */
static int serve_flow(const struct pl_flow *requested, struct pl_events *events,
                      const struct pl_listeners *listeners)
{
    struct pl_error error = {0};
    struct pl_session session = {.flow = *requested, .events = events};
    int status;
    if (pl_session_open(&session, &error))
        session.acceptor = pl_acceptor_open(listeners, &session.flow, session.streams, &error);
    if (session.acceptor == NULL || !admit_streams(&session, &error) ||
        !pl_session_prepare(&session, &error)) {
        status = pl_error_output(&error, "receive", requested->human);
    } else {
        pl_session_run(&session, &error);
        status = pl_session_finish(&session);
    }
    pl_acceptor_close(session.acceptor);
    pl_session_close(&session);
    return status;
}

/* Serves the requested flows. Stops at the first one that fails, unless their number is unlimited. */
static int serve_flows(const struct pl_flow *flow, struct pl_events *events,
                       const struct pl_listeners *listeners)
{
    int status = PL_OK;
    for (int64_t served = 0; flow->flows == 0 || served < flow->flows; served++) {
        if (!write_listening(flow, listeners))
            return PL_RESOURCES;
        status = serve_flow(flow, events, listeners);
        if (status != PL_OK && (flow->flows != 0 || pl_events_ended(events)))
            break;
    }
    return status;
}

static int run(struct pl_flow *flow, struct pl_error *error)
{
    struct pl_events *events = pl_events_open(flow->control, error);
    struct pl_listeners listeners = {.count = 0};
    if (flow->idle_timeout_ns == PL_IDLE_TIMEOUT_UNSET) /* a controller ends what it does not need any more */
        flow->idle_timeout_ns = events != NULL && !pl_events_controlled(events) ? PL_IDLE_TIMEOUT_NS : 0;
    bool open = events != NULL && pl_token_read(flow->token_text, flow->token, error) &&
                pl_limit_memory(flow->memory_limit_bytes, error) && pl_lower_priority(flow->nice, error) &&
                open_listeners(flow, &listeners, error);
    int status =
        open ? serve_flows(flow, events, &listeners) : pl_error_output(error, "receive", flow->human);
    close_listeners(&listeners);
    pl_events_close(events);
    return status;
}

int pl_receive_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct pl_flow flow;
    int status;
    enum pl_options_outcome outcome = pl_flow_parse(&flow, false, argc, argv, &error);
    return pl_program_begin("receive", outcome, flow.human, &error, &status) ? run(&flow, &error) : status;
}
