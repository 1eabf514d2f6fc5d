/* Names of hosts, for use by hand; controllers pass numeric addresses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/error.h"

/* A numeric address, or a name that the system's `getent` resolves: a static program cannot load the system's
 * name services. `flag` names the flag in the usage error. */
bool pl_resolve(const char *text, uint16_t port, const char *flag, struct pl_address *address,
                struct pl_error *error);
