/* main() of the program that an adapter in C or C++ is linked to. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "adapter/answering.h"
#include "adapter/asking.h"
#include "adapter/records.h"
#include "base/json.h"
#include "base/program.h"

extern const char pl_adapter_language[];

/* What a library prints on stdout goes to stderr, so that it is not among the records. */
static bool keep_stdout(void)
{
    int records = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (records < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return false;
    pl_json_set_output(records);
    return setvbuf(stdout, NULL, _IOLBF, 0) == 0; /* the process ends without flushing it */
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return printf("contract %d\n", PL_CONTRACT) < 0 ? PL_RESOURCES : PL_OK;
    if (argc != 3 || (strcmp(argv[1], "ask") != 0 && strcmp(argv[1], "answer") != 0)) {
        (void)fprintf(stderr, "usage: %s ask|answer SETTINGS, with settings as JSON\n", argv[0]);
        return PL_USAGE;
    }
    static struct pl_plan plan;
    struct pl_adapter_error error = {0};
    bool asks = strcmp(argv[1], "ask") == 0;
    if (!pl_program_prepare())
        return PL_ENDED;
    if (!keep_stdout())
        return PL_RESOURCES;
    bool valid = pl_plan_parse(argv[2], argv[1], &plan, &error);
    int status = PL_RESOURCES;
    if (pl_adapter_write_hello(plan.name, pl_adapter_language)) {
        if (!valid)
            status = (int)pl_adapter_write_error(plan.name, &error);
        else
            status =
                (int)(asks ? pl_asking_run(&pl_adapter, NULL, &plan) : pl_answering_run(&pl_adapter, &plan));
    }
    _exit(status); /* without destructors of libraries whose threads still run */
}
