#include "base/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define HELP_COLUMN 30

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

bool pl_next_entry(const char **at, char *entry, size_t size)
{
    size_t length = strcspn(*at, ",");
    if (length >= size)
        return false;
    memcpy(entry, *at, length);
    entry[length] = 0;
    *at = (*at)[length] == 0 ? NULL : *at + length + 1;
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

struct pl_option pl_option_integer(const char *group, const char *name, int64_t *target, int64_t minimum,
                                   int64_t maximum, const char *help)
{
    return (struct pl_option){.group = group,
                              .name = name,
                              .kind = PL_OPTION_INT64,
                              .target = target,
                              .minimum = minimum,
                              .maximum = maximum,
                              .help = help};
}

struct pl_option pl_option_text(const char *group, const char *name, const char **target, const char *help)
{
    return (struct pl_option){
        .group = group, .name = name, .kind = PL_OPTION_STRING, .target = target, .help = help};
}

struct pl_option pl_option_positional(const char *group, const char *name, const char **target,
                                      const char *help)
{
    struct pl_option option = pl_option_text(group, name, target, help);
    option.positional = true;
    return option;
}

struct pl_option pl_option_switch(const char *group, const char *name, bool *target, const char *help)
{
    return (struct pl_option){
        .group = group, .name = name, .kind = PL_OPTION_SWITCH, .target = target, .help = help};
}

struct pl_option pl_option_required(struct pl_option option)
{
    option.required = true;
    return option;
}

int pl_parse_choice(const char *flag, const char *text, const char *const *names, struct pl_error *error)
{
    char listed[96] = "";
    size_t length = 0;
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
        int added = snprintf(listed + length, sizeof listed - length, "%s%s", i > 0 ? ", " : "", names[i]);
        length += added > 0 && (size_t)added < sizeof listed - length ? (size_t)added : 0;
    }
    pl_error_usage(error, "--%s: '%.40s' is none of %s", flag, text, listed);
    return -1;
}

/* A flag on the command line: its option, whether its name lacks the unit, and the value after "=". */
struct written {
    const struct pl_option *option;
    bool with_unit;
    const char *value;
};

static void print_default(const struct pl_option *option)
{
    char formatted[PL_QUANTITY_BYTES];
    size_t stem;
    if (option->required) {
        (void)printf(" (required)");
    } else if (option->kind == PL_OPTION_INT64 && *(const int64_t *)option->target > 0) {
        /* The help text explains 0 and -1. */
        (void)printf(" (default %s)",
                     pl_format_exact_quantity(*(const int64_t *)option->target,
                                              pl_unit_of_name(option->name, &stem), formatted));
    } else if (option->kind == PL_OPTION_STRING) {
        const char *text = *(const char *const *)option->target;
        if (text != NULL && text[0] != 0)
            (void)printf(" (default %s)", text);
    }
}

static const char *name_value(const struct pl_option *option, enum pl_unit unit)
{
    static const char *const of_unit[] = {"N", "TIME", "SIZE", "RATE"};
    if (option->kind == PL_OPTION_INT64)
        return of_unit[unit];
    return option->kind == PL_OPTION_STRING ? "TEXT" : "";
}

static void print_capitals(const char *name)
{
    (void)printf(" ");
    for (; *name != 0; name++)
        (void)putchar(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name);
}

static void print_help(const struct pl_options *options)
{
    bool units = false;
    const char *group = NULL;
    (void)printf("usage: pathlab-engine %s", options->subcommand);
    for (size_t i = 0; i < options->count; i++)
        if (options->table[i].positional)
            print_capitals(options->table[i].name);
    (void)printf(" --flag value ...\n%s\n", options->about);
    for (size_t i = 0; i < options->count; i++) {
        const struct pl_option *option = &options->table[i];
        size_t stem;
        enum pl_unit unit = pl_unit_of_name(option->name, &stem);
        const char *value = name_value(option, unit);
        units = units || unit != PL_UNIT_NONE;
        if (i == 0 || (option->group != group && option->group != NULL))
            (void)printf("\n%s%s", option->group != NULL ? option->group : "",
                         option->group != NULL ? ":\n" : "");
        group = option->group;
        int written = printf("  --%.*s %s", (int)stem, option->name, value);
        (void)printf("%*s%s", written < HELP_COLUMN ? HELP_COLUMN - written : 1, "", option->help);
        print_default(option);
        (void)printf("\n");
    }
    (void)printf("  --help%*sthis text\n", HELP_COLUMN - 8, "");
    if (units)
        (void)printf(
            "\nTIME is 100ms or 2s, SIZE 64KiB or 1MiB, RATE 40Mbit/s or 1G; programs may pass plain\n"
            "integers to the names with a unit: --NAME-ns, --NAME-bytes, --NAME-bits-per-s.\n");
    (void)fflush(stdout);
}

