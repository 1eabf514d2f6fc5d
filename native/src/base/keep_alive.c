#include "base/keep_alive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/descriptor.h"

#define IDLE_S 30
#define INTERVAL_S 10
#define COUNT 6

void pl_keep_alive(int fd)
{
    (void)pl_set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    (void)pl_set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    (void)pl_set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, INTERVAL_S);
    (void)pl_set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, COUNT);
}
