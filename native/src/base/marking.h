/* The marks of a socket's packets and the device that sends them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Values of flags; -1 and the empty text leave the kernel's choice. */
struct pl_marking {
    int64_t dscp;       /* 0..63, RFC 2474 */
    int64_t ecn;        /* 0..3, RFC 3168; the kernel sets these bits itself for TCP */
    int64_t fwmark;     /* SO_MARK, 0..2^32-1 */
    const char *device; /* SO_BINDTODEVICE */
};

#define PL_UNMARKED ((struct pl_marking){.dscp = -1, .ecn = -1, .fwmark = -1, .device = ""})

/* Sets the requested marks on a socket of AF_INET or AF_INET6 and reads them back. False with `error`
 * (PL_SETUP, stage "marking") naming the flag that the kernel refused or did not keep. */
bool pl_marking_apply(int fd, int family, const struct pl_marking *marking, struct pl_error *error);

/* The traffic class or TOS octet in force on a socket; -1 where there is none. */
int64_t pl_marking_octet(int fd, int family);
