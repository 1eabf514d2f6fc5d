/* The acceptor, with peers on a Unix socket. The first byte is the size of the fragments less one. Of the
 * second, bits 0 and 1 are the number of peers less one, bit 2 makes the receiver expect two streams, bit 3
 * makes the peers shut their side at the end. The rest is sent by the peers in rotation. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/program.h"
#include "flow/acceptor.h"
#include "flow/flow_settings.h"
#include "property.h"

enum { PEERS = 4, BACKLOG = 8, MAX_BYTES = 1024 };

/* A peer and the bytes of its hello sent so far. */
struct peer {
    int fd;
    size_t sent_bytes;
    uint8_t hello[PL_HELLO_BYTES];
};

static struct pl_flow build_flow(bool two)
{
    char *argv[] = {"receive", "--transport", "unix", "--streams", "2"};
    struct pl_flow flow;
    struct pl_error error = {0};
    REQUIRE(pl_flow_parse(&flow, false, two ? 5 : 3, argv, &error) == PL_OPTIONS_OK);
    return flow;
}

/* A listening socket under an abstract name that the kernel chooses, and its address. */
static int listen_somewhere(struct sockaddr_un *address, socklen_t *length)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *length = sizeof *address;
    REQUIRE(fd >= 0 && bind(fd, (const struct sockaddr *)address, sizeof address->sun_family) == 0);
    REQUIRE(listen(fd, BACKLOG) == 0 && getsockname(fd, (struct sockaddr *)address, length) == 0);
    return fd;
}

static void connect_peers(const struct sockaddr_un *address, socklen_t length, struct peer *peers,
                          unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        REQUIRE(fd >= 0 && connect(fd, (const struct sockaddr *)address, length) == 0);
        peers[i] = (struct peer){.fd = fd};
    }
}

static unsigned count_admitted(const struct pl_stream *streams)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < PL_MAX_STREAMS; i++)
        count += streams[i].fd >= 0 ? 1 : 0;
    return count;
}

static void check_acceptor(const struct pl_acceptor *acceptor, const struct pl_flow *flow, unsigned peers)
{
    uint32_t admitted = pl_acceptor_state(acceptor).admitted;
    REQUIRE((int64_t)admitted <= flow->streams);
    REQUIRE(admitted + pl_acceptor_state(acceptor).pending + pl_acceptor_state(acceptor).rejected == peers);
    REQUIRE(pl_acceptor_state(acceptor).complete ==
            (flow->streams > 0 && (int64_t)admitted == flow->streams));
    REQUIRE((pl_acceptor_state(acceptor).deadline_ns == INT64_MAX) ==
            (pl_acceptor_state(acceptor).pending == 0));
}

/* An admitted peer has sent a hello of this protocol with the token, and the answer names its stream. */
static unsigned count_answers(const struct peer *peers, unsigned count, const struct pl_flow *flow)
{
    unsigned admitted = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t bytes[PL_ANSWER_BYTES + PL_BUSY_BYTES + 1];
        struct pl_answer answer;
        struct pl_hello hello;
        ssize_t got = recv(peers[i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got <= 0)
            continue;
        REQUIRE(got >= PL_ANSWER_BYTES && pl_answer_decode(bytes, &answer));
        bool busy = answer.status == PL_ANSWER_BUSY;
        REQUIRE(got == PL_ANSWER_BYTES + (busy ? PL_BUSY_BYTES : 0));
        if (busy) {
            struct pl_busy other;
            pl_busy_decode(bytes + PL_ANSWER_BYTES, &other);
            REQUIRE(other.admitted > 0 && other.admitted <= other.streams &&
                    (int64_t)other.streams == flow->streams);
            REQUIRE(pl_hello_decode(peers[i].hello, &hello));
            REQUIRE(memcmp(hello.token, flow->token, PL_TOKEN_BYTES) == 0);
        } else if (answer.status == PL_ANSWER_ADMITTED) {
            admitted++;
            REQUIRE(peers[i].sent_bytes >= PL_HELLO_BYTES && pl_hello_decode(peers[i].hello, &hello));
            REQUIRE(hello.version == PL_PROTOCOL && memcmp(hello.token, flow->token, PL_TOKEN_BYTES) == 0);
            REQUIRE(hello.stream == answer.stream && (int64_t)hello.streams == flow->streams);
        } else {
            REQUIRE(answer.status == PL_ANSWER_WRONG_VERSION && answer.version == PL_PROTOCOL);
        }
    }
    return admitted;
}

