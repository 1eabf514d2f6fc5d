/* The receiver's door, with strangers who knock through a Unix socket. The first byte is the size of the
 * fragments less one; of the second, bits 0 and 1 say how many connect (less one), bit 2 tells the receiver
 * to expect two streams, bit 3 makes the callers hang up in the end. The rest is dealt to them in turn. */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/program.h"
#include "flow/acceptor.h"
#include "property.h"

enum { CALLERS = 4, BACKLOG = 8, MAX_BYTES = 1024 };

/* One who knocks, and what he said so far of a hello. */
struct caller {
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

static void call(const struct sockaddr_un *address, socklen_t length, struct caller *callers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        REQUIRE(fd >= 0 && connect(fd, (const struct sockaddr *)address, length) == 0);
        callers[i] = (struct caller){.fd = fd};
    }
}

static unsigned count_admitted(const struct pl_stream *streams)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < PL_MAX_STREAMS; i++)
        count += streams[i].fd >= 0 ? 1 : 0;
    return count;
}

static void check_door(const struct pl_acceptor *door, const struct pl_flow *flow, unsigned callers)
{
    uint32_t admitted = pl_acceptor_admitted(door);
    REQUIRE((int64_t)admitted <= flow->streams);
    REQUIRE(admitted + pl_acceptor_pending(door) + pl_acceptor_rejected(door) == callers);
    REQUIRE(pl_acceptor_is_complete(door) == (flow->streams > 0 && (int64_t)admitted == flow->streams));
    REQUIRE((pl_acceptor_deadline_ns(door) == INT64_MAX) == (pl_acceptor_pending(door) == 0));
}

/* Who is told to be admitted has said a hello of this protocol with the token, and is told his stream. */
static unsigned count_answers(const struct caller *callers, unsigned count, const struct pl_flow *flow)
{
    unsigned admitted = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t bytes[PL_ANSWER_BYTES + 1];
        struct pl_answer answer;
        struct pl_hello hello;
        ssize_t got = recv(callers[i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got <= 0)
            continue;
        REQUIRE(got == PL_ANSWER_BYTES && pl_answer_decode(bytes, &answer));
        if (answer.status == PL_ANSWER_ADMITTED) {
            admitted++;
            REQUIRE(callers[i].sent_bytes >= PL_HELLO_BYTES && pl_hello_decode(callers[i].hello, &hello));
            REQUIRE(hello.version == PL_PROTOCOL && memcmp(hello.token, flow->token, PL_TOKEN_BYTES) == 0);
            REQUIRE(hello.stream == answer.stream && (int64_t)hello.streams == flow->streams);
        } else {
            REQUIRE(answer.status == PL_ANSWER_WRONG_VERSION && answer.version == PL_PROTOCOL);
        }
    }
    return admitted;
}

static void deal(struct pl_acceptor *door, struct caller *callers, unsigned count, const uint8_t *data,
                 size_t size)
{
    struct pl_error error = {0};
    size_t fragment = (size_t)data[0] + 1;
    unsigned turn = 0;
    for (size_t at = 2; at < size; at += fragment) {
        struct caller *caller = &callers[turn++ % count];
        size_t bytes = size - at < fragment ? size - at : fragment;
        size_t room = caller->sent_bytes < PL_HELLO_BYTES ? PL_HELLO_BYTES - caller->sent_bytes : 0;
        /* One who was turned away cannot send any more. */
        if (send(caller->fd, data + at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes) {
            memcpy(caller->hello + PL_HELLO_BYTES - room, data + at, bytes < room ? bytes : room);
            caller->sent_bytes += bytes;
        }
        REQUIRE(pl_acceptor_serve(door, &error));
    }
}

/* Nobody is kept waiting who has said a whole hello. */
static void check_waiting(const struct pl_acceptor *door, const struct caller *callers, unsigned count)
{
    uint32_t halves = 0;
    for (unsigned i = 0; i < count; i++)
        halves += callers[i].sent_bytes < PL_HELLO_BYTES ? 1 : 0;
    REQUIRE(pl_acceptor_pending(door) <= halves);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pl_stream streams[PL_MAX_STREAMS];
    struct sockaddr_un address;
    socklen_t length;
    struct caller callers[CALLERS];
    struct pl_error error = {0};
    if (size < 2 || size > MAX_BYTES)
        return 0;
    unsigned count = 1 + (data[1] & 3U);
    for (uint32_t i = 0; i < PL_MAX_STREAMS; i++)
        streams[i].fd = -1;
    struct pl_flow flow = build_flow((data[1] & 4) != 0);
    int listen_fd = listen_somewhere(&address, &length);
    struct pl_acceptor *door = pl_acceptor_open(listen_fd, &flow, streams, &error);
    REQUIRE(door != NULL && pl_acceptor_fd(door) >= 0);
    call(&address, length, callers, count);
    /* Accepts; then nobody is heard before he has spoken. */
    REQUIRE(pl_acceptor_serve(door, &error));
    check_door(door, &flow, count);
    deal(door, callers, count, data, size);
    for (unsigned i = 0; i < count && (data[1] & 8) != 0; i++)
        (void)shutdown(callers[i].fd, SHUT_WR);
    REQUIRE(pl_acceptor_serve(door, &error));
    check_door(door, &flow, count);
    check_waiting(door, callers, count);
    REQUIRE((data[1] & 8) == 0 || pl_acceptor_pending(door) == 0);
    REQUIRE(count_admitted(streams) == pl_acceptor_admitted(door));
    REQUIRE(count_answers(callers, count, &flow) == pl_acceptor_admitted(door));
    pl_acceptor_close(door);
    for (uint32_t i = 0; i < PL_MAX_STREAMS; i++)
        if (streams[i].fd >= 0)
            (void)close(streams[i].fd);
    for (unsigned i = 0; i < count; i++)
        (void)close(callers[i].fd);
    (void)close(listen_fd);
    return 0;
}
