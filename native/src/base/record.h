/* Objects of JSON by rows: the fields that native/records.toml has for them, in its order, from a struct
 * whose members have the same names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/json.h"
#include "base/record_types.h"

enum pl_field_kind {
    PL_FIELD_NUMBER,
    PL_FIELD_NULLABLE, /* a number; a negative one is not known and is written as null */
    PL_FIELD_FIGURE,   /* null where it is not finite */
    PL_FIELD_TEXT,     /* NULL is written as null */
    PL_FIELD_FLAG,
    PL_FIELD_QUANTILES,  /* the summary of a histogram */
    PL_FIELD_ROUND_TRIPS /* the whole of it */
};

struct pl_field {
    const char *key; /* NULL behind the last one */
    enum pl_field_kind kind;
    size_t offset; /* in the struct */
};

struct pl_record_type {
    const char *name; /* its "type"; NULL for an object within records */
    const struct pl_field *fields;
};

#define PL_TYPE_NUMBER int64_t
#define PL_TYPE_NULLABLE int64_t
#define PL_TYPE_FIGURE double
#define PL_TYPE_TEXT const char *
#define PL_TYPE_FLAG bool
#define PL_TYPE_QUANTILES const struct pl_histogram *
#define PL_TYPE_ROUND_TRIPS const struct pl_histogram *

/* struct pl_ping_probe_record and pl_ping_probe_type, and so on. */
#define FIELD(name, kind, key) PL_TYPE_##kind key;
#define RECORD(name, type)                                                                                   \
    struct pl_##name##_record {                                                                              \
        PL_FIELDS_##name(FIELD, name)                                                                        \
    };                                                                                                       \
    extern const struct pl_record_type pl_##name##_type;
PL_RECORDS(RECORD)
#undef RECORD
#undef FIELD

/* Writes a record as a line; false when the output is gone. `values`: the type's struct. */
bool pl_record_write(struct pl_json *j, const struct pl_record_type *type, const void *values);
/* The same with a writer of its own. */
bool pl_record_print(const struct pl_record_type *type, const void *values);
/* Writes an object within a record; `key` is NULL inside arrays. */
void pl_record_write_object(struct pl_json *j, const char *key, const struct pl_record_type *type,
                            const void *values);
