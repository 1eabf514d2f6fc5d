/* Units in flags and text: times, sizes and rates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pl_unit { PL_UNIT_NONE, PL_UNIT_NS, PL_UNIT_BYTES, PL_UNIT_BITS_PER_S };

#define PL_QUANTITY_BYTES 32

/* The unit that a name ends with ("-ns", "-bytes", "-bits-per-s"), and the length of the name without it;
 * "bytes" alone is a unit and the whole name. */
enum pl_unit pl_unit_of_name(const char *name, size_t *stem_length);

/* The expected form for messages, such as "a time such as 100ms". */
const char *pl_unit_expectation(enum pl_unit unit);

/* Parses a number with a unit: "100ms", "1.5s", "64KiB", "64K" (1024 each), "64kB" (1000), "40Mbit/s", "40M"
 * (decimal). A bare number is bytes or bit/s; a time may lack its unit only when it is 0. False, and `value`
 * untouched, for anything else, for a fraction of a ns, byte or bit/s, and outside minimum..maximum. */
bool pl_parse_quantity(const char *text, enum pl_unit unit, int64_t minimum, int64_t maximum, int64_t *value);

/* Both return `text`. Formats exactly, in the largest unit that divides the value: pl_parse_quantity() reads
 * it back. */
const char *pl_format_exact_quantity(int64_t value, enum pl_unit unit, char text[PL_QUANTITY_BYTES]);

/* Formats with three significant digits: "1.23 Gbit/s", "64.0 KiB", "20.1 ms". */
const char *pl_format_quantity(double value, enum pl_unit unit, char text[PL_QUANTITY_BYTES]);
