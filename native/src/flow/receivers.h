/* Several receivers of one sender: a list such as 10.0.0.2:5201,[fe80::1%eth0]:5202. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/error.h"

#define PL_RECEIVERS_MAX 64

struct pl_receivers {
    struct pl_address addresses[PL_RECEIVERS_MAX];
    uint32_t count;
};

/* Names or numeric addresses, each with its port. False with `error` set (usage, or a name that is not
 * known). */
bool pl_receivers_parse(const char *text, struct pl_receivers *receivers, struct pl_error *error);
