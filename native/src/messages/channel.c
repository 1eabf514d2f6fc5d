#include "messages/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/events.h"

/* Datagrams that were sent before the peer went may arrive for this time. */
#define LAST_NS (100 * PL_NS_PER_MS)
/* Turns of a spinning reader between two looks at the peer. */
#define SPINS 4096

static const char *const names[PL_CARRIERS] = {NULL,   "udp",           "unix-datagram",
                                               "pipe", "shared-memory", "eventfd"};

const char *pl_carrier_name(enum pl_carrier carrier)
{
    return names[carrier];
}

enum pl_transport pl_carrier_transport(enum pl_carrier carrier)
{
    return carrier == PL_CARRIER_UDP ? PL_TCP : PL_UNIX;
}

bool pl_carrier_is_datagram(enum pl_carrier carrier)
{
    return carrier == PL_CARRIER_UDP || carrier == PL_CARRIER_DATAGRAM;
}

static bool has_rings(const struct pl_channel *channel)
{
    return channel->carrier == PL_CARRIER_RING || channel->carrier == PL_CARRIER_EVENT;
}

static bool is_over(const struct pl_channel *channel)
{
    return channel->is_over != NULL && channel->is_over(channel->context);
}

static int do_meanwhile(const struct pl_channel *channel)
{
    return channel->meanwhile != NULL ? channel->meanwhile(channel->meanwhile_context) : 0;
}

