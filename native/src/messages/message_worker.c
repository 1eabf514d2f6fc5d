#include "messages/message_worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/message.h"
#include "messages/roles.h"

#define WAKE_SIGNAL SIGUSR1
#define START_POLL_MS 100

uint32_t pl_message_workers(const struct pl_flow *flow)
{
    const struct pl_message_settings *messages = &flow->messages;
    uint32_t streams = (uint32_t)flow->streams;
    if (messages->placement != PL_PLACEMENT_APART)
        return messages->placement == PL_PLACEMENT_THREADED ? 2 * streams : streams;
    if (!messages->replies && flow->transmits)
        return flow->workers > 0 && flow->workers < flow->streams ? (uint32_t)flow->workers : 1;
    bool pairs = messages->replies && !flow->accepting && messages->rate_per_s > 0 && !messages->polls;
    return pairs ? 2 * streams : streams;
}

static enum pl_role find_role(const struct pl_flow *flow, uint32_t worker)
{
    const struct pl_message_settings *messages = &flow->messages;
    if (messages->placement == PL_PLACEMENT_FUSED)
        return PL_ROLE_FUSED;
    if (messages->placement == PL_PLACEMENT_THREADED)
        return worker < (uint32_t)flow->streams ? PL_ROLE_SINK : PL_ROLE_SOURCE;
    if (!messages->replies)
        return flow->transmits ? PL_ROLE_SOURCE : PL_ROLE_SINK;
    if (flow->accepting)
        return PL_ROLE_RELAY;
    if (messages->rate_per_s == 0)
        return PL_ROLE_ASKER;
    if (messages->polls)
        return PL_ROLE_POLLER;
    return worker < (uint32_t)flow->streams ? PL_ROLE_RECEIVER : PL_ROLE_SENDER;
}

static void on_signal(int number)
{
    (void)number;
}

bool pl_message_prepare(struct pl_worker *worker, const struct pl_flow *flow, uint32_t number, uint32_t lanes,
                        struct pl_error *error)
{
    (void)lanes;
    (void)error;
    /* Without SA_RESTART, so that the call returns. */
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(WAKE_SIGNAL, &action, NULL);
    worker->role = (int)find_role(flow, number);
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_channel *channel = &worker->streams[i]->endpoint->channel;
        channel->is_over = pl_role_is_over;
        channel->context = worker;
    }
    return true;
}

void pl_message_kick(const struct pl_worker *worker)
{
    if (worker->started)
        (void)pthread_kill(worker->thread, WAKE_SIGNAL);
}

/* The accepting end of a flow begins when the peer's first byte comes, which the connecting end sends where
 * it has no data to send. False when the stream ended before. */
static bool exchange_start(struct pl_worker *worker)
{
    static const uint8_t go = 'g';
    const struct pl_shared *shared = worker->shared;
    bool reverse = shared->accepting ? shared->transmits && !shared->receives : !shared->transmits;
    for (uint32_t i = 0; reverse && i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[i];
        int cause = 0;
        if (!shared->accepting) {
            cause = pl_message_send(stream->fd, &go, sizeof go, true);
        } else {
            struct pollfd event = {.fd = stream->fd, .events = POLLIN};
            uint8_t byte;
            ssize_t count = -1;
            while (!pl_role_is_over(worker) && (count = recv(stream->fd, &byte, 1, MSG_DONTWAIT)) < 0 &&
                   (errno == EAGAIN || errno == EINTR))
                (void)poll(&event, 1, START_POLL_MS);
            cause = count == 1 ? 0 : count == 0 ? EPIPE : pl_role_is_over(worker) ? ECANCELED : errno;
            if (cause == 0)
                pl_worker_record_first_byte(worker, pl_now_ns());
        }
        if (cause != 0) {
            pl_role_end_stream(worker, stream, cause);
            return false;
        }
    }
    return true;
}

void pl_message_worker_run(struct pl_worker *worker)
{
    static void (*const bodies[])(struct pl_worker *) = {
        [PL_ROLE_SOURCE] = pl_source_run, [PL_ROLE_SINK] = pl_sink_run,
        [PL_ROLE_RELAY] = pl_relay_run,   [PL_ROLE_ASKER] = pl_asker_run,
        [PL_ROLE_SENDER] = pl_sender_run, [PL_ROLE_RECEIVER] = pl_receiver_run,
        [PL_ROLE_POLLER] = pl_poller_run, [PL_ROLE_FUSED] = pl_fused_run,
    };
    if (exchange_start(worker))
        bodies[worker->role](worker);
    pl_role_publish(worker, pl_now_ns());
}
