/* The subcommand `ask`: the asking end of a technology whose client is a program behind a pipe. */
#include <stdio.h>
#include <string.h>

#include "adapter/asking.h"
#include "adapter/pipe.h"
#include "adapter/plan.h"
#include "adapter/records.h"
#include "base/program.h"
#include "base/subcommands.h"

static const char help[] =
    "usage: pathlab-engine ask SETTINGS PROGRAM [WORD ...]\n"
    "Asks a program behind a pipe: the loop, clock and records of a technology in any language\n"
    "\n"
    "SETTINGS is one JSON object, described with the records in agents/adapters/CONTRACT.md. PROGRAM reads\n"
    "requests on stdin and writes replies on stdout: 4 bytes with the length (network byte order), then as\n"
    "many bytes. Length 0 is answered at once by length 0. On stdin of this subcommand: go, stop.\n";

int pl_ask_main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return printf("%s", help) < 0 ? PL_RESOURCES : PL_OK;
    if (argc < 3) {
        (void)fprintf(stderr, "pathlab-engine ask: settings and a program are needed; see pathlab-engine ask "
                              "--help\n");
        return PL_USAGE;
    }
    static struct pl_plan plan;
    struct pl_adapter_error error = {0};
    bool valid = pl_plan_parse(argv[1], "ask", &plan, &error);
    if (!pl_adapter_write_hello(plan.name, "pipe"))
        return PL_RESOURCES;
    if (!valid)
        return (int)pl_adapter_write_error(plan.name, &error);
    pl_pipe_set_command(argv + 2);
    return (int)pl_asking_run(&pl_pipe_adapter, &pl_pipe_extras, &plan);
}
