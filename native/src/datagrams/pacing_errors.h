/* How exactly a thread paced its datagrams. */
#pragma once

#include "base/histogram.h"

struct pl_pacing_errors {
    struct pl_histogram error_ns; /* from when a datagram was due until it was handed to the kernel */
    struct pl_histogram call_ns;  /* time that the handing took: within it the datagram left */
};
