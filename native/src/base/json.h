/* A streaming writer of one JSON line into a growing buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. The writer owns `data`; free it with pl_json_release(). When memory runs out `failed` is
 * set, writing becomes a no-op and the flush says false. */
struct pl_json {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
    uint32_t carried; /* base64: bytes of the incomplete group of three */
    uint32_t carry;
};

/* `key` is NULL inside arrays and for the outermost value. Keys and strings are UTF-8; control characters,
 * quotes and backslashes are escaped, and bytes that are not UTF-8 become U+FFFD. */
void pl_json_begin_object(struct pl_json *j, const char *key);
void pl_json_end_object(struct pl_json *j);
void pl_json_begin_array(struct pl_json *j, const char *key);
void pl_json_end_array(struct pl_json *j);
void pl_json_i64(struct pl_json *j, const char *key, int64_t value);
void pl_json_u64(struct pl_json *j, const char *key, uint64_t value);
/* An array. */
void pl_json_u64s(struct pl_json *j, const char *key, const uint64_t *values, size_t count);
/* A negative `value` means "not known" and is written as null. */
void pl_json_known_i64(struct pl_json *j, const char *key, int64_t value);
/* A value that is not finite is written as null. */
void pl_json_double(struct pl_json *j, const char *key, double value);
/* A NULL `value` is written as null. */
void pl_json_string(struct pl_json *j, const char *key, const char *value);
void pl_json_bool(struct pl_json *j, const char *key, bool value);
void pl_json_null(struct pl_json *j, const char *key);
/* `text` is one JSON value, which is copied. */
void pl_json_raw(struct pl_json *j, const char *key, const char *text);

/* One base64 string (RFC 4648), written in pieces between begin and end. */
void pl_json_begin_base64(struct pl_json *j, const char *key);
void pl_json_base64(struct pl_json *j, const uint8_t *bytes, size_t count);
void pl_json_end_base64(struct pl_json *j);

/* Lines go to this descriptor from now on instead of stdout. */
void pl_json_set_output(int fd);

/* Begins a record, and ends one: writes its line as pl_json_flush_line() does. */
void pl_json_begin_record(struct pl_json *j, const char *type);
bool pl_json_end_record(struct pl_json *j);
/* The same for the only record of a writer, which is then released. */
bool pl_json_end_only_record(struct pl_json *j);

/* Writes the line and a newline to stdout and empties the writer, but keeps its buffer. False when the output
 * is gone or memory ran out; the first failure prints one line on stderr. */
bool pl_json_flush_line(struct pl_json *j);

/* Frees the buffer. */
void pl_json_release(struct pl_json *j);
