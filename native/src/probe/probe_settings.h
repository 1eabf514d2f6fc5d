/* What a socket that probes is opened with. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/marking.h"
#include "base/token.h"

struct pl_probe_settings {
    struct pl_address to;
    struct pl_address from; /* length 0: not bound */
    size_t payload_bytes;
    uint8_t token[PL_TOKEN_BYTES]; /* udp, tcp */
    struct pl_marking marking;
    pl_ns connect_timeout_ns; /* tcp */
};
