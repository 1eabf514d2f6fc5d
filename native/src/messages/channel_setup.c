#include "messages/channel_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/message.h"

/* Two pipes have four ends, of which the peer gets two; two rings with two eventfds are four. */
#define RECHECK_US 100000
#define HANDED_MAX 4

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pl_close(fds[i]);
}

/* Hands descriptors over a Unix stream, with a byte that states their number. 0, or an errno. */
static int hand_over(const struct pl_channel *channel, const int *fds, size_t count, pl_ns deadline_ns)
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
    int cause = pl_wait_ready(channel->stream_fd, POLLOUT, deadline_ns);
    if (cause != 0)
        return cause;
    return sendmsg(channel->stream_fd, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
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

static bool is_pipe(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

static bool is_unix_datagram(int fd)
{
    return pl_get_option(fd, SOL_SOCKET, SO_DOMAIN) == AF_UNIX &&
           pl_get_option(fd, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM;
}

/* Receives exactly `count` descriptors, all of them of the kind that `is_right` tells (NULL: of any); the
 * caller owns them. False with `error` set. */
static bool take_over(const struct pl_channel *channel, int *fds, size_t count, bool (*is_right)(int fd),
                      pl_ns deadline_ns, struct pl_error *error)
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
    int cause = pl_wait_ready(channel->stream_fd, POLLIN, deadline_ns);
    if (cause != 0)
        return pl_fail_sharing(cause, error);
    ssize_t bytes = recvmsg(channel->stream_fd, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return pl_fail_sharing(errno, error);
    size_t found = read_rights(&message, fds, HANDED_MAX);
    bool right = bytes == 1 && number == count && found == count && (message.msg_flags & MSG_CTRUNC) == 0;
    for (size_t i = 0; right && is_right != NULL && i < count; i++)
        right = is_right(fds[i]);
    if (right)
        return true;
    close_all(fds, found);
    for (size_t i = 0; i < found; i++)
        fds[i] = -1;
    return pl_fail_sharing(0, error);
}

/* Hands `theirs` over. */
static bool give(const struct pl_channel *channel, const int *theirs, size_t count, pl_ns deadline_ns,
                 struct pl_error *error)
{
    int cause = hand_over(channel, theirs, count, deadline_ns);
    return cause == 0 || pl_fail_sharing(cause, error);
}

/* Two pipes, or a pair of sockets. */
static bool share_descriptors(struct pl_channel *channel, const struct pl_channel_settings *settings,
                              struct pl_error *error)
{
    bool pipes = settings->carrier == PL_CARRIER_PIPE;
    size_t handed = pipes ? 2 : 1;
    int fds[HANDED_MAX] = {-1, -1, -1,
                           -1}; /* of pipes to the peer: read, write; from the peer: read, write */
    if (!settings->udp.accepting) {
        if (!take_over(channel, fds, handed, pipes ? is_pipe : is_unix_datagram, settings->udp.deadline_ns,
                       error))
            return false;
        channel->read_fd = fds[0];
        channel->write_fd = fds[handed - 1];
        return true;
    }
    if (pipes ? pipe2(fds, O_CLOEXEC) != 0 || pipe2(fds + 2, O_CLOEXEC) != 0
              : socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) != 0) {
        pl_error_set(error, PL_RESOURCES, "channel", errno, "no %s for a stream",
                     pipes ? "pipes" : "sockets");
        close_all(fds, HANDED_MAX);
        return false;
    }
    channel->write_fd = fds[pipes ? 1 : 0];
    channel->read_fd = fds[pipes ? 2 : 0];
    const int theirs[] = {fds[pipes ? 0 : 1], fds[3]};
    bool given = give(channel, theirs, handed, settings->udp.deadline_ns, error);
    close_all(theirs, handed);
    return given;
}

/* Maps the two rings, of which the first goes to the accepting end. */
static bool map_rings(struct pl_channel *channel, const int *fds, const struct pl_channel_settings *settings,
                      struct pl_error *error)
{
    struct pl_ring *first = settings->udp.accepting ? &channel->in : &channel->out;
    struct pl_ring *second = settings->udp.accepting ? &channel->out : &channel->in;
    if (!pl_ring_map(first, fds[0], settings->queue_bytes, error) ||
        !pl_ring_map(second, fds[1], settings->queue_bytes, error))
        return false;
    channel->in.wait = channel->out.wait =
        settings->carrier == PL_CARRIER_EVENT ? PL_RING_EVENT : PL_RING_FUTEX;
    if (settings->carrier != PL_CARRIER_EVENT)
        return true;
    channel->event_fds[0] = settings->udp.accepting ? fds[2] : fds[3];
    channel->event_fds[1] = settings->udp.accepting ? fds[3] : fds[2];
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
    if (settings->udp.accepting) {
        for (size_t i = 0; shared && i < 2; i++)
            shared = (fds[i] = pl_ring_create(settings->queue_bytes, error)) >= 0;
        for (size_t i = 2; shared && i < count; i++)
            shared = (fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0 ||
                     pl_error_set(error, PL_RESOURCES, "channel", errno, "no eventfd for a stream");
        shared = shared && give(channel, fds, count, settings->udp.deadline_ns, error);
    } else {
        shared = take_over(channel, fds, count, NULL, settings->udp.deadline_ns, error);
    }
    shared = shared && map_rings(channel, fds, settings, error);
    close_all(fds, 2); /* the memory stays mapped */
    if (!shared && channel->event_fds[0] < 0)
        close_all(fds + 2, 2);
    return shared;
}

static bool share_udp(struct pl_channel *channel, const struct pl_channel_settings *settings,
                      struct pl_error *error)
{
    int fd = pl_udp_open(channel->stream_fd, &settings->udp, error);
    if (fd < 0)
        return false;
    channel->read_fd = channel->write_fd = fd;
    if (settings->udp.accepting)
        return pl_udp_connect(channel->stream_fd, fd, &settings->udp, error) &&
               pl_udp_state_port(channel->stream_fd, fd, error);
    return pl_udp_state_port(channel->stream_fd, fd, error) &&
           pl_udp_connect(channel->stream_fd, fd, &settings->udp, error);
}

static bool set_up(struct pl_channel *channel, const struct pl_channel_settings *settings,
                   struct pl_error *error)
{
    switch (settings->carrier) {
    case PL_CARRIER_UDP:
        return share_udp(channel, settings, error);
    case PL_CARRIER_DATAGRAM:
    case PL_CARRIER_PIPE:
        return share_descriptors(channel, settings, error);
    case PL_CARRIER_RING:
    case PL_CARRIER_EVENT:
        return share_rings(channel, settings, error);
    default:
        return true;
    }
}

bool pl_channel_open(struct pl_channel *channel, int stream_fd, const struct pl_channel_settings *settings,
                     struct pl_error *error)
{
    channel->carrier = settings->carrier;
    channel->polls = settings->polls;
    channel->stream_fd = channel->read_fd = channel->write_fd = stream_fd;
    channel->event_fds[0] = channel->event_fds[1] = -1;
    if (!set_up(channel, settings, error))
        return false;
    if (channel->carrier == PL_CARRIER_RING || channel->carrier == PL_CARRIER_EVENT)
        return true;
    /* A datagram may be lost, so nobody waits for one without a look at the peer. */
    const struct timeval recheck = {.tv_usec = RECHECK_US};
    if (pl_carrier_is_datagram(channel->carrier) && !channel->polls)
        (void)setsockopt(channel->read_fd, SOL_SOCKET, SO_RCVTIMEO, &recheck, sizeof recheck);
    for (int i = 0; i < 2; i++) {
        int fd = i == 0 ? channel->read_fd : channel->write_fd;
        int flags = fcntl(fd, F_GETFL);
        int wanted = channel->polls ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
        if (flags < 0 || fcntl(fd, F_SETFL, wanted) != 0)
            return pl_error_set(error, PL_SETUP, "channel", errno, "cannot set how a read waits");
    }
    return true;
}

bool pl_channel_open_queue(struct pl_channel *channel, size_t queue_bytes, bool polls, struct pl_error *error)
{
    channel->carrier = PL_CARRIER_RING;
    channel->polls = polls;
    channel->stream_fd = channel->read_fd = channel->write_fd = -1;
    int fd = pl_ring_create(queue_bytes, error);
    bool mapped = fd >= 0 && pl_ring_map(&channel->in, fd, queue_bytes, error) &&
                  pl_ring_map(&channel->out, fd, queue_bytes, error);
    pl_close(fd);
    return mapped;
}
