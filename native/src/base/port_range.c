#include "base/port_range.h"

#include <errno.h>
#include <string.h>

#include "base/options.h"

#define LAST_PORT 65535

static bool parse_range(const char *text, struct pl_port_range *range)
{
    char first[8];
    const char *dash = strchr(text, '-');
    size_t length = dash != NULL ? (size_t)(dash - text) : strlen(text);
    if (length >= sizeof first)
        return false;
    memcpy(first, text, length);
    first[length] = 0;
    if (!pl_parse_int64(first, dash != NULL ? 1 : 0, LAST_PORT, &range->first))
        return false;
    range->last = range->first;
    return dash == NULL || pl_parse_int64(dash + 1, range->first, LAST_PORT, &range->last);
}

bool pl_port_range_parse(const char *text, struct pl_port_range *range, struct pl_error *error)
{
    struct pl_port_range found;
    if (parse_range(text, &found)) {
        *range = found;
        return true;
    }
    return pl_error_usage(
        error, "--port: '%.40s' is neither a port from 0 (any) to 65535 nor a range such as 5201-5300", text);
}

bool pl_port_range_refuse(const struct pl_port_range *range, int64_t port, const char *bind, int cause,
                          struct pl_error *error)
{
    if (cause == EADDRINUSE && range->last > range->first)
        return pl_error_set(
            error, PL_SETUP, "bind", cause,
            "ports %lld-%lld of %.64s are all taken: widen --port or stop the programs that listen there",
            (long long)range->first, (long long)range->last, bind);
    return pl_error_set(error, PL_SETUP, "bind", cause,
                        cause == EADDRINUSE ? "port %lld of %.64s is already taken"
                                            : "cannot use port %lld of %.64s",
                        (long long)port, bind);
}
