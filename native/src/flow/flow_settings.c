#include "flow/flow_settings.h"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/output.h"
#include "base/token.h"
#include "datagrams/datagram_flow.h"
#include "datagrams/datagram_kind.h"
#include "flow/flow_flags.h"
#include "messages/message_flow.h"
#include "messages/message_kind.h"
#include "streams/stream_kind.h"

static bool parse_direction(struct pl_flow *flow, struct pl_error *error)
{
    static const char *const names[] = {"any", "forward", "reverse", "both", NULL};
    int first = flow->accepting ? 0 : 1; /* a sender has to choose */
    int direction = pl_parse_choice("direction", flow->direction_text, names + first, error) + first;
    if (direction < first)
        return false;
    bool forward = (direction & PL_HELLO_FORWARD) != 0;
    bool reverse = (direction & PL_HELLO_REVERSE) != 0;
    flow->transmits = flow->accepting ? reverse : forward;
    flow->receives = flow->accepting ? forward : reverse;
    return true;
}

static bool parse_cores(struct pl_flow *flow, struct pl_error *error)
{
    char entry[8];
    for (const char *at = flow->pin_text[0] == 0 ? NULL : flow->pin_text; at != NULL;) {
        int64_t core;
        if (flow->core_count == PL_MAX_WORKERS || !pl_next_entry(&at, entry, sizeof entry) ||
            !pl_parse_int64(entry, 0, CPU_SETSIZE - 1, &core))
            return pl_error_usage(error, "--pin: '%.40s' is not a list of cores such as 0,1", flow->pin_text);
        flow->cores[flow->core_count++] = (int)core;
    }
    return true;
}

/* Refuses flags that would have no effect with the transport. */
static bool check_transport(const struct pl_flow *flow, struct pl_error *error)
{
    enum pl_carrier carrier = flow->messages.carrier;
    bool by_stream = carrier == PL_CARRIER_STREAM;
    const char *name = by_stream ? pl_transport_name(flow->transport) : pl_carrier_name(carrier);
    const char *of_tcp = flow->congestion[0] != 0 ? "congestion"
                         : flow->mss_bytes > 0    ? "mss-bytes"
                         : flow->no_delay         ? "no-delay"
                         : flow->messages.cork    ? "cork"
                                                  : NULL;
    if (flow->window_bytes > 0 && !by_stream && carrier != PL_CARRIER_UDP)
        return pl_error_usage(error, "--window-bytes has no effect on --transport %s: leave it out", name);
    if (of_tcp != NULL && !(by_stream && pl_transport_is_tcp(flow->transport)))
        return pl_error_usage(error, "--%s is for TCP only: leave it out with --transport %s", of_tcp, name);
    if (flow->transport == PL_SCTP && flow->transmits && flow->receives)
        return pl_error_usage(
            error, "--direction both: an SCTP association ends in both directions at once: choose forward or "
                   "reverse for --transport sctp");
    if ((flow->transport != PL_TCP || flow->messages.carrier == PL_CARRIER_UDP) && !flow->datagrams.carried &&
        strcmp(flow->pacing_text, "kernel") == 0)
        return pl_error_usage(
            error, "--pacing kernel: the kernel paces TCP only: choose user for --transport %s", name);
    return true;
}

/* The transport of the streams, or what carries messages and the transport that its streams are admitted by.
 */
static bool parse_transport(struct pl_flow *flow, struct pl_error *error)
{
    const char *names[(int)PL_TRANSPORTS + (int)PL_CARRIERS];
    for (int t = 0; t < PL_TRANSPORTS; t++)
        names[t] = pl_transport_name((enum pl_transport)t);
    for (int c = 1; c < PL_CARRIERS; c++)
        names[(int)PL_TRANSPORTS + c - 1] = pl_carrier_name((enum pl_carrier)c);
    names[(int)PL_TRANSPORTS + (int)PL_CARRIERS - 1] = NULL;
    int chosen = pl_parse_choice("transport", flow->transport_text, names, error);
    if (chosen < 0)
        return false;
    flow->transport = (enum pl_transport)chosen;
    if (chosen < PL_TRANSPORTS)
        return true;
    enum pl_carrier carrier = (enum pl_carrier)(chosen - PL_TRANSPORTS + 1);
    flow->transport = pl_carrier_transport(carrier);
    flow->udp = carrier == PL_CARRIER_UDP;
    if (!flow->accepting) /* else the hello states it */
        flow->messages.carrier = carrier;
    return true;
}

