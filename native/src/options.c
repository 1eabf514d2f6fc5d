#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pl_parse_int64(const char *text, int64_t minimum, int64_t maximum, int64_t *value)
{
    const char *digits = text[0] == '-' || text[0] == '+' ? text + 1 : text;
    if (digits[0] == 0 || digits[strspn(digits, "0123456789")] != 0)
        return false;
    errno = 0;
    long long parsed = strtoll(text, NULL, 10);
    if (errno != 0 || parsed < minimum || parsed > maximum)
        return false;
    *value = parsed;
    return true;
}

bool pl_parse_double(const char *text, double low, double high, double *value)
{
    if (text[0] == 0 || text[strspn(text, "0123456789.eE+-")] != 0)
        return false;
    char *end = NULL;
    double parsed = strtod(text, &end);
    if (*end != 0 || !(parsed >= low && parsed <= high))
        return false;
    *value = parsed;
    return true;
}

static void print_default(const struct pl_option *option)
{
    if (option->required) {
        (void)printf(" (required)");
    } else if (option->kind == PL_OPTION_INT64) {
        (void)printf(" (default %" PRId64 ")", *(const int64_t *)option->target);
    } else if (option->kind == PL_OPTION_DOUBLE) {
        (void)printf(" (default %g)", *(const double *)option->target);
    } else {
        const char *text = *(const char *const *)option->target;
        if (text != NULL && text[0] != 0)
            (void)printf(" (default %s)", text);
    }
}

static void print_help(const struct pl_options *options)
{
    (void)printf("usage: pathlab-engine %s --flag value ...\n%s\n\n", options->subcommand, options->about);
    for (size_t i = 0; i < options->count; i++) {
        const struct pl_option *option = &options->table[i];
        const char *kind = option->kind == PL_OPTION_INT64    ? "N"
                           : option->kind == PL_OPTION_DOUBLE ? "X"
                                                              : "TEXT";
        (void)printf("  --%s %s%*s%s", option->name, kind, (int)(26 - strlen(option->name) - strlen(kind)),
                     "", option->help);
        print_default(option);
        (void)printf("\n");
    }
    (void)printf("  --help%*sthis text\n", 22, "");
    (void)fflush(stdout);
}

static const struct pl_option *find_option(const struct pl_options *options, const char *argument)
{
    if (strncmp(argument, "--", 2) != 0)
        return NULL;
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->table[i].name, argument + 2) == 0)
            return &options->table[i];
    return NULL;
}

static bool take_value(const struct pl_option *option, const char *text, struct pl_error *error)
{
    bool taken = true;
    if (option->kind == PL_OPTION_STRING) {
        *(const char **)option->target = text;
    } else if (option->kind == PL_OPTION_INT64) {
        taken = pl_parse_int64(text, option->minimum, option->maximum, option->target);
        if (!taken)
            pl_error_set(error, PL_USAGE, "options", 0,
                         "--%s: '%.40s' is not an integer from %" PRId64 " to %" PRId64, option->name, text,
                         option->minimum, option->maximum);
    } else {
        taken = pl_parse_double(text, option->low, option->high, option->target);
        if (!taken)
            pl_error_set(error, PL_USAGE, "options", 0, "--%s: '%.40s' is not a number from %g to %g",
                         option->name, text, option->low, option->high);
    }
    return taken;
}

static bool check_required(const struct pl_options *options, int argc, char **argv, struct pl_error *error)
{
    for (size_t i = 0; i < options->count; i++) {
        const struct pl_option *option = &options->table[i];
        bool given = !option->required;
        for (int a = 1; a < argc && !given; a += 2)
            given = strcmp(argv[a] + 2, option->name) == 0;
        if (!given) {
            pl_error_set(error, PL_USAGE, "options", 0, "--%s is missing; see pathlab-engine %s --help",
                         option->name, options->subcommand);
            return false;
        }
    }
    return true;
}

enum pl_options_outcome pl_options_parse(const struct pl_options *options, int argc, char **argv,
                                         struct pl_error *error)
{
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "--help") == 0) {
            print_help(options);
            return PL_OPTIONS_HELP;
        }
    }
    for (int a = 1; a < argc; a += 2) {
        const struct pl_option *option = find_option(options, argv[a]);
        if (option == NULL) {
            pl_error_set(error, PL_USAGE, "options", 0, "unknown flag '%.60s'; see pathlab-engine %s --help",
                         argv[a], options->subcommand);
            return PL_OPTIONS_WRONG;
        }
        if (a + 1 >= argc) {
            pl_error_set(error, PL_USAGE, "options", 0, "--%s needs a value", option->name);
            return PL_OPTIONS_WRONG;
        }
        if (!take_value(option, argv[a + 1], error))
            return PL_OPTIONS_WRONG;
    }
    return check_required(options, argc, argv, error) ? PL_OPTIONS_OK : PL_OPTIONS_WRONG;
}
