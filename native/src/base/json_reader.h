/* Reads JSON (RFC 8259) from a text in memory, token by token. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values nested more deeply are not read. */
#define PL_JSON_DEPTH_MAX 16

/* The rest of a text that ends with a zero byte. Functions pass over white space before what they read; a
 * failed one leaves `at` where it is. */
struct pl_json_reader {
    const char *at;
};

/* A structural character such as '{'; false for another one. */
bool pl_json_read_mark(struct pl_json_reader *reader, char mark);
/* A string, decoded to UTF-8. False for anything else, for one that does not fit or contains U+0000. */
bool pl_json_read_string(struct pl_json_reader *reader, char *text, size_t room);
/* A number without a fraction, also when it is written with one (5000.0). */
bool pl_json_read_integer(struct pl_json_reader *reader, int64_t *value);
bool pl_json_read_null(struct pl_json_reader *reader);
/* Any value. */
bool pl_json_skip(struct pl_json_reader *reader);
/* Whether nothing but white space is left. */
bool pl_json_at_end(struct pl_json_reader *reader);

/* Whether the whole text is one JSON object. */
bool pl_json_is_object(const char *text);