/* Whether the peer has gone, of a channel whose own descriptors do not tell. Counts its call in `calls`. */
static bool is_peer_gone(const struct pl_channel *channel, uint64_t *calls)
{
    uint8_t byte;
    if (channel->stream_fd < 0) /* the peer is a thread of this process */
        return false;
    (*calls)++;
    ssize_t count = recv(channel->stream_fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

void pl_channel_close(struct pl_channel *channel)
{
    pl_ring_unmap(&channel->in);
    pl_ring_unmap(&channel->out);
    for (int i = 0; channel->carrier == PL_CARRIER_EVENT && i < 2; i++)
        pl_close(channel->event_fds[i]);
    if (channel->read_fd >= 0 && channel->read_fd != channel->stream_fd)
        (void)close(channel->read_fd);
    if (channel->write_fd >= 0 && channel->write_fd != channel->stream_fd &&
        channel->write_fd != channel->read_fd)
        (void)close(channel->write_fd);
    channel->read_fd = channel->write_fd = channel->event_fds[0] = channel->event_fds[1] = -1;
}

/* How much of `bytes` can be written now: all, or once half of the queue is free as much as fits; -1 with
 * errno. */
static ssize_t find_part(struct pl_ring *ring, size_t bytes)
{
    ssize_t room = pl_ring_writable(ring);
    if (room < 0 || (size_t)room >= bytes)
        return room < 0 ? -1 : (ssize_t)bytes;
    return (size_t)room >= ring->bytes / 2 ? room : 0;
}

static int write_ring(struct pl_channel *channel, const uint8_t *data, size_t bytes)
{
    struct pl_ring *ring = &channel->out;
    for (uint32_t turn = 1; bytes > 0; turn++) {
        ssize_t part = find_part(ring, bytes);
        if (part < 0)
            return errno;
        if (part > 0) {
            pl_ring_write(ring, data, (size_t)part);
            data += part;
            bytes -= (size_t)part;
            continue;
        }
        int cause = do_meanwhile(channel);
        if (cause != 0)
            return cause;
        bool looks = !channel->polls || turn % SPINS == 0;
        if (!channel->polls) {
            pl_ring_await_room(ring);
            channel->write_calls++;
        }
        if (looks && is_over(channel))
            return ECANCELED;
        if (looks && is_peer_gone(channel, &channel->write_calls))
            return EPIPE;
    }
    return 0;
}

int pl_channel_write(struct pl_channel *channel, const uint8_t *data, size_t bytes)
{
    if (has_rings(channel))
        return write_ring(channel, data, bytes);
    bool pipes = channel->carrier == PL_CARRIER_PIPE;
    int cause = 0;
    for (size_t written = 0; written < bytes && cause == 0;) {
        ssize_t count = pipes ? write(channel->write_fd, data + written, bytes - written)
                              : send(channel->write_fd, data + written, bytes - written, MSG_NOSIGNAL);
        channel->write_calls++;
        if (count >= 0)
            written += (size_t)count;
        else if (errno != EINTR && errno != EAGAIN)
            return errno;
        else
            cause = is_over(channel) ? ECANCELED : do_meanwhile(channel);
    }
    return cause;
}

static ssize_t try_read_ring(struct pl_channel *channel, uint8_t *data, size_t most)
{
    struct pl_ring *ring = &channel->in;
    /* Whether it is closed is read first: the writer closes after its last byte. */
    bool closed = pl_ring_is_closed(ring);
    ssize_t ready = pl_ring_readable(ring);
    if (ready <= 0) {
        errno = ready < 0 ? errno : EAGAIN;
        return ready == 0 && closed ? 0 : -1;
    }
    size_t bytes = (size_t)ready < most ? (size_t)ready : most;
    pl_ring_read(ring, data, bytes);
    return (ssize_t)bytes;
}

static ssize_t read_fd(struct pl_channel *channel, uint8_t *data, size_t most, int flags)
{
    channel->read_calls++;
    return channel->carrier == PL_CARRIER_PIPE ? read(channel->read_fd, data, most)
                                               : recv(channel->read_fd, data, most, flags);
}

ssize_t pl_channel_try_read(struct pl_channel *channel, uint8_t *data, size_t most)
{
    return has_rings(channel) ? try_read_ring(channel, data, most)
                              : read_fd(channel, data, most, MSG_DONTWAIT);
}

/* After every wait that ended without data. 1: go on; 0: the data has ended; -1 with errno: give up.
 * `gone_ns` is when the peer was first seen to be gone, 0 before. */
static int judge_wait(struct pl_channel *channel, pl_ns deadline_ns, pl_ns *gone_ns)
{
    pl_ns now_ns = pl_now_ns();
    bool datagrams = pl_carrier_is_datagram(channel->carrier);
    bool tells = !has_rings(channel) && !datagrams;
    if (is_over(channel) || now_ns >= deadline_ns) {
        errno = is_over(channel) ? ECANCELED : EAGAIN;
        return -1;
    }
    if (tells || !is_peer_gone(channel, &channel->read_calls))
        return 1;
    if (datagrams) { /* the one that states the end can be lost */
        *gone_ns = *gone_ns == 0 ? now_ns : *gone_ns;
        return now_ns - *gone_ns < LAST_NS ? 1 : 0;
    }
    if (pl_ring_is_closed(&channel->in)) /* what is in it can still be read */
        return 1;
    errno = EPIPE;
    return -1;
}

ssize_t pl_channel_read(struct pl_channel *channel, uint8_t *data, size_t most, pl_ns deadline_ns)
{
    bool tries = channel->polls || has_rings(channel);
    pl_ns gone_ns = 0;
    for (uint32_t turn = 1;; turn++) {
        ssize_t count = tries ? pl_channel_try_read(channel, data, most) : read_fd(channel, data, most, 0);
        if (count >= 0 || (errno != EAGAIN && errno != EINTR))
            return count;
        if (channel->polls && turn % SPINS != 0)
            continue;
        if (!channel->polls && has_rings(channel)) {
            pl_ring_await_bytes(&channel->in);
            channel->read_calls++;
            if (pl_ring_readable(&channel->in) > 0)
                continue;
        }
        int verdict = judge_wait(channel, deadline_ns, &gone_ns);
        if (verdict <= 0)
            return verdict;
    }
}

void pl_channel_end_writing(struct pl_channel *channel)
{
    static const uint8_t nothing;
    if (has_rings(channel)) {
        pl_ring_close_writer(&channel->out);
    } else if (channel->carrier == PL_CARRIER_PIPE) {
        (void)close(channel->write_fd);
        channel->write_fd = -1;
    } else if (pl_carrier_is_datagram(channel->carrier)) {
        (void)send(channel->write_fd, &nothing, 0, MSG_NOSIGNAL);
        (void)shutdown(channel->stream_fd, SHUT_WR); /* that datagram can be lost */
    } else {
        (void)shutdown(channel->write_fd, SHUT_WR);
    }
    channel->write_calls++;
}
