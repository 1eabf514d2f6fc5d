#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define WAITS 200
#define WAIT_MS 1

int pl_message_send(int fd, const uint8_t *message, size_t bytes, bool wait_for_room)
{
    int waits = 0;
    for (size_t sent = 0; sent < bytes;) {
        ssize_t count = send(fd, message + sent, bytes - sent, MSG_NOSIGNAL);
        if (count > 0) {
            sent += (size_t)count;
        } else if (count == 0 || (errno == EAGAIN && (wait_for_room || sent > 0) && waits < WAITS)) {
            waits++;
            struct pollfd socket_ready = {.fd = fd, .events = POLLOUT};
            (void)poll(&socket_ready, 1, WAIT_MS);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

int pl_wait_ready(int fd, short events, pl_ns deadline_ns)
{
    struct pollfd descriptor = {.fd = fd, .events = events};
    for (;;) {
        pl_ns left_ns = deadline_ns - pl_now_ns();
        int ready = poll(&descriptor, 1, left_ns > 0 ? (int)(left_ns / PL_NS_PER_MS) + 1 : 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return ETIMEDOUT;
        return ready < 0 ? errno : 0;
    }
}
