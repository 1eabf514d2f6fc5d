#include "flow/acceptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/events.h"
#include "base/keep_alive.h"
#include "base/message.h"
#include "base/program.h"
#include "base/token.h"
#include "flow/flow_settings.h"
#include "flow/hello.h"

#define NONE UINT32_MAX
#define ACCEPTS_PER_TURN 64
#define STREAM_AT 8 /* of the stream's number in a hello */

/* A pending handshake: a connection whose hello is incomplete. All have the same time-out, so the list by age
 * is the list by deadline, and its head is the oldest. An unused entry has fd -1 and is linked by `next`
 * alone. */
struct handshake {
    int fd;
    uint32_t previous;
    uint32_t next;
    uint32_t received;
    pl_ns deadline_ns;
    uint8_t bytes[PL_HELLO_BYTES];
};

struct pl_acceptor {
    struct pl_flow *flow;
    struct pl_flow requested; /* as before the first hello */
    struct pl_stream *streams;
    struct pl_listeners listeners;
    int epoll_fd;
    uint32_t admitted;
    pl_ns first_ns, latest_ns; /* when the first and the latest stream was admitted; 0: none yet */
    uint8_t sender[PL_BUSY_ADDRESS_BYTES];
    uint8_t hello[PL_HELLO_BYTES]; /* the first one, of which the others differ by the stream alone */
    uint64_t rejected;
    struct handshake *handshakes;
    uint32_t pending;
    uint32_t oldest, newest, unused;
};

/* Streams that are still missing; the largest number while no hello has stated one. */
static uint32_t expected(const struct pl_acceptor *acceptor)
{
    uint32_t streams = acceptor->flow->streams > 0 ? (uint32_t)acceptor->flow->streams : PL_MAX_STREAMS;
    return streams - acceptor->admitted;
}

struct pl_acceptor *pl_acceptor_open(const struct pl_listeners *listeners, struct pl_flow *flow,
                                     struct pl_stream *streams, struct pl_error *error)
{
    struct pl_acceptor *acceptor = calloc(1, sizeof *acceptor);
    uint32_t capacity = (flow->streams > 0 ? (uint32_t)flow->streams : PL_MAX_STREAMS) + PL_HANDSHAKE_SPARE;
    if (acceptor != NULL)
        acceptor->handshakes = calloc(capacity, sizeof *acceptor->handshakes);
    if (acceptor == NULL || acceptor->handshakes == NULL) {
        pl_error_set(error, PL_RESOURCES, "listen", ENOMEM, "no memory for the expected connections");
        free(acceptor);
        return NULL;
    }
    acceptor->flow = flow;
    acceptor->requested = *flow;
    acceptor->streams = streams;
    acceptor->listeners = *listeners;
    acceptor->oldest = acceptor->newest = NONE;
    for (uint32_t i = 0; i < capacity; i++)
        acceptor->handshakes[i] = (struct handshake){.fd = -1, .next = i + 1 < capacity ? i + 1 : NONE};
    acceptor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = NONE};
    bool added = acceptor->epoll_fd >= 0;
    for (size_t i = 0; added && i < listeners->count; i++)
        added = epoll_ctl(acceptor->epoll_fd, EPOLL_CTL_ADD, listeners->fds[i], &event) == 0;
    if (!added) {
        pl_error_set(error, PL_RESOURCES, "listen", errno, "no descriptor for the event loop");
        pl_acceptor_close(acceptor);
        return NULL;
    }
    return acceptor;
}

