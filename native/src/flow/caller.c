#include "flow/caller.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/limits.h"
#include "base/message.h"
#include "base/program.h"
#include "base/wire.h"
#include "flow/sockopts.h"

/* Connections begun and not yet answered at a time: enough for a long path, bearable for a small backlog. */
#define CALLS_AT_ONCE 1024

/* One stream on its way: the answer collected so far. */
struct call {
    bool connected;
    uint32_t got;
    uint8_t bytes[PL_ANSWER_BYTES];
};

struct pl_caller {
    const struct pl_flow *flow;
    struct pl_stream *streams;
    struct call *calls;
    struct pl_address to;
    struct pl_address from;
    int epoll_fd;
    uint32_t begun;
    uint32_t admitted;
};

struct pl_caller *pl_caller_open(const struct pl_flow *flow, struct pl_stream *streams,
                                 struct pl_error *error)
{
    struct pl_caller *caller = calloc(1, sizeof *caller);
    if (caller != NULL)
        caller->calls = calloc((size_t)flow->streams, sizeof *caller->calls);
    if (caller == NULL || caller->calls == NULL) {
        pl_error_set(error, PL_RESOURCES, "connect", ENOMEM, "no memory for the connections");
        free(caller);
        return NULL;
    }
    caller->flow = flow;
    caller->streams = streams;
    caller->epoll_fd = -1;
    if (!pl_transport_address(flow->transport, flow->address, (uint16_t)flow->port, "address", &caller->to,
                              error) ||
        (flow->bind[0] != 0 &&
         !pl_transport_address(flow->transport, flow->bind, 0, "bind", &caller->from, error)) ||
        !pl_raise_descriptor_limit((uint64_t)(flow->streams + 7 * flow->workers) + 64, error))
        goto failed;
    caller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (caller->epoll_fd >= 0)
        return caller;
    pl_error_set(error, PL_RESOURCES, "connect", errno, "no descriptor for the event loop");
failed:
    pl_caller_close(caller);
    return NULL;
}

void pl_caller_close(struct pl_caller *caller)
{
    if (caller == NULL)
        return;
    if (caller->epoll_fd >= 0)
        (void)close(caller->epoll_fd);
    free(caller->calls);
    free(caller);
}

int pl_caller_fd(const struct pl_caller *caller)
{
    return caller->epoll_fd;
}

uint32_t pl_caller_admitted(const struct pl_caller *caller)
{
    return caller->admitted;
}

static bool refuse(const struct pl_caller *caller, int cause, struct pl_error *error)
{
    char text[PL_ADDRESS_TEXT_BYTES];
    pl_address_text(&caller->to, text);
    if (pl_address_port(&caller->to) < 0)
        pl_error_set(error, PL_SETUP, "connect", cause, "cannot connect to %s", text);
    else
        pl_error_set(error, PL_SETUP, "connect", cause, "cannot connect to %s port %lld", text,
                     (long long)pl_address_port(&caller->to));
    return false;
}

static bool bind_stream(const struct pl_caller *caller, int fd, struct pl_error *error)
{
    if (caller->flow->bind[0] == 0)
        return true;
    /* The port is chosen at connect: so it need be free for this peer only. */
    const int one = 1;
    (void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one); /* of IP alone */
    if (bind(fd, (const struct sockaddr *)&caller->from.storage, caller->from.length) == 0)
        return true;
    pl_error_set(error, PL_SETUP, "bind", errno, "cannot send from --bind %.64s", caller->flow->bind);
    return false;
}

static bool begin_call(struct pl_caller *caller, struct pl_error *error)
{
    const struct pl_flow *flow = caller->flow;
    struct pl_stream *stream = &caller->streams[caller->begun];
    struct epoll_event event = {.events = EPOLLOUT, .data.u32 = caller->begun};
    stream->fd = pl_open_stream_socket(pl_address_family(&caller->to), flow, error);
    if (stream->fd < 0 || !bind_stream(caller, stream->fd, error))
        return false;
    if (connect(stream->fd, (const struct sockaddr *)&caller->to.storage, caller->to.length) != 0 &&
        errno != EINPROGRESS)
        return refuse(caller, errno, error);
    if (epoll_ctl(caller->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) != 0) {
        pl_error_set(error, PL_RESOURCES, "connect", errno, "cannot watch stream %u", caller->begun);
        return false;
    }
    caller->begun++;
    return true;
}

