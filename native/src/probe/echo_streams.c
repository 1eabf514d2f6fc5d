#include "probe/echo_streams.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/keep_alive.h"
#include "base/stamp.h"
#include "probe/echo_wire.h"

#define HANDSHAKE_TIMEOUT_NS (2 * PL_NS_PER_S)
#define LISTENER UINT32_MAX
#define READS_PER_TURN 64

struct connection {
    int fd; /* -1: free */
    bool admitted;
    uint32_t expected; /* bytes of the response, then of a message */
    uint32_t received;
    pl_ns deadline_ns;   /* of the handshake */
    pl_ns first_byte_ns; /* when the first byte of the present message was read */
    uint8_t nonce[PL_ECHO_NONCE_BYTES];
    uint8_t *bytes; /* PL_PROBE_MESSAGE_MAX, allocated at the first connection */
};

struct pl_echo_streams {
    int listen_fd;
    int epoll_fd;
    uint8_t token[PL_TOKEN_BYTES];
    struct pl_echo_counts counts;
    struct connection connections[PL_ECHO_STREAMS];
};

struct pl_echo_streams *pl_echo_streams_open(int listen_fd, const uint8_t token[PL_TOKEN_BYTES],
                                             struct pl_error *error)
{
    struct pl_echo_streams *streams = calloc(1, sizeof *streams);
    if (streams == NULL) {
        pl_error_set(error, PL_RESOURCES, "listen", ENOMEM, "no memory for the echo's connections");
        (void)close(listen_fd);
        return NULL;
    }
    for (uint32_t i = 0; i < PL_ECHO_STREAMS; i++)
        streams->connections[i].fd = -1;
    streams->listen_fd = listen_fd;
    memcpy(streams->token, token, sizeof streams->token);
    streams->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = LISTENER};
    if (streams->epoll_fd >= 0 && epoll_ctl(streams->epoll_fd, EPOLL_CTL_ADD, listen_fd, &event) == 0)
        return streams;
    pl_error_set(error, PL_RESOURCES, "listen", errno, "no descriptor for the echo's connections");
    pl_echo_streams_close(streams);
    return NULL;
}

static void drop(struct connection *connection)
{
    (void)close(connection->fd); /* leaves the epoll set by itself */
    connection->fd = -1;
}

static void refuse(struct pl_echo_streams *streams, struct connection *connection)
{
    drop(connection);
    streams->counts.refused++;
}

void pl_echo_streams_close(struct pl_echo_streams *streams)
{
    if (streams == NULL)
        return;
    for (uint32_t i = 0; i < PL_ECHO_STREAMS; i++) {
        if (streams->connections[i].fd >= 0)
            drop(&streams->connections[i]);
        free(streams->connections[i].bytes);
    }
    pl_close(streams->epoll_fd);
    (void)close(streams->listen_fd);
    free(streams);
}

int pl_echo_streams_fd(const struct pl_echo_streams *streams)
{
    return streams->epoll_fd;
}

const struct pl_echo_counts *pl_echo_streams_counts(const struct pl_echo_streams *streams)
{
    return &streams->counts;
}

uint32_t pl_echo_streams_admitted(const struct pl_echo_streams *streams)
{
    uint32_t admitted = 0;
    for (uint32_t i = 0; i < PL_ECHO_STREAMS; i++)
        admitted += streams->connections[i].fd >= 0 && streams->connections[i].admitted;
    return admitted;
}

static bool is_pending(const struct connection *connection)
{
    return connection->fd >= 0 && !connection->admitted;
}

pl_ns pl_echo_streams_deadline_ns(const struct pl_echo_streams *streams)
{
    pl_ns earliest_ns = INT64_MAX;
    for (uint32_t i = 0; i < PL_ECHO_STREAMS; i++)
        if (is_pending(&streams->connections[i]) && streams->connections[i].deadline_ns < earliest_ns)
            earliest_ns = streams->connections[i].deadline_ns;
    return earliest_ns;
}

/* A free slot, else the slot of the oldest pending handshake, which is closed; NULL when admitted connections
 * hold all. */
static struct connection *find_slot(struct pl_echo_streams *streams)
{
    struct connection *oldest = NULL;
    for (uint32_t i = 0; i < PL_ECHO_STREAMS; i++) {
        struct connection *connection = &streams->connections[i];
        if (connection->fd < 0)
            return connection;
        if (is_pending(connection) && (oldest == NULL || connection->deadline_ns < oldest->deadline_ns))
            oldest = connection;
    }
    if (oldest != NULL)
        refuse(streams, oldest);
    return oldest;
}

