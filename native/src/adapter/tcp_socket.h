/* The TCP sockets of an adapter: one of its own, or those that a library opened and hides. */
#ifndef PL_ADAPTER_TCP_SOCKET_H
#define PL_ADAPTER_TCP_SOCKET_H

#include <stdbool.h>

#include "adapter/adapter.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
