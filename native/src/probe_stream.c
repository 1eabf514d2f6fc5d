#include "probe_stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "echo_wire.h"
#include "message.h"

/* More than this waits unacknowledged: the next probe would wait behind it, and not be a probe of the path.
 */
#define QUEUE_BYTES (256 << 10)

static bool refuse(const struct pl_probe_settings *settings, int cause, struct pl_error *error)
{
    char text[PL_ADDRESS_TEXT_BYTES];
    pl_address_text(&settings->to, text);
    pl_error_set(error, PL_SETUP, "connect", cause, "cannot connect to an echo at %s port %lld", text,
                 (long long)pl_address_port(&settings->to));
    return false;
}

/* The errno of a connect that is under way, once it is decided; ETIMEDOUT when it is not in time. */
static int await_connection(int fd, pl_ns timeout_ns)
{
    struct pollfd socket_ready = {.fd = fd, .events = POLLOUT};
    pl_ns deadline_ns = pl_now_ns() + timeout_ns;
    for (;;) {
        pl_ns left_ns = deadline_ns - pl_now_ns();
        int ready = left_ns > 0 ? poll(&socket_ready, 1, (int)(left_ns / PL_NS_PER_MS) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return ready == 0 ? ETIMEDOUT : errno;
        int cause = 0;
        socklen_t length = sizeof cause;
        return getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &length) == 0 ? cause : errno;
    }
}

bool pl_probe_stream_connect(int fd, const struct pl_probe_settings *settings, struct pl_error *error)
{
    const int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (const struct sockaddr *)&settings->to.storage, settings->to.length) != 0) {
        int cause = errno == EINPROGRESS ? await_connection(fd, settings->connect_timeout_ns) : errno;
        if (cause != 0)
            return refuse(settings, cause, error);
    }
    uint8_t greeting[PL_ECHO_GREETING_BYTES];
    pl_echo_greeting_encode(settings->token, (uint32_t)settings->payload_bytes, greeting);
    int cause = pl_message_send(fd, greeting, sizeof greeting, true);
    return cause == 0 || refuse(settings, cause, error);
}

int pl_probe_stream_send(int fd, const uint8_t *message, size_t bytes)
{
    int queued = 0;
    if (ioctl(fd, SIOCOUTQ, &queued) == 0 && queued > QUEUE_BYTES)
        return EAGAIN;
    return pl_message_send(fd, message, bytes, false);
}
