#include "base/keep_alive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#define IDLE_S 30
#define INTERVAL_S 10
#define COUNT 6

void pl_keep_alive(int fd)
{
    static const struct {
        int level, name, value;
    } settings[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, COUNT},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        (void)setsockopt(fd, settings[i].level, settings[i].name, &settings[i].value,
                         sizeof settings[i].value);
}
