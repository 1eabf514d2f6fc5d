#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct scale {
    const char *name;
    int64_t size;
};

/* Each kind begins with the smallest; formatting uses the first `shown` of them. */
static const struct scale times[] = {{"ns", 1},         {"us", 1000},         {"ms", 1000000},
                                     {"s", 1000000000}, {"min", 60000000000}, {"h", 3600000000000}};
static const struct scale sizes[] = {
    {"B", 1},     {"KiB", 1024},   {"MiB", 1048576},   {"GiB", 1073741824},  {"TiB", 1099511627776},
    {"", 1},      {"K", 1024},     {"M", 1048576},     {"G", 1073741824},    {"T", 1099511627776},
    {"k", 1024},  {"Ki", 1024},    {"Mi", 1048576},    {"Gi", 1073741824},   {"Ti", 1099511627776},
    {"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000}};
static const struct scale rates[] = {
    {"bit/s", 1}, {"kbit/s", 1000}, {"Mbit/s", 1000000}, {"Gbit/s", 1000000000}, {"Tbit/s", 1000000000000},
    {"", 1},      {"k", 1000},      {"K", 1000},         {"M", 1000000},         {"G", 1000000000},
    {"bps", 1},   {"kbps", 1000},   {"Mbps", 1000000},   {"Gbps", 1000000000}};

struct kind {
    const char *suffix;
    const char *expectation;
    const struct scale *scales;
    size_t count;
    size_t shown;
    size_t formatted; /* without minutes and hours, which are no decimal units */
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct kind kinds[] = {
    [PL_UNIT_NONE] = {NULL, "a number", NULL, 0, 0, 0},
    [PL_UNIT_NS] = {"-ns", "a time such as 100ms or 2s", times, LENGTH(times), 6, 4},
    [PL_UNIT_BYTES] = {"-bytes", "a size such as 64KiB or 1MiB", sizes, LENGTH(sizes), 5, 5},
    [PL_UNIT_BITS_PER_S] = {"-bits-per-s", "a rate such as 40Mbit/s or 1G", rates, LENGTH(rates), 5, 5},
};

enum pl_unit pl_unit_of_name(const char *name, size_t *stem_length)
{
    size_t length = strlen(name);
    *stem_length = length;
    if (strcmp(name, "bytes") == 0)
        return PL_UNIT_BYTES;
    for (enum pl_unit unit = PL_UNIT_NS; unit <= PL_UNIT_BITS_PER_S; unit++) {
        size_t suffix = strlen(kinds[unit].suffix);
        if (length > suffix && strcmp(name + length - suffix, kinds[unit].suffix) == 0) {
            *stem_length = length - suffix;
            return unit;
        }
    }
    return PL_UNIT_NONE;
}

const char *pl_unit_expectation(enum pl_unit unit)
{
    return kinds[unit].expectation;
}

/* Digits with at most one point, as `digits` / 10^`places`; the length read, 0 when there is no number. */
static size_t read_number(const char *text, int64_t *digits, int64_t *divisor)
{
    size_t at = 0;
    bool point = false;
    bool some = false;
    *digits = 0;
    *divisor = 1;
    for (;; at++) {
        if (text[at] == '.' && !point) {
            point = true;
        } else if (text[at] >= '0' && text[at] <= '9') {
            some = true;
            if (__builtin_mul_overflow(*digits, 10, digits) ||
                __builtin_add_overflow(*digits, text[at] - '0', digits) ||
                (point && __builtin_mul_overflow(*divisor, 10, divisor)))
                return 0;
        } else {
            return some ? at : 0;
        }
    }
}

bool pl_parse_quantity(const char *text, enum pl_unit unit, int64_t minimum, int64_t maximum, int64_t *value)
{
    int64_t digits;
    int64_t divisor;
    size_t length = read_number(text, &digits, &divisor);
    if (length == 0)
        return false;
    if (unit == PL_UNIT_NS && text[length] == 0 && digits == 0 && minimum <= 0) {
        *value = 0;
        return true;
    }
    for (size_t i = 0; i < kinds[unit].count; i++) {
        int64_t scaled;
        if (strcmp(text + length, kinds[unit].scales[i].name) != 0)
            continue;
        if (__builtin_mul_overflow(digits, kinds[unit].scales[i].size, &scaled) || scaled % divisor != 0)
            return false;
        scaled /= divisor;
        if (scaled < minimum || scaled > maximum)
            return false;
        *value = scaled;
        return true;
    }
    return false;
}

const char *pl_format_exact_quantity(int64_t value, enum pl_unit unit, char text[PL_QUANTITY_BYTES])
{
    const struct kind *kind = &kinds[unit];
    size_t best = 0;
    for (size_t i = 0; i < kind->shown && value != 0; i++)
        if (value % kind->scales[i].size == 0)
            best = i;
    (void)snprintf(text, PL_QUANTITY_BYTES, "%" PRId64 "%s",
                   kind->shown > 0 ? value / kind->scales[best].size : value,
                   kind->shown > 0 ? kind->scales[best].name : "");
    return text;
}

const char *pl_format_quantity(double value, enum pl_unit unit, char text[PL_QUANTITY_BYTES])
{
    const struct kind *kind = &kinds[unit];
    size_t best = 0;
    /* 999.5 of a unit would be rounded to four digits. */
    while (best + 1 < kind->formatted && fabs(value) >= 0.9995 * (double)kind->scales[best + 1].size)
        best++;
    double scaled = kind->formatted > 0 ? value / (double)kind->scales[best].size : value;
    int places = fabs(scaled) >= 99.95 || best == 0 ? 0 : fabs(scaled) >= 9.995 ? 1 : 2;
    (void)snprintf(text, PL_QUANTITY_BYTES, "%.*f %s", places, scaled,
                   kind->formatted > 0 ? kind->scales[best].name : "");
    return text;
}
