#include "messages/udp_pair.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/message.h"

bool pl_fail_sharing(int cause, struct pl_error *error)
{
    return pl_error_set(error, cause == 0 ? PL_PEER : PL_SETUP, "channel", cause,
                        cause == 0 ? "the peer does not share what carries the messages of a stream"
                                   : "cannot share with the peer what carries the messages of a stream");
}

/* Receives the peer's two bytes. False with `error` set. */
static bool read_port(int stream_fd, uint16_t *port, pl_ns deadline_ns, struct pl_error *error)
{
    uint8_t bytes[2];
    for (size_t have = 0; have < sizeof bytes;) {
        int cause = pl_wait_ready(stream_fd, POLLIN, deadline_ns);
        ssize_t count = cause == 0 ? recv(stream_fd, bytes + have, sizeof bytes - have, 0) : -1;
        if (count <= 0)
            return pl_fail_sharing(cause != 0 ? cause : count < 0 ? errno : 0, error);
        have += (size_t)count;
    }
    *port = (uint16_t)pl_get16(bytes);
    return *port != 0 || pl_fail_sharing(0, error);
}

bool pl_udp_state_port(int stream_fd, int udp_fd, struct pl_error *error)
{
    struct pl_address own;
    uint8_t bytes[2];
    if (!pl_address_of_socket(udp_fd, &own))
        return pl_fail_sharing(errno, error);
    pl_put16(bytes, (uint32_t)pl_address_port(&own));
    int cause = pl_message_send(stream_fd, bytes, sizeof bytes, true);
    return cause == 0 || pl_fail_sharing(cause, error);
}

bool pl_udp_connect(int stream_fd, int udp_fd, const struct pl_udp_settings *settings, struct pl_error *error)
{
    struct pl_address peer;
    uint16_t port = 0;
    uint8_t byte;
    if (!pl_address_of_peer(stream_fd, &peer))
        return pl_fail_sharing(errno, error);
    if (!read_port(stream_fd, &port, settings->deadline_ns, error))
        return false;
    pl_address_set_port(&peer, port);
    if (pl_address_connect(udp_fd, &peer) != 0)
        return pl_fail_sharing(errno, error);
    /* The peer itself may send already, without a pause: what comes after the deadline counts as its own. */
    while (pl_now_ns() < settings->deadline_ns && recv(udp_fd, &byte, 1, MSG_DONTWAIT) >= 0)
        continue;
    return true;
}

/* To the address, or where another program has its port to one that is free. False with errno set. */
static bool bind_socket(int fd, struct pl_address *own)
{
    if (pl_address_bind(fd, own) == 0)
        return true;
    if (errno != EADDRINUSE || pl_address_port(own) == 0)
        return false;
    pl_address_set_port(own, 0);
    return pl_address_bind(fd, own) == 0;
}

int pl_udp_open(int stream_fd, const struct pl_udp_settings *settings, struct pl_error *error)
{
    struct pl_address own;
    if (!pl_address_of_socket(stream_fd, &own)) {
        (void)pl_fail_sharing(errno, error);
        return -1;
    }
    if (!settings->accepting)
        pl_address_set_port(&own, 0);
    int fd = socket(pl_address_family(&own), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        (void)pl_fail_sharing(errno, error);
        return -1;
    }
    /* The sockets of several streams share the port: all are connected. At the other end each has its own. */
    if (settings->accepting)
        (void)pl_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    bool set = settings->set_socket(fd, pl_address_family(&own), settings->context, error);
    if (set && bind_socket(fd, &own))
        return fd;
    if (set)
        pl_error_set(error, PL_SETUP, "channel", errno, "cannot open UDP port %lld",
                     (long long)pl_address_port(&own));
    (void)close(fd);
    return -1;
}
