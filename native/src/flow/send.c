/* `send`: connects all streams, waits at the barrier, carries bytes for the trial's time, and sees it
 * drained. */
#include "base/limits.h"
#include "base/program.h"
#include "base/subcommands.h"
#include "base/token.h"
#include "flow/caller.h"
#include "flow/conductor.h"

static bool connect_streams(struct pl_conductor *conductor, struct pl_error *error)
{
    const struct pl_flow *flow = &conductor->flow;
    struct pl_caller *caller = pl_caller_open(flow, conductor->streams, error);
    if (caller == NULL)
        return false;
    pl_ns end_ns = pl_now_ns() + flow->greet_timeout_ns;
    bool limited = conductor->limit_ns < end_ns;
    end_ns = limited ? conductor->limit_ns : end_ns;
    struct pl_wait wait = {.deadline_ns = end_ns, .fds = {pl_caller_fd(caller), -1}};
    bool well = pl_caller_serve(caller, error);
    while (well && (int64_t)pl_caller_admitted(caller) < flow->streams) {
        enum pl_command command = pl_events_wait(conductor->events, &wait);
        well = pl_caller_serve(caller, error);
        if (well && pl_command_ends(command)) {
            pl_conductor_early_end(command, "connect", error);
            well = false;
        } else if (well && pl_now_ns() >= end_ns && (int64_t)pl_caller_admitted(caller) < flow->streams) {
            pl_error_set(error, limited ? PL_ENDED : PL_SETUP, "connect", 0,
                         "%u of %lld streams were admitted by %.64s port %lld within %s",
                         pl_caller_admitted(caller), (long long)flow->streams, flow->address,
                         (long long)flow->port, limited ? "--time-limit-ns" : "--connect-timeout-ns");
            well = false;
        }
    }
    pl_caller_close(caller);
    return well;
}

/* False when the run ends before it began. */
static bool await_go(struct pl_conductor *conductor)
{
    struct pl_wait wait = {.deadline_ns = conductor->limit_ns, .fds = {-1, -1}};
    while (pl_events_controlled(conductor->events)) {
        enum pl_command command = pl_events_wait(conductor->events, &wait);
        if (command == PL_COMMAND_GO)
            return true;
        if (pl_command_ends(command)) {
            conductor->reason = pl_command_reason(command);
            return false;
        }
        if (pl_now_ns() >= conductor->limit_ns) {
            conductor->reason = "the limit of --time-limit-ns was reached";
            return false;
        }
    }
    return true;
}

static int refuse(const struct pl_flow *flow, const struct pl_error *error)
{
    return flow->human ? pl_error_say(error, "send") : pl_error_report(error, "send");
}

static int run(struct pl_conductor *conductor, struct pl_error *error)
{
    struct pl_flow *flow = &conductor->flow;
    if (!pl_token_take(flow->token_text, flow->token, error) ||
        !pl_limit_memory(flow->memory_limit_bytes, error) || !pl_conductor_open(conductor, error) ||
        !connect_streams(conductor, error) || !pl_conductor_prepare(conductor, error))
        return refuse(flow, error);
    if (conductor->written && await_go(conductor))
        pl_conductor_run(conductor, error);
    return pl_conductor_finish(conductor);
}

int pl_send_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct pl_conductor conductor = {0};
    switch (pl_flow_parse(&conductor.flow, true, argc, argv, &error)) {
    case PL_OPTIONS_HELP:
        return PL_OK;
    case PL_OPTIONS_WRONG:
        return pl_program_refuse("send", &error);
    case PL_OPTIONS_OK:
        break;
    }
    if (!conductor.flow.human && !pl_program_hello("send"))
        return PL_RESOURCES;
    struct pl_events *events = pl_events_open(conductor.flow.control, &error);
    conductor.events = events;
    int status = events != NULL ? run(&conductor, &error) : refuse(&conductor.flow, &error);
    pl_conductor_close(&conductor);
    pl_events_close(events);
    return status;
}
