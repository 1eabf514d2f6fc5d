#include "base/record.h"

#define FIELD(name, kind, key) {#key, PL_FIELD_##kind, offsetof(struct pl_##name##_record, key)},
#define RECORD(name, type)                                                                                   \
    static const struct pl_field name##_fields[] = {PL_FIELDS_##name(FIELD, name){.key = NULL}};             \
    const struct pl_record_type pl_##name##_type = {type, name##_fields};
PL_RECORDS(RECORD)

static void write_field(struct pl_json *j, const struct pl_field *field, const void *at)
{
    switch (field->kind) {
    case PL_FIELD_NUMBER:
        pl_json_i64(j, field->key, *(const int64_t *)at);
        break;
    case PL_FIELD_NULLABLE:
        pl_json_known_i64(j, field->key, *(const int64_t *)at);
        break;
    case PL_FIELD_FIGURE:
        pl_json_double(j, field->key, *(const double *)at);
        break;
    case PL_FIELD_TEXT:
        pl_json_string(j, field->key, *(const char *const *)at);
        break;
    case PL_FIELD_FLAG:
        pl_json_bool(j, field->key, *(const bool *)at);
        break;
    case PL_FIELD_QUANTILES:
        pl_histogram_write_summary(*(const struct pl_histogram *const *)at, j, field->key);
        break;
    case PL_FIELD_ROUND_TRIPS:
        pl_histogram_write(*(const struct pl_histogram *const *)at, j, field->key);
        break;
    }
}

void pl_record_write_object(struct pl_json *j, const char *key, const struct pl_record_type *type,
                            const void *values)
{
    pl_json_begin_object(j, key);
    if (type->name != NULL)
        pl_json_string(j, "type", type->name);
    for (const struct pl_field *field = type->fields; field->key != NULL; field++)
        write_field(j, field, (const char *)values + field->offset);
    pl_json_end_object(j);
}

bool pl_record_write(struct pl_json *j, const struct pl_record_type *type, const void *values)
{
    pl_record_write_object(j, NULL, type, values);
    return pl_json_flush_line(j);
}

bool pl_record_print(const struct pl_record_type *type, const void *values)
{
    struct pl_json j = {0};
    bool written = pl_record_write(&j, type, values);
    pl_json_release(&j);
    return written;
}