static void send_fragments(struct pl_acceptor *acceptor, struct peer *peers, unsigned count,
                           const uint8_t *data, size_t size)
{
    struct pl_error error = {0};
    size_t fragment = (size_t)data[0] + 1;
    unsigned next = 0;
    for (size_t at = 2; at < size; at += fragment) {
        struct peer *peer = &peers[next++ % count];
        size_t bytes = size - at < fragment ? size - at : fragment;
        size_t room = peer->sent_bytes < PL_HELLO_BYTES ? PL_HELLO_BYTES - peer->sent_bytes : 0;
        /* A rejected peer cannot send any more. */
        if (send(peer->fd, data + at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes) {
            memcpy(peer->hello + PL_HELLO_BYTES - room, data + at, bytes < room ? bytes : room);
            peer->sent_bytes += bytes;
        }
        REQUIRE(pl_acceptor_serve(acceptor, &error));
    }
}

/* No peer with a complete hello is pending. */
static void check_pending(const struct pl_acceptor *acceptor, const struct peer *peers, unsigned count)
{
    uint32_t incomplete = 0;
    for (unsigned i = 0; i < count; i++)
        incomplete += peers[i].sent_bytes < PL_HELLO_BYTES ? 1 : 0;
    REQUIRE(pl_acceptor_state(acceptor).pending <= incomplete);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pl_stream streams[PL_MAX_STREAMS];
    struct sockaddr_un address;
    socklen_t length;
    struct peer peers[PEERS];
    struct pl_error error = {0};
    if (size < 2 || size > MAX_BYTES)
        return 0;
    unsigned count = 1 + (data[1] & 3U);
    for (uint32_t i = 0; i < PL_MAX_STREAMS; i++)
        streams[i].fd = -1;
    struct pl_flow flow = build_flow((data[1] & 4) != 0);
    int listen_fd = listen_somewhere(&address, &length);
    const struct pl_listeners listeners = {.fds = {listen_fd}, .count = 1};
    struct pl_acceptor *acceptor = pl_acceptor_open(&listeners, &flow, streams, &error);
    REQUIRE(acceptor != NULL && pl_acceptor_fd(acceptor) >= 0);
    connect_peers(&address, length, peers, count);
    /* Accepts the connections before any byte is sent. */
    REQUIRE(pl_acceptor_serve(acceptor, &error));
    check_acceptor(acceptor, &flow, count);
    send_fragments(acceptor, peers, count, data, size);
    for (unsigned i = 0; i < count && (data[1] & 8) != 0; i++)
        (void)shutdown(peers[i].fd, SHUT_WR);
    REQUIRE(pl_acceptor_serve(acceptor, &error));
    check_acceptor(acceptor, &flow, count);
    check_pending(acceptor, peers, count);
    REQUIRE((data[1] & 8) == 0 || pl_acceptor_state(acceptor).pending == 0);
    REQUIRE(count_admitted(streams) == pl_acceptor_state(acceptor).admitted);
    REQUIRE(count_answers(peers, count, &flow) == pl_acceptor_state(acceptor).admitted);
    pl_acceptor_close(acceptor);
    for (uint32_t i = 0; i < PL_MAX_STREAMS; i++)
        if (streams[i].fd >= 0)
            (void)close(streams[i].fd);
    for (unsigned i = 0; i < count; i++)
        (void)close(peers[i].fd);
    (void)close(listen_fd);
    return 0;
}
