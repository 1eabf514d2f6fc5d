/* The transport of a stream: TCP, or another connection-oriented transport of the kernel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/error.h"

enum pl_transport { PL_TCP, PL_MPTCP, PL_UNIX, PL_SCTP, PL_VSOCK, PL_TRANSPORTS };

const char *pl_transport_name(enum pl_transport transport);

/* The address of an end. IP transports: a name or a numeric address; unix: a path, or @NAME in the abstract
 * name space; vsock: a context id, or "any". `flag` names the flag in the usage error. */
bool pl_transport_address(enum pl_transport transport, const char *text, uint16_t port, const char *flag,
                          struct pl_address *address, struct pl_error *error);

/* A non-blocking stream socket; -1 with `error` naming the transport that this kernel lacks, or the resource
 * that ran out. */
int pl_transport_socket(enum pl_transport transport, int family, struct pl_error *error);

/* The transport that a connected socket uses: an MPTCP socket falls back to TCP where the path or the other
 * end lacks MPTCP. `requested` where the kernel (before 5.16) does not report it. */
enum pl_transport pl_transport_in_use(enum pl_transport requested, int fd);

/* Whether the kernel keeps TCP_INFO, a congestion control and a segment size for its sockets. */
bool pl_transport_is_tcp(enum pl_transport transport);
