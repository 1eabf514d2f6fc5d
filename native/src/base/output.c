#include "base/output.h"

#include <string.h>
#include <unistd.h>

bool pl_output_parse(const char *text, bool *human, struct pl_error *error)
{
    *human = strcmp(text, "human") == 0 || (strcmp(text, "auto") == 0 && isatty(STDOUT_FILENO) == 1);
    if (*human || strcmp(text, "json") == 0 || strcmp(text, "auto") == 0)
        return true;
    pl_error_set(error, PL_USAGE, "options", 0, "--output: '%.20s' is none of auto, json, human", text);
    return false;
}
