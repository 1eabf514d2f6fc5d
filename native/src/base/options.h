/* Flags of a subcommand, parsed by a table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum pl_option_kind { PL_OPTION_INT64, PL_OPTION_STRING, PL_OPTION_SWITCH };

#define PL_MAX_OPTIONS 64

/* One flag `--name value` or `--name=value`. `target` points to an int64_t, a const char * or a bool that
 * holds the default and receives the value (strings stay in argv). Integers lie within minimum..maximum. A
 * switch needs no value and takes yes or no.
 *
 * The name of an integer may end with a unit (duration-ns). People may leave the unit out of the name and
 * write it with the value (--duration 10s). A positional flag needs no name: the first value without a flag
 * is its value. `group` is a heading of the help, printed where it changes; NULL: none. `help` is one line.
 */
struct pl_option {
    const char *name;
    enum pl_option_kind kind;
    void *target;
    int64_t minimum;
    int64_t maximum;
    const char *help;
    const char *group;
    bool required;
    bool positional;
};

/* Rows of a table. */
struct pl_option pl_option_integer(const char *group, const char *name, int64_t *target, int64_t minimum,
                                   int64_t maximum, const char *help);
struct pl_option pl_option_text(const char *group, const char *name, const char **target, const char *help);
struct pl_option pl_option_positional(const char *group, const char *name, const char **target,
                                      const char *help);
struct pl_option pl_option_switch(const char *group, const char *name, bool *target, const char *help);
struct pl_option pl_option_required(struct pl_option option);

struct pl_options {
    const char *subcommand;
    const char *about;
    const struct pl_option *table;
    size_t count; /* at most PL_MAX_OPTIONS */
};

/* Of an array of rows. */
#define PL_OPTIONS(subcommand, about, table)                                                                 \
    (&(const struct pl_options){subcommand, about, table, sizeof(table) / sizeof((table)[0])})

enum pl_options_outcome { PL_OPTIONS_OK, PL_OPTIONS_HELP, PL_OPTIONS_WRONG };

/* Reads argv[1..argc-1]. PL_OPTIONS_HELP: printed the table, since `--help` was given; the caller ends with
 * status 0. PL_OPTIONS_WRONG: `error` (PL_USAGE, stage "options") names the flag. */
enum pl_options_outcome pl_options_parse(const struct pl_options *options, int argc, char **argv,
                                         struct pl_error *error);

/* The index of `text` among `names`, which end with NULL. -1 with `error` set (usage): names the flag and all
 * names. */
int pl_parse_choice(const char *flag, const char *text, const char *const *names, struct pl_error *error);

/* Plain decimal integer (a sign is allowed) within minimum..maximum; false otherwise, `value` untouched. */
bool pl_parse_int64(const char *text, int64_t minimum, int64_t maximum, int64_t *value);

/* Copies the entry at `*at` up to a comma and moves behind it; NULL after the last. False: `entry` of `size`
 * bytes is too small. */
bool pl_next_entry(const char **at, char *entry, size_t size);

/* Plain decimal number within low..high; false otherwise (also for inf, nan and hexadecimal). */
bool pl_parse_double(const char *text, double low, double high, double *value);
