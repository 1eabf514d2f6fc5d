/* The first steps of every subcommand. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/options.h"

#define PL_VERSION "0.1.0"
#define PL_PROTOCOL 4
#define PL_RECORD 1
/* The version of the flags and of the stdin lines that programs write. */
#define PL_CONTROL 2

/* Asks the kernel to kill this process when its parent dies, and makes a closed output an error instead of
 * a signal. False when the parent is gone already. */
bool pl_program_prepare(void);

/* Begins a run after its flags were read: writes the hello record unless `human`. False with the exit status
 * in `status` when the run is over: the flags asked for help, a flag is wrong (reported here), or the output
 * is gone. */
bool pl_program_begin(const char *subcommand, enum pl_options_outcome outcome, bool human,
                      const struct pl_error *error, int *status);

/* Writes the hello record, the first line of every run; false when the output is gone. */
bool pl_program_write_hello(const char *subcommand);
