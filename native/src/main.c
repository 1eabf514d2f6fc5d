/* pathlab-engine: dispatch to the subcommands. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "base/subcommands.h"

struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
};

static const struct subcommand subcommands[] = {
    {"send", pl_send_main, "carry bytes over many streams to or from a receiver"},
    {"receive", pl_receive_main, "admit streams, carry and count their bytes"},
    {"ping", pl_ping_main, "probe the round trip of a path"},
    {"echo", pl_echo_main, "answer probes by UDP and TCP"},
    {"calibrate", pl_calibrate_main, "measure this host's clock, timers and loopback"},
    {"load", pl_load_main, "keep the cores and a disk of this host busy, at low priority"},
    {"emulate", pl_emulate_main, "emulate a link of a given rate, delay, queue and loss"},
    {"capture", pl_capture_main, "record the packet headers of one flow in a pcapng file"},
    {"ask", pl_ask_main, "measure round trips of a technology in any language"},
};

static void print_usage(FILE *output)
{
    (void)fprintf(output, "usage: pathlab-engine SUBCOMMAND --flag value ...\n\n");
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        (void)fprintf(output, "  %-11s%s\n", subcommands[i].name, subcommands[i].about);
    (void)fprintf(output,
                  "\npathlab-engine SUBCOMMAND --help lists the flags; --version prints the version\n");
}

int main(int argc, char **argv)
{
    if (!pl_program_prepare())
        return PL_ENDED;
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return printf("pathlab-engine %s protocol %d record %d control %d\n", PL_VERSION, PL_PROTOCOL,
                      PL_RECORD, PL_CONTROL) < 0
                   ? PL_RESOURCES
                   : PL_OK;
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_usage(stdout);
        return PL_OK;
    }
    for (size_t i = 0; argc > 1 && i < sizeof subcommands / sizeof subcommands[0]; i++)
        if (strcmp(subcommands[i].name, argv[1]) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    char given[128] = "";
    if (argc > 1) {
        pl_error_escape(argv[1], given, sizeof given);
        (void)fprintf(stderr, "pathlab-engine: unknown subcommand '%s'; see pathlab-engine --help\n", given);
    } else {
        print_usage(stderr);
    }
    return PL_USAGE;
}
