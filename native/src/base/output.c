#include "base/output.h"

#include <stdio.h>
#include <unistd.h>

enum { AUTO, JSON, HUMAN };

struct pl_option pl_output_option(const char *group, const char **target)
{
    return pl_option_text(group, "output", target,
                          "human, json (lines for programs), or auto: human at a terminal, else json");
}

bool pl_output_parse(const char *text, bool *human, struct pl_error *error)
{
    static const char *const names[] = {[AUTO] = "auto", [JSON] = "json", [HUMAN] = "human", NULL};
    int chosen = pl_parse_choice("output", text, names, error);
    /* `send | tee log`: who sits there may have expected text. */
    if (chosen == AUTO && isatty(STDOUT_FILENO) != 1 && isatty(STDERR_FILENO) == 1)
        (void)fputs("pathlab-engine: writes JSON lines, as its output is no terminal; text: --output human\n",
                    stderr);
    *human = chosen == HUMAN || (chosen == AUTO && isatty(STDOUT_FILENO) == 1);
    return chosen >= 0;
}

bool pl_output_flush(void)
{
    return fflush(stdout) == 0;
}
