/* The ports that an end may listen on. */
#ifndef PL_PORT_RANGE_H
#define PL_PORT_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* From the first to the last, both included; both are 0 where any port will do. */
struct pl_port_range {
    int64_t first;
    int64_t last;
};

/* "0" (any), "5210", or "5201-5300" in rising order and without 0. False with `error` set (usage), naming
 * --port. */
bool pl_port_range_parse(const char *text, struct pl_port_range *range, struct pl_error *error);

/* Sets the error of a port that bind or listen refused with `cause`: taken, all of the range taken, or
 * otherwise. `port` is the one tried last, `bind` the address. Always false. */
bool pl_port_range_refuse(const struct pl_port_range *range, int64_t port, const char *bind, int cause,
                          struct pl_error *error);

#endif
