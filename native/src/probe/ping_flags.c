#include "probe/ping_flags.h"

#include "base/clock.h"
#include "base/output.h"
#include "base/token.h"
#include "probe/probe_socket.h"

#define PENDING_INTERVALS 100

static const char probes[] = "Probes";
static const char socket_group[] = "Socket";
static const char control[] = "Control";

static enum pl_options_outcome read_flags(struct pl_ping_flags *flags, int argc, char **argv,
                                          struct pl_error *error)
{
    const struct pl_option table[] = {
        pl_output_option("Output", &flags->output_text),
        pl_option_required(pl_option_positional(probes, "address", &flags->address,
                                                "host to probe: a name or a numeric address")),
        pl_option_text(probes, "method", &flags->method_text,
                       "auto, icmp-datagram, icmp-raw, udp or tcp (the last two to `pathlab-engine echo`)"),
        pl_option_integer(probes, "port", &flags->port, 0, 65535, "udp, tcp: port of the echo"),
        pl_option_text(probes, "token", &flags->token_text,
                       "udp, tcp: the echo's token, 32 hexadecimal digits or stdin: its first line"),
        pl_option_integer(probes, "count", &flags->count, 0, INT64_MAX, "probes to send; 0: until stopped"),
        pl_option_integer(probes, "interval-ns", &flags->interval_ns, 100000, 3600 * PL_NS_PER_S,
                          "time between two probes"),
        pl_option_integer(probes, "histogram-interval-ns", &flags->histogram_interval_ns, 0,
                          3600 * PL_NS_PER_S,
                          "a record with a histogram for so long, instead of one for each probe; 0: none"),
        pl_option_integer(probes, "payload-bytes", &flags->payload_bytes, 0, PL_PROBE_PAYLOAD_MAX,
                          "data in one probe; 0: 56, by udp and tcp 100"),
        pl_option_integer(probes, "timeout-ns", &flags->timeout_ns, PL_NS_PER_MS, 3600 * PL_NS_PER_S,
                          "a probe without an answer for this time is given up"),
        pl_option_integer(probes, "timeout-max-ns", &flags->timeout_max_ns, 0, 3600 * PL_NS_PER_S,
                          "the time-out grows up to this with the round trips, to three times the longest"),
        pl_option_integer(probes, "final-wait-ns", &flags->final_wait_ns, 0, 3600 * PL_NS_PER_S,
                          "the wait after the last probe where none of the latest probes was answered"),
        pl_option_integer(probes, "overdue-ns", &flags->overdue_ns, 0, 3600 * PL_NS_PER_S,
                          "a record of each probe that is not answered after this time; 0: none"),
        pl_option_text(socket_group, "bind", &flags->bind, "own numeric address"),
        pl_option_text(socket_group, "device", &flags->marking.device, "device to use (SO_BINDTODEVICE)"),
        pl_option_integer(socket_group, "dscp", &flags->marking.dscp, -1, 63,
                          "differentiated services code point; -1: none set"),
        pl_option_integer(socket_group, "ecn", &flags->marking.ecn, -1, 3, "ECN bits; -1: none set"),
        pl_option_integer(socket_group, "fwmark", &flags->marking.fwmark, -1, UINT32_MAX,
                          "mark for routing and firewall; -1: none"),
        pl_option_text(control, "control", &flags->control, "stdin: read the command stop from there"),
    };
    return pl_options_parse(PL_OPTIONS("ping", "Probes the round trip of a path at even intervals.", table),
                            argc, argv, error);
}

enum pl_options_outcome pl_ping_flags_parse(struct pl_ping_flags *flags, int argc, char **argv,
                                            struct pl_error *error)
{
    *flags = (struct pl_ping_flags){
        .method_text = "auto",
        .token_text = "",
        .bind = "",
        .control = "",
        .output_text = "auto",
        .marking = PL_UNMARKED,
        .interval_ns = PL_NS_PER_S,
        .timeout_ns = 2 * PL_NS_PER_S,
        .timeout_max_ns = 60 * PL_NS_PER_S,
    };
    enum pl_options_outcome outcome = read_flags(flags, argc, argv, error);
    if (outcome == PL_OPTIONS_OK && (!pl_output_parse(flags->output_text, &flags->human, error) ||
                                     !pl_token_check(flags->token_text, error)))
        return PL_OPTIONS_WRONG;
    /* An interval waits for the answers to all its probes, and takes 57 kB. */
    if (flags->histogram_interval_ns > 0 &&
        flags->timeout_max_ns > PENDING_INTERVALS * flags->histogram_interval_ns)
        flags->timeout_max_ns = PENDING_INTERVALS * flags->histogram_interval_ns;
    if (outcome == PL_OPTIONS_OK && flags->histogram_interval_ns > 0 &&
        flags->histogram_interval_ns < flags->interval_ns) {
        pl_error_usage(error, "--histogram-interval-ns must be at least --interval-ns");
        return PL_OPTIONS_WRONG;
    }
    return outcome;
}
