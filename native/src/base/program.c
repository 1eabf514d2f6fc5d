#include "base/program.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/json.h"

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
    struct pl_json j = {0};
    pl_json_begin_object(&j, NULL);
    pl_json_string(&j, "type", "hello");
    pl_json_string(&j, "program", "pathlab-engine");
    pl_json_string(&j, "version", PL_VERSION);
    pl_json_i64(&j, "protocol", PL_PROTOCOL);
    pl_json_i64(&j, "record", PL_RECORD);
    pl_json_i64(&j, "control", PL_CONTROL);
    pl_json_string(&j, "subcommand", subcommand);
    pl_json_i64(&j, "pid", (int64_t)getpid());
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    return written;
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
