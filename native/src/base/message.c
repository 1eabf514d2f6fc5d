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