/* Removes an entry from the list; the caller owns its descriptor. */
static int remove_handshake(struct pl_acceptor *acceptor, uint32_t index)
{
    struct handshake *handshake = &acceptor->handshakes[index];
    int fd = handshake->fd;
    (void)epoll_ctl(acceptor->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    if (handshake->previous != NONE)
        acceptor->handshakes[handshake->previous].next = handshake->next;
    else
        acceptor->oldest = handshake->next;
    if (handshake->next != NONE)
        acceptor->handshakes[handshake->next].previous = handshake->previous;
    else
        acceptor->newest = handshake->previous;
    *handshake = (struct handshake){.fd = -1, .next = acceptor->unused};
    acceptor->unused = index;
    acceptor->pending--;
    return fd;
}

static void reject(struct pl_acceptor *acceptor, uint32_t index)
{
    (void)close(remove_handshake(acceptor, index));
    acceptor->rejected++;
}

void pl_acceptor_close(struct pl_acceptor *acceptor)
{
    if (acceptor == NULL)
        return;
    while (acceptor->oldest != NONE)
        (void)close(remove_handshake(acceptor, acceptor->oldest));
    pl_close(acceptor->epoll_fd);
    free(acceptor->handshakes);
    free(acceptor);
}

int pl_acceptor_fd(const struct pl_acceptor *acceptor)
{
    return acceptor->epoll_fd;
}

struct pl_acceptor_state pl_acceptor_state(const struct pl_acceptor *acceptor)
{
    return (struct pl_acceptor_state){
        .admitted = acceptor->admitted,
        .complete = acceptor->flow->streams > 0 && (int64_t)acceptor->admitted == acceptor->flow->streams,
        .latest_ns = acceptor->latest_ns,
        .pending = acceptor->pending,
        .deadline_ns =
            acceptor->oldest != NONE ? acceptor->handshakes[acceptor->oldest].deadline_ns : PL_NEVER,
        .rejected = acceptor->rejected,
    };
}

static bool send_answer(int fd, enum pl_answer_status status, uint32_t stream)
{
    uint8_t bytes[PL_ANSWER_BYTES];
    pl_answer_encode(
        &(struct pl_answer){.version = PL_PROTOCOL, .status = (uint16_t)status, .stream = stream}, bytes);
    return pl_message_send(fd, bytes, sizeof bytes, true) == 0;
}

/* Rejects a peer that got an answer: closing with unread bytes would reset the connection and take the answer
 * with it. */
static void reject_answered(struct pl_acceptor *acceptor, uint32_t index)
{
    int fd = acceptor->handshakes[index].fd;
    uint8_t scratch[512];
    (void)shutdown(fd, SHUT_WR);
    (void)!recv(fd, scratch, sizeof scratch, 0);
    reject(acceptor, index);
}

static void refuse_version(struct pl_acceptor *acceptor, uint32_t index)
{
    (void)send_answer(acceptor->handshakes[index].fd, PL_ANSWER_WRONG_VERSION, 0);
    reject_answered(acceptor, index);
}

static void read_sender(int fd, uint8_t sender[PL_BUSY_ADDRESS_BYTES])
{
    static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct pl_address address;
    memset(sender, 0, PL_BUSY_ADDRESS_BYTES);
    if (!pl_address_of_peer(fd, &address))
        return;
    if (pl_address_family(&address) == AF_INET6) {
        memcpy(sender, &((const struct sockaddr_in6 *)&address.storage)->sin6_addr, PL_BUSY_ADDRESS_BYTES);
    } else if (pl_address_family(&address) == AF_INET) {
        memcpy(sender, mapped, sizeof mapped);
        memcpy(sender + sizeof mapped, &((const struct sockaddr_in *)&address.storage)->sin_addr, 4);
    }
}

static void refuse_busy(struct pl_acceptor *acceptor, uint32_t index, uint32_t stream)
{
    uint8_t bytes[PL_ANSWER_BYTES + PL_BUSY_BYTES];
    struct pl_answer answer = {.version = PL_PROTOCOL, .status = PL_ANSWER_BUSY, .stream = stream};
    struct pl_busy busy = {.seconds = (uint32_t)((pl_now_ns() - acceptor->first_ns) / PL_NS_PER_S),
                           .admitted = acceptor->admitted,
                           .streams = (uint32_t)acceptor->flow->streams};
    memcpy(busy.address, acceptor->sender, sizeof busy.address);
    pl_answer_encode(&answer, bytes);
    pl_busy_encode(&busy, bytes + PL_ANSWER_BYTES);
    (void)pl_message_send(acceptor->handshakes[index].fd, bytes, sizeof bytes, true);
    reject_answered(acceptor, index);
}

/* Whether a hello with the right token begins another flow, which this receiver would serve if it were not
 * busy. Without tokens, the streams of two senders would pass for those of one. */
static bool is_of_another_flow(const struct pl_acceptor *acceptor, const struct handshake *handshake,
                               const struct pl_hello *hello)
{
    struct pl_flow fresh = acceptor->requested;
    uint8_t sender[PL_BUSY_ADDRESS_BYTES];
    if (acceptor->admitted == 0 || !pl_flow_adopt(&fresh, hello))
        return false;
    read_sender(handshake->fd, sender);
    return (fresh.open && memcmp(sender, acceptor->sender, sizeof sender) != 0) ||
           memcmp(handshake->bytes, acceptor->hello, STREAM_AT) != 0 ||
           memcmp(handshake->bytes + STREAM_AT + 4, acceptor->hello + STREAM_AT + 4,
                  PL_HELLO_BYTES - STREAM_AT - 4) != 0 ||
           acceptor->streams[hello->stream].fd >= 0;
}

static void check_hello(struct pl_acceptor *acceptor, uint32_t index)
{
    struct handshake *handshake = &acceptor->handshakes[index];
    struct pl_hello hello;
    bool known = pl_hello_decode(handshake->bytes, &hello);
    /* The token is always compared, so that the time taken reveals nothing about the other fields. */
    known = pl_token_equal(hello.token, acceptor->flow->token) && known;
    if (known && is_of_another_flow(acceptor, handshake, &hello)) {
        refuse_busy(acceptor, index, hello.stream);
        return;
    }
    if (!known || !pl_flow_adopt(acceptor->flow, &hello) || acceptor->streams[hello.stream].fd >= 0 ||
        !send_answer(handshake->fd, PL_ANSWER_ADMITTED, hello.stream)) {
        reject(acceptor, index);
        return;
    }
    acceptor->latest_ns = pl_now_ns();
    if (acceptor->admitted == 0) {
        acceptor->first_ns = acceptor->latest_ns;
        read_sender(handshake->fd, acceptor->sender);
        memcpy(acceptor->hello, handshake->bytes, sizeof acceptor->hello);
    }
    acceptor->streams[hello.stream].fd = remove_handshake(acceptor, index);
    acceptor->admitted++;
}

static void read_hello(struct pl_acceptor *acceptor, uint32_t index)
{
    struct handshake *handshake = &acceptor->handshakes[index];
    ssize_t count = recv(handshake->fd, handshake->bytes + handshake->received,
                         sizeof handshake->bytes - handshake->received, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        reject(acceptor, index);
        return;
    }
    handshake->received += (uint32_t)count;
    uint16_t version = PL_PROTOCOL;
    if (handshake->received >= PL_HELLO_COMMON_BYTES && !pl_hello_peek(handshake->bytes, &version))
        reject(acceptor, index);
    else if (version != PL_PROTOCOL)
        refuse_version(acceptor, index);
    else if (handshake->received == sizeof handshake->bytes)
        check_hello(acceptor, index);
}

static void add_handshake(struct pl_acceptor *acceptor, int fd)
{
    /* The missing streams and 64 more; 64 once the flow is complete. */
    if (acceptor->pending >= expected(acceptor) + PL_HANDSHAKE_SPARE)
        reject(acceptor, acceptor->oldest);
    uint32_t index = acceptor->unused;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
    if (epoll_ctl(acceptor->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        (void)close(fd);
        acceptor->rejected++;
        return;
    }
    struct handshake *handshake = &acceptor->handshakes[index];
    acceptor->unused = handshake->next;
    pl_keep_alive(fd);
    *handshake = (struct handshake){.fd = fd,
                                    .previous = acceptor->newest,
                                    .next = NONE,
                                    .deadline_ns = pl_now_ns() + PL_HANDSHAKE_TIMEOUT_NS};
    if (acceptor->newest != NONE)
        acceptor->handshakes[acceptor->newest].next = index;
    else
        acceptor->oldest = index;
    acceptor->newest = index;
    acceptor->pending++;
}

static bool accept_connections(struct pl_acceptor *acceptor, int listen_fd, struct pl_error *error)
{
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            add_handshake(acceptor, fd);
            continue;
        }
        bool full = pl_errno_is_exhaustion(errno);
        if (full && acceptor->oldest == NONE)
            return pl_error_set(error, PL_RESOURCES, "accept", errno, "cannot accept a connection");
        if (full)
            reject(acceptor, acceptor->oldest);
        /* Every other errno concerns a single connection that ended before it was accepted. */
        if (errno == EAGAIN || full)
            return true;
    }
    return true;
}

bool pl_acceptor_serve(struct pl_acceptor *acceptor, struct pl_error *error)
{
    struct epoll_event events[64];
    int count = epoll_wait(acceptor->epoll_fd, events, (int)(sizeof events / sizeof events[0]), 0);
    bool incoming = false;
    for (int i = 0; i < count; i++) {
        uint32_t index = events[i].data.u32;
        if (index == NONE)
            incoming = true;
        else if (acceptor->handshakes[index].fd >= 0)
            read_hello(acceptor, index);
    }
    /* Accept last: a new entry may reuse the index of one that is in `events`. */
    for (size_t i = 0; incoming && i < acceptor->listeners.count; i++)
        if (!accept_connections(acceptor, acceptor->listeners.fds[i], error))
            return false;
    pl_ns now_ns = pl_now_ns();
    while (acceptor->oldest != NONE && acceptor->handshakes[acceptor->oldest].deadline_ns <= now_ns)
        reject(acceptor, acceptor->oldest);
    return true;
}
