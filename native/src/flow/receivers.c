#include "flow/receivers.h"

#include <string.h>

#include "base/options.h"
#include "base/resolve.h"

#define ENTRY_BYTES 256

static bool refuse(const char *entry, struct pl_error *error)
{
    return pl_error_usage(error, "--receivers: '%.80s' is not ADDRESS:PORT, or [ADDRESS]:PORT for IPv6",
                          entry);
}

/* Splits at the last colon and takes off the brackets, in place. */
static bool split(char *entry, char **address, int64_t *port)
{
    char *colon = strrchr(entry, ':');
    if (colon == NULL || !pl_parse_int64(colon + 1, 1, 65535, port))
        return false;
    *colon = 0;
    *address = entry;
    if (entry[0] != '[')
        return entry[0] != 0 && strchr(entry, ':') == NULL;
    if (colon - entry < 3 || colon[-1] != ']')
        return false;
    colon[-1] = 0;
    *address = entry + 1;
    return true;
}

bool pl_receivers_parse(const char *text, struct pl_receivers *receivers, struct pl_error *error)
{
    receivers->count = 0;
    for (const char *at = text; at != NULL;) {
        char entry[ENTRY_BYTES];
        char *address;
        int64_t port;
        const char *begin = at;
        if (receivers->count == PL_RECEIVERS_MAX || !pl_next_entry(&at, entry, sizeof entry) ||
            !split(entry, &address, &port))
            return refuse(begin, error);
        if (!pl_resolve(address, (uint16_t)port, "receivers", &receivers->addresses[receivers->count], error))
            return false;
        receivers->count++;
    }
    return true;
}
