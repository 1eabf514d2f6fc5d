/* The adapter of languages without a harness: a program that answers requests on its stdin and stdout. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "adapter/harness.h"
#include "adapter/loop.h"

enum { PL_PIPE_PREFIX_BYTES = 4 };

/* The words of the program, which end with NULL; before any connection. */
void pl_pipe_set_command(char *const *words);

extern const struct pl_adapter pl_pipe_adapter;
extern const struct pl_asker_extras pl_pipe_extras;

/* The reply within what has come: 1 and `reply` set, 0 while it is not complete, -1 with `error` set where
 * its length is not `expected` or more has come than it. */
int pl_pipe_decode(const uint8_t *data, size_t have, size_t expected, const uint8_t **reply,
                   struct pl_adapter_error *error);