/* The flag of `argument` ("--name", "--name=value"); `option` NULL when there is none. */
static struct written find_option(const struct pl_options *options, const char *argument)
{
    struct written written = {0};
    if (strncmp(argument, "--", 2) != 0)
        return written;
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < options->count; i++) {
        const struct pl_option *option = &options->table[i];
        size_t stem;
        bool unit = pl_unit_of_name(option->name, &stem) != PL_UNIT_NONE && option->kind == PL_OPTION_INT64;
        bool full_name = strlen(option->name) == length && strncmp(option->name, name, length) == 0;
        if (full_name || (unit && stem == length && strncmp(option->name, name, length) == 0)) {
            written.option = option;
            written.with_unit = !full_name;
            written.value = name[length] == '=' ? name + length + 1 : NULL;
            return written;
        }
    }
    return written;
}

static bool parse_integer(const struct written *written, const char *text, struct pl_error *error)
{
    const struct pl_option *option = written->option;
    size_t stem;
    enum pl_unit unit = pl_unit_of_name(option->name, &stem);
    int64_t *target = option->target;
    if (!written->with_unit && pl_parse_int64(text, option->minimum, option->maximum, target))
        return true;
    if (unit != PL_UNIT_NONE && pl_parse_quantity(text, unit, option->minimum, option->maximum, target))
        return true;
    if (unit == PL_UNIT_NONE)
        return pl_error_usage(error, "--%s: '%.40s' is not an integer from %" PRId64 " to %" PRId64,
                              option->name, text, option->minimum, option->maximum);
    char least[PL_QUANTITY_BYTES];
    char most[PL_QUANTITY_BYTES];
    return pl_error_usage(error, "--%.*s: '%.40s' is not %s, from %s to %s",
                          written->with_unit ? (int)stem : (int)strlen(option->name), option->name, text,
                          pl_unit_expectation(unit), pl_format_exact_quantity(option->minimum, unit, least),
                          pl_format_exact_quantity(option->maximum, unit, most));
}

static bool is_switch_value(const char *text)
{
    return text != NULL && (strcmp(text, "yes") == 0 || strcmp(text, "no") == 0);
}

static bool parse_value(const struct written *written, const char *text, struct pl_error *error)
{
    const struct pl_option *option = written->option;
    switch (option->kind) {
    case PL_OPTION_STRING:
        *(const char **)option->target = text;
        return true;
    case PL_OPTION_INT64:
        return parse_integer(written, text, error);
    case PL_OPTION_SWITCH:
        if (is_switch_value(text)) {
            *(bool *)option->target = text[0] == 'y';
            return true;
        }
        return pl_error_usage(error, "--%s: '%.40s' is neither yes nor no", option->name, text);
    }
    return false;
}

/* The positional option that has no value yet; NULL when none is left. */
static const struct pl_option *next_positional(const struct pl_options *options, uint64_t given)
{
    for (size_t i = 0; i < options->count; i++)
        if (options->table[i].positional && (given & UINT64_C(1) << i) == 0)
            return &options->table[i];
    return NULL;
}

/* Parses the flag at argv[0] and its value. Returns the number of arguments used, 0 with `error` set. */
static int parse_argument(const struct pl_options *options, char **argv, int left, uint64_t *given,
                          struct pl_error *error)
{
    struct written written = find_option(options, argv[0]);
    int used = 1;
    if (written.option == NULL && argv[0][0] != '-' && next_positional(options, *given) != NULL) {
        written.option = next_positional(options, *given);
        written.value = argv[0];
    }
    if (written.option == NULL) {
        pl_error_usage(error, "unknown flag '%.60s'; see pathlab-engine %s --help", argv[0],
                       options->subcommand);
        return 0;
    }
    *given |= UINT64_C(1) << (written.option - options->table);
    if (written.value == NULL && written.option->kind == PL_OPTION_SWITCH) {
        used = left > 1 && is_switch_value(argv[1]) ? 2 : 1;
        written.value = used == 2 ? argv[1] : "yes";
    } else if (written.value == NULL && left > 1) {
        written.value = argv[1];
        used = 2;
    }
    if (written.value == NULL) {
        pl_error_usage(error, "--%s needs a value", argv[0] + 2);
        return 0;
    }
    return parse_value(&written, written.value, error) ? used : 0;
}

enum pl_options_outcome pl_options_parse(const struct pl_options *options, int argc, char **argv,
                                         struct pl_error *error)
{
    uint64_t given = 0;
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "--help") == 0) {
            print_help(options);
            return PL_OPTIONS_HELP;
        }
    }
    for (int a = 1, used = 0; a < argc; a += used) {
        used = parse_argument(options, argv + a, argc - a, &given, error);
        if (used == 0)
            return PL_OPTIONS_WRONG;
    }
    for (size_t i = 0; i < options->count; i++) {
        if (!options->table[i].required || (given & UINT64_C(1) << i) != 0)
            continue;
        pl_error_usage(error, "--%s is missing; see pathlab-engine %s --help", options->table[i].name,
                       options->subcommand);
        return PL_OPTIONS_WRONG;
    }
    return PL_OPTIONS_OK;
}