/* A connect() to a free ephemeral port of the own host can meet itself, and the echo of our hello would read
 * like an answer: same magic, version, status 0 and stream. */
static bool meets_itself(int fd)
{
    struct pl_address own;
    struct pl_address peer;
    return pl_address_of_socket(fd, &own) && pl_address_of_peer(fd, &peer) && pl_address_equal(&own, &peer);
}

static bool say_hello(struct pl_caller *caller, uint32_t index, struct pl_error *error)
{
    int fd = caller->streams[index].fd;
    int cause = 0;
    socklen_t length = sizeof cause;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &length) != 0 || cause != 0)
        return refuse(caller, cause != 0 ? cause : errno, error);
    if (meets_itself(fd))
        return refuse(caller, ECONNREFUSED, error);
    const struct pl_flow *flow = caller->flow;
    struct pl_hello hello = {.version = PL_PROTOCOL,
                             .flags = pl_flow_direction(flow),
                             .stream = index,
                             .streams = (uint32_t)flow->streams,
                             .warmup_ns = flow->warmup_ns,
                             .duration_ns = flow->duration_ns,
                             .bytes = flow->bytes};
    memcpy(hello.token, caller->flow->token, sizeof hello.token);
    uint8_t bytes[PL_HELLO_BYTES];
    pl_hello_encode(&hello, bytes);
    cause = pl_message_send(fd, bytes, sizeof bytes, true);
    if (cause != 0)
        return refuse(caller, cause, error);
    caller->calls[index].connected = true;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
    (void)epoll_ctl(caller->epoll_fd, EPOLL_CTL_MOD, fd, &event);
    return true;
}

static bool judge_answer(struct pl_caller *caller, uint32_t index, struct pl_error *error)
{
    struct pl_answer answer;
    if (!pl_answer_decode(caller->calls[index].bytes, &answer))
        pl_error_set(error, PL_PEER, "handshake", 0, "the peer is no pathlab-engine receiver");
    else if (answer.version != PL_PROTOCOL || answer.status == PL_ANSWER_WRONG_VERSION)
        pl_error_set(error, PL_PEER, "handshake", 0, "the receiver speaks protocol %u, this sender %u",
                     answer.version, PL_PROTOCOL);
    else if (answer.status != PL_ANSWER_ADMITTED || answer.stream != index)
        pl_error_set(error, PL_PEER, "handshake", 0, "the receiver answered status %u for stream %u",
                     answer.status, answer.stream);
    else {
        (void)epoll_ctl(caller->epoll_fd, EPOLL_CTL_DEL, caller->streams[index].fd, NULL);
        caller->admitted++;
        return true;
    }
    return false;
}

static bool hear_answer(struct pl_caller *caller, uint32_t index, struct pl_error *error)
{
    struct call *call = &caller->calls[index];
    ssize_t count =
        recv(caller->streams[index].fd, call->bytes + call->got, sizeof call->bytes - call->got, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (count <= 0) {
        pl_error_set(error, PL_PEER, "handshake", count < 0 ? errno : 0,
                     "the receiver turned stream %u away: another token, number of streams or direction",
                     index);
        return false;
    }
    call->got += (uint32_t)count;
    return call->got < sizeof call->bytes || judge_answer(caller, index, error);
}

bool pl_caller_serve(struct pl_caller *caller, struct pl_error *error)
{
    struct epoll_event events[64];
    int count = epoll_wait(caller->epoll_fd, events, (int)(sizeof events / sizeof events[0]), 0);
    for (int i = 0; i < count; i++) {
        uint32_t index = events[i].data.u32;
        if (!(caller->calls[index].connected ? hear_answer(caller, index, error)
                                             : say_hello(caller, index, error)))
            return false;
    }
    while ((int64_t)caller->begun < caller->flow->streams && caller->begun - caller->admitted < CALLS_AT_ONCE)
        if (!begin_call(caller, error))
            return false;
    return true;
}
