#include "flow/connector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/limits.h"
#include "base/message.h"
#include "base/program.h"
#include "base/units.h"
#include "datagrams/datagram_flow.h"
#include "flow/hello.h"
#include "flow/receivers.h"
#include "flow/sockopts.h"
#include "messages/message_flow.h"

/* Connections without an answer at a time: enough for a long path, and not too many for a small backlog. */
#define PENDING_MAX 1024

/* The answer to one stream's hello, as far as it has arrived. */
struct pending_answer {
    bool connected;
    uint32_t received;
    uint8_t bytes[PL_ANSWER_BYTES + PL_BUSY_BYTES]; /* the second part only after PL_ANSWER_BUSY */
};

struct pl_connector {
    struct pl_flow *flow;
    struct pl_stream *streams;
    struct pending_answer *pending;
    struct pl_receivers to; /* stream s goes to receiver s modulo their number */
    struct pl_address from;
    int epoll_fd;
    uint32_t started;
    uint32_t admitted;
};

static bool find_receivers(const struct pl_flow *flow, struct pl_receivers *to, struct pl_error *error)
{
    if (flow->receivers_text[0] == 0) {
        to->count = 1;
        return pl_transport_address(flow->transport, flow->address, (uint16_t)flow->port, "address",
                                    &to->addresses[0], error);
    }
    if (!pl_receivers_parse(flow->receivers_text, to, error))
        return false;
    if (flow->streams % to->count == 0)
        return true;
    return pl_error_usage(error, "--streams %lld cannot be shared evenly by %u receivers",
                          (long long)flow->streams, to->count);
}

static const struct pl_address *find_target(const struct pl_connector *connector, uint32_t stream)
{
    return &connector->to.addresses[stream % connector->to.count];
}

struct pl_connector *pl_connector_open(struct pl_flow *flow, struct pl_stream *streams,
                                       struct pl_error *error)
{
    struct pl_connector *connector = calloc(1, sizeof *connector);
    if (connector != NULL)
        connector->pending = calloc((size_t)flow->streams, sizeof *connector->pending);
    if (connector == NULL || connector->pending == NULL) {
        pl_error_set(error, PL_RESOURCES, "connect", ENOMEM, "no memory for the connections");
        free(connector);
        return NULL;
    }
    connector->flow = flow;
    connector->streams = streams;
    connector->epoll_fd = -1;
    if (!find_receivers(flow, &connector->to, error) ||
        (flow->bind[0] != 0 &&
         !pl_transport_address(flow->transport, flow->bind, 0, "bind", &connector->from, error)) ||
        !pl_raise_descriptor_limit(pl_flow_descriptors(flow, flow->streams) + 64, error))
        goto failed;
    connector->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (connector->epoll_fd >= 0)
        return connector;
    pl_error_set(error, PL_RESOURCES, "connect", errno, "no descriptor for the event loop");
failed:
    pl_connector_close(connector);
    return NULL;
}

void pl_connector_close(struct pl_connector *connector)
{
    if (connector == NULL)
        return;
    pl_close(connector->epoll_fd);
    free(connector->pending);
    free(connector);
}

int pl_connector_fd(const struct pl_connector *connector)
{
    return connector->epoll_fd;
}

uint32_t pl_connector_admitted(const struct pl_connector *connector)
{
    return connector->admitted;
}

static bool fail_connect(const struct pl_connector *connector, uint32_t stream, int cause,
                         struct pl_error *error)
{
    char text[PL_ADDRESS_TEXT_BYTES];
    const struct pl_address *target = find_target(connector, stream);
    pl_address_text(target, text);
    if (pl_address_port(target) < 0)
        return pl_error_set(error, PL_SETUP, "connect", cause, "cannot connect to %s", text);
    return pl_error_set(error, PL_SETUP, "connect", cause, "cannot connect to %s port %lld", text,
                        (long long)pl_address_port(target));
}

static bool bind_stream(const struct pl_connector *connector, int fd, struct pl_error *error)
{
    if (connector->flow->bind[0] == 0)
        return true;
    /* The kernel chooses the port at connect, so it needs to be free for this peer only. */
    (void)pl_set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); /* IP sockets only */
    if (pl_address_bind(fd, &connector->from) == 0)
        return true;
    return pl_error_set(error, PL_SETUP, "bind", errno, "cannot send from --bind %.64s",
                        connector->flow->bind);
}

static bool start_connection(struct pl_connector *connector, struct pl_error *error)
{
    const struct pl_flow *flow = connector->flow;
    struct pl_stream *stream = &connector->streams[connector->started];
    struct epoll_event event = {.events = EPOLLOUT, .data.u32 = connector->started};
    const struct pl_address *target = find_target(connector, connector->started);
    stream->fd = pl_open_stream_socket(pl_address_family(target), flow, error);
    if (stream->fd < 0 || !bind_stream(connector, stream->fd, error))
        return false;
    if (pl_address_connect(stream->fd, target) != 0 && errno != EINPROGRESS)
        return fail_connect(connector, connector->started, errno, error);
    if (epoll_ctl(connector->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) != 0)
        return pl_error_set(error, PL_RESOURCES, "connect", errno, "cannot watch stream %u",
                            connector->started);
    connector->started++;
    return true;
}

/* connect() to a free ephemeral port of the own host can connect a socket to itself. The echoed hello would
 * then pass for an answer: same magic, version, status 0 and stream. */
static bool is_self_connected(int fd)
{
    struct pl_address own;
    struct pl_address peer;
    return pl_address_of_socket(fd, &own) && pl_address_of_peer(fd, &peer) && pl_address_equal(&own, &peer);
}

