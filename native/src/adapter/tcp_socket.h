/* The TCP sockets of an adapter: one of its own, or those that a library opened and hides. */
#pragma once

#include <stdbool.h>

#include "adapter/adapter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PL_ADAPTER_ENDPOINT_BYTES 80 /* of an IPv6 address with its interface, and a port */

/* "10.0.0.2:7000" or "[::1]:7000". */
void pl_adapter_format_endpoint(const char *address, unsigned port, char text[PL_ADAPTER_ENDPOINT_BYTES]);

/* A blocking connection to the server of `settings`, from its local address, with TCP_NODELAY. -1 with
 * `error` set. */
int pl_adapter_connect_tcp(const struct pl_adapter_settings *settings, struct pl_adapter_error *error);

/* Whether the kernel states TCP_NODELAY for `fd`. */
bool pl_adapter_has_no_delay(int fd);

/* Inspects all TCP sockets of this process that are connected to the server of `settings`: `no_delay` tells
 * whether every one has TCP_NODELAY. -1 with `error` set (stage connect) when there is none, or when one
 * sends from another address than the local address of `settings`. */
int pl_adapter_inspect_sockets(const struct pl_adapter_settings *settings, bool *no_delay,
                               struct pl_adapter_error *error);

/* For a responder: -1 with `error` set where pl_adapter_inspect_sockets() fails or TCP_NODELAY is off. */
int pl_adapter_require_no_delay(const struct pl_adapter_settings *settings, struct pl_adapter_error *error);

/* For a server of the adapter's own, with each request: whether a connection that this process accepted at
 * `port` has TCP_NODELAY. One is enough: a library treats all alike, and may be about to set it for another.
 * Once it was true, it is not read again. */
bool pl_adapter_accepts_no_delay(unsigned port);

#ifdef __cplusplus
}
#endif
