/* `receive`: admits the streams of one flow, reads them to their ends, and states what came. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "conductor.h"
#include "greeting.h"
#include "program.h"
#include "sockopts.h"
#include "subcommands.h"

/* What may be missing at the end of the steady window before the trial counts as cut short: a part of it, and
 * at least what two clocks' wake-ups may differ by. */
#define SHORTFALL_RATIO 0.01
#define SHORTFALL_NS (50 * PL_NS_PER_MS)

/* A listening socket with the window set before listen, so that its connections offer it from the first
 * segment. */
static int open_listener(const struct pl_flow *flow, struct pl_error *error)
{
    struct pl_address address;
    if (!pl_address_parse(flow->bind, (uint16_t)flow->port, "bind", &address, error) ||
        !pl_raise_descriptor_limit((uint64_t)(flow->streams + 2 * flow->workers) + PL_GREETING_SPARE + 64,
                                   error))
        return -1;
    int fd = pl_open_stream_socket(pl_address_family(&address), flow->window_bytes, flow->congestion, error);
    if (fd < 0)
        return -1;
    const int one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&address.storage, address.length) != 0)
        pl_error_set(error, PL_SETUP, "bind", errno,
                     errno == EADDRINUSE ? "port %lld of %.64s is already taken"
                                         : "cannot use port %lld of %.64s",
                     (long long)flow->port, flow->bind);
    else if (listen(fd, PL_MAX_STREAMS) !=
             0) /* a burst of strangers must not cost a stream its first second */
        pl_error_set(error, PL_SETUP, "listen", errno, "cannot listen on port %lld of %.64s",
                     (long long)flow->port, flow->bind);
    else
        return fd;
    (void)close(fd);
    return -1;
}

static bool write_listening(const struct pl_conductor *conductor, int listen_fd)
{
    struct pl_json j = {0};
    struct pl_socket_facts facts;
    struct pl_address address;
    char text[PL_ADDRESS_TEXT_BYTES] = "";
    pl_read_socket_facts(listen_fd, &facts);
    if (pl_address_of_socket(listen_fd, &address))
        pl_address_text(&address, text);
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "listening");
    pl_json_string(&j, "address", text);
    pl_write_known(&j, "port", facts.local_port);
    pl_write_window(&j, conductor->flow.window_bytes, facts.sndbuf_bytes, facts.rcvbuf_bytes);
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    return written;
}

static bool write_ready(const struct pl_conductor *conductor, const struct pl_door *door)
{
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "ready");
    pl_json_i64(&j, "streams", conductor->flow.streams);
    pl_json_u64(&j, "rejected", pl_door_rejected(door));
    pl_json_u64(&j, "workers", pl_pool_workers(conductor->pool));
    pl_streams_write_sockets(&j, conductor->streams, (uint32_t)conductor->flow.streams);
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    return written;
}

static bool admit_streams(struct pl_conductor *conductor, struct pl_door *door, struct pl_error *error)
{
    const struct pl_flow *flow = &conductor->flow;
    pl_ns end_ns = pl_now_ns() + flow->greet_timeout_ns;
    struct pl_wait wait = {.fds = {pl_door_fd(door), -1}};
    while ((int64_t)pl_door_admitted(door) < flow->streams) {
        wait.deadline_ns = pl_door_deadline_ns(door) < end_ns ? pl_door_deadline_ns(door) : end_ns;
        enum pl_command command = pl_events_wait(conductor->events, &wait);
        if (!pl_door_serve(door, error))
            return false;
        if (pl_command_ends(command)) {
            pl_conductor_early_end(command, "accept", error);
            return false;
        }
        if (pl_now_ns() >= end_ns && (int64_t)pl_door_admitted(door) < flow->streams) {
            pl_error_set(
                error, PL_ENDED, "accept", 0,
                "%u of %lld streams came within --accept-timeout-ns; %llu strangers were turned away",
                pl_door_admitted(door), (long long)flow->streams, (unsigned long long)pl_door_rejected(door));
            return false;
        }
    }
    return true;
}

