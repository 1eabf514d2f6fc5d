/* `send`: connects all streams, waits at the barrier, sends for the trial's time, and sees it drained. */
#include "caller.h"
#include "conductor.h"
#include "program.h"
#include "sockopts.h"
#include "subcommands.h"

static bool connect_streams(struct pl_conductor *conductor, struct pl_error *error)
{
    const struct pl_flow *flow = &conductor->flow;
    struct pl_caller *caller = pl_caller_open(flow, conductor->streams, error);
    if (caller == NULL)
        return false;
    struct pl_wait wait = {.deadline_ns = pl_now_ns() + flow->greet_timeout_ns,
                           .fds = {pl_caller_fd(caller), -1}};
    bool well = pl_caller_serve(caller, error);
    while (well && (int64_t)pl_caller_admitted(caller) < flow->streams) {
        enum pl_command command = pl_events_wait(conductor->events, &wait);
        well = pl_caller_serve(caller, error);
        if (well && pl_command_ends(command)) {
            pl_conductor_early_end(command, "connect", error);
            well = false;
        } else if (well && pl_now_ns() >= wait.deadline_ns &&
                   (int64_t)pl_caller_admitted(caller) < flow->streams) {
            pl_error_set(error, PL_SETUP, "connect", 0,
                         "%u of %lld streams were admitted by %.64s port %lld within --connect-timeout-ns",
                         pl_caller_admitted(caller), (long long)flow->streams, flow->address,
                         (long long)flow->port);
            well = false;
        }
    }
    pl_caller_close(caller);
    return well;
}

static bool write_ready(const struct pl_conductor *conductor)
{
    const struct pl_flow *flow = &conductor->flow;
    struct pl_json j = {0};
    struct pl_socket_facts facts;
    pl_read_socket_facts(conductor->streams[0].fd, &facts);
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "ready");
    pl_json_i64(&j, "streams", flow->streams);
    pl_json_u64(&j, "workers", pl_pool_workers(conductor->pool));
    pl_json_i64(&j, "write_bytes", flow->chunk_bytes);
    pl_write_window(&j, flow->window_bytes, facts.sndbuf_bytes, facts.rcvbuf_bytes);
    pl_streams_write_sockets(&j, conductor->streams, (uint32_t)flow->streams);
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    return written;
}

/* False when the run ends before it began. */
static bool await_go(struct pl_conductor *conductor)
{
    struct pl_wait wait = {.deadline_ns = PL_NEVER, .fds = {-1, -1}};
    while (pl_events_controlled(conductor->events)) {
        enum pl_command command = pl_events_wait(conductor->events, &wait);
        if (command == PL_COMMAND_GO)
            return true;
        if (pl_command_ends(command)) {
            conductor->reason = pl_command_reason(command);
            return false;
        }
    }
    return true;
}

static void send_all(struct pl_conductor *conductor)
{
    struct pl_wait wait = {.fds = {pl_pool_fd(conductor->pool), -1}};
    conductor->written = pl_trial_start(conductor->trial, pl_now_ns());
    pl_pool_run(conductor->pool);
    const char *ending = NULL; /* why it drains before its time */
    while (conductor->written && conductor->reason == NULL) {
        wait.deadline_ns = pl_conductor_deadline_ns(conductor);
        enum pl_command command = pl_events_wait(conductor->events, &wait);
        if (pl_conductor_tick(conductor))
            pl_pool_shut(conductor->pool);
        if (command == PL_COMMAND_SIGNAL || command == PL_COMMAND_GONE)
            conductor->reason = pl_command_reason(command);
        if (command == PL_COMMAND_STOP) {
            ending = pl_command_reason(command);
            pl_conductor_begin_drain(conductor);
            pl_pool_shut(conductor->pool);
        }
        if (pl_pool_capped(conductor->pool) && ending == NULL) {
            ending = "the limit of --max-bytes was reached";
            pl_conductor_begin_drain(conductor);
            pl_pool_shut(conductor->pool); /* wakes the workers that did not meet the limit themselves */
        }
        if (wait.ready[0] && pl_conductor_hear_pool(conductor))
            break;
    }
    if (conductor->reason == NULL)
        conductor->reason = ending;
}

int pl_send_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct pl_conductor conductor = {0};
    switch (pl_flow_parse(&conductor.flow, true, argc, argv, &error)) {
    case PL_OPTIONS_HELP:
        return PL_OK;
    case PL_OPTIONS_WRONG:
        return pl_error_report(&error, "send");
    case PL_OPTIONS_OK:
        break;
    }
    if (!pl_program_hello("send"))
        return PL_RESOURCES;
    int status;
    if (pl_conductor_open(&conductor, &error) && connect_streams(&conductor, &error) &&
        pl_conductor_start_workers(&conductor, true, &error)) {
        conductor.written = write_ready(&conductor);
        if (conductor.written && await_go(&conductor))
            send_all(&conductor);
        status = pl_conductor_finish(&conductor, -1);
    } else {
        status = pl_error_report(&error, "send");
    }
    pl_conductor_close(&conductor);
    return status;
}
