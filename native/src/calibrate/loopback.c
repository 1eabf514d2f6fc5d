#include "calibrate/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/limits.h"
#include "base/relaxed.h"
#include "flow/flow_settings.h"
#include "flow/pool.h"
#include "flow/sockopts.h"
#include "flow/stream.h"
#include "flow/tcp_info.h"

#define TCP_INFO_READS 8
/* Time for the drain, which is short over loopback. */
#define DRAIN_NS (10 * PL_NS_PER_S)

struct end {
    struct pl_flow flow;
    struct pl_stream *streams;
    struct pl_pool *pool;
};

static void describe_end(struct pl_flow *flow, const struct pl_loopback_settings *settings, bool accepting)
{
    *flow = (struct pl_flow){
        .congestion = settings->congestion,
        .pacing_text = "auto",
        .marking = PL_UNMARKED,
        .streams = settings->streams,
        .accepting = accepting,
        .transmits = !accepting,
        .receives = accepting,
        .zero_copy = settings->zero_copy,
    };
    pl_flow_derive(flow);
}

static int open_listener(const struct pl_flow *flow, struct sockaddr_in *address, struct pl_error *error)
{
    socklen_t length = sizeof *address;
    int fd = pl_open_stream_socket(AF_INET, flow, error);
    if (fd < 0)
        return -1;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0 && listen(fd, PL_MAX_STREAMS) == 0 &&
        getsockname(fd, (struct sockaddr *)address, &length) == 0)
        return fd;
    pl_error_set(error, PL_SETUP, "listen", errno, "cannot listen on 127.0.0.1");
    (void)close(fd);
    return -1;
}

/* Over loopback the TCP handshake completes within connect(). */
static bool connect_stream(int listen_fd, const struct sockaddr_in *address, struct pl_stream *from,
                           struct pl_stream *to, const struct pl_flow *flow, struct pl_error *error)
{
    from->fd = pl_open_stream_socket(AF_INET, flow, error);
    if (from->fd < 0)
        return false;
    if (connect(from->fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno != EINPROGRESS)
        return pl_error_set(error, PL_SETUP, "connect", errno, "cannot connect over 127.0.0.1");
    to->fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (to->fd >= 0)
        return true;
    return pl_error_set(error, PL_SETUP, "accept", errno, "cannot accept over 127.0.0.1");
}

static bool connect_ends(struct end *sender, struct end *receiver, struct pl_error *error)
{
    uint32_t count = (uint32_t)sender->flow.streams;
    struct sockaddr_in address;
    sender->streams = pl_streams_create(count, error);
    receiver->streams = pl_streams_create(count, error);
    if (sender->streams == NULL || receiver->streams == NULL ||
        !pl_raise_descriptor_limit(2 * (uint64_t)count + 64, error))
        return false;
    int listen_fd = open_listener(&receiver->flow, &address, error);
    bool connected = listen_fd >= 0;
    for (uint32_t i = 0; connected && i < count; i++)
        connected = connect_stream(listen_fd, &address, &sender->streams[i], &receiver->streams[i],
                                   &sender->flow, error);
    pl_close(listen_fd);
    return connected;
}

/* Waits until `deadline_ns` or a pool event. False with `error` set when a command ends the run. */
static bool wait_until(pl_ns deadline_ns, struct pl_events *events, const struct pl_pool *pool,
                       struct pl_error *error)
{
    struct pl_wait wait = {.deadline_ns = deadline_ns, .fds = {pool != NULL ? pl_pool_fd(pool) : -1, -1}};
    while (pl_now_ns() < deadline_ns) {
        enum pl_command command = pl_events_wait(events, &wait);
        if (pl_command_ends(command))
            return pl_error_set(error, PL_ENDED, "calibrate", 0, "%s", pl_command_reason(command));
        if (wait.ready[0])
            return true;
    }
    return true;
}

static uint64_t sum_received(const struct end *receiver)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < (uint32_t)receiver->flow.streams; i++)
        sum += pl_load_relaxed(&receiver->streams[i].received_bytes);
    return sum;
}

