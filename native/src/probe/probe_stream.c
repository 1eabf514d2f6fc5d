#include "probe/probe_stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "base/message.h"
#include "probe/echo_wire.h"

/* With more than this unacknowledged the next probe would measure its own queue, not the path. */
#define QUEUE_BYTES (256 << 10)

static bool fail_connect(const struct pl_probe_settings *settings, int cause, struct pl_error *error)
{
    char text[PL_ADDRESS_TEXT_BYTES];
    return pl_error_set(error, PL_SETUP, "connect", cause, "cannot connect to an echo at %s port %lld",
                        pl_address_text(&settings->to, text), (long long)pl_address_port(&settings->to));
}

/* Waits for a pending connect; 0 or its errno, ETIMEDOUT at the deadline. */
static int await_connection(int fd, pl_ns deadline_ns)
{
    int cause = pl_wait_ready(fd, POLLOUT, deadline_ns);
    return cause != 0 ? cause : pl_take_socket_error(fd);
}

/* Reads the echo's challenge; 0, or an errno: EPROTO where the peer closes before it is complete. */
static int read_challenge(int fd, uint8_t bytes[PL_ECHO_CHALLENGE_BYTES], pl_ns deadline_ns)
{
    for (size_t received = 0; received < PL_ECHO_CHALLENGE_BYTES;) {
        int cause = pl_wait_ready(fd, POLLIN, deadline_ns);
        if (cause != 0)
            return cause;
        ssize_t count = recv(fd, bytes + received, PL_ECHO_CHALLENGE_BYTES - received, MSG_DONTWAIT);
        if (count > 0)
            received += (size_t)count;
        else if (count == 0 || errno == ECONNRESET)
            return EPROTO;
        else if (errno != EAGAIN && errno != EINTR)
            return errno;
    }
    return 0;
}

/* Reads the challenge and sends the response. */
static bool handshake(int fd, const struct pl_probe_settings *settings, pl_ns deadline_ns,
                      struct pl_error *error)
{
    uint8_t challenge[PL_ECHO_CHALLENGE_BYTES];
    uint8_t nonce[PL_ECHO_NONCE_BYTES];
    uint8_t version = 0;
    char text[PL_ADDRESS_TEXT_BYTES];
    pl_address_text(&settings->to, text);
    long long port = (long long)pl_address_port(&settings->to);
    int cause = read_challenge(fd, challenge, deadline_ns);
    if (cause == EPROTO || cause == ETIMEDOUT ||
        (cause == 0 && !pl_echo_challenge_decode(challenge, &version, nonce)))
        return pl_error_set(
            error, PL_PEER, "handshake", 0,
            "%s port %lld does not answer as an echo: it is another program, or an older PathLab", text,
            port);
    if (cause == 0 && version != PL_PROBE_VERSION)
        return pl_error_set(
            error, PL_PEER, "handshake", 0,
            "the echo at %s port %lld uses version %d of the probes, this ping version %d: use the "
            "same PathLab at both ends",
            text, port, version, PL_PROBE_VERSION);
    uint8_t response[PL_ECHO_RESPONSE_BYTES];
    pl_echo_response_encode(settings->token, nonce, (uint32_t)settings->payload_bytes, response);
    if (cause == 0)
        cause = pl_message_send(fd, response, sizeof response, true);
    return cause == 0 || fail_connect(settings, cause, error);
}

bool pl_probe_stream_connect(int fd, const struct pl_probe_settings *settings, struct pl_error *error)
{
    pl_ns deadline_ns = pl_now_ns() + settings->connect_timeout_ns;
    (void)pl_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (pl_address_connect(fd, &settings->to) != 0) {
        int cause = errno == EINPROGRESS ? await_connection(fd, deadline_ns) : errno;
        if (cause != 0)
            return fail_connect(settings, cause, error);
    }
    return handshake(fd, settings, deadline_ns, error);
}

int pl_probe_stream_send(int fd, const uint8_t *message, size_t bytes)
{
    int queued = 0;
    if (ioctl(fd, SIOCOUTQ, &queued) == 0 && queued > QUEUE_BYTES)
        return EAGAIN;
    return pl_message_send(fd, message, bytes, false);
}
