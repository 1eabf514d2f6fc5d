#include "base/descriptor.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void pl_close(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

bool pl_set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

int64_t pl_get_option(int fd, int level, int name)
{
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

int pl_take_socket_error(int fd)
{
    int failure = 0;
    socklen_t length = sizeof failure;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 ? failure : errno;
}

void pl_wake(int event_fd)
{
    const uint64_t one = 1;
    (void)!write(event_fd, &one, sizeof one);
}

void pl_clear_wake(int event_fd)
{
    uint64_t wakes;
    (void)!read(event_fd, &wakes, sizeof wakes);
}