static bool parse_words(struct pl_flow *flow, struct pl_error *error)
{
    static const char *const transfers[] = {"copy", "zero-copy", NULL};
    static const char *const details[] = {"none", "fields", "raw", NULL};
    if (!pl_output_parse(flow->output_text, &flow->human, error) || !parse_transport(flow, error) ||
        !parse_direction(flow, error) || !parse_cores(flow, error) || !pl_message_flow_check(flow, error))
        return false;
    int transfer = pl_parse_choice("transfer", flow->transfer_text, transfers, error);
    int detail = pl_parse_choice("tcp-info", flow->tcp_info_text, details, error);
    if (transfer < 0 || detail < 0)
        return false;
    if (flow->nice > 0 && flow->messages.priority > 0)
        return pl_error_usage(error, "--nice and --priority exclude each other");
    flow->zero_copy = transfer == 1;
    flow->tcp_info = (enum pl_tcp_info_detail)detail;
    if (!pl_datagram_flow_check(flow, error) || !check_transport(flow, error))
        return false;
    flow->open = flow->token_text[0] == 0;
    if (!pl_token_check(flow->token_text, error) ||
        (flow->accepting && !pl_port_range_parse(flow->port_text, &flow->ports, error)))
        return false;
    int64_t least = flow->messages.bytes > 0 ? flow->messages.bytes : 1;
    if (!flow->accepting && flow->bytes > 0 && flow->bytes / flow->streams < least)
        return pl_error_usage(error, "--bytes must be at least %lld for each of the %lld streams",
                              (long long)least, (long long)flow->streams);
    bool apart = flow->messages.placement == PL_PLACEMENT_APART;
    if (flow->receivers_text[0] != 0 && (flow->messages.bytes == 0 || flow->address[0] != 0))
        return pl_error_usage(error, "--receivers needs --message-bytes, and takes the place of --address");
    if (!apart && (flow->address[0] != 0 || !flow->transmits))
        return pl_error_usage(
            error, "--placement %s has source and sink in this process: leave out --address and --direction",
            pl_placement_name(flow->messages.placement));
    if (!flow->accepting && apart && flow->address[0] == 0 && flow->receivers_text[0] == 0)
        return pl_error_usage(error,
                              "--address is missing: name the receiver; see pathlab-engine send --help");
    return true;
}

bool pl_flow_adopt(struct pl_flow *flow, const struct pl_hello *hello)
{
    uint16_t direction = pl_flow_direction(flow);
    const uint16_t ways = PL_HELLO_FORWARD | PL_HELLO_REVERSE;
    bool known = (hello->flags & (uint16_t) ~(ways | PL_HELLO_REPLIES)) == 0 && (hello->flags & ways) != 0;
    if (!known || (direction != 0 && (direction & ways) != (hello->flags & ways)) || hello->streams == 0 ||
        hello->streams > PL_MAX_STREAMS || (flow->streams != 0 && flow->streams != (int64_t)hello->streams) ||
        hello->stream >= hello->streams || hello->warmup_ns < 0 || hello->warmup_ns > PL_MAX_WARMUP_NS ||
        hello->duration_ns < PL_MIN_DURATION_NS || hello->duration_ns > PL_MAX_DURATION_NS ||
        hello->bytes < 0 || (hello->bytes > 0 && hello->bytes < (int64_t)hello->streams) ||
        !pl_datagram_flow_agrees(flow, hello) || !pl_message_flow_adopt(flow, hello))
        return false;
    pl_datagram_flow_adopt(flow, hello);
    flow->receives = (hello->flags & PL_HELLO_FORWARD) != 0;
    flow->transmits = (hello->flags & PL_HELLO_REVERSE) != 0;
    flow->streams = hello->streams;
    if (flow->warmup_ns < 0)
        flow->warmup_ns = hello->warmup_ns;
    if (flow->duration_ns < 0)
        flow->duration_ns = hello->duration_ns;
    if (flow->bytes < 0)
        flow->bytes = hello->bytes;
    pl_flow_derive(flow);
    return true;
}

void pl_flow_derive(struct pl_flow *flow)
{
    flow->kind = flow->messages.bytes > 0  ? &pl_message_kind
                 : flow->datagrams.carried ? &pl_datagram_kind
                                           : &pl_stream_kind;
    flow->kind->derive(flow);
}

enum pl_options_outcome pl_flow_parse(struct pl_flow *flow, bool sending, int argc, char **argv,
                                      struct pl_error *error)
{
    *flow = (struct pl_flow){
        .address = "",
        .receivers_text = "",
        .bind = sending ? "" : PL_ANY_ADDRESS,
        .token_text = "",
        .congestion = "",
        .control = "",
        .output_text = "auto",
        .transport_text = "tcp",
        .transfer_text = "copy",
        .direction_text = sending ? "forward" : "any",
        .tcp_info_text = "fields",
        .pacing_text = "auto",
        .pin_text = "",
        .message_words = {.encoding = "fixed", .wait = "block", .placement = "apart"},
        .messages = {.queue_bytes = INT64_C(1) << 20},
        .port_text = PL_DEFAULT_PORT_TEXT,
        .marking = PL_UNMARKED,
        .port = PL_DEFAULT_PORT,
        .streams = sending ? 1 : 0,
        .warmup_ns = sending ? 0 : -1,
        .duration_ns = sending ? 10 * PL_NS_PER_S : -1,
        .bytes = sending ? 0 : -1,
        .interval_ns = PL_NS_PER_S,
        .flows = 1,
        .admission_timeout_ns = sending ? 10 * PL_NS_PER_S : 0,
        .idle_timeout_ns = sending ? 0 : PL_IDLE_TIMEOUT_UNSET,
        .drain_timeout_ns = 10 * PL_NS_PER_S,
        .memory_limit_bytes = INT64_C(1) << 30,
        .accepting = !sending,
    };
    enum pl_options_outcome outcome = pl_flow_read_flags(flow, argc, argv, error);
    if (outcome != PL_OPTIONS_OK)
        return outcome;
    if (!parse_words(flow, error))
        return PL_OPTIONS_WRONG;
    pl_flow_derive(flow);
    return PL_OPTIONS_OK;
}
