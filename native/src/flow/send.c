/* `send`: connects all streams, waits at the barrier, carries bytes for the trial's time, and drains. */
#include "base/limits.h"
#include "base/lower_priority.h"
#include "base/program.h"
#include "base/subcommands.h"
#include "base/token.h"
#include "flow/connector.h"
#include "flow/flow_settings.h"
#include "flow/session.h"

static bool connect_streams(struct pl_session *session, struct pl_error *error)
{
    struct pl_flow *flow = &session->flow;
    struct pl_connector *connector = pl_connector_open(flow, session->streams, error);
    if (connector == NULL)
        return false;
    pl_ns end_ns = pl_now_ns() + flow->admission_timeout_ns;
    bool limited = session->limit_ns < end_ns;
    end_ns = limited ? session->limit_ns : end_ns;
    struct pl_wait wait = {.deadline_ns = end_ns, .fds = {pl_connector_fd(connector), -1}};
    bool ok = pl_connector_serve(connector, error);
    while (ok && (int64_t)pl_connector_admitted(connector) < flow->streams) {
        enum pl_command command = pl_events_wait(session->events, &wait);
        ok = pl_connector_serve(connector, error);
        if (ok && pl_command_ends(command))
            ok = pl_session_early_end(command, "connect", error);
        else if (ok && pl_now_ns() >= end_ns && (int64_t)pl_connector_admitted(connector) < flow->streams)
            ok = pl_error_set(error, limited ? PL_ENDED : PL_SETUP, "connect", 0,
                              "%u of %lld streams were admitted by %.64s port %lld within %s",
                              pl_connector_admitted(connector), (long long)flow->streams, flow->address,
                              (long long)flow->port, limited ? "--time-limit-ns" : "--connect-timeout-ns");
    }
    pl_connector_close(connector);
    return ok;
}

/* False when the run ends before its start. */
static bool await_go(struct pl_session *session)
{
    struct pl_wait wait = {.deadline_ns = session->limit_ns, .fds = {-1, -1}};
    while (pl_events_controlled(session->events)) {
        enum pl_command command = pl_events_wait(session->events, &wait);
        if (command == PL_COMMAND_GO)
            return true;
        if (pl_command_ends(command)) {
            session->reason = pl_command_reason(command);
            return false;
        }
        if (pl_now_ns() >= session->limit_ns) {
            session->reason = "the limit of --time-limit-ns was reached";
            return false;
        }
    }
    return true;
}

static int run(struct pl_session *session, struct pl_error *error)
{
    struct pl_flow *flow = &session->flow;
    if (!pl_token_read(flow->token_text, flow->token, error) ||
        !pl_limit_memory(flow->memory_limit_bytes, error) || !pl_lower_priority(flow->nice, error) ||
        !pl_session_open(session, error) ||
        (flow->messages.placement == PL_PLACEMENT_APART && !connect_streams(session, error)) ||
        !pl_session_prepare(session, error))
        return pl_error_output(error, "send", flow->human);
    if (session->written && await_go(session))
        pl_session_run(session, error);
    return pl_session_finish(session);
}

int pl_send_main(int argc, char **argv)
{
    struct pl_error error = {0};
    struct pl_session session = {0};
    enum pl_options_outcome outcome = pl_flow_parse(&session.flow, true, argc, argv, &error);
    int status;
    if (!pl_program_begin("send", outcome, session.flow.human, &error, &status))
        return status;
    struct pl_events *events = pl_events_open(session.flow.control, &error);
    session.events = events;
    status = events != NULL ? run(&session, &error) : pl_error_output(&error, "send", session.flow.human);
    pl_session_close(&session);
    pl_events_close(events);
    return status;
}
