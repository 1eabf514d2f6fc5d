#include "base/program.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/record.h"

bool pl_program_prepare(void)
{
    pid_t parent = getppid();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files holds for shared memory, too */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The kernel does not signal a parent that died between the two calls. */
    return getppid() == parent;
}

bool pl_program_write_hello(const char *subcommand)
{
    const struct pl_common_hello_record record = {
        .program = "pathlab-engine",
        .version = PL_VERSION,
        .protocol = PL_PROTOCOL,
        .record = PL_RECORD,
        .control = PL_CONTROL,
        .subcommand = subcommand,
        .pid = getpid(),
    };
    return pl_record_print(&pl_common_hello_type, &record);
}

/* The wrong flag may be --output itself, so stdout decides: at a terminal only the line on stderr is printed.
 */
static int report_usage(const char *subcommand, const struct pl_error *error)
{
    if (isatty(STDOUT_FILENO) == 1)
        return pl_error_print(error, subcommand);
    return pl_program_write_hello(subcommand) ? pl_error_report(error, subcommand) : PL_RESOURCES;
}

bool pl_program_begin(const char *subcommand, enum pl_options_outcome outcome, bool human,
                      const struct pl_error *error, int *status)
{
    switch (outcome) {
    case PL_OPTIONS_HELP:
        *status = PL_OK;
        return false;
    case PL_OPTIONS_WRONG:
        *status = report_usage(subcommand, error);
        return false;
    case PL_OPTIONS_OK:
        break;
    }
    *status = human || pl_program_write_hello(subcommand) ? PL_OK : PL_RESOURCES;
    return *status == PL_OK;
}