static pl_ns time_tcp_info(const struct end *sender)
{
    struct pl_tcp_info info;
    pl_ns begin_ns = pl_now_ns();
    for (int round = 0; round < TCP_INFO_READS; round++)
        for (uint32_t i = 0; i < (uint32_t)sender->flow.streams; i++)
            (void)pl_tcp_info_read(sender->streams[i].fd, &info, NULL);
    return (pl_now_ns() - begin_ns) / (TCP_INFO_READS * sender->flow.streams);
}

static int64_t sum_cpu(const struct pl_pool *pool)
{
    int64_t sum_ns = 0;
    for (uint32_t w = 0; w < pl_pool_workers(pool); w++) {
        struct pl_worker_usage usage = pl_pool_usage(pool, w);
        sum_ns += usage.user_ns + usage.system_ns;
    }
    return sum_ns;
}

static bool transfer(struct end *sender, struct end *receiver, const struct pl_loopback_settings *settings,
                     struct pl_events *events, struct pl_loopback_result *result, struct pl_error *error)
{
    pl_pool_run(receiver->pool);
    pl_pool_run(sender->pool);
    if (!wait_until(pl_now_ns() + settings->warmup_ns, events, NULL, error))
        return false;
    pl_ns begin_ns = pl_now_ns();
    uint64_t before = sum_received(receiver);
    if (!wait_until(begin_ns + settings->duration_ns, events, NULL, error))
        return false;
    result->length_ns = pl_now_ns() - begin_ns;
    result->bytes = sum_received(receiver) - before;
    result->tcp_info_ns = time_tcp_info(sender);
    pl_pool_shut(sender->pool);
    pl_ns deadline_ns = pl_now_ns() + DRAIN_NS;
    while (pl_pool_state(receiver->pool).closed < (uint32_t)receiver->flow.streams) {
        if (!wait_until(deadline_ns, events, receiver->pool, error))
            return false;
        pl_pool_clear_wake(receiver->pool);
        if (pl_pool_state(receiver->pool).failed_stream >= 0 || pl_now_ns() >= deadline_ns)
            return pl_error_set(error, PL_ENDED, "calibrate", 0,
                                "the streams over 127.0.0.1 failed or did not end");
    }
    return true;
}

bool pl_loopback_measure(const struct pl_loopback_settings *settings, struct pl_events *events,
                         struct pl_loopback_result *result, struct pl_error *error)
{
    struct end sender = {0};
    struct end receiver = {0};
    struct pl_socket_facts facts;
    *result = (struct pl_loopback_result){0};
    describe_end(&sender.flow, settings, false);
    describe_end(&receiver.flow, settings, true);
    bool ok = connect_ends(&sender, &receiver, error);
    if (ok)
        receiver.pool = pl_pool_start(&receiver.flow, receiver.streams, error);
    if (receiver.pool != NULL)
        sender.pool = pl_pool_start(&sender.flow, sender.streams, error);
    ok = sender.pool != NULL && transfer(&sender, &receiver, settings, events, result, error);
    if (ok) {
        pl_pool_join(sender.pool);
        pl_pool_join(receiver.pool);
        result->cpu_ns = sum_cpu(sender.pool) + sum_cpu(receiver.pool);
        result->cpu_bytes = sum_received(&receiver);
        result->sender_workers = sender.flow.workers;
        result->receiver_workers = receiver.flow.workers;
        pl_read_socket_facts(sender.streams[0].fd, &facts);
        memcpy(result->congestion, facts.congestion, sizeof result->congestion);
    }
    pl_pool_free(sender.pool);
    pl_pool_free(receiver.pool);
    pl_streams_free(sender.streams, (uint32_t)settings->streams);
    pl_streams_free(receiver.streams, (uint32_t)settings->streams);
    return ok;
}
