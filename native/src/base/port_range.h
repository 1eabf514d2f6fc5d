/* The ports that an end may listen on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* From the first to the last, both included; both 0: any port. */
struct pl_port_range {
    int64_t first;
    int64_t last;
};

/* Parses "0" (any), "5210" or "5201-5300" (rising, without 0). False with `error` set (usage), naming --port.
 */
bool pl_port_range_parse(const char *text, struct pl_port_range *range, struct pl_error *error);

/* Sets the error of a port that bind or listen refused with `cause`: taken, all of the range taken, or
 * another cause. `port` is the last one tried, `bind` the address. Always false. */
bool pl_port_range_refuse(const struct pl_port_range *range, int64_t port, const char *bind, int cause,
                          struct pl_error *error);