static void hold_windows(const struct pl_conductor *conductor)
{
    for (int64_t i = 0; conductor->flow.window_bytes > 0 && i < conductor->flow.streams; i++)
        pl_hold_window(conductor->streams[i].fd, conductor->flow.window_bytes);
}

/* Every stream has ended: whether that was before the steady window was over. */
static void judge_end(struct pl_conductor *conductor)
{
    const struct pl_flow *flow = &conductor->flow;
    pl_ns first_ns = pl_pool_first_byte_ns(conductor->pool);
    pl_ns missing_ns = first_ns + flow->warmup_ns + flow->duration_ns - pl_now_ns();
    if (conductor->reason != NULL)
        return;
    if (first_ns == 0)
        conductor->reason = "the sender ended before it sent anything";
    else if (missing_ns > SHORTFALL_NS && (double)missing_ns > SHORTFALL_RATIO * (double)flow->duration_ns)
        conductor->reason = "the sender ended before the steady window was over";
}

static void receive_all(struct pl_conductor *conductor, struct pl_door *door, struct pl_error *error)
{
    struct pl_wait wait = {.fds = {pl_pool_fd(conductor->pool), pl_door_fd(door)}};
    hold_windows(conductor);
    pl_pool_run(conductor->pool);
    while (conductor->written && conductor->reason == NULL) {
        wait.deadline_ns = pl_conductor_deadline_ns(conductor);
        if (pl_door_deadline_ns(door) < wait.deadline_ns)
            wait.deadline_ns = pl_door_deadline_ns(door);
        enum pl_command command = pl_events_wait(conductor->events, &wait);
        if (pl_command_ends(command))
            conductor->reason = pl_command_reason(command);
        if ((wait.ready[1] || pl_door_deadline_ns(door) <= pl_now_ns()) && !pl_door_serve(door, error))
            conductor->reason = error->text;
        bool ended = wait.ready[0] && pl_conductor_hear_pool(conductor);
        pl_ns first_ns = pl_pool_first_byte_ns(conductor->pool);
        if (first_ns != 0 && !pl_trial_started(conductor->trial))
            conductor->written = pl_trial_start(conductor->trial, first_ns) && conductor->written;
        if (pl_trial_next_ns(conductor->trial) <= pl_now_ns())
            hold_windows(conductor);
        (void)pl_conductor_tick(conductor);
        if (pl_pool_capped(conductor->pool) && conductor->reason == NULL)
            conductor->reason = "the limit of --max-bytes was reached";
        if (ended) {
            judge_end(conductor);
            break;
        }
    }
}

static int run(struct pl_conductor *conductor, int *listen_fd, struct pl_door **door, struct pl_error *error)
{
    if (!pl_conductor_open(conductor, error))
        return pl_error_report(error, "receive");
    *listen_fd = open_listener(&conductor->flow, error);
    if (*listen_fd >= 0)
        *door = pl_door_open(*listen_fd, &conductor->flow, conductor->streams, error);
    if (*door == NULL)
        return pl_error_report(error, "receive");
    if (!write_listening(conductor, *listen_fd))
        return PL_RESOURCES;
    if (!admit_streams(conductor, *door, error) || !pl_conductor_start_workers(conductor, false, error))
        return pl_error_report(error, "receive");
    conductor->written = write_ready(conductor, *door);
    receive_all(conductor, *door, error);
    return pl_conductor_finish(conductor, (int64_t)pl_door_rejected(*door));
}

int pl_receive_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct pl_conductor conductor = {0};
    switch (pl_flow_parse(&conductor.flow, false, argc, argv, &error)) {
    case PL_OPTIONS_HELP:
        return PL_OK;
    case PL_OPTIONS_WRONG:
        return pl_error_report(&error, "receive");
    case PL_OPTIONS_OK:
        break;
    }
    if (!pl_program_hello("receive"))
        return PL_RESOURCES;
    int listen_fd = -1;
    struct pl_door *door = NULL;
    int status = run(&conductor, &listen_fd, &door, &error);
    pl_door_close(door);
    if (listen_fd >= 0)
        (void)close(listen_fd);
    pl_conductor_close(&conductor);
    return status;
}
