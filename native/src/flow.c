#include "flow.h"

#include <sched.h>

#include "clock.h"

#define HOUR_NS (3600 * PL_NS_PER_S)
#define COMMON_OPTIONS 12

static int64_t count_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void fill_common(struct pl_flow *flow, struct pl_option table[COMMON_OPTIONS])
{
    const struct pl_option common[COMMON_OPTIONS] = {
        {.name = "token",
         .kind = PL_OPTION_STRING,
         .target = &flow->token_text,
         .required = true,
         .help = "token of the trial, 32 hexadecimal digits"},
        {.name = "streams",
         .kind = PL_OPTION_INT64,
         .target = &flow->streams,
         .minimum = 1,
         .maximum = PL_MAX_STREAMS,
         .help = "connections of the flow"},
        {.name = "window-bytes",
         .kind = PL_OPTION_INT64,
         .target = &flow->window_bytes,
         .maximum = INT32_MAX / 2,
         .help = "SO_SNDBUF and SO_RCVBUF asked for per stream; 0: autotuning"},
        {.name = "congestion",
         .kind = PL_OPTION_STRING,
         .target = &flow->congestion,
         .help = "congestion control; empty: the kernel's default"},
        {.name = "warmup-ns",
         .kind = PL_OPTION_INT64,
         .target = &flow->warmup_ns,
         .maximum = HOUR_NS,
         .help = "time before the steady window"},
        {.name = "duration-ns",
         .kind = PL_OPTION_INT64,
         .target = &flow->duration_ns,
         .minimum = PL_NS_PER_MS,
         .maximum = 24 * HOUR_NS,
         .help = "length of the steady window"},
        {.name = "interval-ns",
         .kind = PL_OPTION_INT64,
         .target = &flow->interval_ns,
         .minimum = 10 * PL_NS_PER_MS,
         .maximum = 10 * PL_NS_PER_S,
         .help = "time between two interval records"},
        {.name = "workers",
         .kind = PL_OPTION_INT64,
         .target = &flow->workers,
         .maximum = 256,
         .help = "worker threads; 0: as many as cores or streams, whichever is less"},
        {.name = "drain-timeout-ns",
         .kind = PL_OPTION_INT64,
         .target = &flow->drain_timeout_ns,
         .maximum = HOUR_NS,
         .help = "time that the end of the streams may take after the steady window"},
        {.name = "max-bytes",
         .kind = PL_OPTION_INT64,
         .target = &flow->max_bytes,
         .maximum = INT64_MAX,
         .help = "end at this many bytes, exceeded by at most one read or write per worker; 0: no limit"},
        {.name = "bind", .kind = PL_OPTION_STRING, .target = &flow->bind, .help = "own numeric address"},
        {.name = "control",
         .kind = PL_OPTION_STRING,
         .target = &flow->control,
         .help = "stdin: read the commands go and stop from there"},
    };
    for (int i = 0; i < COMMON_OPTIONS; i++)
        table[i] = common[i];
}

static enum pl_options_outcome parse_send(struct pl_flow *flow, int argc, char **argv, struct pl_error *error)
{
    struct pl_option table[COMMON_OPTIONS + 4] = {
        {.name = "address",
         .kind = PL_OPTION_STRING,
         .target = &flow->address,
         .required = true,
         .help = "numeric address of the receiver"},
        {.name = "port",
         .kind = PL_OPTION_INT64,
         .target = &flow->port,
         .minimum = 1,
         .maximum = 65535,
         .required = true,
         .help = "port of the receiver"},
        {.name = "write-bytes",
         .kind = PL_OPTION_INT64,
         .target = &flow->chunk_bytes,
         .maximum = 16 << 20,
         .help = "bytes of one write; 0: 131072, at most a quarter of the window asked"},
        {.name = "connect-timeout-ns",
         .kind = PL_OPTION_INT64,
         .target = &flow->greet_timeout_ns,
         .minimum = PL_NS_PER_MS,
         .maximum = HOUR_NS,
         .help = "time until every stream must be admitted"},
    };
    fill_common(flow, table + 4);
    const struct pl_options options = {
        .subcommand = "send",
        .about = "Sends bytes over many TCP streams to `pathlab-engine receive`.",
        .table = table,
        .count = sizeof table / sizeof table[0],
    };
    return pl_options_parse(&options, argc, argv, error);
}

static enum pl_options_outcome parse_receive(struct pl_flow *flow, int argc, char **argv,
                                             struct pl_error *error)
{
    struct pl_option table[COMMON_OPTIONS + 3] = {
        {.name = "port",
         .kind = PL_OPTION_INT64,
         .target = &flow->port,
         .maximum = 65535,
         .help = "port to listen on; 0: any"},
        {.name = "read-bytes",
         .kind = PL_OPTION_INT64,
         .target = &flow->chunk_bytes,
         .minimum = 1,
         .maximum = 16 << 20,
         .help = "bytes of one read"},
        {.name = "accept-timeout-ns",
         .kind = PL_OPTION_INT64,
         .target = &flow->greet_timeout_ns,
         .minimum = PL_NS_PER_MS,
         .maximum = HOUR_NS,
         .help = "time until every stream must be admitted"},
    };
    fill_common(flow, table + 3);
    const struct pl_options options = {
        .subcommand = "receive",
        .about = "Admits the streams of one flow that present the token, and counts their bytes.",
        .table = table,
        .count = sizeof table / sizeof table[0],
    };
    return pl_options_parse(&options, argc, argv, error);
}

static void settle(struct pl_flow *flow, bool sending)
{
    int64_t cores = count_cores();
    if (flow->workers == 0)
        flow->workers = cores;
    if (flow->workers > flow->streams)
        flow->workers = flow->streams;
    if (!sending || flow->chunk_bytes != 0)
        return;
    flow->chunk_bytes = 131072;
    if (flow->window_bytes > 0 && flow->chunk_bytes > flow->window_bytes / 4)
        flow->chunk_bytes = flow->window_bytes / 4 > 0 ? flow->window_bytes / 4 : 1;
}

enum pl_options_outcome pl_flow_parse(struct pl_flow *flow, bool sending, int argc, char **argv,
                                      struct pl_error *error)
{
    *flow = (struct pl_flow){
        .bind = sending ? "" : "0.0.0.0",
        .congestion = "",
        .control = "",
        .streams = 1,
        .duration_ns = 10 * PL_NS_PER_S,
        .interval_ns = 100 * PL_NS_PER_MS,
        .chunk_bytes = sending ? 0 : 131072,
        .greet_timeout_ns = 10 * PL_NS_PER_S,
        .drain_timeout_ns = 10 * PL_NS_PER_S,
    };
    enum pl_options_outcome outcome =
        sending ? parse_send(flow, argc, argv, error) : parse_receive(flow, argc, argv, error);
    if (outcome != PL_OPTIONS_OK)
        return outcome;
    if (!pl_token_parse(flow->token_text, flow->token)) {
        pl_error_set(error, PL_USAGE, "options", 0, "--token must be 32 hexadecimal digits");
        return PL_OPTIONS_WRONG;
    }
    settle(flow, sending);
    return PL_OPTIONS_OK;
}
