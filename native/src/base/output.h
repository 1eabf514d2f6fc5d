/* The form of a run's output: JSON lines for programs, text for people at a terminal. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/options.h"

/* The row of --output in a table of flags. */
struct pl_option pl_output_option(const char *group, const char **target);

/* The value of --output: "json", "human", or "auto": human when stdout is a terminal; where only stderr is
 * one, a line there says so. False with `error` set for anything else. */
bool pl_output_parse(const char *text, bool *human, struct pl_error *error);

/* Flushes stdout; false when the output is gone. */
bool pl_output_flush(void);
