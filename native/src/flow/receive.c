/* `receive`: admits the streams of a flow, carries their bytes, and states what was received. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/limits.h"
#include "base/lower_priority.h"
#include "base/output.h"
#include "base/program.h"
#include "base/subcommands.h"
#include "base/token.h"
#include "flow/session.h"
#include "flow/sockopts.h"

static bool refuse_address(const struct pl_flow *flow, int64_t port, int cause, struct pl_error *error)
{
    if (flow->transport != PL_UNIX)
        return pl_port_range_refuse(&flow->ports, port, flow->bind, cause, error);
    if (cause == EADDRINUSE)
        pl_error_set(error, PL_SETUP, "bind", cause, "%.108s exists: remove it if no receiver listens on it",
                     flow->bind);
    else
        pl_error_set(error, PL_SETUP, "bind", cause, "cannot create the socket %.108s", flow->bind);
    return false;
}

/* 0, or the errno. */
static int listen_on(int fd, const struct pl_address *address)
{
    const int one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&address->storage, address->length) != 0)
        return errno;
    /* A long queue, so that a burst of unauthenticated peers does not delay a stream by a SYN retransmission.
     * listen() refuses the second of two sockets that are bound to one port. */
    return listen(fd, PL_MAX_STREAMS) == 0 ? 0 : errno;
}

/* Listens on one port. Returns the socket, or -1: with `cause` set to the errno when the port is refused,
 * else with `error` set. */
static int try_port(const struct pl_flow *flow, int64_t port, int *cause, struct pl_error *error)
{
    struct pl_address address;
    *cause = 0;
    if (!pl_transport_address(flow->transport, flow->bind, (uint16_t)port, "bind", &address, error))
        return -1;
    int fd = pl_open_stream_socket(pl_address_family(&address), flow, error);
    if (fd < 0)
        return -1;
    *cause = listen_on(fd, &address);
    if (*cause == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Opens the listening socket. The window is set before listen, so that connections offer it from the first
 * segment. */
static int open_listener(const struct pl_flow *flow, struct pl_error *error)
{
    int64_t streams =
        flow->streams > 0 ? flow->streams : 1; /* a larger number in the hello is checked then */
    if (!pl_raise_descriptor_limit(pl_flow_descriptors(flow, streams) + PL_HANDSHAKE_SPARE + 64, error))
        return -1;
    int cause = EADDRINUSE;
    int64_t port = flow->ports.first;
    for (; cause == EADDRINUSE && port <= flow->ports.last; port++) {
        int fd = try_port(flow, port, &cause, error);
        if (fd >= 0)
            return fd;
    }
    if (cause != 0)
        (void)refuse_address(flow, port - 1, cause, error);
    return -1;
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

static bool write_listening(const struct pl_flow *flow, int listen_fd)
{
    struct pl_json j = {0};
    struct pl_socket_facts facts;
    struct pl_address address;
    char text[PL_ADDRESS_TEXT_BYTES] = "";
    pl_read_socket_facts(listen_fd, &facts);
    if (pl_address_of_socket(listen_fd, &address))
        pl_address_text(&address, text);
    if (flow->human) {
        (void)printf("listening on %s", text);
        if (facts.local_port >= 0)
            (void)printf(" port %lld", (long long)facts.local_port);
        (void)printf("%s\n", flow->open ? ", without authentication (no --token)" : "");
        return pl_output_flush();
    }
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "listening");
    pl_json_string(&j, "address", text);
    pl_json_known_i64(&j, "port", facts.local_port);
    pl_write_window(&j, flow->window_bytes, facts.sndbuf_bytes, facts.rcvbuf_bytes);
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    return written;
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
    while (!pl_acceptor_is_complete(acceptor)) {
        wait.deadline_ns =
            pl_acceptor_deadline_ns(acceptor) < end_ns ? pl_acceptor_deadline_ns(acceptor) : end_ns;
        enum pl_command command = pl_events_wait(session->events, &wait);
        session->earliest_ns = pl_now_ns();
        if (!pl_acceptor_serve(acceptor, error))
            return false;
        if (pl_command_ends(command)) {
            pl_session_early_end(command, "accept", error);
            return false;
        }
        if (pl_now_ns() >= end_ns && !pl_acceptor_is_complete(acceptor)) {
            const char *which = limited ? "--time-limit-ns" : "--accept-timeout-ns";
            unsigned long long rejected = pl_acceptor_rejected(acceptor);
            if (flow->streams == 0) /* the first hello states the number */
                pl_error_set(error, PL_ENDED, "accept", 0,
                             "no stream connected within %s; unauthenticated peers rejected: %llu", which,
                             rejected);
            else
                pl_error_set(error, PL_ENDED, "accept", 0,
                             "%u of %lld streams connected within %s; unauthenticated peers rejected: %llu",
                             pl_acceptor_admitted(acceptor), (long long)flow->streams, which, rejected);
            return false;
        }
    }
    return true;
}

/* Serves one flow with the requested settings. */
static int serve_flow(const struct pl_flow *requested, struct pl_events *events, int listen_fd)
{
    struct pl_error error = {0};
    struct pl_session session = {.flow = *requested, .events = events};
    int status;
    if (pl_session_open(&session, &error))
        session.acceptor = pl_acceptor_open(listen_fd, &session.flow, session.streams, &error);
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
static int serve_flows(const struct pl_flow *flow, struct pl_events *events, int listen_fd)
{
    int status = PL_OK;
    for (int64_t served = 0; flow->flows == 0 || served < flow->flows; served++) {
        if (!write_listening(flow, listen_fd))
            return PL_RESOURCES;
        status = serve_flow(flow, events, listen_fd);
        if (status != PL_OK && (flow->flows != 0 || pl_events_ended(events)))
            break;
    }
    return status;
}

static int run(struct pl_flow *flow, struct pl_error *error)
{
    struct pl_events *events = pl_events_open(flow->control, error);
    int listen_fd = -1;
    if (events != NULL && pl_token_read(flow->token_text, flow->token, error) &&
        pl_limit_memory(flow->memory_limit_bytes, error) && pl_lower_priority(flow->nice, error))
        listen_fd = open_listener(flow, error);
    int status = listen_fd >= 0 ? serve_flows(flow, events, listen_fd)
                                : pl_error_output(error, "receive", flow->human);
    if (listen_fd >= 0)
        close_listener(listen_fd);
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
