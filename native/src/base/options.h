/* Flags of a subcommand, parsed by a table. */
#ifndef PL_OPTIONS_H
#define PL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum pl_option_kind { PL_OPTION_INT64, PL_OPTION_DOUBLE, PL_OPTION_STRING, PL_OPTION_SWITCH };

#define PL_MAX_OPTIONS 64

/* One flag `--name value` or `--name=value`. `target` points to an int64_t, a double, a const char * or a
 * bool that holds the default and receives the value (strings stay in argv). Integers are bounded by
 * minimum..maximum, doubles by low..high, both inclusive. A switch needs no value and takes yes or no.
 *
 * An integer whose name ends with a unit (duration-ns) may as well be written without it (--duration), and
 * its value then with its unit (10s). A positional one may stand alone: the first value without a flag.
 * `group` is a heading of the help, printed where it changes. `help` is one line. */
struct pl_option {
    const char *name;
    enum pl_option_kind kind;
    void *target;
    int64_t minimum;
    int64_t maximum;
    double low;
    double high;
    const char *help;
    const char *group;
    bool required;
    bool positional;
};

struct pl_options {
    const char *subcommand;
    const char *about;
    const struct pl_option *table;
    size_t count; /* at most PL_MAX_OPTIONS */
};

enum pl_options_outcome { PL_OPTIONS_OK, PL_OPTIONS_HELP, PL_OPTIONS_WRONG };

/* Reads argv[1..argc-1]. PL_OPTIONS_HELP: `--help` was among them and the table was printed; the caller ends
 * with status 0. PL_OPTIONS_WRONG: `error` (PL_USAGE, stage "options") names the flag. */
enum pl_options_outcome pl_options_parse(const struct pl_options *options, int argc, char **argv,
                                         struct pl_error *error);

/* Plain decimal integer (a sign is allowed) within minimum..maximum; false otherwise, `value` untouched. */
bool pl_parse_int64(const char *text, int64_t minimum, int64_t maximum, int64_t *value);

/* Plain decimal number within low..high; false otherwise (also for inf, nan and hexadecimal). */
bool pl_parse_double(const char *text, double low, double high, double *value);

#endif