static bool send_hello(struct pl_connector *connector, uint32_t index, struct pl_error *error)
{
    int fd = connector->streams[index].fd;
    int cause = pl_take_socket_error(fd);
    if (cause != 0)
        return fail_connect(connector, index, cause, error);
    if (is_self_connected(fd))
        return fail_connect(connector, index, ECONNREFUSED, error);
    if (!pl_datagram_flow_fit(connector->flow, fd, error))
        return false;
    const struct pl_flow *flow = connector->flow;
    struct pl_hello hello = {.version = PL_PROTOCOL,
                             .flags = pl_flow_direction(flow),
                             .stream = index / connector->to.count,
                             .streams = (uint32_t)flow->streams / connector->to.count,
                             .warmup_ns = flow->warmup_ns,
                             .duration_ns = flow->duration_ns,
                             .bytes = flow->bytes};
    pl_message_flow_state(flow, &hello);
    pl_datagram_flow_state(flow, &hello);
    memcpy(hello.token, connector->flow->token, sizeof hello.token);
    uint8_t bytes[PL_HELLO_BYTES];
    pl_hello_encode(&hello, bytes);
    cause = pl_message_send(fd, bytes, sizeof bytes, true);
    if (cause != 0)
        return fail_connect(connector, index, cause, error);
    connector->pending[index].connected = true;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
    (void)epoll_ctl(connector->epoll_fd, EPOLL_CTL_MOD, fd, &event);
    return true;
}

static void describe_busy(const uint8_t bytes[PL_BUSY_BYTES], struct pl_error *error)
{
    struct pl_busy busy;
    char address[INET6_ADDRSTRLEN] = "", missing[32] = "", time[PL_QUANTITY_BYTES];
    pl_busy_decode(bytes, &busy);
    const struct in6_addr *v6 = (const struct in6_addr *)(const void *)busy.address;
    if (IN6_IS_ADDR_V4MAPPED(v6))
        (void)inet_ntop(AF_INET, busy.address + 12, address, sizeof address);
    else if (!IN6_IS_ADDR_UNSPECIFIED(v6))
        (void)inet_ntop(AF_INET6, busy.address, address, sizeof address);
    if (busy.admitted < busy.streams)
        (void)snprintf(missing, sizeof missing, ", %u of them connected", busy.admitted);
    pl_format_exact_quantity((int64_t)busy.seconds * PL_NS_PER_S, PL_UNIT_NS, time);
    if (busy.seconds == 0)
        (void)snprintf(time, sizeof time, "less than 1s");
    pl_error_set(
        error, PL_PEER, "handshake", 0,
        "the receiver is busy with another flow of %u stream%s%s%s%s, for %s: try again when it is over",
        busy.streams, busy.streams == 1 ? "" : "s", address[0] != 0 ? " from " : "", address, missing, time);
}

static bool check_answer(struct pl_connector *connector, uint32_t index, struct pl_error *error)
{
    struct pl_answer answer;
    if (!pl_answer_decode(connector->pending[index].bytes, &answer))
        pl_error_set(error, PL_PEER, "handshake", 0, "the peer is not a pathlab-engine receiver");
    else if (answer.version != PL_PROTOCOL || answer.status == PL_ANSWER_WRONG_VERSION)
        pl_error_set(error, PL_PEER, "handshake", 0, "the receiver uses protocol %u, this sender %u",
                     answer.version, PL_PROTOCOL);
    else if (answer.status == PL_ANSWER_BUSY)
        describe_busy(connector->pending[index].bytes + PL_ANSWER_BYTES, error);
    else if (answer.status != PL_ANSWER_ADMITTED || answer.stream != index / connector->to.count)
        pl_error_set(error, PL_PEER, "handshake", 0, "the receiver answered status %u for stream %u",
                     answer.status, answer.stream);
    else {
        (void)epoll_ctl(connector->epoll_fd, EPOLL_CTL_DEL, connector->streams[index].fd, NULL);
        connector->admitted++;
        return true;
    }
    return false;
}

/* The length of an answer, as far as its first bytes tell. */
static size_t find_answer_bytes(const struct pending_answer *pending_answer)
{
    struct pl_answer answer;
    bool busy = pending_answer->received >= PL_ANSWER_BYTES &&
                pl_answer_decode(pending_answer->bytes, &answer) && answer.version == PL_PROTOCOL &&
                answer.status == PL_ANSWER_BUSY;
    return PL_ANSWER_BYTES + (busy ? PL_BUSY_BYTES : 0);
}

static bool read_answer(struct pl_connector *connector, uint32_t index, struct pl_error *error)
{
    struct pending_answer *pending_answer = &connector->pending[index];
    ssize_t count = recv(connector->streams[index].fd, pending_answer->bytes + pending_answer->received,
                         find_answer_bytes(pending_answer) - pending_answer->received, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (count <= 0)
        return pl_error_set(error, PL_PEER, "handshake", count < 0 ? errno : 0,
                            "the receiver rejected stream %u: another token, number of streams or direction",
                            index);
    pending_answer->received += (uint32_t)count;
    return pending_answer->received < find_answer_bytes(pending_answer) ||
           check_answer(connector, index, error);
}

bool pl_connector_serve(struct pl_connector *connector, struct pl_error *error)
{
    struct epoll_event events[64];
    int count = epoll_wait(connector->epoll_fd, events, (int)(sizeof events / sizeof events[0]), 0);
    for (int i = 0; i < count; i++) {
        uint32_t index = events[i].data.u32;
        if (!(connector->pending[index].connected ? read_answer(connector, index, error)
                                                  : send_hello(connector, index, error)))
            return false;
    }
    while ((int64_t)connector->started < connector->flow->streams &&
           connector->started - connector->admitted < PENDING_MAX)
        if (!start_connection(connector, error))
            return false;
    return true;
}
