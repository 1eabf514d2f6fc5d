/* What every subcommand does first. */
#ifndef PL_PROGRAM_H
#define PL_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"

#define PL_VERSION "0.1.0"
#define PL_PROTOCOL 2
#define PL_RECORD 1
/* Of the flags and of what is read from stdin, as programs give them. */
#define PL_CONTROL 2

/* Asks the kernel to kill this process when its parent dies, and makes a closed output an error instead of
 * a signal. False when the parent is gone already. */
bool pl_program_prepare(void);

/* A usage error, met before it is known how the run shall write: one line on stderr, and at other outputs
 * than a terminal the hello and the error record as well. Returns the exit status. */
int pl_program_refuse(const char *subcommand, const struct pl_error *error);

/* Writes the hello record, the first line of every run; false when the output is gone. */
bool pl_program_write_hello(const char *subcommand);

#endif
