#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void append(struct pl_json *j, const char *bytes, size_t count)
{
    if (j->failed)
        return;
    if (count > j->capacity - j->length) {
        size_t capacity = j->capacity == 0 ? 1024 : j->capacity;
        while (capacity - j->length < count)
            capacity *= 2;
        char *data = realloc(j->data, capacity);
        if (data == NULL) {
            j->failed = true;
            return;
        }
        j->data = data;
        j->capacity = capacity;
    }
    memcpy(j->data + j->length, bytes, count);
    j->length += count;
}

static void append_text(struct pl_json *j, const char *text)
{
    append(j, text, strlen(text));
}

/* Length of the well-formed UTF-8 sequence at `s`; 0 for an ill-formed one, which includes over-long forms
 * and surrogates. */
static size_t measure_utf8(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    bool over_long = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF4 && s[1] >= 0x90);
    return over_long || beyond ? 0 : length;
}

static void append_quoted(struct pl_json *j, const char *text)
{
    append_text(j, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s != 0;) {
        size_t length = measure_utf8(s);
        if (length == 0) {
            append_text(j, "\\ufffd");
            s++;
            continue;
        }
        if (*s == '"' || *s == '\\') {
            append(j, "\\", 1);
            append(j, (const char *)s, 1);
        } else if (*s < 0x20 || *s == 0x7F) {
            char escaped[8];
            (void)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*s);
            append_text(j, escaped);
        } else {
            append(j, (const char *)s, length);
        }
        s += length;
    }
    append_text(j, "\"");
}

/* Writes the comma and the key before a value. The last byte tells whether a comma is due: strings end with a
 * quote, so an opening bracket there is never part of one. */
static void open_value(struct pl_json *j, const char *key)
{
    if (j->length > 0 && j->data[j->length - 1] != '{' && j->data[j->length - 1] != '[')
        append(j, ",", 1);
    if (key != NULL) {
        append_quoted(j, key);
        append(j, ":", 1);
    }
}

void pl_json_begin_object(struct pl_json *j, const char *key)
{
    open_value(j, key);
    append(j, "{", 1);
}

void pl_json_end_object(struct pl_json *j)
{
    append(j, "}", 1);
}

void pl_json_begin_array(struct pl_json *j, const char *key)
{
    open_value(j, key);
    append(j, "[", 1);
}

void pl_json_end_array(struct pl_json *j)
{
    append(j, "]", 1);
}

void pl_json_i64(struct pl_json *j, const char *key, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    open_value(j, key);
    append_text(j, text);
}

void pl_json_u64(struct pl_json *j, const char *key, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    open_value(j, key);
    append_text(j, text);
}

void pl_json_u64s(struct pl_json *j, const char *key, const uint64_t *values, size_t count)
{
    pl_json_begin_array(j, key);
    for (size_t i = 0; i < count; i++)
        pl_json_u64(j, NULL, values[i]);
    pl_json_end_array(j);
}

void pl_json_known_i64(struct pl_json *j, const char *key, int64_t value)
{
    if (value >= 0)
        pl_json_i64(j, key, value);
    else
        pl_json_null(j, key);
}

void pl_json_double(struct pl_json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        pl_json_null(j, key);
        return;
    }
    /* The shortest form that reads back as the same number: mostly 15 digits, at most 17. */
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        double back = strtod(text, NULL);
        if (!(back < value) && !(back > value))
            break;
    }
    open_value(j, key);
    append_text(j, text);
}

void pl_json_string(struct pl_json *j, const char *key, const char *value)
{
    if (value == NULL) {
        pl_json_null(j, key);
        return;
    }
    open_value(j, key);
    append_quoted(j, value);
}

void pl_json_bool(struct pl_json *j, const char *key, bool value)
{
    open_value(j, key);
    append_text(j, value ? "true" : "false");
}

void pl_json_null(struct pl_json *j, const char *key)
{
    open_value(j, key);
    append_text(j, "null");
}

/* A line has no line feed, so white space between tokens becomes spaces. */
void pl_json_raw(struct pl_json *j, const char *key, const char *text)
{
    open_value(j, key);
    for (; *text != 0; text++)
        append(j, (unsigned char)*text < 0x20 ? " " : text, 1);
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void pl_json_begin_base64(struct pl_json *j, const char *key)
{
    open_value(j, key);
    append(j, "\"", 1);
    j->carry = j->carried = 0;
}

void pl_json_base64(struct pl_json *j, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        j->carry = j->carry << 8 | bytes[i];
        if (++j->carried < 3)
            continue;
        const char group[4] = {base64_digits[j->carry >> 18 & 63], base64_digits[j->carry >> 12 & 63],
                               base64_digits[j->carry >> 6 & 63], base64_digits[j->carry & 63]};
        append(j, group, sizeof group);
        j->carry = j->carried = 0;
    }
}

void pl_json_end_base64(struct pl_json *j)
{
    if (j->carried > 0) {
        uint32_t bits = j->carry << (j->carried == 1 ? 16 : 8);
        char last = '=';
        if (j->carried == 2)
            last = base64_digits[bits >> 6 & 63];
        const char group[4] = {base64_digits[bits >> 18 & 63], base64_digits[bits >> 12 & 63], last, '='};
        append(j, group, sizeof group);
    }
    append(j, "\"", 1);
}

static int output_fd = STDOUT_FILENO;

void pl_json_set_output(int fd)
{
    output_fd = fd;
}

static bool write_all(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(output_fd, bytes, count);
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN) {
            /* stdout may be non-blocking: waits for the reader instead of losing half a line. */
            struct pollfd output = {.fd = output_fd, .events = POLLOUT};
            if (poll(&output, 1, -1) < 0 && errno != EINTR)
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Prints the failure once, not for each record that follows. */
static void print_write_failure(int cause)
{
    static bool said;
    if (!said)
        (void)fprintf(stderr, "pathlab-engine: a record cannot be written to stdout: %s\n", strerror(cause));
    said = true;
}

bool pl_json_flush_line(struct pl_json *j)
{
    append(j, "\n", 1);
    bool written = !j->failed && write_all(j->data, j->length);
    if (!written)
        print_write_failure(j->failed ? ENOMEM : errno);
    j->length = 0;
    return written;
}

void pl_json_release(struct pl_json *j)
{
    free(j->data);
    *j = (struct pl_json){0};
}

void pl_json_begin_record(struct pl_json *j, const char *type)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", type);
}

bool pl_json_end_record(struct pl_json *j)
{
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

bool pl_json_end_only_record(struct pl_json *j)
{
    bool written = pl_json_end_record(j);
    pl_json_release(j);
    return written;
}
