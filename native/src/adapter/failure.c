#include <stdarg.h>
#include <stdio.h>

#include "adapter/harness.h"

int pl_adapter_fail(struct pl_adapter_error *error, const char *stage, const char *format, ...)
{
    if (error->stage[0] != 0)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    (void)snprintf(error->stage, sizeof error->stage, "%s", stage);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return -1;
}
