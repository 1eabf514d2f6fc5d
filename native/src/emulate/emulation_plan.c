#include "emulate/emulation_plan.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"

static enum pl_options_outcome parse_options(struct pl_emulation_plan *plan, int argc, char **argv,
                                             struct pl_error *error)
{
    *plan = (struct pl_emulation_plan){
        .backend = "packet",
        .namespaces = {"", ""},
        .specs = {"", ""},
        .control = "",
        .trace = "",
        .seed = 1,
        .spin_ns = 100000,
        .buffer_bytes = INT64_C(512) << 20,
        .trace_limit_bytes = INT64_C(64) << 20,
    };
    const struct pl_option table[] = {
        pl_option_text(NULL, "backend", &plan->backend, "tun (created) or packet (existing interfaces)"),
        pl_option_text(NULL, "namespace-a", &plan->namespaces[0],
                       "path of a network namespace; empty: the engine's own"),
        pl_option_text(NULL, "namespace-b", &plan->namespaces[1], "the same for end b"),
        pl_option_required(
            pl_option_text(NULL, "interface-a", &plan->interfaces[0], "name of the interface at end a")),
        pl_option_required(
            pl_option_text(NULL, "interface-b", &plan->interfaces[1], "name of the interface at end b")),
        pl_option_text(NULL, "forward", &plan->specs[0], "the link from a to b: key=value,... (PROTOCOL.md)"),
        pl_option_text(NULL, "reverse", &plan->specs[1], "the link from b to a"),
        pl_option_integer(NULL, "seed", &plan->seed, 0, INT64_MAX, "the same seed gives the same losses"),
        pl_option_integer(NULL, "spin-ns", &plan->spin_ns, 0, 10 * PL_NS_PER_MS,
                          "spin this long before a delivery"),
        pl_option_integer(NULL, "mtu-bytes", &plan->mtu_bytes, 0, 65535,
                          "MTU of the TUN interfaces; 0: unchanged"),
        pl_option_integer(NULL, "buffer-bytes", &plan->buffer_bytes, 1 << 20, INT64_C(1) << 40,
                          "bound on packet buffers"),
        pl_option_text(NULL, "trace", &plan->trace, "file for the fate of every packet (PROTOCOL.md)"),
        pl_option_integer(NULL, "trace-limit-bytes", &plan->trace_limit_bytes, 0, INT64_C(1) << 40,
                          "maximum size of that file"),
        pl_option_text(NULL, "control", &plan->control, "stdin: read commands from stdin"),
    };
    return pl_options_parse(
        PL_OPTIONS("emulate", "Emulates one link between two interfaces, in both directions.", table), argc,
        argv, error);
}

static bool check_plan(struct pl_emulation_plan *plan, struct pl_error *error)
{
    if (strcmp(plan->backend, "tun") != 0 && strcmp(plan->backend, "packet") != 0)
        return pl_error_usage(error, "--backend must be tun or packet");
    if (plan->control[0] != '\0' && strcmp(plan->control, "stdin") != 0)
        return pl_error_usage(error, "--control must be stdin");
    if (strcmp(plan->namespaces[0], plan->namespaces[1]) == 0 &&
        strcmp(plan->interfaces[0], plan->interfaces[1]) == 0)
        return pl_error_usage(error,
                              "--interface-a and --interface-b are the same interface of the same namespace");
    return pl_link_settings_parse(&plan->settings[0], "--forward", plan->specs[0], error) &&
           pl_link_settings_parse(&plan->settings[1], "--reverse", plan->specs[1], error);
}

enum pl_options_outcome pl_emulation_plan_parse(struct pl_emulation_plan *plan, int argc, char **argv,
                                                struct pl_error *error)
{
    enum pl_options_outcome outcome = parse_options(plan, argc, argv, error);
    return outcome == PL_OPTIONS_OK && !check_plan(plan, error) ? PL_OPTIONS_WRONG : outcome;
}
