#include "messages/channel_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/message.h"

#define SETUP_TIMEOUT_NS (5 * PL_NS_PER_S)
/* Two pipes have four ends, of which the peer gets two; two rings with two eventfds are four. */
#define HANDED_MAX 4

static bool fail(int cause, struct pl_error *error)
{
    pl_error_set(error, cause == 0 ? PL_PEER : PL_SETUP, "channel", cause,
                 "cannot share the channel of a stream with the peer");
    return false;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

/* Hands descriptors over a Unix stream, with a byte that states their number. 0, or an errno. */
static int hand_over(int stream_fd, const int *fds, size_t count)
{
    uint8_t number = (uint8_t)count;
    struct iovec part = {.iov_base = &number, .iov_len = 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(HANDED_MAX * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    int cause = pl_wait_ready(stream_fd, POLLOUT, pl_now_ns() + SETUP_TIMEOUT_NS);
    if (cause != 0)
        return cause;
    return sendmsg(stream_fd, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

/* The descriptors that came with a message, at most `room` of them; others are closed. */
static size_t read_rights(struct msghdr *message, int *fds, size_t room)
{
    size_t found = 0;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL; head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            if (found < room)
                fds[found++] = fd;
            else
                (void)close(fd);
        }
    }
    return found;
}

/* Receives exactly `count` descriptors; the caller owns them. False with `error` set. */
static bool take_over(int stream_fd, int *fds, size_t count, struct pl_error *error)
{
    uint8_t number = 0;
    struct iovec part = {.iov_base = &number, .iov_len = 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(HANDED_MAX * sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    int cause = pl_wait_ready(stream_fd, POLLIN, pl_now_ns() + SETUP_TIMEOUT_NS);
    if (cause != 0)
        return fail(cause, error);
    ssize_t bytes = recvmsg(stream_fd, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return fail(errno, error);
    size_t found = read_rights(&message, fds, HANDED_MAX);
    if (bytes == 1 && number == count && found == count && (message.msg_flags & MSG_CTRUNC) == 0)
        return true;
    close_all(fds, found);
    return fail(0, error);
}

/* Hands `theirs` over and closes this end's copies, except those that both ends keep. */
static bool give(struct pl_channel *channel, const int *theirs, size_t count, struct pl_error *error)
{
    int cause = hand_over(channel->stream_fd, theirs, count);
    return cause == 0 || fail(cause, error);
}

static bool share_pipes(struct pl_channel *channel, bool accepting, struct pl_error *error)
{
    int fds[HANDED_MAX] = {-1, -1, -1, -1}; /* to the peer: read, write; from the peer: read, write */
    if (!accepting) {
        if (!take_over(channel->stream_fd, fds, 2, error))
            return false;
        channel->read_fd = fds[0];
        channel->write_fd = fds[1];
        return true;
    }
    if (pipe2(fds, O_CLOEXEC) != 0 || pipe2(fds + 2, O_CLOEXEC) != 0) {
        pl_error_set(error, PL_RESOURCES, "channel", errno, "no pipes for a stream");
        close_all(fds, HANDED_MAX);
        return false;
    }
    channel->write_fd = fds[1];
    channel->read_fd = fds[2];
    const int theirs[] = {fds[0], fds[3]};
    bool given = give(channel, theirs, 2, error);
    close_all(theirs, 2);
    return given;
}

static bool share_datagrams(struct pl_channel *channel, bool accepting, struct pl_error *error)
{
    int fds[HANDED_MAX] = {-1, -1};
    if (!accepting) {
        if (!take_over(channel->stream_fd, fds, 1, error))
            return false;
        channel->read_fd = channel->write_fd = fds[0];
        return true;
    }
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) != 0) {
        pl_error_set(error, PL_RESOURCES, "channel", errno, "no sockets for a stream");
        return false;
    }
    channel->read_fd = channel->write_fd = fds[0];
    bool given = give(channel, fds + 1, 1, error);
    (void)close(fds[1]);
    return given;
}

/* Maps the two rings, of which the first goes to the accepting end. */
static bool map_rings(struct pl_channel *channel, const int *fds, const struct pl_channel_settings *settings,
                      struct pl_error *error)
{
    struct pl_ring *first = settings->accepting ? &channel->in : &channel->out;
    struct pl_ring *second = settings->accepting ? &channel->out : &channel->in;
    if (!pl_ring_map(first, fds[0], settings->queue_bytes, error) ||
        !pl_ring_map(second, fds[1], settings->queue_bytes, error))
        return false;
    channel->in.wait = channel->out.wait =
        settings->carrier == PL_CARRIER_EVENT ? PL_RING_EVENT : PL_RING_FUTEX;
    if (settings->carrier != PL_CARRIER_EVENT)
        return true;
    channel->event_fds[0] = settings->accepting ? fds[2] : fds[3];
    channel->event_fds[1] = settings->accepting ? fds[3] : fds[2];
    channel->in.event_fd = channel->event_fds[0];
    channel->out.event_fd = channel->event_fds[1];
    return true;
}

static bool share_rings(struct pl_channel *channel, const struct pl_channel_settings *settings,
                        struct pl_error *error)
{
    size_t count = settings->carrier == PL_CARRIER_EVENT ? 4 : 2;
    int fds[HANDED_MAX] = {-1, -1, -1, -1};
    bool shared = true;
    channel->read_fd = channel->write_fd = -1;
    if (settings->accepting) {
        for (size_t i = 0; shared && i < 2; i++)
            shared = (fds[i] = pl_ring_create(settings->queue_bytes, error)) >= 0;
        for (size_t i = 2; shared && i < count; i++)
            if ((fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
                pl_error_set(error, PL_RESOURCES, "channel", errno, "no eventfd for a stream");
                shared = false;
            }
        shared = shared && give(channel, fds, count, error);
    } else {
        shared = take_over(channel->stream_fd, fds, count, error);
    }
    shared = shared && map_rings(channel, fds, settings, error);
    close_all(fds, 2); /* the memory stays mapped */
    if (!shared && channel->event_fds[0] < 0)
        close_all(fds + 2, 2);
    return shared;
}

/* Receives the peer's two bytes. False with `error` set. */
static bool read_port(int stream_fd, uint16_t *port, struct pl_error *error)
{
    uint8_t bytes[2];
    for (size_t have = 0; have < sizeof bytes;) {
        int cause = pl_wait_ready(stream_fd, POLLIN, pl_now_ns() + SETUP_TIMEOUT_NS);
        ssize_t count = cause == 0 ? recv(stream_fd, bytes + have, sizeof bytes - have, 0) : -1;
        if (count <= 0)
            return fail(cause != 0 ? cause : count < 0 ? errno : 0, error);
        have += (size_t)count;
    }
    *port = (uint16_t)pl_get16(bytes);
    return *port != 0 || fail(0, error);
}

static void set_port(struct pl_address *address, uint16_t port)
{
    if (pl_address_family(address) == AF_INET6)
        ((struct sockaddr_in6 *)&address->storage)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&address->storage)->sin_port = htons(port);
}

/* Each end has a socket that is connected to the other one's, at the addresses of the admitted stream: it
 * receives from nobody else, and nobody else can be made its target. The accepting end uses the port on which
 * it listens, which firewalls let pass. */
static bool share_udp(struct pl_channel *channel, bool accepting, struct pl_error *error)
{
    struct pl_address own;
    struct pl_address peer;
    uint16_t port;
    uint8_t bytes[2];
    if (!pl_address_of_socket(channel->stream_fd, &own) || !pl_address_of_peer(channel->stream_fd, &peer))
        return fail(errno, error);
    if (!accepting)
        set_port(&own, 0);
    int fd = socket(pl_address_family(&own), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(errno, error);
    channel->read_fd = channel->write_fd = fd;
    const int one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* of several streams, all connected */
    if (bind(fd, (const struct sockaddr *)&own.storage, own.length) != 0 || !pl_address_of_socket(fd, &own))
        return fail(errno, error);
    pl_put16(bytes, (uint32_t)pl_address_port(&own));
    int cause = pl_message_send(channel->stream_fd, bytes, sizeof bytes, true);
    if (cause != 0)
        return fail(cause, error);
    if (!read_port(channel->stream_fd, &port, error))
        return false;
    set_port(&peer, port);
    if (connect(fd, (const struct sockaddr *)&peer.storage, peer.length) != 0)
        return fail(errno, error);
    return true;
}

bool pl_channel_set_up(struct pl_channel *channel, const struct pl_channel_settings *settings,
                       struct pl_error *error)
{
    switch (settings->carrier) {
    case PL_CARRIER_UDP:
        return share_udp(channel, settings->accepting, error);
    case PL_CARRIER_DATAGRAM:
        return share_datagrams(channel, settings->accepting, error);
    case PL_CARRIER_PIPE:
        return share_pipes(channel, settings->accepting, error);
    case PL_CARRIER_RING:
    case PL_CARRIER_EVENT:
        return share_rings(channel, settings, error);
    default:
        return true;
    }
}