static void prepare_socket(int fd)
{
    (void)pl_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    (void)pl_set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    pl_keep_alive(fd);
}

/* Every connection has its own nonce, so that no response can be replayed. */
static bool send_challenge(struct connection *connection)
{
    uint8_t bytes[PL_ECHO_CHALLENGE_BYTES];
    if (getrandom(connection->nonce, sizeof connection->nonce, 0) != (ssize_t)sizeof connection->nonce)
        return false;
    pl_echo_challenge_encode(connection->nonce, bytes);
    return send(connection->fd, bytes, sizeof bytes, MSG_NOSIGNAL) == (ssize_t)sizeof bytes;
}

static void add_connection(struct pl_echo_streams *streams, int fd)
{
    struct connection *connection = find_slot(streams);
    if (connection != NULL && connection->bytes == NULL)
        connection->bytes = malloc(PL_PROBE_MESSAGE_MAX);
    if (connection == NULL || connection->bytes == NULL) {
        (void)close(fd);
        streams->counts.refused++;
        return;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)(connection - streams->connections)};
    prepare_socket(fd);
    connection->fd = fd;
    connection->admitted = false;
    connection->expected = PL_ECHO_RESPONSE_BYTES;
    connection->received = 0;
    connection->deadline_ns = pl_now_ns() + HANDSHAKE_TIMEOUT_NS;
    if (!send_challenge(connection) || epoll_ctl(streams->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        refuse(streams, connection);
}

/* Handles a complete response or probe. False when the connection was closed. */
static bool handle_message(struct pl_echo_streams *streams, struct connection *connection, pl_ns stamp_ns)
{
    struct pl_probe_head head;
    enum pl_probe_verdict verdict = connection->admitted
                                        ? pl_probe_decode(connection->bytes, connection->expected,
                                                          PL_PROBE_REQUEST, streams->token, &head)
                                        : pl_echo_response_decode(connection->bytes, streams->token,
                                                                  connection->nonce, &connection->expected);
    connection->received = 0;
    if (verdict != PL_PROBE_ADMITTED) {
        streams->counts.other_version += verdict == PL_PROBE_OTHER_VERSION;
        refuse(streams, connection);
        return false;
    }
    if (!connection->admitted) {
        connection->admitted = true;
        return true;
    }
    pl_probe_make_reply(&head, stamp_ns, connection->first_byte_ns, connection->expected, streams->token,
                        connection->bytes);
    /* Closes a connection that does not read its replies: a partial reply would break the message boundaries.
     */
    if (send(connection->fd, connection->bytes, connection->expected, MSG_NOSIGNAL) !=
        (ssize_t)connection->expected) {
        drop(connection);
        return false;
    }
    streams->counts.echoed++;
    return true;
}

static void read_connection(struct pl_echo_streams *streams, struct connection *connection)
{
    _Alignas(struct cmsghdr) uint8_t ancillary[128];
    for (int i = 0; i < READS_PER_TURN; i++) {
        struct iovec data = {.iov_base = connection->bytes + connection->received,
                             .iov_len = connection->expected - connection->received};
        struct msghdr message = {
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = ancillary, .msg_controllen = sizeof ancillary};
        ssize_t count = recvmsg(connection->fd, &message, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (count <= 0) {
            if (connection->admitted)
                drop(connection);
            else
                refuse(streams, connection);
            return;
        }
        if (connection->received == 0)
            connection->first_byte_ns = pl_now_ns();
        connection->received += (uint32_t)count;
        if (connection->received == connection->expected &&
            !handle_message(streams, connection, pl_stamp_read(&message)))
            return;
    }
}

void pl_echo_streams_serve(struct pl_echo_streams *streams)
{
    struct epoll_event events[PL_ECHO_STREAMS + 1];
    int count = epoll_wait(streams->epoll_fd, events, PL_ECHO_STREAMS + 1, 0);
    bool incoming = false;
    for (int i = 0; i < count; i++)
        if (events[i].data.u32 == LISTENER)
            incoming = true;
        else if (streams->connections[events[i].data.u32].fd >= 0)
            read_connection(streams, &streams->connections[events[i].data.u32]);
    /* Accept last: a new connection may reuse the slot of one that is in `events`. */
    for (int i = 0; incoming && i < PL_ECHO_STREAMS; i++) {
        int fd = accept4(streams->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            break;
        add_connection(streams, fd);
    }
    pl_ns now_ns = pl_now_ns();
    for (uint32_t i = 0; i < PL_ECHO_STREAMS; i++)
        if (is_pending(&streams->connections[i]) && streams->connections[i].deadline_ns <= now_ns)
            refuse(streams, &streams->connections[i]);
}
